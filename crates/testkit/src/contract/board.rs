//! What pages show of everything at once: the same as is told of each by itself, page by page.

use inbox_core::{Kind, Priority};
use inbox_ops::{AgentList, AgentShow, Claim, Desk, List, Send, Show};

use crate::desk::{HOUR, at, letter, work};
use crate::world::{World, by};

/// An inbox with all that counts and does not: mail by several addresses, of roles and tags, one's own, expired, read by
/// another session, held by another, and of a session that is put aside.
fn busy(world: &World) {
    let builder = world.start("builder", "b-1", &["dev"], &["project:x"]);
    let twin = world.start("builder", "b-2", &["dev"], &["project:x"]);
    let tester = world.start("tester", "t-1", &["dev", "qa"], &["project:x", "project:y"]);
    world.start("idle", "i-1", &[], &["project:y"]);
    let short = Send {
        ttl_hours: Some(1),
        ..letter(&["builder", "project:y"], "soon over")
    };
    world.post(&by("lead"), &short);
    for to in [
        "builder",
        "role:dev",
        "role:qa",
        "project:x",
        "project:y",
        "b-2",
    ] {
        world.mail("lead", &[to], &format!("to {to}"));
    }
    world.mail(
        "lead",
        &["builder", "role:dev", "project:x"],
        "by three ways",
    );
    world.mail("builder", &["builder", "project:x"], "its own");
    world.post(&twin, &letter(&["project:x"], "of its twin"));
    world.post(&by("lead"), &work(&["role:dev"], "taken by another"));
    world
        .call_as(&tester, &Claim::default())
        .expect("there is work");
    world.post(&by("lead"), &work(&["role:dev"], "free"));
    world.read(&builder);
    world.mail("lead", &["project:x", "b-2"], "after it was read");
    world.freeze(&at("idle", "i-1"));
}

/// What each has not read, beside what one is told who asks for it alone.
fn counted(world: &World) -> Vec<(String, i64)> {
    let list = AgentList {
        work: true,
        ..AgentList::default()
    };
    let all = world.call("lead", &list).expect("the roster is shown");
    for work in &all.work {
        let show = AgentShow {
            slug: work.agent_id.clone(),
        };
        let one = world.call("lead", &show).expect("an agent is shown");
        assert_eq!(Some(work.unread), one.unread, "{}", work.agent_id);
        let alone = AgentList {
            name: vec![work.agent_id.clone()],
            ..list.clone()
        };
        let alone = world.call("lead", &alone).expect("the roster is shown");
        assert_eq!(alone.work.len(), 1);
        assert_eq!(alone.work[0].unread, work.unread, "{}", work.agent_id);
    }
    let work = all.work.into_iter();
    work.map(|work| (work.agent_id.to_string(), work.unread))
        .collect()
}

pub fn what_each_has_not_read_is_counted_as_it_is_for_one(world: &World) {
    busy(world);
    let now = counted(world);
    let unread: Vec<i64> = now.iter().map(|(_, unread)| *unread).collect();
    assert!(unread.iter().all(|count| *count < 20), "{now:?}");
    assert!(
        unread.iter().filter(|count| **count > 1).count() >= 3,
        "{now:?}"
    );
    // Sessions die, mail expires, and who is put aside does not age.
    world.advance_ms(2 * HOUR);
    world.start("tester", "t-2", &["qa", "dev"], &["project:x"]);
    assert_ne!(counted(world), now);
}

pub fn a_thread_is_shown_in_pages_from_its_end(world: &World) {
    let thread = world
        .mail("lead", &["worker"], "message 0")
        .thread
        .thread_id;
    for number in 1..7 {
        let more = Send {
            thread: Some(thread),
            kind: Some(Kind::Event),
            summary: Some(format!("message {number}")),
            ..Send::default()
        };
        world.post(&by("lead"), &more);
    }
    let mut request = Show {
        limit: Some(3),
        events: Some(2),
        ..Show::of(thread)
    };
    let mut pages = Vec::new();
    loop {
        let shown = world.call("lead", &request).expect("it is shown");
        assert_eq!(shown.opened_by, Some(Kind::Question));
        assert_eq!(shown.events.len(), 2);
        pages.push(crate::desk::summaries(&shown.messages));
        request.before_event = shown.before_event;
        if request.before_event.is_none() {
            break;
        }
    }
    let numbered = |numbers: std::ops::Range<i32>| -> Vec<String> {
        numbers.map(|number| format!("message {number}")).collect()
    };
    assert_eq!(pages, [numbered(4..7), numbered(1..4), numbered(0..1)]);
    let whole = world.call("lead", &Show::of(thread)).expect("it is shown");
    assert_eq!((whole.messages.len(), whole.before_event), (7, None));
    assert!(whole.events.is_empty());
}

pub fn a_list_goes_on_behind_its_last_thread(world: &World) {
    for number in 0..5 {
        world.send("lead", "worker", &format!("task {number}"));
    }
    let mut request = List {
        limit: Some(2),
        agent: "worker".parse().ok(),
        ..List::default()
    };
    let mut seen = Vec::new();
    loop {
        let page = world.call("lead", &request).expect("they are listed");
        seen.extend(page.threads.iter().map(|it| it.subject.clone()));
        if !page.truncated {
            break;
        }
        request.before_thread = page.threads.last().map(|it| it.thread_id);
    }
    assert_eq!(seen, ["task 4", "task 3", "task 2", "task 1", "task 0"]);
}

pub fn what_is_urgent_is_on_the_desk_wherever_it_lies(world: &World) {
    let mail = |number: i32, priority| Send {
        kind: Some(Kind::Event),
        priority,
        ..letter(&["worker"], &format!("mail {number}"))
    };
    for number in 0..6 {
        world.post(&by("lead"), &mail(number, None));
    }
    world.post(&by("lead"), &mail(6, Some(Priority::Urgent)));
    let desk = |limit, after_event| {
        let request = Desk { limit, after_event };
        world.call("worker", &request).expect("a desk is shown")
    };
    let first = desk(Some(4), None);
    let said = crate::desk::summaries(&first.mail);
    assert_eq!(said, ["mail 6", "mail 0", "mail 1", "mail 2", "mail 3"]);
    let second = desk(Some(4), first.mail_after);
    let said = crate::desk::summaries(&second.mail);
    assert_eq!(said, ["mail 6", "mail 4", "mail 5"]);
    assert_eq!(second.mail_after, None);
    let none = desk(Some(0), None);
    assert_eq!((none.mail.len(), none.unread), (0, 7));
}

//! What was read and what was handled: by whom, once, and with nothing lost or repeated on the way.

use inbox_core::{Code, EventId, MessageId, Status};
use inbox_ops::{Ack, Caller, Claim, Read, Receipts, Reply, Rung};

use crate::desk::{keyed, letter, summaries, work};
use crate::world::{World, by, code, token, with_token};

fn ladder(world: &World, message: MessageId) -> Vec<Rung> {
    let answer = world.call_as(&Caller::local(None), &Receipts { message });
    answer.expect("it is there").receipts
}

fn steps(world: &World, message: MessageId) -> Vec<(String, String)> {
    let rungs = ladder(world, message).into_iter();
    rungs
        .map(|rung| (rung.agent_id.to_string(), rung.step))
        .collect()
}

fn step(agent: &str, step: &str) -> (String, String) {
    (agent.to_owned(), step.to_owned())
}

fn page(limit: i64, after: Option<EventId>, peek: bool) -> Read {
    Read {
        peek,
        limit: Some(limit),
        after_event: after,
        ..Read::default()
    }
}

pub fn reading_leaves_one_receipt_and_looking_none(world: &World) {
    let backend = world.start("backend", "b-1", &[], &[]);
    let sent = world
        .mail("lead", &["backend"], "a word")
        .message
        .message_id;
    assert_eq!(world.unread(&backend), ["a word"]);
    assert_eq!(steps(world, sent), [step("backend", "queued")]);
    assert_eq!(world.read(&backend), ["a word"]);
    let first = ladder(world, sent);
    world.advance_ms(5_000);
    assert!(world.read(&backend).is_empty());
    assert!(world.read(&by("backend")).is_empty());
    let second = ladder(world, sent);
    assert_eq!((second.len(), second[0].read_at), (1, first[0].read_at));
    assert_eq!(second[0].session_id, "b-1".parse().ok());
}

pub fn the_ladder_shows_queued_read_acked_and_acted(world: &World) {
    world.send("backend", "lead", "here");
    let sent = world.mail("lead", &["backend"], "a question");
    let id = sent.message.message_id;
    assert_eq!(steps(world, id), [step("backend", "queued")]);
    world.read(&by("backend"));
    assert_eq!(steps(world, id), [step("backend", "read")]);
    world.ack(&by("backend"), id).expect("it is theirs");
    assert_eq!(steps(world, id), [step("backend", "acked")]);
    let reply = Reply {
        thread: sent.thread.thread_id,
        to: Vec::new(),
        kind: None,
        summary: Some("an answer".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    world.advance_ms(1_000);
    world.call("backend", &reply).expect("a reply");
    let rung = ladder(world, id).remove(0);
    assert_eq!(rung.step, "acted");
    assert!(rung.read_at.is_some() && rung.acked_at.is_some() && rung.acted_at > rung.acked_at);
    let missing = Receipts {
        message: MessageId::new(999_999),
    };
    assert_eq!(code(world.call("lead", &missing)), Code::MessageNotFound);
}

pub fn the_ladder_names_everybody_who_is_reached(world: &World) {
    world.start("backend", "b-1", &["critic"], &["project:x"]);
    world.start("backend", "b-2", &[], &["project:x"]);
    let reviewer = world.start("reviewer", "r-1", &["critic"], &["project:x"]);
    let tagged = world
        .mail("lead", &["project:x"], "to a tag")
        .message
        .message_id;
    world.read(&reviewer);
    let mut found: Vec<_> = ladder(world, tagged)
        .into_iter()
        .map(|rung| {
            (
                rung.session_id.map(|id| id.to_string()).unwrap_or_default(),
                rung.step,
            )
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            step("b-1", "queued"),
            step("b-2", "queued"),
            step("r-1", "read")
        ]
    );
}

pub fn own_messages_are_never_unread(world: &World) {
    let one = world.start("backend", "b-1", &["critic"], &["project:x"]);
    let two = world.start("backend", "b-2", &["critic"], &["project:x"]);
    let to = ["backend", "role:critic", "project:x", "all"];
    for (number, address) in to.iter().enumerate() {
        world.post(&one, &letter(&[address], &format!("own {number}")));
    }
    assert!(world.unread(&one).is_empty());
    assert!(world.unread(&by("backend")).is_empty());
    let seen = world.unread(&two);
    assert!(
        seen.contains(&"own 2".to_owned()) && seen.contains(&"own 3".to_owned()),
        "{seen:?}"
    );
}

pub fn what_one_session_passes_over_as_its_own_another_finds_or_never_had(world: &World) {
    let one = world.start("backend", "b-1", &["critic"], &["project:x"]);
    let two = world.start("backend", "b-2", &["critic"], &["project:x"]);
    for address in ["backend", "role:critic", "project:x", "b-2"] {
        world.post(&one, &letter(&[address], &format!("own to {address}")));
    }
    let before = world.unread(&two);
    world.mail("lead", &["backend"], "from somebody else");
    assert_eq!(world.read(&one), ["from somebody else"]);
    assert_eq!(
        world.unread(&two),
        before,
        "one session's reading takes nothing from another"
    );
    world.mail("lead", &["backend"], "again");
    assert_eq!(world.read(&by("backend")), ["own to b-2", "again"]);
    assert_eq!(world.unread(&two), ["own to project:x"]);
}

pub fn pages_and_bookmarks_lose_and_repeat_nothing(world: &World) {
    let backend = world.start("backend", "b-1", &["critic"], &["project:x"]);
    let to = ["backend", "role:critic", "project:x", "all", "b-1"];
    let mut ids = Vec::new();
    for number in 0..23 {
        let also = to[(number + 1) % 5];
        let letter = letter(&[to[number % 5], also], &format!("m{number:02}"));
        ids.push(world.post(&by("lead"), &letter).message.message_id);
    }
    // Handled out of order: they are gone, and nothing else is.
    for index in [17, 3, 8] {
        world.ack(&backend, ids[index]).expect("it is theirs");
    }
    let expected: Vec<String> = (0..23)
        .filter(|number| ![17, 3, 8].contains(number))
        .map(|number| format!("m{number:02}"))
        .collect();
    // Looking page by page with a cursor.
    let (mut seen, mut cursor) = (Vec::new(), EventId(0));
    loop {
        let mail = world
            .call_as(&backend, &page(3, Some(cursor), true))
            .expect("a peek");
        if mail.messages.is_empty() {
            break;
        }
        cursor = mail.next_event_id;
        seen.extend(summaries(&mail.messages));
    }
    assert_eq!(seen, expected);
    // Reading from the middle by cursor leaves what stands before it.
    let all = world
        .call_as(&backend, &page(6, None, true))
        .expect("a peek");
    let middle = world
        .call_as(&backend, &page(2, Some(all.next_event_id), false))
        .expect("a read");
    assert_eq!(summaries(&middle.messages), expected[6..8]);
    // Reading page by page by the bookmark.
    let mut seen = Vec::new();
    loop {
        let mail = world
            .call_as(&backend, &page(4, None, false))
            .expect("a read");
        if mail.messages.is_empty() {
            break;
        }
        let left = usize::try_from(mail.unread).expect("a count");
        seen.extend(summaries(&mail.messages));
        assert_eq!(
            left,
            expected.len() - 2 - seen.len(),
            "what is left is counted"
        );
    }
    let rest: Vec<_> = [&expected[..6], &expected[8..]].concat();
    assert_eq!(seen, rest);
}

pub fn a_keyed_read_gives_the_same_page_again(world: &World) {
    for number in 0..5 {
        world.mail("lead", &["backend"], &format!("m{number}"));
    }
    let caller = keyed(&by("backend"), "page-1");
    let first = world
        .call_as(&caller, &page(2, None, false))
        .expect("a read");
    let again = world
        .call_as(&caller, &page(2, None, false))
        .expect("a read");
    assert_eq!(summaries(&first.messages), ["m0", "m1"]);
    assert_eq!(
        serde_json::to_value(&again).expect("JSON"),
        serde_json::to_value(&first).expect("JSON"),
        "the cursor included"
    );
    let other = world.call_as(&caller, &page(3, None, false));
    assert_eq!(code(other), Code::KeyConflict);
    assert_eq!(world.read(&by("backend")), ["m2", "m3", "m4"]);
}

pub fn mail_with_one_owner_is_acknowledged_once(world: &World) {
    let one = world.start("backend", "b-1", &["critic"], &[]);
    let two = world.start("backend", "b-2", &[], &[]);
    let other = world.start("reviewer", "r-1", &["critic"], &[]);
    let role = world
        .mail("lead", &["role:critic"], "to the role")
        .message
        .message_id;
    let agent = world
        .mail("lead", &["backend"], "to the agent")
        .message
        .message_id;
    let session = world
        .mail("lead", &["b-1"], "to the session")
        .message
        .message_id;
    for id in [role, agent, session] {
        let acked = world.ack(&one, id).expect("it is theirs");
        assert!(!acked.acked[0].already);
        world.advance_ms(10);
        let again = world.ack(&one, id).expect("once more is no harm");
        assert!(again.acked[0].already);
        assert_eq!(again.acked[0].acked_at, acked.acked[0].acked_at);
    }
    let refusal = world.ack(&other, role).expect_err("it was handled");
    assert_eq!(refusal.code, Code::AlreadyExists);
    assert!(refusal.message.contains("backend"));
    assert!(world.ack(&two, agent).expect("the same agent").acked[0].already);
    assert_eq!(
        code(world.ack(&two, session)),
        Code::NotAllowed,
        "another session's own"
    );
    assert!(world.unread(&one).is_empty() && world.unread(&other).is_empty());
}

pub fn mail_to_a_tag_or_all_is_acknowledged_by_each(world: &World) {
    let one = world.start("backend", "b-1", &[], &["project:x"]);
    let two = world.start("backend", "b-2", &[], &["project:x"]);
    let other = world.start("reviewer", "r-1", &[], &["project:x"]);
    for to in ["project:x", "all"] {
        let id = world.mail("lead", &[to], to).message.message_id;
        assert!(!world.ack(&one, id).expect("for itself").acked[0].already);
        assert!(world.ack(&one, id).expect("again").acked[0].already);
        assert_eq!(world.unread(&other), [to], "the others still have it");
        assert!(!world.ack(&other, id).expect("for itself").acked[0].already);
        assert_eq!(world.unread(&two), [to], "another session has not read it");
        world.ack(&two, id).expect("it too");
        assert!(world.unread(&two).is_empty(), "what is handled is read");
    }
}

pub fn acknowledging_ends_a_pending_conversation_and_never_work(world: &World) {
    let talk = world.mail("lead", &["backend"], "talk");
    let acked = world
        .ack(&by("backend"), talk.message.message_id)
        .expect("theirs");
    assert_eq!(acked.threads[0].status, Status::Done);
    let job = world.post(&by("lead"), &work(&["backend"], "job"));
    let acked = world
        .ack(&by("backend"), job.message.message_id)
        .expect("theirs");
    assert_eq!(acked.threads[0].status, Status::Pending);
    let claimed = world.call("backend", &Claim::default()).expect("a claim");
    assert_eq!(
        claimed.thread.as_ref().map(|row| row.thread_id),
        Some(job.thread.thread_id)
    );
    // A conversation that somebody holds goes on.
    let held = world.mail("lead", &["backend"], "held");
    let leased = world
        .try_claim("backend", held.thread.thread_id, 600)
        .expect("by name");
    let acked = world
        .ack(&by("backend"), held.message.message_id)
        .expect("theirs");
    assert_eq!(acked.threads[0].status, Status::Claimed);
    world
        .update(&with_token(token(&leased)), held.thread.thread_id)
        .expect("the lease is whole");
}

pub fn who_is_not_reached_cannot_acknowledge(world: &World) {
    let sent = world.mail("lead", &["backend"], "a word");
    for name in ["lead", "reviewer", "stranger"] {
        assert_eq!(
            code(world.ack(&by(name), sent.message.message_id)),
            Code::NotAllowed,
            "{name}"
        );
        let whole = Ack {
            message: Vec::new(),
            thread: Some(sent.thread.thread_id),
        };
        assert_eq!(code(world.call(name, &whole)), Code::NotAllowed, "{name}");
    }
    assert_eq!(
        code(world.ack(&by("backend"), MessageId::new(424_242))),
        Code::MessageNotFound
    );
    assert_eq!(
        code(world.call("backend", &Ack::default())),
        Code::InvalidInput
    );
    assert_eq!(world.unread(&by("backend")), ["a word"]);
    assert_eq!(world.shown(sent.thread.thread_id).len(), 1);
}

pub fn a_whole_thread_is_acknowledged_as_far_as_it_is_the_callers(world: &World) {
    let sent = world.mail("lead", &["backend"], "one");
    let add = inbox_ops::Send {
        to: vec!["reviewer".parse().expect("an address")],
        thread: Some(sent.thread.thread_id),
        summary: Some("two".into()),
        ..inbox_ops::Send::default()
    };
    world.post(&by("lead"), &add);
    let whole = Ack {
        message: Vec::new(),
        thread: Some(sent.thread.thread_id),
    };
    let acked = world.call("backend", &whole).expect("one of them is");
    assert_eq!(acked.acked.len(), 1);
    assert_eq!(acked.acked[0].message_id, sent.message.message_id);
    assert_eq!(world.unread(&by("reviewer")), ["two"]);
}

pub fn unread_mail_is_counted_up_to_a_thousand(world: &World) {
    let quiet = {
        let mut config = inbox_ops::Config::default();
        config.guard.max_repeats = 0;
        world.another().with_config(config)
    };
    let caller = world.start("backend", "b-1", &[], &["project:x"]);
    for number in 0..1003 {
        let letter = letter(&["backend", "project:x"], &format!("m{number}"));
        inbox_ops::Operation::run(&letter, &quiet, &by("lead")).expect("a send succeeds");
    }
    let count = |read: &Read| {
        let mail = world.call_as(&caller, read).expect("an answer");
        (mail.messages.len(), mail.unread, mail.unread_is_more)
    };
    assert_eq!(count(&page(20, None, true)), (20, 1000, true));
    assert_eq!(count(&page(3, None, false)), (3, 1000, false));
    assert_eq!(count(&page(1, None, false)), (1, 999, false));
}

pub fn a_message_is_read_by_its_id_and_the_others_stay_new(world: &World) {
    let backend = by("backend");
    let send = |text: &str| world.mail("lead", &["backend"], text).message.message_id;
    let (first, second, third) = (send("first"), send("second"), send("third"));
    let others = world.mail("lead", &["frontend"], "theirs");
    let named = |message: Vec<MessageId>| Read {
        message,
        ..Read::default()
    };
    let read = |request: &Read| {
        world
            .call_as(&backend, request)
            .map(|mail| summaries(&mail.messages))
    };
    let again = named(vec![third, second, second, others.message.message_id]);
    let peek = Read {
        peek: true,
        ..again.clone()
    };
    assert_eq!(
        read(&peek).ok(),
        Some(vec!["second".into(), "third".into()])
    );
    assert_eq!(
        read(&again).ok(),
        Some(vec!["second".into(), "third".into()])
    );
    assert_eq!(read(&again).ok(), Some(Vec::new()), "they are new no more");
    assert_eq!(steps(world, second), [step("backend", "read")]);
    assert!(steps(world, others.message.message_id).is_empty());
    assert_eq!(world.unread(&backend), ["first"], "it was not passed over");
    assert_eq!(world.read(&backend), ["first"]);
    assert_eq!(read(&named(vec![first])).ok(), Some(Vec::new()));
    let missing = named(vec![MessageId::new(999_999)]);
    assert_eq!(
        code(world.call_as(&backend, &missing)),
        Code::MessageNotFound
    );
    let both = Read {
        limit: Some(1),
        ..again
    };
    assert_eq!(code(world.call_as(&backend, &both)), Code::InvalidInput);
}

pub fn a_page_that_is_just_full_is_the_last(world: &World) {
    for subject in ["first", "second"] {
        world.mail("lead", &["backend"], subject);
    }
    let after = world.mail("lead", &["other"], "elsewhere").next_event_id;
    let read = |limit, peek| {
        let request = page(limit, None, peek);
        let mail = world.call("backend", &request).expect("a read succeeds");
        (mail.messages.len(), mail.next_event_id)
    };
    assert_eq!(read(1, true).1, EventId(1));
    assert_eq!(read(2, true), (2, after));
    assert_eq!(read(2, false), (2, after));
    assert_eq!(read(2, false), (0, after));
}

pub fn what_one_session_read_of_a_tag_another_of_the_agent_still_finds(world: &World) {
    let first = world.start("backend", "b-1", &[], &["project:api"]);
    let second = world.start("backend", "b-2", &[], &["project:api"]);
    for round in ["one", "two"] {
        world.mail("lead", &["project:api"], round);
        assert_eq!(world.read(&second), [round]);
        assert_eq!(world.read(&first), [round]);
        assert!(world.read(&second).is_empty() && world.read(&first).is_empty());
    }
}

//! What a session is told of new mail: each message once, and what became of it is on its ladder.

use inbox_core::{Code, Door, Priority};
use inbox_ops::{Ack, Caller, Claim, Glance, Glanced, Receipts};

use crate::desk::{at, letter, work};
use crate::world::{World, by, code};

fn look(world: &World, caller: &Caller, glance: &Glance) -> Glanced {
    world.call_as(caller, glance).expect("a glance succeeds")
}

fn subjects(world: &World, caller: &Caller, glance: &Glance) -> Vec<String> {
    let headers = look(world, caller, glance).headers;
    headers.into_iter().map(|header| header.summary).collect()
}

fn any() -> Glance {
    Glance::default()
}

fn step(world: &World, message: inbox_core::MessageId) -> String {
    let ladder = world
        .call_as(&Caller::local(None), &Receipts { message })
        .expect("it is there");
    let rungs = ladder.receipts.into_iter();
    rungs.map(|rung| rung.step).collect::<Vec<_>>().join(",")
}

pub fn a_header_is_shown_once_to_a_session_and_stays_unread(world: &World) {
    let one = world.start("backend", "b-1", &[], &[]);
    let two = world.start("backend", "b-2", &[], &[]);
    world.mail("lead", &["backend"], "first");
    assert_eq!(subjects(world, &one, &any()), ["first"]);
    world.mail("lead", &["backend"], "second");
    assert_eq!(subjects(world, &one, &any()), ["second"]);
    assert!(subjects(world, &one, &any()).is_empty());
    assert_eq!(subjects(world, &two, &any()), ["first", "second"]);
    assert_eq!(world.unread(&one), ["first", "second"]);
    let again = Glance {
        again: true,
        ..any()
    };
    assert_eq!(subjects(world, &one, &again), ["first", "second"]);
    world.read(&one);
    assert!(subjects(world, &one, &again).is_empty());
    assert!(subjects(world, &two, &again).is_empty());
}

pub fn what_came_after_an_event_is_not_told_and_the_door_is_on_the_receipt(world: &World) {
    let backend = world.start("backend", "b-1", &[], &[]);
    let first = world.mail("lead", &["backend"], "first").message.message_id;
    let peek = Glance {
        peek: true,
        ..any()
    };
    let found = look(world, &backend, &peek);
    let second = world
        .mail("lead", &["backend"], "second")
        .message
        .message_id;
    let noted = Glance {
        pointer: true,
        up_to_event: Some(found.next_event_id),
        door: Some(Door::CodexQueue),
        ..any()
    };
    assert_eq!(subjects(world, &backend, &noted), ["first"]);
    let rungs = |message| {
        let receipts = Receipts { message };
        let ladder = world.call_as(&Caller::local(None), &receipts);
        let rungs = ladder.expect("it is there").receipts.into_iter();
        let doors = rungs.map(|rung| (rung.step, rung.offered_by, rung.shown_by));
        doors.collect::<Vec<_>>()
    };
    let by_queue = ("offered".to_owned(), Some(Door::CodexQueue), None);
    assert_eq!(rungs(first), [by_queue]);
    assert_eq!(rungs(second), [("queued".to_owned(), None, None)]);
    let rest = Glance {
        door: Some(Door::HookPrompt),
        ..any()
    };
    assert_eq!(subjects(world, &backend, &rest), ["second"]);
    let by_prompt = ("shown".to_owned(), None, Some(Door::HookPrompt));
    assert_eq!(rungs(second), [by_prompt]);
}

pub fn what_is_shown_and_what_is_only_counted_are_two_steps(world: &World) {
    let backend = world.start("backend", "b-1", &[], &[]);
    let sent: Vec<_> = (1..=4)
        .map(|n| world.mail("lead", &["backend"], &format!("mail {n}")))
        .map(|posted| posted.message.message_id)
        .collect();
    let two = Glance {
        limit: Some(2),
        ..any()
    };
    let peeked = Glance {
        peek: true,
        ..two.clone()
    };
    assert_eq!(look(world, &backend, &peeked).more, 2);
    assert_eq!(step(world, sent[0]), "queued");
    let found = look(world, &backend, &two);
    assert_eq!((found.headers.len(), found.more), (2, 2));
    let steps: Vec<_> = sent.iter().map(|id| step(world, *id)).collect();
    assert_eq!(steps, ["shown", "shown", "offered", "offered"]);
    assert!(subjects(world, &backend, &two).is_empty());
    let pointed = world
        .mail("lead", &["backend"], "mail 5")
        .message
        .message_id;
    let pointer = Glance {
        pointer: true,
        ..any()
    };
    assert_eq!(subjects(world, &backend, &pointer), ["mail 5"]);
    assert_eq!(step(world, pointed), "offered");
}

pub fn the_urgent_comes_first_and_can_be_had_alone(world: &World) {
    let backend = world.start("backend", "b-1", &["reviewer"], &["project:blog"]);
    let send = |to: &str, subject: &str, priority| {
        let mut letter = letter(&[to], subject);
        letter.priority = Some(priority);
        letter.kind = Some(inbox_core::Kind::Event);
        world.post(&by("lead"), &letter);
    };
    send("backend", "news", Priority::Normal);
    world.post(&by("lead"), &work(&["role:reviewer"], "work"));
    send("project:blog", "fire", Priority::Urgent);
    world.mail("lead", &["backend", "project:blog"], "question");
    let only = |urgent, asking| Glance {
        urgent,
        asking,
        peek: true,
        ..any()
    };
    assert_eq!(subjects(world, &backend, &only(true, false)), ["fire"]);
    assert_eq!(
        subjects(world, &backend, &only(false, true)),
        ["fire", "work", "question"]
    );
    assert_eq!(
        subjects(world, &backend, &any()),
        ["fire", "news", "work", "question"]
    );
    assert!(subjects(world, &backend, &any()).is_empty());
}

pub fn a_glance_that_finds_nothing_writes_nothing_but_that_somebody_is_there(world: &World) {
    let backend = world.start("backend", "b-1", &[], &[]);
    let seen = || {
        let id = "b-1".parse().expect("an id");
        let found = world.inbox().session(&id).expect("it is looked up");
        found.expect("it is on the roster").seen_at
    };
    let first = seen();
    world.advance_ms(59_000);
    look(world, &backend, &any());
    assert_eq!(seen(), first);
    world.advance_ms(2_000);
    look(world, &backend, &any());
    assert!(seen() > first);
}

pub fn what_the_caller_holds_is_told_while_the_lease_lives(world: &World) {
    let backend = world.start("backend", "b-1", &[], &[]);
    world.post(&by("lead"), &work(&["backend"], "build it"));
    let claim = Claim {
        lease_seconds: Some(60),
        ..Claim::default()
    };
    world.call_as(&backend, &claim).expect("there is work");
    let held = Glance {
        held: true,
        peek: true,
        ..any()
    };
    let found = look(world, &backend, &held).held;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].subject, "build it");
    assert!(look(world, &by("lead"), &held).held.is_empty());
    world.advance_ms(60_000);
    assert!(look(world, &backend, &held).held.is_empty());
}

pub fn who_has_no_session_is_told_once_and_a_stranger_nothing(world: &World) {
    let sent = world.mail("lead", &["backend"], "for whoever it is");
    assert_eq!(
        subjects(world, &by("backend"), &any()),
        ["for whoever it is"]
    );
    assert!(subjects(world, &by("backend"), &any()).is_empty());
    assert!(subjects(world, &by("stranger"), &any()).is_empty());
    let known = at("backend", "not-on-the-roster");
    assert!(subjects(world, &known, &any()).is_empty());
    let ack = Ack {
        message: vec![sent.message.message_id],
        thread: None,
    };
    world.call("backend", &ack).expect("it is theirs");
    // A server has no caller without a name.
    if world.auth() == inbox_core::Auth::Local {
        let nobody = Caller::local(None);
        assert_eq!(code(world.call_as(&nobody, &any())), Code::InvalidInput);
    }
}

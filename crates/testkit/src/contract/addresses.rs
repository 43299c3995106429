//! Who is reached by what, for how long, and what a sender is told.

use std::collections::BTreeSet;

use inbox_core::{Code, Mode, SessionState};
use inbox_ops::{Claim, Delivery, Fetch, Release, SessionList};

use crate::desk::{HOUR, letter, work};
use crate::world::{World, by, code, token};

fn told(delivery: &Delivery) -> (Mode, i64, String) {
    let note = delivery.note.clone().unwrap_or_default();
    (delivery.mode, delivery.reaches, note)
}

pub fn a_bare_name_is_read_as_session_then_agent_then_role(world: &World) {
    world.start("holder", "h-1", &["critic", "builder", "nightly"], &[]);
    world.start("builder", "nightly", &[], &[]);
    let mode = |to: &str| {
        let sent = world.mail("lead", &[to], &format!("to {to}"));
        (sent.delivery[0].mode, sent.message.to_agent)
    };
    assert_eq!(mode("nightly"), (Mode::Session, "nightly".into()));
    assert_eq!(mode("Nightly"), (Mode::Session, "nightly".into()));
    assert_eq!(mode("builder"), (Mode::Agent, "builder".into()));
    assert_eq!(mode("critic"), (Mode::Role, "role:critic".into()));
    assert_eq!(mode("stranger"), (Mode::Agent, "stranger".into()));
    assert_eq!(
        world.unread(&by("builder")),
        ["to nightly", "to Nightly", "to builder"]
    );
    assert_eq!(world.unread(&by("holder")), ["to critic"]);
}

pub fn an_open_name_reaches_the_agent_that_first_appears(world: &World) {
    let sent = world.mail("lead", &["newcomer"], "welcome");
    assert_eq!(
        (sent.delivery[0].mode, sent.delivery[0].reaches),
        (Mode::Agent, 0)
    );
    let job = world
        .post(&by("lead"), &work(&["newcomer"], "a job"))
        .thread
        .thread_id;
    world.send("newcomer", "lead", "here");
    world.start("holder", "h-1", &["newcomer"], &[]);
    assert!(
        world.unread(&by("holder")).is_empty(),
        "the agent was first"
    );
    assert_eq!(world.read(&by("newcomer")), ["welcome", "a job"]);
    assert_eq!(code_of_claim(world, "holder"), None);
    let claimed = world.call("newcomer", &Claim::default()).expect("a claim");
    assert_eq!(claimed.thread.map(|thread| thread.thread_id), Some(job));
}

fn code_of_claim(world: &World, agent: &str) -> Option<inbox_core::ThreadId> {
    let claimed = world
        .call(agent, &Claim::default())
        .expect("a claim answers");
    claimed.thread.map(|thread| thread.thread_id)
}

pub fn an_open_name_reaches_the_role_that_first_appears(world: &World) {
    let sent = world.mail("lead", &["critic"], "welcome");
    let job = world
        .post(&by("lead"), &work(&["critic"], "a job"))
        .thread
        .thread_id;
    let holder = world.start("holder", "h-1", &["critic"], &[]);
    world.send("critic", "lead", "too late");
    assert!(world.unread(&by("critic")).is_empty(), "the role was first");
    assert_eq!(world.read(&holder), ["welcome", "a job"]);
    let shown = world.shown(sent.thread.thread_id);
    assert_eq!(shown[0].to_agent, "role:critic");
    assert_eq!(code_of_claim(world, "critic"), None);
    let claimed = world.call_as(&holder, &Claim::default()).expect("a claim");
    let thread = claimed.thread.expect("a thread");
    assert_eq!(
        (thread.thread_id, thread.assigned_to.as_str()),
        (job, "holder")
    );
    assert_eq!(thread.to[0].as_str(), "role:critic");
    let later = world.mail("lead", &["critic"], "to the agent now");
    assert_eq!(
        later.delivery[0].mode,
        Mode::Agent,
        "a known agent comes before a role"
    );
    world
        .ack(&holder, sent.message.message_id)
        .expect("it is the holder's");
}

pub fn an_open_name_joins_a_role_that_had_mail_already(world: &World) {
    world.mail("lead", &["role:critic"], "to the role");
    world.mail("lead", &["critic"], "to the name");
    let both = world.mail("lead", &["critic", "role:critic", "backend"], "to both");
    let job = world
        .post(&by("lead"), &work(&["backend", "critic"], "a job"))
        .thread
        .thread_id;
    let holder = world.start("holder", "h-1", &["critic"], &[]);
    assert_eq!(
        world.read(&holder),
        ["to the role", "to the name", "to both", "a job"]
    );
    assert_eq!(world.read(&by("backend")), ["to both", "a job"]);
    let shown = world.shown(both.thread.thread_id);
    let to: BTreeSet<_> = shown[0].to.iter().map(ToString::to_string).collect();
    assert!(to.contains("role:critic") && to.contains("backend"));
    let claimed = world.call_as(&holder, &Claim::default()).expect("a claim");
    assert_eq!(claimed.thread.map(|thread| thread.thread_id), Some(job));
    assert_eq!(code_of_claim(world, "backend"), None, "one of them has it");
    let next = world.mail("lead", &["critic"], "from now on");
    assert_eq!(
        (next.delivery[0].mode, next.delivery[0].reaches),
        (Mode::Role, 1)
    );
}

pub fn what_binds_late_is_not_lost_behind_a_bookmark(world: &World) {
    world.mail("lead", &["critic"], "early");
    world.mail("lead", &["role:builder"], "other mail");
    let holder = world.start("holder", "h-1", &["builder"], &[]);
    world.mail("lead", &["role:critic"], "to the role");
    assert_eq!(world.read(&holder), ["other mail"]);
    world.set(&holder, &["role:critic"], &[]);
    assert_eq!(world.read(&holder), ["early", "to the role"]);
    assert!(world.read(&holder).is_empty());
}

pub fn a_role_message_waits_for_a_later_holder_until_one_acknowledges(world: &World) {
    let sent = world.mail("lead", &["role:critic"], "look at this");
    let (mode, reaches, note) = told(&sent.delivery[0]);
    assert_eq!((mode, reaches), (Mode::Role, 0));
    assert!(note.contains("nobody holds this role"), "{note}");
    world.advance_ms(400 * 24 * HOUR);
    let one = world.start("holder", "h-1", &["critic"], &[]);
    let two = world.start("second", "s-1", &["critic"], &[]);
    assert_eq!(world.read(&one), ["look at this"]);
    assert_eq!(
        world.unread(&two),
        ["look at this"],
        "reading is not handling"
    );
    world
        .ack(&one, sent.message.message_id)
        .expect("it is theirs");
    assert!(world.unread(&two).is_empty());
    let three = world.start("third", "t-1", &["critic"], &[]);
    assert!(world.unread(&three).is_empty(), "handled is handled");
}

pub fn work_for_a_role_is_mail_until_one_claims_it_and_again_when_released(world: &World) {
    let one = world.start("holder", "h-1", &["critic"], &[]);
    let two = world.start("second", "s-1", &["critic"], &[]);
    let job = world
        .post(&by("lead"), &work(&["role:critic"], "a job"))
        .thread;
    assert_eq!(job.assigned_to, "role:critic");
    let claimed = world.call_as(&one, &Claim::default()).expect("a claim");
    assert_eq!(
        claimed.thread.as_ref().map(|thread| thread.thread_id),
        Some(job.thread_id)
    );
    assert_eq!(
        claimed
            .thread
            .as_ref()
            .map(|thread| thread.assigned_to.as_str()),
        Some("holder")
    );
    assert!(world.unread(&two).is_empty());
    assert_eq!(code_of_claim(world, "second"), None);
    // Other mail moves the bookmark, and the held work must stand before it.
    world.mail("lead", &["role:critic", "second"], "a word");
    assert_eq!(world.read(&two), ["a word"]);
    assert_eq!(world.read(&one), ["a job", "a word"]);
    let release = Release {
        thread: job.thread_id,
    };
    world.call_as(&one, &release).expect("the holder may");
    assert_eq!(world.unread(&two), ["a job"]);
    let claimed = world.call_as(&two, &Claim::default()).expect("a claim");
    assert_eq!(
        claimed.thread.map(|thread| thread.assigned_to),
        Some("second".into())
    );
}

pub fn work_for_a_tag_or_all_is_claimed_by_exactly_one(world: &World) {
    let one = world.start("holder", "h-1", &[], &["project:x"]);
    let two = world.start("second", "s-1", &[], &["project:x"]);
    for to in ["project:x", "all"] {
        let job = world
            .post(&by("lead"), &work(&[to], &format!("for {to}")))
            .thread;
        assert_eq!(job.assigned_to, to);
        let fetched = world.call_as(&two, &Fetch::default()).expect("a fetch");
        assert_eq!(fetched.threads.len(), 1, "{to}");
        let claimed = world.call_as(&one, &Claim::default()).expect("a claim");
        token(&claimed);
        assert_eq!(
            claimed.thread.map(|thread| thread.thread_id),
            Some(job.thread_id)
        );
        assert_eq!(code_of_claim(world, "second"), None, "{to}");
        let named = world.try_claim("second", job.thread_id, 60);
        assert_eq!(code(named), Code::LeaseConflict);
    }
}

pub fn tag_mail_is_read_by_each_session_and_comes_once(world: &World) {
    let one = world.start("backend", "b-1", &[], &["project:x", "concern:speed"]);
    let two = world.start("backend", "b-2", &[], &["project:x"]);
    let three = world.start("reviewer", "r-1", &[], &["concern:speed"]);
    let four = world.start("outsider", "o-1", &[], &["project:y"]);
    let sent = world.mail("lead", &["project:x", "concern:speed"], "to two tags");
    let reaches: Vec<_> = sent.delivery.iter().map(|to| to.reaches).collect();
    assert_eq!(reaches, [2, 2]);
    assert_eq!(world.read(&one), ["to two tags"]);
    assert!(world.read(&one).is_empty());
    assert_eq!(
        world.read(&two),
        ["to two tags"],
        "each session reads for itself"
    );
    assert_eq!(world.read(&three), ["to two tags"]);
    assert!(world.read(&four).is_empty());
    let late = world.start("late", "l-1", &[], &["PROJECT:X"]);
    assert_eq!(
        world.read(&late),
        ["to two tags"],
        "a tag is whoever has it"
    );
}

pub fn a_message_by_several_addresses_is_counted_once(world: &World) {
    let one = world.start("backend", "b-1", &["builder"], &["project:x"]);
    let to = ["backend", "b-1", "role:builder", "project:x", "all"];
    let sent = world.mail("lead", &to, "by every way");
    let modes: Vec<_> = sent.delivery.iter().map(|to| to.mode.name()).collect();
    assert_eq!(modes, ["agent", "session", "role", "tag", "broadcast"]);
    assert_eq!(
        world.unread(&one),
        ["by every way"],
        "and the count says one"
    );
    world.advance_ms(2 * HOUR);
    let again = world.mail("lead", &["backend"], "are you there");
    let (_, _, note) = told(&again.delivery[0]);
    assert!(note.contains("has 1 unread"), "{note}");
}

pub fn a_dead_session_is_refused(world: &World) {
    let caller = world.start("backend", "b-1", &[], &[]);
    world.end(&caller);
    let refusal = world
        .call("lead", &letter(&["b-1"], "too late"))
        .expect_err("it is dead");
    assert_eq!(refusal.code, Code::RecipientDead);
    assert!(refusal.message.contains("b-1"));
    assert!(refusal.hint.contains("backend"));
    let mixed = world.call("lead", &letter(&["lead", "b-1"], "partly"));
    assert_eq!(code(mixed), Code::RecipientDead);
    assert!(world.unread(&by("backend")).is_empty(), "nothing was sent");
}

pub fn a_ledger_address_is_recorded_as_pending(world: &World) {
    for to in ["0.0.4711", "0.0.12@0.0.4711"] {
        let sent = world.mail("lead", &[to], to);
        let (mode, reaches, note) = told(&sent.delivery[0]);
        assert_eq!((mode, reaches), (Mode::Ledger, 0));
        assert!(note.contains("pending"), "{note}");
        assert_eq!(world.shown(sent.thread.thread_id)[0].to_agent, to);
    }
}

pub fn a_sender_is_told_of_silence_and_of_what_is_unread(world: &World) {
    world.send("backend", "lead", "here");
    let fresh = world.mail("lead", &["backend"], "one");
    assert_eq!(told(&fresh.delivery[0]), (Mode::Agent, 1, String::new()));
    world.advance_ms(59 * 60_000);
    let still = world.mail("lead", &["backend"], "two");
    assert_eq!(still.delivery[0].note, None);
    world.advance_ms(60_000);
    let silent = world.mail("lead", &["backend"], "three");
    let (_, reaches, note) = told(&silent.delivery[0]);
    assert_eq!(reaches, 1);
    assert!(
        note.contains("60 min") && note.contains("2 unread"),
        "{note}"
    );
    world.advance_ms(72 * HOUR);
    let (_, _, note) = told(&world.mail("lead", &["backend"], "four").delivery[0]);
    assert!(
        note.contains("3 days") && note.contains("3 unread"),
        "{note}"
    );
    world.read(&by("backend"));
    let seen = world.mail("lead", &["backend"], "five");
    assert_eq!(seen.delivery[0].note, None);
    let empty = [
        ("project:none", "no session has this tag"),
        ("all", "no session is alive"),
    ];
    for (to, expected) in empty {
        let (_, reaches, note) = told(&world.mail("lead", &[to], to).delivery[0]);
        assert!(reaches == 0 && note.contains(expected), "{to}: {note}");
    }
    let list = SessionList {
        state: vec![SessionState::Alive],
        ..SessionList::default()
    };
    assert!(
        world
            .call("lead", &list)
            .expect("a list")
            .sessions
            .is_empty()
    );
}

pub fn one_address_in_several_spellings_is_one(world: &World) {
    world.start("backend", "b-1", &["critic"], &[]);
    let sent = world.mail(
        "lead",
        &["backend", "BACKEND", "critic", "role:Critic", "B-1", "b-1"],
        "once",
    );
    let to: Vec<_> = sent.message.to.iter().map(ToString::to_string).collect();
    assert_eq!(to, ["backend", "role:critic", "b-1"]);
    assert_eq!(sent.delivery.len(), 3);
}

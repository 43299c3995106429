//! How long mail waits at each address, and that it does not age for a session that sleeps.

use inbox_core::{Mode, Status};
use inbox_ops::{Claim, Send};

use crate::desk::{HOUR, letter, work};
use crate::world::{World, by};

pub fn mail_to_a_frozen_session_waits_and_does_not_age(world: &World) {
    let caller = world.start("backend", "b-1", &[], &[]);
    world.mail("lead", &["b-1"], "before");
    world.advance_ms(10 * HOUR);
    world.freeze(&caller);
    world.advance_ms(20 * HOUR);
    let sent = world.mail("lead", &["b-1"], "while it slept");
    let told = &sent.delivery[0];
    assert_eq!((told.mode, told.reaches), (Mode::Session, 0));
    assert!(
        told.note
            .as_ref()
            .is_some_and(|note| note.contains("frozen"))
    );
    world.advance_ms(10 * HOUR);
    assert_eq!(world.unread(&caller), ["before", "while it slept"]);
    world.resume(&caller);
    assert_eq!(world.unread(&caller), ["before", "while it slept"]);
    world.advance_ms(14 * HOUR - 1);
    assert_eq!(world.unread(&caller), ["before", "while it slept"]);
    world.advance_ms(1);
    assert_eq!(
        world.unread(&caller),
        ["while it slept"],
        "14 hours were left of 24"
    );
    world.advance_ms(10 * HOUR - 1);
    assert_eq!(
        world.unread(&caller),
        ["while it slept"],
        "24 hours were left of 24"
    );
    world.advance_ms(1);
    assert!(world.unread(&caller).is_empty());
}

pub fn a_reader_without_a_session_does_not_lose_a_sleepers_mail(world: &World) {
    let caller = world.start("backend", "b-1", &[], &[]);
    world.mail("lead", &["b-1"], "for the sleeper");
    world.freeze(&caller);
    world.advance_ms(30 * HOUR);
    world.mail("lead", &["backend"], "for the agent");
    let found = world.read(&by("backend"));
    assert_eq!(found.last().map(String::as_str), Some("for the agent"));
    world.resume(&caller);
    let mut all = found;
    all.extend(world.read(&caller));
    assert!(all.contains(&"for the sleeper".to_owned()), "{all:?}");
}

pub fn a_sleepers_other_addresses_age_on(world: &World) {
    let caller = world.start("backend", "b-1", &[], &["project:x"]);
    let sent = world.mail("lead", &["b-1", "project:x"], "both ways");
    let deadline = sent.message.expires_at.expect("a deadline");
    world.freeze(&caller);
    world.advance_ms(30 * HOUR);
    world.resume(&caller);
    let shown = world.shown(sent.thread.thread_id);
    assert_eq!(
        shown[0].expires_at,
        Some(deadline),
        "the tag's seven days are the longest"
    );
    assert_eq!(world.unread(&caller), ["both ways"]);
}

pub fn each_mode_has_its_time_and_a_sender_may_say_another(world: &World) {
    world.start("backend", "b-1", &["builder"], &["project:x"]);
    let hours = |to: &[&str], ttl: Option<i64>| {
        let request = Send {
            ttl_hours: ttl,
            ..letter(to, &format!("{to:?} {ttl:?}"))
        };
        let message = world.post(&by("lead"), &request).message;
        message
            .expires_at
            .map(|time| (time.0 - message.created_at.0) / HOUR)
    };
    for (to, expected) in [
        ("backend", None),
        ("b-1", Some(24)),
        ("role:builder", None),
        ("project:x", Some(168)),
        ("all", Some(4)),
        ("0.0.5", None),
        ("nobody-yet", None),
    ] {
        assert_eq!(hours(&[to], None), expected, "{to}");
        assert_eq!(hours(&[to], Some(3)), Some(3), "{to}");
    }
    assert_eq!(hours(&["all", "project:x"], None), Some(168));
    assert_eq!(hours(&["all", "backend"], None), None);
}

pub fn a_message_expires_at_each_address_by_itself(world: &World) {
    let sent = world.mail("lead", &["all", "backend"], "to both");
    assert_eq!(sent.message.expires_at, None);
    let early = world.start("early", "e-1", &[], &[]);
    assert_eq!(world.unread(&early), ["to both"]);
    world.advance_ms(5 * HOUR);
    let late = world.start("late", "l-1", &[], &[]);
    assert!(world.unread(&late).is_empty());
    assert!(world.unread(&early).is_empty());
    assert_eq!(world.unread(&by("backend")), ["to both"]);
}

pub fn what_expired_leaves_the_polls_and_stays_in_show(world: &World) {
    let caller = world.start("backend", "b-1", &[], &[]);
    let short = |to: &str| Send {
        ttl_hours: Some(1),
        ..work(&[to], "short")
    };
    let thread = world.post(&by("lead"), &short("backend")).thread.thread_id;
    assert_eq!(world.unread(&caller), ["short"]);
    world.advance_ms(HOUR);
    assert!(world.unread(&caller).is_empty());
    assert!(world.read(&caller).is_empty());
    let next = world.call("backend", &Claim::default()).expect("an answer");
    assert!(next.thread.is_none());
    let shown = world.shown(thread);
    assert_eq!(shown[0].summary, "short");
    let thread = world
        .try_claim("backend", thread, 60)
        .expect("by name it can be taken");
    assert_eq!(
        thread.thread.map(|thread| thread.status),
        Some(Status::Claimed)
    );
}

pub fn a_broadcast_is_for_the_living_and_for_who_comes_within_its_time(world: &World) {
    let gone = world.start("gone", "g-1", &[], &[]);
    world.end(&gone);
    let one = world.start("backend", "b-1", &[], &[]);
    let asleep = world.start("sleeper", "s-1", &[], &[]);
    world.freeze(&asleep);
    let sent = world.mail("lead", &["ALL"], "to everybody");
    let told = &sent.delivery[0];
    assert_eq!(
        (told.mode, told.reaches, &told.note),
        (Mode::Broadcast, 1, &None)
    );
    assert!(world.unread(&by("gone")).is_empty(), "nothing of it lives");
    assert!(world.unread(&by("lead")).is_empty(), "its own");
    assert_eq!(world.unread(&one), ["to everybody"]);
    world.advance_ms(4 * HOUR - 1);
    let two = world.start("reviewer", "r-1", &[], &[]);
    assert_eq!(world.unread(&two), ["to everybody"]);
    world.advance_ms(1);
    let three = world.start("late", "l-1", &[], &[]);
    for caller in [&one, &two, &three] {
        assert!(world.unread(caller).is_empty());
    }
}

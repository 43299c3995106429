//! Every reader sees every event once, in one order; a wait returns what it waits for.

use std::time::{Duration, Instant};

use inbox_core::{Code, EventId, EventType, Kind, Status};
use inbox_ops::{Caller, Cancel, Reply, Send, WaitReply, Waiting, Watch};

use crate::world::{World, by, code, update, with_token};

fn reply(thread: inbox_core::ThreadId, kind: Kind, summary: &str) -> Reply {
    Reply {
        thread,
        to: Vec::new(),
        kind: Some(kind),
        summary: Some(summary.into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

fn wait(thread: inbox_core::ThreadId) -> WaitReply {
    WaitReply {
        thread,
        after_message: None,
        after_event: None,
        kinds: Vec::new(),
        timeout_seconds: Some(0),
    }
}

fn everything(world: &World, after: EventId) -> inbox_ops::Watched {
    let request = Watch {
        after_event: Some(after),
        ..Watch::default()
    };
    world
        .call_as(&Caller::local(None), &request)
        .expect("it can be watched")
}

pub fn events_are_numbered_without_gap_in_the_order_of_commits(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, 600));
    world.update(&caller, thread).expect("the holder may");
    world
        .call(
            "lead",
            &Cancel {
                thread,
                reason: None,
            },
        )
        .expect("the creator may");
    let watched = everything(world, EventId(0));
    let numbers: Vec<_> = watched
        .events
        .iter()
        .map(|event| event.event_id.0)
        .collect();
    assert_eq!(numbers, vec![1, 2, 3, 4]);
    let types: Vec<_> = watched
        .events
        .iter()
        .map(|event| event.event_type)
        .collect();
    assert_eq!(
        types,
        vec![
            EventType::Created,
            EventType::Claimed,
            EventType::InProgress,
            EventType::Cancelled
        ]
    );
    assert_eq!(watched.next_event_id, EventId(4));
}

pub fn a_cursor_gives_nothing_twice_and_misses_nothing(world: &World) {
    let mut seen = Vec::new();
    let mut after = EventId(0);
    for n in 0..5 {
        let sent = world
            .call("lead", &crate::world::task("backend", &format!("work {n}")))
            .expect("a send succeeds");
        let watched = everything(world, after);
        assert_eq!(watched.next_event_id, sent.next_event_id);
        seen.extend(watched.events.iter().map(|event| event.event_id.0));
        after = watched.next_event_id;
    }
    assert!(!everything(world, after).woke);
    assert_eq!(seen, vec![1, 2, 3, 4, 5]);
}

pub fn a_watch_without_a_cursor_starts_now(world: &World) {
    world.send("lead", "backend", "before");
    let watched = world
        .call_as(&Caller::local(None), &Watch::default())
        .expect("it can be watched");
    assert!(!watched.woke && watched.events.is_empty());
    assert_eq!(watched.next_event_id, EventId(1));
}

pub fn a_watch_by_an_agent_shows_what_concerns_it_by_others(world: &World) {
    let mine = world.send("lead", "backend", "mine");
    let theirs = world.send("boss", "frontend", "theirs");
    world.claim("backend", mine, 600);
    world.claim("frontend", theirs, 600);
    let of = |agent: &str, status: Vec<Status>| {
        let request = Watch {
            after_event: Some(EventId(0)),
            status,
            ..Watch::default()
        };
        let watched = world.call(agent, &request).expect("it can be watched");
        watched
            .events
            .iter()
            .map(|event| (event.thread_id, event.event_type))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("backend", vec![]), vec![(mine, EventType::Created)]);
    assert_eq!(of("lead", vec![]), vec![(mine, EventType::Claimed)]);
    assert_eq!(of("lead", vec![Status::Pending]), vec![]);
    assert_eq!(of("stranger", vec![]), vec![]);
}

pub fn renewals_wake_nobody(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 600);
    let after = world
        .inbox()
        .store()
        .newest_event()
        .expect("it can be read");
    let renew = inbox_ops::Renew {
        thread,
        lease_seconds: None,
    };
    world
        .call_as(&with_token(token), &renew)
        .expect("the holder may");
    assert!(!everything(world, after).woke);
}

pub fn a_wait_returns_the_oldest_reply_and_its_own_event(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, 600));
    world
        .call_as(&caller, &update(thread))
        .expect("the holder may");
    assert!(
        !world
            .call("backend", &wait(thread))
            .expect("it can wait")
            .woke
    );
    let first = world
        .call("lead", &reply(thread, Kind::Answer, "first"))
        .expect("anybody may");
    world
        .call("lead", &reply(thread, Kind::Answer, "second"))
        .expect("anybody may");
    let woke = world.call("backend", &wait(thread)).expect("it can wait");
    assert_eq!(
        woke.message.map(|message| message.summary),
        Some("first".into())
    );
    assert_eq!(woke.next_event_id, first.next_event_id);
    let next = WaitReply {
        after_event: Some(woke.next_event_id),
        ..wait(thread)
    };
    let woke = world.call("backend", &next).expect("it can wait");
    assert_eq!(
        woke.message.map(|message| message.summary),
        Some("second".into())
    );
}

pub fn a_wait_passes_over_other_kinds_and_own_messages(world: &World) {
    let thread = world.send("lead", "backend", "work");
    world.claim("backend", thread, 600);
    let from_start = WaitReply {
        after_event: Some(EventId(0)),
        ..wait(thread)
    };
    world
        .call("lead", &reply(thread, Kind::Progress, "by the way"))
        .expect("anybody may");
    world
        .call("backend", &reply(thread, Kind::Answer, "to myself"))
        .expect("anybody may");
    assert!(
        !world
            .call("backend", &from_start)
            .expect("it can wait")
            .woke
    );
    let any = WaitReply {
        kinds: vec![Kind::Progress],
        ..from_start
    };
    assert!(world.call("backend", &any).expect("it can wait").woke);
}

pub fn a_wait_without_a_cursor_starts_after_the_callers_last_message(world: &World) {
    let thread = world.send("lead", "backend", "work");
    world
        .call("boss", &reply(thread, Kind::Answer, "early"))
        .expect("anybody may");
    // Without an own message it starts at the beginning.
    assert!(
        world
            .call("backend", &wait(thread))
            .expect("it can wait")
            .woke
    );
    world
        .call("backend", &reply(thread, Kind::Question, "and now?"))
        .expect("anybody may");
    assert!(
        !world
            .call("backend", &wait(thread))
            .expect("it can wait")
            .woke
    );
    assert!(
        world
            .call_as(&Caller::local(None), &wait(thread))
            .expect("it can wait")
            .woke
    );
}

pub fn a_wait_after_a_message_starts_there(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let early = world
        .call("lead", &reply(thread, Kind::Answer, "early"))
        .expect("anybody may");
    let after = WaitReply {
        after_message: Some(early.message.message_id),
        ..wait(thread)
    };
    assert!(!world.call("backend", &after).expect("it can wait").woke);
    let other = world.send("lead", "backend", "other");
    let foreign = WaitReply {
        thread: other,
        ..after
    };
    assert_eq!(code(world.call("backend", &foreign)), Code::MessageNotFound);
}

pub fn a_waiter_whose_lease_is_lost_is_told(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 1);
    world.advance_ms(1_000);
    world
        .call("lead", &reply(thread, Kind::Answer, "too late"))
        .expect("anybody may");
    assert_eq!(
        code(world.call_as(&with_token(token), &wait(thread))),
        Code::LeaseLost
    );
}

pub fn a_holder_that_waits_knows_when_to_renew_whatever_day_it_thinks_it_is(world: &World) {
    // The clock of the world is far from that of this process.
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 900);
    let mut state = <WaitReply as Waiting>::State::default();
    let before = Instant::now();
    wait(thread)
        .poll(&mut state, world.inbox(), &with_token(token))
        .expect("it holds the thread");
    let third = Duration::from_mins(5);
    let due = WaitReply::wake_at(&state).expect("a lease must be renewed");
    assert!(due >= before + third && due <= Instant::now() + third);
    world.advance_ms(300_000);
    wait(thread)
        .poll(&mut state, world.inbox(), &with_token(token))
        .expect("it renews");
    let due = WaitReply::wake_at(&state).expect("again and again");
    assert!(due >= before + third && due <= Instant::now() + third);
    world.advance_ms(899_999);
    world
        .update(&with_token(token), thread)
        .expect("the lease was renewed");
}

pub fn a_cancellation_wakes_the_waiter_with_its_control_message(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 600);
    world
        .call(
            "lead",
            &Cancel {
                thread,
                reason: Some("stop".into()),
            },
        )
        .expect("the creator may");
    let woke = world
        .call_as(&with_token(token), &wait(thread))
        .expect("it can wait");
    assert_eq!(
        woke.message.map(|message| (message.kind, message.summary)),
        Some((Kind::Control, "stop".into()))
    );
}

pub fn a_refused_write_appends_no_event(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let before = world
        .inbox()
        .store()
        .newest_event()
        .expect("it can be read");
    assert_eq!(
        code(world.update(&by("backend"), thread)),
        Code::InvalidTransition
    );
    let missing = Send {
        thread: Some(inbox_core::ThreadId::new(999)),
        summary: Some("x".into()),
        ..Send::default()
    };
    assert_eq!(code(world.call("newcomer", &missing)), Code::ThreadNotFound);
    assert_eq!(
        world
            .inbox()
            .store()
            .newest_event()
            .expect("it can be read"),
        before
    );
    let agents = world
        .inbox()
        .store()
        .read(|tx| Ok(tx.counts()?[3]))
        .expect("it can be read");
    assert_eq!(agents, 1, "a refused newcomer is not registered");
}

pub fn a_watch_gives_500_events_at_once_and_goes_on_behind_the_last(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, 600));
    for _ in 2..500 {
        world.update(&caller, thread).expect("the holder may");
    }
    let full = everything(world, EventId(0));
    assert_eq!((full.events.len(), full.next_event_id), (500, EventId(500)));
    let silent = world.send("boss", "frontend", "elsewhere");
    let of_one = Watch {
        after_event: Some(EventId(0)),
        thread: Some(thread),
        ..Watch::default()
    };
    let watch = || {
        let all = world.call_as(&Caller::local(None), &of_one);
        let all = all.expect("it can be watched");
        (all.events.len(), all.next_event_id)
    };
    // What does not concern the watcher is passed over, unless there is more before it.
    assert_eq!(watch(), (500, EventId(501)));
    world.update(&caller, thread).expect("the holder may");
    assert_eq!(watch(), (500, EventId(500)));
    let rest = everything(world, EventId(500));
    let threads: Vec<_> = rest.events.iter().map(|event| event.thread_id).collect();
    assert_eq!(threads, [silent, thread]);
}

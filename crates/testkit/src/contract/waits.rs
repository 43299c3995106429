//! Who waits as a thread's holder keeps its lease, neither too early nor too late, and is told when it is lost.

use std::time::Duration;

use inbox_core::{Code, EventId, Kind, ThreadId};
use inbox_ops::{Answer, Caller, Claim, Operation, Reply, SessionStart, WaitReply, Waiting};

use crate::world::{World, by, code, with_token};

/// The length of a lease, in seconds, and a third of it in milliseconds.
const LEASE: i64 = 900;
const THIRD: i64 = 300_000;

fn wait(thread: ThreadId) -> WaitReply {
    WaitReply {
        thread,
        after_message: None,
        after_event: None,
        kinds: Vec::new(),
        timeout_seconds: Some(7),
    }
}

type State = <WaitReply as Waiting>::State;

fn newest(world: &World) -> EventId {
    let store = world.inbox().store();
    store.newest_event().expect("it can be read")
}

/// Looks for a reply, and says whether the lease was renewed by that.
fn renews(world: &World, state: &mut State, caller: &Caller, thread: ThreadId) -> bool {
    let before = newest(world);
    let looked = wait(thread).poll(state, world.inbox(), caller);
    assert!(!looked.expect("it holds the thread").woke);
    newest(world) > before
}

pub fn a_lease_that_has_just_begun_is_left_alone_for_a_third_of_it(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, LEASE));
    let mut state = State::default();
    assert!(!renews(world, &mut state, &caller, thread));
    world.advance_ms(THIRD - 1);
    assert!(!renews(world, &mut state, &caller, thread));
    world.advance_ms(1);
    assert!(renews(world, &mut state, &caller, thread));
}

pub fn who_begins_to_wait_in_the_last_third_renews_at_once(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, LEASE));
    world.advance_ms(2 * THIRD - 1);
    let mut early = State::default();
    assert!(!renews(world, &mut early, &caller, thread));
    world.advance_ms(1);
    assert!(renews(world, &mut State::default(), &caller, thread));
    world.advance_ms(1_000 * LEASE - 1);
    world
        .update(&caller, thread)
        .expect("the lease was renewed");
}

pub fn who_has_lost_its_parent_keeps_no_lease(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, LEASE));
    let mut state = State::default();
    assert!(!renews(world, &mut state, &caller, thread));
    assert!(WaitReply::wake_at(&state).is_some());
    WaitReply::orphan(&mut state);
    assert_eq!(WaitReply::wake_at(&state), None);
    world.advance_ms(2 * THIRD);
    assert!(!renews(world, &mut state, &caller, thread));
}

pub fn a_session_that_claims_anew_ends_its_own_older_wait(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let session = Caller {
        session: Some("s-1".parse().expect("a good id")),
        ..by("backend")
    };
    let inbox = world.inbox();
    let begun = SessionStart::default().run(inbox, &session);
    begun.expect("a session begins");
    let claim = Claim {
        thread: Some(thread),
        lease_seconds: Some(1),
        ..Claim::default()
    };
    claim.run(inbox, &session).expect("it is free");
    let mut state = State::default();
    assert!(!renews(world, &mut state, &session, thread));
    world.advance_ms(1_000);
    claim.run(inbox, &session).expect("it ran out");
    let told = wait(thread).poll(&mut state, inbox, &session);
    assert_eq!(code(told), Code::LeaseLost);
}

pub fn nobody_keeps_the_lease_of_another_by_waiting(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let of = |agent: &str| Caller {
        session: Some("s-1".parse().expect("a good id")),
        ..by(agent)
    };
    let claim = Claim {
        thread: Some(thread),
        ..Claim::default()
    };
    // A session that is on nobody's roster is still that of who claimed.
    let claimed = claim.run(world.inbox(), &of("backend"));
    claimed.expect("it is free");
    world.advance_ms(2 * THIRD);
    assert!(!renews(world, &mut State::default(), &of("ann"), thread));
    // Nor does who may only read keep a lease of its own.
    let reader = Caller {
        may_write: false,
        ..of("backend")
    };
    assert!(!renews(world, &mut State::default(), &reader, thread));
    let begun = SessionStart::default().run(world.inbox(), &of("backend"));
    begun.expect("a session begins");
    let told = wait(thread).poll(&mut State::default(), world.inbox(), &of("ann"));
    assert_eq!(code(told), Code::InvalidInput);
    assert!(renews(world, &mut State::default(), &of("backend"), thread));
}

pub fn a_wait_takes_as_long_as_it_says_and_is_over_with_its_reply(world: &World) {
    let thread = world.send("lead", "backend", "work");
    assert_eq!(wait(thread).timeout(), Some(Duration::from_secs(7)));
    let endless = WaitReply {
        timeout_seconds: None,
        ..wait(thread)
    };
    assert_eq!(endless.timeout(), None);
    let look = || {
        let looked = wait(thread).poll(&mut State::default(), world.inbox(), &by("backend"));
        looked.expect("anybody may wait")
    };
    let vain = look();
    assert!(!WaitReply::is_over(&vain) && !vain.is_something());
    let reply = Reply {
        kind: Some(Kind::Answer),
        summary: Some("so".into()),
        ..Reply::to(thread)
    };
    world.call("lead", &reply).expect("anybody may");
    let mut woken = look();
    assert!(WaitReply::is_over(&woken) && woken.is_something());
    assert_ne!(format!("{:?}", woken.page()), format!("{:?}", vain.page()));
    woken.go_on_at(EventId(99));
    assert_eq!(woken.next_event_id, EventId(99));
}

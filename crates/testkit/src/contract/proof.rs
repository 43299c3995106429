//! Who proves that a thread is theirs: what a token, a session and a name are worth.

use inbox_core::{Auth, Code, EventId, EventType, LeaseToken, ThreadId};
use inbox_ops::{Caller, Cancel, Claim, Watch};

use super::leases::{every_write, reply, traces};
use crate::world::{World, by, code, with_token};

pub fn a_forged_token_meets_what_is_missing_or_final_before_it_is_told_that_it_proves_nothing(
    world: &World,
) {
    if world.auth() == Auth::Token {
        // A server has no caller without a name: the token says it.
        return;
    }
    let forged = |thread| {
        with_token(LeaseToken {
            thread,
            epoch: 1,
            secret: 7,
        })
    };
    let missing = ThreadId::new(999);
    assert_eq!(
        every_write(world, &forged(missing), missing),
        vec![Code::ThreadNotFound; 5]
    );
    let thread = world.send("lead", "backend", "work");
    assert_eq!(
        every_write(world, &forged(thread), thread),
        vec![Code::LeaseLost; 5]
    );
    world.claim("backend", thread, 600);
    assert_eq!(
        every_write(world, &forged(thread), thread),
        vec![Code::LeaseLost; 5]
    );
    let before = traces(world, thread);
    assert_eq!(
        code(world.call_as(
            &forged(thread),
            &Cancel {
                thread,
                reason: None
            }
        )),
        Code::LeaseLost
    );
    assert_eq!(traces(world, thread), before);
    world
        .call(
            "lead",
            &Cancel {
                thread,
                reason: None,
            },
        )
        .expect("the creator may");
    assert_eq!(
        every_write(world, &forged(thread), thread),
        vec![Code::InvalidTransition; 5]
    );
}

pub fn the_holders_token_in_anothers_hands_is_no_proof_and_no_hindrance(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 600);
    let leader = Caller {
        lease: Some(token),
        ..by("lead")
    };
    assert_eq!(
        every_write(world, &leader, thread),
        vec![Code::LeaseLost; 5]
    );
    let posted = world
        .call_as(&leader, &reply(thread))
        .expect("a leader answers in its worker's shell");
    assert_eq!(posted.message.from_agent.as_str(), "lead");
}

pub fn a_claim_of_one_thread_takes_no_labels(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let label = || "alpha".parse().ok();
    for (run, task) in [(label(), None), (None, label())] {
        let request = Claim {
            thread: Some(thread),
            run,
            task,
            ..Default::default()
        };
        assert_eq!(code(world.call("backend", &request)), Code::InvalidInput);
    }
}

pub fn a_claim_by_who_is_reached_is_no_override(world: &World) {
    world.start("backend", "b-1", &["builder"], &[]);
    for to in ["backend", "role:builder"] {
        let thread = world.send("lead", to, "work");
        world.claim("backend", thread, 600);
        let request = Watch {
            after_event: Some(EventId(0)),
            thread: Some(thread),
            ..Default::default()
        };
        let watched = world.call("lead", &request).expect("it can be watched");
        let claimed = watched.events.last().expect("an event");
        assert_eq!(claimed.event_type, EventType::Claimed);
        assert_eq!(claimed.payload_json.get("override"), None, "{to}");
    }
}

pub fn a_token_with_another_secret_proves_nothing(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 600);
    let forged = Caller {
        lease: Some(LeaseToken {
            secret: token.secret ^ 1,
            ..token
        }),
        ..by("backend")
    };
    assert_eq!(
        every_write(world, &forged, thread),
        vec![Code::LeaseLost; 5]
    );
    world
        .update(&with_token(token), thread)
        .expect("the holder may");
}

pub fn a_session_that_never_held_a_thread_may_write_into_it(world: &World) {
    let lead = world.start("lead", "l-1", &[], &[]);
    let backend = world.start("backend", "b-1", &[], &[]);
    let thread = world.send("lead", "backend", "work");
    let claim = Claim {
        thread: Some(thread),
        lease_seconds: Some(60),
        ..Default::default()
    };
    world.call_as(&backend, &claim).expect("it is its own");
    let word = reply(thread);
    world.call_as(&lead, &word).expect("it was never its own");
    world.advance_ms(60_000);
    world.claim("other", thread, 600);
    assert_eq!(code(world.call_as(&backend, &word)), Code::LeaseLost);
    world.call_as(&lead, &word).expect("it was never its own");
}

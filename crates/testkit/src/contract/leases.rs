//! One worker holds a thread at a time, and a worker that lost its lease cannot write.

use inbox_core::lifecycle::Command;
use inbox_core::{Code, Status};
use inbox_ops::{Caller, Cancel, Claim, Done, Fail, Operation, Release, Renew, Reply, Send, Show};

use crate::world::{World, by, code, token, update, with_token};

fn done(thread: inbox_core::ThreadId) -> Done {
    Done {
        thread,
        summary: Some("done".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

fn fail(thread: inbox_core::ThreadId) -> Fail {
    Fail {
        thread,
        summary: Some("no".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

pub(super) fn reply(thread: inbox_core::ThreadId) -> Reply {
    Reply {
        thread,
        to: Vec::new(),
        kind: None,
        summary: Some("so".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

fn in_session(agent: &str, session: &str) -> Caller {
    Caller {
        session: Some(session.parse().expect("a good session")),
        ..by(agent)
    }
}

/// Everything a holder can write, tried by this caller.
pub(super) fn every_write(
    world: &World,
    caller: &Caller,
    thread: inbox_core::ThreadId,
) -> Vec<Code> {
    let renew = Renew {
        thread,
        lease_seconds: None,
    };
    vec![
        code(world.update(caller, thread)),
        code(world.call_as(caller, &done(thread))),
        code(world.call_as(caller, &fail(thread))),
        code(world.call_as(caller, &renew)),
        code(world.call_as(caller, &Release { thread })),
    ]
}

/// What cannot have changed when a write left no trace.
pub(super) fn traces(world: &World, thread: inbox_core::ThreadId) -> (String, [i64; 4]) {
    let shown = world
        .call("lead", &Show::of(thread))
        .expect("the thread is there");
    let counts = world
        .inbox()
        .store()
        .read(|tx| Ok(tx.counts()?))
        .expect("the store can be read");
    (
        serde_json::to_string(&shown).expect("an answer is JSON"),
        counts,
    )
}

pub fn anothers_session_proves_nothing(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let claim = Claim {
        thread: Some(thread),
        ..Claim::default()
    };
    world
        .call_as(&in_session("backend", "s1"), &claim)
        .expect("it is free");
    let before = traces(world, thread);
    let thief = in_session("ann", "s1");
    assert_eq!(
        every_write(world, &thief, thread),
        vec![Code::LeaseConflict; 5]
    );
    assert_eq!(traces(world, thread), before);
    // She may speak, as herself.
    let said = world
        .call_as(&thief, &reply(thread))
        .expect("whoever likes");
    assert_eq!(said.message.from_agent.as_str(), "ann");
    world
        .update(&in_session("backend", "s1"), thread)
        .expect("the holder's own");
}

pub fn a_claim_gives_a_token_an_epoch_and_a_deadline(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let leased = world.try_claim("backend", thread, 900).expect("it is free");
    let lease = leased.lease.clone().expect("a lease");
    assert_eq!(lease.epoch, 1);
    assert_eq!(lease.expires_at.0 - lease.claimed_at.0, 900_000);
    let claimed = leased.thread.expect("a thread");
    assert_eq!((claimed.status, claimed.attempts), (Status::Claimed, 1));
    assert_eq!(claimed.assigned_to, "backend");
}

pub fn a_second_claim_is_refused_while_the_lease_lives(world: &World) {
    let thread = world.send("lead", "backend", "work");
    world.claim("backend", thread, 10);
    assert_eq!(
        code(world.try_claim("other", thread, 10)),
        Code::LeaseConflict
    );
    assert_eq!(
        code(world.try_claim("backend", thread, 10)),
        Code::LeaseConflict
    );
    world.advance_ms(9_999);
    assert_eq!(
        code(world.try_claim("other", thread, 10)),
        Code::LeaseConflict
    );
    world.advance_ms(1);
    let leased = world
        .try_claim("other", thread, 10)
        .expect("the lease has ended");
    assert_eq!(leased.lease.map(|lease| lease.epoch), Some(2));
    assert_eq!(leased.thread.map(|thread| thread.attempts), Some(2));
}

pub fn a_worker_whose_lease_was_taken_over_leaves_no_trace(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let old = world.claim("backend", thread, 1);
    world.advance_ms(1_000);
    world.claim("other", thread, 600);
    let before = traces(world, thread);
    for caller in [
        with_token(old),
        Caller {
            lease: Some(old),
            ..by("backend")
        },
        by("backend"),
    ] {
        assert_eq!(
            every_write(world, &caller, thread),
            vec![Code::LeaseLost; 5]
        );
    }
    assert_eq!(
        code(world.call_as(&with_token(old), &reply(thread))),
        Code::LeaseLost
    );
    assert_eq!(traces(world, thread), before);
}

pub fn an_expired_lease_is_refused_even_when_nobody_took_it(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let old = world.claim("backend", thread, 1);
    world.advance_ms(1_000);
    let before = traces(world, thread);
    for caller in [with_token(old), by("backend"), by("stranger")] {
        assert_eq!(
            every_write(world, &caller, thread),
            vec![Code::LeaseLost; 5]
        );
    }
    assert_eq!(traces(world, thread), before);
}

pub fn two_workers_of_one_name_are_told_apart_by_token(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let first = world.claim("backend", thread, 1);
    world.advance_ms(1_000);
    let second = world.claim("backend", thread, 600);
    let before = traces(world, thread);
    assert_eq!(
        every_write(world, &with_token(first), thread),
        vec![Code::LeaseLost; 5]
    );
    // After a second claim under the name, the name alone proves nothing.
    assert_eq!(
        every_write(world, &by("backend"), thread),
        vec![Code::LeaseLost; 5]
    );
    assert_eq!(traces(world, thread), before);
    world
        .update(&with_token(second), thread)
        .expect("the current token writes");
}

pub fn two_workers_of_one_name_are_told_apart_by_session(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let claim = Claim {
        thread: Some(thread),
        lease_seconds: Some(1),
        ..Default::default()
    };
    world
        .call_as(&in_session("backend", "s1"), &claim)
        .expect("it is free");
    world.advance_ms(1_000);
    let longer = Claim {
        lease_seconds: Some(600),
        ..claim
    };
    world
        .call_as(&in_session("backend", "s2"), &longer)
        .expect("it is free again");
    assert_eq!(
        every_write(world, &in_session("backend", "s1"), thread),
        vec![Code::LeaseLost; 5]
    );
    assert_eq!(
        code(world.call_as(&in_session("backend", "s1"), &reply(thread))),
        Code::LeaseLost
    );
    world
        .update(&in_session("backend", "s2"), thread)
        .expect("the session that claimed writes");
}

pub fn a_name_suffices_while_it_has_claimed_the_thread_once(world: &World) {
    let thread = world.send("lead", "backend", "work");
    world.claim("backend", thread, 600);
    world
        .update(&by("backend"), thread)
        .expect("the name is enough");
    assert_eq!(
        every_write(world, &by("stranger"), thread),
        vec![Code::LeaseConflict; 5]
    );
}

pub fn a_token_alone_identifies_its_holder(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 600);
    let posted = world
        .update(&with_token(token), thread)
        .expect("the token is enough");
    assert_eq!(posted.message.from_agent.as_str(), "backend");
    let stolen = Caller {
        lease: Some(token),
        ..by("thief")
    };
    assert_eq!(
        every_write(world, &stolen, thread),
        vec![Code::LeaseLost; 5]
    );
}

pub fn a_renewed_lease_outlives_its_first_deadline(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 10);
    world.advance_ms(9_000);
    let renewed = world
        .call_as(
            &with_token(token),
            &Renew {
                thread,
                lease_seconds: Some(10),
            },
        )
        .expect("it is live");
    let lease = renewed.lease.expect("a lease");
    assert_eq!((lease.epoch, lease.lease_token), (1, Some(token)));
    world.advance_ms(9_999);
    assert_eq!(
        code(world.try_claim("other", thread, 1)),
        Code::LeaseConflict
    );
    world.advance_ms(1);
    world.try_claim("other", thread, 1).expect("it has ended");
}

pub fn a_released_thread_is_pending_again_and_its_token_worthless(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let old = world.claim("backend", thread, 600);
    let released = world
        .call_as(&with_token(old), &Release { thread })
        .expect("the holder may");
    assert_eq!(released.thread.status, Status::Pending);
    assert_eq!(released.thread.assigned_to, "backend");
    assert_eq!(
        every_write(world, &with_token(old), thread),
        vec![Code::LeaseLost; 5]
    );
    assert_eq!(
        every_write(world, &by("backend"), thread),
        vec![Code::InvalidTransition; 5]
    );
    let leased = world.try_claim("other", thread, 600).expect("it is free");
    assert_eq!(leased.lease.map(|lease| lease.epoch), Some(3));
}

pub fn a_cancelled_thread_takes_the_lease_from_its_holder(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let old = world.claim("backend", thread, 600);
    let cancelled = world
        .call(
            "lead",
            &Cancel {
                thread,
                reason: Some("not needed".into()),
            },
        )
        .expect("the creator may");
    assert_eq!(cancelled.thread.status, Status::Cancelled);
    assert_eq!(cancelled.thread.assigned_to, "backend");
    assert_eq!(
        every_write(world, &with_token(old), thread),
        vec![Code::InvalidTransition; 5]
    );
    assert_eq!(
        code(world.call_as(&with_token(old), &reply(thread))),
        Code::LeaseLost
    );
    assert_eq!(
        code(world.try_claim("backend", thread, 1)),
        Code::InvalidTransition
    );
}

pub fn a_finished_thread_is_final_and_takes_messages(world: &World) {
    for (request, status) in [(true, Status::Done), (false, Status::Failed)] {
        let thread = world.send("lead", "backend", "work");
        let token = world.claim("backend", thread, 600);
        let caller = with_token(token);
        let posted = if request {
            world.call_as(&caller, &done(thread))
        } else {
            world.call_as(&caller, &fail(thread))
        };
        let posted = posted.expect("the holder may");
        assert_eq!(
            (posted.thread.status, posted.thread.assigned_to.as_str()),
            (status, "backend")
        );
        assert_eq!(
            every_write(world, &caller, thread),
            vec![Code::InvalidTransition; 5]
        );
        assert_eq!(
            code(world.call(
                "lead",
                &Cancel {
                    thread,
                    reason: None
                }
            )),
            Code::InvalidTransition
        );
        world
            .call("lead", &reply(thread))
            .expect("messages may still be added");
        world
            .call_as(&caller, &reply(thread))
            .expect("also by the one who finished it");
    }
}

pub fn a_pending_thread_has_nobody_to_write_for_it(world: &World) {
    let thread = world.send("lead", "backend", "work");
    assert_eq!(
        every_write(world, &by("backend"), thread),
        vec![Code::InvalidTransition; 5]
    );
}

pub fn a_claim_by_somebody_else_is_recorded_as_an_override(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let leased = world
        .try_claim("other", thread, 600)
        .expect("locally anybody may");
    let events = world.call(
        "nobody",
        &inbox_ops::Watch {
            after_event: Some(inbox_core::EventId(0)),
            thread: Some(thread),
            ..Default::default()
        },
    );
    // `nobody` is not concerned; the log without an agent shows it.
    assert!(!events.expect("it can be watched").woke);
    let all = world
        .call_as(
            &Caller::local(None),
            &inbox_ops::Watch {
                after_event: Some(inbox_core::EventId(0)),
                ..Default::default()
            },
        )
        .expect("it can be watched");
    let claimed = all.events.last().expect("an event");
    assert_eq!(claimed.payload_json["override"], true);
    assert_eq!(claimed.payload_json["epoch"], 1);
    let guarded = Caller {
        may_override: false,
        ..by("third")
    };
    world.advance_ms(600_000);
    let request = Claim {
        thread: Some(thread),
        ..Default::default()
    };
    assert_eq!(code(world.call_as(&guarded, &request)), Code::NotAllowed);
    assert_eq!(token(&leased).epoch, 1);
}

pub fn a_result_in_a_work_thread_is_the_holders_alone(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let result = Send {
        thread: Some(thread),
        kind: Some(inbox_core::Kind::Result),
        summary: Some("mine".into()),
        ..Send::default()
    };
    assert_eq!(code(world.call("lead", &result)), Code::InvalidTransition);
    world.claim("backend", thread, 600);
    assert_eq!(code(world.call("lead", &result)), Code::LeaseConflict);
    world.call("backend", &result).expect("the holder may");
}

pub fn a_token_of_another_thread_is_ignored_by_messages_and_refused_by_writes(world: &World) {
    let one = world.send("lead", "backend", "one");
    let two = world.send("lead", "backend", "two");
    let token = world.claim("backend", one, 600);
    world.claim("backend", two, 600);
    let caller = Caller {
        lease: Some(token),
        ..by("backend")
    };
    world
        .call_as(&caller, &reply(two))
        .expect("a message needs no lease");
    assert_eq!(every_write(world, &caller, two), vec![Code::LeaseLost; 5]);
}

pub fn a_write_that_met_another_is_decided_again(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let other = world.another();
    let mut tries = 0;
    let outcome = world.inbox().store().write(|tx| {
        tries += 1;
        let row = tx.load_thread(thread)?.expect("it is there");
        if tries == 1 && matches!(world.location(), inbox_store::Location::Postgres(_)) {
            // Somebody else commits between our reading and our writing.
            Claim {
                thread: Some(thread),
                ..Default::default()
            }
            .run(&other, &by("other"))
            .map_err(inbox_store::Abort::from)?;
        }
        let asking = inbox_store::Asking {
            agent: Some("backend".parse()?),
            may_override: true,
            ..Default::default()
        };
        let facts = tx.facts(&row, &asking)?;
        let decision =
            inbox_core::lifecycle::decide(&facts, Command::Claim { lease_ms: 1000 }, tx.now())?;
        let agent = "backend".parse()?;
        let step = inbox_store::Step {
            agent: &agent,
            session: None,
            decision,
            lease_ms: Some(1000),
            message: None,
            turns: None,
        };
        tx.commit_step(row, step)?;
        Ok(())
    });
    match world.location() {
        inbox_store::Location::Postgres(_) => {
            assert_eq!(code(outcome), Code::LeaseConflict);
            assert_eq!(tries, 2);
        }
        inbox_store::Location::File(_) => assert_eq!((outcome.is_ok(), tries), (true, 1)),
    }
}

pub fn an_update_can_start_block_and_start_again(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, 600));
    for (status, left, kind) in [
        (
            inbox_ops::UpdateStatus::InProgress,
            Status::InProgress,
            inbox_core::Kind::Progress,
        ),
        (
            inbox_ops::UpdateStatus::Blocked,
            Status::Blocked,
            inbox_core::Kind::Question,
        ),
        (
            inbox_ops::UpdateStatus::Blocked,
            Status::Blocked,
            inbox_core::Kind::Question,
        ),
        (
            inbox_ops::UpdateStatus::InProgress,
            Status::InProgress,
            inbox_core::Kind::Progress,
        ),
    ] {
        let request = inbox_ops::Update {
            status: Some(status),
            ..update(thread)
        };
        let posted = world.call_as(&caller, &request).expect("the holder may");
        assert_eq!((posted.thread.status, posted.message.kind), (left, kind));
    }
}

pub fn no_two_claims_have_the_same_secret(world: &World) {
    let secret = |n| {
        let thread = world.send("lead", "backend", &format!("work {n}"));
        world.claim("backend", thread, 600).secret
    };
    let secrets: std::collections::BTreeSet<i64> = (0..32).map(secret).collect();
    assert_eq!(secrets.len(), 32);
    assert!(secrets.iter().all(|secret| *secret > 0), "it is printed");
}

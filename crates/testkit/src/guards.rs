//! The SQL and the rules agree: every combination of status, lease, caller and command is put to a
//! store and to `decide`.
//!
//! A thread is brought into each state by real operations. Then every asker tries every command in a
//! transaction that is rolled back: the facts that the store gathers must be those of the state, the
//! compare-and-set must commit exactly what `decide` allows, and the queue must offer exactly what a
//! claim would be given.

use inbox_core::lifecycle::{Command, NameStanding, SessionStanding, TokenStanding, decide};
use inbox_core::{Code, Kind, LeaseToken, Refusal, Status, ThreadId};
use inbox_ops::{Caller, Cancel, Claim, Done, Fail, Release, UpdateStatus};
use inbox_store::{Abort, Asking, Labels, NewMessage, Step};

use crate::world::{World, by, token, update, with_token};

/// How long the leases of the states last, in seconds.
const LEASE: i64 = 100;

/// A thread in a known state, with the tokens of its claims.
struct State {
    name: &'static str,
    thread: ThreadId,
    status: Status,
    /// The newest claim, when its holder is on record.
    current: Option<LeaseToken>,
    /// A claim that is over.
    stale: Option<LeaseToken>,
    is_live: bool,
}

/// Who asks, and what it should be to the thread in a given state.
struct Asked {
    asking: Asking,
    token: TokenStanding,
}

/// Puts every combination to the store; gives how many there were.
pub fn agree_with_the_rules(world: &World) -> usize {
    let elsewhere = {
        let thread = world.send("lead", "worker", "another thread");
        world.claim("worker", thread, 100_000)
    };
    let states = states(world);
    let mut cases = 0;
    for state in &states {
        offered(world, state);
        for asked in askers(state, elsewhere) {
            for command in commands() {
                one(world, state, &asked, command);
                cases += 1;
            }
        }
    }
    cases
}

fn commands() -> Vec<Command> {
    let mut commands = vec![
        Command::Claim { lease_ms: 1000 },
        Command::Renew { lease_ms: 1000 },
        Command::Start,
        Command::Block,
        Command::Finish,
        Command::Fail,
        Command::Release,
        Command::Cancel,
        Command::Acknowledge,
    ];
    commands.extend(Kind::ALL.iter().map(|&kind| Command::Append(kind)));
    commands
}

/// Every way to be: claims are made by `worker`, in session s1 or s2, and by `other`.
fn states(world: &World) -> Vec<State> {
    let mut states = Vec::new();
    let mut add =
        |name,
         is_live,
         make: &dyn Fn(ThreadId) -> (Status, Option<LeaseToken>, Option<LeaseToken>)| {
            let thread = world.send("lead", "worker", name);
            let (left, current, stale) = make(thread);
            states.push(State {
                name,
                thread,
                status: left,
                current,
                stale,
                is_live,
            });
        };
    let claim = |agent: &str, session: Option<&str>, thread| {
        let caller = Caller {
            session: session.and_then(|id| id.parse().ok()),
            ..by(agent)
        };
        let request = Claim {
            thread: Some(thread),
            lease_seconds: Some(LEASE),
            ..Claim::default()
        };
        token(&world.call_as(&caller, &request).expect("it is free"))
    };
    let lapse = || world.advance_ms(LEASE * 1000);
    let report = |lease, thread, status| {
        let request = inbox_ops::Update {
            status: Some(status),
            ..update(thread)
        };
        world
            .call_as(&with_token(lease), &request)
            .expect("the holder may");
    };
    // States with a lapsed lease come first: making them moves the clock past every earlier lease.
    add("claimed and lapsed", false, &|thread| {
        let lease = claim("worker", None, thread);
        lapse();
        (Status::Claimed, Some(lease), None)
    });
    add("blocked in a session and lapsed", false, &|thread| {
        let lease = claim("worker", Some("s1"), thread);
        report(lease, thread, UpdateStatus::Blocked);
        lapse();
        (Status::Blocked, Some(lease), None)
    });
    add("taken over and lapsed", false, &|thread| {
        let old = claim("worker", None, thread);
        lapse();
        let new = claim("other", None, thread);
        lapse();
        (Status::Claimed, Some(new), Some(old))
    });
    add("taken over by another", true, &|thread| {
        let old = claim("worker", Some("s1"), thread);
        lapse();
        (
            Status::Claimed,
            Some(claim("other", None, thread)),
            Some(old),
        )
    });
    add("taken over under the same name", true, &|thread| {
        let old = claim("worker", Some("s1"), thread);
        // The state before this one must outlive the wait: renew it.
        lapse();
        let new = claim("worker", Some("s2"), thread);
        report(new, thread, UpdateStatus::InProgress);
        (Status::InProgress, Some(new), Some(old))
    });
    add("pending", false, &|_| (Status::Pending, None, None));
    add("claimed", true, &|thread| {
        (Status::Claimed, Some(claim("worker", None, thread)), None)
    });
    add("in progress in a session", true, &|thread| {
        let lease = claim("worker", Some("s1"), thread);
        report(lease, thread, UpdateStatus::InProgress);
        (Status::InProgress, Some(lease), None)
    });
    add("blocked", true, &|thread| {
        let lease = claim("worker", None, thread);
        report(lease, thread, UpdateStatus::Blocked);
        (Status::Blocked, Some(lease), None)
    });
    add("released", false, &|thread| {
        let lease = claim("worker", Some("s1"), thread);
        world
            .call_as(&with_token(lease), &Release { thread })
            .expect("the holder may");
        (Status::Pending, None, Some(lease))
    });
    add("done", false, &|thread| {
        let lease = claim("worker", Some("s1"), thread);
        let done = Done {
            thread,
            summary: Some("done".into()),
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        };
        world
            .call_as(&with_token(lease), &done)
            .expect("the holder may");
        (Status::Done, Some(lease), None)
    });
    add("failed", false, &|thread| {
        let lease = claim("worker", None, thread);
        let fail = Fail {
            thread,
            summary: Some("no".into()),
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        };
        world
            .call_as(&with_token(lease), &fail)
            .expect("the holder may");
        (Status::Failed, Some(lease), None)
    });
    add("cancelled", false, &|thread| {
        let lease = claim("worker", None, thread);
        world
            .call(
                "lead",
                &Cancel {
                    thread,
                    reason: None,
                },
            )
            .expect("the creator may");
        (Status::Cancelled, None, Some(lease))
    });
    // The takeovers' leases lapsed while later states were made.
    for state in states
        .iter_mut()
        .filter(|state| state.name.starts_with("taken over"))
    {
        let row = world
            .inbox()
            .store()
            .read(|tx| Ok((tx.load_thread(state.thread)?, tx.now())))
            .expect("the store can be read");
        let until = row.0.and_then(|row| row.lease_until).expect("it is held");
        state.is_live = row.1 < until;
    }
    states
}

fn askers(state: &State, elsewhere: LeaseToken) -> Vec<Asked> {
    let mut askers = Vec::new();
    let sessions = [None, Some("s1"), Some("s2"), Some("s3")];
    for agent in [
        None,
        Some("worker"),
        Some("other"),
        Some("lead"),
        Some("stranger"),
    ] {
        for session in sessions {
            let tokens = [
                Some((None, TokenStanding::None)),
                state
                    .current
                    .map(|token| (Some(token), TokenStanding::Current)),
                state.stale.map(|token| (Some(token), TokenStanding::Stale)),
                Some((Some(elsewhere), TokenStanding::Foreign)),
            ];
            for (lease, standing) in tokens.into_iter().flatten() {
                for may_override in [true, false] {
                    askers.push(Asked {
                        asking: Asking {
                            agent: agent.and_then(|name| name.parse().ok()),
                            session: session.and_then(|id| id.parse().ok()),
                            token: lease,
                            may_override,
                        },
                        token: standing,
                    });
                }
            }
        }
    }
    askers
}

fn one(world: &World, state: &State, asked: &Asked, command: Command) {
    let label = format!("{}: {:?} {command:?}", state.name, asked.asking);
    let mut verdict = None;
    let outcome = world.inbox().store().write(|tx| {
        let row = tx.load_thread(state.thread)?.expect("it is there");
        assert_eq!(row.thread.status, state.status, "{label}");
        let facts = tx.facts(&row, &asked.asking)?;
        let agent = asked.asking.agent.clone();
        // A token that somebody else bears is nobody's proof.
        let expected = match (asked.token, &agent, &row.holder) {
            (TokenStanding::Current, Some(agent), Some(holder)) if agent != holder => {
                TokenStanding::Borrowed
            }
            (standing, ..) => standing,
        };
        assert_eq!(facts.asker.token, expected, "{label}");
        let is_holder = agent.is_some() && agent == row.holder;
        let names = [NameStanding::HolderOnce, NameStanding::HolderAgain];
        assert_eq!(names.contains(&facts.asker.name), is_holder, "{label}");
        let is_same = asked.asking.session.is_some() && asked.asking.session == row.holder_session;
        let is_own = is_same && (is_holder || agent.is_none());
        assert_eq!(
            facts.asker.session == SessionStanding::Holder,
            is_own,
            "{label}"
        );
        let now = tx.now();
        assert_eq!(
            facts.lease_until.is_some_and(|until| now < until),
            state.is_live,
            "{label}"
        );

        let decided = decide(&facts, command, now);
        verdict = Some(
            decided
                .as_ref()
                .map(|decision| decision.status)
                .map_err(|refusal| refusal.code),
        );
        let decision = decided?;
        let writer = agent
            .or(row.holder.clone())
            .unwrap_or_else(|| "lead".parse().expect("a name"));
        let message = matches!(command, Command::Append(_)).then(|| note(command));
        let step = Step {
            agent: &writer,
            session: None,
            decision,
            lease_ms: Some(1000),
            message,
            turns: None,
        };
        let left = tx.commit_step(row, step)?.row;
        assert_eq!(left.thread.status, decision.status, "{label}");
        let stored = tx.load_thread(state.thread)?.expect("it is there");
        assert_eq!(stored.thread, left.thread, "{label}");
        assert_eq!(
            stored.lease_with_token(),
            left.lease_with_token(),
            "{label}"
        );
        Err::<(), _>(Abort::Refused(Refusal::new(
            Code::Internal,
            "rolled back by the test",
        )))
    });
    let code = outcome.expect_err("every case is rolled back").code;
    match verdict.expect("the rules were asked") {
        Ok(_) => assert_eq!(code, Code::Internal, "what is allowed must commit: {label}"),
        Err(refused) => assert_eq!(code, refused, "{label}"),
    }
}

fn note(command: Command) -> NewMessage {
    let Command::Append(kind) = command else {
        unreachable!("only messages have one")
    };
    NewMessage::saying(kind, "a word", inbox_core::Auth::Local)
}

/// The queue offers the thread to the one it is addressed to exactly when a claim would be allowed.
fn offered(world: &World, state: &State) {
    let (offered, allowed) = world
        .inbox()
        .store()
        .read(|tx| {
            let offered = tx.claimable(&Labels::default(), &"worker".parse()?, 1000)?;
            let row = tx.load_thread(state.thread)?.expect("it is there");
            let asking = Asking {
                agent: "worker".parse().ok(),
                ..Asking::default()
            };
            let facts = tx.facts(&row, &asking)?;
            let allowed = decide(&facts, Command::Claim { lease_ms: 1 }, tx.now()).is_ok();
            Ok((
                offered
                    .iter()
                    .any(|row| row.thread.thread_id == state.thread),
                allowed,
            ))
        })
        .expect("the store can be read");
    assert_eq!(offered, allowed, "{}", state.name);
}

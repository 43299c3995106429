//! Every rule, on every combination of status, lease, asker and command.

use super::*;

const NOW: Millis = Millis(1_000_000);

/// Every combination of status, lease, asker and command.
fn every_case(mut check: impl FnMut(&Facts, Command)) {
    let kinds = Kind::ALL.iter().map(|&kind| Command::Append(kind));
    let commands: Vec<Command> = [
        Command::Claim { lease_ms: 1000 },
        Command::Renew { lease_ms: 1000 },
        Command::Start,
        Command::Block,
        Command::Finish,
        Command::Fail,
        Command::Release,
        Command::Cancel,
        Command::Assign,
    ]
    .into_iter()
    .chain(kinds)
    .collect();
    for &status in Status::ALL {
        for until in [None, Some(NOW.0 - 1), Some(NOW.0), Some(NOW.0 + 1)] {
            if status.is_held() != until.is_some() {
                continue;
            }
            for token in TokenStanding::ALL {
                for session in SessionStanding::ALL {
                    for name in NameStanding::ALL {
                        for bits in 0..16 {
                            let facts = Facts {
                                thread: ThreadId::new(7),
                                status,
                                is_work: bits & 1 != 0,
                                is_commentary: false,
                                holder: "holder".parse().ok(),
                                lease_until: until.map(Millis),
                                asker: Asker {
                                    token,
                                    session,
                                    name,
                                    is_creator: bits & 2 != 0,
                                    is_reached: bits & 4 != 0,
                                    may_override: bits & 8 != 0,
                                },
                            };
                            for &command in &commands {
                                check(&facts, command);
                            }
                        }
                    }
                }
            }
        }
    }
}

fn live(facts: &Facts) -> bool {
    facts.lease_until.is_some_and(|until| until > NOW)
}

#[test]
fn a_final_thread_takes_messages_and_nothing_else() {
    every_case(|facts, command| {
        if facts.status.is_final() && !matches!(command, Command::Append(_)) {
            assert_eq!(
                decide(facts, command, NOW).unwrap_err().code,
                Code::InvalidTransition
            );
        }
    });
}

#[test]
fn acknowledging_ends_a_pending_conversation_and_changes_nothing_else() {
    every_case(|facts, _| {
        let decision = decide(facts, Command::Acknowledge, NOW).unwrap();
        let ends = !facts.is_work && facts.status == Status::Pending;
        assert_eq!(decision.lease, LeaseChange::Keep);
        assert_eq!(decision.event == EventType::Done, ends);
        assert_eq!(decision.status == facts.status, !ends, "{facts:?}");
        let commentary = Facts {
            is_commentary: true,
            ..facts.clone()
        };
        let decision = decide(&commentary, Command::Acknowledge, NOW).unwrap();
        assert_eq!(decision.status, facts.status);
    });
}

#[test]
fn a_live_lease_refuses_every_claim() {
    every_case(|facts, command| {
        if live(facts) && matches!(command, Command::Claim { .. }) {
            assert_eq!(
                decide(facts, command, NOW).unwrap_err().code,
                Code::LeaseConflict
            );
        }
    });
}

#[test]
fn nobody_changes_a_thread_as_its_holder_without_a_live_lease_of_its_own() {
    every_case(|facts, command| {
        let by_holder = matches!(
            command,
            Command::Renew { .. }
                | Command::Start
                | Command::Block
                | Command::Finish
                | Command::Fail
                | Command::Release
        );
        if by_holder && decide(facts, command, NOW).is_ok() {
            assert!(live(facts), "{facts:?}");
            let asker = facts.asker;
            let proven = asker.token == TokenStanding::Current
                || (asker.token == TokenStanding::None && asker.session == SessionStanding::Holder)
                || (asker.token == TokenStanding::None
                    && asker.session == SessionStanding::None
                    && asker.name == NameStanding::HolderOnce);
            assert!(proven, "{facts:?}");
        }
    });
}

#[test]
fn a_stale_proof_is_told_that_the_lease_is_lost() {
    every_case(|facts, command| {
        if facts.asker.token == TokenStanding::Stale
            && !facts.status.is_final()
            && !matches!(
                command,
                Command::Claim { .. } | Command::Cancel | Command::Assign
            )
        {
            assert_eq!(
                decide(facts, command, NOW).unwrap_err().code,
                Code::LeaseLost,
                "{facts:?} {command:?}"
            );
        }
    });
}

#[test]
fn a_stranger_meets_a_live_lease_as_a_conflict() {
    every_case(|facts, command| {
        let stranger = facts.asker.token == TokenStanding::None
            && facts.asker.session == SessionStanding::None
            && facts.asker.name == NameStanding::Stranger;
        if stranger && live(facts) && command == Command::Finish {
            assert_eq!(
                decide(facts, command, NOW).unwrap_err().code,
                Code::LeaseConflict
            );
        }
    });
}

#[test]
fn an_override_needs_leave_and_is_marked() {
    every_case(|facts, command| {
        if let Ok(decision) = decide(facts, command, NOW)
            && decision.is_override
        {
            assert!(facts.asker.may_override);
            assert!(matches!(
                command,
                Command::Claim { .. } | Command::Cancel | Command::Assign
            ));
        }
    });
}

#[test]
fn a_decision_leaves_a_lease_exactly_where_the_status_is_held() {
    every_case(|facts, command| {
        if let Ok(decision) = decide(facts, command, NOW) {
            let leased = match decision.lease {
                LeaseChange::Keep => facts.status.is_held(),
                LeaseChange::Take { until } | LeaseChange::Extend { until } => {
                    assert!(until > NOW);
                    true
                }
                LeaseChange::Finish | LeaseChange::Drop => false,
            };
            assert_eq!(leased, decision.status.is_held(), "{facts:?} {command:?}");
        }
    });
}

#[test]
fn a_lease_has_ended_at_its_deadline_to_the_millisecond() {
    every_case(|facts, command| {
        if facts.lease_until == Some(NOW)
            && matches!(command, Command::Claim { .. })
            && facts.asker.may_override
        {
            assert!(decide(facts, command, NOW).is_ok());
        }
    });
}

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
        Command::TakeBack,
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
                Command::Claim { .. } | Command::Cancel | Command::Assign | Command::TakeBack
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
                Command::Claim { .. } | Command::Cancel | Command::Assign | Command::TakeBack
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

#[test]
fn a_proven_holder_takes_every_step_and_each_leaves_what_it_should() {
    let (keep, finish) = (LeaseChange::Keep, LeaseChange::Finish);
    every_case(|facts, command| {
        if !live(facts) || facts.asker.token != TokenStanding::Current {
            return;
        }
        let until = Millis(NOW.0 + 1000);
        let left = match command {
            Command::Renew { .. } => (
                EventType::Renewed,
                facts.status,
                LeaseChange::Extend { until },
            ),
            Command::Start => (EventType::InProgress, Status::InProgress, keep),
            Command::Block => (EventType::Blocked, Status::Blocked, keep),
            Command::Finish => (EventType::Done, Status::Done, finish),
            Command::Fail => (EventType::Failed, Status::Failed, finish),
            Command::Release => (EventType::Released, Status::Pending, LeaseChange::Drop),
            Command::Append(_) => (EventType::Message, facts.status, keep),
            _ => return,
        };
        let decision = decide(facts, command, NOW).expect("it holds the thread");
        assert_eq!((decision.event, decision.status, decision.lease), left);
        assert!(!decision.is_override);
    });
}

#[test]
fn who_may_take_call_off_and_assign_is_decided_by_its_part_in_the_thread() {
    let code = |decided: Result<Decision, Refusal>| decided.map_err(|refusal| refusal.code);
    every_case(|facts, command| {
        let (asker, is_open) = (facts.asker, !facts.status.is_final());
        let is_holder = matches!(
            asker.name,
            NameStanding::HolderOnce | NameStanding::HolderAgain
        ) && facts.status.is_held();
        let (is_own, event, status, lease) = match command {
            Command::Claim { .. } if is_open && !live(facts) => (
                asker.is_reached,
                EventType::Claimed,
                Status::Claimed,
                LeaseChange::Take {
                    until: Millis(NOW.0 + 1000),
                },
            ),
            Command::Cancel if is_open => (
                asker.is_creator || is_holder,
                EventType::Cancelled,
                Status::Cancelled,
                LeaseChange::Drop,
            ),
            Command::Assign if is_open && facts.is_work => (
                asker.is_creator,
                EventType::Readdressed,
                Status::Pending,
                if facts.status.is_held() {
                    LeaseChange::Drop
                } else {
                    LeaseChange::Keep
                },
            ),
            Command::TakeBack if is_open && facts.is_work && facts.status.is_held() => (
                asker.is_creator,
                EventType::Readdressed,
                Status::Pending,
                LeaseChange::Drop,
            ),
            Command::TakeBack if is_open && facts.is_work => {
                let refused = code(decide(facts, command, NOW));
                let is_own = asker.is_creator || asker.may_override;
                let wanted = if is_own {
                    Code::InvalidTransition
                } else {
                    Code::NotAllowed
                };
                assert_eq!(refused, Err(wanted));
                return;
            }
            Command::Assign | Command::TakeBack if is_open => {
                let refused = code(decide(facts, command, NOW));
                assert_eq!(refused, Err(Code::InvalidTransition));
                return;
            }
            _ => return,
        };
        let wanted = if is_own || asker.may_override {
            Ok(Decision {
                event,
                status,
                lease,
                is_override: !is_own,
            })
        } else {
            Err(Code::NotAllowed)
        };
        assert_eq!(
            code(decide(facts, command, NOW)),
            wanted,
            "{facts:?} {command:?}"
        );
    });
}

#[test]
fn a_message_is_refused_only_to_who_names_a_proof_that_is_worth_nothing() {
    every_case(|facts, command| {
        let Command::Append(kind) = command else {
            return;
        };
        let asker = facts.asker;
        let has_ended = facts.status.is_held() && !live(facts);
        let is_lost = match (asker.token, asker.session) {
            (TokenStanding::Stale, _) => true,
            (TokenStanding::Current, _) => has_ended,
            (_, SessionStanding::Former) => true,
            (_, SessionStanding::Holder) => has_ended,
            _ => false,
        };
        let is_result_of_work = kind == Kind::Result && facts.is_work;
        if !is_result_of_work {
            let decided = decide(facts, command, NOW);
            assert_eq!(decided.is_err(), is_lost, "{facts:?} {kind:?}");
        } else if decide(facts, Command::Finish, NOW).is_err() {
            decide(facts, command, NOW).expect_err("only its holder has a result of work");
        }
    });
}

#[test]
fn the_ledger_and_another_address_change_neither_status_nor_lease() {
    every_case(|facts, _| {
        for (command, event) in [
            (Command::Readdress, EventType::Readdressed),
            (Command::Confirm, EventType::Confirmed),
        ] {
            let decision = decide(facts, command, NOW).expect("always");
            assert_eq!((decision.event, decision.status), (event, facts.status));
            assert_eq!(decision.lease, LeaseChange::Keep);
        }
    });
}

/// A thread that is held until then, seen by somebody who proves nothing.
fn held(until: i64) -> Facts {
    Facts {
        thread: ThreadId::new(7),
        status: Status::Claimed,
        is_work: true,
        is_commentary: false,
        holder: "holder".parse().ok(),
        lease_until: Some(Millis(until)),
        asker: Asker {
            token: TokenStanding::None,
            session: SessionStanding::None,
            name: NameStanding::Stranger,
            is_creator: false,
            is_reached: true,
            may_override: false,
        },
    }
}

#[test]
fn who_lost_a_thread_is_told_why_and_who_comes_late_who_has_it() {
    use NameStanding::{Former, HolderAgain, HolderOnce, Stranger};
    use TokenStanding as Token;

    let told = |facts: &Facts| decide(facts, Command::Finish, NOW).unwrap_err();
    let as_who = |facts: &Facts, token, name| Facts {
        asker: Asker {
            token,
            name,
            ..facts.asker
        },
        ..facts.clone()
    };
    let (live, over) = (held(NOW.0 + 1), held(NOW.0));
    let conflict = told(&live);
    assert_eq!(conflict.code, Code::LeaseConflict);
    assert_eq!(conflict.details["agent_id"], "holder");
    let until = Millis(NOW.0 + 1).to_string();
    assert_eq!(conflict.details["expires_at"], until);
    assert!(
        conflict
            .message
            .ends_with(&format!("leased to holder until {until}"))
    );
    let pending = Facts {
        status: Status::Pending,
        lease_until: None,
        ..live.clone()
    };
    for (facts, token, name, why) in [
        (&pending, Token::Stale, Former, "has ended"),
        (
            &over,
            Token::Current,
            HolderOnce,
            "ended at 1970-01-01T00:16:40.000Z",
        ),
        (
            &live,
            Token::None,
            HolderAgain,
            "was claimed more than once under this name",
        ),
        (
            &live,
            Token::Borrowed,
            HolderAgain,
            "belongs to another agent",
        ),
        (&live, Token::Borrowed, Stranger, "belongs to another agent"),
        (
            &live,
            Token::Stale,
            HolderAgain,
            "is held under another claim",
        ),
        (&live, Token::Foreign, Former, "is held under another claim"),
        (&live, Token::None, Former, "is held under another claim"),
    ] {
        let refusal = told(&as_who(facts, token, name));
        assert_eq!(refusal.code, Code::LeaseLost, "{token:?} {name:?}");
        assert!(refusal.message.contains(why), "{}", refusal.message);
    }
    let nobody = told(&pending);
    assert_eq!(nobody.code, Code::InvalidTransition);
    assert_eq!(nobody.details["status"], "pending");
}

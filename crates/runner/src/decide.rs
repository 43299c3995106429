//! What to do at each turn of a run: pure, so that every case is a test.

use inbox_core::Status;

use crate::child::How;
use crate::guardian::Cut;

/// How a thread stands when its command has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The runner has it.
    Held,
    /// The runner has it, and a question of the agent is not answered yet.
    Asking,
    /// It is at its end.
    Final(Status),
    /// Somebody else's, or nobody's.
    Lost,
}

/// What the runner ended a command for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It took too long.
    Time,
    /// It said too much.
    Output,
    /// The runner has to end.
    Quit,
    /// The thread is not the runner's any more.
    Lost,
}

/// What a command that has ended leaves to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// See whether its output is what the brief asks for.
    Verify,
    /// Ask what it asks for.
    Ask,
    /// Wait for the answer to what it has asked.
    Wait,
    /// Give the work up, for this reason.
    Fail(String),
    /// Give the thread back.
    Release,
    /// Write nothing: the agent has ended the thread.
    Leave(Status),
    /// Write nothing: the thread is not the runner's any more.
    Lose,
}

/// What to do when a command has ended. `asks` is whether its output is a question.
pub(crate) fn after_end(
    how: &How,
    reason: Option<Reason>,
    standing: Standing,
    asks: bool,
    limits: &dyn Fn(Reason) -> String,
) -> Next {
    match standing {
        Standing::Final(status) => return Next::Leave(status),
        Standing::Lost => return Next::Lose,
        Standing::Held | Standing::Asking => {}
    }
    match (how, reason) {
        (How::Cut(Cut::Lease | Cut::Alone), _) | (_, Some(Reason::Lost)) => Next::Release,
        (How::Cut(_), Some(Reason::Quit)) => Next::Release,
        (How::Cut(Cut::Told), Some(reason)) => Next::Fail(limits(reason)),
        (How::Cut(Cut::Told), None) => Next::Release,
        (How::Cut(Cut::Memory), _) => {
            Next::Fail("the command used more memory than run.memory_mb allows".to_owned())
        }
        (How::Cut(Cut::Processes), _) => {
            Next::Fail("the command started more processes than run.processes allows".to_owned())
        }
        (How::NotStarted(_) | How::Unguarded, _) => Next::Release,
        (How::Exited(_) | How::Signalled(_), _) if standing == Standing::Asking => Next::Wait,
        (How::Exited(0), _) if asks => Next::Ask,
        (How::Exited(0), _) => Next::Verify,
        (How::Exited(code), _) => Next::Fail(format!("the command ended with status {code}")),
        (How::Signalled(signal), _) => {
            Next::Fail(format!("the command was ended by signal {signal}"))
        }
    }
}

/// What a check of an output leaves to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    /// It is good.
    Finish,
    /// The agent gets it back, with the reasons.
    Again,
    /// Somebody else has to see to it.
    Block,
}

/// What to do after a check that found so many problems, at this attempt of so many.
pub(crate) fn after_check(problems: usize, attempt: u64, most: u64) -> Checked {
    match problems {
        0 => Checked::Finish,
        _ if attempt < most => Checked::Again,
        _ => Checked::Block,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDINGS: [Standing; 5] = [
        Standing::Held,
        Standing::Asking,
        Standing::Final(Status::Done),
        Standing::Final(Status::Cancelled),
        Standing::Lost,
    ];

    fn hows() -> Vec<How> {
        let mut all = vec![
            How::Exited(0),
            How::Exited(3),
            How::Signalled(9),
            How::NotStarted("no".to_owned()),
            How::Unguarded,
        ];
        let cuts = [
            Cut::Lease,
            Cut::Told,
            Cut::Memory,
            Cut::Processes,
            Cut::Alone,
        ];
        all.extend(cuts.map(How::Cut));
        all
    }

    fn next(how: &How, reason: Option<Reason>, standing: Standing, asks: bool) -> Next {
        after_end(how, reason, standing, asks, &|reason| format!("{reason:?}"))
    }

    #[test]
    fn nothing_is_written_to_a_thread_that_is_over_or_lost() {
        for how in hows() {
            for standing in STANDINGS {
                let found = next(&how, None, standing, false);
                match standing {
                    Standing::Final(status) => assert_eq!(found, Next::Leave(status)),
                    Standing::Lost => assert_eq!(found, Next::Lose),
                    Standing::Held | Standing::Asking => {
                        assert!(!matches!(found, Next::Leave(_) | Next::Lose));
                    }
                }
            }
        }
    }

    #[test]
    fn only_a_command_that_ended_well_by_itself_is_verified() {
        let reasons = [Reason::Time, Reason::Output, Reason::Quit, Reason::Lost];
        for how in hows() {
            for reason in reasons.map(Some).into_iter().chain([None]) {
                for standing in STANDINGS {
                    let is_verified = next(&how, reason, standing, false) == Next::Verify;
                    let is_good = how == How::Exited(0)
                        && standing == Standing::Held
                        && reason != Some(Reason::Lost);
                    assert_eq!(is_verified, is_good, "{how:?} {reason:?} {standing:?}");
                }
            }
        }
    }

    #[test]
    fn a_question_is_waited_for_and_not_asked_twice() {
        assert_eq!(next(&How::Exited(0), None, Standing::Held, true), Next::Ask);
        assert_eq!(
            next(&How::Exited(0), None, Standing::Asking, true),
            Next::Wait
        );
        assert_eq!(
            next(&How::Exited(1), None, Standing::Asking, false),
            Next::Wait
        );
    }

    #[test]
    fn an_output_comes_back_until_the_attempts_are_used_up() {
        assert_eq!(after_check(0, 1, 1), Checked::Finish);
        assert_eq!(after_check(2, 1, 3), Checked::Again);
        assert_eq!(after_check(2, 2, 3), Checked::Again);
        assert_eq!(after_check(1, 3, 3), Checked::Block);
        assert_eq!(after_check(1, 1, 1), Checked::Block);
    }
}

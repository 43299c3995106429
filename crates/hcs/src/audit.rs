//! Checks a topic's history, message by message, against the hashes that were reported of it.

use crate::id::{Sequence, Timestamp, TopicId};
use crate::running_hash::{RunningHash, Submission};

/// A topic's history so far, as it was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Audit {
    topic: TopicId,
    last: Option<(Sequence, Timestamp)>,
    hash: RunningHash,
}

/// What is wrong with a history. Nothing after it can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A message of another topic.
    #[error("the message is of topic {0}")]
    OtherTopic(TopicId),
    /// Messages are missing.
    #[error("message {found} follows, and {expected} was expected")]
    Gap {
        /// The number that should follow.
        expected: u64,
        /// The number that follows.
        found: Sequence,
    },
    /// The history goes backwards: it was cut, or put back to an earlier state.
    #[error("message {found} comes again, after {last}")]
    Rewind {
        /// The last number.
        last: Sequence,
        /// The number that comes again.
        found: Sequence,
    },
    /// A message that is not later than the one before it.
    #[error("message {0} is not later than the one before it")]
    NotLater(Sequence),
    /// The reported hash is not the one that follows.
    #[error("the hash of message {sequence} is {expected}, and {found} was reported")]
    OtherHash {
        /// The message.
        sequence: Sequence,
        /// The hash that follows from the history.
        expected: RunningHash,
        /// The hash that was reported.
        found: RunningHash,
    },
}

impl Audit {
    /// From the beginning of a topic.
    pub const fn new(topic: TopicId) -> Self {
        Audit {
            topic,
            last: None,
            hash: RunningHash::EMPTY,
        }
    }

    /// From a message that was checked before.
    pub const fn resume(
        topic: TopicId,
        sequence: Sequence,
        time: Timestamp,
        hash: RunningHash,
    ) -> Self {
        Audit {
            topic,
            last: Some((sequence, time)),
            hash,
        }
    }

    /// Checks the next message. After a fault the audit stays where it was.
    pub fn check(
        &mut self,
        submission: &Submission<'_>,
        reported: RunningHash,
    ) -> Result<(), Broken> {
        let found = submission.sequence;
        if submission.topic != self.topic {
            return Err(Broken::OtherTopic(submission.topic));
        }
        let last = self.last.map_or(0, |(sequence, _)| sequence.get());
        if found.get() > last + 1 {
            return Err(Broken::Gap {
                expected: last + 1,
                found,
            });
        }
        if let Some((last, time)) = self.last {
            if found <= last {
                return Err(Broken::Rewind { last, found });
            }
            if submission.time <= time {
                return Err(Broken::NotLater(found));
            }
        }
        let expected = self.hash.next(submission);
        if reported != expected {
            return Err(Broken::OtherHash {
                sequence: found,
                expected,
                found: reported,
            });
        }
        self.hash = expected;
        self.last = Some((found, submission.time));
        Ok(())
    }

    /// The last message that was checked, and the hash up to it.
    pub fn last(&self) -> Option<(Sequence, RunningHash)> {
        self.last.map(|(sequence, _)| (sequence, self.hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u64, seconds: u64, text: &'static str) -> Submission<'static> {
        Submission {
            payer: "0.0.1001".parse().unwrap(),
            topic: "0.0.1005".parse().unwrap(),
            time: Timestamp::new(seconds, 0).unwrap(),
            sequence: Sequence::new(number).unwrap(),
            message: text.as_bytes(),
        }
    }

    #[test]
    fn a_history_that_holds_is_checked_to_its_end() {
        let mut audit = Audit::new("0.0.1005".parse().unwrap());
        let mut hash = RunningHash::EMPTY;
        for number in 1..=20 {
            let next = message(number, number, "hello");
            hash = hash.next(&next);
            assert_eq!(audit.check(&next, hash), Ok(()));
        }
        let (sequence, found) = audit.last().unwrap();
        assert_eq!((sequence.get(), found), (20, hash));
        let time = Timestamp::new(20, 0).unwrap();
        let resumed = Audit::resume("0.0.1005".parse().unwrap(), sequence, time, hash);
        assert_eq!(resumed, audit);
    }

    #[test]
    fn what_was_changed_left_out_or_put_back_is_found() {
        let topic: TopicId = "0.0.1005".parse().unwrap();
        let first = message(1, 10, "hello");
        let one = RunningHash::EMPTY.next(&first);
        let mut audit = Audit::new(topic);
        let changed = audit.check(&message(1, 10, "hellp"), one);
        assert!(matches!(changed, Err(Broken::OtherHash { .. })));
        let gap = audit.check(&message(2, 11, "world"), one);
        assert!(matches!(gap, Err(Broken::Gap { expected: 1, .. })));
        assert_eq!(audit.check(&first, one), Ok(()));

        let again = audit.check(&first, one);
        assert!(matches!(again, Err(Broken::Rewind { .. })));
        let earlier = message(2, 10, "world");
        let two = one.next(&earlier);
        assert!(matches!(
            audit.check(&earlier, two),
            Err(Broken::NotLater(_))
        ));
        let other = Submission {
            topic: "0.0.1006".parse().unwrap(),
            ..message(2, 11, "world")
        };
        assert!(matches!(
            audit.check(&other, two),
            Err(Broken::OtherTopic(_))
        ));
        // A fault leaves it where it was.
        let second = message(2, 11, "world");
        assert_eq!(audit.check(&second, one.next(&second)), Ok(()));
    }
}

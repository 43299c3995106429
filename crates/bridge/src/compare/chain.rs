//! A topic's hashes, computed again from its first message on. Unlike an audit it goes on after a fault, because what follows is compared
//! with the store all the same.

use inbox_hcs::{RunningHash, Sequence, Submission, Timestamp, TopicId};
use inbox_hedera::mirror::MessageFacts;

use super::Difference;

/// What a mirror says that cannot be.
pub(super) struct Fault {
    pub(super) difference: Difference,
    pub(super) field: &'static str,
    pub(super) what: String,
}

pub(super) struct Chain {
    topic: TopicId,
    last: Option<(Sequence, Timestamp)>,
    /// What the hash before the next message is: where a mirror contradicts itself, what follows and what it says.
    before: Vec<RunningHash>,
}

/// A message's place among the hashes.
pub(super) struct Linked {
    /// What the hash with it may be.
    pub(super) hashes: Vec<RunningHash>,
    /// What the hash before it may be.
    pub(super) before: Vec<RunningHash>,
    pub(super) fault: Option<Fault>,
}

impl Chain {
    pub(super) fn new(topic: TopicId) -> Self {
        Chain {
            topic,
            last: None,
            before: vec![RunningHash::EMPTY],
        }
    }

    /// The last message and the hash up to it.
    pub(super) fn last(&self) -> Option<(Sequence, RunningHash)> {
        let (sequence, _) = self.last?;
        self.before.first().map(|hash| (sequence, *hash))
    }

    pub(super) fn add(&mut self, message: &MessageFacts) -> Linked {
        let submission = submission(self.topic, message);
        let reported = RunningHash::new(&message.running_hash);
        let before = self.before.clone();
        let follow: Vec<RunningHash> = before.iter().map(|hash| hash.next(&submission)).collect();
        let expected = self.last.map_or(1, |(last, _)| last.get() + 1);
        let number = message.sequence;
        let late = self.last.is_some_and(|(_, time)| message.time <= time);
        self.last = Some((number, message.time));
        let fault = if number.get() != expected {
            // Nothing is known of what would come before.
            self.before = reported.into_iter().collect();
            Some(Fault {
                difference: Difference::Missing,
                field: "topic",
                what: format!("the mirror has no message {expected}: {number} follows"),
            })
        } else if reported.is_some_and(|hash| follow.contains(&hash)) {
            self.before = reported.into_iter().collect();
            None
        } else {
            self.before = follow.iter().copied().take(1).chain(reported).collect();
            let follows = follow.first().map(ToString::to_string).unwrap_or_default();
            let says = reported.map_or("no hash".to_owned(), |hash| hash.to_string());
            Some(Fault {
                difference: Difference::Changed,
                field: "running_hash",
                what: format!(
                    "the mirror contradicts itself: what it has leads to {follows}, and it says {says}"
                ),
            })
        };
        let fault = fault.or_else(|| {
            late.then(|| Fault {
                difference: Difference::Changed,
                field: "consensus_timestamp",
                what: "the mirror has it not later than the message before it".to_owned(),
            })
        });
        Linked {
            hashes: self.before.clone(),
            before,
            fault,
        }
    }
}

/// The message as the network hashes it.
pub(super) fn submission(topic: TopicId, message: &MessageFacts) -> Submission<'_> {
    Submission {
        payer: message.payer,
        topic,
        time: message.time,
        sequence: message.sequence,
        message: &message.message,
    }
}

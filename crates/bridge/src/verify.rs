//! Whether a topic's history is whole: every hash is computed again from the first message on.

use std::ops::ControlFlow;

use inbox_core::{Code, Refusal};
use inbox_hcs::{Audit, RunningHash, Sequence, Submission, TopicId};
use inbox_hedera::mirror::Mirror;

use crate::history;

/// A history that is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verified {
    /// How many messages it has.
    pub messages: u64,
    /// The last one and the hash up to it.
    pub last: Option<(Sequence, RunningHash)>,
}

/// Checks a topic from its beginning.
pub fn verify(mirror: &Mirror, topic: TopicId) -> Result<Verified, Refusal> {
    crate::net::topic(mirror, topic)?;
    let mut audit = Audit::new(topic);
    let mut messages = 0;
    history::pieces(mirror, topic, None, |message| {
        let broken = |what: String| {
            Refusal::new(
                Code::VerifyMismatch,
                format!("the history of {topic} is broken: {what}"),
            )
            .hint("ask another mirror for the same topic: one of them does not have what happened")
            .detail("topic_id", topic.to_string())
            .detail("sequence_number", message.sequence.get())
        };
        let Some(reported) = RunningHash::new(&message.running_hash) else {
            let bytes = message.running_hash.len();
            let number = message.sequence;
            return Err(broken(format!(
                "message {number} has a hash of {bytes} bytes"
            )));
        };
        let submission = Submission {
            payer: message.payer,
            topic,
            time: message.time,
            sequence: message.sequence,
            message: &message.message,
        };
        audit
            .check(&submission, reported)
            .map_err(|fault| broken(fault.to_string()))?;
        messages += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Verified {
        messages,
        last: audit.last(),
    })
}

//! Messages to topics: whole, or in pieces when they are larger than one message may be.
//!
//! The ids of the pieces follow from the id of the first, so that whoever goes on after a crash sends none twice, and each piece waits
//! for the one before, so that they stand on the topic in their order.

use inbox_hcs::{MAX_ASSEMBLED, MAX_MESSAGE};
use thiserror::Error;

use crate::client::{Asking, Client, ExecuteError, Happened};
use crate::fee;
use crate::key::PrivateKey;
use crate::proto::{ChunkInfo, CustomFeeLimit, Data, SubmitMessageBody, TopicId, TransactionId};
use crate::transaction::{MAX_VALID_SECONDS, VALID_SECONDS};

/// A message that is not on its topic, or not as a whole.
#[derive(Debug, Error)]
pub enum SubmitError {
    /// There is nothing in it.
    #[error("a message of no bytes cannot be sent")]
    Empty,
    /// It is larger than any may be.
    #[error(
        "a message of {bytes} bytes is too large: at most {MAX_ASSEMBLED} bytes go to a topic, in pieces of {MAX_MESSAGE}"
    )]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// It was not taken.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// Those before this piece are there, and this one is not.
    #[error("piece {number} of {total}: {source}")]
    Piece {
        /// Which one.
        number: u32,
        /// Of how many.
        total: u32,
        /// Why.
        source: ExecuteError,
    },
}

impl SubmitError {
    /// What the network said, where it was asked.
    pub fn execute(&self) -> Option<&ExecuteError> {
        match self {
            SubmitError::Execute(error) | SubmitError::Piece { source: error, .. } => Some(error),
            SubmitError::Empty | SubmitError::TooLarge { .. } => None,
        }
    }
}

/// A message that is on its topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// Its pieces in their order; at least one.
    pub pieces: Vec<Happened>,
}

impl Submitted {
    /// The number of the last piece on the topic: where the message stands among others.
    pub fn sequence(&self) -> u64 {
        let last = self.pieces.last();
        last.map_or(0, |last| last.receipt.topic_sequence_number)
    }

    /// The number of the first piece.
    pub fn first_sequence(&self) -> u64 {
        let first = self.pieces.first();
        first.map_or(0, |first| first.receipt.topic_sequence_number)
    }
}

/// In how many pieces a message of so many bytes goes.
pub fn pieces(bytes: usize) -> Result<u32, SubmitError> {
    match bytes {
        0 => Err(SubmitError::Empty),
        bytes if bytes > MAX_ASSEMBLED => Err(SubmitError::TooLarge { bytes }),
        bytes => Ok(u32::try_from(bytes.div_ceil(MAX_MESSAGE)).unwrap_or(u32::MAX)),
    }
}

impl Client {
    /// Sends a message to a topic, in as many pieces as it needs, and gives what came of each. The limits hold for each piece.
    pub async fn submit(
        &self,
        topic: impl Into<TopicId>,
        message: &[u8],
        memo: &str,
        limits: &[CustomFeeLimit],
        signers: &[&PrivateKey],
    ) -> Result<Submitted, SubmitError> {
        let first = self.next_ids(pieces(message.len())?);
        let submission = Submission {
            topic: topic.into(),
            memo,
            limits,
            signers,
        };
        self.send(first, message, &submission, false).await
    }

    /// The same, whose first piece has an id that was written down before ([`Client::next_ids`]); the others follow from it. Whoever
    /// does it again after a crash has each piece there once, while the ids are valid.
    pub async fn submit_as(
        &self,
        first: TransactionId,
        topic: impl Into<TopicId>,
        message: &[u8],
        memo: &str,
        limits: &[CustomFeeLimit],
        signers: &[&PrivateKey],
    ) -> Result<Submitted, SubmitError> {
        let submission = Submission {
            topic: topic.into(),
            memo,
            limits,
            signers,
        };
        self.send(first, message, &submission, true).await
    }

    async fn send(
        &self,
        first: TransactionId,
        message: &[u8],
        submission: &Submission<'_>,
        is_again: bool,
    ) -> Result<Submitted, SubmitError> {
        let total = pieces(message.len())?;
        // Later pieces wait for the earlier ones, and their time passes meanwhile.
        let valid_seconds = match self.valid_seconds() {
            VALID_SECONDS if total > 1 => MAX_VALID_SECONDS,
            seconds => seconds,
        };
        let mut happened = Vec::new();
        for (number, piece) in (1..=total).zip(message.chunks(MAX_MESSAGE)) {
            let asking = submission.asking(&first, piece, number, total);
            let id = nth(&first, number - 1);
            let outcome = self.run(id, &asking, valid_seconds, is_again).await;
            happened.push(outcome.map_err(|source| match total {
                1 => SubmitError::Execute(source),
                _ => SubmitError::Piece {
                    number,
                    total,
                    source,
                },
            })?);
        }
        Ok(Submitted { pieces: happened })
    }
}

/// What all pieces have in common.
struct Submission<'a> {
    topic: TopicId,
    memo: &'a str,
    limits: &'a [CustomFeeLimit],
    signers: &'a [&'a PrivateKey],
}

impl<'a> Submission<'a> {
    fn asking(&self, first: &TransactionId, piece: &[u8], number: u32, total: u32) -> Asking<'a> {
        let signed = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let chunk_info = (total > 1).then(|| ChunkInfo {
            initial_transaction_id: Some(first.clone()),
            total: signed(total),
            number: signed(number),
        });
        let data = Data::SubmitMessage(SubmitMessageBody {
            topic_id: Some(self.topic),
            message: piece.to_vec(),
            chunk_info,
        });
        let most = match self.limits {
            [] => fee::USUAL,
            _ => fee::SUBMIT_WITH_FEES,
        };
        Asking {
            data,
            memo: self.memo.to_owned(),
            fee: most,
            limits: self.limits.to_vec(),
            signers: self.signers.to_vec(),
        }
    }
}

/// The id that comes so many after this one.
pub fn nth(first: &TransactionId, place: u32) -> TransactionId {
    let mut id = first.clone();
    id.valid_start = id.valid_start.map(|start| start.later(place));
    id
}

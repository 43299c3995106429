//! What does not fit is asked for once more before it is put aside: the topic's hash does not cover which piece of which message something
//! is, so that a mirror could lose a message by that alone.

use inbox_core::{Code, Refusal};
use inbox_hcs::{Loose, Piece, Sequence, Timestamp, TopicId};
use inbox_hedera::mirror::MessageFacts;
use inbox_ops::ledger::{Finding, Meaning};
use inbox_store::{Cursor, LedgerRecord, RecordState, TopicPlace, TopicRow};

use super::Bridge;
use super::listen::encoded;
use super::reading::{Reading, put_back};
use crate::history;
use crate::told::Told;

/// How many messages of a page are asked for once more: anybody can write what does not fit.
const MOST: u32 = 20;

/// How many pieces are asked for once more while nothing new comes.
const MOST_PIECES: usize = 20;

/// How much of a page may still be doubted.
pub(super) struct Doubts(u32);

impl Default for Doubts {
    fn default() -> Self {
        Doubts(MOST)
    }
}

impl Doubts {
    fn is_enough(&mut self) -> bool {
        let is_enough = self.0 == 0;
        self.0 = self.0.saturating_sub(1);
        is_enough
    }
}

impl Bridge<'_> {
    /// Requires that a mirror which does not have the last message that was read is behind: one that has later ones of the network has
    /// another history.
    pub(super) fn must_be_behind(&self, topic: TopicId, reading: &Reading) -> Result<(), Refusal> {
        let Some(missed) = reading.missed() else {
            return Ok(());
        };
        let newest = self.mirror.newest().told()?;
        let limit = missed.seconds().saturating_add(self.skew.as_secs());
        let limit = Timestamp::new(limit, missed.nanos());
        if newest.is_some_and(|newest| limit.is_some_and(|limit| newest > limit)) {
            let why = format!(
                "its message {}, which was taken in, is gone",
                reading.seen()
            );
            return Err(put_back(topic, &why));
        }
        Ok(())
    }

    /// Requires that a mirror says the same again of a message that cannot be read, where that would lose something.
    pub(super) fn must_mean(
        &self,
        id: TopicId,
        topic: &TopicRow,
        message: &MessageFacts,
        doubts: &mut Doubts,
    ) -> Result<(), Refusal> {
        let is_close = topic.place == TopicPlace::Connection;
        if (is_close || self.agent_of(message.payer)?.is_some()) && !doubts.is_enough() {
            self.must_say_again(id, message.sequence, history::piece(message))?;
        }
        Ok(())
    }

    fn must_say_again(
        &self,
        topic: TopicId,
        sequence: Sequence,
        piece: Option<Piece>,
    ) -> Result<(), Refusal> {
        if self.says_again(topic, sequence, piece)? {
            return Ok(());
        }
        let problem =
            format!("the mirror says now this, now that, of message {sequence} of {topic}");
        Err(Refusal::new(Code::Ledger, problem))
    }

    fn says_again(
        &self,
        topic: TopicId,
        sequence: Sequence,
        piece: Option<Piece>,
    ) -> Result<bool, Refusal> {
        let found = self.mirror.message(topic, sequence).told()?;
        Ok(found.is_some_and(|found| history::piece(&found) == piece))
    }

    /// Whether a mirror says the same again of the pieces whose others did not come: asked once for each, when nothing else is there to do.
    pub(super) fn is_sure(&self, topic: TopicId, reading: &mut Reading) -> Result<bool, Refusal> {
        for (sequence, piece) in reading.unsure(MOST_PIECES) {
            if !self.says_again(topic, sequence, Some(piece))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What becomes of pieces whose message did not come whole: they are kept as they are, with the reason, if the mirror says the same
    /// of them again.
    pub(super) fn loose(
        &self,
        id: TopicId,
        loose: Vec<(Loose, String)>,
        to: &Cursor,
        doubts: &mut Doubts,
    ) -> Result<Vec<Finding>, Refusal> {
        let mut findings = Vec::new();
        for (piece, hash) in loose {
            if !doubts.is_enough() {
                self.must_say_again(id, piece.sequence, Some(piece.piece))?;
            }
            let (number, total) = (piece.piece.number, piece.piece.total);
            let reason =
                format!("piece {number} of {total} of a message whose other pieces did not come");
            findings.push(Finding {
                to: to.clone(),
                record: LedgerRecord {
                    sequence: i64::try_from(piece.sequence.get()).unwrap_or(i64::MAX),
                    time: piece.time.map(|time| time.to_string()).unwrap_or_default(),
                    payer: piece.piece.payer.to_string(),
                    hash,
                    state: RecordState::Unreadable,
                    uid: None,
                    reason: None,
                    content: encoded(&piece.bytes),
                },
                meaning: Meaning::Nothing(RecordState::Unreadable, reason),
                is_late: true,
            });
        }
        Ok(findings)
    }
}

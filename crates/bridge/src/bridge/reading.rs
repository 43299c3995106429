//! How far a topic was read: its messages must follow one another, continue its hash, and are put together where they came in pieces.

use std::collections::{BTreeMap, BTreeSet};

use inbox_core::{Code, Refusal};
use inbox_hcs::{Assembler, Refused, RunningHash, Submission, TopicId};
use inbox_hedera::mirror::MessageFacts;
use inbox_store::{Cursor, TopicRow};

use crate::history;

/// How many places before pieces are remembered until those of messages that were given up are forgotten.
const MOST_PLACES: usize = 1024;

/// How far a topic was read.
pub(super) struct Reading {
    assembler: Assembler,
    /// The last message that was read, whole or not.
    last: Cursor,
    hash: Option<RunningHash>,
    /// What stands before each piece that may be the first of its message.
    before: BTreeMap<i64, Cursor>,
}

impl Reading {
    /// From where the store has it.
    pub(super) fn at(topic: &TopicRow) -> Self {
        let hash = topic.hash.as_deref().and_then(RunningHash::read);
        Reading {
            assembler: Assembler::default(),
            last: Cursor {
                sequence: topic.sequence,
                time: topic.time.clone(),
                hash: topic.hash.clone(),
            },
            hash: match topic.sequence {
                0 => Some(RunningHash::EMPTY),
                _ => hash,
            },
            before: BTreeMap::new(),
        }
    }

    /// The number of the last message that was read.
    pub(super) fn seen(&self) -> i64 {
        self.last.sequence
    }

    /// The topic's hash with it.
    pub(super) fn hash(&self) -> String {
        self.last.hash.clone().unwrap_or_default()
    }

    /// How far the topic is done with: to before the first message that is not whole.
    pub(super) fn cursor(&self) -> Cursor {
        let open = self.assembler.first_open();
        let open = open.and_then(|open| i64::try_from(open.get()).ok());
        let before = open.and_then(|open| self.before.get(&open));
        before.unwrap_or(&self.last).clone()
    }

    /// Reads the next message: what is whole with it, or why it is nothing. What a mirror leaves out, gives in another order or
    /// changes is not read at all.
    pub(super) fn add(
        &mut self,
        topic: TopicId,
        message: &MessageFacts,
    ) -> Result<Result<Option<Vec<u8>>, Refused>, Refusal> {
        let number = i64::try_from(message.sequence.get()).unwrap_or(i64::MAX);
        let expected = self.last.sequence + 1;
        if number != expected {
            let why =
                format!("message {number} follows on the mirror, and {expected} was expected");
            return Err(Refusal::new(Code::Ledger, why));
        }
        let reported = RunningHash::new(&message.running_hash);
        let computed = self.hash.map(|hash| {
            hash.next(&Submission {
                payer: message.payer,
                topic,
                time: message.time,
                sequence: message.sequence,
                message: &message.message,
            })
        });
        if reported.is_none() || computed.is_some() && computed != reported {
            let why = format!(
                "message {number} on the mirror is not the one that the topic has: its hash does not follow"
            );
            return Err(Refusal::new(Code::Ledger, why));
        }
        let added = self.assembler.add_at(
            (message.sequence, message.time),
            message.payer,
            history::piece(message),
            &message.message,
        );
        let here = Cursor {
            sequence: number,
            time: Some(message.time.to_string()),
            hash: reported.map(|hash| hash.to_string()),
        };
        let before = std::mem::replace(&mut self.last, here);
        self.hash = reported;
        if matches!(added, Ok(None)) {
            self.before.insert(number, before);
        }
        self.forget();
        Ok(added.map(|whole| whole.map(|whole| whole.bytes)))
    }

    /// Forgets what stood before messages that are whole or given up.
    fn forget(&mut self) {
        match self.assembler.first_open() {
            None => self.before.clear(),
            Some(_) if self.before.len() < MOST_PLACES => {}
            Some(_) => {
                let open: BTreeSet<u64> =
                    self.assembler.firsts().map(|first| first.get()).collect();
                self.before
                    .retain(|number, _| open.contains(&number.unsigned_abs()));
            }
        }
    }
}

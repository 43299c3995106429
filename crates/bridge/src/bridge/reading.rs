//! How far a topic was read: its messages must follow one another, continue its hash, and are put together where they came in pieces.

use std::collections::{BTreeMap, BTreeSet};

use inbox_core::{Code, Refusal};
use inbox_hcs::{
    Assembler, Loose, Piece, Refused, RunningHash, Sequence, Submission, Timestamp, TopicId,
};
use inbox_hedera::mirror::MessageFacts;
use inbox_store::{Cursor, TopicRow};

use crate::history;

/// How many places before pieces are remembered until those of messages that were given up are forgotten.
const MOST_PLACES: usize = 1024;

/// How often in a row a mirror may not have what it had, before it is asked whether it is behind.
const ABSENCES: u32 = 3;

/// Under what a refusal names such a topic.
const PUT_BACK: &str = "put_back";

/// What is said of a topic whose history is not the one that was taken in.
pub(super) fn put_back(topic: TopicId, why: &str) -> Refusal {
    let problem = format!(
        "the topic {topic} was put back, or is another ledger's: {why}; nothing more of it is taken in"
    );
    let mut refusal = Refusal::new(Code::Ledger, problem).hint(
        "inbox verify says where the store and the topics differ; a bridge goes on by itself once the ledger is there that was read",
    );
    refusal
        .details
        .insert(PUT_BACK.into(), topic.to_string().into());
    refusal
}

/// Whether that is what was said.
pub(super) fn is_put_back(refusal: &Refusal) -> bool {
    refusal.details.contains_key(PUT_BACK)
}

/// How far a topic was read.
pub(super) struct Reading {
    assembler: Assembler,
    /// The last message that was read, whole or not.
    last: Cursor,
    hash: Option<RunningHash>,
    /// What stands before each piece that may be the first of its message, and the topic's hash with it.
    before: BTreeMap<i64, (Cursor, String)>,
    /// How often in a row the mirror did not have the last message that was read.
    absences: u32,
    /// Up to which piece it was asked again which piece of which message each is.
    asked: Option<Sequence>,
}

/// What comes of a message.
pub(super) struct Added {
    /// What is whole with it, or why it is nothing.
    pub(super) whole: Result<Option<Vec<u8>>, Refused>,
    /// Pieces of messages that were given up, each with the topic's hash where it is known.
    pub(super) loose: Vec<(Loose, String)>,
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
            absences: 0,
            asked: None,
        }
    }

    /// The pieces whose others did not come, and of which it was not asked again what they are.
    pub(super) fn unsure(&mut self, most: usize) -> Vec<(Sequence, Piece)> {
        let pieces = self.assembler.pieces();
        let new = pieces.filter(|piece| Some(piece.sequence) > self.asked);
        let mut new: Vec<_> = new.map(|piece| (piece.sequence, piece.piece)).collect();
        new.sort_by_key(|(sequence, _)| *sequence);
        new.truncate(most);
        self.asked = new.last().map(|(sequence, _)| *sequence).or(self.asked);
        new
    }

    /// The messages of a page after the last one that was read, with which the page must begin. A mirror that has another in its place has
    /// another history: then nothing more is taken in, and nothing again.
    pub(super) fn anchored<'p>(
        &mut self,
        topic: TopicId,
        page: &'p [MessageFacts],
    ) -> Result<&'p [MessageFacts], Refusal> {
        let number = self.last.sequence;
        let (Some(first), true) = (page.first(), number > 0) else {
            self.absences = if number > 0 { self.absences + 1 } else { 0 };
            return Ok(page);
        };
        if i64::try_from(first.sequence.get()) != Ok(number) {
            let found = first.sequence;
            let why = format!("message {found} follows on the mirror, and {number} was expected");
            return Err(Refusal::new(Code::Ledger, why));
        }
        self.absences = 0;
        let is_same = |known: &Option<String>, now: Option<String>| {
            known.is_none() || now.is_none() || *known == now
        };
        let hash = RunningHash::new(&first.running_hash).map(|hash| hash.to_string());
        if hash.is_none()
            || !is_same(&self.last.hash, hash)
            || !is_same(&self.last.time, Some(first.time.to_string()))
        {
            return Err(put_back(
                topic,
                &format!("its message {number} is not the one that was taken in"),
            ));
        }
        Ok(&page[1..])
    }

    /// When the last message was, if the mirror did not have it so often that it may never come again.
    pub(super) fn missed(&self) -> Option<Timestamp> {
        let time = self.last.time.as_deref();
        time.filter(|_| self.absences >= ABSENCES)
            .and_then(|time| time.parse().ok())
    }

    /// Whether the mirror did not have it, and was not asked often enough to know why.
    pub(super) fn is_missing(&self) -> bool {
        (1..ABSENCES).contains(&self.absences)
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
        before.map_or(&self.last, |(before, _)| before).clone()
    }

    /// Reads the next message: what is whole with it, or why it is nothing. What a mirror leaves out, gives in another order or
    /// changes is not read at all.
    pub(super) fn add(&mut self, topic: TopicId, message: &MessageFacts) -> Result<Added, Refusal> {
        let number = i64::try_from(message.sequence.get()).unwrap_or(i64::MAX);
        let expected = self.last.sequence + 1;
        if number != expected {
            let why =
                format!("message {number} follows on the mirror, and {expected} was expected");
            return Err(Refusal::new(Code::Ledger, why));
        }
        let last = self.last.time.as_deref().and_then(|time| time.parse().ok());
        if last.is_some_and(|last: Timestamp| message.time <= last) {
            let why = format!("message {number} on the mirror is from before the one before it");
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
            let hash = self.hash();
            self.before.insert(number, (before, hash));
        }
        let loose = self.assembler.take_loose().into_iter();
        let loose = loose.map(|piece| {
            let number = i64::try_from(piece.sequence.get()).unwrap_or(i64::MAX);
            let hash = self.before.get(&number).map(|(_, hash)| hash.clone());
            (piece, hash.unwrap_or_default())
        });
        let loose = loose.collect();
        self.forget();
        Ok(Added {
            whole: added.map(|whole| whole.map(|whole| whole.bytes)),
            loose,
        })
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

//! A topic's history, from its mirror: piece by piece, or as whole messages.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use inbox_core::{Code, Refusal};
use inbox_hcs::{AccountId, Assembler, Piece, Sequence, Timestamp, TopicId};
use inbox_hedera::mirror::{MessageFacts, Mirror};

use crate::told::Told;

/// A message that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its number; that of its last piece, if it came in several.
    pub sequence: Sequence,
    /// The number of its first piece.
    pub first: Sequence,
    /// When.
    pub time: Timestamp,
    /// Who paid for it.
    pub payer: AccountId,
    /// What it says.
    pub bytes: Vec<u8>,
}

/// Goes through what the network took, oldest first, until there is no more or enough was seen.
pub fn pieces(
    mirror: &Mirror,
    topic: TopicId,
    after: Option<Sequence>,
    mut see: impl FnMut(&MessageFacts) -> Result<ControlFlow<()>, Refusal>,
) -> Result<(), Refusal> {
    let mut last = after;
    loop {
        let page = mirror.messages(topic, last).told()?;
        let Some(newest) = page.last() else {
            return Ok(());
        };
        last = Some(newest.sequence);
        for message in &page {
            if see(message)?.is_break() {
                return Ok(());
            }
        }
    }
}

/// How much of a topic is read at the most: anybody may fill one without end.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// How many messages of the network, whole or not.
    pub pieces: usize,
    /// For how long.
    pub time: Duration,
}

/// Goes through whole messages, oldest first. What is no good piece of anything is passed over.
pub fn messages(
    mirror: &Mirror,
    topic: TopicId,
    after: Option<Sequence>,
    see: impl FnMut(Said) -> Result<ControlFlow<()>, Refusal>,
) -> Result<(), Refusal> {
    walk(mirror, topic, after, None, see)
}

/// The same of a topic that has no more than this, which is an error otherwise: one that cannot be read when it has too many, and the
/// network's when it takes too long.
pub fn bounded(
    mirror: &Mirror,
    topic: TopicId,
    bound: Bound,
    see: impl FnMut(Said) -> Result<ControlFlow<()>, Refusal>,
) -> Result<(), Refusal> {
    walk(mirror, topic, None, Some(bound), see)
}

fn walk(
    mirror: &Mirror,
    topic: TopicId,
    after: Option<Sequence>,
    bound: Option<Bound>,
    mut see: impl FnMut(Said) -> Result<ControlFlow<()>, Refusal>,
) -> Result<(), Refusal> {
    let mut assembler = Assembler::default();
    let mut next = after.map_or(1, |after| after.get() + 1);
    let (begun, mut count) = (Instant::now(), 0);
    pieces(mirror, topic, after, |message| {
        count += 1;
        if let Some(bound) = bound {
            if count > bound.pieces {
                let most = bound.pieces;
                return Err(Refusal::new(
                    Code::InvalidWire,
                    format!("{topic} has more than {most} messages, which no file needs"),
                ));
            }
            if begun.elapsed() > bound.time {
                let most = bound.time.as_secs();
                return Err(Refusal::new(
                    Code::Ledger,
                    format!("{topic} could not be read in {most} seconds"),
                ));
            }
        }
        // A mirror that leaves something out is asked again another time.
        if message.sequence.get() != next {
            let found = message.sequence;
            return Err(Refusal::new(
                Code::Ledger,
                format!(
                    "message {found} of {topic} follows on the mirror, and {next} was expected"
                ),
            ));
        }
        next += 1;
        let piece = piece(message);
        let added = assembler.add(message.sequence, message.payer, piece, &message.message);
        match added {
            Ok(Some(whole)) => see(Said {
                sequence: whole.last,
                first: whole.first,
                time: message.time,
                payer: whole.payer,
                bytes: whole.bytes,
            }),
            Ok(None) | Err(_) => Ok(ControlFlow::Continue(())),
        }
    })
}

/// Which piece of which message it is.
pub(crate) fn piece(message: &MessageFacts) -> Option<Piece> {
    let (number, total, id) = message.piece.as_ref()?;
    let (payer, valid_start) = id.split_once('@')?;
    Some(Piece {
        payer: payer.parse().ok()?,
        valid_start: valid_start.parse().ok()?,
        number: *number,
        total: *total,
    })
}

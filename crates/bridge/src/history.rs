//! A topic's history, from its mirror: piece by piece, or as whole messages.

use std::ops::ControlFlow;

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

/// Goes through whole messages, oldest first. What is no good piece of anything is passed over.
pub fn messages(
    mirror: &Mirror,
    topic: TopicId,
    after: Option<Sequence>,
    mut see: impl FnMut(Said) -> Result<ControlFlow<()>, Refusal>,
) -> Result<(), Refusal> {
    let mut assembler = Assembler::default();
    let mut next = after.map_or(1, |after| after.get() + 1);
    pieces(mirror, topic, after, |message| {
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

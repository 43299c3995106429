//! Puts together messages that came in pieces, because SDKs cut what is larger than one message of the network.
//!
//! Anybody may begin messages on a public topic and never end them, so that what is open is bounded: for each payer,
//! in all, and for each message. Whoever begins too many loses their own oldest one first.

use std::collections::BTreeMap;

use crate::id::{AccountId, Sequence, Timestamp};
use crate::operation::{MAX_MESSAGE, MAX_PIECES};
use crate::report::Refused;

/// The most open messages of one payer.
const MAX_OF_ONE: usize = 4;
/// The most open messages.
const MAX_OPEN: usize = 256;

/// How long the pieces of one message may take to come, in seconds: whoever sends them has two minutes for each, and sends them at once.
const MAX_SECONDS: u64 = 600;

/// Which piece of which message it is. The transaction of the first piece names the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Who paid for the first piece.
    pub payer: AccountId,
    /// When the transaction of the first piece became valid.
    pub valid_start: Timestamp,
    /// The number of the piece, from 1.
    pub number: u32,
    /// How many there are.
    pub total: u32,
}

/// A message that is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// The number of the piece that came first.
    pub first: Sequence,
    /// The number of the piece that made it whole: where the message stands among others.
    pub last: Sequence,
    /// Who paid for all of it.
    pub payer: AccountId,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A piece of a message that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loose {
    /// Its number on the topic.
    pub sequence: Sequence,
    /// When it came, where that was said.
    pub time: Option<Timestamp>,
    /// Which piece of which message it was said to be.
    pub piece: Piece,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The most pieces of given-up messages that are held for whoever asks.
const MAX_LOOSE: usize = 1_000;

#[derive(Debug, Clone)]
struct Open {
    first: Sequence,
    begun: Option<Timestamp>,
    total: u32,
    pieces: BTreeMap<u32, Loose>,
}

/// The messages of one topic that are not whole yet.
#[derive(Debug, Clone, Default)]
pub struct Assembler {
    open: BTreeMap<(AccountId, Timestamp), Open>,
    loose: Vec<Loose>,
    dropped: u64,
}

impl Assembler {
    /// Takes the next message of the topic: what is whole comes back, and a piece waits for the others.
    pub fn add(
        &mut self,
        sequence: Sequence,
        payer: AccountId,
        piece: Option<Piece>,
        bytes: &[u8],
    ) -> Result<Option<Whole>, Refused> {
        self.take(sequence, None, payer, piece, bytes)
    }

    /// The same of one that came at this moment: what was begun long before it is given up.
    pub fn add_at(
        &mut self,
        (sequence, time): (Sequence, Timestamp),
        payer: AccountId,
        piece: Option<Piece>,
        bytes: &[u8],
    ) -> Result<Option<Whole>, Refused> {
        let is_over = |open: &Open| {
            let begun = open.begun.map(Timestamp::seconds);
            begun.is_some_and(|begun| begun.saturating_add(MAX_SECONDS) < time.seconds())
        };
        let over = self.open.iter().filter(|(_, open)| is_over(open));
        let over: Vec<_> = over.map(|(key, _)| *key).collect();
        for key in over {
            self.give_up(key);
        }
        self.take(sequence, Some(time), payer, piece, bytes)
    }

    fn take(
        &mut self,
        sequence: Sequence,
        time: Option<Timestamp>,
        payer: AccountId,
        piece: Option<Piece>,
        bytes: &[u8],
    ) -> Result<Option<Whole>, Refused> {
        if bytes.len() > MAX_MESSAGE {
            return Err(Refused::TooLarge {
                what: "the message",
                bytes: bytes.len(),
                most: MAX_MESSAGE,
            });
        }
        let Some(piece) = piece.filter(|piece| (piece.number, piece.total) != (1, 1)) else {
            return Ok(Some(Whole {
                first: sequence,
                last: sequence,
                payer,
                bytes: bytes.to_vec(),
            }));
        };
        check(&piece, payer)?;
        let key = (piece.payer, piece.valid_start);
        if !self.open.contains_key(&key) {
            self.make_room(payer);
        }
        let open = self.open.entry(key).or_insert_with(|| Open {
            first: sequence,
            begun: time,
            total: piece.total,
            pieces: BTreeMap::new(),
        });
        if open.total != piece.total {
            return Err(Refused::Piece("its total is not that of the other pieces"));
        }
        // A piece that comes again changes nothing: the first was there first.
        open.pieces.entry(piece.number).or_insert_with(|| Loose {
            sequence,
            time,
            piece,
            bytes: bytes.to_vec(),
        });
        if open.pieces.len() < open.total as usize {
            return Ok(None);
        }
        let whole = self.open.remove(&key).map(|open| Whole {
            first: open.first,
            last: sequence,
            payer,
            bytes: open
                .pieces
                .into_values()
                .flat_map(|piece| piece.bytes)
                .collect(),
        });
        Ok(whole)
    }

    /// Drops the oldest message of a payer that has too many, or of all.
    fn make_room(&mut self, payer: AccountId) {
        let of_payer = |(owner, _): &&(AccountId, Timestamp)| *owner == payer;
        let is_full = self.open.len() >= MAX_OPEN;
        let has_many = self.open.keys().filter(of_payer).count() >= MAX_OF_ONE;
        if !is_full && !has_many {
            return;
        }
        let oldest = self
            .open
            .iter()
            .filter(|((owner, _), _)| !has_many || *owner == payer)
            .min_by_key(|(_, open)| open.first)
            .map(|(key, _)| *key);
        if let Some(key) = oldest {
            self.give_up(key);
        }
    }

    fn give_up(&mut self, key: (AccountId, Timestamp)) {
        let Some(open) = self.open.remove(&key) else {
            return;
        };
        self.dropped += 1;
        // Who never asks for them does not hold them.
        if self.loose.len() < MAX_LOOSE {
            self.loose.extend(open.pieces.into_values());
        }
    }

    /// The pieces of the messages that were given up since this was asked last, in the order of the topic.
    pub fn take_loose(&mut self) -> Vec<Loose> {
        let mut loose = std::mem::take(&mut self.loose);
        loose.sort_by_key(|piece| piece.sequence);
        loose
    }

    /// The pieces of the messages that are not whole.
    pub fn pieces(&self) -> impl Iterator<Item = &Loose> {
        self.open.values().flat_map(|open| open.pieces.values())
    }

    /// The first piece of a message that is not whole.
    pub fn first_open(&self) -> Option<Sequence> {
        self.open.values().map(|open| open.first).min()
    }

    /// The first piece of each message that is not whole.
    pub fn firsts(&self) -> impl Iterator<Item = Sequence> {
        self.open.values().map(|open| open.first)
    }

    /// How many messages are not whole.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// How many messages were given up, because too many were open.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

fn check(piece: &Piece, payer: AccountId) -> Result<(), Refused> {
    if piece.total > MAX_PIECES {
        return Err(Refused::ChunkOutOfRange {
            index: u64::from(piece.total),
            most: MAX_PIECES,
        });
    }
    if piece.number == 0 || piece.number > piece.total {
        return Err(Refused::Piece("its number is not among the pieces"));
    }
    // The network holds this as well; a message that two pay for would be nobody's.
    if piece.payer != payer {
        return Err(Refused::Piece("another account paid for its first piece"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(number: u64) -> AccountId {
        AccountId::new(0, 0, number).unwrap()
    }

    fn sequence(number: u64) -> Sequence {
        Sequence::new(number).unwrap()
    }

    fn piece(of: u64, at: u64, number: u32, total: u32) -> Piece {
        Piece {
            payer: account(of),
            valid_start: Timestamp::new(at, 0).unwrap(),
            number,
            total,
        }
    }

    #[test]
    fn a_message_in_one_piece_is_whole() {
        let mut assembler = Assembler::default();
        for info in [None, Some(piece(1, 1, 1, 1))] {
            let whole = assembler
                .add(sequence(7), account(1), info, b"hello")
                .unwrap()
                .unwrap();
            assert_eq!((whole.first, whole.last), (sequence(7), sequence(7)));
            assert_eq!(whole.bytes, b"hello");
        }
        let large = assembler.add(sequence(8), account(1), None, &[0; 1_025]);
        assert!(matches!(large, Err(Refused::TooLarge { .. })));
    }

    #[test]
    fn pieces_come_in_any_order_among_others() {
        let mut assembler = Assembler::default();
        let mut add = |number, of, at, part, bytes: &[u8]| {
            let info = Some(piece(of, at, part, 3));
            assembler
                .add(sequence(number), account(of), info, bytes)
                .unwrap()
        };
        assert_eq!(add(1, 1, 1, 3, b"c"), None);
        assert_eq!(add(2, 2, 1, 1, b"x"), None);
        assert_eq!(add(3, 1, 1, 1, b"a"), None);
        assert_eq!(add(4, 1, 1, 1, b"again"), None);
        assert_eq!(add(5, 1, 2, 2, b"y"), None);
        let whole = add(6, 1, 1, 2, b"b").unwrap();
        assert_eq!((whole.first, whole.last), (sequence(1), sequence(6)));
        assert_eq!(
            (whole.bytes.as_slice(), whole.payer),
            (&b"abc"[..], account(1))
        );
        assert_eq!(assembler.open(), 2);
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let mut assembler = Assembler::default();
        for (info, payer) in [
            (piece(1, 1, 0, 3), 1),
            (piece(1, 1, 4, 3), 1),
            (piece(1, 1, 1, 0), 1),
            (piece(1, 1, 1, 21), 1),
            (piece(1, 1, u32::MAX, u32::MAX), 1),
            (piece(1, 1, 1, 3), 6),
        ] {
            let found = assembler.add(sequence(1), account(payer), Some(info), b"x");
            assert!(found.is_err(), "{info:?}");
        }
        assert_eq!(assembler.open(), 0);
        assembler
            .add(sequence(1), account(1), Some(piece(1, 1, 1, 3)), b"x")
            .unwrap();
        let other = assembler.add(sequence(2), account(1), Some(piece(1, 1, 2, 4)), b"x");
        assert!(matches!(other, Err(Refused::Piece(_))));
    }

    #[test]
    fn what_was_begun_long_ago_is_given_up() {
        let at = |number, seconds| (sequence(number), Timestamp::new(seconds, 0).unwrap());
        let mut assembler = Assembler::default();
        let begun = |of, part| Some(piece(of, 1, part, 2));
        let added = assembler.add_at(at(1, 1_000), account(1), begun(1, 1), b"a");
        assert_eq!(added, Ok(None));
        let added = assembler.add_at(at(2, 1_500), account(2), begun(2, 1), b"x");
        assert_eq!(added, Ok(None));
        assert_eq!(assembler.first_open(), Some(sequence(1)));
        let other = assembler.add_at(at(3, 1_601), account(6), None, b"other");
        assert!(other.unwrap().is_some());
        assert_eq!((assembler.open(), assembler.dropped()), (1, 1));
        let loose = assembler.take_loose();
        assert_eq!(loose.len(), 1);
        assert_eq!(
            (loose[0].sequence, loose[0].bytes.as_slice()),
            (sequence(1), &b"a"[..])
        );
        assert_eq!(assembler.take_loose(), []);
        assert_eq!(assembler.first_open(), Some(sequence(2)));
        let whole = assembler.add_at(at(4, 2_100), account(2), begun(2, 2), b"y");
        assert_eq!(whole.unwrap().unwrap().bytes, b"xy");
    }

    #[test]
    fn messages_that_never_end_cost_their_payer_and_nobody_else() {
        let mut assembler = Assembler::default();
        assembler
            .add(sequence(1), account(1), Some(piece(1, 1, 1, 2)), b"a")
            .unwrap();
        for number in 2..10_000 {
            let info = Some(piece(6, number, 1, 20));
            assembler
                .add(sequence(number), account(6), info, &[0; 1_024])
                .unwrap();
        }
        assert_eq!(assembler.open(), 1 + MAX_OF_ONE);
        assert!(assembler.dropped() > 9_000);
        let whole = assembler
            .add(sequence(10_000), account(1), Some(piece(1, 1, 2, 2)), b"b")
            .unwrap();
        assert_eq!(whole.unwrap().bytes, b"ab");
        // Many strangers are bounded too.
        for number in 100..2_000 {
            let info = Some(piece(number, 1, 1, 2));
            assembler
                .add(sequence(10_000 + number), account(number), info, b"x")
                .unwrap();
        }
        assert_eq!(assembler.open(), MAX_OPEN);
    }
}

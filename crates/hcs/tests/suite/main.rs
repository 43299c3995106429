//! The tests of HCS-10: the standards' own examples, what is forgiven and what is refused, hostile input, and the
//! state that follows from a topic's messages.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod bomb;
mod connections;
mod deviations;
mod directory;
mod file;
mod fuzz;
mod hostile;
mod memo;
mod profile;
mod registry;
mod round_trip;
mod vectors;

use std::path::PathBuf;

use inbox_hcs::{AccountId, Deviation, OperatorId, Sequence, TopicId};

fn vector(path: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    std::fs::read(folder.join(path)).unwrap_or_else(|fault| panic!("{path}: {fault}"))
}

/// Each deviation as its name and place.
fn named(deviations: &[Deviation]) -> Vec<String> {
    let line = |deviation: &Deviation| format!("{} {}", deviation.kind.name(), deviation.pointer);
    deviations.iter().map(line).collect()
}

fn topic(number: u64) -> TopicId {
    TopicId::new(0, 0, number).unwrap()
}

fn account(number: u64) -> AccountId {
    AccountId::new(0, 0, number).unwrap()
}

fn operator(inbound: u64, of: u64) -> OperatorId {
    OperatorId {
        inbound_topic: topic(inbound),
        account: account(of),
    }
}

fn sequence(number: u64) -> Sequence {
    Sequence::new(number).unwrap()
}

/// A small generator (xorshift), so that a failure can be played again from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides.max(1) as u64).unwrap()
    }
}

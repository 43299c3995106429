//! Random damage to valid lines, for as long as `FUZZ_SECONDS` says: what `make fuzz` runs where no C++
//! compiler is.

use std::time::{Duration, Instant};

use super::{Original, decode};

const SEEDS: &[u8] = include_bytes!("../../../tests/vectors/mailbox/plain.jsonl");

/// Damages some bytes, by a small generator (xorshift) that a failure can be played again with.
fn damage(seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut roll = |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % sides.max(1) as u64).unwrap_or(0)
    };
    let mut bytes = SEEDS.to_vec();
    for _ in 0..=roll(5) {
        let at = roll(bytes.len() + 1);
        let end = (at + roll(16)).min(bytes.len());
        match roll(4) {
            0 => drop(bytes.drain(at..end)),
            1 => {
                let pieces: [&[u8]; 8] =
                    [b"\"", b"\\", b"{", b"}", b"\\ud800", b"\0", b"\xff", b"\n"];
                let piece = pieces[roll(pieces.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            2 => {
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(roll(256)).unwrap_or(0);
                }
            }
        }
    }
    bytes
}

fn try_one(seed: u64) {
    let bytes = damage(seed);
    let batch = decode(&bytes, &bytes);
    assert_eq!(batch, decode(&bytes, &bytes), "seed {seed}");
    for mut message in batch.messages {
        let _ = Original::take(&mut message);
    }
}

#[test]
fn damaged_lines_are_taken_or_reported() {
    (1..2000).for_each(try_one);
}

#[test]
#[ignore = "runs for FUZZ_SECONDS: make fuzz"]
fn damaged_lines_are_taken_or_reported_for_long() {
    let seconds = std::env::var("FUZZ_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(10));
    let mut seed = 10_000;
    while Instant::now() < until {
        try_one(seed);
        seed += 1;
    }
}

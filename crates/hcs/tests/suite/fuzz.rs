//! Random damage to valid messages, memos and files, for as long as `FUZZ_SECONDS` says: what `make fuzz` runs where
//! no C++ compiler is.

use std::time::{Duration, Instant};

use inbox_hcs::{
    Algorithm, Collector, FileMemo, Hash, Keys, Limits, Note, Place, Profile, read, read_registry,
};

use crate::{Dice, memo, vector, vectors};

const PIECES: &[&str] = &[
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "-1",
    "1e400",
    "0.0",
    "0.0.0",
    "\\u0000",
    "\\ud800",
    "\u{202e}",
    "\0",
    "9223372036854775808",
    "hcs-10",
    "hcs://1/0.0.5",
    "@",
    "data:",
    "A",
];

fn damage(bytes: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(bytes.len() + 1);
        let end = (at + dice.roll(12)).min(bytes.len());
        match dice.roll(4) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, PIECES[dice.roll(PIECES.len())].bytes())),
            2 => {
                let copy = bytes[at..end].to_vec();
                let to = dice.roll(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(dice.roll(256)).unwrap();
                }
            }
        }
    }
    bytes
}

/// What must hold of any bytes: they are refused, or mean again what they meant when they are written.
fn hold(bytes: &[u8]) {
    for place in Place::ALL {
        if let Ok((operation, _)) = read(bytes, place)
            && let Ok(written) = operation.write()
        {
            let again = read(written.as_bytes(), operation.place());
            assert_eq!(again, Ok((operation, Vec::new())));
        }
    }
    if let Ok((operation, _)) = read_registry(bytes)
        && let Ok(written) = operation.write()
    {
        assert_eq!(
            read_registry(written.as_bytes()),
            Ok((operation, Vec::new()))
        );
    }
    if let Ok((profile, _)) = Profile::read(bytes)
        && let Ok(written) = profile.write()
    {
        assert_eq!(Profile::read(written.as_bytes()).unwrap().0, profile);
    }
    if let Ok((note, _)) = Note::read(bytes)
        && let Ok(written) = note.write()
    {
        assert_eq!(Note::read(written.as_bytes()).unwrap().0, note);
    }
    let text = String::from_utf8_lossy(bytes);
    memo::hold(text.trim_end());
    let (first, rest) = text.split_once('\n').unwrap_or(("", &text));
    let memo = first.parse().unwrap_or(FileMemo {
        hash: Hash::of(b""),
        algorithm: Algorithm::Zstd,
    });
    let mut collector = Collector::new(memo, Limits::default());
    if rest
        .lines()
        .all(|line| collector.add(line.as_bytes()).is_ok())
        && let Ok((file, _)) = collector.finish(Keys::VALID)
    {
        assert_eq!(Hash::of(&file.content), memo.hash);
    }
}

fn run(seed: u64, length: Duration) -> u64 {
    let mut texts: Vec<_> = vectors::all()
        .into_iter()
        .map(|vector| vector.bytes)
        .collect();
    for name in [
        "file/zstd.txt",
        "file/brotli.txt",
        "memo/inbound.txt",
        "memo/connection.txt",
        "memo/file.txt",
    ] {
        texts.push(vector(name));
    }
    let start = Instant::now();
    let mut dice = Dice(seed | 1);
    let mut count = 0;
    while start.elapsed() < length {
        let bytes = damage(&texts[dice.roll(texts.len())], &mut dice);
        let outcome = std::panic::catch_unwind(|| hold(&bytes));
        assert!(
            outcome.is_ok(),
            "seed {seed}, input {count}: {:?}",
            String::from_utf8_lossy(&bytes)
        );
        count += 1;
    }
    count
}

#[test]
fn damaged_messages_are_answered() {
    assert!(run(1, Duration::from_millis(300)) > 20);
}

#[test]
#[ignore = "runs for FUZZ_SECONDS; make fuzz calls it"]
fn damaged_messages_are_answered_for_a_while() {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(60, |text| text.parse().unwrap());
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    let count = run(u64::from(seed), Duration::from_secs(seconds));
    println!("{count} inputs in {seconds} s, seed {seed}");
}

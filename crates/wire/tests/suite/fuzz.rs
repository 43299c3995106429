//! Random damage to valid documents, for as long as `FUZZ_SECONDS` says: what `make fuzz` runs where
//! no C++ compiler is.

use std::time::{Duration, Instant};

use inbox_wire::{Known, decode, form, parse, parse_card, validate, validate_card};
use serde_json::Value;

use crate::vectors::all;

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
    "true",
    "-1",
    "1e400",
    "0.0",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "\\ud83d\\ude00",
    "\u{202e}",
    "\u{feff}",
    "\0",
    "\n",
    "x_",
    "wire",
    "payload",
    "1.0",
    "`",
    "```",
    "## Brief",
    "I never ",
    ". ",
    "…",
    "。",
    "e.g. ",
];

fn damage(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(chars.len() + 1);
        let end = (at + dice.roll(12)).min(chars.len());
        match dice.roll(4) {
            0 => drop(chars.drain(at..end)),
            1 => {
                let piece = PIECES[dice.roll(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
            2 => {
                let copy: Vec<char> = chars[at..end].to_vec();
                let to = dice.roll(chars.len() + 1);
                chars.splice(to..to, copy);
            }
            _ => {
                let code = u32::try_from(dice.roll(0x11_0000)).unwrap();
                if let (Some(place), Some(c)) = (chars.get_mut(at), char::from_u32(code)) {
                    *place = c;
                }
            }
        }
    }
    chars.into_iter().collect()
}

/// What must hold of any text.
fn hold(text: &str) {
    let Ok(value) = decode(text) else {
        return;
    };
    assert_eq!(
        Some(&value),
        serde_json::from_str::<Value>(text).ok().as_ref()
    );
    match parse(&value) {
        Ok(wire) => {
            assert_eq!(wire.json(), &value);
            let message = inbox_core::Message {
                payload_json: value.clone(),
                ..crate::form::message()
            };
            assert_eq!(form(&message, &crate::form::thread()), value);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            assert_eq!(problems, validate(&value));
        }
    }
    let problems = validate_card(&value, &Known::default());
    if let Ok(card) = parse_card(&value) {
        assert_eq!(
            parse_card(&serde_json::to_value(&card).unwrap()).unwrap(),
            card
        );
    } else {
        assert!(!problems.is_empty());
    }
}

fn run(seed: u64, length: Duration) -> u64 {
    let mut texts: Vec<String> = all().iter().map(Value::to_string).collect();
    texts.push(crate::card::quinn().to_string());
    let start = Instant::now();
    let mut dice = Dice(seed | 1);
    let mut count = 0;
    while start.elapsed() < length {
        let text = damage(&texts[dice.roll(texts.len())], &mut dice);
        let outcome = std::panic::catch_unwind(|| hold(&text));
        assert!(outcome.is_ok(), "seed {seed}, input {count}: {text:?}");
        count += 1;
    }
    count
}

#[test]
fn damaged_documents_are_answered() {
    assert!(run(1, Duration::from_millis(300)) > 50);
}

#[test]
#[ignore = "runs for FUZZ_SECONDS; make fuzz calls it"]
fn damaged_documents_are_answered_for_a_while() {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(60, |text| text.parse().unwrap());
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .subsec_nanos();
    let count = run(u64::from(seed), Duration::from_secs(seconds));
    println!("{count} inputs in {seconds} s, seed {seed}");
}

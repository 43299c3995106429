//! Hostile input for the properties of readers: valid documents that are damaged, and noise.
//!
//! The crates below the kit take this file in by its path, so that it needs nothing but proptest.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What readers stumble over: ends of numbers, quotes, escapes, letters of several bytes, what hides or acts, what nests.
const PIECES: &[&str] = &[
    "",
    "\"",
    "'",
    "`",
    "\\",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ":",
    ";",
    ",",
    ".",
    "..",
    "/",
    "//",
    "@",
    "#",
    "?",
    "&",
    "=",
    "*",
    "**",
    "_",
    "-",
    "+",
    "~",
    "|",
    "$",
    "!",
    "%",
    "%0",
    "%00",
    "%zz",
    "%+1",
    "%ff",
    "%é",
    "null",
    "true",
    "0",
    "-0",
    "-1",
    "1e400",
    "1e-400",
    "0.1",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
    "0x",
    "\\u0000",
    "\\ud800",
    "\\udc00\\ud800",
    "\u{0}",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{80}",
    "\u{a0}",
    "\u{202e}",
    "\u{200d}",
    "\u{feff}",
    "\u{fffd}",
    "\u{10ffff}",
    "é",
    "e\u{301}",
    "ß",
    "İ",
    "日本",
    "👩‍👩‍👧",
    "\n",
    "\r",
    "\r\n",
    "\r\n\r\n",
    "\n\n",
    "\t",
    " ",
    "    ",
    "- ",
    "> ",
    "# ",
    "```",
    "[a](b)",
    "<b>",
    "&lt;",
];

/// Pieces that are there many times.
const LONG: &[(&str, usize)] = &[
    ("[", 300),
    ("{\"a\":", 200),
    ("(", 300),
    (">", 300),
    ("*", 300),
    ("a", 3_000),
    ("é", 1_500),
    ("0", 400),
    ("- ", 200),
    ("\n", 400),
    ("=", 200),
];

/// So many tries. What fails becomes a test of its own, and no file of seeds.
pub fn cases(count: u32) -> ProptestConfig {
    ProptestConfig {
        cases: count,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// One change of a document.
type Change = (u8, Index, Index, usize, Index, u8);

/// The documents, damaged in up to five places, and now and then noise instead.
pub fn damaged<T: AsRef<[u8]>>(documents: Vec<T>) -> BoxedStrategy<Vec<u8>> {
    let documents: Vec<Vec<u8>> = documents
        .into_iter()
        .map(|document| document.as_ref().to_vec())
        .collect();
    let change = any::<Change>()
        .prop_map(|(kind, at, to, length, piece, byte)| (kind, at, to, length % 16, piece, byte));
    prop_oneof![
        8 => (select(documents), vec(change, 0..=5)).prop_map(|(document, changes)| {
            changes.into_iter().fold(document, changed)
        }),
        1 => vec(any::<u8>(), 0..200),
        1 => "\\PC{0,60}|.{0,60}|[\u{0}-\u{ff}]{0,60}".prop_map(String::into_bytes),
        1 => vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat().into_bytes()),
    ]
    .boxed()
}

/// The same as text.
pub fn damaged_text<T: AsRef<[u8]>>(documents: Vec<T>) -> BoxedStrategy<String> {
    damaged(documents)
        .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .boxed()
}

fn changed(mut bytes: Vec<u8>, (kind, at, to, length, piece, byte): Change) -> Vec<u8> {
    let at = at.index(bytes.len() + 1);
    let end = (at + length).min(bytes.len());
    match kind % 10 {
        0 => drop(bytes.drain(at..end)),
        1 => bytes.truncate(at),
        2 => {
            let copy = bytes[at..end].to_vec();
            let to = to.index(bytes.len() + 1);
            drop(bytes.splice(to..to, copy));
        }
        3 => {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        4 => {
            let (text, times) = LONG[piece.index(LONG.len())];
            drop(bytes.splice(at..at, text.repeat(times).into_bytes()));
        }
        // A number in the place of another.
        5 => {
            let is_digit = |byte: &u8| byte.is_ascii_digit();
            let from = bytes.iter().skip(at).position(is_digit).map(|n| n + at);
            if let Some(from) = from {
                let digits = bytes[from..].iter().take_while(|byte| is_digit(byte));
                let until = from + digits.count();
                drop(bytes.splice(from..until, PIECES[piece.index(PIECES.len())].bytes()));
            }
        }
        _ => drop(bytes.splice(at..end, PIECES[piece.index(PIECES.len())].bytes())),
    }
    bytes
}

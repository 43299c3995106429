//! A file that is read from its topic's messages.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::{File, FileMemo, Hash, Keys, Limits, Mime, codec};
use crate::fields::{Object, Report, document, shown_value, text, whole};
use crate::operation::MAX_ASSEMBLED;
use crate::report::{Deviation, DeviationKind, Refused};

/// The longest prefix before the content.
const PREFIX: usize = 200;

/// Base64 as it is found: some writers leave out the padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The chunks of a file so far. They may come in any order; of two with one index the first counts, because the hash
/// tells in the end whether it was the right one.
#[derive(Debug, Clone)]
pub struct Collector {
    memo: FileMemo,
    limits: Limits,
    chunks: BTreeMap<u32, String>,
    bytes: usize,
    deviations: Vec<Deviation>,
}

/// The most deviations of one file that are kept.
const MAX_DEVIATIONS: usize = 200;

impl Collector {
    /// Nothing yet, of the file that the topic's memo names.
    pub fn new(memo: FileMemo, limits: Limits) -> Self {
        Collector {
            memo,
            limits,
            chunks: BTreeMap::new(),
            bytes: 0,
            deviations: Vec::new(),
        }
    }

    /// Takes one message of the topic. What is no chunk is passed over; what goes beyond the limits is refused, and
    /// with it the file.
    pub fn add(&mut self, message: &[u8]) -> Result<(), Refused> {
        let mut report = Report::default();
        let found = document(message, "the chunk", MAX_ASSEMBLED)
            .map(|value| chunk(&value, &mut report))
            .and_then(|found| report.finish(found));
        let ((index, piece), deviations) = match found {
            Ok(found) => found,
            Err(refused) => {
                self.forgive(DeviationKind::NoChunk, "a chunk", refused.to_string());
                return Ok(());
            }
        };
        let Some(key) = u32::try_from(index)
            .ok()
            .filter(|&key| key < self.limits.chunks)
        else {
            return Err(Refused::ChunkOutOfRange {
                index,
                most: self.limits.chunks,
            });
        };
        for deviation in deviations {
            self.note(deviation);
        }
        if self.chunks.contains_key(&key) {
            let expected = "each index once";
            self.forgive(DeviationKind::DuplicateChunk, expected, index.to_string());
            return Ok(());
        }
        self.bytes += piece.len();
        let most = self.limits.encoded();
        if self.bytes > most {
            return Err(Refused::TooLarge {
                what: "the file in base64",
                bytes: self.bytes,
                most,
            });
        }
        self.chunks.insert(key, piece);
        Ok(())
    }

    fn forgive(&mut self, kind: DeviationKind, expected: &str, found: String) {
        self.note(Deviation {
            kind,
            pointer: String::new(),
            expected: expected.to_owned(),
            found,
        });
    }

    fn note(&mut self, deviation: Deviation) {
        if self.deviations.len() < MAX_DEVIATIONS {
            self.deviations.push(deviation);
        }
    }

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The file, if every chunk is there, its content is what the memo says, and nobody can change it.
    pub fn finish(mut self, keys: Keys) -> Result<(File, Vec<Deviation>), Refused> {
        keys.check()?;
        self.must_be_whole()?;
        let text: String = std::mem::take(&mut self.chunks).into_values().collect();
        let (mime, encoded) = self.split(&text)?;
        let compressed = BASE64
            .decode(encoded)
            .map_err(|_| Refused::Corrupt("its base64 is broken"))?;
        let most = self.limits.allowed(compressed.len());
        let content = codec::decompress(&compressed, self.memo.algorithm, most)?;
        let found = Hash::of(&content);
        if found != self.memo.hash {
            return Err(Refused::HashMismatch {
                expected: self.memo.hash.to_string(),
                found: found.to_string(),
            });
        }
        Ok((File { mime, content }, self.deviations))
    }

    fn must_be_whole(&self) -> Result<(), Refused> {
        let highest = self.chunks.keys().next_back();
        let expected = highest.map_or(1, |highest| highest + 1);
        let count = u32::try_from(self.chunks.len()).unwrap_or(u32::MAX);
        if count == expected {
            return Ok(());
        }
        let first = (0..expected).find(|index| !self.chunks.contains_key(index));
        Err(Refused::MissingChunks {
            first: first.unwrap_or(0),
            count: expected - count,
        })
    }

    /// The type and what is in base64.
    fn split<'t>(&mut self, text: &'t str) -> Result<(Mime, &'t str), Refused> {
        let Some(after) = text.strip_prefix("data:") else {
            let expected = "a prefix such as data:application/json;base64,";
            self.forgive(DeviationKind::MissingPrefix, expected, "none".to_owned());
            return Ok((Mime::bytes(), text));
        };
        let found = after
            .split_once(',')
            .filter(|(prefix, _)| prefix.len() <= PREFIX)
            .and_then(|(prefix, encoded)| Some((prefix.strip_suffix(";base64")?, encoded)));
        let Some((mime, encoded)) = found else {
            return Err(Refused::Corrupt("its data: prefix is broken"));
        };
        let mime = mime.parse().unwrap_or_else(|_| {
            let found = crate::id::shown(mime);
            self.forgive(DeviationKind::UnknownWord, "a media type", found);
            Mime::bytes()
        });
        Ok((mime, encoded))
    }
}

/// `{"o":0,"c":"…"}`.
fn chunk(value: &Value, report: &mut Report) -> Option<(u64, String)> {
    let mut object = Object::open(value, report)?;
    let index = object.required("o", whole);
    let piece = object.required("c", text);
    object.close();
    let piece = piece?;
    if !piece.is_ascii() {
        let found = shown_value(&Value::String(piece));
        return report.refuse(format!("a chunk is ASCII, not {found}"));
    }
    Some((index?, piece))
}

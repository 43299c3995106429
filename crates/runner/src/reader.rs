//! What a client says about itself in its output: its result, its conversation, what it cost. How each client says it is
//! data; see `definitions/presets.toml`.

use inbox_ops::config::{Preset, Reading, What};
use serde_json::Value;

use crate::used::Used;

/// The longest name of a conversation that goes back to its client.
const SESSION: usize = 128;

/// The longest line that is looked into.
const LINE: usize = 8 << 20;

/// What was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Found {
    /// The result, where the output says which part of it is the result.
    pub(crate) result: Option<String>,
    pub(crate) session: Option<String>,
    /// What this start of it used.
    pub(crate) used: Used,
    /// What the conversation has used so far, where the client says only that.
    pub(crate) so_far: Used,
    pub(crate) error: Option<String>,
}

/// A line that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    line: Vec<u8>,
    is_too_long: bool,
}

impl Pieces {
    /// Takes a piece; gives the line when that ends it. One that is too long is none.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Option<Vec<u8>> {
        self.is_too_long |= self.line.len() + piece.len() > LINE;
        if self.is_too_long {
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(piece);
        }
        if !piece.ends_with(b"\n") {
            return None;
        }
        let line = std::mem::take(&mut self.line);
        (!std::mem::take(&mut self.is_too_long)).then_some(line)
    }
}

/// Reads an output as it comes.
#[derive(Debug)]
pub(crate) struct Reader {
    readings: Vec<Reading>,
    line: Pieces,
    pieces: String,
    found: Found,
}

impl Reader {
    /// Reads as the preset says; without one, each line is what it is.
    pub(crate) fn new(preset: Option<&Preset>) -> Self {
        Reader {
            readings: preset.map(|preset| preset.read.clone()).unwrap_or_default(),
            line: Pieces::default(),
            pieces: String::new(),
            found: Found::default(),
        }
    }

    /// Takes a part of the output; gives what it says to those who follow it.
    pub(crate) fn feed(&mut self, part: &[u8]) -> Vec<String> {
        if self.readings.is_empty() {
            return vec![String::from_utf8_lossy(part).trim().to_owned()];
        }
        let Some(line) = self.line.add(part) else {
            return Vec::new();
        };
        match serde_json::from_slice::<Value>(&line) {
            Ok(json) => self.read(&json),
            // What is not JSON is not the client's word.
            Err(_) => Vec::new(),
        }
    }

    fn read(&mut self, json: &Value) -> Vec<String> {
        let mut progress = Vec::new();
        for reading in &self.readings {
            let is_such = reading
                .when
                .iter()
                .all(|(at, wanted)| json.pointer(at).is_some_and(|found| text(found) == *wanted));
            if !is_such {
                continue;
            }
            for value in at(json, &reading.take) {
                let found = &mut self.found;
                match reading.what {
                    What::Progress => progress.push(text(value)),
                    What::Result => found.result = Some(text(value)),
                    What::Piece => self.pieces.push_str(&text(value)),
                    What::Error => found.error = Some(text(value)),
                    What::Session => found.session = session(&text(value)).or(found.session.take()),
                    What::Cost | What::InputTokens | What::OutputTokens => {
                        let used = used(reading.what, value);
                        if reading.so_far {
                            found.so_far = used.or(found.so_far);
                        } else {
                            found.used = found.used.and(used);
                        }
                    }
                }
            }
        }
        progress
    }

    /// What was found in all of it.
    pub(crate) fn finish(mut self) -> Found {
        self.feed(b"\n");
        let mut found = self.found;
        if !self.pieces.is_empty() {
            found.result.get_or_insert(self.pieces);
        }
        found
    }
}

/// A conversation's id, if it could be nothing else: it becomes an argument.
pub(crate) fn session(text: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_good = !text.is_empty()
        && text.len() <= SESSION
        && text.chars().all(is_plain)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_good.then(|| text.to_owned())
}

/// A value as what was used.
fn used(what: What, value: &Value) -> Used {
    let of = |wanted: What| Some(value).filter(|_| what == wanted);
    Used {
        cost: of(What::Cost)
            .and_then(Value::as_f64)
            .filter(|cost| *cost >= 0.0),
        input_tokens: of(What::InputTokens).and_then(Value::as_u64),
        output_tokens: of(What::OutputTokens).and_then(Value::as_u64),
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The values at a pointer in which `*` stands for every element; what is null is not there.
fn at<'a>(json: &'a Value, pointer: &str) -> Vec<&'a Value> {
    let mut found = vec![json];
    for part in pointer.split('/').skip(1) {
        found = found
            .into_iter()
            .flat_map(|value| match (part, value) {
                ("*", Value::Array(items)) => items.iter().collect(),
                ("*", _) => Vec::new(),
                (name, value) => value.get(name).into_iter().collect::<Vec<_>>(),
            })
            .collect();
    }
    found.retain(|value| !value.is_null());
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::preset::shipped;

    fn read(client: &str, output: &str) -> (Found, Vec<String>) {
        let presets: BTreeMap<String, Preset> = shipped().expect("the presets are good");
        let mut reader = Reader::new(presets.get(client));
        let mut progress = Vec::new();
        // In pieces, as long lines come.
        for part in output.as_bytes().split_inclusive(|byte| *byte == b'\n') {
            for piece in part.chunks(50) {
                progress.extend(reader.feed(piece));
            }
        }
        (reader.finish(), progress)
    }

    #[test]
    fn each_clients_output_says_what_came_of_it() {
        let cases = [
            (
                "claude",
                include_str!("../fixtures/claude.jsonl"),
                "Added the limit. Tests pass.",
                Some("6f4b2c1e-8d0a-4a53-9d53-0c1d2e3f4a5b"),
                Some(0.0421),
                (Some(5312), Some(187)),
            ),
            (
                "codex",
                include_str!("../fixtures/codex.jsonl"),
                "Added the limit. Tests pass.",
                Some("0199a213-81c0-7800-8aa1-bbab2a035a53"),
                None,
                (Some(24_763), Some(122)),
            ),
            (
                "gemini",
                include_str!("../fixtures/gemini.jsonl"),
                "Added the limit. Tests pass.",
                Some("b2f8c6d0-1c1e-4b5c-9a43-77aa10c0ffee"),
                None,
                (Some(1200), Some(40)),
            ),
            (
                "opencode",
                include_str!("../fixtures/opencode.jsonl"),
                "Added the limit. Tests pass.",
                Some("ses_6783457c2ffeICANaRjenHkVxv"),
                Some(0.009),
                (Some(11_287), Some(205)),
            ),
        ];
        for (client, output, result, session, cost, tokens) in cases {
            let (found, progress) = read(client, output);
            assert_eq!(found.result.as_deref(), Some(result), "{client}");
            assert_eq!(found.session.as_deref(), session, "{client}");
            let used = found.used.and(found.so_far);
            assert_eq!(
                used.cost.map(|cost| (cost * 1e6).round()),
                cost.map(|cost: f64| (cost * 1e6).round()),
                "{client}"
            );
            assert_eq!((used.input_tokens, used.output_tokens), tokens, "{client}");
            assert_eq!(found.error, None, "{client}");
            assert!(!progress.is_empty(), "{client}");
        }
    }

    #[test]
    fn a_client_that_says_that_it_failed_has_failed() {
        let (found, _) = read(
            "claude",
            r#"{"type":"result","subtype":"error","is_error":true,"result":"Credit is used up","session_id":"a"}"#,
        );
        assert_eq!(found.error.as_deref(), Some("Credit is used up"));
        assert_eq!(found.result, None);
        let (found, _) = read(
            "codex",
            r#"{"type":"turn.failed","error":{"message":"no model"}}"#,
        );
        assert_eq!(found.error.as_deref(), Some("no model"));
    }

    #[test]
    fn a_session_that_could_be_something_else_is_none() {
        for id in [
            "--dangerous",
            "a b",
            "$(x)",
            "",
            "a/../b",
            "-p",
            &"x".repeat(200),
        ] {
            assert_eq!(session(id), None, "{id:?}");
        }
        assert!(session("ses_1.a-B").is_some());
    }

    #[test]
    fn nothing_in_an_output_makes_the_reading_fail() {
        for output in [
            "{",
            "null\n",
            "[1,2]\n",
            "{\"type\":{}}\n",
            "\u{0}\n",
            "{\"session_id\":[1]}\n",
        ] {
            for client in ["claude", "codex", "gemini", "opencode"] {
                let (found, _) = read(client, output);
                assert_eq!(found.result, None);
            }
        }
    }
}

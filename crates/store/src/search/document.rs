//! What of a message can be found: its words, field by field, and a few lines around a hit.

use std::borrow::Cow;

use inbox_core::Message;

use super::query::Query;
use super::word::{Word, composed, words};

/// The most characters of one field that can be found.
pub(crate) const FIELD_CHARS: usize = 1 << 16;

/// The most words of one message that can be found. PostgreSQL numbers no more places in a text.
const MOST: usize = 16_000;

/// The most characters of a snippet.
const SNIPPET: usize = 160;

/// The fields, in the order in which they are looked through.
pub(crate) const FIELDS: usize = 4;

/// The words of one message.
pub struct Document<'a> {
    /// Subject, summary, body and payload.
    pub(crate) fields: [Field<'a>; FIELDS],
}

pub(crate) struct Field<'a> {
    pub(super) text: Cow<'a, str>,
    pub(crate) words: Vec<Word>,
}

impl<'a> Document<'a> {
    /// The words of these texts; `payload` is JSON.
    pub fn new(subject: &'a str, summary: &'a str, body: &'a str, payload: &str) -> Self {
        let mut left = MOST;
        let mut field = |text: Cow<'a, str>| {
            let words = words(&text, left);
            left -= words.len();
            Field { text, words }
        };
        Document {
            fields: [
                field(composed(cut(subject))),
                field(composed(cut(summary))),
                field(composed(cut(body))),
                field(Cow::Owned(composed(&strings(cut(payload))).into_owned())),
            ],
        }
    }

    /// The words of a message in a thread with this subject, given its payload's text.
    pub(crate) fn of(message: &'a Message, subject: &'a str, payload: &str) -> Self {
        Document::new(subject, &message.summary, &message.body, payload)
    }

    /// The text around the first hit, on one line. A hit outside the subject is preferred: the subject is
    /// shown anyway.
    pub(crate) fn snippet(&self, query: &Query) -> String {
        let [subject, rest @ ..] = &self.fields;
        let hit = rest
            .iter()
            .chain([subject])
            .find_map(|field| Some((field, query.first_in(&field.words)?)));
        match hit {
            Some((field, word)) => around(&field.text, word.start, word.end),
            None => around(&rest[0].text, 0, 0),
        }
    }
}

fn cut(text: &str) -> &str {
    match text.char_indices().nth(FIELD_CHARS) {
        Some((end, _)) if text.len() > FIELD_CHARS => &text[..end],
        _ => text,
    }
}

/// The keys and values of a JSON text that may have been cut short: what stands in quotes without its
/// escapes, and the rest as it is.
fn strings(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        out.push_str(&rest[..start]);
        let literal = &rest[start..];
        let end = closing(literal).unwrap_or(literal.len());
        match serde_json::from_str::<String>(&literal[..end]) {
            Ok(text) => out.push_str(&text),
            Err(_) => out.push_str(&literal[1..]),
        }
        out.push('\n');
        rest = &literal[end..];
    }
    out.push_str(rest);
    out
}

/// The byte after the quote that ends the literal.
fn closing(literal: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (i, byte) in literal.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(i + 1),
            _ => {}
        }
    }
    None
}

/// At most [`SNIPPET`] characters of a text around a place in it.
fn around(text: &str, start: usize, end: usize) -> String {
    let before: Vec<char> = text[..start].chars().rev().take(SNIPPET / 3 + 1).collect();
    let mut from: String = before.iter().rev().collect();
    let cut_before = before.len() > SNIPPET / 3;
    if cut_before {
        // Begin at a word, where there is one.
        let begin = from
            .find(char::is_whitespace)
            .map_or(from.chars().next().map_or(0, char::len_utf8), |at| at + 1);
        from = from.get(begin..).unwrap_or_default().to_owned();
    }
    from.push_str(&text[start..end]);
    from.extend(text[end..].chars().take(SNIPPET));
    let plain: String = from
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::from(if cut_before { "… " } else { "" });
    let room = SNIPPET - out.chars().count() - 2;
    let is_whole = plain.chars().count() <= room && text[end..].chars().nth(SNIPPET).is_none();
    out.extend(plain.chars().take(room));
    if !is_whole {
        out.push_str(" …");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts<'a>(field: &'a Field<'a>) -> Vec<&'a str> {
        field.words.iter().map(|word| word.text.as_str()).collect()
    }

    #[test]
    fn keys_and_values_of_a_payload_are_words_and_its_signs_are_not() {
        let document = Document::new(
            "",
            "",
            "",
            r#"{"file":"src\/caf\u00e9.rs","lines":[12,true]}"#,
        );
        assert_eq!(
            texts(&document.fields[3]),
            ["file", "src", "cafe", "rs", "lines", "12", "true"]
        );
        let cut = Document::new("", "", "", r#"{"a":"b\u00e"#);
        assert_eq!(texts(&cut.fields[3]), ["a", "b", "u00e"]);
    }

    #[test]
    fn a_snippet_is_one_short_line_around_the_hit() {
        let body = format!(
            "{}\n needle \u{1b}[31m in {}",
            "straw ".repeat(500),
            "hay ".repeat(500)
        );
        let document = Document::new("s", "", &body, "{}");
        let snippet = document.snippet(&Query::parse("needle").unwrap());
        assert!(snippet.chars().count() <= SNIPPET, "{snippet}");
        assert!(
            snippet.starts_with("… straw") && snippet.ends_with(" …"),
            "{snippet}"
        );
        assert!(snippet.contains("straw needle [31m in hay"), "{snippet}");
        let whole = Document::new("s", "all of it", "", "{}");
        assert_eq!(whole.snippet(&Query::parse("all").unwrap()), "all of it");
    }
}

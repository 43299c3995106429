//! What holds of every query and every text that is searched, whatever it is.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::document::Document;
use super::query::Query;
use super::word::{composed, words};
use crate::damage::{cases, damaged_text};

const QUERIES: &[&str] = &[
    "limit \"rate limit\" -draft begin*",
    "\"an open phrase",
    "-\"not this\"* 日本語 สวัสดี 👍",
    "Straße ΣΊΣΥΦΟΣ İstanbul é e\u{301}",
    "a'b \\ \"c\" d' | & ! :* <->",
];

const PAYLOADS: &[&str] = &[
    r#"{"wire":"1.0","to":["quinn"],"text":"a \"quoted\" \u00e9 \ud83d\ude00"}"#,
    r#"["a\\","b\"#,
    "\"",
];

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn whatever_is_asked_for_is_words_that_no_index_takes_for_anything_else(
        text in damaged_text(QUERIES.to_vec()),
        body in damaged_text(QUERIES.to_vec()),
        payload in damaged_text(PAYLOADS.to_vec()),
    ) {
        let document = Document::new("subject", &text, &body, &payload);
        for field in &document.fields {
            for word in &field.words {
                prop_assert!(field.text.get(word.start..word.end).is_some());
            }
        }
        let begun = Instant::now();
        if let Ok(query) = Query::parse(&text) {
            let _ = (query.matches(&document), query.score(&document));
            prop_assert!(document.snippet(&query).chars().count() < 1_000);
            let fts = query.fts5(&[]);
            // In pairs, and none of them is a word's own.
            prop_assert!(fts.matches('"').count().is_multiple_of(2), "{fts}");
            prop_assert!(!fts.contains('\\') && !fts.contains('\''), "{fts}");
            let (all, phrases) = query.tsquery(&[]);
            for asked in [all, phrases] {
                prop_assert!(asked.matches('\'').count().is_multiple_of(2), "{asked}");
                prop_assert!(!asked.contains('\\') && !asked.contains('"'), "{asked}");
            }
        }
        prop_assert!(begun.elapsed() < Duration::from_secs(20));
        for word in words(&composed(&text), usize::MAX) {
            let is_plain = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric();
            prop_assert!(!word.text.is_empty() && word.text.chars().all(is_plain), "{:?}", word.text);
        }
    }

    #[test]
    fn a_line_of_an_archive_is_read_or_passed_over(line in damaged_text(vec![
        r#"{"message":{"message_id":"msg_1"},"thread":{"thread_id":"thr_1"}}"#, "2026-10", "2026-10.2", "{}",
    ])) {
        let _ = super::archive::read(&line);
        if let Ok(number) = super::archive::number_of(&line) {
            let month = super::archive::month_of(number);
            prop_assert!(line == month || line.starts_with(&format!("{month}.")), "{line}");
        }
    }
}

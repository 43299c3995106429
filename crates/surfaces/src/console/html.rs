//! Pieces of pages: HTML that is safe because everything foreign in it was escaped.

use std::borrow::Cow;
use std::fmt;

use inbox_core::record::Millis;
use inbox_core::text::visible;

use super::size::{LINE, SHORT, clip};

/// HTML that is printed as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// HTML in which everything foreign was escaped.
    pub(super) fn new(html: String) -> Self {
        Html(html)
    }

    /// How many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl askama::filters::HtmlSafe for Html {}

/// A text with nothing in it that HTML would read.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out.into()
}

/// One line of foreign text, with what would act or hide made visible.
pub(super) fn line(text: &str) -> String {
    visible(&clip(text, LINE), false).into_owned()
}

/// The same in a list, where its beginning is enough.
pub(super) fn short(text: &str) -> String {
    visible(&clip(text, SHORT), false).into_owned()
}

/// How long ago something was, which a page counts on.
pub(super) fn ago(time: Millis, now: Millis) -> Html {
    let short = span(now.0.saturating_sub(time.0));
    Html(format!(
        "<time datetime=\"{time}\" title=\"{time}\" data-ago>{short}</time>"
    ))
}

/// How much time is left, which a page counts down.
pub(super) fn left(until: Millis, now: Millis) -> Html {
    let left = until.0.saturating_sub(now.0);
    let short = if left > 0 {
        span(left)
    } else {
        "over".to_owned()
    };
    Html(format!(
        "<time datetime=\"{until}\" title=\"{until}\" data-left>{short}</time>"
    ))
}

pub(super) use crate::person::span;

/// A part of an address's path or query.
pub(super) fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// What was encoded. Nothing where it is no text.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let pair = [bytes.next()?, bytes.next()?];
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let byte = digit(pair[0])? * 16 + digit(pair[1])?;
                out.push(u8::try_from(byte).ok()?);
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::damage::{cases, damaged_text};

    proptest! {
        #![proptest_config(cases(800))]

        #[test]
        fn what_is_encoded_is_read_as_it_was(text in damaged_text(vec!["q=a+b&until=2026-01-01T00%3A00%3A00Z", "%E2%9C%93"])) {
            let _ = decoded(&text);
            let written = encoded(&text);
            prop_assert!(written.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'<>&+".contains(&byte)));
            prop_assert_eq!(decoded(&written), Some(text));
        }

        #[test]
        fn times_at_the_ends_of_numbers_are_shown(time in any::<i64>(), now in any::<i64>()) {
            let shown = [ago(Millis(time), Millis(now)), left(Millis(time), Millis(now))].map(|html| html.to_string());
            prop_assert!(shown.iter().all(|html| html.len() < 300));
        }
    }

    #[test]
    fn an_escape_has_two_digits_and_no_sign() {
        for wrong in ["%", "%4", "%+1", "%-1", "%zz", "%ff", "%C3%28"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
        assert_eq!(decoded("a%20b+c").as_deref(), Some("a b c"));
    }
}

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
                let pair = std::str::from_utf8(&pair).ok()?;
                out.push(u8::from_str_radix(pair, 16).ok()?);
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

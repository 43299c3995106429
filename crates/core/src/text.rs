//! Untrusted text made safe to print.

/// Makes control and bidirectional characters visible, so that mail cannot drive a terminal or
/// reorder what a person reads. Line breaks and tabs are kept when `lines` is true.
pub fn visible(text: &str, lines: bool) -> std::borrow::Cow<'_, str> {
    let harmless = |c: char| !is_active(c) || (lines && (c == '\n' || c == '\t'));
    if text.chars().all(harmless) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if lines && chars.peek() == Some(&'\n') => {}
            '\n' if !lines => out.push('⏎'),
            c if harmless(c) => out.push(c),
            // The pictures of C0 controls are what people know them by: ␛ for escape.
            c if (c as u32) < 0x20 => out.extend(char::from_u32(0x2400 + c as u32)),
            '\u{7f}' => out.push('␡'),
            c => out.extend(c.escape_unicode()),
        }
    }
    out.into()
}

/// What a text begins with, as the line that stands for it.
pub fn first_line(text: &str) -> &str {
    const MOST: usize = 200;
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => &line[..end],
        None => line,
    }
}

/// A value as a message quotes it: its beginning, in quotes, with nothing active in it. What looks like a secret in the wrong place is
/// not repeated.
pub fn quoted(value: &str) -> String {
    const MOST: usize = 100;
    if is_secret(value) {
        return format!("a text that may be a secret ({} bytes)", value.len());
    }
    match value.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}… ({} bytes)", &value[..end], value.len()),
        None => format!("{value:?}"),
    }
}

/// Whether a text has something in it that only its owner should see: a lease, a token, a private key, a password in a URL.
pub fn is_secret(text: &str) -> bool {
    // As long as 32 bytes are, which is what keys have.
    const DIGITS: usize = 64;
    let lower = text.to_ascii_lowercase();
    let after = |mark: &str, least: usize| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        lower.match_indices(mark).any(|(at, _)| {
            lower[at + mark.len()..]
                .chars()
                .take_while(|c| is_part(*c))
                .count()
                >= least
        })
    };
    let has_login = || {
        let (_, rest) = lower.split_once("://")?;
        let (login, _) = rest.split_once('@')?;
        login
            .split_once(':')
            .filter(|(_, password)| !password.is_empty())
    };
    after("lse_", 5)
        || after("inbox_", 20)
        || lower.contains("private key-----")
        || lower
            .split(|c: char| !c.is_ascii_hexdigit())
            .any(|digits| digits.len() >= DIGITS)
        || has_login().is_some()
}

/// Whether a character acts on the terminal or on the direction of the text around it, or hides.
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_and_direction_overrides_become_visible() {
        assert_eq!(visible("\u{1b}[31mred", true), "␛[31mred");
        assert_eq!(visible("a\u{202e}b", true), "a\\u{202e}b");
        assert_eq!(visible("\u{9b}31m", true), "\\u{9b}31m");
        assert_eq!(visible("one\ntwo", true), "one\ntwo");
        assert_eq!(visible("one\ntwo", false), "one⏎two");
        assert_eq!(visible("dos\r\nline", true), "dos\nline");
        assert_eq!(visible("over\rwrite", true), "over␍write");
    }

    #[test]
    fn controls_have_their_pictures_and_what_hides_its_number() {
        assert_eq!(visible("a\tb", true), "a\tb");
        assert_eq!(visible("a\tb", false), "a␉b");
        assert_eq!(visible("a\u{0}b\u{1f}c\u{7f}d", true), "a␀b␟c␡d");
        assert_eq!(visible("dos\r\nline", false), "dos␍⏎line");
        for hidden in [
            '\u{ad}',
            '\u{034f}',
            '\u{061c}',
            '\u{115f}',
            '\u{17b4}',
            '\u{180b}',
            '\u{200b}',
            '\u{2028}',
            '\u{2060}',
            '\u{3164}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff0}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0001}',
        ] {
            let seen = visible(&hidden.to_string(), true).into_owned();
            assert_eq!(seen, hidden.escape_unicode().to_string());
        }
        for harmless in ["plain", "ä ö ü", "日本語", "👍"] {
            assert_eq!(visible(harmless, false), harmless);
        }
    }

    #[test]
    fn a_long_text_is_shown_by_how_it_begins() {
        assert_eq!(first_line("  one \ntwo"), "one ");
        assert_eq!(first_line(""), "");
        assert_eq!(first_line(&"ä".repeat(200)), "ä".repeat(200));
        assert_eq!(first_line(&"ä".repeat(201)), "ä".repeat(200));
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        let long = "ä".repeat(100);
        assert_eq!(quoted(&long), format!("\"{long}\""));
        assert_eq!(
            quoted(&format!("{long}b")),
            format!("\"{long}\"… (201 bytes)")
        );
    }

    proptest! {
        #[test]
        fn nothing_active_survives(text in "\\PC*|.*|[\u{0}-\u{ff}\u{2000}-\u{2070}]*") {
            prop_assert!(!visible(&text, false).chars().any(is_active));
            prop_assert!(!visible(&text, true).chars().any(|c| is_active(c) && c != '\n' && c != '\t'));
        }
    }
}

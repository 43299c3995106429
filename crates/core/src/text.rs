//! Untrusted text made safe to print.

use std::borrow::Cow;

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

/// Whether a text has something in it that only its owner should see: what [`unsaid`] leaves out, or digits enough to be a key as it is.
pub fn is_secret(text: &str) -> bool {
    // As long as 32 bytes are, which is what keys have. A hash is as long: it is left out only where it is no hash that is wanted.
    const DIGITS: usize = 64;
    // Random digits are of nearly all sixteen sorts.
    const SORTS: u32 = 8;
    let sorts = |digits: &str| {
        let seen = digits.chars().filter_map(|digit| digit.to_digit(16));
        seen.fold(0_u32, |seen, digit| seen | 1 << digit)
            .count_ones()
    };
    let mut words = text.split(|c: char| !c.is_ascii_hexdigit());
    words.any(|digits| digits.len() >= DIGITS && sorts(digits) >= SORTS)
        || matches!(unsaid(text), Cow::Owned(_))
}

/// A text without what is a secret by its form: a token, a lease token, a private key, a password in a URL. Who puts one where something
/// else belongs does not find it repeated.
pub fn unsaid(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    while let Some((begin, end)) = secret_in(&text[done..]) {
        out.push_str(&text[done..done + begin]);
        out.push('…');
        done += end;
    }
    if done == 0 {
        return text.into();
    }
    out.push_str(&text[done..]);
    out.into()
}

/// Where the first secret is.
fn secret_in(text: &str) -> Option<(usize, usize)> {
    let found = [password_in(text), pem_in(text), word_in(text)];
    found.into_iter().flatten().min()
}

/// The password of a URL: behind the first colon of what stands before the host, up to the last `@`, because not everybody escapes.
fn password_in(text: &str) -> Option<(usize, usize)> {
    let starts = text.match_indices("://").map(|(at, mark)| at + mark.len());
    starts.into_iter().find_map(|start| {
        let is_over = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '…');
        let rest = text[start..].split(is_over).next()?;
        let login = &rest[..rest.rfind('@')?];
        let colon = login.find(':')? + 1;
        (colon < login.len()).then_some((start + colon, start + login.len()))
    })
}

/// What stands between the lines of a private key in a file.
fn pem_in(text: &str) -> Option<(usize, usize)> {
    const MARK: &str = "PRIVATE KEY-----";
    let line = text.find("-----BEGIN ")?;
    let begin = line + text[line..].find(MARK)? + MARK.len();
    let end = text[begin..]
        .find("-----")
        .map_or(text.len(), |at| begin + at);
    let is_said = text[begin..end]
        .chars()
        .all(|c| c.is_whitespace() || c == '…');
    (!is_said).then_some((begin, end))
}

/// A word that is a secret.
fn word_in(text: &str) -> Option<(usize, usize)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = 0;
    while let Some(begin) = text[rest..].find(is_part).map(|at| rest + at) {
        let length = text[begin..].find(|c| !is_part(c));
        let end = length.map_or(text.len(), |length| begin + length);
        if let Some(known) = known_of_secret(&text[begin..end]) {
            return Some((begin + known, end));
        }
        rest = end;
    }
    None
}

/// How much of a word may be said that has a secret in it.
fn known_of_secret(word: &str) -> Option<usize> {
    let hex = |text: &str| text.bytes().take_while(u8::is_ascii_hexdigit).count();
    let word = word.to_ascii_lowercase();
    let behind = |mark: &str| word.find(mark).map(|at| at + mark.len());
    if let Some(at) = behind("inbox_").filter(|at| hex(&word[*at..]) >= 32) {
        return Some(at);
    }
    let is_lease = |parts: &str| {
        let mut parts = parts.split('_').skip(1);
        let mut is = |holds: fn(&str) -> bool| parts.next().is_some_and(holds);
        is(|epoch| !epoch.is_empty() && epoch.bytes().all(|byte| byte.is_ascii_digit()))
            && is(|secret| secret.len() >= 8)
    };
    if let Some(at) = behind("lse_").filter(|at| is_lease(&word[*at..])) {
        return Some(at);
    }
    // As Hedera's programs write private keys: what says of which sort it is, and the key.
    let key = word.strip_prefix("0x").unwrap_or(&word);
    let is_key = ["302e0201", "30300201", "30540201"]
        .iter()
        .any(|sort| key.starts_with(sort) && hex(key) >= 64);
    is_key.then_some(0)
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

    #[test]
    fn what_is_a_secret_by_its_form_is_not_said() {
        let hex = "0123456789abcdef".repeat(4);
        let token = format!("inbox_{hex}");
        assert_eq!(unsaid(&format!("no {token:?}!")), "no \"inbox_…\"!");
        assert_eq!(unsaid(&format!("?token={token}x&a")), "?token=inbox_…&a");
        assert_eq!(unsaid(&token.to_uppercase()), "INBOX_…");
        assert_eq!(
            unsaid("ä lse_1_1_3j0m3468a35k8, lse_1_1_3j0m3468a35k9x"),
            "ä lse_…, lse_…"
        );
        let key = format!("302e020100300506032b657004220420{hex}");
        assert_eq!(unsaid(&format!("{key} and 0x{key}")), "… and …");
        assert_eq!(
            unsaid("postgres://me:p@ss:w/rd@host/db or https://a:b@c/d"),
            "postgres://me:…@host/db or https://a:…@c/d"
        );
        assert_eq!(
            unsaid("-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----"),
            "-----BEGIN PRIVATE KEY-----…-----END PRIVATE KEY-----"
        );
        assert_eq!(unsaid(&unsaid("x://y:z@w")), "x://y:…@w");
        for plain in [
            "",
            "ä",
            "inbox_private",
            "inbox_4380",
            "lse_",
            "lse_1_2",
            "else_if_then_otherwise",
            "302e0201",
            hex.as_str(),
        ] {
            assert_eq!(unsaid(plain), plain);
        }
    }

    proptest! {
        #[test]
        fn nothing_else_is_left_unsaid(text in ".*") {
            prop_assert_eq!(unsaid(&text), text.as_str());
        }

        #[test]
        fn nothing_active_survives(text in "\\PC*|.*|[\u{0}-\u{ff}\u{2000}-\u{2070}]*") {
            prop_assert!(!visible(&text, false).chars().any(is_active));
            prop_assert!(!visible(&text, true).chars().any(|c| is_active(c) && c != '\n' && c != '\t'));
        }
    }
}

//! Comparing transcripts: what cannot be the same twice is blurred, and lease tokens are learned.

/// The lease tokens of a document and those that stood in their place.
#[derive(Default)]
pub(super) struct Tokens(Vec<(String, String)>);

impl Tokens {
    /// A command of the document with the real tokens in it.
    pub(super) fn real(&self, command: &str) -> String {
        self.0
            .iter()
            .fold(command.to_owned(), |text, (shown, real)| {
                text.replace(shown.as_str(), real)
            })
    }

    /// Notes which token stood where the document shows another. A token that comes again must be
    /// the same one again.
    pub(super) fn learn(&mut self, shown: &str, found: &str) {
        for (shown, found) in tokens(shown).into_iter().zip(tokens(found)) {
            match self.0.iter().find(|(known, _)| *known == shown) {
                Some((_, real)) => assert_eq!(*real, found, "the document repeats {shown}"),
                None => self.0.push((shown, found)),
            }
        }
    }
}

fn tokens(text: &str) -> Vec<String> {
    words(text)
        .into_iter()
        .filter(|word| word.starts_with("lse_"))
        .map(str::to_owned)
        .collect()
}

/// A text cut where a word begins or ends; nothing is lost.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut was_word = false;
    for (index, letter) in text.char_indices() {
        let is_word = letter.is_ascii_alphanumeric() || "_.:-".contains(letter);
        if index > start && (is_word != was_word || !is_word) {
            words.push(&text[start..index]);
            start = index;
        }
        was_word = is_word;
    }
    words.push(&text[start..]);
    words
}

/// The text without what differs from run to run: tokens, times, ages, UUIDs and folders.
pub(super) fn blurred(text: &str) -> String {
    words(text)
        .into_iter()
        .map(|word| match word {
            _ if word.starts_with("lse_") => "<token>",
            _ if is_time(word) => "<time>",
            _ if is_clock(word) => "<clock>",
            _ if is_age(word) => "<age>",
            _ if is_uuid(word) => "<uuid>",
            _ => word,
        })
        .collect()
}

/// Whether the word looks like the pattern, in which `0` is any digit.
fn is_like(word: &str, pattern: &str) -> bool {
    word.len() == pattern.len()
        && word.bytes().zip(pattern.bytes()).all(|(found, wanted)| {
            if wanted == b'0' {
                found.is_ascii_digit()
            } else {
                found == wanted
            }
        })
}

fn is_time(word: &str) -> bool {
    is_like(word, "0000-00-00T00:00:00.000Z")
}

fn is_clock(word: &str) -> bool {
    is_like(word, "00:00")
}

fn is_age(word: &str) -> bool {
    let digits = word.trim_end_matches(['s', 'm', 'h', 'd']);
    digits.len() + 1 == word.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The targets of a document's Markdown links.
pub(super) fn links(text: &str) -> Vec<&str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains(char::is_whitespace))
        .collect()
}

/// The lines that differ between two texts, with the line before them.
pub(crate) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_start;
    let same_end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take(rest)
        .take_while(|(a, b)| a == b)
        .count();
    let mut out = format!("line {}:\n", same_start + 1);
    let before = same_start.checked_sub(1).and_then(|line| old.get(line));
    let lines = |mark: char, lines: &[&str]| {
        lines
            .iter()
            .map(|line| format!("{mark}{line}\n"))
            .collect::<String>()
    };
    out.extend(before.map(|line| format!(" {line}\n")));
    out.push_str(&lines('-', &old[same_start..old.len() - same_end]));
    out.push_str(&lines('+', &new[same_start..new.len() - same_end]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_the_same_is_blurred_and_the_rest_is_not() {
        let one = blurred("msg_3 lead answer:  Use it  0s until 09:28 UTC (in 15m)");
        assert_eq!(
            one,
            blurred("msg_3 lead answer:  Use it  2m until 11:02 UTC (in 14m)")
        );
        assert_ne!(
            one,
            blurred("msg_4 lead answer:  Use it  0s until 09:28 UTC (in 15m)")
        );
        assert_ne!(blurred("schema 3"), blurred("schema 4"));
    }

    #[test]
    fn a_token_is_learned_where_it_is_shown_and_used_after() {
        let mut tokens = Tokens::default();
        tokens.learn("--lease lse_1_1_abc", "--lease lse_1_1_xyz");
        assert_eq!(
            tokens.real("x --lease lse_1_1_abc y"),
            "x --lease lse_1_1_xyz y"
        );
    }

    #[test]
    fn a_diff_shows_what_changed_and_nothing_else() {
        assert_eq!(diff("a\nb\nc", "a\nx\nc"), "line 2:\n a\n-b\n+x\n");
    }
}

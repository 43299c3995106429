//! Comparing transcripts: what cannot be the same twice is blurred, and lease tokens are exchanged.

/// The lease tokens of a document and the real ones: of one thread and epoch there is one of each,
/// and only their secrets differ.
pub(super) struct Tokens {
    shown: Vec<String>,
    real: Vec<String>,
}

impl Tokens {
    /// The tokens that a document shows.
    pub(super) fn of(document: &str) -> Self {
        let mut shown = tokens(document);
        shown.sort();
        shown.dedup();
        for pair in shown.windows(2) {
            let is_same = claim(&pair[0]) == claim(&pair[1]);
            assert!(!is_same, "one claim has one token: {pair:?}");
        }
        let real = Vec::new();
        Tokens { shown, real }
    }

    /// A command of the document, with the real tokens in it.
    pub(super) fn real(&self, command: &str) -> String {
        exchange(command, &self.real)
    }

    /// Real output as the document should show it; its tokens are noted.
    pub(super) fn shown(&mut self, output: &str) -> String {
        self.real.extend(tokens(output));
        exchange(output, &self.shown)
    }
}

/// The text with its tokens exchanged for those of the same claim.
fn exchange(text: &str, tokens: &[String]) -> String {
    let other = |word: &str| {
        tokens
            .iter()
            .find(|token| claim(token) == claim(word))
            .cloned()
    };
    words(text)
        .into_iter()
        .map(|word| {
            let is_token = word.starts_with("lse_");
            let other = if is_token { other(word) } else { None };
            other.unwrap_or_else(|| word.to_owned())
        })
        .collect()
}

/// A token without its secret.
fn claim(token: &str) -> &str {
    token.rsplit_once('_').map_or(token, |(claim, _)| claim)
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

/// The text without what differs from run to run: tokens, times, ages, UUIDs, hashes, folders and the machine.
pub(crate) fn blurred(text: &str) -> String {
    let blurred: String = words(text)
        .into_iter()
        .map(|word| match word {
            _ if word.starts_with("lse_") => "<token>",
            _ if word.starts_with("tok_") => "<token>",
            _ if word.starts_with("ntc_") => "<notice>",
            _ if is_time(word) => "<time>",
            _ if is_clock(word) => "<clock>",
            _ if is_age(word) => "<age>",
            _ if is_uuid(word) => "<uuid>",
            _ if is_hash(word) => "<hash>",
            _ => word,
        })
        .collect();
    without_machine(&without_durations(&blurred))
}

/// The text without the line in which the torture says where it was.
fn without_machine(text: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("Linux ") && line.trim_end().ends_with(" cores") {
            "<machine>\n".to_owned()
        } else {
            line.to_owned()
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

/// The text without how long a run took.
fn without_durations(text: &str) -> String {
    const NAME: &str = "\"duration_seconds\":";
    let mut parts = text.split(NAME);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        out.push_str(NAME);
        out.push_str(part.trim_start_matches(is_digit));
    }
    out
}

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
    // As we write one, and as Hedera does.
    is_like(word, "0000-00-00T00:00:00.000Z") || is_like(word, "0000000000.000000000")
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

fn is_hash(word: &str) -> bool {
    // Whole, or as many digits as people are shown.
    matches!(word.len(), 16 | 64 | 96) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
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
        let took = |seconds: &str| {
            blurred(&format!(
                "{{\"duration_seconds\":{seconds},\"attempts\":1}}"
            ))
        };
        assert_eq!(took("0.022"), took("1"));
        assert!(took("0.022").contains("\"attempts\":1"));
    }

    #[test]
    fn a_command_gets_the_real_token_of_the_claim_it_shows() {
        let mut tokens = Tokens::of("$ x --lease lse_1_1_abc y");
        assert_eq!(tokens.shown("--lease lse_1_1_xyz"), "--lease lse_1_1_abc");
        assert_eq!(tokens.shown("--lease lse_1_2_xyz"), "--lease lse_1_2_xyz");
        assert_eq!(tokens.real("x lse_1_1_abc y"), "x lse_1_1_xyz y");
    }

    #[test]
    fn a_diff_shows_what_changed_and_nothing_else() {
        assert_eq!(diff("a\nb\nc", "a\nx\nc"), "line 2:\n a\n-b\n+x\n");
    }
}

//! Counting words and sentences in prose, for the caps of briefs and cards.
//!
//! A count that is too high refuses honest text, so a full stop ends a sentence only where it plainly does:
//! not inside a token (`v1.2`, `lib.rs`, a URL), not after an abbreviation or an initial, not in a list's
//! number.

/// Abbreviations that stand before more of the same sentence, without their last full stop.
#[rustfmt::skip]
const ABBREVIATIONS: &[&str] = &[
    "approx", "ca", "cf", "dept", "dr", "e.g", "eg", "esp", "est", "gen", "i.e", "ie", "incl",
    "max", "min", "mr", "mrs", "ms", "prof", "resp", "sr", "st", "viz", "vs",
];

/// Abbreviations before a number: "no. 5", but "The answer is no. We go on."
const NUMBERED: &[&str] = &["ch", "fig", "no", "nr", "pp", "sec", "ver", "vol"];

/// Abbreviations that often end a sentence; the next word's case decides.
const ENDING: &[&str] = &["al", "co", "corp", "etc", "inc", "jr", "ltd"];

/// How many words a text has. What has no letter and no digit is no word; each ideograph or kana is one.
pub fn words(text: &str) -> usize {
    text.split_whitespace()
        .map(|token| {
            let dense = token.chars().filter(|&c| is_dense(c)).count();
            let rest = token.chars().any(|c| c.is_alphanumeric() && !is_dense(c));
            dense + usize::from(rest)
        })
        .sum()
}

/// How many sentences a text has. A blank line ends one, and so does the end of the text.
pub fn sentences(text: &str) -> usize {
    let mut count = 0;
    for paragraph in paragraphs(text) {
        let tokens: Vec<&str> = paragraph
            .iter()
            .flat_map(|line| line.split_whitespace())
            .flat_map(split_dense)
            .collect();
        // The word after each token, found from the end: a long row of dashes must not cost its square.
        let mut following = vec![None; tokens.len()];
        let mut next = None;
        for (index, token) in tokens.iter().enumerate().rev() {
            following[index] = next;
            if token.chars().any(char::is_alphanumeric) {
                next = Some(*token);
            }
        }
        let mut has_word = false;
        for (token, next) in tokens.iter().zip(following) {
            let is_first = !has_word;
            has_word |= token.chars().any(char::is_alphanumeric);
            if has_word && next.is_some_and(|next| ends(token, next, is_first)) {
                count += 1;
                has_word = false;
            }
        }
        count += usize::from(has_word);
    }
    count
}

/// The lines of each paragraph.
fn paragraphs(text: &str) -> Vec<Vec<&str>> {
    let mut all = vec![Vec::new()];
    for line in text.lines() {
        if line.trim().is_empty() {
            all.push(Vec::new());
        } else if let Some(last) = all.last_mut() {
            last.push(line);
        }
    }
    all
}

/// Full stops of scripts that are written without spaces end a token themselves.
fn split_dense(token: &str) -> impl Iterator<Item = &str> {
    token.split_inclusive(['。', '！', '？'])
}

fn is_dense(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Whether a sentence ends with `token`, given that `next` has a word of the same paragraph.
fn ends(token: &str, next: &str, is_first: bool) -> bool {
    let bare = token.trim_end_matches(['"', '\'', ')', ']', '}', '»', '”', '’', '*', '_', '`']);
    let begins_low = next
        .chars()
        .find(|c| c.is_alphanumeric())
        .is_some_and(char::is_lowercase);
    match bare.chars().next_back() {
        Some('。' | '！' | '？') => true,
        Some('!' | '?' | '…') => !begins_low,
        Some('.') => {
            let stem = bare.trim_end_matches('.');
            if stem.len() + 1 < bare.len() {
                return !begins_low;
            }
            let stem = stem.trim_start_matches(|c: char| !c.is_alphanumeric());
            // "1." and "a)." at the start number an item of a list.
            if is_first && stem.chars().all(|c| c.is_ascii_digit()) {
                return false;
            }
            let lower = stem.to_lowercase();
            if ABBREVIATIONS.contains(&lower.as_str()) || is_initials(stem) {
                return false;
            }
            if ENDING.contains(&lower.as_str()) {
                return !begins_low;
            }
            if NUMBERED.contains(&lower.as_str()) {
                return !next.starts_with(|c: char| c.is_ascii_digit());
            }
            true
        }
        _ => false,
    }
}

/// `J`, `U.S`, `a.m`: single letters with full stops between them. `I` is a word.
fn is_initials(stem: &str) -> bool {
    stem != "I"
        && stem.split('.').all(|part| {
            let mut chars = part.chars();
            chars.next().is_some_and(char::is_alphabetic) && chars.next().is_none()
        })
}

/// Verbs that begin an order. Many are nouns too, so the word alone proves nothing.
#[rustfmt::skip]
const ORDERS: &[&str] = &[
    "add", "build", "change", "check", "clean", "configure", "convert", "create", "debug",
    "define", "delete", "deploy", "design", "develop", "document", "draft", "enable", "ensure",
    "extend", "find", "fix", "generate", "implement", "improve", "install", "integrate",
    "investigate", "make", "merge", "migrate", "move", "optimise", "optimize", "patch", "prepare",
    "publish", "refactor", "release", "remove", "rename", "replace", "research", "review",
    "rewrite", "run", "send", "set", "ship", "split", "test", "update", "upgrade", "verify",
    "wire", "write",
];

/// What follows an order's verb and never a noun that begins a statement.
#[rustfmt::skip]
const DETERMINERS: &[&str] = &[
    "a", "all", "an", "each", "every", "it", "its", "my", "our", "sure", "that",
    "the", "their", "them", "these", "this", "those", "your",
];

/// Verbs by which a statement is known: "Build 42 is green", "Test coverage exceeds 80 %". Forms that are
/// as often the object of an order ("Add support", "Generate reports") are not among them.
#[rustfmt::skip]
const STATES: &[&str] = &[
    "accept", "accepts", "appear", "appears", "are", "aren't", "became", "become", "becomes",
    "came", "can", "cannot", "can't", "come", "comes", "compiles", "contain", "contains", "could",
    "covers", "did", "do", "does", "doesn't", "don't", "ends", "exceed", "exceeds", "exist",
    "exists", "fail", "fails", "finish", "finishes", "follow", "follows", "gives", "had",
    "handles", "has", "have", "holds", "include", "includes", "is", "isn't", "keeps", "matches",
    "may", "meet", "meets", "might", "must", "needs", "pass", "passed", "passes", "pays",
    "produce", "produces", "reach", "reaches", "refuse", "refuses", "reject", "rejects", "remain",
    "remains", "renders", "returns", "runs", "shall", "should", "shows", "starts", "stay", "stays",
    "stops", "succeed", "succeeded", "succeeds", "supports", "takes", "uses", "was", "were",
    "will", "works", "would",
];

/// How a headline ends that says what was reached; so does a word in "ed".
const REACHED: &[&str] = &[
    "built", "complete", "done", "gone", "green", "live", "ready", "sent", "written",
];

/// Whether a text plainly is an order: "Build X", "Fix the parser". In doubt it is not.
pub(crate) fn is_order(text: &str) -> bool {
    let mut words = text.split_whitespace().map(|word| {
        word.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
            .replace('’', "'")
    });
    let first = words.next().unwrap_or_default();
    if first == "please" {
        return true;
    }
    if !ORDERS.contains(&first.as_str()) {
        return false;
    }
    let rest: Vec<String> = words.collect();
    let is_one_of = |word: Option<&String>, list: &[&str]| {
        word.is_some_and(|word| list.contains(&word.as_str()))
    };
    if is_one_of(rest.first(), DETERMINERS) {
        return true;
    }
    let is_stated = rest.iter().any(|word| STATES.contains(&word.as_str()));
    // "Release 1.2 published" leaves out its verb, and still is no order.
    let is_reached =
        is_one_of(rest.last(), REACHED) || rest.last().is_some_and(|word| word.ends_with("ed"));
    !is_stated && !is_reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_stop_ends_a_sentence_only_where_it_plainly_does() {
        for (count, text) in [
            (0, ""),
            (0, " — … "),
            (1, "One sentence"),
            (1, "One sentence."),
            (
                1,
                "I implement tasks in the developer work queue — nothing more, nothing less.",
            ),
            (1, "One sentence: what must be true when this task is done."),
            (
                1,
                "Version 1.2.3 of lib.rs is released, e.g. to v. 2 of the site.",
            ),
            (
                1,
                "The U.S. office and J. Doe vs. Mr. Roe are notified (cf. fig. 3).",
            ),
            (
                1,
                "The page at https://example.org/a.b?c=d. is up".trim_end_matches(" is up"),
            ),
            (1, "Yahoo! is indexed, and why? because it counts"),
            (1, "It waits... and then goes on"),
            (1, "It waits… and then goes on"),
            (1, "1. The build is green."),
            (1, "Logs, metrics, etc. are kept."),
            (1, "\"Quoted.\""),
            (1, "It ends twice?!"),
            (1, "A line\nthat goes on"),
            (2, "Logs, metrics, etc. They are kept."),
            (2, "It waits... Then it goes on"),
            (2, "First. Second."),
            (2, "x is built. y is built."),
            (2, "He said \"Stop.\" Then he went."),
            (2, "Really? Yes"),
            (2, "It is I. You are not."),
            (2, "We ship in 2026. Then we rest."),
            (2, "The answer is no. We go on."),
            (1, "See no. 5 of ver. 2 on pp. 7–9"),
            (2, "One paragraph\n\nanother"),
            (2, "Terse and technical. Facts, not feelings."),
            (2, "完成。测试通过。"),
            (
                3,
                "I read the brief, implement exactly what it specifies, verify my output, and stop. I do not improvise. I do not extend scope.",
            ),
            (
                4,
                "Implemented auth middleware. Tests pass. output_ref written to Storage. Branch: feature/auth-v2.",
            ),
        ] {
            assert_eq!(sentences(text), count, "{text:?}");
        }
    }

    #[test]
    fn a_hostile_text_is_counted_in_time() {
        let start = std::time::Instant::now();
        for piece in [". ", "— ", "a. ", "。", "x\n\n", "etc. "] {
            sentences(&format!("a {}", piece.repeat(200_000)));
        }
        assert!(start.elapsed().as_secs() < 10);
    }

    #[test]
    fn words_have_letters_or_digits() {
        assert_eq!(words("one — two, 3 … e-mail"), 4);
        assert_eq!(words("完成 done"), 3);
        assert_eq!(words(""), 0);
    }

    #[test]
    fn an_order_is_told_from_a_statement() {
        for order in [
            "Build X",
            "Build the login page so that users can log in.",
            "fix parser",
            "Make sure that it is fast",
            "Please build X",
            "Implement auth middleware",
            "Add tests to core.",
            "Add support for reports",
            "Set up CI",
            "Fix failed tests",
        ] {
            assert!(is_order(order), "{order:?}");
        }
        for statement in [
            "X is built",
            "One sentence: what must be true when this task is done.",
            "Build 42 is green.",
            "Test coverage exceeds 80 %.",
            "Release 1.2 is published",
            "Review comments are resolved.",
            "Documentation covers every command",
            "The build passes",
            "Set theory has a chapter of its own",
            "Users can log in",
            "Release 1.2 published.",
            "Build green",
            "Set up is complete",
            "All tests pass",
            "",
        ] {
            assert!(!is_order(statement), "{statement:?}");
        }
    }
}

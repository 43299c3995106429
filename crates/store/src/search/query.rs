//! What is looked for: words, phrases, beginnings of words, and what must not be there.
//!
//! Everything that is not one of these is text. A query means the same everywhere because it is decided
//! here, on the words themselves; a database's index only has to find every message that could match.

use inbox_core::{Code, Refusal};

use super::document::Document;
use super::word::{Script, Word, composed, words};

/// The longest query, in bytes.
const LONGEST: usize = 16_384;

/// The most terms, and words of one term, that an index is asked for; the rest is looked at here.
const ASKED: usize = 48;

/// A query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    wanted: Vec<Term>,
    unwanted: Vec<Term>,
}

/// Words that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    words: Vec<String>,
    /// Whether the last word is only the beginning of one.
    is_prefix: bool,
}

impl Query {
    /// Reads a query: words, "phrases", `begin*`, and `-not` before any of them.
    pub fn parse(text: &str) -> Result<Query, Refusal> {
        if text.len() > LONGEST {
            return Err(Refusal::new(
                Code::TooLarge,
                format!("the query has {} bytes; the most is {LONGEST}", text.len()),
            )
            .hint("search for a few telling words"));
        }
        let text = composed(text);
        let mut query = Query {
            wanted: Vec::new(),
            unwanted: Vec::new(),
        };
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (part, is_unwanted, tail) = next_part(rest);
            rest = tail.trim_start();
            if let Some(term) = Term::read(part) {
                let terms = if is_unwanted {
                    &mut query.unwanted
                } else {
                    &mut query.wanted
                };
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        if query.wanted.is_empty() {
            let problem = if query.unwanted.is_empty() {
                "the query has no word in it"
            } else {
                "the query only says what must not be there"
            };
            return Err(Refusal::input(problem)
                .hint("inbox search WORDS: words, \"phrases\", begin*, -not"));
        }
        Ok(query)
    }

    /// Whether a message matches.
    pub fn matches(&self, document: &Document<'_>) -> bool {
        let has = |term: &Term| {
            document
                .fields
                .iter()
                .any(|field| term.first_in(&field.words).is_some())
        };
        self.wanted.iter().all(has) && !self.unwanted.iter().any(has)
    }

    /// The first word of a field where something that is looked for begins.
    pub(crate) fn first_in<'w>(&self, words: &'w [Word]) -> Option<&'w Word> {
        let places = self.wanted.iter().filter_map(|term| term.first_in(words));
        places.min().and_then(|at| words.get(at))
    }

    /// How well a message matches: how often it has what is looked for, in proportion to its length,
    /// and where. Every hit has every word, so how rare a word is matters little; what matters is the
    /// same on every database.
    pub(crate) fn score(&self, document: &Document<'_>) -> f64 {
        // Subject, summary, body, payload: the shorter text says more about what a message is about.
        const WEIGHTS: [f64; 4] = [3.0, 2.0, 1.0, 0.5];
        const SATURATION: f64 = 1.2;
        const USUAL_LENGTH: f64 = 100.0;
        let count = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        let length: usize = document.fields.iter().map(|field| field.words.len()).sum();
        let dampened = SATURATION * (0.25 + 0.75 * count(length) / USUAL_LENGTH);
        let score_of = |term: &Term| {
            let found = |(field, weight): (&super::document::Field<'_>, f64)| {
                weight * count(term.places(&field.words).count())
            };
            let often: f64 = document.fields.iter().zip(WEIGHTS).map(found).sum();
            often * (SATURATION + 1.0) / (often + dampened)
        };
        self.wanted.iter().map(score_of).sum()
    }

    /// The query for SQLite's FTS5, and no less than it: with one of each group of `facets`.
    pub(crate) fn fts5(&self, facets: &[Vec<String>]) -> String {
        let phrase = |term: &Term| {
            let (words, is_prefix) = term.asked();
            format!(
                "\"{}\"{}",
                words.join(" "),
                if is_prefix { " *" } else { "" }
            )
        };
        let mut all: Vec<String> = self.wanted.iter().take(ASKED).map(phrase).collect();
        all.extend(facets.iter().map(|group| {
            let quoted: Vec<_> = group.iter().map(|facet| format!("\"{facet}\"")).collect();
            format!("({})", quoted.join(" OR "))
        }));
        let wanted = all.join(" AND ");
        // A term that is asked for in part would rule out too much.
        let unwanted: Vec<String> = self
            .unwanted
            .iter()
            .filter(|term| term.is_asked_whole())
            .take(ASKED)
            .map(phrase)
            .collect();
        if unwanted.is_empty() {
            wanted
        } else {
            format!("({wanted}) NOT ({})", unwanted.join(" OR "))
        }
    }

    /// The query for PostgreSQL, and no less than it: without the order of words, and with it.
    pub(crate) fn tsquery(&self, facets: &[Vec<String>]) -> (String, String) {
        let joined = |with: &str| {
            let phrase = |term: &Term| {
                let (words, is_prefix) = term.asked();
                let mut quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
                if let Some(last) = quoted.last_mut().filter(|_| is_prefix) {
                    last.push_str(":*");
                }
                format!("({})", quoted.join(with))
            };
            let mut all: Vec<String> = self.wanted.iter().take(ASKED).map(phrase).collect();
            all.extend(facets.iter().map(|group| {
                let quoted: Vec<_> = group.iter().map(|facet| format!("'{facet}'")).collect();
                format!("({})", quoted.join(" | "))
            }));
            // Single words only: where a word stands is not known of all its places.
            let single = |term: &&Term| term.words.len() == 1;
            let unwanted = self.unwanted.iter().filter(single).take(ASKED);
            all.extend(unwanted.map(|term| format!("!{}", phrase(term))));
            all.join(" & ")
        };
        (joined(" & "), joined(" <-> "))
    }
}

/// The next part of a query, whether it is unwanted, and what follows it.
fn next_part(text: &str) -> (&str, bool, &str) {
    let (is_unwanted, text) = match text.strip_prefix('-') {
        Some(rest) if !rest.starts_with(char::is_whitespace) => (true, rest),
        _ => (false, text),
    };
    let end_of_word = |text: &str, from: usize| {
        text[from..]
            .find(char::is_whitespace)
            .map_or(text.len(), |at| from + at)
    };
    let end = match text.strip_prefix('"').map(|rest| rest.find('"')) {
        Some(Some(closing)) => {
            let after = closing + 2;
            after + usize::from(text[after..].starts_with('*'))
        }
        // A quote that nothing closes: the rest is the phrase.
        Some(None) => text.len(),
        None => end_of_word(text, 0),
    };
    let (part, rest) = text.split_at(end);
    (part, is_unwanted, rest)
}

impl Term {
    fn read(part: &str) -> Option<Term> {
        let mut found = words(part, LONGEST);
        let mut is_prefix = part.ends_with('*');
        match found.last().map(|last| last.script) {
            None => return None,
            Some(Script::Spaced) => {
                // `foo.*` is the word foo: the star belongs to what it stands behind.
                let before = part.trim_end_matches('*').trim_end_matches('"').len();
                is_prefix &= found.last().is_some_and(|last| last.end == before);
            }
            // The text that matches may go on: what its last character stands before is not known.
            Some(Script::Last)
                if found.len() > 1 && found[found.len() - 2].script == Script::Pair =>
            {
                found.pop();
                is_prefix = false;
            }
            Some(Script::Last) => is_prefix = true,
            Some(Script::Pair | Script::Sign) => is_prefix = false,
        }
        let words = found.into_iter().map(|word| word.text).collect();
        Some(Term { words, is_prefix })
    }

    /// The places where the term begins.
    fn places<'t>(&'t self, words: &'t [Word]) -> impl Iterator<Item = usize> + 't {
        let (last, first) = self
            .words
            .split_last()
            .map_or(("", &[][..]), |(last, first)| (last.as_str(), first));
        let fits = move |window: &[Word]| {
            let end = &window[window.len() - 1].text;
            (if self.is_prefix {
                end.starts_with(last)
            } else {
                end == last
            }) && first
                .iter()
                .zip(window)
                .all(|(wanted, word)| *wanted == word.text)
        };
        words
            .windows(self.words.len().max(1))
            .enumerate()
            .filter(move |(_, window)| fits(window))
            .map(|(at, _)| at)
    }

    fn first_in(&self, words: &[Word]) -> Option<usize> {
        self.places(words).next()
    }

    fn is_asked_whole(&self) -> bool {
        self.words.len() <= ASKED
    }

    /// What an index is asked for in its place.
    fn asked(&self) -> (&[String], bool) {
        match self.words.get(..ASKED) {
            Some(first) if self.words.len() > ASKED => (first, false),
            _ => (&self.words, self.is_prefix),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(query: &str, body: &str) -> bool {
        Query::parse(query)
            .unwrap()
            .matches(&Document::new("Subject", "", body, "{}"))
    }

    #[test]
    fn words_are_anded_and_phrases_follow_each_other() {
        assert!(matches("fox quick", "the quick brown fox"));
        assert!(!matches("\"quick fox\"", "the quick brown fox"));
        assert!(matches("\"brown fox\" subject", "the quick brown fox"));
        assert!(!matches("\"subject the\"", "the quick brown fox"));
        assert!(matches("quick-brown", "the quick brown fox"));
    }

    #[test]
    fn a_star_is_a_beginning_and_a_dash_an_exclusion() {
        assert!(matches("qui*", "quick"));
        assert!(!matches("qui", "quick"));
        assert!(matches("\"the qui\"*", "the quick"));
        assert!(!matches("the -quick", "the quick"));
        assert!(!matches("the -qui*", "the quick"));
        assert!(matches("the -\"quick the\"", "the quick"));
        assert!(matches("the - quick", "the quick"));
    }

    #[test]
    fn parts_of_text_without_spaces_are_found() {
        for query in ["東", "都", "京都", "東京都", "\"東京\""] {
            assert!(matches(query, "大東京都。"), "{query}");
        }
        assert!(!matches("東都", "大東京都"));
        assert!(matches("2026年10月", "2026年10月15日"));
    }

    #[test]
    fn what_is_not_a_word_is_nothing_and_nothing_is_refused() {
        for text in ["", " ", "*", "\"\"", "-", "()", "-word", "\0", ": ^ \\"] {
            let refusal = Query::parse(text).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput, "{text}");
            assert!(refusal.hint.starts_with("inbox search"));
        }
        assert!(matches("\"unclosed phrase", "an unclosed phrase"));
        assert!(matches("a NEAR b", "b near a") && !matches("a NEAR b", "a b"));
        assert!(!matches("quick OR slow", "quick"));
    }

    #[test]
    fn an_index_is_asked_in_its_own_words() {
        let query = Query::parse("fix \"the bug\"* -old -\"so what\"").unwrap();
        let facets = [vec!["x".to_owned(), "y".to_owned()]];
        assert_eq!(
            query.fts5(&facets),
            r#"("fix" AND "the bug" * AND ("x" OR "y")) NOT ("old" OR "so what")"#
        );
        assert_eq!(
            query.tsquery(&facets).1,
            "('fix') & ('the' <-> 'bug':*) & ('x' | 'y') & !('old')"
        );
    }
}

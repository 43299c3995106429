//! Text as words: split and folded here, in one way, for both databases and for the queries.
//!
//! A word is a run of letters and digits, in lower case and without accents. Scripts that are written
//! without spaces have no words to split at: each character makes a word with the one after it, so that
//! any two neighbours are found. Each emoji is a word.

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// What a longer word is cut to, in characters: long enough to tell hashes apart, short enough for every
/// index.
const LONGEST: usize = 64;

/// A word and where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word as it is compared.
    pub(crate) text: String,
    /// Its first byte in the text.
    pub(crate) start: usize,
    /// The byte after its last.
    pub(crate) end: usize,
    /// How it was found.
    pub(crate) script: Script,
}

/// How a word was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    /// Between separators.
    Spaced,
    /// Two neighbours in a script without spaces.
    Pair,
    /// The last character of a run in a script without spaces.
    Last,
    /// A sign that is a word by itself.
    Sign,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Unspaced,
    Sign,
    /// Leaves no trace: accents, marks of direction.
    Silent,
    Separator,
}

/// A text in the form whose words are found; offsets are into this.
pub(super) fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

/// At most `most` words of a text, in order.
pub(crate) fn words_of(text: &str, most: usize) -> Vec<String> {
    let words = words(&composed(text), most);
    words.into_iter().map(|word| word.text).collect()
}

/// At most `most` words of a [`composed`] text, in order.
pub(super) fn words(text: &str, most: usize) -> Vec<Word> {
    let mut found = Splitter {
        words: Vec::new(),
        open: None,
        unspaced: None,
    };
    for (start, c) in text.char_indices() {
        if found.words.len() >= most {
            break;
        }
        let end = start + c.len_utf8();
        if c.is_ascii() {
            if c.is_ascii_alphanumeric() {
                found.letter(c.to_ascii_lowercase(), start, end);
            } else {
                found.close();
            }
            continue;
        }
        for folded in fold(c).chars() {
            match class(folded) {
                Class::Letter => found.letter(folded, start, end),
                Class::Unspaced => found.unspaced(folded, start, end),
                Class::Sign => found.sign(folded, start, end),
                Class::Silent => {}
                Class::Separator => found.close(),
            }
        }
    }
    found.close();
    found.words.truncate(most);
    found.words
}

struct Splitter {
    words: Vec<Word>,
    /// The word between separators that is being read, and its length in characters.
    open: Option<(Word, usize)>,
    /// The newest character of a run without spaces.
    unspaced: Option<(char, usize, usize)>,
}

impl Splitter {
    fn letter(&mut self, c: char, start: usize, end: usize) {
        self.close_unspaced();
        let (word, length) = self.open.get_or_insert_with(|| {
            let text = String::new();
            let script = Script::Spaced;
            (
                Word {
                    text,
                    start,
                    end,
                    script,
                },
                0,
            )
        });
        if *length < LONGEST {
            word.text.push(c);
            *length += 1;
        }
        word.end = end;
    }

    fn unspaced(&mut self, c: char, start: usize, end: usize) {
        self.close_open();
        if let Some((first, begun, _)) = self.unspaced.replace((c, start, end)) {
            self.push([first, c].iter().collect(), begun, end, Script::Pair);
        }
    }

    fn sign(&mut self, c: char, start: usize, end: usize) {
        self.close();
        self.push(c.to_string(), start, end, Script::Sign);
    }

    fn close(&mut self) {
        self.close_open();
        self.close_unspaced();
    }

    fn close_open(&mut self) {
        if let Some((word, _)) = self.open.take() {
            self.words.push(word);
        }
    }

    fn close_unspaced(&mut self) {
        if let Some((c, start, end)) = self.unspaced.take() {
            self.push(c.to_string(), start, end, Script::Last);
        }
    }

    fn push(&mut self, text: String, start: usize, end: usize, script: Script) {
        self.words.push(Word {
            text,
            start,
            end,
            script,
        });
    }
}

/// A character in lower case, in its plainest form, without its accents.
fn fold(c: char) -> String {
    match c {
        'ß' | 'ẞ' => return "ss".to_owned(),
        'ς' => return "σ".to_owned(),
        _ => {}
    }
    c.to_lowercase()
        .nfkd()
        .flat_map(char::to_lowercase)
        .filter(|&c| !is_accent(c))
        .nfc()
        .collect()
}

/// Marks that a reader may leave out: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowels.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}'
        | '\u{5c4}'..='\u{5c5}' | '\u{5c7}' | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

fn class(c: char) -> Class {
    match c {
        // Soft hyphens, joiners, marks of direction and variation: they show nothing.
        '\u{ad}'
        | '\u{200c}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{640}' => Class::Silent,
        // Thai, Lao, Myanmar, Khmer; kana and Han; Hangul.
        '\u{e01}'..='\u{e3a}'
        | '\u{e40}'..='\u{e4e}'
        | '\u{e81}'..='\u{ece}'
        | '\u{1000}'..='\u{103f}'
        | '\u{1780}'..='\u{17d3}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{3096}'
        | '\u{3099}'..='\u{309a}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => Class::Unspaced,
        '\u{1f3fb}'..='\u{1f3ff}' => Class::Silent,
        '\u{2600}'..='\u{27bf}' | '\u{1f000}'..='\u{1faff}' => Class::Sign,
        c if is_accent(c) => Class::Silent,
        c if c.is_alphanumeric() || is_combining_mark(c) => Class::Letter,
        _ => Class::Separator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let text = composed(text);
        words(&text, 100)
            .into_iter()
            .map(|word| word.text)
            .collect()
    }

    #[test]
    fn words_are_folded() {
        assert_eq!(
            split("Résumé, STRASSE-Straße x_1"),
            ["resume", "strasse", "strasse", "x", "1"]
        );
        assert_eq!(
            split("re\u{301}sume\u{301} İstanbul ΟΔΟΣ"),
            ["resume", "istanbul", "οδοσ"]
        );
        assert_eq!(split("\u{202e}שָׁלוֹם\u{202c} ﬁne"), ["שלום", "fine"]);
    }

    #[test]
    fn scripts_without_spaces_are_found_by_neighbours() {
        assert_eq!(split("東京都 2026年"), ["東京", "京都", "都", "2026", "年"]);
        assert_eq!(
            split("한국"),
            split("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}")
        );
    }

    #[test]
    fn an_emoji_is_a_word_and_punctuation_is_none() {
        assert_eq!(split("ship🚀it"), ["ship", "🚀", "it"]);
        assert!(split("-- \"*\" : () \0 \u{e000}").is_empty());
    }

    #[test]
    fn a_long_word_is_cut_and_a_long_text_too() {
        assert_eq!(split(&"a".repeat(1000))[0].len(), LONGEST);
        assert_eq!(words("a b c d", 2).len(), 2);
    }

    #[test]
    fn a_word_knows_where_it_stands() {
        let text = "Über die Brücke";
        let found = words(text, 9);
        assert_eq!(&text[found[2].start..found[2].end], "Brücke");
    }
}

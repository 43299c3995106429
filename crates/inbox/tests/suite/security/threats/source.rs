//! The source of a test: what it and the functions that it calls say, and what they are held to.

use std::collections::BTreeSet;

/// Marks of the use of a number that holds a test to it: compared, asserted, or counted up to.
const HOLDS: [&str; 8] = [
    "assert",
    "..",
    ">=",
    ">",
    "==",
    ".len()",
    ".take(",
    "to_string()",
];

/// The bodies of a test and of the functions of its file that it calls, without comments; nothing where it is not there.
pub(super) fn reach(source: &str, test: &str) -> Option<Vec<String>> {
    let source: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let is_named = source.lines().any(|line| line.trim() == test);
    let mut waiting = match body(&source, test) {
        Some(body) => vec![body],
        // A macro makes it of its name: then all of the file is what it may call.
        None if is_named => vec![source.as_str()],
        None => return None,
    };
    let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
    while let Some(text) = waiting.pop() {
        for called in calls(text) {
            if seen.insert(called) {
                waiting.extend(body(&source, called));
            }
        }
        found.push(text.to_owned());
    }
    Some(found)
}

/// The words that a parenthesis follows.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    let parts: Vec<&str> = text.split('(').collect();
    let count = parts.len().saturating_sub(1);
    parts.into_iter().take(count).filter_map(|before| {
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_');
        word.into_iter().next().filter(|word| !word.is_empty())
    })
}

/// The function of this name: from its head to the brace that is as far in as its head, or to the end.
fn body<'a>(source: &'a str, name: &str) -> Option<&'a str> {
    let head = source
        .match_indices(&format!("fn {name}"))
        .find(|(at, found)| {
            let next = source[at + found.len()..].chars().next();
            matches!(next, Some('(' | '<'))
        })?
        .0;
    let line = source[..head].rfind('\n').map_or(0, |at| at + 1);
    let indent: String = source[line..].chars().take_while(|c| *c == ' ').collect();
    let rest = &source[head..];
    let end = rest.find(&format!("\n{indent}}}"));
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// Whether a text has a word, and not only as a part of another.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// What stands behind a constant's name: its type and its value.
fn definition<'a>(source: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let text = source.split_once(&format!("const {name}: "))?.1;
    text.split_once(" = ")
}

/// Whether a name is that of a list, whose length the compiler counts.
pub(super) fn is_list(source: &str, name: &str) -> bool {
    definition(source, name).is_some_and(|(kind, _)| kind.starts_with('['))
}

/// The number that a constant has, or the length that a list has, by the words of the source, if the test is held to it.
pub(super) fn counted(source: &str, reach: &[String], name: &str) -> Result<usize, String> {
    let (kind, value) = definition(source, name).ok_or_else(|| format!("there is no {name}"))?;
    let is_list = kind.starts_with('[');
    let digits = if is_list {
        let length = kind.rsplit_once("; ").map(|(_, length)| length);
        length.unwrap_or_default().trim_end_matches(']')
    } else if ["usize", "u32"].contains(&kind) {
        value.split(';').next().unwrap_or_default()
    } else {
        return Err(format!("{name} is a {kind}"));
    };
    let lines = reach.iter().flat_map(|body| body.lines());
    let mut uses = lines
        .filter(|line| !line.contains(&format!("const {name}: ")))
        .filter(|line| has_word(line, name));
    // A list is gone through wherever it is named; a number may stand anywhere, and holds only where it is compared.
    let array = format!("; {name}");
    let is_held = uses.any(|line| {
        is_list || line.contains(&array) || HOLDS.iter().any(|mark| line.contains(mark))
    });
    if !is_held {
        return Err(format!("nothing that the test does is held to {name}"));
    }
    let number = digits.trim().replace('_', "").parse();
    number.map_err(|_| format!("{name} is {digits}"))
}

#[test]
fn a_number_that_a_test_only_mentions_is_not_counted() {
    let source = "const MANY: usize = 1_000;
const LIST: [&str; 3] = [\"a\", \"b\", \"c\"];
const OTHER: usize = 7;

// MANY of them.
fn helper() {
    let all = made(); // OTHER
    assert!(all.len() >= MANY);
}

#[test]
fn one() {
    helper();
}

#[test]
fn two() {
    // assert MANY
    for one in LIST {}
    let TOO_MANY = OTHER;
}
";
    let of = |test: &str, name: &str| counted(source, &reach(source, test).unwrap(), name);
    assert_eq!(of("one", "MANY"), Ok(1000));
    assert_eq!(of("two", "LIST"), Ok(3));
    for (test, name) in [
        ("two", "MANY"),
        ("one", "LIST"),
        ("two", "OTHER"),
        ("two", "NONE"),
    ] {
        assert!(of(test, name).is_err(), "{test} {name}");
    }
    assert!(reach(source, "three").is_none());
    assert!(is_list(source, "LIST") && !is_list(source, "MANY"));
}

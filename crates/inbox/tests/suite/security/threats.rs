//! The threat model as a table: each attack, what stands against it, which tests hold that, and how many cases they have.
//!
//! A count is never written by hand: it is the length of a list or a constant in the source of the test, which the test itself is
//! held to. Random cases come on top, and are not counted.

mod table;

use std::collections::BTreeSet;

use self::table::threats;
use crate::{check_document, root};

/// How many distinct cases there must be in all.
const CASES: usize = 2500;

/// A test, the file that has it, and the lists and constants whose product is its cases; none where it has no table.
struct Held(&'static str, &'static str, &'static [&'static str]);

struct Threat {
    number: usize,
    attack: &'static str,
    defence: &'static str,
    held: &'static [Held],
}

const S: &str = "crates/inbox/tests/suite/";

/// A file of the suite, and any other by its whole path.
fn path(file: &str) -> String {
    if file.starts_with("crates/") {
        file.to_owned()
    } else {
        format!("{S}{file}")
    }
}

/// The number that a constant has, or the length that a list has, by the words of the source.
fn counted(source: &str, name: &str, file: &str) -> usize {
    let definition = source.split(&format!("const {name}: ")).nth(1);
    let definition = definition.unwrap_or_else(|| panic!("{file} has no {name}"));
    let (kind, value) = definition.split_once(" = ").expect("it has a value");
    let digits = if kind.starts_with('[') {
        kind.rsplit_once("; ")
            .expect("it has a length")
            .1
            .trim_end_matches(']')
    } else {
        assert!(
            ["usize", "u32"].contains(&kind),
            "{file}: {name} is a {kind}"
        );
        value.split(';').next().expect("it ends")
    };
    let number = digits.trim().replace('_', "").parse();
    let uses = source.matches(name).count();
    assert!(uses > 1, "{file}: nothing is held to {name}");
    number.unwrap_or_else(|_| panic!("{file}: {name} is {digits}"))
}

/// How many cases a test has, which is there.
fn cases(held: &Held) -> Option<usize> {
    let Held(file, test, names) = held;
    let file = path(file);
    let source = std::fs::read_to_string(root().join(&file))
        .unwrap_or_else(|error| panic!("{file}: {error}"));
    let is_there =
        source.contains(&format!("fn {test}(")) || source.lines().any(|line| line.trim() == *test);
    assert!(is_there, "{file} has no test {test}");
    let product = names
        .iter()
        .map(|name| counted(&source, name, &file))
        .product();
    (!names.is_empty()).then_some(product)
}

#[test]
fn every_threat_has_its_tests_and_there_are_enough_cases() {
    let numbers: Vec<_> = threats().map(|threat| threat.number).collect();
    assert_eq!(numbers, (1..=26).collect::<Vec<_>>());
    let mut document = String::from(
        "# Threats\n\nWhat is tried, what stands against it, and the tests that hold it. Made from the table that the tests keep; \
         `make docs` writes it. A case is counted once, by the length of a list or a constant that its test is held to; random cases and \
         what `make fuzz` tries come on top. None of them may panic, hang, or be accepted.\n\n\
         Who may do what is in [identity and trust](../concepts/identity-and-trust.md), what is not protected in [SECURITY.md](../../SECURITY.md).\n\n",
    );
    let mut all = 0;
    let mut seen = BTreeSet::new();
    for threat in threats() {
        document.push_str(&format!(
            "## T{}: {}\n\n{}.\n\n| test | cases |\n|---|---|\n",
            threat.number, threat.attack, threat.defence
        ));
        for held in threat.held {
            let count = cases(held);
            if let Some(count) = count
                && seen.insert((held.0, held.1, held.2))
            {
                all += count;
            }
            let shown = count.map(|count| count.to_string()).unwrap_or_default();
            document.push_str(&format!(
                "| [{}](../../{}) | {shown} |\n",
                held.1.replace('_', " "),
                path(held.0)
            ));
        }
        document.push('\n');
    }
    document.push_str(&format!("In all {all} distinct cases that are counted.\n"));
    assert!(all >= CASES, "{all} cases");
    check_document("docs/reference/threats.md", &document);
}

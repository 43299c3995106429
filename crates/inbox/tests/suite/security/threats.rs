//! The threat model as a table: each attack, what stands against it, which tests hold that, and how many cases they have.
//!
//! A count is never written by hand: it is the length of a list or a constant in the source of the test, which the test itself is
//! held to. What dice draw is shown and not counted, nor is what is let in beside what is refused.

mod source;
mod table;

use std::collections::BTreeSet;

use self::source::{counted, reach};
use self::table::threats;
use crate::{check_document, root};

/// How many distinct cases there must be in all.
const CASES: usize = 2500;

/// A test, the file that has it, and what its cases are.
struct Held(&'static str, &'static str, Cases);

/// Where the number of a test's cases comes from.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cases {
    /// It has no table.
    Untold,
    /// The lists and constants whose product is what it tries, each of them one that must be refused.
    Of(&'static [&'static str]),
    /// The constant that says how many dice draw.
    Drawn(&'static str),
}

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

/// What is shown of a test's cases, and how many of them count.
fn cases(held: &Held) -> (String, usize) {
    let Held(file, test, cases) = held;
    let file = path(file);
    let source = std::fs::read_to_string(root().join(&file))
        .unwrap_or_else(|error| panic!("{file}: {error}"));
    let Some(reach) = reach(&source, test) else {
        panic!("{file} has no test {test}");
    };
    let count = |name: &str| {
        counted(&source, &reach, name).unwrap_or_else(|problem| panic!("{file}: {problem}"))
    };
    // What throws dice in a test of its own draws its cases.
    let draws = reach.iter().any(|body| body.contains("Dice::new("));
    match cases {
        Cases::Untold => (String::new(), 0),
        Cases::Of(names) => {
            let is_listed = names.iter().all(|name| source::is_list(&source, name));
            assert!(!draws || is_listed, "{file}: {test} draws its cases");
            let product = names.iter().map(|name| count(name)).product();
            (format!("{product}"), product)
        }
        Cases::Drawn(name) => (format!("{} drawn", count(name)), 0),
    }
}

#[test]
fn every_threat_has_its_tests_and_there_are_enough_cases() {
    let numbers: Vec<_> = threats().map(|threat| threat.number).collect();
    assert_eq!(numbers, (1..=26).collect::<Vec<_>>());
    let mut document = String::from(
        "# Threats\n\nWhat is tried, what stands against it, and the tests that hold it. Made from the table that the tests keep; \
         `make docs` writes it. A case is counted once, by the length of a list or a constant that its test is held to. What seeded dice \
         draw is shown with its number and not counted, and what `make fuzz` tries comes on top. None of them may panic, hang, or be accepted.\n\n\
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
            let (shown, count) = cases(held);
            if seen.insert((held.0, held.1, &held.2)) {
                all += count;
            }
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

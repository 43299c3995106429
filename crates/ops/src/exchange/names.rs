//! Foreign names as names of ours: valid, distinct, and never one that has a meaning here.

use std::collections::{HashMap, HashSet};

use inbox_core::Address;
use inbox_core::name::RESERVED;
use sha2::{Digest, Sha256};

/// The longest name.
const LONGEST: usize = 64;

/// The names of one source. The same foreign name always becomes the same name.
pub(super) struct Names {
    /// What is added to a reserved name.
    source: &'static str,
    /// The source's names, in lower case, for the person in charge.
    people: &'static [&'static str],
    given: HashMap<String, String>,
    taken: HashSet<String>,
    /// The number that the next name of the same letters tries first.
    next: HashMap<String, u32>,
}

impl Names {
    pub(super) fn of(source: &'static str, people: &'static [&'static str]) -> Self {
        Names {
            source,
            people,
            given: HashMap::new(),
            taken: HashSet::new(),
            next: HashMap::new(),
        }
    }

    /// Our name for a foreign one.
    pub(super) fn name(&mut self, foreign: &str) -> String {
        self.within("", foreign)
    }

    /// Our name for a foreign one that is only unique within `scope`, such as a project.
    pub(super) fn within(&mut self, scope: &str, foreign: &str) -> String {
        let lower = foreign.trim().to_lowercase();
        if lower == "human" || self.people.contains(&lower.as_str()) {
            return "human".to_owned();
        }
        let key = format!("{scope}\0{foreign}");
        if let Some(name) = self.given.get(&key) {
            return name.clone();
        }
        let mut base = clean(foreign);
        if RESERVED.contains(&base.as_str()) {
            base = format!("{base}-{}", self.source.replace('_', "-"));
        }
        let mut name = base.clone();
        let mut number = self.next.get(&base).copied().unwrap_or(2);
        let letters = base.clone();
        while self.taken.contains(&name) {
            let suffix = format!("-{number}");
            base.truncate(LONGEST - suffix.len());
            name = format!("{base}{suffix}");
            number += 1;
        }
        self.next.insert(letters, number);
        self.taken.insert(name.clone());
        self.given.insert(key, name.clone());
        name
    }

    /// Our address for one in spec 004's notation: a name, a tag with its namespace, or `all`.
    pub(super) fn address(&mut self, foreign: &str) -> String {
        let text = foreign.trim();
        if text.eq_ignore_ascii_case("all") {
            return "all".to_owned();
        }
        match text.split_once(':') {
            Some((space, value)) if !space.is_empty() && !value.is_empty() => {
                let tag = format!("{}:{}", clean(space), clean(value));
                // What is cleaned has the form of an address: this only makes sure of it.
                tag.parse::<Address>()
                    .map_or_else(|_| self.name(text), |address| address.to_string())
            }
            _ => self.name(text),
        }
    }
}

/// A foreign name with only the characters of ours; one without any is told by its hash.
fn clean(foreign: &str) -> String {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let text: String = foreign
        .trim()
        .to_lowercase()
        .chars()
        .map(|c| if allowed(c) { c } else { '-' })
        .skip_while(|c| !c.is_ascii_alphanumeric())
        .take(LONGEST)
        .collect();
    if !text.is_empty() {
        return text;
    }
    let hash = Sha256::digest(foreign.as_bytes());
    let hex: String = hash
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("agent-{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use inbox_core::AgentName;
    use proptest::prelude::*;

    #[test]
    fn a_foreign_name_becomes_one_of_ours() {
        let mut names = Names::of("hcom", &["bigboss"]);
        for (foreign, name) in [
            ("BlueLake", "bluelake"),
            ("Blue Lake", "blue-lake"),
            ("blue-lake", "blue-lake-2"),
            ("Blue Lake", "blue-lake"),
            ("luna:BOXE", "luna-boxe"),
            ("__a", "a"),
            ("Zoë", "zo-"),
            ("system", "system-hcom"),
            ("Runner", "runner-hcom"),
            ("all", "all-hcom"),
            ("human", "human"),
            ("BigBoss", "human"),
            ("日本", "agent-cf2abf0c"),
        ] {
            assert_eq!(names.name(foreign), name, "{foreign}");
        }
        let long = "x".repeat(100);
        assert_eq!(names.name(&long).len(), 64);
        assert_eq!(
            names.name(&"x".repeat(101)),
            format!("{}-2", "x".repeat(62))
        );
    }

    #[test]
    fn many_names_of_the_same_letters_are_given_quickly() {
        let mut names = Names::of("hcom", &[]);
        let given: HashSet<_> = (0..20_000)
            .map(|number| names.within(&number.to_string(), "x"))
            .collect();
        assert_eq!(given.len(), 20_000);
    }

    #[test]
    fn an_address_keeps_its_notation() {
        let mut names = Names::of("mailbox", &[]);
        for (foreign, address) in [
            ("architect", "architect"),
            ("All", "all"),
            ("role:Architect", "role:architect"),
            ("project:Face Decoding", "project:face-decoding"),
            ("a:b:c", "a:b-c"),
            (":x", "x"),
        ] {
            assert_eq!(names.address(foreign), address, "{foreign}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_valid_and_stays(foreign in proptest::collection::vec(".{0,80}", 1..8)) {
            let mut names = Names::of("agent_mail", &["humanoverseer"]);
            let first: Vec<_> = foreign.iter().map(|name| names.name(name)).collect();
            for (index, name) in first.iter().enumerate() {
                prop_assert!(name.parse::<AgentName>().is_ok(), "{}", name);
                prop_assert_eq!(name, &names.name(&foreign[index]));
                prop_assert!(names.address(&foreign[index]).parse::<Address>().is_ok());
            }
        }

        #[test]
        fn distinct_names_stay_distinct(a in "[A-Za-z ._é-]{1,70}", b in "[A-Za-z ._é-]{1,70}") {
            prop_assume!(a != b && a.trim().to_lowercase() != "human" && b.trim().to_lowercase() != "human");
            let mut names = Names::of("hcom", &[]);
            prop_assert_ne!(names.name(&a), names.name(&b));
        }
    }
}

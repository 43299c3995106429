//! Of many that want one thread, one gets it.

use std::collections::BTreeSet;

use inbox_testkit::sandbox::{Outcome, Sandbox};

use super::gate::race;
use super::{alone, open, text, words};
use crate::INBOX;

pub(super) const RACERS: usize = 8;

#[test]
fn of_8_processes_that_claim_what_comes_next_each_gets_another_thread() {
    let _alone = alone();
    let inbox = Sandbox::in_memory(INBOX);
    each_gets_another(&inbox, 10, |commands| race(&inbox, commands));
}

/// As many pieces of work as there are racers, for all of whom there is one: `race` runs their commands at
/// once.
pub(super) fn each_gets_another(
    inbox: &Sandbox,
    rounds: u32,
    race: impl Fn(&[Vec<String>]) -> Vec<Outcome>,
) {
    for round in 0..rounds {
        let sent: BTreeSet<_> = (0..RACERS)
            .map(|n| open(inbox, "crew", &format!("next-{round}-{n}")))
            .collect();
        let commands = vec![words("claim --agent crew"); RACERS];
        let outcomes = race(&commands);
        let taken: BTreeSet<_> = outcomes
            .iter()
            .map(|outcome| text(&outcome.ok()["thread"]["thread_id"]))
            .collect();
        assert_eq!(taken, sent, "each thread is taken once");
        let none_left = inbox.run(words("claim --agent crew"));
        assert_eq!(none_left.code, 10, "{none_left}");
    }
}

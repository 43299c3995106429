//! What stands in another's place, told from what was changed: its content is that of another number of the topic.

use std::collections::HashMap;

use inbox_hcs::Hash;

use super::{Difference, Mismatch};

/// The most that are kept to be looked at together.
const MOST: usize = 10_000;

/// A number at which the store differs from the topic.
pub(super) struct Odd {
    pub(super) number: i64,
    /// The hash of what the store has there, if it has something.
    pub(super) store: Option<Hash>,
    /// The hash of what the topic has there, if it has something.
    pub(super) topic: Option<Hash>,
    /// What to say of it unless it is in another's place.
    pub(super) mismatches: Vec<Mismatch>,
}

#[derive(Default)]
pub(super) struct Odds {
    list: Vec<Odd>,
}

impl Odds {
    /// Keeps one; what is too much is given back as it is.
    pub(super) fn add(&mut self, odd: Odd) -> Vec<Mismatch> {
        if self.list.len() >= MOST {
            return odd.mismatches;
        }
        self.list.push(odd);
        Vec::new()
    }

    /// What is wrong, in the order of the topic.
    pub(super) fn finish(self) -> Vec<Mismatch> {
        let places: HashMap<[u8; 32], i64> = self
            .list
            .iter()
            .filter_map(|odd| Some((*odd.topic.as_ref()?.as_bytes(), odd.number)))
            .collect();
        let mut found = Vec::new();
        let mut elsewhere = Vec::new();
        for odd in &self.list {
            let own = odd.topic.as_ref().map(Hash::as_bytes);
            let store = odd.store.as_ref().map(Hash::as_bytes);
            let Some(place) = store
                .filter(|store| own != Some(*store))
                .and_then(|store| places.get(store))
            else {
                continue;
            };
            elsewhere.push((odd.number, *place));
        }
        for odd in self.list {
            let moved = elsewhere.iter().find(|(number, _)| *number == odd.number);
            if let Some((_, place)) = moved {
                let first = odd.mismatches.into_iter().next();
                found.extend(first.map(|mismatch| Mismatch {
                    difference: Difference::Reordered,
                    field: "record",
                    what: format!("the store has message {place} of the topic in its place"),
                    ..mismatch
                }));
                continue;
            }
            // What stands elsewhere is not missing.
            if odd.store.is_none() && elsewhere.iter().any(|(_, place)| *place == odd.number) {
                continue;
            }
            found.extend(odd.mismatches);
        }
        found
    }
}

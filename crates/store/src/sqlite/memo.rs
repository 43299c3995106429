//! What a server's writer has looked up and need not look up again: who is who, and what reaches whom.
//!
//! Every write asks the same few questions first, and their answers change once in a while. They are kept from one write to the next
//! while nothing can have changed them: no other connection has committed, and no statement of this one was run that is not known
//! to leave them alone.

use std::collections::HashMap;

use crate::sql::{self, Sql};
use crate::value::{Param, Row};

/// The questions whose answers are kept.
const KEPT: [&Sql; 7] = [
    &sql::INTAKE_WAITS,
    &sql::FIND_AGENT,
    &sql::FIND_ADDRESS,
    &sql::FIND_SESSION,
    &sql::RESOLVE,
    &sql::REACH_OF_AGENT,
    &sql::MEMBERSHIPS,
];

/// The writes that change no answer that is kept.
const HARMLESS: [&Sql; 14] = [
    &sql::INSERT_THREAD,
    &sql::INSERT_RECIPIENT,
    &sql::SET_RECIPIENT,
    &sql::INSERT_ENTRY,
    &sql::INSERT_DELIVERY,
    &sql::INSERT_ARTIFACT,
    &sql::INSERT_RECEIPT,
    &sql::SET_LATEST_MESSAGE,
    &sql::UPDATE_THREAD,
    &sql::SET_QUEUE,
    &sql::SET_BOOKMARK,
    &sql::SET_ACKED,
    &sql::TURN_BACK,
    &sql::REMEMBER,
];

/// The most answers that are kept.
const MOST: usize = 4096;

/// The answers that are kept.
#[derive(Default)]
pub(super) struct Memo {
    found: HashMap<Box<[u8]>, Vec<Row>>,
    /// The question that was asked last, as the key of its answer.
    key: Vec<u8>,
}

impl Memo {
    pub(super) fn clear(&mut self) {
        self.found.clear();
    }

    /// The answer to a question, if it is kept.
    pub(super) fn recall(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Option<Vec<Row>> {
        let place = KEPT.iter().position(|kept| std::ptr::eq(*kept, sql))?;
        self.key.clear();
        self.key.extend(place.to_le_bytes());
        for param in params {
            match param {
                Param::Null => self.key.push(0),
                Param::Int(number) => {
                    self.key.push(1);
                    self.key.extend(number.to_le_bytes());
                }
                Param::Text(text) => {
                    self.key.push(2);
                    self.key.extend(text.len().to_le_bytes());
                    self.key.extend(text.as_bytes());
                }
            }
        }
        self.found.get(self.key.as_slice()).cloned()
    }

    /// Takes note of a statement that was run: the answer to the question that was just not recalled, or a change.
    pub(super) fn note(&mut self, sql: &'static Sql, is_read: bool, rows: &[Row]) {
        let is_in = |list: &[&Sql]| list.iter().any(|known| std::ptr::eq(*known, sql));
        if is_read {
            if is_in(&KEPT) {
                if self.found.len() >= MOST {
                    self.clear();
                }
                self.found.insert(self.key.as_slice().into(), rows.to_vec());
            }
        } else if !is_in(&HARMLESS) {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables that a text names after this word.
    fn after<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
        text.split(word).skip(1).filter_map(|rest| {
            rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
                .find(|piece| !piece.is_empty())
        })
    }

    #[test]
    fn what_is_held_harmless_writes_to_no_table_that_a_kept_answer_is_read_from() {
        let read: Vec<&str> = KEPT
            .iter()
            .flat_map(|sql| after(sql.sqlite, "FROM ").chain(after(sql.sqlite, "JOIN ")))
            .collect();
        assert!(
            read.contains(&"agents") && read.contains(&"memberships"),
            "{read:?}"
        );
        for sql in HARMLESS {
            let mut written = after(sql.sqlite, "INSERT INTO ").chain(after(sql.sqlite, "UPDATE "));
            assert!(
                written.all(|table| !read.contains(&table)),
                "{} changes what is kept",
                sql.name
            );
            assert!(!sql.sqlite.contains("DELETE"), "{}", sql.name);
        }
    }
}

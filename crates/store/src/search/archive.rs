//! Archived messages: no longer in the store, and still found.
//!
//! The archives themselves are files elsewhere. Whoever keeps them asks which of them are indexed, and
//! gives those that are not, line by line; the index keeps the lines, and can lose them like all it has.

use std::collections::HashSet;

use inbox_core::{Message, Refusal, Thread};
use serde_json::{Value, json};

use super::index::{Archive, Entry, Index, Trouble, Wanted};
use super::{LOADED, Walk, hit};
use crate::Store;
use crate::driver::{Driver, Mode};
use crate::error::StoreError;

/// What became of the lines of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archived {
    /// How many can be found now.
    pub indexed: i64,
    /// How many are no message with its thread, and were passed over.
    pub unreadable: i64,
}

/// How many messages one month may have.
const MONTH: i64 = 1 << 32;

impl Store {
    /// The archives that are indexed: their months, and the stamps that they were indexed with. One
    /// whose stamp has changed, or that is missing here, is to be indexed again.
    pub fn indexed_archives(&self) -> Result<Vec<(String, String)>, Refusal> {
        let list = |driver: &mut dyn Driver, index: &mut dyn Index| {
            driver.begin(Mode::Read)?;
            let found = index.enter(driver).and_then(|_| index.archives(driver));
            driver.rollback();
            index.leave();
            found
        };
        let outcome = self.mending(|| {
            // An index of another store has another store's archives.
            self.with_index(|driver, index| index.advance(driver))?;
            self.with_index(list)
        });
        outcome.map_err(refusal)
    }

    /// Indexes the archive of a month (`2026-10`) in place of what was indexed of it before. Each line is
    /// `{"message": …, "thread": …}`, oldest first.
    pub fn index_archive(
        &self,
        month: &str,
        stamp: &str,
        lines: &[String],
    ) -> Result<Archived, Refusal> {
        let first = number_of(month)?;
        let archive = Archive {
            month,
            stamp,
            numbers: first..=first + MONTH - 1,
        };
        let mut unreadable = 0;
        let mut replace = |driver: &mut dyn Driver, index: &mut dyn Index| {
            unreadable = 0;
            let mut entries = (first..).zip(lines).filter_map(|(number, line)| {
                let Some((message, thread)) = read(line) else {
                    unreadable += 1;
                    return None;
                };
                Some((Entry::archived(number, message, thread), line.clone()))
            });
            index.replace_archive(driver, &archive, &mut entries)
        };
        let outcome = self.mending(|| self.with_index(&mut replace));
        outcome.map_err(refusal)?;
        let all = i64::try_from(lines.len()).unwrap_or(i64::MAX);
        Ok(Archived {
            indexed: all - unreadable,
            unreadable,
        })
    }

    /// A message and its thread as a line of an archive.
    pub fn archive_line(message: &Message, thread: &Thread) -> String {
        json!({ "message": message, "thread": thread }).to_string()
    }
}

pub(super) fn read(line: &str) -> Option<(Message, Thread)> {
    let mut line: Value = serde_json::from_str(line).ok()?;
    let message = serde_json::from_value(line.get_mut("message")?.take()).ok()?;
    let thread = serde_json::from_value(line.get_mut("thread")?.take()).ok()?;
    Some((message, thread))
}

fn refusal(trouble: Trouble) -> Refusal {
    match trouble {
        Trouble::Store(error) | Trouble::Damaged(error) | Trouble::Unusable(error) => error.into(),
    }
}

/// The number of a month's first message: greater for later months.
pub(super) fn number_of(month: &str) -> Result<i64, Refusal> {
    let parts = month.split_once('-').and_then(|(year, month)| {
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_written = year.len() == 4 && month.len() == 2 && is_digits(year) && is_digits(month);
        is_written.then_some((year.parse::<u16>().ok()?, month.parse::<u8>().ok()?))
    });
    match parts {
        Some((year, month)) if (1..=12).contains(&month) => {
            Ok((i64::from(year) * 12 + i64::from(month) - 1) * MONTH)
        }
        _ => Err(Refusal::input(format!(
            "{} is not a month such as 2026-10",
            inbox_core::text::quoted(month)
        ))),
    }
}

/// The month that a message with this number is in.
pub(super) fn month_of(number: i64) -> String {
    let months = number / MONTH;
    format!("{:04}-{:02}", months / 12, months % 12 + 1)
}

impl Walk<'_> {
    /// Looks at the archived messages that the index finds: all of them are older than what is in the
    /// store, as far as a search is concerned.
    pub(super) fn look_into_archives(&mut self, index: &mut dyn Index) -> Result<(), Trouble> {
        let wanted = Wanted {
            query: &self.search.query,
            facets: self.search.filter.facets(),
            first: 0,
        };
        // A message that is in both, because archiving it was interrupted, is given once.
        let given: HashSet<String> = self
            .hits
            .iter()
            .map(|hit| hit.message.uid.clone())
            .collect();
        let (mut last, mut limit) = (i64::MAX, LOADED);
        while !self.has_enough() {
            let asked = i64::try_from(limit).unwrap_or(i64::MAX);
            let lines = index.archived(self.driver, &wanted, last, asked)?;
            for (number, line) in &lines {
                let (message, thread) = read(line).ok_or_else(|| {
                    Trouble::Damaged(StoreError::Unreadable(
                        "an archived line without a message".into(),
                    ))
                })?;
                if !self.has_enough()
                    && !given.contains(&message.uid)
                    && let Some(hit) = hit(self.search, message, thread, Some(&month_of(*number)))
                {
                    self.hits.push(hit);
                }
            }
            match lines.last() {
                Some((oldest, _)) if lines.len() == limit => last = oldest - 1,
                _ => break,
            }
            limit = (limit * 2).min(1_024);
        }
        Ok(())
    }
}

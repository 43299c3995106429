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

/// How many files one month may have.
pub const ARCHIVE_PARTS: u32 = 1024;

/// How many messages one file may have: more than fit into what is read of one.
const PART: i64 = MONTH / ARCHIVE_PARTS as i64;

impl Store {
    /// The archives that are indexed: their names, and the stamps that they were indexed with. One
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

    /// Indexes a file of the archive, which is a month's first (`2026-10`) or a further one (`2026-10.2`), in place of what was
    /// indexed of it before. Each line is `{"message": …, "thread": …}`, oldest first.
    pub fn index_archive(
        &self,
        name: &str,
        stamp: &str,
        lines: &[String],
    ) -> Result<Archived, Refusal> {
        let first = number_of(name)?;
        let archive = Archive {
            month: name,
            stamp,
            numbers: first..=first + PART - 1,
        };
        let mut indexed = 0;
        let mut replace = |driver: &mut dyn Driver, index: &mut dyn Index| {
            indexed = 0;
            let mut entries = (first..first + PART)
                .zip(lines)
                .filter_map(|(number, line)| {
                    let (message, thread) = read(line)?;
                    indexed += 1;
                    Some((Entry::archived(number, message, thread), line.clone()))
                });
            index.replace_archive(driver, &archive, &mut entries)
        };
        let outcome = self.mending(|| self.with_index(&mut replace));
        outcome.map_err(refusal)?;
        let all = i64::try_from(lines.len()).unwrap_or(i64::MAX);
        Ok(Archived {
            indexed,
            unreadable: all - indexed,
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

/// The number of the first message in a file: greater for later months, and for later files of one.
pub(super) fn number_of(name: &str) -> Result<i64, Refusal> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = || {
        let (month, part) = match name.split_once('.') {
            Some((month, part)) if is_digits(part) && !part.starts_with('0') => {
                let part: u32 = part.parse().ok()?;
                (
                    month,
                    Some(part).filter(|part| (2..=ARCHIVE_PARTS).contains(part))?,
                )
            }
            Some(_) => return None,
            None => (name, 1),
        };
        let (year, month) = month.split_once('-')?;
        let is_written = year.len() == 4 && month.len() == 2 && is_digits(year) && is_digits(month);
        let (year, month): (u16, u8) =
            is_written.then_some((year.parse().ok()?, month.parse().ok()?))?;
        (1..=12).contains(&month).then_some((year, month, part))
    };
    let Some((year, month, part)) = parts() else {
        return Err(Refusal::input(format!(
            "{} is not a month such as 2026-10, nor a further file of one such as 2026-10.2",
            inbox_core::text::quoted(name)
        )));
    };
    let months = i64::from(year) * 12 + i64::from(month) - 1;
    Ok(months * MONTH + i64::from(part - 1) * PART)
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
        // A message that is in both, because archiving it was interrupted, is given once; and so is one that went on meanwhile, and
        // is in the file of a later month too.
        let mut given: HashSet<String> = self
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
                    && given.insert(message.uid.clone())
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

//! Searching: messages by their words, newest first or best first.
//!
//! Sending costs nothing for it: an index follows behind a watermark, and each search first brings it up
//! to date. What the index finds are candidates; the messages themselves are looked at again here, by
//! the same rules on both databases. So an index may be missing, late, damaged or of another store: it
//! can make a search slow, but not wrong. What is not indexed yet is read through.

mod archive;
mod document;
mod filter;
mod index;
#[cfg(test)]
mod properties;
mod query;
mod table;
mod word;

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use inbox_core::{EventId, Message, Refusal, Thread};

pub use archive::{ARCHIVE_PARTS, Archived};
pub use document::Document;
pub use filter::SearchFilter;
pub(crate) use index::{Archive, BATCH, Entry, Index, Progress, RULES, Trouble, Wanted, unindexed};
pub use query::Query;
pub(crate) use table::Table;
pub(crate) use word::words_of;

use crate::Store;
use crate::driver::{Driver, Mode};
use crate::error::StoreError;
use crate::location::Location;
use crate::races::Races;
use crate::row::{self, ThreadRow};
use crate::sql;
use crate::sqlite::SearchFile;
use crate::value::{Param, Row};

/// How many events one statement takes.
const LOADED: usize = 32;

/// How many messages are read at once where there is no index.
const READ: i64 = 256;

/// How many matches are compared for the best of them: more would cost a second for a word that is
/// everywhere.
const RANKED: usize = 1_000;

/// How many candidates are looked at before a search that finds too few of them gives up. Only a status
/// makes that many fail: everything else is in the index.
const LOOKED_AT: usize = 100_000;

/// How often an index is mended before a search does without.
const MENDS: u32 = 2;

/// How long a search works on the index before it reads what is still missing.
const PATIENCE: Duration = Duration::from_mins(10);

/// What to search for.
#[derive(Debug, Clone)]
pub struct Search {
    /// The words.
    pub query: Query,
    /// Which of the messages that have them.
    pub filter: SearchFilter,
    /// At most so many.
    pub limit: usize,
    /// Whether the best come first, and not the newest.
    pub rank: bool,
}

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// The messages.
    pub hits: Vec<Hit>,
    /// Whether there are more.
    pub truncated: bool,
    /// The last event that the index has seen.
    pub indexed_through: EventId,
    /// How many messages are in the index.
    pub documents: i64,
    /// The newest event when it was searched.
    pub newest: EventId,
    /// What should be known besides.
    pub warnings: Vec<String>,
}

/// A message that was found.
#[derive(Debug)]
pub struct Hit {
    /// The message.
    pub message: Message,
    /// The thread that it is in.
    pub thread: Thread,
    /// The text around what was found.
    pub snippet: String,
    /// How well it matches, when the best come first.
    pub score: Option<f64>,
    /// The archive that it is in, by month, when it is no longer in the store.
    pub archived: Option<String>,
}

impl Store {
    /// Searches the messages of this store and of the archives that are indexed.
    pub fn search(&self, search: &Search) -> Result<Found, Refusal> {
        self.driver().number()?;
        let outcome = self.mending(|| {
            let late = self.bring_up_to_date()?;
            let mut found = self.with_index(|driver, index| follow(driver, index, search))?;
            let note = |error| format!("the search index is behind, which is slow: {error}");
            found.warnings.extend(late.map(note));
            Ok(found)
        });
        match outcome {
            Ok(found) => Ok(found),
            Err(Trouble::Store(error)) => Err(error.into()),
            Err(Trouble::Damaged(error) | Trouble::Unusable(error)) => {
                let mut found = read_all(self.driver().as_mut(), search)?;
                found.warnings.push(format!(
                    "every message was read, which is slow, because the search index cannot be used: {error}"
                ));
                Ok(found)
            }
        }
    }

    /// Indexes what is not indexed yet, batch by batch, so that others have their turn in between. Why
    /// that was not possible, if it was not: a search then reads what is missing.
    fn bring_up_to_date(&self) -> Result<Option<StoreError>, Trouble> {
        let begun = Instant::now();
        loop {
            match self.with_index(|driver, index| index.advance(driver)) {
                Ok(true) if begun.elapsed() < PATIENCE => {}
                Ok(_) => return Ok(None),
                Err(Trouble::Unusable(error)) => return Ok(Some(error)),
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Does something with the index.
    fn with_index<T>(
        &self,
        mut f: impl FnMut(&mut dyn Driver, &mut dyn Index) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut driver = self.driver();
        let mut kept = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let index = kept.get_or_insert_with(|| match &self.location {
            Location::File(path) => Box::new(SearchFile::beside(path)),
            Location::Postgres(_) => Box::new(Table),
        });
        let mut races = Races::new();
        loop {
            match f(driver.as_mut(), index.as_mut()) {
                Err(Trouble::Store(StoreError::Raced)) if races.again() => {}
                outcome => return outcome,
            }
        }
    }

    /// Does something again when the index was damaged and could be mended.
    fn mending<T>(&self, mut f: impl FnMut() -> Result<T, Trouble>) -> Result<T, Trouble> {
        let mut mends = 0;
        loop {
            match f() {
                Err(Trouble::Damaged(error)) if mends < MENDS => {
                    if !self.with_index(|_, index| Ok(index.mend(mends)))? {
                        return Err(Trouble::Damaged(error));
                    }
                    mends += 1;
                }
                outcome => return outcome,
            }
        }
    }
}

/// Searches by the index, and reads what it lacks.
fn follow(
    driver: &mut dyn Driver,
    index: &mut dyn Index,
    search: &Search,
) -> Result<Found, Trouble> {
    driver.begin(Mode::Read)?;
    let found = index.enter(driver).and_then(|progress| {
        let mut walk = Walk::new(driver, search)?;
        let newest = walk.newest;
        let indexed = progress.through.min(newest);
        walk.read_through(newest, indexed)?;
        walk.follow(index, indexed)?;
        walk.look_into_archives(index)?;
        Ok(walk.found(progress))
    });
    driver.rollback();
    index.leave();
    found
}

/// Searches by reading every message.
fn read_all(driver: &mut dyn Driver, search: &Search) -> Result<Found, StoreError> {
    driver.begin(Mode::Read)?;
    let found = Walk::new(driver, search).and_then(|mut walk| {
        walk.read_through(walk.newest, 0)?;
        Ok(walk.found(Progress::default()))
    });
    driver.rollback();
    found
}

/// A search on its way from the newest message to the oldest.
struct Walk<'a> {
    driver: &'a mut dyn Driver,
    search: &'a Search,
    newest: i64,
    hits: Vec<Hit>,
    /// One more than are given, to know whether there are more.
    enough: usize,
    looked_at: usize,
    warnings: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(driver: &'a mut dyn Driver, search: &'a Search) -> Result<Self, StoreError> {
        let newest = driver
            .query(&sql::NEWEST_EVENT, &[])?
            .first_mut()
            .map_or(Ok(0), Row::int)?;
        let most = if search.rank {
            search.limit.max(RANKED)
        } else {
            search.limit
        };
        Ok(Walk {
            driver,
            search,
            newest,
            hits: Vec::new(),
            enough: most.saturating_add(1),
            looked_at: 0,
            warnings: Vec::new(),
        })
    }

    fn has_enough(&self) -> bool {
        self.hits.len() >= self.enough
    }

    /// Looks at every message up to `last` and after `after`.
    fn read_through(&mut self, mut last: i64, after: i64) -> Result<(), StoreError> {
        while last > after && !self.has_enough() {
            let params = [last.into(), after.into(), READ.into()];
            let rows = self.driver.query(&sql::MESSAGES_BETWEEN, &params)?;
            if rows.is_empty() {
                break;
            }
            for mut row in rows {
                last = self.look_at(&mut row)? - 1;
            }
        }
        Ok(())
    }

    /// Looks at the messages that the index finds, up to `last`.
    fn follow(&mut self, index: &mut dyn Index, last: i64) -> Result<(), Trouble> {
        let mut last = last;
        let mut wanted = Wanted {
            query: &self.search.query,
            facets: self.search.filter.facets(),
            first: 1,
        };
        if let Some((first_day, last_day)) = self.search.filter.days() {
            let (first, newest) = index.events_of_days(self.driver, first_day, last_day)?;
            wanted.first = first;
            last = last.min(newest);
        }
        let mut limit = LOADED;
        while last >= wanted.first && !self.has_enough() {
            if self.looked_at >= LOOKED_AT {
                self.warnings.push(format!(
                    "only the newest {LOOKED_AT} messages with these words were looked at; name more words, or a time"
                ));
                self.enough = self.hits.len();
                break;
            }
            let asked = i64::try_from(limit).unwrap_or(i64::MAX);
            let events = index.newest(self.driver, &wanted, last, asked)?;
            for some in events.chunks(LOADED) {
                let mut params = [Param::Null; LOADED];
                for (param, &event) in params.iter_mut().zip(some) {
                    *param = event.into();
                }
                for mut row in self.driver.query(&sql::MESSAGES_OF_EVENTS, &params)? {
                    self.look_at(&mut row)?;
                }
                if self.has_enough() {
                    break;
                }
            }
            self.looked_at += events.len();
            match events.last() {
                Some(&oldest) if events.len() == limit => last = oldest - 1,
                _ => break,
            }
            limit = (limit * 2).min(2_048);
        }
        Ok(())
    }

    /// Keeps a message if it matches; its event.
    fn look_at(&mut self, row: &mut Row) -> Result<i64, StoreError> {
        let thread = ThreadRow::read(row)?.thread;
        let (event, message) = row::read_message(row)?;
        if !self.has_enough()
            && let Some(hit) = hit(self.search, message, thread, None)
        {
            self.hits.push(hit);
        }
        Ok(event.0)
    }

    fn found(mut self, progress: Progress) -> Found {
        let truncated = self.hits.len() > self.search.limit || !self.warnings.is_empty();
        if self.search.rank {
            // The sort is stable: of two that are equally good the newer one is first.
            let score = |hit: &Hit| hit.score.unwrap_or(0.0);
            self.hits.sort_by(|a, b| score(b).total_cmp(&score(a)));
        }
        self.hits.truncate(self.search.limit);
        Found {
            hits: self.hits,
            truncated,
            indexed_through: EventId(progress.through),
            documents: progress.documents,
            newest: EventId(self.newest),
            warnings: self.warnings,
        }
    }
}

/// A message as a hit, if it is one.
fn hit(search: &Search, message: Message, thread: Thread, archived: Option<&str>) -> Option<Hit> {
    if !search.filter.matches(&message, &thread) {
        return None;
    }
    let payload = message.payload_json.to_string();
    let document = Document::of(&message, &thread.subject, &payload);
    if !search.query.matches(&document) {
        return None;
    }
    let snippet = document.snippet(&search.query);
    let score = search.rank.then(|| search.query.score(&document));
    Some(Hit {
        message,
        thread,
        snippet,
        score,
        archived: archived.map(str::to_owned),
    })
}

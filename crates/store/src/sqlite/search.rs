//! The search index of a SQLite store: a file of its own beside it.
//!
//! It is not in the store, because SQLite reads the whole schema in every process and a send would pay
//! for tables that it never uses. It is a cache: whoever finds it missing, damaged, of other rules or of
//! another store makes it anew. It is never torn by a loss of power, because it is a database in WAL mode
//! that is synced when its log is moved; what is lost then is only progress.

mod archive;
mod file;

use rusqlite::{Connection, Statement, params};

use crate::driver::{Driver, Mode};
use crate::error::StoreError;
use crate::search::{Archive, BATCH, Entry, Index, Progress, Trouble, Wanted, unindexed};
use crate::sql;

pub(crate) use file::SearchFile;

/// No content is kept: the store has it. The words are split already, and `ascii` leaves everything
/// that is not ASCII as it is.
const SCHEMA: &str = "
CREATE TABLE progress (
    id        INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    through   INTEGER NOT NULL,
    random    INTEGER NOT NULL, -- of the message at `through`: tells this store from any other
    documents INTEGER NOT NULL
);
INSERT INTO progress VALUES (1, 0, 0, 0);
CREATE TABLE days (
    day         INTEGER NOT NULL PRIMARY KEY,
    first_event INTEGER NOT NULL,
    last_event  INTEGER NOT NULL
);
CREATE VIRTUAL TABLE words USING fts5(
    subject, summary, body, payload, facets, content = '', columnsize = 0, tokenize = 'ascii'
);
CREATE TABLE archives (
    month TEXT NOT NULL PRIMARY KEY,
    stamp TEXT NOT NULL
);
CREATE TABLE archived (
    archived_no INTEGER NOT NULL PRIMARY KEY,
    line        TEXT NOT NULL
);
CREATE VIRTUAL TABLE archived_words USING fts5(
    subject, summary, body, payload, facets, content = '', contentless_delete = 1, tokenize = 'ascii'
);
";

const CLEAR: &str = "DROP TABLE words; DROP TABLE days; DROP TABLE progress;
DROP TABLE archived_words; DROP TABLE archived; DROP TABLE archives;";

impl Index for SearchFile {
    fn advance(&mut self, driver: &mut dyn Driver) -> Result<bool, Trouble> {
        let found = self.run(progress)?;
        // Most searches find nothing to do, and need no lock for it.
        let (is_ours, batch) = due(driver, found)?;
        if is_ours && batch.is_empty() {
            return Ok(false);
        }
        self.run(|index| index.execute_batch("BEGIN IMMEDIATE"))?;
        let outcome = self.advance_locked(driver, found, is_ours, batch);
        match outcome {
            Err(_) => self.roll_back(),
            Ok(false) => self.move_log(),
            Ok(true) => {}
        }
        outcome
    }

    fn enter(&mut self, driver: &mut dyn Driver) -> Result<Progress, Trouble> {
        let mark = self.run(|index| {
            index.execute_batch("BEGIN")?;
            progress(index)
        })?;
        // It may be another store's, and it may not have been possible to make it anew.
        if is_of(driver, mark)? {
            Ok(mark.progress)
        } else {
            Ok(Progress::default())
        }
    }

    fn newest(
        &mut self,
        _driver: &mut dyn Driver,
        wanted: &Wanted<'_>,
        last: i64,
        limit: i64,
    ) -> Result<Vec<i64>, Trouble> {
        let text = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC LIMIT ?4";
        let query = wanted.query.fts5(&wanted.facets);
        self.run(|index| {
            index
                .prepare_cached(text)?
                .query_map(params![query, wanted.first, last, limit], |row| row.get(0))?
                .collect()
        })
    }

    fn events_of_days(
        &mut self,
        _driver: &mut dyn Driver,
        first: i64,
        last: i64,
    ) -> Result<(i64, i64), Trouble> {
        let text = "SELECT COALESCE(MIN(first_event), 1), COALESCE(MAX(last_event), 0) FROM days WHERE day BETWEEN ?1 AND ?2";
        self.run(|index| {
            index
                .prepare_cached(text)?
                .query_row([first, last], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    fn archives(&mut self, _driver: &mut dyn Driver) -> Result<Vec<(String, String)>, Trouble> {
        self.run(archive::list)
    }

    fn replace_archive(
        &mut self,
        _driver: &mut dyn Driver,
        archive: &Archive<'_>,
        entries: &mut dyn Iterator<Item = (Entry, String)>,
    ) -> Result<(), Trouble> {
        self.run(|index| index.execute_batch("BEGIN IMMEDIATE"))?;
        let outcome = self.run(|index| {
            archive::replace(index, archive, entries)?;
            index.execute_batch("COMMIT")
        });
        match outcome {
            Ok(()) => self.move_log(),
            Err(_) => self.roll_back(),
        }
        outcome
    }

    fn archived(
        &mut self,
        _driver: &mut dyn Driver,
        wanted: &Wanted<'_>,
        last: i64,
        limit: i64,
    ) -> Result<Vec<(i64, String)>, Trouble> {
        let query = wanted.query.fts5(&wanted.facets);
        self.run(|index| archive::newest(index, &query, last, limit))
    }

    fn leave(&mut self) {
        self.roll_back();
    }

    fn mend(&mut self, attempt: u32) -> bool {
        let inode = self.close();
        // Another process may have made it anew since it was opened here.
        if attempt == 0 && inode.is_some() {
            return true;
        }
        self.remove(inode).is_ok()
    }
}

impl SearchFile {
    /// One batch, in a transaction that has begun. Another process may have done it in the meantime.
    fn advance_locked(
        &mut self,
        driver: &mut dyn Driver,
        found: Mark,
        mut is_ours: bool,
        mut batch: Vec<Entry>,
    ) -> Result<bool, Trouble> {
        let now = self.run(progress)?;
        if now != found {
            (is_ours, batch) = due(driver, now)?;
        }
        if !is_ours {
            self.run(|index| {
                index
                    .execute_batch(CLEAR)
                    .and_then(|()| index.execute_batch(SCHEMA))
            })?;
            (_, batch) = due(driver, Mark::default())?;
        }
        self.run(|index| {
            add(index, &batch)?;
            index.execute_batch("COMMIT")
        })?;
        Ok(batch.len() >= usize::try_from(BATCH).unwrap_or(usize::MAX))
    }
}

/// How far the index has come, and the random part of the last message in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Mark {
    progress: Progress,
    random: i64,
}

fn progress(connection: &Connection) -> rusqlite::Result<Mark> {
    connection
        .prepare_cached("SELECT through, documents, random FROM progress")?
        .query_row([], |row| {
            Ok(Mark {
                progress: Progress {
                    through: row.get(0)?,
                    documents: row.get(1)?,
                },
                random: row.get(2)?,
            })
        })
}

/// Whether an index with this mark is of this store. The mark is always a message, and its random part
/// tells: a store that has it has everything before it too.
fn is_of(driver: &mut dyn Driver, mark: Mark) -> Result<bool, StoreError> {
    let through = mark.progress.through;
    if through == 0 {
        return Ok(true);
    }
    let mut rows = driver.query(&sql::RANDOM_OF_EVENT, &[through.into()])?;
    let random = rows.first_mut().map_or(Ok(None), |row| row.maybe_int())?;
    Ok(random == Some(mark.random))
}

/// Whether an index with this mark is of this store, and what it lacks.
fn due(driver: &mut dyn Driver, mark: Mark) -> Result<(bool, Vec<Entry>), StoreError> {
    driver.begin(Mode::Read)?;
    let outcome = is_of(driver, mark).and_then(|is_ours| {
        let batch = if is_ours {
            unindexed(driver, mark.progress.through)?
        } else {
            Vec::new()
        };
        Ok((is_ours, batch))
    });
    driver.rollback();
    outcome
}

fn add(connection: &Connection, batch: &[Entry]) -> rusqlite::Result<()> {
    let Some(last) = batch.last() else {
        return Ok(());
    };
    let mut words = connection.prepare_cached(
        "INSERT INTO words (rowid, subject, summary, body, payload, facets) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut date = connection.prepare_cached(
        "INSERT INTO days VALUES (?1, ?2, ?2) ON CONFLICT (day)
         DO UPDATE SET first_event = MIN(first_event, excluded.first_event), last_event = MAX(last_event, excluded.last_event)",
    )?;
    let mut dated = None;
    for (i, entry) in batch.iter().enumerate() {
        insert(&mut words, entry)?;
        // The first and the last of a run of one day say what those between would say.
        let is_last = batch.get(i + 1).is_none_or(|next| next.day != entry.day);
        if dated != Some(entry.day) || is_last {
            date.execute(params![entry.day, entry.number])?;
            dated = Some(entry.day);
        }
    }
    let documents = i64::try_from(batch.len()).unwrap_or(0);
    connection
        .prepare_cached(
            "UPDATE progress SET through = ?1, random = ?2, documents = documents + ?3",
        )?
        .execute(params![last.number, last.random, documents])?;
    Ok(())
}

/// Adds the words of a message to a table of words.
fn insert(statement: &mut Statement<'_>, entry: &Entry) -> rusqlite::Result<()> {
    let document = entry.document();
    let [subject, summary, body, payload] = document.fields.each_ref().map(|field| {
        let words: Vec<_> = field.words.iter().map(|word| word.text.as_str()).collect();
        words.join(" ")
    });
    let facets = entry.facets.join(" ");
    statement
        .execute(params![
            entry.number,
            subject,
            summary,
            body,
            payload,
            facets
        ])
        .map(drop)
}

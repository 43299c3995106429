//! The store that is copied to: what it says of itself until it is finished.

use inbox_core::sabotage::planted;
use inbox_core::{Code, Refusal};
use serde::{Deserialize, Serialize};

use super::row::{self, Line, Part};
use super::tables::{TABLES, Table};
use super::text::{self, Engine, Texts};
use super::verify;
use crate::driver::{Driver, Mode};
use crate::error::StoreError;
use crate::fail::{Armed, Point};
use crate::location::Location;
use crate::sql::{self, SCHEMA_VERSION};

/// Where the note is, in the table `meta`.
const NOTE: &str = "moving";

/// How far a copy is, written with what was copied. Its text is what the next write goes by: who finds another
/// one is not the only one who copies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    /// What is copied, as it is told from others.
    pub(super) source: String,
    /// What is copied, as it is shown.
    pub(super) from: String,
    /// What the source held when the copy began.
    pub(super) mark: String,
    /// The process that copies.
    run: String,
    /// The table that is copied.
    pub(super) table: usize,
    /// The last key of it.
    pub(super) after: Vec<Part>,
}

impl Note {
    pub(super) fn new(source: &str, from: &str, mark: &str) -> Result<Note, StoreError> {
        Ok(Note {
            source: source.to_owned(),
            from: from.to_owned(),
            mark: mark.to_owned(),
            run: new_run()?,
            table: 0,
            after: TABLES.first().map(row::start).unwrap_or_default(),
        })
    }

    fn text(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(|error| StoreError::Database(error.to_string()))
    }
}

fn new_run() -> Result<String, StoreError> {
    let number = getrandom::u64()
        .map_err(|error| StoreError::Database(format!("no random numbers: {error}")))?;
    Ok(format!("{number:016x}"))
}

/// What an unfinished copy says it is a copy of, for those who may not use it.
pub(crate) fn source_of(driver: &mut dyn Driver) -> Option<String> {
    driver.begin(Mode::Read).ok()?;
    let found = read_note(driver);
    driver.rollback();
    found.ok().flatten().map(|note| note.from)
}

fn read_note(driver: &mut dyn Driver) -> Result<Option<Note>, StoreError> {
    let mut rows = driver.query(&sql::LOAD_META, &[NOTE.into()])?;
    let Some(row) = rows.first_mut() else {
        return Ok(None);
    };
    let text = row.text()?;
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|_| StoreError::Unreadable("a note of a copy that cannot be read".into()))
}

/// The store that is copied to.
pub(super) struct Target {
    pub(super) driver: Box<dyn Driver>,
    pub(super) engine: Engine,
    pub(super) texts: Vec<Texts>,
    /// Where it is, as it is shown.
    pub(super) to: String,
    armed: Armed,
}

impl Target {
    /// Opens the store, and makes it when there is none.
    pub(super) fn open(location: &Location) -> Result<Target, Refusal> {
        match crate::Store::init(location) {
            // An unfinished copy is what is gone on with.
            Ok(_) | Err(StoreError::Moving { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let mut driver: Box<dyn Driver> = match location {
            Location::File(path) => Box::new(crate::sqlite::Sqlite::open(path)?),
            Location::Postgres(url) => Box::new(crate::postgres::Postgres::connect(url)?),
        };
        let armed = if crate::fail::is_asked_for() && crate::open::is_for_tests(driver.as_mut())? {
            Armed::from_environment()
        } else {
            Armed::default()
        };
        let engine = Engine::of(location);
        Ok(Target {
            driver,
            engine,
            texts: TABLES
                .iter()
                .map(|table| Texts::of(table, engine))
                .collect(),
            to: location.named(),
            armed,
        })
    }

    /// The note of an unfinished copy; nothing when the store is empty. Refused when it holds anything else.
    pub(super) fn begun(&mut self, source: &str, from: &str) -> Result<Option<Note>, Refusal> {
        let version = self.driver.schema_version()?;
        self.driver.begin(Mode::Read)?;
        let found = self.look(version);
        self.driver.rollback();
        let to = &self.to;
        match found? {
            Held::Nothing => Ok(None),
            Held::Copy(note) if note.source == source && version == -SCHEMA_VERSION => {
                Ok(Some(note))
            }
            Held::Copy(note) => {
                let by = if note.source == source {
                    ", begun by another version of inbox"
                } else {
                    ""
                };
                Err(Refusal::new(
                    Code::AlreadyExists,
                    format!("{to} is an unfinished copy of {}{by}", note.from),
                )
                .hint(format!(
                    "inbox migrate --from {from} --to a new place; remove {to} if nobody needs it"
                )))
            }
            Held::Rows(table) => Err(Refusal::new(
                Code::AlreadyExists,
                format!("{to} is not empty: it holds {table}"),
            )
            .hint("inbox migrate copies into a new or an empty store: name another with --to")),
        }
    }

    fn look(&mut self, version: i64) -> Result<Held, StoreError> {
        if version < 0 {
            return Ok(match read_note(self.driver.as_mut())? {
                Some(note) => Held::Copy(note),
                None => Held::Nothing,
            });
        }
        for (table, texts) in TABLES.iter().zip(&self.texts) {
            if !self.driver.query(texts.any, &[])?.is_empty() {
                return Ok(Held::Rows(table.name));
            }
        }
        Ok(Held::Nothing)
    }

    /// Runs `f` in one transaction.
    fn write(
        &mut self,
        f: impl FnOnce(&mut Target) -> Result<(), Refusal>,
        [before, after]: [Point; 2],
    ) -> Result<(), Refusal> {
        self.driver.begin(Mode::Write)?;
        if let Err(refusal) = f(self) {
            self.driver.rollback();
            return Err(refusal);
        }
        self.armed.reach(before);
        if let Err(error) = self.driver.commit() {
            self.driver.rollback();
            return Err(error.into());
        }
        self.armed.reach(after);
        Ok(())
    }

    /// Takes an empty store for a copy: from now on nobody else opens it.
    pub(super) fn begin(&mut self, note: &Note) -> Result<(), Refusal> {
        let text = note.text()?;
        let begin = |target: &mut Target| {
            // Somebody may have written since it was looked at.
            if let Held::Rows(table) = target.look(0)? {
                return Err(Refusal::new(
                    Code::AlreadyExists,
                    format!("{} is not empty any more: it holds {table}", target.to),
                )
                .hint(
                    "inbox migrate copies into a new or an empty store: name another with --to",
                ));
            }
            let driver = target.driver.as_mut();
            driver.query(&sql::SAVE_META, &[NOTE.into(), text.as_str().into()])?;
            driver.query(text::set_version(target.engine, true), &[])?;
            Ok(())
        };
        self.write(begin, [Point::MoveBeforeCommit, Point::MoveAfterCommit])
    }

    /// Takes an unfinished copy over from whoever died or still works on it.
    pub(super) fn take_over(&mut self, note: &mut Note) -> Result<(), Refusal> {
        let taken = Note {
            run: new_run()?,
            ..note.clone()
        };
        self.advance(note, taken, |_| Ok(()))
    }

    /// Writes down what the source holds now.
    pub(super) fn remark(&mut self, note: &mut Note, mark: &str) -> Result<(), Refusal> {
        let marked = Note {
            mark: mark.to_owned(),
            ..note.clone()
        };
        self.advance(note, marked, |_| Ok(()))
    }

    /// Empties an unfinished copy, to begin again.
    pub(super) fn clear(&mut self, note: &mut Note) -> Result<(), Refusal> {
        let cleared = Note::new(&note.source, &note.from, &note.mark)?;
        self.advance(note, cleared, |target| {
            for statement in text::clear(target.engine) {
                target.driver.query(statement, &[])?;
            }
            Ok(())
        })
    }

    /// Adds rows and writes down how far that is.
    pub(super) fn add(
        &mut self,
        note: &mut Note,
        table: &Table,
        lines: Vec<Line>,
        is_last: bool,
    ) -> Result<(), Refusal> {
        let mut next = note.clone();
        if let Some(line) = lines.last() {
            next.after = row::key(table, line);
        }
        if is_last {
            next.table += 1;
            next.after = TABLES.get(next.table).map(row::start).unwrap_or_default();
        }
        let place = note.table;
        let add = |target: &mut Target| {
            if !lines.is_empty() {
                let (engine, texts) = (target.engine, &target.texts[place]);
                let added = row::add(target.driver.as_mut(), table, engine, texts, lines);
                added.map_err(|error| unfit(table, error))?;
            }
            Ok(())
        };
        if planted("move_note_ahead") {
            self.advance(note, next, |_| Ok(()))?;
            return self.write(add, [Point::MoveBeforeCommit, Point::MoveAfterCommit]);
        }
        self.advance(note, next, add)
    }

    fn advance(
        &mut self,
        note: &mut Note,
        next: Note,
        f: impl FnOnce(&mut Target) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let (was, is) = (note.text()?, next.text()?);
        self.write(
            |target| {
                let params = [is.as_str().into(), was.as_str().into()];
                if target.driver.query(text::advance(), &params)?.is_empty() {
                    return Err(taken_over(&target.to));
                }
                f(target)
            },
            [Point::MoveBeforeCommit, Point::MoveAfterCommit],
        )?;
        *note = next;
        Ok(())
    }

    /// Lets the numbers of new rows follow those that were copied, and PostgreSQL know what its tables hold.
    pub(super) fn settle(&mut self, floors: &[Option<i64>]) -> Result<(), StoreError> {
        if self.engine == Engine::Sqlite {
            return Ok(());
        }
        self.driver.begin(Mode::Write)?;
        let mut settle = || {
            for (table, floor) in TABLES.iter().zip(floors) {
                if let (Some(statement), Some(floor @ 1..)) = (text::continue_after(table), floor) {
                    self.driver.query(statement, &[(*floor).into()])?;
                }
                self.driver.query(text::analyze(table), &[])?;
            }
            Ok(())
        };
        let settled = settle().and_then(|()| self.driver.commit());
        if settled.is_err() {
            self.driver.rollback();
        }
        settled
    }

    /// Makes a checked copy a store like any other.
    pub(super) fn end(&mut self, note: &Note) -> Result<(), Refusal> {
        let text = note.text()?;
        let end = |target: &mut Target| {
            let closed = target
                .driver
                .query(text::close(), &[text.as_str().into()])?;
            if closed.is_empty() {
                return Err(taken_over(&target.to));
            }
            let version = text::set_version(target.engine, false);
            target.driver.query(version, &[])?;
            Ok(())
        };
        self.write(end, [Point::MoveBeforeEnd, Point::MoveAfterEnd])
    }
}

/// What the database's rules keep out does not fit what is there: of a copy that is gone on with, rows that the
/// source had otherwise then.
fn unfit(table: &Table, error: StoreError) -> Refusal {
    let text = error.to_string();
    match error {
        StoreError::Raced => verify::mismatch(table, &[]),
        StoreError::Database(_) if text.contains("constraint") => verify::mismatch(table, &[]),
        error => error.into(),
    }
}

/// What a store holds before a copy.
enum Held {
    Nothing,
    Copy(Note),
    Rows(&'static str),
}

fn taken_over(to: &str) -> Refusal {
    Refusal::new(
        Code::AlreadyExists,
        format!("another inbox migrate is at work on {to}"),
    )
    .hint("inbox migrate needs to be run once; wait for the other one, and run it again if that ends early")
}

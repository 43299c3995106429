//! A store moves: everything in it is copied into an empty other one, of either sort.
//!
//! **What stays.** Every id, token, number and row. In SQLite an entry's key is the number of its event and of its
//! message; in PostgreSQL those are two numbers. A row on its way has both: PostgreSQL keeps the message's as the
//! key and the event's beside it, SQLite keeps the event's as the key and, where it differs, the message's beside
//! it (`message_no`). So cursors and ids that somebody holds stay good, and a copy of a copy in the first
//! database is the same rows again.
//!
//! **What is copied** is what one snapshot of the source holds, and others may go on writing there: what they
//! write after it is not in the copy. A batch of rows is committed together with a note of how far it is, so a
//! process that dies loses a batch at most. The next one has another snapshot. If the number of the newest event
//! or the number of rows in any table is another one by then, it begins again. What changes without that (when
//! somebody was last seen, a bookmark that moved, an intake row that was refused) is found by the comparison at
//! the end, which reads both stores row by row, the source in the same snapshot that the last rows were copied
//! from; a copy that was gone on with and differs is begun again, and one that was made in one go and differs is
//! refused.
//!
//! **Nobody else** uses a copy before it has passed that: its schema has a negative version until then, which
//! every opening of a store reads anyway.
//!
//! Search indexes are not copied: the first search makes one.

mod row;
mod tables;
mod target;
mod text;
mod verify;

use std::collections::BTreeMap;

use inbox_core::sabotage::planted;
use inbox_core::{Code, EventId, Refusal};
use sha2::{Digest, Sha256};

use crate::driver::{Driver, Mode};
use crate::error::StoreError;
use crate::location::Location;
use crate::sql;

use row::Pace;
use tables::TABLES;
pub use tables::known_columns;
pub(crate) use target::source_of;
use target::{Note, Target};
use text::{Engine, Texts};
use verify::Stream;

/// How often a snapshot is taken again because somebody committed an event that has no number in it.
const SNAPSHOTS: u32 = 1000;

/// How far a move is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The table.
    pub table: &'static str,
    /// Whether it is compared; else it is copied.
    pub is_comparing: bool,
    /// How many rows are done; each is copied and compared.
    pub done: i64,
    /// How many there are to do.
    pub total: i64,
}

/// A store that has moved.
#[derive(Debug, Clone)]
pub struct Moved {
    /// How many rows each table has.
    pub rows: BTreeMap<&'static str, i64>,
    /// The hash of all rows: the same for the same content in either database.
    pub sha256: String,
    /// Whether it went on where another process had ended.
    pub resumed: bool,
    /// Whether an earlier copy was given up, because the source has changed since.
    pub restarted: bool,
    /// The number of the newest event.
    pub next_event_id: EventId,
}

/// What a snapshot of the source holds.
struct Plan {
    counts: Vec<i64>,
    floors: Vec<Option<i64>>,
    newest: i64,
}

impl Plan {
    /// What tells whether the source is what it was.
    fn mark(&self) -> String {
        let counts: Vec<String> = self.counts.iter().map(ToString::to_string).collect();
        format!("{} {}", self.newest, counts.join(" "))
    }

    fn total(&self) -> i64 {
        2 * self.counts.iter().sum::<i64>()
    }
}

/// Copies the store at `from` into the empty or new store at `to`, and compares them. `report` is told of every
/// batch. `last` is what else belongs to the copy, such as files beside the store; it is done before anybody may
/// use the copy, and again by the process that goes on when one died.
pub fn move_store(
    from: &Location,
    to: &Location,
    report: &mut dyn FnMut(Progress),
    last: &mut dyn FnMut() -> Result<(), Refusal>,
) -> Result<Moved, Refusal> {
    let store = crate::Store::open(from)?;
    let mut driver = store.driver();
    let mut source = Source {
        engine: Engine::of(from),
        texts: TABLES
            .iter()
            .map(|table| Texts::of(table, Engine::of(from)))
            .collect(),
        driver: driver.as_mut(),
    };
    let (identity, shown) = (identity(from, source.driver)?, from.named());
    if is_same(from, to) {
        return Err(
            Refusal::input(format!("{shown} cannot be copied into itself"))
                .hint("inbox migrate --from one store --to another"),
        );
    }
    let mut target = Target::open(to)?;
    let outcome = run(&mut source, &mut target, &identity, &shown, report)
        .and_then(|(note, moved)| last().and_then(|()| target.end(&note)).map(|()| moved));
    source.driver.rollback();
    outcome
}

fn run(
    source: &mut Source<'_>,
    target: &mut Target,
    identity: &str,
    shown: &str,
    report: &mut dyn FnMut(Progress),
) -> Result<(Note, Moved), Refusal> {
    let begun = target.begun(identity, shown)?;
    let mut plan = source.snapshot()?;
    let resumed = begun.is_some();
    let mut restarted = false;
    let mut note = if let Some(mut note) = begun {
        target.take_over(&mut note)?;
        if note.mark != plan.mark() {
            restarted = true;
            // Emptying may take longer than a snapshot may wait.
            source.driver.rollback();
            target.clear(&mut note)?;
            plan = source.snapshot()?;
        }
        note
    } else {
        let note = Note::new(identity, shown, &plan.mark())?;
        target.begin(&note)?;
        note
    };
    note = remarked(target, note, &plan)?;
    let mut compared = copy(source, target, &mut note, &plan, report)
        .and_then(|()| compare(source, target, &plan, report));
    if let Err(refusal) = &compared
        && refusal.code == Code::VerifyMismatch
        && resumed
        && !restarted
    {
        // Something has changed in the source that is not seen in its numbers.
        restarted = true;
        target.clear(&mut note)?;
        compared = copy(source, target, &mut note, &plan, report)
            .and_then(|()| compare(source, target, &plan, report));
    }
    let sha256 = compared?;
    let names = TABLES.iter().map(|table| table.name);
    let moved = Moved {
        rows: names.zip(plan.counts).collect(),
        sha256,
        resumed: resumed && !restarted,
        restarted,
        next_event_id: EventId(plan.newest),
    };
    Ok((note, moved))
}

/// The note with the mark of this snapshot, when it is another one since the copy was emptied.
fn remarked(target: &mut Target, note: Note, plan: &Plan) -> Result<Note, Refusal> {
    let mut note = note;
    if note.mark != plan.mark() {
        target.remark(&mut note, &plan.mark())?;
    }
    Ok(note)
}

/// The store that is copied.
struct Source<'a> {
    driver: &'a mut dyn Driver,
    engine: Engine,
    texts: Vec<Texts>,
}

impl Source<'_> {
    /// Begins the one read transaction that everything is copied from. Every event in it has its number.
    fn snapshot(&mut self) -> Result<Plan, Refusal> {
        for _ in 0..SNAPSHOTS {
            self.driver.number()?;
            self.driver.begin(Mode::Read)?;
            if self.engine == Engine::Sqlite {
                return Ok(self.plan()?);
            }
            if self.driver.query(&sql::UNNUMBERED, &[])?.is_empty() {
                let plan = self.plan()?;
                self.driver.query(text::along_indexes(), &[])?;
                return Ok(plan);
            }
            self.driver.rollback();
        }
        Err(StoreError::Busy(
            "others write so much that no moment without an unnumbered event was found".into(),
        )
        .into())
    }

    fn plan(&mut self) -> Result<Plan, StoreError> {
        let mut plan = Plan {
            counts: Vec::new(),
            floors: Vec::new(),
            newest: 0,
        };
        for texts in &self.texts {
            plan.counts.push(number(self.driver, texts.count)?);
            plan.floors.push(match texts.floor {
                Some(floor) => Some(number(self.driver, floor)?),
                None => None,
            });
        }
        plan.newest = number(self.driver, &sql::NEWEST_EVENT)?;
        Ok(plan)
    }
}

fn number(driver: &mut dyn Driver, statement: &'static sql::Sql) -> Result<i64, StoreError> {
    match driver.query(statement, &[])?.first_mut() {
        Some(row) => row.int(),
        None => Err(StoreError::Unreadable(format!(
            "nothing for {}",
            statement.name
        ))),
    }
}

fn copy(
    source: &mut Source<'_>,
    target: &mut Target,
    note: &mut Note,
    plan: &Plan,
    report: &mut dyn FnMut(Progress),
) -> Result<(), Refusal> {
    // What an earlier process copied of a table counts with its end.
    let mut done: i64 = plan.counts.iter().take(note.table).sum();
    while let Some(table) = TABLES.get(note.table) {
        let texts = &source.texts[note.table];
        let mut pace = Pace::new();
        let place = note.table;
        let whole = done + plan.counts[place];
        while note.table == place {
            let limit = pace.0;
            let lines = row::page(source.driver, table, texts, &note.after, limit)?;
            pace.learn(&lines);
            let count = i64::try_from(lines.len()).unwrap_or(i64::MAX);
            target.add(note, table, lines, count < limit)?;
            done = (done + count).min(whole);
            report(Progress {
                table: table.name,
                is_comparing: false,
                done,
                total: plan.total(),
            });
        }
        done = whole;
    }
    target.settle(&plan.floors).map_err(Refusal::from)
}

/// Compares every row of both; the hash of all.
fn compare(
    source: &mut Source<'_>,
    target: &mut Target,
    plan: &Plan,
    report: &mut dyn FnMut(Progress),
) -> Result<String, Refusal> {
    let mut done: i64 = plan.counts.iter().sum();
    let total = plan.total();
    let mut tell = |table: &'static str, done: i64| {
        report(Progress {
            table,
            is_comparing: true,
            done,
            total,
        });
    };
    tell("", done);
    target.driver.begin(Mode::Read)?;
    let mut run = || {
        if target.engine == Engine::Postgres {
            target.driver.query(text::along_indexes(), &[])?;
        }
        let mut whole = Sha256::new();
        let checked = if planted("move_unchecked") {
            0
        } else {
            TABLES.len()
        };
        for (place, table) in TABLES.iter().take(checked).enumerate() {
            let ours = Stream::new(source.driver, table, &source.texts[place]);
            let theirs = Stream::new(target.driver.as_mut(), table, &target.texts[place]);
            let before = done;
            let sum = verify::compare(table, ours, theirs, &mut || {
                done += 1;
                if (done - before) % 1000 == 0 {
                    tell(table.name, done);
                }
            })?;
            if done - before != plan.counts[place] {
                return Err(unreached(table.name));
            }
            tell(table.name, done);
            whole.update(sum);
        }
        let sum: row::Sum = whole.finalize().into();
        Ok(sum.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    let outcome = run();
    target.driver.rollback();
    outcome
}

/// A row that belongs to nothing is in no page.
fn unreached(table: &str) -> Refusal {
    Refusal::new(
        Code::StoreCorrupt,
        format!("a row of {table} names an entry that is not there, and cannot be copied"),
    )
    .hint("inbox doctor says what is wrong with the source")
}

/// What tells a store from others: a file by its path, a schema by its server.
fn identity(location: &Location, driver: &mut dyn Driver) -> Result<String, StoreError> {
    match location {
        Location::File(path) => Ok(whole_path(path)),
        Location::Postgres(_) => {
            let found = driver.describe()?;
            let part = |name: &str| {
                let found = found.iter().find(|(key, _)| *key == name);
                found.map_or("", |(_, value)| value.as_str())
            };
            // Without the server's version, which may change.
            let server = part("server").split_once(" at ").unwrap_or_default().1;
            Ok(format!("postgres://{server}?schema={}", part("schema")))
        }
    }
}

fn whole_path(path: &std::path::Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}

fn is_same(from: &Location, to: &Location) -> bool {
    match (from, to) {
        (Location::File(from), Location::File(to)) => whole_path(from) == whole_path(to),
        (from, to) => from == to,
    }
}

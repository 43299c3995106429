//! SQLite: one file, many processes, every commit on disk before it is acknowledged.

mod bind;
mod failure;
mod file;
mod lock;
mod log;
mod mark;
mod memo;
mod place;
mod schema;
mod search;
mod sharing;

use std::fs::File;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::time::Duration;

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use rusqlite::{Connection, OpenFlags, config::DbConfig};

use crate::bell::{Bell, Key};
use crate::driver::{Driver, Mode, Wrote};
use crate::error::StoreError;
use crate::fail::{Armed, Point};
use crate::sql::{Migration, Sql};
use crate::value::{Param, Row};

pub(crate) use crate::private::beside;
use bind::{Bound, value};
use failure::{corrupt, database};
pub(crate) use file::{fs_kind, init, is_network_fs};
use lock::WriteLock;
use mark::Mark;
pub use mark::noted_event;
use place::Place;
pub(crate) use search::SearchFile;
use sharing::Sharing;

/// Marks a file as an inbox store in SQLite's header: "INBX".
pub(crate) const APPLICATION_ID: i64 = 0x494e_4258;

/// How long a statement waits for another program that has the database locked. Writers of ours wait
/// in the fair lock instead, because SQLite's own waiting starves some of them.
const BUSY: Duration = Duration::from_secs(10);

/// Past so many bytes of log, a commit moves it into the database file: 64 frames. A process that is
/// alone must do it early, because the next one has to read the whole log before its first statement.
const LOG_ALONE: u64 = 64 * 4120;

/// The same while others are writing: they keep the log's index in memory, so a longer log costs
/// nothing, and moving it often would hold everybody up.
const LOG_BUSY: u64 = 1000 * 4120;

/// How many prepared statements are kept: more than there are.
const STATEMENTS: usize = 512;

/// A store of so many pages is checked within a millisecond or two.
const SMALL: i64 = 256;

/// A connection to a SQLite file.
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
    /// Whose the file is.
    owner: u32,
    /// SQLite's log beside the file.
    log: PathBuf,
    /// SQLite's shared index of the log, once a waiter looks at it. It stays the same file while this
    /// connection is open. Never closed: closing any descriptor of a file gives up all locks that this
    /// process holds on it, SQLite's among them.
    index: Option<ManuallyDrop<File>>,
    lock: WriteLock,
    armed: Armed,
    mode: Option<Mode>,
    sharing: Sharing,
    mark: Mark,
}

impl Sqlite {
    /// Opens the store at `path`, which must exist and be one of ours.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let Place {
            path,
            owner,
            is_empty,
            mark,
        } = Place::of(path)?;
        let mut store = Self::connect(&path, owner)?;
        // Before the look: what is noted was committed then, and must be seen.
        let noted = mark.noted(&path, owner);
        store.mark = mark;
        // One look at everything, under one lock.
        store.execute("BEGIN")?;
        let looked = store
            .must_be_ours(is_empty)
            .and_then(|()| store.must_have_come_to(noted));
        let _ = store.connection.execute_batch("ROLLBACK");
        looked?;
        Ok(store)
    }

    fn must_be_ours(&self, is_empty: bool) -> Result<(), StoreError> {
        if self.pragma("application_id")? != APPLICATION_ID {
            let problem = if is_empty {
                "it is empty"
            } else {
                "it belongs to another program"
            };
            return Err(corrupt(&self.path, problem));
        }
        schema::must_be_ours(&self.connection, &self.path, self.pragma("user_version")?)
    }

    /// Opens the file as it is, without asking whose it is.
    fn connect(path: &Path, owner: u32) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(crate::private::plain(path), flags)
            .map_err(|error| database(path, &error))?;
        let set = || -> rusqlite::Result<()> {
            connection.busy_timeout(BUSY)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            // A one-shot process is the last to close, and would move the log each time.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            // A file may come from anybody: nothing in its schema may run code or hide damage.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            // Plans do not depend on what is bound, so nothing is prepared twice (a third of a fetch).
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
            connection.execute_batch(
                "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = ON; PRAGMA foreign_keys = ON;",
            )?;
            if planted("sync_later") {
                connection.execute_batch("PRAGMA synchronous = NORMAL")?;
            }
            Ok(())
        };
        set().map_err(|error| database(path, &error))?;
        let lock = WriteLock::beside(path, owner);
        Ok(Sqlite {
            connection,
            path: path.to_owned(),
            owner,
            log: beside(path, "-wal"),
            index: None,
            lock,
            armed: Armed::default(),
            mode: None,
            sharing: Sharing::default(),
            mark: Mark::default(),
        })
    }

    /// The doorbell beside the store.
    pub(crate) fn bell(&self) -> Result<Bell, StoreError> {
        Bell::beside(beside(&self.path, "-bell"), self.owner)
    }

    /// Arms a fail point; only for stores made for tests.
    pub(crate) fn arm(&mut self, armed: Armed) {
        self.armed = armed;
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        self.connection
            .pragma_query_value(None, name, |row| row.get(0))
            .map_err(|error| self.failed(&error))
    }

    fn execute(&self, text: &str) -> Result<(), StoreError> {
        self.connection
            .execute_batch(text)
            .map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &rusqlite::Error) -> StoreError {
        database(&self.path, error)
    }

    /// Makes sure that a log survives a loss of power before the first commit into it: that its name is
    /// on disk. SQLite would do it again in each process, for a second flush of the disk with each
    /// `inbox send`. The log of a store is kept and emptied, so whoever finds something in it, under
    /// the lock, comes after one who did this.
    fn anchor_log(&self) -> Result<(), StoreError> {
        let cannot = |error: std::io::Error| {
            StoreError::Database(format!("cannot sync {}: {error}", self.log.display()))
        };
        match std::fs::metadata(&self.log) {
            Ok(found) if found.len() > 0 => Ok(()),
            Ok(_) => {
                let folder = self.log.parent().filter(|it| !it.as_os_str().is_empty());
                File::open(folder.unwrap_or(Path::new(".")))
                    .and_then(|folder| folder.sync_all())
                    .map_err(cannot)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(StoreError::Database(format!(
                    "another program has switched {} away from WAL, which every writer here relies on; \
                     PRAGMA journal_mode = WAL switches it back",
                    self.path.display()
                )))
            }
            Err(error) => Err(cannot(error)),
        }
    }

    /// The same for a text that is run again and again.
    fn execute_kept(&self, text: &'static str) -> Result<(), StoreError> {
        let run = || self.connection.prepare_cached(text)?.execute([]);
        run().map(drop).map_err(|error| self.failed(&error))
    }

    /// The head of SQLite's shared index of the log.
    fn head_of_index(&mut self) -> Option<[u8; 48]> {
        if self.index.is_none() {
            let index = File::open(beside(&self.path, "-shm")).ok()?;
            self.index = Some(ManuallyDrop::new(index));
        }
        let mut head = [0; 48];
        let file: &File = self.index.as_ref()?;
        std::os::unix::fs::FileExt::read_exact_at(file, &mut head, 0).ok()?;
        Some(head)
    }

    fn newest_event(&mut self) -> Result<i64, StoreError> {
        let rows = self.query(&crate::sql::NEWEST_EVENT, &[])?;
        let newest = rows.into_iter().next().map(|mut row| row.maybe_int());
        Ok(newest.transpose()?.flatten().unwrap_or(0))
    }

    /// Moves the log into the database file once it is long enough. Never waits for a reader: who
    /// writes next tries again.
    fn checkpoint(&self) {
        let limit = if self.lock.was_contended() {
            LOG_BUSY
        } else {
            LOG_ALONE
        };
        if std::fs::metadata(&self.log).is_ok_and(|found| found.len() > limit) {
            self.armed.reach(Point::BeforeCheckpoint);
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.execute("PRAGMA wal_checkpoint(TRUNCATE)");
            let _ = self.connection.busy_timeout(BUSY);
            self.armed.reach(Point::AfterCheckpoint);
        }
    }

    /// Begins a transaction, whatever it is to be used for.
    fn start(&mut self, mode: Mode) -> Result<(), StoreError> {
        match mode {
            Mode::Read => self.execute("BEGIN")?,
            Mode::Write => {
                self.armed.reach(Point::BeforeLock);
                if planted("deferred_begin") {
                    self.execute("BEGIN")?;
                } else {
                    self.lock.acquire()?;
                    if let Err(error) = self.execute("BEGIN IMMEDIATE") {
                        self.lock.release();
                        return Err(error);
                    }
                    if let Err(error) = self.anchor_log() {
                        let _ = self.connection.execute_batch("ROLLBACK");
                        self.lock.release();
                        return Err(error);
                    }
                }
                self.armed.reach(Point::AfterBegin);
            }
        }
        self.mode = Some(mode);
        Ok(())
    }
}

impl Driver for Sqlite {
    fn begin(&mut self, mode: Mode) -> Result<(), StoreError> {
        self.sharing.forget();
        self.start(mode)
    }

    fn query(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        if let Some(found) = self.sharing.recall(sql, params) {
            return Ok(found);
        }
        let mut run = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.connection.prepare_cached(sql.sqlite)?;
            for (index, param) in params.iter().enumerate() {
                statement.raw_bind_parameter(index + 1, Bound(*param))?;
            }
            let columns = statement.column_count();
            let mut rows = statement.raw_query();
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|index| value(row.get_ref(index)?));
                found.push(Row::new(values.collect::<rusqlite::Result<_>>()?));
            }
            drop(rows);
            self.sharing.note(sql, statement.readonly(), &found);
            Ok(found)
        };
        run().map_err(|error| self.failed(&error))
    }

    fn insert(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<i64, StoreError> {
        // SQLite knows the key of the row that it inserted last, and builds a table to return one.
        let returned = self.query(sql, params)?.into_iter().next();
        let key = match returned {
            Some(mut row) => row.int()?,
            None if self.connection.changes() == 1 => self.connection.last_insert_rowid(),
            None => return Err(StoreError::Unreadable(format!("no key from {}", sql.name))),
        };
        self.sharing.inserted(sql, key);
        self.mark.inserted(sql, key);
        Ok(key)
    }

    fn change(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<(), StoreError> {
        let returned = self.query(sql, params)?;
        if returned.is_empty() && self.connection.changes() == 0 {
            return Err(StoreError::Raced);
        }
        Ok(())
    }

    fn key_of_next_entry(&mut self) -> Result<Option<i64>, StoreError> {
        Ok(self.sharing.next_entry())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.mode == Some(Mode::Write) {
            self.armed.reach(Point::BeforeCommit);
        }
        let is_shared = self.sharing.close();
        if planted("marked_ahead") {
            self.mark.committed(&self.lock);
        }
        // A commit that failed may have left the transaction open; the caller rolls back.
        let committed = self.execute("COMMIT");
        if !planted("failure_unheard") {
            committed?;
        }
        if self.mode.take() == Some(Mode::Write) {
            self.armed.reach(Point::AfterCommit);
            self.mark.committed(&self.lock);
            if is_shared {
                self.checkpoint_beside_readers();
            } else {
                self.checkpoint();
            }
            self.lock.release();
        }
        Ok(())
    }

    fn conclude(&mut self, wrote: Wrote, _rings: &[Key]) -> Result<i64, StoreError> {
        self.commit()?;
        if let Some(entry_no) = wrote.last_entry {
            return self.event_of(entry_no);
        }
        // The write is committed whatever happened after it: it must not be run again.
        self.newest_event()
            .map_err(|error| StoreError::Unknown(error.to_string()))
    }

    fn begin_shared(&mut self) -> Result<(), StoreError> {
        self.start(Mode::Write)?;
        let begun = self.begin_sharing();
        if begun.is_err() {
            self.rollback();
        }
        begun
    }

    fn begin_part(&mut self) -> Result<(), StoreError> {
        // A savepoint outside a transaction would begin one, and its end commit it.
        if self.connection.is_autocommit() {
            return Err(StoreError::Database(format!(
                "{}: a failure ended the transaction that this write was to be part of",
                self.path.display()
            )));
        }
        self.mark.part_begins();
        self.execute_kept("SAVEPOINT part")
    }

    fn end_part(&mut self, wrote: Wrote) -> Result<i64, StoreError> {
        let newest = match wrote.last_entry {
            Some(entry_no) => self.event_of(entry_no)?,
            None => self.newest_event()?,
        };
        self.execute_kept("RELEASE part")?;
        Ok(newest)
    }

    fn undo_part(&mut self) {
        self.sharing.forget();
        self.mark.part_is_undone();
        if !self.connection.is_autocommit() {
            // What cannot be undone must not be committed with the rest.
            let undone = self.execute("ROLLBACK TO part; RELEASE part");
            if undone.is_err() {
                self.rollback();
            }
        }
    }

    fn rollback(&mut self) {
        self.sharing.close();
        self.sharing.forget();
        self.mark.forget();
        if self.mode.take().is_some() {
            let _ = self.connection.execute_batch("ROLLBACK");
            self.lock.release();
        }
    }

    fn now(&mut self) -> Result<Millis, StoreError> {
        Ok(jiff::Timestamp::now().into())
    }

    fn number(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn event_of(&mut self, entry_no: i64) -> Result<i64, StoreError> {
        // One writer at a time: keys are given in the order of commits.
        Ok(entry_no)
    }

    fn schema_version(&mut self) -> Result<i64, StoreError> {
        self.pragma("user_version")
    }

    fn migrate(&mut self, migration: &'static Migration) -> Result<(), StoreError> {
        self.begin(Mode::Write)?;
        let step = || -> Result<(), StoreError> {
            if self.pragma("user_version")? < migration.version {
                // A step may rewrite the text of a constraint, which SQLite lets nobody do by chance.
                let defend = |on| {
                    self.connection
                        .set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, on)
                        .map_err(|error| self.failed(&error))
                };
                defend(false)?;
                let done = self.execute(migration.sqlite);
                defend(true)?;
                done?;
                self.execute(&format!("PRAGMA user_version = {}", migration.version))?;
            }
            Ok(())
        };
        match step() {
            Ok(()) => {
                self.armed.reach(Point::BeforeMigration);
                self.commit()?;
                self.armed.reach(Point::AfterMigration);
                Ok(())
            }
            Err(error) => {
                self.rollback();
                Err(error)
            }
        }
    }

    fn prepare(&mut self, sql: &'static Sql) -> Result<(), StoreError> {
        if sql.sqlite.is_empty() {
            return Ok(());
        }
        self.connection
            .prepare(sql.sqlite)
            .map(drop)
            .map_err(|error| self.failed(&error))
    }

    fn describe(&mut self) -> Result<Vec<(&'static str, String)>, StoreError> {
        let mode: String = self
            .connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .map_err(|error| self.failed(&error))?;
        let log = std::fs::metadata(&self.log).map_or(0, |found| found.len());
        Ok(vec![
            ("engine", format!("SQLite {}", rusqlite::version())),
            ("path", self.path.display().to_string()),
            ("journal_mode", mode),
            ("synchronous", self.pragma("synchronous")?.to_string()),
            ("pages", self.pragma("page_count")?.to_string()),
            ("wal_bytes", log.to_string()),
            ("file_system", fs_kind(&self.path)),
            ("lock_holder", self.lock.holder().unwrap_or_default()),
        ])
    }

    fn check(&mut self) -> Result<Vec<String>, StoreError> {
        let run = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare("PRAGMA integrity_check(20)")?;
            let mut found: Vec<String> = statement
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            found.retain(|line| line != "ok");
            let mut statement = self.connection.prepare("PRAGMA foreign_key_check")?;
            let dangling = statement.query_map([], |row| row.get::<_, String>(0))?;
            for table in dangling.take(20) {
                found.push(format!("a row of {} refers to nothing", table?));
            }
            // A page that another empty one took the place of is sound by itself: only what should be there tells.
            let mut statement = self.connection.prepare(crate::sql::IN_NO_QUEUE)?;
            for lost in statement.query_map([], |row| row.get(0))? {
                found.push(lost?);
            }
            Ok(found)
        };
        let mut found = run().map_err(|error| self.failed(&error))?;
        found.extend(log::damage(&beside(&self.path, "-wal")));
        Ok(found)
    }

    fn look(&mut self, query: &str) -> Result<crate::proof::Rows, StoreError> {
        bind::look(&self.connection, query).map_err(|error| self.failed(&error))
    }

    fn confirm_empty(&mut self) -> Result<(), StoreError> {
        if planted("empty_unconfirmed") || self.pragma("page_count")? > SMALL {
            return Ok(());
        }
        match self.check()?.first() {
            None => Ok(()),
            Some(problem) => Err(corrupt(&self.path, problem)),
        }
    }

    /// The head of SQLite's shared index of the log, which every commit changes at the moment it becomes
    /// visible. `PRAGMA data_version` says the same, and takes and gives back a lock for it, for which
    /// the kernel goes through the locks of all who have the store open: that was most of what a
    /// thousand idle waiters cost. The log's own time would be earlier than the commit, by a sync.
    fn change_mark(&mut self) -> Option<i64> {
        let head = self.head_of_index()?;
        let (words, _) = head.as_chunks::<8>();
        // Half of a change reads as one too, and is looked at again.
        Some(words.iter().fold(0, |mark: i64, word| {
            mark.wrapping_mul(31)
                .wrapping_add(i64::from_ne_bytes(*word))
        }))
    }

    fn backup(&mut self, to: &Path) -> Result<(), StoreError> {
        file::backup(&self.connection, &self.path, to, self.armed)
    }
}

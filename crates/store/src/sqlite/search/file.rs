//! The file of a search index: made, opened, and made anew when it cannot be what it should be.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use rustix::fs::{FlockOperation, flock};

use super::SCHEMA;
use crate::error::StoreError;
use crate::private;
use crate::search::{RULES, Trouble};
use crate::sqlite::failure::database;
use crate::sqlite::{beside, place};

/// How long a search waits for another one that is indexing.
const BUSY: Duration = Duration::from_secs(30);

/// How long a damaged file is waited for, until nobody uses it any more.
const DAMAGED_WITHIN: Duration = Duration::from_secs(2);

/// Past so many bytes of log it is moved into the file, as in the store.
const LOG: u64 = 64 * 4120;

/// The index beside a store, opened when it is first needed.
pub(crate) struct SearchFile {
    path: PathBuf,
    /// Whose the store is.
    owner: u32,
    open: Option<Opened>,
}

struct Opened {
    connection: Connection,
    /// The file that was opened: its name may since have been given to another one.
    inode: u64,
    /// Shared by all who have the index open, so that nobody removes it under another.
    _lock: File,
}

impl SearchFile {
    /// The index beside this store.
    pub(crate) fn beside(store: &Path) -> Self {
        // Whatever links lead to a store, there is one index, beside its file.
        let store = store.canonicalize().unwrap_or_else(|_| store.to_owned());
        let owner = std::fs::metadata(&store).map_or_else(|_| private::user(), |found| found.uid());
        SearchFile {
            path: beside(&store, "-search"),
            owner,
            open: None,
        }
    }

    /// Runs `f` on the index, which is opened first if it is not yet.
    pub(super) fn run<T>(
        &mut self,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Trouble> {
        let outcome = f(&self.opened()?.connection);
        outcome.map_err(|error| trouble(&self.path, &error))
    }

    fn opened(&mut self) -> Result<&Opened, Trouble> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.connect()?,
        };
        Ok(self.open.insert(open))
    }

    fn lock_file(&self) -> Result<File, Trouble> {
        let path = beside(&self.path, "-lock");
        let mut how = private::file();
        how.read(true).write(true).create(true).truncate(false);
        private::open_of(&mut how, &path, self.owner).map_err(|error| unusable(&path, &error))
    }

    fn connect(&self) -> Result<Opened, Trouble> {
        let lock = self.lock_file()?;
        flock(&lock, FlockOperation::LockShared)
            .map_err(|error| unusable(&self.path, &error.into()))?;
        // Made here for its mode. One that exists is not opened: closing it would give up the locks that
        // SQLite holds on it elsewhere in this process.
        match private::file()
            .write(true)
            .create_new(true)
            .open(&self.path)
        {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                private::must_be_ours_or_nothing(&self.path, self.owner)
                    .map_err(|error| unusable(&self.path, &error))?;
            }
            made => drop(made.map_err(|error| unusable(&self.path, &error))?),
        }
        place::must_be_alone(&self.path, self.owner).map_err(Trouble::Unusable)?;
        let inode = inode(&self.path).unwrap_or(0);
        let trouble = |error| trouble(&self.path, &error);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(private::plain(&self.path), flags).map_err(trouble)?;
        let set = || -> rusqlite::Result<i64> {
            connection.busy_timeout(BUSY)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cell_size_check = ON;",
            )?;
            connection.pragma_query_value(None, "user_version", |row| row.get(0))
        };
        let mut version = set().map_err(trouble)?;
        if version == 0 {
            let make = || -> rusqlite::Result<i64> {
                connection.execute_batch("BEGIN IMMEDIATE")?;
                let found: i64 =
                    connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
                if found == 0 {
                    connection.execute_batch(SCHEMA)?;
                    connection.pragma_update(None, "user_version", RULES)?;
                }
                connection.execute_batch("COMMIT")?;
                connection.pragma_query_value(None, "user_version", |row| row.get(0))
            };
            version = make().map_err(trouble)?;
        }
        if version != RULES {
            return Err(Trouble::Damaged(StoreError::Database(format!(
                "{} is of other rules: {version}",
                self.path.display()
            ))));
        }
        Ok(Opened {
            connection,
            inode,
            _lock: lock,
        })
    }

    /// Ends whatever is under way on the index.
    pub(super) fn roll_back(&self) {
        if let Some(open) = &self.open {
            let _ = open.connection.execute_batch("ROLLBACK");
        }
    }

    /// Closes the index; which file it was.
    pub(super) fn close(&mut self) -> Option<u64> {
        self.open.take().map(|open| open.inode)
    }

    /// Moves a log that has grown into the file, so that the next process need not read it first.
    pub(super) fn move_log(&self) {
        let log = beside(&self.path, "-wal");
        if let Some(Opened { connection, .. }) = &self.open
            && std::fs::metadata(log).is_ok_and(|found| found.len() > LOG)
        {
            let _ = connection.busy_timeout(Duration::ZERO);
            let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            let _ = connection.busy_timeout(BUSY);
        }
    }

    /// Removes the file once nobody has it open, unless it is not the one that was found damaged.
    pub(super) fn remove(&self, found: Option<u64>) -> Result<(), Trouble> {
        let lock = self.lock_file()?;
        let begun = Instant::now();
        while let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            if begun.elapsed() > DAMAGED_WITHIN {
                return Err(unusable(&self.path, &error.into()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if found.is_none() || found == inode(&self.path) {
            for suffix in ["-wal", "-shm", ""] {
                let _ = std::fs::remove_file(beside(&self.path, suffix));
            }
        }
        Ok(())
    }
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::metadata(path).map(|found| found.ino()).ok()
}

fn unusable(path: &Path, error: &std::io::Error) -> Trouble {
    let what = format!("cannot open {}", path.display());
    Trouble::Unusable(StoreError::of_file(what, error))
}

/// What an error of the index means.
fn trouble(path: &Path, error: &rusqlite::Error) -> Trouble {
    let meaning = database(path, error);
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::CannotOpen
            | ErrorCode::SystemIoFailure,
        ) => Trouble::Unusable(meaning),
        _ => Trouble::Damaged(meaning),
    }
}

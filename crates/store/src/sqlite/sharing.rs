//! Several writes with one commit, as a server does them: what one has looked up, the next one knows, and the log is moved seldom.

use super::Sqlite;
use super::memo::Memo;
use crate::error::StoreError;
use crate::sql::{self, Sql};
use crate::value::{Param, Row};

/// After so many frames more the log is moved. Its file stays as long as it is: writing over it is cheaper than making it longer.
const LOG_SHARED: u32 = 1000;

/// How much of the database is kept in memory, in KiB below zero: what one who writes all day touches.
const CACHE: &str = "PRAGMA cache_size = -65536";

/// What is known from one shared transaction to the next.
#[derive(Default)]
pub(super) struct Sharing {
    is_open: bool,
    /// A number that changes when another connection commits.
    version: i64,
    memo: Memo,
    /// The key that the next entry gets.
    next_entry: Option<i64>,
    /// How many frames the log had when it was last moved.
    moved: u32,
}

impl Sharing {
    /// What is written from now on is nobody's part. Whether it was until now.
    pub(super) fn close(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }

    /// Forgets what may be another way now.
    pub(super) fn forget(&mut self) {
        self.memo.clear();
        self.next_entry = None;
    }

    pub(super) fn next_entry(&self) -> Option<i64> {
        self.next_entry.filter(|_| self.is_open)
    }

    pub(super) fn recall(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Option<Vec<Row>> {
        if self.is_open {
            self.memo.recall(sql, params)
        } else {
            None
        }
    }

    /// Takes note of a statement that was run.
    pub(super) fn note(&mut self, sql: &'static Sql, is_read: bool, rows: &[Row]) {
        if self.is_open {
            self.memo.note(sql, is_read, rows);
        }
    }

    /// Takes note of a row that was inserted.
    pub(super) fn inserted(&mut self, sql: &'static Sql, key: i64) {
        if std::ptr::eq(sql, &raw const sql::INSERT_ENTRY) {
            self.next_entry = Some(key + 1);
        }
    }
}

impl Sqlite {
    /// Lets the open transaction be shared; what is known still holds unless others have written.
    pub(super) fn begin_sharing(&mut self) -> Result<(), StoreError> {
        let ask = || {
            let mut statement = self.connection.prepare_cached("PRAGMA data_version")?;
            statement.query_row([], |row| row.get(0))
        };
        if self.sharing.version == 0 {
            // One connection that writes for all: it keeps what it touches.
            self.execute(CACHE)?;
        }
        let version: i64 = ask().map_err(|error| self.failed(&error))?;
        if version != self.sharing.version {
            self.sharing.forget();
            self.sharing.version = version;
        }
        self.sharing.is_open = true;
        Ok(())
    }

    /// Moves the log into the database file now and then, as far as no reader needs it.
    pub(super) fn checkpoint_beside_readers(&mut self) {
        let Some(head) = self.head_of_index() else {
            return;
        };
        // The number of frames in the log, where SQLite's format has it.
        let frames = u32::from_ne_bytes([head[16], head[17], head[18], head[19]]);
        if frames < self.sharing.moved {
            self.sharing.moved = 0;
        }
        if frames - self.sharing.moved > LOG_SHARED {
            self.sharing.moved = frames;
            let _ = self.execute("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }
}

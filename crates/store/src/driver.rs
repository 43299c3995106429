//! What a database must be able to do; everything else is written once, above it.

use inbox_core::record::Millis;

use crate::bell::Key;
use crate::error::StoreError;
use crate::sql::Sql;
use crate::value::{Param, Row};

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A consistent snapshot; nothing is written.
    Read,
    /// It writes, and takes what lock it needs before it reads.
    Write,
}

/// What a transaction that ends has written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wrote {
    /// Its last entry.
    pub(crate) last_entry: Option<i64>,
    /// Whether its answer is remembered, and given again with the number of that entry.
    pub(crate) is_remembered: bool,
}

/// One connection to a database. The caller keeps the order: begin, queries, then commit or roll back.
pub(crate) trait Driver: Send {
    /// Begins a transaction.
    fn begin(&mut self, mode: Mode) -> Result<(), StoreError>;

    /// Waits, within a transaction that was just begun, for the others who lost races too, where several write at once.
    fn take_turns(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Runs a statement and gives its rows.
    fn query(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError>;

    /// Runs a statement whose rows nobody needs. It may be sent with a later one, and its failure is then
    /// that one's.
    fn put(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.query(sql, params).map(drop)
    }

    /// Inserts a row and gives its key.
    fn insert(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<i64, StoreError> {
        let first = self.query(sql, params)?.into_iter().next();
        match first.map(|mut row| row.int()) {
            Some(key) => key,
            None => Err(StoreError::Unreadable(format!("no key from {}", sql.name))),
        }
    }

    /// The key of the next entry, where it is known before the row is there.
    fn key_of_next_entry(&mut self) -> Result<Option<i64>, StoreError> {
        Ok(None)
    }

    /// Runs a statement that must change a row: somebody else did, when it does not. That may show only
    /// when the transaction is committed.
    fn change(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<(), StoreError> {
        if self.query(sql, params)?.is_empty() {
            return Err(StoreError::Raced);
        }
        Ok(())
    }

    /// Whether it is a server's: a statement is a round trip, and can look at the server's clock.
    fn is_served(&self) -> bool {
        false
    }

    /// Says that a statement will be run soon.
    fn foresee(&mut self, _sql: &'static Sql, _params: &[Param<'_>]) {}

    /// Makes the transaction durable. When this returns, it survives a loss of power.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Commits, and gives the number of the newest event: where whoever wrote goes on. That is the last one
    /// written, unless others write at the same moment and it has no number yet. Tells other hosts of the rings.
    /// [`StoreError::Unknown`] when the commit is or may be in effect.
    fn conclude(&mut self, wrote: Wrote, rings: &[Key]) -> Result<i64, StoreError>;

    /// Begins a transaction for several writes, each of which is a part of it.
    fn begin_shared(&mut self) -> Result<(), StoreError> {
        Err(StoreError::Database(
            "this database shares no commits".to_owned(),
        ))
    }

    /// Begins a part of the open transaction that can be undone by itself. An error when the transaction is gone,
    /// as it is after some failures.
    fn begin_part(&mut self) -> Result<(), StoreError> {
        Err(StoreError::Database(
            "this database shares no commits".to_owned(),
        ))
    }

    /// Ends the part, and gives the number of the newest event in the transaction.
    fn end_part(&mut self, _wrote: Wrote) -> Result<i64, StoreError> {
        Err(StoreError::Database(
            "this database shares no commits".to_owned(),
        ))
    }

    /// Ends the part without a trace of it.
    fn undo_part(&mut self) {}

    /// Ends the transaction without a trace. Never fails: a connection that cannot is given up.
    fn rollback(&mut self);

    /// Ends the transaction without a trace after a fault of the program, which may have left anything behind.
    fn give_up(&mut self) {
        self.rollback();
    }

    /// The database's clock.
    fn now(&mut self) -> Result<Millis, StoreError>;

    /// Gives numbers to events that were committed without one, so that readers see them. Called
    /// outside a transaction.
    fn number(&mut self) -> Result<(), StoreError>;

    /// The number of a committed entry's event; [`Driver::number`] has been called after the commit.
    fn event_of(&mut self, entry_no: i64) -> Result<i64, StoreError> {
        self.begin(Mode::Read)?;
        let found = self.query(&crate::sql::EVENT_OF_ENTRY, &[entry_no.into()]);
        self.rollback();
        // Of one that is gone nobody knows: who goes on from the beginning misses nothing.
        found?.first_mut().map_or(Ok(0), |row| row.int())
    }

    /// The schema that the store has; 0 when it has none.
    fn schema_version(&mut self) -> Result<i64, StoreError>;

    /// Applies one step of the schema in one transaction.
    fn migrate(&mut self, migration: &'static crate::sql::Migration) -> Result<(), StoreError>;

    /// Prepares a statement without running it, for the tests that hold the text to both databases.
    fn prepare(&mut self, sql: &'static Sql) -> Result<(), StoreError>;

    /// The names and values that `doctor` reports.
    fn describe(&mut self) -> Result<Vec<(&'static str, String)>, StoreError>;

    /// Checks the database's integrity; the problems found.
    fn check(&mut self) -> Result<Vec<String>, StoreError>;

    /// Runs a query of somebody who proves something, and gives its rows as text.
    fn look(&mut self, query: &str) -> Result<crate::proof::Rows, StoreError>;

    /// Makes sure that a store in which nothing was found is sound: damage can look like emptiness.
    /// Only where that is quick.
    fn confirm_empty(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Who holds what was waited for in vain, where the refusal cannot say it by itself.
    fn in_the_way(&mut self) -> Option<String> {
        None
    }

    /// A number that changes when others commit, where asking is cheaper than looking; else nothing.
    fn change_mark(&mut self) -> Option<i64> {
        None
    }

    /// Copies the database to a new file, consistently, while others write.
    fn backup(&mut self, to: &std::path::Path) -> Result<(), StoreError>;
}

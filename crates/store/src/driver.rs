//! What a database must be able to do; everything else is written once, above it.

use inbox_core::record::Millis;

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

/// One connection to a database. The caller keeps the order: begin, queries, then commit or roll back.
pub(crate) trait Driver: Send {
    /// Begins a transaction.
    fn begin(&mut self, mode: Mode) -> Result<(), StoreError>;

    /// Runs a statement and gives its rows.
    fn query(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError>;

    /// Makes the transaction durable. When this returns, it survives a loss of power.
    fn commit(&mut self) -> Result<(), StoreError>;

    /// Ends the transaction without a trace. Never fails: a connection that cannot is given up.
    fn rollback(&mut self);

    /// The database's clock.
    fn now(&mut self) -> Result<Millis, StoreError>;

    /// Gives numbers to events that were committed without one, so that readers see them. Called
    /// outside a transaction.
    fn number(&mut self) -> Result<(), StoreError>;

    /// Whether a plain SQL client left something to be taken in. Called outside a transaction.
    fn intake_waits(&mut self) -> Result<bool, StoreError> {
        self.begin(Mode::Read)?;
        let found = self.query(&crate::sql::INTAKE_WAITS, &[]);
        self.rollback();
        Ok(!found?.is_empty())
    }

    /// The number of a committed entry's event; [`Driver::number`] has been called after the commit.
    fn event_of(&mut self, entry_no: i64) -> Result<i64, StoreError> {
        self.begin(Mode::Read)?;
        let found = self.query(&crate::sql::EVENT_OF_ENTRY, &[entry_no.into()]);
        self.rollback();
        match found?.first_mut() {
            Some(row) => row.int(),
            None => Err(StoreError::Unreadable(format!(
                "entry {entry_no} without a number"
            ))),
        }
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

    /// Makes sure that a store in which nothing was found is sound: damage can look like emptiness.
    /// Only where that is quick.
    fn confirm_empty(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// A number that changes when others commit, where asking is cheaper than looking; else nothing.
    fn change_mark(&mut self) -> Option<i64> {
        None
    }

    /// Copies the database to a new file, consistently, while others write.
    fn backup(&mut self, to: &std::path::Path) -> Result<(), StoreError>;
}

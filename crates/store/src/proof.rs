//! What those need who prove the store's promises: to look at the tables past everything that reads them otherwise,
//! and to take away a store that was made for tests.

use crate::driver::Driver;
use crate::error::StoreError;
use crate::location::Location;
use crate::open::is_for_tests;
use crate::sqlite::Sqlite;
use crate::{Store, postgres};

/// Rows of an answer, each cell as text.
pub type Rows = Vec<Vec<Option<String>>>;

impl Store {
    /// Runs a query of the caller's own, which only reads. Its text is trusted.
    pub fn look(&self, query: &str) -> Result<Rows, StoreError> {
        self.driver().look(query)
    }

    /// Every row of every table, each with its table's name before it, in an order of their own.
    pub fn dump(&self) -> Result<Vec<String>, StoreError> {
        let mut driver = self.driver();
        if driver.is_served() {
            let tables =
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1";
            let tables = driver.look(tables)?;
            let each: Vec<String> = tables
                .into_iter()
                .flatten()
                .flatten()
                .map(|table| format!("SELECT '{table}: ' || t::text FROM \"{table}\" t"))
                .collect();
            // All in one round trip.
            let all = driver.look(&format!("{} ORDER BY 1", each.join(" UNION ALL ")))?;
            return Ok(all.into_iter().flatten().flatten().collect());
        }
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
        let mut dumped = Vec::new();
        for table in driver.look(tables)?.into_iter().flatten().flatten() {
            let rows = driver.look(&format!("SELECT * FROM \"{table}\""))?;
            dumped.extend(rows.iter().map(|row| format!("{table}: {row:?}")));
        }
        Ok(dumped)
    }

    /// Whether the store was made for tests, and may be treated as such.
    pub fn is_for_tests(&self) -> Result<bool, StoreError> {
        is_for_tests(self.driver().as_mut())
    }

    /// What a query finds in the database around a store, which need not be there.
    pub fn look_around(location: &Location, query: &str) -> Result<Rows, StoreError> {
        match location {
            Location::File(path) => Sqlite::open(path)?.look(query),
            Location::Postgres(url) => postgres::Postgres::around(url)?.look(query),
        }
    }

    /// Takes away a store that was made for tests, with everything in it. Any other is left alone.
    pub fn remove_for_tests(location: &Location) -> Result<(), StoreError> {
        let refused = || {
            let place = location.shown();
            StoreError::Database(format!("{place} was not made for tests, and is left alone"))
        };
        match location {
            Location::File(path) => {
                if !is_for_tests(&mut Sqlite::open(path)?)? {
                    return Err(refused());
                }
                for suffix in ["", "-wal", "-shm", "-lock", "-bell"] {
                    let _ = std::fs::remove_file(crate::sqlite::beside(path, suffix));
                }
                Ok(())
            }
            Location::Postgres(url) => {
                let mut store = postgres::Postgres::connect(url)?;
                if !is_for_tests(&mut store)? {
                    return Err(refused());
                }
                let bell = store.bell();
                store.drop_schema()?;
                for file in [bell.path().to_owned(), bell.path().with_extension("listen")] {
                    let _ = std::fs::remove_file(file);
                }
                Ok(())
            }
        }
    }
}

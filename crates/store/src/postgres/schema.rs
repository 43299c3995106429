//! The schema and what the doctor asks about it.

use std::time::Duration;

use super::link::{Link, cells, no_row};
use crate::driver::Mode;
use crate::error::StoreError;
use crate::sql::{Migration, Sql};

/// A step of the schema may rewrite a large table.
const MIGRATE_WITHIN: Duration = Duration::from_hours(24);

impl Link {
    pub(super) async fn create_schema(&mut self) -> Result<(), StoreError> {
        // Looked up first: even IF NOT EXISTS asks for the right to create one.
        let schema = &self.target.schema;
        let find = format!("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '{schema}'");
        let create = format!(
            "BEGIN;\n{};\nCREATE SCHEMA IF NOT EXISTS \"{schema}\";\nCOMMIT",
            self.schema_lock()
        );
        if cells::<1>(&self.batch(&find).await?).next().is_none() {
            self.batch(&create).await?;
        }
        Ok(())
    }

    pub(super) async fn schema_version(&mut self) -> Result<i64, StoreError> {
        self.begin(Mode::Read).await?;
        let found = self.stored_version().await;
        self.rollback().await;
        found
    }

    async fn stored_version(&mut self) -> Result<i64, StoreError> {
        // Asked of the catalog's rows: what to_regclass answers from a cache may be older than the
        // lock that a migration took before it asks.
        let schema = &self.target.schema;
        let table = format!(
            "SELECT 1 FROM pg_catalog.pg_class c
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = '{schema}' AND c.relname = 'meta'"
        );
        // By its full name, which is refused when the schema is out of reach. On the search path
        // the table would be missing then, and a store that we may not read would be no store.
        let value = format!("SELECT value FROM \"{schema}\".meta WHERE name = 'schema_version'");
        let answer = self
            .run(async |client| client.simple_query(&table).await)
            .await?;
        if cells::<1>(&answer).next().is_none() {
            return Ok(0);
        }
        let answer = self
            .run(async |client| client.simple_query(&value).await)
            .await?;
        match cells(&answer).next() {
            None => Ok(0),
            Some([version]) => version.parse().map_err(|_| {
                StoreError::Unreadable(format!("{version:?} as the version of its schema"))
            }),
        }
    }

    pub(super) async fn migrate(&mut self, step: &'static Migration) -> Result<(), StoreError> {
        self.begin(Mode::Write).await?;
        let done = self.migrate_begun(step).await;
        match done {
            Ok(true) => self.commit().await,
            other => {
                self.rollback().await;
                other.map(drop)
            }
        }
    }

    /// Whether there is something to commit: two processes may open an older store at once.
    async fn migrate_begun(&mut self, step: &'static Migration) -> Result<bool, StoreError> {
        // The one who is first may need long; nobody else's lock is waited for that long.
        let wait = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'";
        let lock = format!("{wait};\n{}", self.schema_lock());
        self.run_within(MIGRATE_WITHIN, async |client| {
            client.batch_execute(&lock).await
        })
        .await?;
        let found = self.stored_version().await?;
        if found >= step.version {
            return Ok(false);
        }
        if found != step.version - 1 {
            return Err(StoreError::Database(format!(
                "step {} of the schema cannot follow version {found}",
                step.version
            )));
        }
        let version = step.version;
        let record = format!(
            "INSERT INTO meta (name, value) VALUES ('schema_version', '{version}')
             ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        );
        let text = format!("{}\n;\n{record}", step.postgres);
        self.run_within(MIGRATE_WITHIN, async |client| {
            client.batch_execute(&text).await
        })
        .await?;
        // What was prepared before may read `*` of a table that has changed.
        self.forget_statements();
        Ok(true)
    }

    pub(super) async fn prepare(&mut self, sql: &'static Sql) -> Result<(), StoreError> {
        self.begin(Mode::Write).await?;
        let made = self
            .run(async |client| client.prepare(sql.postgres).await)
            .await;
        self.rollback().await;
        made.map(drop)
            .map_err(|error| StoreError::Database(format!("{}: {error}", sql.name)))
    }

    pub(super) async fn describe(&mut self) -> Result<Vec<(&'static str, String)>, StoreError> {
        let ask = "SELECT current_setting('server_version'), current_database(), current_user";
        let answer = self
            .batch(&self.transaction_text(Mode::Read, &[ask]))
            .await?;
        let [version, database, user] = cells(&answer).next().ok_or_else(|| no_row("describe"))?;
        Ok(vec![
            (
                "server",
                format!("PostgreSQL {version} at {}", self.target.server),
            ),
            ("database", database.to_owned()),
            ("schema", self.target.schema.clone()),
            ("user", user.to_owned()),
        ])
    }

    /// What constraints should rule out, and what an interrupted repair leaves behind.
    pub(super) async fn check(&mut self) -> Result<Vec<String>, StoreError> {
        let steps = [
            "SELECT 'entry ' || e.entry_no || ' belongs to no thread' FROM entries e
              WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.thread_no = e.thread_no) LIMIT 20",
            "SELECT 'the index ' || c.relname || ' is not valid' FROM pg_index i
               JOIN pg_class c ON c.oid = i.indexrelid
              WHERE NOT i.indisvalid AND c.relnamespace = to_regnamespace(current_schema())",
            "SELECT 'the constraint ' || c.conname || ' is not validated' FROM pg_constraint c
              WHERE NOT c.convalidated AND c.connamespace = to_regnamespace(current_schema())",
        ];
        let answer = self
            .batch(&self.transaction_text(Mode::Read, &steps))
            .await?;
        Ok(cells(&answer).map(|[problem]| problem.to_owned()).collect())
    }

    /// One changes the schema at a time. The number next to that of the lock for numbering.
    fn schema_lock(&self) -> String {
        format!(
            "SELECT pg_advisory_xact_lock(1229867609, hashtext('{}'))",
            self.target.schema
        )
    }
}

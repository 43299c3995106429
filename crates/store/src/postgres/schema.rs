//! The schema and what the doctor asks about it.

use std::time::Duration;

use super::link::{ANSWER_WITHIN, Link, no_row};
use super::url::Target;
use crate::driver::Mode;
use crate::error::StoreError;
use crate::fail::Point;
use crate::sql::{Migration, Sql};

/// A step of the schema may rewrite a large table.
const MIGRATE_WITHIN: Duration = Duration::from_hours(24);

/// The schema that a URL names.
pub(crate) fn schema_of(url: &str) -> Result<String, StoreError> {
    Target::parse(url).map(|target| target.schema)
}

/// A server process in words, of those that are `a`.
const WHO: &str = "'server process ' || a.pid || ' of ' || COALESCE(a.usename, 'another user') || ', in a transaction for '
        || CAST(EXTRACT(EPOCH FROM clock_timestamp() - a.xact_start) AS BIGINT) || ' s' FROM pg_stat_activity a";

impl Link {
    pub(super) fn create_schema(&mut self) -> Result<(), StoreError> {
        // Looked up first: even IF NOT EXISTS asks for the right to create one.
        let schema = &self.target.schema;
        let find = format!("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = '{schema}'");
        // Nobody else gets in while it is made, whatever the database grants by default.
        let create = format!(
            "BEGIN;\n{};\nCREATE SCHEMA IF NOT EXISTS \"{schema}\";\n\
             DO $$ DECLARE other TEXT; BEGIN\n\
             FOR other IN SELECT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END\n\
             FROM pg_catalog.pg_namespace n CROSS JOIN aclexplode(n.nspacl) g\n\
             WHERE n.nspname = '{schema}' AND g.grantee <> n.nspowner AND pg_has_role(n.nspowner, 'USAGE')\n\
             LOOP EXECUTE 'REVOKE ALL ON SCHEMA \"{schema}\" FROM ' || other; END LOOP; END $$;\nCOMMIT",
            self.schema_lock()
        );
        if self.script(&find)?.is_empty() {
            self.script(&create)?;
        }
        Ok(())
    }

    pub(super) fn schema_version(&mut self) -> Result<i64, StoreError> {
        self.begin(Mode::Read)?;
        let found = self.stored_version();
        self.rollback();
        found
    }

    fn stored_version(&mut self) -> Result<i64, StoreError> {
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
        // Row security hides every row from who was granted the tables and is not their owner, and
        // a store would look like none: switched off, it is an error.
        let value = format!(
            "SET LOCAL row_security = off;\n\
             SELECT value FROM \"{schema}\".meta WHERE name = 'schema_version'"
        );
        if self.script_within(ANSWER_WITHIN, &table)?.is_empty() {
            return Ok(0);
        }
        let answer = self.script_within(ANSWER_WITHIN, &value)?;
        match text(&answer) {
            None => Ok(0),
            Some(version) => version.parse().map_err(|_| {
                StoreError::Unreadable(format!("{version:?} as the version of its schema"))
            }),
        }
    }

    pub(super) fn migrate(&mut self, step: &'static Migration) -> Result<(), StoreError> {
        self.begin(Mode::Write)?;
        let done = self.migrate_begun(step);
        match done {
            Ok(true) => {
                self.armed.reach(Point::BeforeMigration);
                self.commit(None)?;
                self.armed.reach(Point::AfterMigration);
                Ok(())
            }
            other => {
                self.rollback();
                other.map(drop)
            }
        }
    }

    /// Whether there is something to commit: two processes may open an older store at once.
    fn migrate_begun(&mut self, step: &'static Migration) -> Result<bool, StoreError> {
        // The one who is first may need long; nobody else's lock is waited for that long.
        let wait = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '60s'";
        let lock = format!("{wait};\n{}", self.schema_lock());
        self.script_within(MIGRATE_WITHIN, &lock)?;
        let found = self.stored_version()?;
        if found >= step.version {
            return Ok(false);
        }
        if found != step.version - 1 {
            return Err(StoreError::Database(format!(
                "step {} of the schema cannot follow version {found}",
                step.version
            )));
        }
        let text = format!("{}\n;\n{}", step.postgres, step.recorded());
        self.script_within(MIGRATE_WITHIN, &text)?;
        // What was prepared before may read `*` of a table that has changed.
        self.forget_statements();
        Ok(true)
    }

    pub(super) fn prepare(&mut self, sql: &'static Sql) -> Result<(), StoreError> {
        self.begin(Mode::Write)?;
        let made = self.parse_only(sql.postgres);
        self.rollback();
        made.map_err(|error| StoreError::Database(format!("{}: {error}", sql.name)))
    }

    pub(super) fn describe(&mut self) -> Result<Vec<(&'static str, String)>, StoreError> {
        let ask = "SELECT current_setting('server_version'), current_database(), current_user, pg_backend_pid(),
                (SELECT count(*) FROM listeners WHERE until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000),
                (SELECT count(*) FROM entries WHERE event_id IS NULL),
                (SELECT WHO
                  WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                    AND a.xact_start < clock_timestamp() - INTERVAL '10 seconds'
                  ORDER BY a.xact_start LIMIT 1)";
        let answer = self.look(&ask.replace("WHO", WHO))?;
        let first = answer
            .into_iter()
            .next()
            .ok_or_else(|| no_row("describe"))?;
        let mut cells = first.into_iter().map(Option::unwrap_or_default);
        let mut next = || cells.next().unwrap_or_default();
        let mut said = vec![
            (
                "server",
                format!("PostgreSQL {} at {}", next(), self.target.server),
            ),
            ("database", next()),
            ("schema", self.target.schema.clone()),
            ("user", next()),
        ];
        self.served_by(next().parse().unwrap_or(0))?;
        said.push(("connection", self.connection_in_words()));
        said.push(("listening_hosts", next()));
        said.push(("unnumbered_events", next()));
        said.push(("lock_holder", next()));
        Ok(said)
    }

    /// Who has been in a transaction for longest of those that hold locks on the store. Others that wait for them have some, too.
    pub(super) fn in_the_way(&mut self) -> Option<String> {
        let ask = format!(
            "SELECT {WHO}
              WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                AND a.xact_start < clock_timestamp() - INTERVAL '5 seconds'
                AND a.pid IN (SELECT l.pid FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                               WHERE l.granted AND c.relnamespace = to_regnamespace(current_schema()))
              ORDER BY a.xact_start LIMIT 1"
        );
        let answer = self.look(&ask).ok()?;
        text(&answer).map(|who| format!("{who}, holds locks on the store"))
    }

    fn connection_in_words(&self) -> String {
        let tls = if self.has_tls() {
            "with TLS"
        } else {
            "without TLS"
        };
        if self.is_pooled() {
            format!(
                "{tls}, through a pooler: nothing can be heard there, so waits look once a second, and statements are parsed each time"
            )
        } else {
            format!("{tls}, direct: waits hear of commits, and statements are prepared")
        }
    }

    /// What constraints should rule out, and what an interrupted repair leaves behind.
    pub(super) fn check(&mut self) -> Result<Vec<String>, StoreError> {
        let steps = [
            "SELECT 'entry ' || e.entry_no || ' belongs to no thread' FROM entries e
              WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.thread_no = e.thread_no) LIMIT 20",
            "SELECT 'entry ' || e.entry_no || ' is by no agent' FROM entries e
              WHERE NOT EXISTS (SELECT 1 FROM agents a WHERE a.agent_no = e.source_no) LIMIT 20",
            "SELECT 'thread ' || t.thread_no || ' is by no agent or for no address' FROM threads t
              WHERE NOT EXISTS (SELECT 1 FROM agents a WHERE a.agent_no = t.creator_no)
                 OR NOT EXISTS (SELECT 1 FROM addresses d WHERE d.address_no = t.to_no) LIMIT 20",
            "SELECT 'a queue holds thread ' || r.thread_no || ', which is not there' FROM recipients r
              WHERE NOT EXISTS (SELECT 1 FROM threads t WHERE t.thread_no = r.thread_no) LIMIT 20",
            crate::sql::IN_NO_QUEUE,
            "SELECT 'an inbox holds entry ' || d.entry_no || ', which is not there' FROM deliveries d
              WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.entry_no = d.entry_no) LIMIT 20",
            "SELECT 'the index ' || c.relname || ' is not valid' FROM pg_index i
               JOIN pg_class c ON c.oid = i.indexrelid
              WHERE NOT i.indisvalid AND c.relnamespace = to_regnamespace(current_schema())",
            "SELECT 'the constraint ' || c.conname || ' is not validated' FROM pg_constraint c
              WHERE NOT c.convalidated AND c.connamespace = to_regnamespace(current_schema())",
        ];
        // A whole table is read here, which is never right otherwise.
        let script = format!("SET LOCAL enable_seqscan = on;\n{}", steps.join(";\n"));
        let rows = self.look(&script)?;
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    pub(super) fn drop_schema(&mut self) -> Result<(), StoreError> {
        let drop = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.target.schema);
        self.script(&drop).map(std::mem::drop)
    }

    /// Runs a script that only reads, in a transaction of its own.
    pub(super) fn look(&mut self, script: &str) -> Result<Vec<Vec<Option<String>>>, StoreError> {
        self.begin(Mode::Read)?;
        let rows = self.script_within(ANSWER_WITHIN, script);
        self.rollback();
        rows
    }

    /// One changes the schema at a time. The number next to that of the lock for numbering.
    fn schema_lock(&self) -> String {
        format!(
            "SELECT pg_advisory_xact_lock(1229867609, hashtext('{}'))",
            self.target.schema
        )
    }
}

/// The first cell of an answer in text.
fn text(answer: &[Vec<Option<String>>]) -> Option<&str> {
    answer.first()?.first()?.as_deref()
}

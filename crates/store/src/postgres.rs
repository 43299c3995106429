//! The store in PostgreSQL.
//!
//! tokio-postgres is asynchronous and the core is not: the driver owns a thread with a runtime, and
//! its methods send work there and block for the answer. So it can be called from anywhere, also
//! from inside somebody else's runtime, where blocking on a second one would panic.

mod bind;
mod failure;
mod link;
mod number;
mod schema;
mod url;

use std::sync::mpsc;
use std::thread::JoinHandle;

use inbox_core::record::Millis;
use tokio::runtime::{Builder, Runtime};

use self::link::Link;
use self::url::Target;
use crate::driver::{Driver, Mode};
use crate::error::StoreError;
use crate::sql::{Migration, SCHEMA_VERSION, Sql};
use crate::value::{Param, Row};

type Job = Box<dyn FnOnce(&Runtime, &mut Link) + Send>;

/// One connection to a store in a schema of a PostgreSQL database.
#[derive(Debug)]
pub(crate) struct Postgres {
    /// The server and the schema, without the user and the password.
    place: String,
    /// Closed when the driver is dropped, which ends the thread.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Postgres {
    /// Opens the store that `url` names: `postgres://user@host/database`, with `schema=NAME` among
    /// its parameters when the schema is not `inbox`.
    pub(crate) fn connect(url: &str) -> Result<Postgres, StoreError> {
        let mut store = Postgres::start(Target::parse(url)?)?;
        match store.known_version()? {
            0 => Err(StoreError::NotFound(store.place.clone())),
            _ => Ok(store),
        }
    }

    /// Opens the store that `url` names and makes its schema when there is none. Also tells whether
    /// there was no store, so that every step of the schema is still to be applied.
    pub(crate) fn create(url: &str) -> Result<(Postgres, bool), StoreError> {
        let mut store = Postgres::start(Target::parse(url)?)?;
        store.ask(async |link| link.create_schema().await)?;
        let created = store.known_version()? == 0;
        Ok((store, created))
    }

    fn start(target: Target) -> Result<Postgres, StoreError> {
        let failed = |error: std::io::Error| {
            StoreError::Database(format!(
                "cannot start the thread that talks to PostgreSQL: {error}"
            ))
        };
        let place = target.place.clone();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        let (jobs, queue) = mpsc::channel::<Job>();
        // The connection makes progress only while a job runs. That is enough: nothing is expected
        // of it between two, and what the server says meanwhile is read by the next one.
        let work = move || {
            let mut link = Link::new(target);
            for job in queue {
                job(&runtime, &mut link);
            }
            runtime.block_on(link.close());
        };
        let thread = std::thread::Builder::new()
            .name("inbox-postgres".into())
            .spawn(work)
            .map_err(failed)?;
        let store = Postgres {
            place,
            jobs: Some(jobs),
            thread: Some(thread),
        };
        store.ask(async |link| link.connect().await)?;
        Ok(store)
    }

    fn known_version(&mut self) -> Result<i64, StoreError> {
        let found = self.schema_version()?;
        if found > SCHEMA_VERSION {
            return Err(StoreError::Newer {
                found,
                known: SCHEMA_VERSION,
            });
        }
        Ok(found)
    }

    /// Runs `work` in the driver's thread and waits for what it gives.
    fn ask<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: AsyncFnOnce(&mut Link) -> Result<T, StoreError> + Send + 'static,
    {
        let (answer, answered) = mpsc::sync_channel(1);
        let job: Job = Box::new(move |runtime, link| {
            // The asker waits below for as long as this takes, so there is one to send to.
            let _ = answer.send(runtime.block_on(work(link)));
        });
        let ended = || StoreError::Database("the thread that talks to PostgreSQL has ended".into());
        let jobs = self.jobs.as_ref().ok_or_else(ended)?;
        jobs.send(job).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }
}

impl Driver for Postgres {
    fn begin(&mut self, mode: Mode) -> Result<(), StoreError> {
        self.ask(async move |link| link.begin(mode).await)
    }

    fn query(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let params = bind::bound(params);
        self.ask(async move |link| link.query(sql, params).await)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.ask(async |link| link.commit().await)
    }

    fn rollback(&mut self) {
        // It fails only when the thread has ended, and the connection and its transaction with it.
        let _ = self.ask(async |link| {
            link.rollback().await;
            Ok(())
        });
    }

    fn now(&mut self) -> Result<Millis, StoreError> {
        self.ask(async |link| link.now().await).map(Millis)
    }

    fn number(&mut self) -> Result<(), StoreError> {
        self.ask(async |link| link.number().await)
    }

    fn event_of(&mut self, entry_no: i64) -> Result<i64, StoreError> {
        self.ask(async move |link| link.event_of(entry_no).await)
    }

    fn schema_version(&mut self) -> Result<i64, StoreError> {
        self.ask(async |link| link.schema_version().await)
    }

    fn migrate(&mut self, migration: &'static Migration) -> Result<(), StoreError> {
        self.ask(async move |link| link.migrate(migration).await)
    }

    fn prepare(&mut self, sql: &'static Sql) -> Result<(), StoreError> {
        if sql.postgres.is_empty() {
            return Ok(());
        }
        self.ask(async move |link| link.prepare(sql).await)
    }

    fn describe(&mut self) -> Result<Vec<(&'static str, String)>, StoreError> {
        self.ask(async |link| link.describe().await)
    }

    fn check(&mut self) -> Result<Vec<String>, StoreError> {
        self.ask(async |link| link.check().await)
    }

    fn backup(&mut self, _to: &std::path::Path) -> Result<(), StoreError> {
        Err(StoreError::Database(format!(
            "a store in PostgreSQL is not copied by inbox: use pg_dump on {}",
            self.place
        )))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.jobs = None;
        // Waits, within the limit that closing has, so that a process that ends right after this
        // takes its leave of the server.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

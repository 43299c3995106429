//! The store in PostgreSQL.
//!
//! The core is synchronous and so is this: a socket, and messages in both directions. No thread or runtime
//! stands between a command and its server, and it can be called from anywhere.

mod ahead;
mod dial;
mod ear;
mod failure;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod link;
mod login;
mod pass;
#[cfg(test)]
mod properties;
mod schema;
mod session;
mod tls;
mod url;
mod wire;

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;

use self::ahead::Ahead;
pub(crate) use self::ear::Ear;
use self::link::Link;
pub(crate) use self::schema::schema_of;
use self::url::Target;
use crate::bell::{Bell, Key};
use crate::driver::{Driver, Mode, Wrote};
use crate::error::StoreError;
use crate::fail::Armed;
use crate::sql::{self, Migration, SCHEMA_VERSION, Sql};
use crate::value::{Param, Row, Value};

/// One connection to a store in a schema of a PostgreSQL database.
pub(crate) struct Postgres {
    link: Link,
    ahead: Ahead,
    mode: Mode,
    /// Whether what waits to be sent reads a thread that may be written to.
    reads_thread: bool,
    /// Whether the time was asked for, which other things come with.
    is_begun: bool,
    wants_thread: bool,
    wants_entry: bool,
    /// Whether something that was committed had no number when the transaction began.
    is_behind: bool,
    /// Whether what was committed before the transaction was numbered first.
    has_numbered: bool,
    /// Whether the next transaction has to do that.
    must_number: bool,
    /// The schema's version, as it was seen when the store was opened.
    version: Option<i64>,
}

impl Postgres {
    /// Opens the store that `url` names: `postgres://user@host/database`, with `schema=NAME` among
    /// its parameters when the schema is not `inbox`.
    pub(crate) fn connect(url: &str) -> Result<Postgres, StoreError> {
        let mut store = Postgres::start(Target::parse(url)?)?;
        match store.known_version()? {
            0 => Err(StoreError::NotFound(store.link.target.place.clone())),
            _ => Ok(store),
        }
    }

    /// A connection to the database that `url` names, whether there is a store or not.
    pub(crate) fn around(url: &str) -> Result<Postgres, StoreError> {
        Postgres::start(Target::parse(url)?)
    }

    /// Opens the store that `url` names and makes its schema when there is none. Also tells whether
    /// there was no store, so that every step of the schema is still to be applied.
    pub(crate) fn create(url: &str) -> Result<(Postgres, bool), StoreError> {
        let mut store = Postgres::start(Target::parse(url)?)?;
        store.link.create_schema()?;
        let created = store.known_version()? == 0;
        Ok((store, created))
    }

    /// Arms a fail point; only for stores made for tests.
    pub(crate) fn arm(&mut self, armed: Armed) {
        self.link.armed = armed;
    }

    /// Takes away the schema and everything in it.
    pub(crate) fn drop_schema(&mut self) -> Result<(), StoreError> {
        self.link.drop_schema()
    }

    /// The file of the host's bell for this store.
    pub(crate) fn bell(&self) -> Bell {
        ear::bell_file(&self.link.target).map_or_else(Bell::none, Bell::at)
    }

    fn start(target: Target) -> Result<Postgres, StoreError> {
        let mut link = Link::new(target);
        link.connect()?;
        Ok(Postgres {
            link,
            ahead: Ahead::default(),
            mode: Mode::Read,
            reads_thread: false,
            is_begun: false,
            wants_thread: false,
            wants_entry: false,
            is_behind: false,
            has_numbered: false,
            must_number: false,
            version: None,
        })
    }

    /// A write that reads the log begins again when something is not in it yet that was there before: whoever was
    /// told that it is written may ask for it.
    fn must_not_miss(&mut self, sql: &'static Sql) -> Result<(), StoreError> {
        let can_miss = sql.reads_log && self.mode == Mode::Write && self.is_behind;
        if can_miss && !self.has_numbered && !planted("read_behind") {
            self.must_number = true;
            return Err(StoreError::Raced);
        }
        Ok(())
    }

    /// A look at a thread begins again when the snapshot has a change of it whose event has no number: the thread would be
    /// seen as the change has left it, without the message that goes with it. Only its own events count: with many who
    /// write, somebody's is always without a number.
    fn must_not_be_torn(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<(), StoreError> {
        let can_be_torn = self.mode == Mode::Read
            && self.is_behind
            && std::ptr::eq(sql, &raw const sql::LOAD_THREAD);
        if !can_be_torn || planted("torn_look") {
            return Ok(());
        }
        if self.query(&sql::UNNUMBERED_OF_THREAD, params)?.is_empty() {
            return Ok(());
        }
        Err(StoreError::Raced)
    }

    fn known_version(&mut self) -> Result<i64, StoreError> {
        let found = self.link.schema_version()?;
        if found > SCHEMA_VERSION {
            return Err(StoreError::Newer {
                found,
                known: SCHEMA_VERSION,
            });
        }
        self.version = Some(found);
        Ok(found)
    }

    /// Whether what a statement gives comes with the time, and need not be asked for.
    fn comes_with_now(&mut self, sql: &'static Sql) -> bool {
        self.wants_thread |= std::ptr::eq(sql, &raw const sql::NEXT_THREAD);
        self.wants_entry |= std::ptr::eq(sql, &raw const sql::NEXT_ENTRY);
        [&sql::INTAKE_WAITS, &sql::NEXT_THREAD, &sql::NEXT_ENTRY]
            .into_iter()
            .any(|with| std::ptr::eq(with, sql))
    }

    /// Has a statement sent with the next ones, and its rows kept until somebody takes them.
    fn ask(&mut self, sql: &'static Sql, params: Vec<Value>) -> Result<(), StoreError> {
        self.link.ask(sql, params.clone())?;
        self.ahead.expect(sql, params);
        self.reads_thread |= self.mode == Mode::Write && reads_thread(sql);
        Ok(())
    }
}

/// The planted bug: what makes readers pass over events that are committed late.
static NUMBER_AT_INSERT: Sql = Sql::only_postgres(
    "number_at_insert",
    "UPDATE entries SET event_id = entry_no WHERE entry_no = $1",
);

/// Where the key of a new row comes from, when it is taken ahead of the row.
fn key_for(sql: &'static Sql) -> Option<&'static Sql> {
    [
        (&sql::INSERT_THREAD, &sql::NEXT_THREAD),
        (&sql::INSERT_ENTRY, &sql::NEXT_ENTRY),
    ]
    .into_iter()
    .find(|(insert, _)| std::ptr::eq(*insert, sql))
    .map(|(_, next)| next)
}

/// Whether a decision can rest on what a statement reads.
fn reads_thread(sql: &'static Sql) -> bool {
    [&sql::LOAD_THREAD, &sql::TAKE_QUEUED, &sql::LAPSED]
        .into_iter()
        .any(|reading| std::ptr::eq(reading, sql))
}

fn number(rows: Vec<Row>) -> Result<Option<i64>, StoreError> {
    let first = rows.into_iter().next().map(|mut row| row.maybe_int());
    Ok(first.transpose()?.flatten())
}

fn owned(params: &[Param<'_>]) -> Vec<Value> {
    let own = |param: &Param<'_>| match *param {
        Param::Null => Value::Null,
        Param::Int(value) => Value::Int(value),
        Param::Text(value) => Value::Text(value.to_owned()),
    };
    params.iter().map(own).collect()
}

impl Driver for Postgres {
    fn begin(&mut self, mode: Mode) -> Result<(), StoreError> {
        self.ahead = Ahead::default();
        self.mode = mode;
        self.reads_thread = false;
        self.wants_thread = false;
        self.wants_entry = false;
        self.is_begun = false;
        self.is_behind = false;
        self.has_numbered = false;
        if std::mem::take(&mut self.must_number) {
            self.number()?;
        }
        self.link.begin(mode)
    }

    fn take_turns(&mut self) -> Result<(), StoreError> {
        // What is read behind it is as the one before left it: each statement looks anew.
        self.link.run(&sql::TAKE_TURNS, Vec::new())
    }

    fn query(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        self.must_not_miss(sql)?;
        self.must_not_be_torn(sql, params)?;
        let params = owned(params);
        if let Some(rows) = self.ahead.take(sql, &params) {
            return Ok(rows);
        }
        if !self.ahead.has(sql, &params) {
            self.ask(sql, params.clone())?;
        }
        // An entry's key must be newer than those of the thread as it was read, since numbers are given in the
        // order of keys. So it is taken right behind the reading.
        if std::mem::take(&mut self.reads_thread) {
            self.ahead.drop_key();
            self.ask(&sql::NEXT_ENTRY, Vec::new())?;
        }
        let answers = self.link.flush()?;
        self.ahead.answered(answers);
        let rows = self.ahead.take(sql, &params);
        let mut rows = rows.ok_or_else(|| link::no_row(sql.name))?;
        if planted("last_one_lost") && std::ptr::eq(sql, &raw const sql::QUEUED) {
            rows.pop();
        }
        Ok(rows)
    }

    fn put(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.must_not_miss(sql)?;
        self.ahead.forget();
        self.link.run(sql, owned(params))
    }

    fn insert(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<i64, StoreError> {
        let Some(next) = key_for(sql) else {
            let row = self.query(sql, params)?.into_iter().next();
            return row.map_or_else(|| Err(link::no_row(sql.name)), |mut row| row.int());
        };
        let row = self.query(next, &[])?.into_iter().next();
        let key = row.map_or_else(|| Err(link::no_row(next.name)), |mut row| row.int())?;
        let mut params = owned(params);
        params.push(Value::Int(key));
        if std::ptr::eq(sql, &raw const sql::INSERT_ENTRY) {
            // Without a number, unless it is still here when the transaction ends.
            params.push(Value::Int(0));
        }
        self.ahead.forget();
        self.link.run(sql, params)?;
        if planted("number_at_insert") && std::ptr::eq(sql, &raw const sql::INSERT_ENTRY) {
            self.link.run(&NUMBER_AT_INSERT, vec![Value::Int(key)])?;
        }
        Ok(key)
    }

    fn key_of_next_entry(&mut self) -> Result<Option<i64>, StoreError> {
        let key = number(self.query(&sql::NEXT_ENTRY, &[])?)?;
        if let Some(key) = key {
            self.ahead
                .know(&sql::NEXT_ENTRY, vec![Row::new(vec![Value::Int(key)])]);
        }
        Ok(key)
    }

    fn change(&mut self, sql: &'static Sql, params: &[Param<'_>]) -> Result<(), StoreError> {
        self.put(sql, params)
    }

    fn is_served(&self) -> bool {
        true
    }

    fn foresee(&mut self, sql: &'static Sql, params: &[Param<'_>]) {
        if !self.is_begun && self.comes_with_now(sql) {
            return;
        }
        let params = owned(params);
        if !self.ahead.has(sql, &params) {
            // Outside a transaction nobody asks, and a failed one says so to who does.
            let _ = self.ask(sql, params);
        }
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.link.commit(None).map(drop)
    }

    fn conclude(&mut self, wrote: Wrote, rings: &[Key]) -> Result<i64, StoreError> {
        let Some(entry_no) = wrote.last_entry else {
            let newest = self.link.commit(Some((&sql::NEWEST_EVENT, Vec::new())))?;
            return Ok(number(newest)?.unwrap_or(0));
        };
        if planted("number_at_insert") {
            self.link.commit(None)?;
            return Ok(entry_no);
        }
        self.link.number_what_was_written()?;
        let mine = wrote.is_remembered.then_some(entry_no);
        let mine = mine.map_or(Value::Null, Value::Int);
        let params = vec![Value::Text(ear::told(rings)), mine];
        self.link.ask(&sql::CONCLUDE, params)?;
        match number(self.link.commit(None)?)? {
            None if wrote.is_remembered => {
                let numbered = self.number().and_then(|()| self.event_of(entry_no));
                numbered.map_err(|error| StoreError::Unknown(error.to_string()))
            }
            given => Ok(given.unwrap_or(0)),
        }
    }

    fn rollback(&mut self) {
        self.link.rollback();
    }

    /// An answer may still be on its way, which the next question would take for its own.
    fn give_up(&mut self) {
        self.link.close();
        self.rollback();
    }

    fn now(&mut self) -> Result<Millis, StoreError> {
        if !self.link.is_open() {
            self.begin(Mode::Read)?;
            let now = self.now();
            self.rollback();
            return now;
        }
        let wants_entry = self.wants_entry || std::mem::take(&mut self.reads_thread);
        let wanted = |is: bool| Param::Int(is.into());
        let params = [wanted(self.wants_thread), wanted(wants_entry)];
        self.is_begun = true;
        let first = self.query(&sql::NOW, &params)?.into_iter().next();
        let mut row = first.ok_or_else(|| link::no_row("now"))?;
        let (millis, process, waits) = (row.int()?, row.int()?, row.int()?);
        self.is_behind = row.int()? != 0;
        self.link.served_by(process)?;
        let intake = (waits != 0).then(|| Row::new(vec![Value::Int(1)]));
        self.ahead
            .know(&sql::INTAKE_WAITS, intake.into_iter().collect());
        for next in [&sql::NEXT_THREAD, &sql::NEXT_ENTRY] {
            if let Some(key) = row.maybe_int()? {
                self.ahead.know(next, vec![Row::new(vec![Value::Int(key)])]);
            }
        }
        Ok(Millis(millis))
    }

    /// With the next transaction, and before it.
    fn number(&mut self) -> Result<(), StoreError> {
        if !planted("number_at_insert") {
            self.link.before(&sql::NUMBER, Vec::new());
            self.has_numbered = true;
        }
        Ok(())
    }

    fn schema_version(&mut self) -> Result<i64, StoreError> {
        match self.version.take() {
            Some(version) => Ok(version),
            None => self.link.schema_version(),
        }
    }

    fn migrate(&mut self, migration: &'static Migration) -> Result<(), StoreError> {
        self.link.migrate(migration)
    }

    fn prepare(&mut self, sql: &'static Sql) -> Result<(), StoreError> {
        if sql.postgres.is_empty() {
            return Ok(());
        }
        self.link.prepare(sql)
    }

    fn describe(&mut self) -> Result<Vec<(&'static str, String)>, StoreError> {
        self.link.describe()
    }

    fn check(&mut self) -> Result<Vec<String>, StoreError> {
        self.link.check()
    }

    fn in_the_way(&mut self) -> Option<String> {
        self.link.in_the_way()
    }

    fn look(&mut self, query: &str) -> Result<crate::proof::Rows, StoreError> {
        self.link.look(query)
    }

    fn backup(&mut self, _to: &std::path::Path) -> Result<(), StoreError> {
        Err(StoreError::Database(format!(
            "a store in PostgreSQL is not copied by inbox: use pg_dump on {}",
            self.link.target.place
        )))
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.link.close();
    }
}

//! The durable store: one SQL text on SQLite and PostgreSQL, transactions around the rules of
//! `inbox-core`, and the doorbell that wakes those who wait.
//!
//! It holds no rule of its own: what may happen to a thread is decided by
//! [`inbox_core::lifecycle::decide`], and a [`Tx`] commits the decision by compare-and-set.

mod apply;
pub mod bell;
mod board;
mod dead;
mod driver;
mod error;
mod facts;
mod fail;
mod flow;
pub mod foreign;
mod foresight;
mod keep;
mod ledger;
mod location;
mod lock;
mod mail;
mod memory;
mod midst;
mod moving;
mod new;
mod notice;
mod open;
mod open_name;
mod postgres;
pub mod private;
mod proof;
mod publish;
mod query;
mod races;
mod receipt;
mod ring;
mod roster;
mod row;
mod script;
mod search;
pub mod sql;
mod sqlite;
mod sys;
mod token;
mod tx;
mod untold;
mod value;

#[cfg(feature = "fuzzing")]
pub use postgres::fuzzing;

#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use inbox_core::{Code, EventId, Refusal};

pub use apply::{Recorded, Step};
use bell::{Bell, Key, Listener};
pub use board::Heard;
pub use dead::{Intake, Undelivered};
use driver::{Driver, Mode};
pub use error::{Abort, GO_BACK, StoreError};
pub use facts::Asking;
pub use fail::Point as FailPoint;
pub use flow::{Happening, Piece};
pub use foresight::Foresight;
pub use keep::Stepped;
pub use ledger::{
    Backlog, ConnectionRole, ConnectionRow, ConnectionState, Cursor, FLOOD, NewConnection,
    Outgoing, Passage, Place as TopicPlace, ProposalRow, ProposalState, Record as LedgerRecord,
    RecordState, Saying, Spoken, Stuck, TOPIC_FLOOD, TopicBacklog, TopicRow,
};
pub use location::Location;
pub use mail::{Reached, Reader};
pub use memory::{MemoryRow, Recalled};
use midst::Midst;
pub use moving::{Moved, Progress, known_columns, move_store};
pub use new::{NewArtifact, NewMessage, NewThread};
pub use notice::{NewNotice, NoticeRow, NoticeState, ReachRow, Waiting as NoticesWaiting};
pub use open::Initialised;
pub use proof::Rows;
pub use publish::may_publish;
pub use query::{EventFilter, Labels, ThreadFilter};
use races::Races;
pub use receipt::Receipt;
pub use roster::{AgentDetails, ReachedSession, Resolved, SessionRow};
pub use row::ThreadRow;
pub use script::{Script, scripts};
pub use search::{ARCHIVE_PARTS, Archived, Document, Found, Hit, Query, Search, SearchFilter};
pub use sqlite::noted_event;
pub use tx::{AgentRow, Replay, Tx};
pub use untold::Pressing;

/// How long a session may be silent before it counts as dead, unless configuration says otherwise.
pub const DEAD_AFTER_MS: i64 = 3_600_000;

/// An open store.
pub struct Store {
    driver: Mutex<Box<dyn Driver>>,
    bell: Bell,
    clock: Clock,
    location: Location,
    dead_after_ms: i64,
    /// What the environment may ask of this store, decided when it was opened.
    armed: fail::Armed,
    /// The search index, once something was searched for.
    index: Mutex<Option<Box<dyn search::Index>>>,
    /// What rang in the writes that share the open transaction, while there is one.
    shared: Option<Mutex<Vec<Key>>>,
    /// A commit that was put off by a planted bug.
    #[cfg(feature = "sabotage")]
    put_off: std::sync::atomic::AtomicBool,
}

/// Where the time comes from.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The database's clock.
    #[default]
    Database,
    /// A clock that a test sets, in milliseconds.
    Manual(Arc<AtomicI64>),
}

/// What a committed write gave.
#[derive(Debug)]
pub struct Written<T> {
    /// What the transaction gave.
    pub value: T,
    /// The number of its last event, or of the newest one when it wrote none.
    pub next_event_id: EventId,
}

impl Store {
    /// The same store under a clock that a test sets.
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The same store, in which a session that was not seen for so long is dead.
    pub fn with_dead_after(mut self, millis: i64) -> Self {
        self.dead_after_ms = millis;
        self
    }

    /// Where the store is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Comes by a point at which a test may let the process die.
    pub fn reach(&self, point: FailPoint) {
        self.armed.reach(point);
    }

    /// The same, for whoever outlives this borrow of the store.
    pub fn reacher(&self) -> impl Fn(FailPoint) + Send + Sync + 'static {
        let armed = self.armed;
        move |point| armed.reach(point)
    }

    /// The doorbell.
    pub fn bell(&self) -> &Bell {
        &self.bell
    }

    /// Registers somebody who waits, for what is committed on this host and elsewhere.
    pub fn listen(&self, key: &Key) -> Listener<'_> {
        let listener = self.bell.listen(key);
        match &self.location {
            Location::Postgres(url) if self.bell.is_working() => {
                // Without it whoever waits looks by itself.
                listener.with_ear(postgres::Ear::new(url, self.bell.path()).ok())
            }
            _ => listener,
        }
    }

    /// Whether the store is a server's, which may be away for a moment.
    pub fn is_served(&self) -> bool {
        matches!(self.location, Location::Postgres(_))
    }

    /// Runs `f` on one consistent snapshot. Nothing that it does is kept. `f` may run several times, when others write to
    /// the thread that it looks at.
    pub fn read<T>(&self, f: impl FnMut(&mut Tx<'_>) -> Result<T, Abort>) -> Result<T, Refusal> {
        self.read_foreseeing(|_| {}, f)
    }

    /// The same, for an `f` of which it is known what it asks for first.
    pub fn read_foreseeing<T>(
        &self,
        foresee: impl Fn(&mut Foresight<'_>),
        mut f: impl FnMut(&mut Tx<'_>) -> Result<T, Abort>,
    ) -> Result<T, Refusal> {
        let mut driver = self.driver();
        if self.shared.is_some() {
            let now = self.now(driver.as_mut())?;
            return f(&mut self.transaction(driver.as_mut(), now))
                .map_err(|abort| doubted(driver.as_mut(), abort));
        }
        let mut races = Races::new();
        loop {
            match self.glimpse(driver.as_mut(), &foresee, &mut f) {
                Err(Abort::Failed(StoreError::Raced)) if races.again() => {}
                outcome => return outcome.map_err(|abort| doubted(driver.as_mut(), abort)),
            }
        }
    }

    fn glimpse<T>(
        &self,
        driver: &mut dyn Driver,
        foresee: &impl Fn(&mut Foresight<'_>),
        f: &mut impl FnMut(&mut Tx<'_>) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        driver.number()?;
        driver.begin(Mode::Read)?;
        let mut midst = Midst::of_all(driver);
        let driver = midst.driver();
        foresee(&mut Foresight::new(driver, self.is_database_time()));
        let outcome = self
            .now(driver)
            .map_err(Abort::from)
            .and_then(|now| f(&mut self.transaction(driver, now)));
        self.armed.fault(Mode::Read);
        driver.rollback();
        outcome
    }

    /// Runs `f` in one transaction that is on disk when this returns. When `f` refuses, nothing of it
    /// stays. `f` may run several times, when others change the same thread.
    pub fn write<T>(
        &self,
        f: impl FnMut(&mut Tx<'_>) -> Result<T, Abort>,
    ) -> Result<Written<T>, Refusal> {
        self.write_foreseeing(|_| {}, f)
    }

    /// The same, for an `f` of which it is known what it asks for first.
    pub fn write_foreseeing<T>(
        &self,
        foresee: impl Fn(&mut Foresight<'_>),
        mut f: impl FnMut(&mut Tx<'_>) -> Result<T, Abort>,
    ) -> Result<Written<T>, Refusal> {
        let mut driver = self.driver();
        if let Some(rings) = &self.shared {
            return self
                .part(driver.as_mut(), rings, &mut f)
                .map_err(|abort| doubted(driver.as_mut(), abort));
        }
        let mut races = Races::new();
        loop {
            match self.attempt(driver.as_mut(), &races, &foresee, &mut f) {
                Err(Abort::Failed(StoreError::Raced)) if races.again() => {}
                outcome => return outcome.map_err(|abort| doubted(driver.as_mut(), abort)),
            }
        }
    }

    /// Whether several writes can share one commit here. A server does it by itself, for all its clients.
    pub fn shares_commits(&self) -> bool {
        !self.is_served()
    }

    /// Lets the writes that follow share one transaction, each a part of it that leaves no trace when it is refused.
    /// None of them has happened before [`Store::end_sharing`].
    pub fn begin_sharing(&mut self) -> Result<(), StoreError> {
        self.driver().begin_shared()?;
        self.shared = Some(Mutex::default());
        Ok(())
    }

    /// Commits what was written since [`Store::begin_sharing`]: all of it, or when this fails nothing.
    pub fn end_sharing(&mut self) -> Result<(), StoreError> {
        let Some(rings) = self.shared.take() else {
            return Ok(());
        };
        {
            let mut driver = self.driver();
            self.armed.reach(FailPoint::BeforeCommit);
            if planted("shared_commit_forgotten") {
                driver.rollback();
                return Ok(());
            }
            if let Err(error) = driver.commit() {
                driver.rollback();
                return Err(error);
            }
            self.armed.reach(FailPoint::AfterCommit);
        }
        self.ring(&rings.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// Ends without a trace what a fault of the program has left of a shared transaction.
    pub fn recover(&mut self) {
        self.shared = None;
        self.driver().give_up();
    }

    /// One of several writes that share a transaction.
    fn part<T>(
        &self,
        driver: &mut dyn Driver,
        shared: &Mutex<Vec<Key>>,
        f: &mut impl FnMut(&mut Tx<'_>) -> Result<T, Abort>,
    ) -> Result<Written<T>, Abort> {
        driver.begin_part()?;
        let mut midst = Midst::of_part(driver);
        let driver = midst.driver();
        let outcome = self.now(driver).map_err(Abort::from).and_then(|now| {
            let mut tx = self.transaction(driver, now);
            let value = f(&mut tx)?;
            Ok((value, tx.wrote(), tx.rings()))
        });
        self.armed.fault(Mode::Write);
        let ended =
            outcome.and_then(|(value, wrote, rings)| Ok((value, rings, driver.end_part(wrote)?)));
        match ended {
            Ok((value, rings, newest)) => {
                let mut rang = shared.lock().unwrap_or_else(PoisonError::into_inner);
                rang.extend(rings);
                Ok(Written {
                    value,
                    next_event_id: EventId(newest),
                })
            }
            Err(abort) => {
                driver.undo_part();
                Err(abort)
            }
        }
    }

    fn attempt<T>(
        &self,
        driver: &mut dyn Driver,
        races: &Races,
        foresee: &impl Fn(&mut Foresight<'_>),
        f: &mut impl FnMut(&mut Tx<'_>) -> Result<T, Abort>,
    ) -> Result<Written<T>, Abort> {
        // A file's driver has its points where it takes the lock and moves the log; these are every store's.
        self.armed.reach(FailPoint::BeforeLock);
        driver.begin(Mode::Write)?;
        let mut midst = Midst::of_all(driver);
        let driver = midst.driver();
        if races.are_many() {
            driver.take_turns()?;
        }
        foresee(&mut Foresight::new(driver, self.is_database_time()));
        self.armed.reach(FailPoint::AfterBegin);
        let outcome = self.now(driver).map_err(Abort::from).and_then(|now| {
            let mut tx = self.transaction(driver, now);
            let value = f(&mut tx)?;
            Ok((value, tx.wrote(), tx.rings()))
        });
        let (value, wrote, rings) = match outcome {
            Ok(done) => done,
            Err(abort) => {
                driver.rollback();
                return Err(abort);
            }
        };
        self.armed.fault(Mode::Write);
        if planted("ring_before_commit") {
            self.bell.ring(&rings);
        }
        #[cfg(feature = "sabotage")]
        if planted("ack_before_commit") {
            self.put_off.store(true, Ordering::SeqCst);
            return Ok(Written {
                value,
                next_event_id: EventId(wrote.last_entry.unwrap_or(0)),
            });
        }
        self.armed.reach(FailPoint::BeforeCommit);
        let next = match driver.conclude(wrote, &rings) {
            Ok(next) => EventId(next),
            Err(error) => {
                driver.rollback();
                return Err(error.into());
            }
        };
        self.armed.reach(FailPoint::AfterCommit);
        if !planted("ring_before_commit") {
            self.ring(&rings);
        }
        Ok(Written {
            value,
            next_event_id: next,
        })
    }

    fn ring(&self, rings: &[Key]) {
        self.armed.reach(FailPoint::BeforeRing);
        self.bell.ring(rings);
        self.armed.reach(FailPoint::AfterRing);
    }

    /// The number of a committed entry's event. What is not positive is such a number itself, with the other sign: of an entry that
    /// may be gone, or of none, which is 0.
    pub fn event_of(&self, entry_no: i64) -> Result<EventId, StoreError> {
        if entry_no <= 0 {
            return Ok(EventId(-entry_no));
        }
        let mut driver = self.driver();
        driver.number()?;
        driver.event_of(entry_no).map(EventId)
    }

    /// The number of the newest event.
    pub fn newest_event(&self) -> Result<EventId, Refusal> {
        self.read(|tx| tx.newest_event())
    }

    /// A number that changes when others commit; nothing where looking is the only way to know.
    pub fn change_mark(&self) -> Option<i64> {
        self.driver().change_mark()
    }

    /// The database's integrity: the problems found.
    pub fn check(&self) -> Result<Vec<String>, StoreError> {
        self.driver().check()
    }

    /// Makes sure that a store in which nothing was found is sound, where that is quick.
    pub fn confirm_empty(&self) -> Result<(), StoreError> {
        self.driver().confirm_empty()
    }

    /// What `doctor` reports about the database.
    pub fn describe(&self) -> Result<Vec<(&'static str, String)>, StoreError> {
        self.driver().describe()
    }

    /// Copies the store to a new file, consistently, while others write.
    pub fn backup(&self, to: &std::path::Path) -> Result<(), StoreError> {
        self.driver().backup(to)
    }

    /// Prepares every statement, which fails when the text and the schema do not agree.
    pub fn prepare_all(&self) -> Result<(), StoreError> {
        let mut driver = self.driver();
        sql::ALL
            .iter()
            .try_for_each(|statement| driver.prepare(statement))
    }

    fn driver(&self) -> MutexGuard<'_, Box<dyn Driver>> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_database_time(&self) -> bool {
        matches!(self.clock, Clock::Database)
    }

    fn transaction<'a>(&self, driver: &'a mut dyn Driver, now: Millis) -> Tx<'a> {
        Tx::new(driver, now, self.is_database_time(), self.dead_after_ms)
    }

    fn now(&self, driver: &mut dyn Driver) -> Result<Millis, StoreError> {
        match &self.clock {
            Clock::Manual(millis) if !driver.is_served() => {
                Ok(Millis(millis.load(Ordering::SeqCst)))
            }
            // A server says more with the time than the time.
            Clock::Manual(millis) => driver.now().map(|_| Millis(millis.load(Ordering::SeqCst))),
            Clock::Database => driver.now(),
        }
    }
}

#[cfg(feature = "sabotage")]
impl Drop for Store {
    fn drop(&mut self) {
        if self.put_off.load(Ordering::SeqCst) {
            let _ = self.driver().commit();
        }
    }
}

/// The version of SQLite that is compiled in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// What is said to be missing was perhaps lost: only a sound store may say that it is not there. Who waited in vain is told for whom.
fn doubted(driver: &mut dyn Driver, abort: Abort) -> Refusal {
    let abort = match abort {
        Abort::Failed(StoreError::Busy(words)) => {
            let told = match driver.in_the_way() {
                Some(who) => format!("{words}: {who}"),
                None => words,
            };
            Abort::Failed(StoreError::Busy(told))
        }
        other => other,
    };
    let refusal = Refusal::from(abort);
    if matches!(
        refusal.code,
        Code::ThreadNotFound | Code::MessageNotFound | Code::AgentNotFound | Code::SessionNotFound
    ) {
        driver.confirm_empty().err().map_or(refusal, Refusal::from)
    } else {
        refusal
    }
}

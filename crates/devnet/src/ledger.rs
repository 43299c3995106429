//! The ledger: every transaction is checked, ordered, carried out or refused, and recorded.

mod account;
mod ask;
mod fee;
mod genesis;
mod handling;
mod offer;
mod payment;
mod precheck;
mod rows;
mod schedule;
mod topic;

use std::path::Path;
use std::time::Duration;

use inbox_hedera::proto::{
    Code, TransactionId, TransactionReceipt, TransactionRecord, TransactionResponse,
};
use prost::Message;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use thiserror::Error;

pub use fee::{CENTS_PER_HBAR, rates};
pub use genesis::{Funded, NODE, TREASURY, TREASURY_KEY, funded};
use handling::Handling;
pub use offer::Offer;
use offer::Offered;
pub use payment::Payment;
pub use rows::{Account, Schedule, Topic, TopicMessage};

/// The layout of the file that this program knows.
const VERSION: i64 = 2;

/// Marks a file as a devnet's in SQLite's header: "INBD".
const APPLICATION_ID: i64 = 0x494e_4244;

/// The ledger's file cannot be used.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// The database refused.
    #[error("the devnet's file cannot be used: {0}")]
    Database(#[from] rusqlite::Error),
    /// Another devnet has it.
    #[error("another devnet uses {0}")]
    InUse(String),
    /// It is another program's, or another version's.
    #[error("{0} is not a devnet of this version")]
    Foreign(String),
    /// The treasury's key is unusable.
    #[error(transparent)]
    Key(#[from] inbox_hedera::key::KeyError),
}

impl LedgerError {
    /// Whether the file was read and no ledger is in it: only then does throwing it away help.
    pub fn is_of_content(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            LedgerError::Foreign(_) => true,
            LedgerError::Database(error) => matches!(
                error.sqlite_error_code(),
                Some(DatabaseCorrupt | NotADatabase)
            ),
            LedgerError::InUse(_) | LedgerError::Key(_) => false,
        }
    }
}

/// Why a transaction does not happen.
#[derive(Debug)]
enum Fault {
    /// By the rules.
    Code(Code),
    /// Because the file cannot be written.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Database(error)
    }
}

impl From<Code> for Fault {
    fn from(code: Code) -> Self {
        Fault::Code(code)
    }
}

/// Nanoseconds of the clock on the wall.
type Clock = Box<dyn Fn() -> i64 + Send>;

/// A ledger in one file.
pub struct Ledger {
    db: Connection,
    clock: Clock,
}

/// What a transaction did that others wait for.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Effects {
    /// Topics with a new message.
    pub topics: Vec<i64>,
    /// What came of each transaction.
    pub receipts: Vec<(TransactionId, TransactionReceipt)>,
}

impl Ledger {
    /// Opens the ledger in this file, and makes one where there is none.
    pub fn open(path: &Path) -> Result<Self, LedgerError> {
        let name = path.display().to_string();
        match Self::prepare(Connection::open(path)?, &name) {
            Err(LedgerError::Database(error))
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) =>
            {
                Err(LedgerError::InUse(name))
            }
            opened => opened,
        }
    }

    /// A ledger that ends with the process.
    pub fn in_memory() -> Result<Self, LedgerError> {
        Self::prepare(Connection::open_in_memory()?, "memory")
    }

    fn prepare(mut db: Connection, name: &str) -> Result<Self, LedgerError> {
        // One process has a ledger, and need not wait for others.
        db.busy_timeout(Duration::ZERO)?;
        db.set_prepared_statement_cache_capacity(128);
        // What was answered survives the end of the process; a loss of power may take the last moment with it.
        db.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;",
        )?;
        let pragma = |name: &str| -> rusqlite::Result<i64> {
            db.pragma_query_value(None, name, |row| row.get(0))
        };
        let is_new = pragma("schema_version")? == 0;
        if !is_new
            && (pragma("application_id")?, pragma("user_version")?) != (APPLICATION_ID, VERSION)
        {
            return Err(LedgerError::Foreign(name.to_owned()));
        }
        if is_new {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            tx.execute_batch(include_str!("ledger/schema.sql"))?;
            genesis::found(&tx, wall())?;
            tx.execute_batch(&format!(
                "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
            ))?;
            tx.commit()?;
        }
        Ok(Ledger {
            db,
            clock: Box::new(wall),
        })
    }

    /// The same under a clock that a test sets, in nanoseconds.
    pub fn with_clock(mut self, clock: impl Fn() -> i64 + Send + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// What the clock says, in nanoseconds.
    pub fn now(&self) -> i64 {
        (self.clock)()
    }

    /// The database, to read from.
    pub fn db(&self) -> &Connection {
        &self.db
    }

    /// Takes a transaction as it comes over the wire. When this says OK it has happened, or was refused for good, and its receipt says
    /// which.
    pub fn submit(&mut self, bytes: &[u8]) -> (TransactionResponse, Effects) {
        let (responses, effects) = self.submit_all(&[Offer::read(bytes)]);
        let busy = response(Code::Busy, 0);
        (responses.into_iter().next().unwrap_or(busy), effects)
    }

    /// The same of several, in this order and in one commit. When the file cannot be written, none has happened.
    pub fn submit_all(&mut self, offers: &[Offer]) -> (Vec<TransactionResponse>, Effects) {
        self.try_submit_all(offers).unwrap_or_else(|_| {
            let busy = response(Code::Busy, 0);
            (vec![busy; offers.len()], Effects::default())
        })
    }

    fn try_submit_all(
        &mut self,
        offers: &[Offer],
    ) -> rusqlite::Result<(Vec<TransactionResponse>, Effects)> {
        let mut effects = Effects::default();
        let mut responses = Vec::with_capacity(offers.len());
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Offer(offer) in offers {
            let outcome = match offer {
                Ok(offered) => carry_out(&tx, offered, (self.clock)(), &mut effects),
                Err(code) => Err((*code).into()),
            };
            responses.push(match outcome {
                Ok(()) => response(Code::Ok, 0),
                Err(Refused {
                    fault: Fault::Code(code),
                    cost,
                }) => response(code, cost),
                Err(Refused {
                    fault: Fault::Database(error),
                    ..
                }) => return Err(error),
            });
        }
        tx.commit()?;
        Ok((responses, effects))
    }

    /// Puts messages on a topic as if these accounts had paid for them, without a transaction: for tests that need very many.
    /// Nothing when there is no such topic.
    pub fn pour(
        &mut self,
        topic: i64,
        messages: impl Iterator<Item = (i64, Vec<u8>)>,
    ) -> Result<Option<Effects>, LedgerError> {
        let wall = (self.clock)();
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if !topic::pour(&tx, topic, wall, messages)? {
            return Ok(None);
        }
        tx.commit()?;
        Ok(Some(Effects {
            topics: vec![topic],
            ..Effects::default()
        }))
    }

    /// Carries out what waited until now, and gives what changed.
    pub fn settle(&mut self) -> Result<Effects, LedgerError> {
        let wall = (self.clock)();
        let mut effects = Effects::default();
        if !schedule::is_any_over(&self.db, wall)? {
            return Ok(effects);
        }
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        schedule::settle(&tx, wall, &mut effects)?;
        tx.commit()?;
        Ok(effects)
    }

    /// What came of a transaction.
    pub fn record(&self, id: &TransactionId) -> rusqlite::Result<Option<TransactionRecord>> {
        let found: Option<Vec<u8>> = self
            .db
            .prepare_cached("SELECT record FROM transactions WHERE id = ?1")?
            .query_row(params![id.encode_to_vec()], |row| row.get(0))
            .optional()?;
        Ok(found.and_then(|bytes| TransactionRecord::decode(bytes.as_slice()).ok()))
    }
}

fn response(code: Code, cost: u64) -> TransactionResponse {
    TransactionResponse {
        precheck_code: code.number(),
        cost,
    }
}

/// Lets a transaction in and carries it out, or says why it was not let in.
fn carry_out(
    db: &Connection,
    offered: &Offered,
    wall: i64,
    effects: &mut Effects,
) -> Result<(), Refused> {
    let checked = precheck::check(db, offered, wall)?;
    let mut handling = Handling::begin(db, offered, checked, wall)?;
    Ok(handling.run(effects)?)
}

/// A transaction that was not let in, and what it would have cost.
struct Refused {
    fault: Fault,
    cost: u64,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Refused { fault, cost: 0 }
    }
}

impl From<Code> for Refused {
    fn from(code: Code) -> Self {
        Fault::from(code).into()
    }
}

fn wall() -> i64 {
    let now = jiff::Timestamp::now().as_nanosecond();
    i64::try_from(now).unwrap_or(i64::MAX)
}

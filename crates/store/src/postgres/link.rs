//! The connection of a store: transactions of few round trips, made again when it is lost.
//!
//! Statements whose rows nobody needs yet wait for the next one whose rows somebody does, and all go in
//! one piece. Nothing is left behind in the server's session while it may be a pooler's: statements have
//! no names there, and every setting is the transaction's own. A connection that turns out to be its
//! server process's only one keeps its settings, and names the statements that come again.

use std::time::Duration;

use inbox_core::sabotage::planted;

use super::dial;
use super::failure::Failure;
use super::session::{Item, ROLLBACK, Session, settings};
use super::url::Target;
use crate::driver::Mode;
use crate::error::StoreError;
use crate::fail::Armed;
use crate::sql::{self, Sql};
use crate::value::{Row, Value};

/// Longer than the server's own limits, which end a statement first: this one is for a server that
/// has gone away without a word.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(45);

/// After so many transactions a connection is worth a round trip that makes the later ones cheaper.
const WORTH_SETTLING: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    /// A statement failed. PostgreSQL answers COMMIT with a rollback then, and without an error.
    Failed,
}

/// A connection that is made again when it is lost, but never in the midst of a transaction.
pub(super) struct Link {
    pub(super) target: Target,
    session: Option<Session>,
    transaction: Transaction,
    queue: Vec<Item>,
    /// Whether a part of the open transaction was sent.
    is_sent: bool,
    /// The point at which a step of the schema is to be cut off, in a store for tests.
    pub(super) armed: Armed,
}

impl Link {
    pub(super) fn new(target: Target) -> Link {
        Link {
            target,
            session: None,
            transaction: Transaction::None,
            queue: Vec::new(),
            is_sent: false,
            armed: Armed::default(),
        }
    }

    pub(super) fn connect(&mut self) -> Result<(), StoreError> {
        let wire = dial::wire(&self.target, ANSWER_WITHIN).map_err(|failure| {
            let (server, reason) = (&self.target.server, failure.words());
            StoreError::Unreachable(format!("cannot reach PostgreSQL at {server}: {reason}"))
        })?;
        self.session = Some(Session::new(wire));
        Ok(())
    }

    pub(super) fn close(&mut self) {
        if let Some(session) = self.session.take() {
            session.wire.close();
        }
    }

    /// Begins a transaction, with the next statement that is sent.
    pub(super) fn begin(&mut self, mode: Mode) -> Result<(), StoreError> {
        // Left open by a caller that panicked; its writes must not become part of this one.
        self.rollback();
        self.settle()?;
        self.queue.push(Item::Begin(mode));
        self.transaction = Transaction::Open;
        Ok(())
    }

    /// Puts a transaction of one statement before the next one.
    pub(super) fn before(&mut self, sql: &'static Sql, params: Vec<Value>) {
        self.queue.push(Item::Begin(Mode::Write));
        self.queue.push(Item::Run(sql, params, false));
        self.queue.push(Item::Commit);
    }

    /// Whether a transaction was begun.
    pub(super) fn is_open(&self) -> bool {
        self.transaction != Transaction::None
    }

    /// Has a statement run some time before the next flush ends.
    pub(super) fn run(&mut self, sql: &'static Sql, params: Vec<Value>) -> Result<(), StoreError> {
        self.push(sql, params, false)
    }

    /// The same of a statement whose rows the next flush gives.
    pub(super) fn ask(&mut self, sql: &'static Sql, params: Vec<Value>) -> Result<(), StoreError> {
        self.push(sql, params, true)
    }

    fn push(
        &mut self,
        sql: &'static Sql,
        params: Vec<Value>,
        is_wanted: bool,
    ) -> Result<(), StoreError> {
        match self.transaction {
            Transaction::Open => {}
            Transaction::None => return Err(misuse(sql.name, "outside a transaction")),
            Transaction::Failed => return Err(misuse(sql.name, "after the transaction failed")),
        }
        self.queue.push(Item::Run(sql, params, is_wanted));
        Ok(())
    }

    /// Has everything that the transaction wrote numbered: the entries that wait to be sent when they are inserted, and with
    /// them those that were sent. What follows is the commit.
    pub(super) fn number_what_was_written(&mut self) -> Result<(), StoreError> {
        let mut waits = false;
        for item in &mut self.queue {
            if let Item::Run(sql, params, _) = item
                && std::ptr::eq(*sql, &raw const sql::INSERT_ENTRY)
                && let Some(wants) = params.last_mut()
            {
                *wants = Value::Int(1);
                waits = true;
            }
        }
        if waits {
            return Ok(());
        }
        self.run(&sql::NUMBER_OWN, Vec::new())
    }

    /// Sends what waits, and gives the rows of each statement that was asked for.
    pub(super) fn flush(&mut self) -> Result<Vec<Vec<Row>>, StoreError> {
        let items = std::mem::take(&mut self.queue);
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let (answers, failure) = self.exchange(&items);
        let Some((_, error)) = failure else {
            self.is_sent = true;
            return Ok(answers);
        };
        if self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
        Err(error)
    }

    /// Commits, and runs `then` in a transaction of its own, all in one round trip.
    pub(super) fn commit(
        &mut self,
        then: Option<(&'static Sql, Vec<Value>)>,
    ) -> Result<Vec<Row>, StoreError> {
        if self.transaction != Transaction::Open {
            self.rollback();
            return Err(misuse(
                "commit",
                "without a transaction that can be committed",
            ));
        }
        let mut items = std::mem::take(&mut self.queue);
        let commit = items.len();
        items.push(Item::Commit);
        if let Some((sql, params)) = then {
            items.push(Item::Begin(Mode::Write));
            items.push(Item::Run(sql, params, true));
            items.push(Item::Commit);
        }
        let (mut answers, failure) = self.exchange(&items);
        match failure {
            None => {
                self.transaction = Transaction::None;
                self.is_sent = false;
                Ok(answers.pop().unwrap_or_default())
            }
            Some((done, error)) if done > commit || self.session.is_none() => {
                // It is in effect, or may be.
                self.transaction = if self.session.is_none() {
                    Transaction::None
                } else {
                    Transaction::Failed
                };
                self.rollback();
                Err(StoreError::Unknown(error.to_string()))
            }
            Some((_, error)) => {
                self.transaction = Transaction::Failed;
                self.rollback();
                Err(error)
            }
        }
    }

    /// Ends the transaction without a trace. The server is told, and not waited for.
    pub(super) fn rollback(&mut self) {
        if self.transaction == Transaction::None {
            return;
        }
        self.queue.clear();
        if (self.is_sent || self.transaction == Transaction::Failed)
            && let Some(session) = &mut self.session
            && session.tell(&ROLLBACK).is_err()
        {
            self.session = None;
        }
        self.transaction = Transaction::None;
        self.is_sent = false;
    }

    /// Notes which server process a transaction has. A session that was settled must not have another.
    pub(super) fn served_by(&mut self, process: i64) -> Result<(), StoreError> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        session.transactions += 1;
        session.is_own = i64::from(session.wire.process) == process || planted("pooler_unseen");
        if session.is_settled && !session.is_own {
            // What was left in the session is somebody else's now, and theirs is ours.
            self.give_up();
            return Err(StoreError::Raced);
        }
        Ok(())
    }

    /// Runs a script that leaves no transaction open, on a connection that is made anew when the old one
    /// turns out to be dead. Running it twice must do no harm.
    pub(super) fn script(&mut self, text: &str) -> Result<Vec<Vec<Option<String>>>, StoreError> {
        self.rollback();
        loop {
            let is_new = self.session.is_none();
            if is_new {
                self.connect()?;
            }
            let Some(session) = &mut self.session else {
                continue;
            };
            let failure = match session.wire.script(text) {
                Ok(rows) => return Ok(rows),
                Err(failure) => failure,
            };
            let error = failure.meaning(&self.target.server);
            if failure.ends_connection() {
                self.give_up();
                if !is_new {
                    continue;
                }
            } else {
                // It may have failed between BEGIN and COMMIT.
                self.transaction = Transaction::Failed;
                self.rollback();
            }
            return Err(error);
        }
    }

    /// Runs a script inside the open transaction.
    pub(super) fn script_within(
        &mut self,
        limit: Duration,
        text: &str,
    ) -> Result<Vec<Vec<Option<String>>>, StoreError> {
        self.flush()?;
        let Some(session) = &mut self.session else {
            return Err(self.lost());
        };
        let done = session.wire.set_patience(Some(limit)).and_then(|()| {
            let rows = session.wire.script(text)?;
            session.wire.set_patience(Some(ANSWER_WITHIN))?;
            Ok(rows)
        });
        done.map_err(|failure| {
            self.transaction = Transaction::Failed;
            self.failed(&failure)
        })
    }

    /// Has a statement parsed, inside the open transaction.
    pub(super) fn parse_only(&mut self, text: &str) -> Result<(), StoreError> {
        self.flush()?;
        let Some(session) = &mut self.session else {
            return Err(self.lost());
        };
        session.wire.parse_only(text).map_err(|failure| {
            self.transaction = Transaction::Failed;
            self.failed(&failure)
        })
    }

    pub(super) fn forget_statements(&mut self) {
        if let Some(session) = &mut self.session {
            session.forget();
        }
    }

    pub(super) fn has_tls(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| session.wire.has_tls())
    }

    /// Whether a pooler stands between, as far as was seen: its server processes are everybody's.
    pub(super) fn is_pooled(&self) -> bool {
        self.session.as_ref().is_some_and(|session| !session.is_own)
    }

    /// Sends items and reads their answers. With a failure comes how many items were done before it.
    fn exchange(&mut self, items: &[Item]) -> (Vec<Vec<Row>>, Option<(usize, StoreError)>) {
        // Without a commit, what was sent first has no effect when the connection is lost.
        let can_repeat = !self.is_sent && !commits_a_write(items);
        loop {
            let is_new = self.session.is_none();
            if is_new {
                if self.is_sent {
                    return (Vec::new(), Some((0, self.lost())));
                }
                if let Err(error) = self.connect() {
                    return (Vec::new(), Some((0, error)));
                }
            }
            let Some(session) = &mut self.session else {
                continue;
            };
            let schema = &self.target.schema;
            let (answers, done, failure) = session.run(items, schema);
            let Some(failure) = failure else {
                return (answers, None);
            };
            if failure.forgot_statement() {
                // Another process changed a table, or a pooler gave us another server process.
                // Parsed anew, the statement works; and one that does not fails as a new one.
                let was_named = session.has_names();
                self.forget_statements();
                if was_named {
                    return (answers, Some((done, StoreError::Raced)));
                }
            }
            let error = self.failed(&failure);
            if self.session.is_none() && can_repeat && !is_new {
                continue;
            }
            return (answers, Some((done, error)));
        }
    }

    /// Makes the settings the session's, once it is known to be ours alone and to be used again.
    fn settle(&mut self) -> Result<(), StoreError> {
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        if session.is_settled || !session.is_own || session.transactions < WORTH_SETTLING {
            return Ok(());
        }
        let text = settings(&self.target.schema);
        match session.wire.script(&text) {
            Ok(_) => session.is_settled = true,
            Err(failure) => {
                let error = self.failed(&failure);
                if self.session.is_some() {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn failed(&mut self, failure: &Failure) -> StoreError {
        let error = failure.meaning(&self.target.server);
        if failure.ends_connection() {
            self.give_up();
        }
        error
    }

    fn lost(&self) -> StoreError {
        let server = &self.target.server;
        StoreError::Database(format!("the connection to PostgreSQL at {server} was lost"))
    }

    fn give_up(&mut self) {
        self.session = None;
        if self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
    }
}

fn commits_a_write(items: &[Item]) -> bool {
    // What goes before a transaction may be run twice.
    matches!(items, [.., Item::Commit])
}

pub(super) fn misuse(what: &str, how: &str) -> StoreError {
    StoreError::Database(format!("{what} was called {how}"))
}

pub(super) fn no_row(what: &str) -> StoreError {
    StoreError::Database(format!("PostgreSQL gave no answer to {what}"))
}

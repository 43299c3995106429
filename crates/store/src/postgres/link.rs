//! The connection, inside the driver's thread.

use std::collections::HashMap;
use std::time::Duration;

use inbox_core::sabotage::planted;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage, Statement};

use super::bind::{self, Bound};
use super::failure;
use super::url::Target;
use crate::driver::Mode;
use crate::error::StoreError;
use crate::sql::{self, Sql};
use crate::value::Row;

/// Longer than the server's own limits, which end a statement first: this one is for a server that
/// has gone away without a word.
const ANSWER_WITHIN: Duration = Duration::from_secs(45);
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    /// A statement failed. PostgreSQL answers COMMIT with a rollback then, and without an error.
    Failed,
}

struct Session {
    client: Client,
    connection: JoinHandle<()>,
    statements: HashMap<&'static str, Statement>,
}

/// A connection that is made again when it is lost, but never in the midst of a transaction.
pub(super) struct Link {
    pub(super) target: Target,
    session: Option<Session>,
    transaction: Transaction,
}

impl Link {
    pub(super) fn new(target: Target) -> Link {
        Link {
            target,
            session: None,
            transaction: Transaction::None,
        }
    }

    pub(super) async fn connect(&mut self) -> Result<(), StoreError> {
        let unreachable = |reason: String| {
            let server = &self.target.server;
            StoreError::Database(format!("cannot reach PostgreSQL at {server}: {reason}"))
        };
        let connecting = self.target.config.connect(NoTls);
        let (client, connection) = match timeout(ANSWER_WITHIN, connecting).await {
            Ok(connected) => connected.map_err(|error| unreachable(failure::words(&error)))?,
            Err(_) => return Err(unreachable("no answer".into())),
        };
        // Its end shows in the client: every request after it fails.
        let connection = tokio::spawn(async move { drop(connection.await) });
        self.session = Some(Session {
            client,
            connection,
            statements: HashMap::new(),
        });
        Ok(())
    }

    pub(super) async fn close(&mut self) {
        if let Some(Session {
            client,
            connection,
            statements,
        }) = self.session.take()
        {
            drop((statements, client));
            let _ = timeout(CLOSE_WITHIN, connection).await;
        }
    }

    pub(super) async fn begin(&mut self, mode: Mode) -> Result<(), StoreError> {
        // Left open by a caller that panicked; its writes must not become part of this one.
        self.rollback().await;
        self.batch(&self.begin_text(mode)).await?;
        self.transaction = Transaction::Open;
        Ok(())
    }

    pub(super) async fn query(
        &mut self,
        sql: &'static Sql,
        params: Vec<Bound>,
    ) -> Result<Vec<Row>, StoreError> {
        match self.transaction {
            Transaction::Open => {}
            Transaction::None => return Err(misuse(sql.name, "outside a transaction")),
            Transaction::Failed => return Err(misuse(sql.name, "after the transaction failed")),
        }
        let answer = self.query_unguarded(sql, &params).await;
        if answer.is_err() {
            self.transaction = Transaction::Failed;
        }
        answer
    }

    async fn query_unguarded(
        &mut self,
        sql: &'static Sql,
        params: &[Bound],
    ) -> Result<Vec<Row>, StoreError> {
        let known = self
            .session
            .as_ref()
            .and_then(|s| s.statements.get(sql.name))
            .cloned();
        let is_known = known.is_some();
        let statement = if let Some(statement) = known {
            statement
        } else {
            let prepared = self
                .run(async |client| client.prepare(sql.postgres).await)
                .await?;
            if let Some(session) = &mut self.session {
                session.statements.insert(sql.name, prepared.clone());
            }
            prepared
        };
        let (due, given) = (statement.params().len(), params.len());
        if due != given {
            return Err(misuse(
                sql.name,
                &format!("with {given} parameters and not {due}"),
            ));
        }
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|p| p as _).collect();
        let mut forgot = false;
        let answer = self
            .run(async |client| {
                let answer = client.query(&statement, &params).await;
                forgot = answer.as_ref().is_err_and(failure::forgot_statement);
                answer
            })
            .await;
        if is_known && forgot {
            // Another process changed a table, or a pooler gave us another server connection.
            // Prepared anew, the statement works; and one that does not fails as a new one.
            self.forget_statements();
            return Err(StoreError::Raced);
        }
        let answer = answer?;
        if std::ptr::eq(sql, &raw const sql::INSERT_ENTRY) && planted("number_at_insert") {
            self.number_at_insert(&answer).await?;
        }
        bind::rows(sql.name, &answer)
    }

    pub(super) async fn commit(&mut self) -> Result<(), StoreError> {
        if self.transaction != Transaction::Open {
            self.rollback().await;
            return Err(misuse(
                "commit",
                "without a transaction that can be committed",
            ));
        }
        self.transaction = Transaction::None;
        let done = self
            .run(async |client| client.batch_execute("COMMIT").await)
            .await;
        match done {
            Err(error) if self.session.is_none() => Err(StoreError::Unknown(error.to_string())),
            done => done,
        }
    }

    pub(super) async fn rollback(&mut self) {
        if self.transaction == Transaction::None {
            return;
        }
        let done = self
            .run(async |client| client.batch_execute("ROLLBACK").await)
            .await;
        if done.is_err() {
            self.give_up();
        }
        self.transaction = Transaction::None;
    }

    pub(super) async fn now(&mut self) -> Result<i64, StoreError> {
        if self.transaction != Transaction::None {
            let rows = self.query(&sql::NOW, Vec::new()).await?;
            return rows
                .into_iter()
                .next()
                .map_or_else(|| Err(no_row("now")), |mut row| row.int());
        }
        let answer = self.batch(sql::NOW.postgres).await?;
        let millis = cells(&answer)
            .next()
            .and_then(|[millis]| millis.parse().ok());
        millis.ok_or_else(|| no_row("now"))
    }

    /// Runs statements that leave no transaction open, or open one, on a connection that is made
    /// anew when the old one turns out to be dead. Running them twice must do no harm.
    pub(super) async fn batch(
        &mut self,
        text: &str,
    ) -> Result<Vec<SimpleQueryMessage>, StoreError> {
        if self.transaction != Transaction::None {
            return Err(misuse("this", "inside a transaction"));
        }
        loop {
            let is_new = self.session.is_none();
            if is_new {
                self.connect().await?;
            }
            let answer = self
                .run(async |client| client.simple_query(text).await)
                .await;
            if answer.is_ok() {
                return answer;
            }
            if self.session.is_some() {
                // It may have failed between BEGIN and COMMIT.
                self.transaction = Transaction::Failed;
                self.rollback().await;
                return answer;
            }
            if is_new {
                return answer;
            }
        }
    }

    pub(super) async fn run<T>(
        &mut self,
        work: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        self.run_within(ANSWER_WITHIN, work).await
    }

    pub(super) async fn run_within<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let server = &self.target.server;
        let Some(session) = &self.session else {
            return Err(StoreError::Database(format!(
                "the connection to PostgreSQL at {server} was lost"
            )));
        };
        let error = match timeout(limit, work(&session.client)).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => {
                let meaning = failure::of(server, &error);
                if !failure::ends_connection(&error) {
                    return Err(meaning);
                }
                meaning
            }
            Err(_) => StoreError::Database(format!(
                "PostgreSQL at {server} did not answer within {} s",
                limit.as_secs()
            )),
        };
        self.give_up();
        Err(error)
    }

    pub(super) fn forget_statements(&mut self) {
        if let Some(session) = &mut self.session {
            session.statements.clear();
        }
    }

    fn give_up(&mut self) {
        if let Some(session) = self.session.take() {
            session.connection.abort();
        }
        if self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
    }

    /// Everything is LOCAL to the transaction: behind a pooler the next one has another server
    /// connection, and this one's next user is somebody else.
    fn begin_text(&self, mode: Mode) -> String {
        let isolation = match mode {
            Mode::Read => "REPEATABLE READ READ ONLY",
            Mode::Write => "READ COMMITTED READ WRITE",
        };
        // Unless pg_temp is named last, it is searched first, and a temporary table hides ours.
        let schema = &self.target.schema;
        format!(
            "BEGIN ISOLATION LEVEL {isolation};\n\
             SET LOCAL search_path = \"{schema}\", pg_temp;\n\
             SET LOCAL statement_timeout = '30s';\n\
             SET LOCAL lock_timeout = '10s';\n\
             SET LOCAL idle_in_transaction_session_timeout = '60s';\n\
             SET LOCAL synchronous_commit = on"
        )
    }

    pub(super) fn transaction_text(&self, mode: Mode, statements: &[&str]) -> String {
        // On its own line, so that a comment at the end of a statement does not swallow it.
        format!(
            "{};\n{}\n;\nCOMMIT",
            self.begin_text(mode),
            statements.join("\n;\n")
        )
    }
}

/// The rows of an answer in text that have `N` columns, none of them null.
pub(super) fn cells<const N: usize>(
    answer: &[SimpleQueryMessage],
) -> impl Iterator<Item = [&str; N]> {
    answer.iter().filter_map(|message| {
        let SimpleQueryMessage::Row(row) = message else {
            return None;
        };
        let mut texts = [""; N];
        for (i, text) in texts.iter_mut().enumerate() {
            *text = row.try_get(i).ok()??;
        }
        (row.len() == N).then_some(texts)
    })
}

fn misuse(what: &str, how: &str) -> StoreError {
    StoreError::Database(format!("{what} was called {how}"))
}

pub(super) fn no_row(what: &str) -> StoreError {
    StoreError::Database(format!("PostgreSQL gave no answer to {what}"))
}

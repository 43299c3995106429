//! What a connection has on the server: a session, with statements that have names where it is ours alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::failure::Failure;
use super::wire::{Answered, Columns, Reply, Request, Wire};
use crate::driver::Mode;
use crate::sql::{self, Sql};
use crate::value::{Row, Value};

static BEGIN_READ: Sql = Sql::only_postgres(
    "begin_read",
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
);
static BEGIN_WRITE: Sql = Sql::only_postgres(
    "begin_write",
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
);
static COMMIT: Sql = Sql::only_postgres("commit", "COMMIT");
pub(super) static ROLLBACK: Sql = Sql::only_postgres("rollback", "ROLLBACK");

/// How long the plan of a statement that joins is kept: the best way depends on how large the tables are by now.
const PLANNED: Duration = Duration::from_mins(1);

/// The statements whose plan is kept from the first: those of every write, which find rows by key or walk an index in a
/// fixed order. Others are worth one when they are asked again.
const KEPT: &[&str] = &[
    "begin_read",
    "begin_write",
    "commit",
    "now",
    "number",
    "conclude",
    "next_thread",
    "next_entry",
    "find_agent",
    "find_address",
    "resolve",
    "load_thread",
    "spoken",
    "spoken_last",
    "opening_payload",
    "opener_address",
    "take_queued",
    "reach_of_agent",
    "lapsed",
    "insert_thread",
    "insert_recipient",
    "insert_entry",
    "insert_delivery",
    "update_thread",
    "set_queue",
    "touch_agent",
    "recall",
    "remember",
];

fn is_kept(name: &str) -> bool {
    KEPT.contains(&name)
}

/// What waits to be sent.
#[derive(Debug)]
pub(super) enum Item {
    Begin(Mode),
    /// A statement, and whether its rows are wanted.
    Run(&'static Sql, Vec<Value>, bool),
    Commit,
}

#[derive(Default)]
struct Known {
    /// Its name on the server. A name lasts as long as the session: only where that is ours.
    name: Option<Arc<str>>,
    columns: Option<Columns>,
}

pub(super) struct Session {
    pub(super) wire: Wire,
    statements: HashMap<&'static str, Known>,
    /// How many names were given: none is given twice.
    named: u32,
    /// Since when statements that join have their plans.
    planned: Instant,
    pub(super) transactions: u32,
    /// Whether the server process is ours alone, as far as was seen.
    pub(super) is_own: bool,
    /// Whether the settings are the session's, and not each transaction's.
    pub(super) is_settled: bool,
}

impl Session {
    /// A session on a connection that has just logged in.
    pub(super) fn new(wire: Wire) -> Session {
        Session {
            wire,
            statements: HashMap::new(),
            named: 0,
            planned: Instant::now(),
            transactions: 0,
            is_own: false,
            is_settled: false,
        }
    }

    /// Runs items in one round trip: the rows of each statement, how many items were done, and what failed.
    pub(super) fn run(
        &mut self,
        items: &[Item],
        schema: &str,
    ) -> (Vec<Vec<Row>>, usize, Option<Failure>) {
        if let Err(failure) = self.renew_plans() {
            return (Vec::new(), 0, Some(failure));
        }
        let mut requests: Vec<Request<'_>> = Vec::with_capacity(items.len() * 2);
        // Which item a request is of, and whether its rows are wanted.
        let mut of: Vec<(usize, bool, &'static Sql)> = Vec::with_capacity(items.len() * 2);
        let path = [Value::Text(search_path(schema))];
        for (index, item) in items.iter().enumerate() {
            let mut add = |sql: &'static Sql, is_wanted: bool| of.push((index, is_wanted, sql));
            match item {
                Item::Begin(mode) => {
                    add(
                        match mode {
                            Mode::Read => &BEGIN_READ,
                            Mode::Write => &BEGIN_WRITE,
                        },
                        false,
                    );
                    if !self.is_settled {
                        add(&sql::SETTINGS, false);
                    }
                }
                Item::Run(sql, _, is_wanted) => add(sql, *is_wanted),
                Item::Commit => add(&COMMIT, false),
            }
        }
        for (index, _, sql) in &of {
            let params: &[Value] = match &items[*index] {
                Item::Run(_, params, _) => params,
                Item::Begin(_) if std::ptr::eq(*sql, &raw const sql::SETTINGS) => &path,
                _ => &[],
            };
            let known = self.statements.entry(sql.name).or_default();
            let is_parsed = known.name.is_some();
            let is_again = known.columns.is_some();
            if self.is_settled && !is_parsed && (is_again || is_kept(sql.name)) {
                self.named += 1;
                known.name = Some(format!("s{}", self.named).into());
            }
            requests.push(Request {
                name: known.name.clone().unwrap_or_default(),
                text: (!is_parsed).then_some(sql.postgres),
                params,
                columns: known.columns.clone(),
            });
        }
        let Answered {
            replies,
            parsed,
            failure,
        } = self.wire.pipeline(&requests);
        let texts = requests
            .iter()
            .zip(&of)
            .filter(|(request, _)| request.text.is_some());
        for (_, (_, _, sql)) in texts.skip(parsed) {
            self.statements.remove(sql.name);
        }
        let done = of
            .get(replies.len())
            .map_or(items.len(), |(index, ..)| *index);
        let mut answers = Vec::with_capacity(items.len());
        for (reply, (_, is_wanted, sql)) in replies.into_iter().zip(&of) {
            let Reply { rows, columns } = reply;
            if let Some(known) = self.statements.get_mut(sql.name)
                && known.columns.is_none()
            {
                known.columns = Some(columns);
            }
            if *is_wanted {
                answers.push(rows);
            }
        }
        (answers, done, failure)
    }

    /// Has statements that join planned anew, when their time has come. What the server forgets goes ahead of all else, where no
    /// failure can keep it.
    fn renew_plans(&mut self) -> Result<(), Failure> {
        if self.planned.elapsed() < PLANNED {
            return Ok(());
        }
        self.planned = Instant::now();
        for (name, known) in &mut self.statements {
            if !is_kept(name)
                && let Some(named) = known.name.take()
            {
                self.wire.forget(&named)?;
            }
        }
        Ok(())
    }

    /// Whether the server knows statements of ours by name.
    pub(super) fn has_names(&self) -> bool {
        self.statements.values().any(|known| known.name.is_some())
    }

    /// Has every statement parsed anew.
    pub(super) fn forget(&mut self) {
        self.statements.clear();
    }

    /// Sends a statement and does not wait for its answer.
    pub(super) fn tell(&mut self, sql: &'static Sql) -> Result<(), Failure> {
        self.wire.send_only(&Request {
            name: "".into(),
            text: Some(sql.postgres),
            params: &[],
            columns: None,
        })
    }
}

/// Unless `pg_temp` is named last, it is searched first, and a temporary table hides ours.
fn search_path(schema: &str) -> String {
    format!("\"{schema}\", pg_temp")
}

/// What `settings.postgres.sql` says for a transaction, for a session that is ours.
pub(super) fn settings(schema: &str) -> String {
    let path = search_path(schema);
    format!(
        "SET search_path = {path};\n\
         SET statement_timeout = '30s';\n\
         SET lock_timeout = '10s';\n\
         SET idle_in_transaction_session_timeout = '60s';\n\
         SET synchronous_commit = on;\n\
         SET row_security = off;\n\
         SET enable_seqscan = off;\n\
         SET enable_hashjoin = off;\n\
         SET enable_mergejoin = off;\n\
         SET random_page_cost = 1.1;\n\
         SET jit = off;\n\
         SET plan_cache_mode = force_generic_plan"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_that_is_kept_is_there() {
        let own = [&BEGIN_READ, &BEGIN_WRITE, &COMMIT].map(|sql| sql.name);
        let is_there =
            |name: &str| own.contains(&name) || sql::ALL.iter().any(|sql| sql.name == name);
        let missing: Vec<_> = KEPT.iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

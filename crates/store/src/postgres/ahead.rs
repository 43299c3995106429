//! Statements that were sent ahead of the asking, and their rows until somebody asks.

use crate::sql::{self, Sql};
use crate::value::{Row, Value};

struct Expected {
    sql: &'static Sql,
    params: Vec<Value>,
    rows: Option<Vec<Row>>,
    is_answered: bool,
    /// What it read may have been changed since, by the transaction itself.
    is_stale: bool,
}

/// What was sent ahead in one transaction.
#[derive(Default)]
pub(super) struct Ahead {
    expected: Vec<Expected>,
}

impl Ahead {
    pub(super) fn expect(&mut self, sql: &'static Sql, params: Vec<Value>) {
        self.expected.push(Expected {
            sql,
            params,
            rows: None,
            is_answered: false,
            is_stale: false,
        });
    }

    /// Keeps what a statement without parameters would give.
    pub(super) fn know(&mut self, sql: &'static Sql, rows: Vec<Row>) {
        self.expected.push(Expected {
            sql,
            params: Vec::new(),
            rows: Some(rows),
            is_answered: true,
            is_stale: false,
        });
    }

    /// Whether a statement was sent or waits to be.
    pub(super) fn has(&self, sql: &'static Sql, params: &[Value]) -> bool {
        self.expected.iter().any(|it| it.is(sql, params))
    }

    /// The rows of a statement, once.
    pub(super) fn take(&mut self, sql: &'static Sql, params: &[Value]) -> Option<Vec<Row>> {
        let found = self
            .expected
            .iter_mut()
            .find(|it| it.is(sql, params) && it.rows.is_some())?;
        found.is_stale = true;
        found.rows.take()
    }

    /// Keeps the answers to what was not answered yet, in the order of the asking.
    pub(super) fn answered(&mut self, answers: Vec<Vec<Row>>) {
        let waiting = self.expected.iter_mut().filter(|it| !it.is_answered);
        for (it, rows) in waiting.zip(answers) {
            it.rows = Some(rows);
            it.is_answered = true;
        }
    }

    /// A statement changes something: what was read before it may not be so any more. A key that was taken
    /// stays.
    pub(super) fn forget(&mut self) {
        let is_key = |sql| {
            std::ptr::eq(sql, &raw const sql::NEXT_THREAD)
                || std::ptr::eq(sql, &raw const sql::NEXT_ENTRY)
        };
        for it in self.expected.iter_mut().filter(|it| !is_key(it.sql)) {
            it.is_stale = true;
        }
    }

    /// A key that was taken is too old for what is read now.
    pub(super) fn drop_key(&mut self) {
        for it in &mut self.expected {
            it.is_stale |= std::ptr::eq(it.sql, &raw const sql::NEXT_ENTRY);
        }
    }
}

impl Expected {
    fn is(&self, sql: &'static Sql, params: &[Value]) -> bool {
        !self.is_stale && std::ptr::eq(self.sql, sql) && self.params == params
    }
}

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
        let mut expected = self.expected.iter();
        let place = expected.position(|it| it.is(sql, params) && it.rows.is_some())?;
        self.expected.remove(place).rows
    }

    /// Keeps the answers to what was not answered yet, in the order of the asking.
    pub(super) fn answered(&mut self, answers: Vec<Vec<Row>>) {
        let waiting = self.expected.iter_mut().filter(|it| !it.is_answered);
        for (it, rows) in waiting.zip(answers) {
            it.rows = Some(rows);
            it.is_answered = true;
        }
        self.clear();
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
        self.clear();
    }

    /// Drops what nobody will be given any more: a transaction may write thousands of rows. Answers come in the order of the asking, so
    /// what is not answered yet keeps its place.
    fn clear(&mut self) {
        self.expected.retain(|it| !(it.is_stale && it.is_answered));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_of_many_writes_keeps_nothing_of_what_it_asked_before() {
        let mut ahead = Ahead::default();
        for n in 0..1_000 {
            let params = vec![Value::Int(n)];
            ahead.expect(&sql::FIND_AGENT, params.clone());
            ahead.expect(&sql::NEXT_ENTRY, Vec::new());
            ahead.answered(vec![Vec::new(), vec![Row::new(vec![Value::Int(n)])]]);
            assert!(ahead.take(&sql::FIND_AGENT, &params).is_some());
            assert!(!ahead.has(&sql::FIND_AGENT, &params), "it is given once");
            // The key that was taken is for the next entry, whatever is written before it.
            ahead.forget();
            assert!(ahead.take(&sql::NEXT_ENTRY, &[]).is_some());
        }
        assert!(ahead.expected.is_empty());
    }

    #[test]
    fn an_answer_to_what_is_stale_by_now_is_nobodys() {
        let mut ahead = Ahead::default();
        let (one, two) = (vec![Value::Int(1)], vec![Value::Int(2)]);
        ahead.expect(&sql::FIND_AGENT, one.clone());
        ahead.forget();
        ahead.expect(&sql::FIND_AGENT, two.clone());
        let rows = |n| vec![Row::new(vec![Value::Int(n)])];
        ahead.answered(vec![rows(1), rows(2)]);
        assert!(ahead.take(&sql::FIND_AGENT, &one).is_none());
        let mut found = ahead.take(&sql::FIND_AGENT, &two).unwrap_or_default();
        assert_eq!(found[0].int().ok(), Some(2));
    }
}

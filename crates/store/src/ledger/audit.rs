//! What the store says of the ledger to whoever checks it: what was found of a message, what should have been, and what does not go.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Auth, MessageId};

use super::{Place, Record, TopicRow, read_record, read_topic};
use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;

/// What waits to be said on one topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicBacklog {
    /// Which.
    pub topic_no: i64,
    /// How much.
    pub count: i64,
    /// Since when the oldest waits.
    pub since: Option<Millis>,
    /// How much of it met a problem.
    pub problems: i64,
}

/// A message that was to be said and could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Where.
    pub topic: TopicRow,
    /// The message.
    pub message: MessageId,
    /// Who says it.
    pub agent: AgentName,
    /// How often it was tried.
    pub tries: i64,
    /// When it is tried next.
    pub next_at: Millis,
    /// Why it could not be said.
    pub problem: String,
}

impl Tx<'_> {
    /// What was found of a message, topic by topic.
    pub fn records_of(
        &mut self,
        uid: &str,
        limit: i64,
    ) -> Result<Vec<(TopicRow, Record)>, StoreError> {
        let mut rows = self.rows(&sql::RECORDS_OF_UID, &[uid.into(), limit.into()])?;
        rows.iter_mut()
            .map(|row| Ok((read_topic(row)?, read_record(row)?)))
            .collect()
    }

    /// Messages after a row of the log whose sender was established so: each with its row.
    pub fn messages_by_auth(
        &mut self,
        auth: Auth,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(i64, MessageId)>, StoreError> {
        let params = [auth.code().into(), after.into(), limit.into()];
        self.numbered(&sql::ENTRIES_OF_AUTH, &params)
    }

    /// Messages after a row of the log of those who heard on a topic when they wrote them: each with its row.
    pub fn messages_of_hearers(
        &mut self,
        after: i64,
        limit: i64,
    ) -> Result<Vec<(i64, MessageId)>, StoreError> {
        let params = [Place::Inbound.code().into(), after.into(), limit.into()];
        self.numbered(&sql::ENTRIES_OF_HOLDERS, &params)
    }

    fn numbered(
        &mut self,
        query: &'static sql::Sql,
        params: &[crate::value::Param<'_>],
    ) -> Result<Vec<(i64, MessageId)>, StoreError> {
        let mut rows = self.rows(query, params)?;
        rows.iter_mut()
            .map(|row| Ok((row.int()?, MessageId::new(row.int()?))))
            .collect()
    }

    /// Whether a topic was known before that moment.
    pub fn was_there(&mut self, topic_no: i64, before: Millis) -> Result<bool, StoreError> {
        let params = [topic_no.into(), before.0.into()];
        Ok(self.one_int(&sql::TOPICS_MADE_BEFORE, &params)?.is_some())
    }

    /// Whether a message waits to be said on a topic.
    pub fn is_waiting(&mut self, message: MessageId, topic_no: i64) -> Result<bool, StoreError> {
        let params = [message.key().into(), topic_no.into()];
        Ok(self.first(&sql::OUTBOX_OF_ENTRY, &params)?.is_some())
    }

    /// Whether a message waits to be said on any topic.
    pub fn waits_for_ledger(&mut self, message: MessageId) -> Result<bool, StoreError> {
        let params = [message.key().into()];
        Ok(self.one_int(&sql::OUTBOX_HAS_ENTRY, &params)?.is_some())
    }

    /// What was written down of the store itself under a name.
    pub fn noted(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        let found = self.first(&sql::LOAD_META, &[name.into()])?;
        found.map(|mut row| row.text()).transpose()
    }

    /// Writes something down of the store itself, in place of what was there under that name.
    pub fn note(&mut self, name: &str, value: &str) -> Result<(), StoreError> {
        self.put(&sql::SAVE_META, &[name.into(), value.into()])
    }

    /// Forgets connections, the ids of all topics, how far they were read, what was found there and what was on its way.
    pub fn forget_ledger(&mut self) -> Result<(), StoreError> {
        let now = self.now().0;
        self.put(&sql::FORGET_RECORDS, &[])?;
        self.put(&sql::FORGET_FLOODS, &[])?;
        self.put(&sql::FORGET_PROPOSALS, &[])?;
        self.put(&sql::FORGET_CONNECTIONS, &[])?;
        self.put(&sql::FORGET_UNSAID, &[Place::Connection.code().into()])?;
        self.put(&sql::FORGET_STEPS, &[])?;
        self.put(&sql::FORGET_CHECK, &[])?;
        self.put(&sql::FORGET_TOPICS, &[now.into()])
    }

    /// What waits to be said, topic by topic.
    pub fn backlogs(&mut self) -> Result<Vec<TopicBacklog>, StoreError> {
        let mut rows = self.rows(&sql::OUTBOX_BY_TOPIC, &[])?;
        rows.iter_mut()
            .map(|row| {
                Ok(TopicBacklog {
                    topic_no: row.int()?,
                    count: row.int()?,
                    since: row.maybe_int()?.map(Millis),
                    problems: row.int()?,
                })
            })
            .collect()
    }

    /// What was to be said and could not be, the oldest first.
    pub fn stuck(&mut self, limit: i64) -> Result<Vec<Stuck>, StoreError> {
        let mut rows = self.rows(&sql::OUTBOX_PROBLEMS, &[limit.into()])?;
        rows.iter_mut()
            .map(|row| {
                Ok(Stuck {
                    topic: read_topic(row)?,
                    message: MessageId::new(row.int()?),
                    agent: row.parsed::<AgentName>()?,
                    tries: row.int()?,
                    next_at: Millis(row.int()?),
                    problem: row.text()?,
                })
            })
            .collect()
    }
}

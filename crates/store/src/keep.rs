//! What is taken out of the store to be kept elsewhere, and what comes from elsewhere.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Event, EventId, Message, MessageId, Refusal, Step, ThreadId};

use crate::Store;
use crate::error::StoreError;
use crate::row::{self, ThreadRow};
use crate::sql;
use crate::tx::Tx;

/// Somebody's step towards a message, as a file keeps it.
#[derive(Debug, Clone)]
pub struct Stepped {
    /// The message.
    pub message: MessageId,
    /// The step.
    pub step: Step,
    /// Who.
    pub agent: AgentName,
    /// From which session.
    pub session: Option<String>,
    /// When.
    pub at: Millis,
}

impl Store {
    /// Makes sure that commands with a key can be repeated after their threads were removed, and give the same cursor. The newest
    /// event up to which that is so.
    pub fn settle_keys(&self) -> Result<EventId, Refusal> {
        if !self.is_served() {
            return self.newest_event();
        }
        let settled = self.write(|tx| Ok(tx.one_int(&sql::SETTLE_REPLAYS, &[])?))?;
        Ok(EventId(settled.value.unwrap_or(0)))
    }
}

impl Tx<'_> {
    /// Messages after an event, oldest first, each with its event.
    pub fn messages_after(
        &mut self,
        after: EventId,
        limit: i64,
    ) -> Result<Vec<(EventId, Message)>, StoreError> {
        let mut rows = self.rows(&sql::MESSAGES_AFTER, &[after.0.into(), limit.into()])?;
        rows.iter_mut().map(row::read_message).collect()
    }

    /// Reads and acknowledgements since a time, oldest first.
    pub fn stepped_since(&mut self, since: Millis) -> Result<Vec<Stepped>, StoreError> {
        let mut rows = self.rows(&sql::RECEIPTS_SINCE, &[since.0.into()])?;
        rows.iter_mut()
            .map(|row| {
                Ok(Stepped {
                    message: MessageId::new(row.int()?),
                    step: row.word(Step::from_code)?,
                    agent: row.parsed()?,
                    session: row.maybe_text()?,
                    at: Millis(row.int()?),
                })
            })
            .collect()
    }

    /// Writes down a step that was taken elsewhere.
    pub fn old_receipt(
        &mut self,
        message: MessageId,
        step: Step,
        address_no: i64,
        agent_no: i64,
        at: Millis,
    ) -> Result<(), StoreError> {
        let params = [
            message.key().into(),
            step.code().into(),
            address_no.into(),
            agent_no.into(),
            at.0.into(),
        ];
        self.put(&sql::INSERT_OLD_RECEIPT, &params)
    }

    /// How many messages there are.
    pub fn count_messages(&mut self) -> Result<i64, StoreError> {
        Ok(self.one_int(&sql::COUNT_MESSAGES, &[])?.unwrap_or(0))
    }

    /// Threads that are over or expired and have not changed since a time and an event, oldest first, from the one after `after` on.
    pub fn archivable(
        &mut self,
        before: Millis,
        settled: EventId,
        after: Option<ThreadId>,
        limit: i64,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let now = self.now().0;
        let after = after.map_or(0, |thread| thread.key());
        let params = [
            after.into(),
            before.0.into(),
            now.into(),
            settled.0.into(),
            limit.into(),
        ];
        self.threads(&sql::ARCHIVABLE, &params)
    }

    /// Every event of a thread, oldest first.
    pub fn events_of(&mut self, thread: ThreadId) -> Result<Vec<Event>, StoreError> {
        self.rows(&sql::EVENTS_OF_THREAD, &[thread.key().into()])?
            .iter_mut()
            .map(row::read_event)
            .collect()
    }

    /// Removes threads that are kept elsewhere, but those that have changed since they were [archivable](Tx::archivable), up to
    /// an event that is [settled](Store::settle_keys). Which are gone.
    pub fn remove_threads<'a>(
        &mut self,
        rows: impl IntoIterator<Item = &'a ThreadRow>,
    ) -> Result<Vec<ThreadId>, StoreError> {
        let mut gone = Vec::new();
        for row in rows {
            let thread = row.thread.thread_id;
            let now = self.load_thread(thread)?;
            if now.is_none_or(|now| now.version != row.version) {
                continue;
            }
            for statement in [
                &sql::REMOVE_RECEIPTS,
                &sql::REMOVE_DELIVERIES,
                &sql::REMOVE_ARTIFACTS,
                &sql::REMOVE_ENTRIES,
            ] {
                self.put(statement, &[thread.key().into()])?;
            }
            let params = [thread.key().into(), row.version.into()];
            if self.first(&sql::REMOVE_THREAD, &params)?.is_none() {
                return Err(StoreError::Raced);
            }
            gone.push(thread);
        }
        let keys = || gone.iter().map(|thread| thread.key());
        if let (Some(first), Some(last)) = (keys().min(), keys().max()) {
            self.put(&sql::REMOVE_RECIPIENTS, &[first.into(), last.into()])?;
        }
        Ok(gone)
    }
}

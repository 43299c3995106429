//! What a reader's client was not told of yet: the mail that its hooks and wakes are about.

use std::collections::BTreeSet;

use inbox_core::{AgentName, EventId, Message, MessageId, SessionId};

use crate::error::StoreError;
use crate::mail::{Reader, parts};
use crate::row;
use crate::sql::{self, Sql};
use crate::tx::{SEEN_EVERY_MS, Tx};
use crate::value::Row;

/// Which unread mail is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressing {
    /// All of it.
    Any,
    /// What is urgent.
    Urgent,
    /// What asks for something: work, questions, and what is urgent.
    Asking,
}

impl Pressing {
    fn code(self) -> i64 {
        match self {
            Pressing::Any => 0,
            Pressing::Urgent => 1,
            Pressing::Asking => 2,
        }
    }
}

impl Tx<'_> {
    /// Up to `limit` unread messages of which this session was not told, or with `again` also those of which it
    /// was; not what came after an event; the most urgent first, then the oldest. One that came by several addresses is
    /// one.
    pub fn untold(
        &mut self,
        reader: &Reader,
        pressing: Pressing,
        again: bool,
        up_to: Option<EventId>,
        limit: i64,
    ) -> Result<Vec<Message>, StoreError> {
        let mut found: Vec<(EventId, Message)> = Vec::new();
        for mut row in self.untold_by(&sql::UNTOLD, reader, pressing, again, up_to, limit)? {
            let (event, message) = row::read_message(&mut row)?;
            if !found.iter().any(|(other, _)| *other == event) {
                found.push((event, message));
            }
        }
        found.sort_by_key(|(event, message)| (message.priority, *event));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found.into_iter().map(|(_, message)| message).collect())
    }

    /// The ids of all of them, up to `limit`.
    pub fn untold_keys(
        &mut self,
        reader: &Reader,
        pressing: Pressing,
        again: bool,
        up_to: Option<EventId>,
        limit: i64,
    ) -> Result<BTreeSet<MessageId>, StoreError> {
        let mut rows = self.untold_by(&sql::UNTOLD_KEYS, reader, pressing, again, up_to, limit)?;
        rows.iter_mut()
            .map(|row| Ok(MessageId::new(row.int()?)))
            .collect()
    }

    fn untold_by(
        &mut self,
        statement: &'static Sql,
        reader: &Reader,
        pressing: Pressing,
        again: bool,
        up_to: Option<EventId>,
        limit: i64,
    ) -> Result<Vec<Row>, StoreError> {
        let mut found = Vec::new();
        for reached in &reader.addresses {
            let after = self.bookmark(reader, reached)?;
            for &is_acked in parts(reached.mode) {
                let unread = self.unread_params(reader, reached, after, is_acked, limit);
                // The limit is the last, because SQLite numbers parameters as they appear.
                let mut params = unread[..8].to_vec();
                params.push(reader.session_no().into());
                params.push(i64::from(again).into());
                params.push(pressing.code().into());
                params.push(up_to.map_or(i64::MAX, |event| event.0).into());
                params.push(limit.into());
                found.extend(self.rows(statement, &params)?);
            }
        }
        Ok(found)
    }

    /// Whether it is time to write down that an agent and its session are there.
    pub fn is_to_be_seen(
        &mut self,
        agent: &AgentName,
        session: Option<&SessionId>,
    ) -> Result<bool, StoreError> {
        let due = self.now().0 - SEEN_EVERY_MS;
        if self
            .agent(agent)?
            .is_some_and(|row| row.is_removed || row.seen_at.is_none_or(|seen| seen.0 <= due))
        {
            return Ok(true);
        }
        let found = match session {
            Some(id) => self.session(id)?,
            None => None,
        };
        Ok(found.is_some_and(|row| row.session.seen_at.0 <= due))
    }
}

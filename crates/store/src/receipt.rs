//! How far messages have come: who took which step, and what was done after.

use std::collections::HashMap;

use inbox_core::record::Millis;
use inbox_core::{Address, AgentName, Door, EventId, MessageId, SessionId, Step, ThreadId};

use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::Row;

/// One step of a message towards one whom it reaches.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// The step.
    pub step: Step,
    /// Who took it.
    pub agent: AgentName,
    /// From which session.
    pub session: Option<SessionId>,
    /// When.
    pub at: Millis,
    /// For which address, when it is an acknowledgement.
    pub address: Option<Address>,
    /// By which door of the reader's client, where one was named.
    pub door: Option<Door>,
}

impl Tx<'_> {
    /// Every receipt of a message, oldest first.
    pub fn receipts(&mut self, message: MessageId) -> Result<Vec<Receipt>, StoreError> {
        let mut rows = self.rows(&sql::RECEIPTS_OF, &[message.key().into()])?;
        rows.iter_mut().map(read_receipt).collect()
    }

    /// Every receipt of the messages of a thread from one event to another, oldest first, each with its message.
    pub fn receipts_between(
        &mut self,
        thread: ThreadId,
        (first, last): (EventId, EventId),
    ) -> Result<Vec<(MessageId, Receipt)>, StoreError> {
        let params = [thread.key().into(), first.0.into(), last.0.into()];
        self.rows(&sql::RECEIPTS_BETWEEN, &params)?
            .iter_mut()
            .map(|row| Ok((MessageId::new(row.int()?), read_receipt(row)?)))
            .collect()
    }

    /// What each agent did in a thread after one event and up to another, other than acknowledging.
    pub fn acts_between(
        &mut self,
        thread: ThreadId,
        (first, last): (EventId, EventId),
    ) -> Result<Vec<(EventId, AgentName, Millis)>, StoreError> {
        let params = [thread.key().into(), first.0.into(), last.0.into()];
        self.rows(&sql::ACTS_BETWEEN, &params)?
            .iter_mut()
            .map(|row| Ok((EventId(row.int()?), row.parsed()?, Millis(row.int()?))))
            .collect()
    }

    /// When each agent first did something in a thread after an event, other than acknowledging.
    pub fn acts_after(
        &mut self,
        thread: ThreadId,
        after: EventId,
    ) -> Result<HashMap<AgentName, Millis>, StoreError> {
        let params = [thread.key().into(), after.0.into()];
        let mut rows = self.rows(&sql::ACTS_AFTER, &params)?;
        rows.iter_mut()
            .map(|row| Ok((row.parsed()?, Millis(row.int()?))))
            .collect()
    }
}

fn read_receipt(row: &mut Row) -> Result<Receipt, StoreError> {
    Ok(Receipt {
        step: row.word(Step::from_code)?,
        agent: row.parsed()?,
        session: row.maybe_text()?.and_then(|id| id.parse().ok()),
        at: Millis(row.int()?),
        address: row
            .maybe_text()?
            .and_then(|text| Address::from_stored(&text).ok()),
        // A newer program may know more doors.
        door: row.maybe_int()?.and_then(Door::from_code),
    })
}

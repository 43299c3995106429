//! What reached nobody, and what plain SQL clients left to be taken in.

use inbox_core::record::{Millis, uid_parts};
use inbox_core::{Address, Message, MessageId};

use serde::Serialize;

use crate::apply::list_of;
use crate::error::StoreError;
use crate::row::{self, ThreadRow};
use crate::sql;
use crate::tx::Tx;
use crate::value::Row;

/// A message that reached nobody at an address.
#[derive(Debug, Clone)]
pub struct Undelivered {
    /// The message.
    pub message: Message,
    /// The address.
    pub address: Address,
    /// Since when it is dead.
    pub since: Millis,
}

/// Something that a plain SQL client wrote: a row of the view `inbox`, as text.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Intake {
    /// Its key.
    #[serde(skip)]
    pub intake_no: i64,
    /// The message's UUID.
    #[serde(rename = "id")]
    pub uid: String,
    /// Whether it acknowledges a message in place of being one.
    #[serde(skip)]
    pub is_ack: bool,
    /// Whether it is a message that is handled already.
    pub processed: bool,
    /// Who it is for.
    pub to_agent: Option<String>,
    /// Who sent it.
    pub from_agent: Option<String>,
    /// What it is.
    pub message_type: Option<String>,
    /// In one line.
    pub subject: Option<String>,
    /// Structured content.
    pub payload: Option<String>,
    /// Structured context.
    pub context: Option<String>,
    /// Which entity it is about.
    pub ref_id: Option<String>,
    /// What sort of entity.
    pub ref_type: Option<String>,
    /// How urgent it is.
    pub priority: Option<String>,
    /// The session that handled it.
    #[serde(rename = "processed_by_session")]
    pub session: Option<String>,
    /// When it was written.
    #[serde(rename = "created_at")]
    pub written_at: Option<String>,
    /// Why it was refused, once it was.
    #[serde(skip)]
    pub refusal: Option<String>,
}

impl Tx<'_> {
    /// What expired before anybody read or claimed it, the newest first.
    pub fn dead_by_expiry(&mut self, limit: i64) -> Result<Vec<Undelivered>, StoreError> {
        let now = self.now().0;
        let mut rows = self.rows(&sql::DEAD_EXPIRED, &[now.into(), limit.into()])?;
        rows.iter_mut().map(read_undelivered).collect()
    }

    /// What was for sessions that are dead, the newest first.
    pub fn dead_by_session(&mut self, limit: i64) -> Result<Vec<Undelivered>, StoreError> {
        let (since, now) = (self.dead_since().0, self.now().0);
        let params = [since.into(), now.into(), limit.into()];
        let mut rows = self.rows(&sql::DEAD_SESSIONS, &params)?;
        rows.iter_mut().map(read_undelivered).collect()
    }

    /// Adds an address to a thread, where its work waits without an end.
    pub fn add_address(&mut self, row: &mut ThreadRow, to: &Address) -> Result<(), StoreError> {
        let address_no = self.ensure_address(to)?;
        // Where it waits now comes first, and is what it is shown as assigned to.
        row.thread.to.retain(|other| other != to);
        row.thread.to.insert(0, to.clone());
        row.assign();
        let list = list_of(&row.thread.to);
        let thread_no = row.thread.thread_id.key();
        self.put(
            &sql::SET_THREAD_TO,
            &[list.as_deref().into(), address_no.into(), thread_no.into()],
        )?;
        let never: Option<i64> = None;
        self.put(
            &sql::SET_EXPIRY_OF_THREAD,
            &[never.into(), thread_no.into()],
        )?;
        self.receive(row, address_no, None, false)
    }

    /// Has a thread wait for these addresses, and for none of those before.
    pub fn move_thread(&mut self, row: &mut ThreadRow, to: &[Address]) -> Result<(), StoreError> {
        let thread_no = row.thread.thread_id.key();
        for before in std::mem::take(&mut row.thread.to) {
            if let Some(address_no) = self.find_address(&before)? {
                let params = [address_no.into(), thread_no.into()];
                self.put(&sql::REMOVE_RECIPIENT, &params)?;
            }
        }
        for address in to.iter().rev() {
            self.add_address(row, address)?;
        }
        Ok(())
    }

    /// The message with this UUID.
    pub fn message_by_uid(&mut self, uid: &str) -> Result<Option<MessageId>, StoreError> {
        let uid = uid.to_ascii_lowercase();
        if let Some(entry_no) = self.one_int(&sql::ENTRY_BY_UID, &[uid.as_str().into()])? {
            return Ok(Some(MessageId::new(entry_no)));
        }
        let Some((time, low, random)) = uid_parts(&uid) else {
            return Ok(None);
        };
        let params = [low.into(), time.0.into(), random.into()];
        let found = self.one_int(&sql::ENTRY_BY_MADE_UID, &params)?;
        Ok(found.map(MessageId::new))
    }

    /// What waits to be taken in, or what was refused then, in the order in which it was written.
    pub fn intake(&mut self, is_refused: bool, limit: i64) -> Result<Vec<Intake>, StoreError> {
        let params = [i64::from(is_refused).into(), limit.into()];
        let mut rows = self.rows(&sql::INTAKE_ROWS, &params)?;
        rows.iter_mut()
            .map(|row| {
                let (intake_no, uid, is_ack) = (row.int()?, row.text()?, row.int()?);
                Ok(Intake {
                    intake_no,
                    uid,
                    is_ack: is_ack == 1,
                    processed: is_ack == 2,
                    to_agent: row.maybe_text()?,
                    from_agent: row.maybe_text()?,
                    message_type: row.maybe_text()?,
                    subject: row.maybe_text()?,
                    payload: row.maybe_text()?,
                    context: row.maybe_text()?,
                    ref_id: row.maybe_text()?,
                    ref_type: row.maybe_text()?,
                    priority: row.maybe_text()?,
                    session: row.maybe_text()?,
                    written_at: row.maybe_text()?,
                    refusal: row.maybe_text()?,
                })
            })
            .collect()
    }

    /// Removes what was taken in, or keeps it with the reason why it was not.
    pub fn settle_intake(
        &mut self,
        intake_no: i64,
        refusal: Option<&str>,
    ) -> Result<(), StoreError> {
        match refusal {
            None => self.put(&sql::DELETE_INTAKE, &[intake_no.into()]),
            Some(reason) => self.put(&sql::REFUSE_INTAKE, &[reason.into(), intake_no.into()]),
        }
    }
}

fn read_undelivered(row: &mut Row) -> Result<Undelivered, StoreError> {
    let (_, message) = row::read_message(row)?;
    let _source_no = row.int()?;
    let _event_type = row.int()?;
    let _entry_no = row.int()?;
    let text = row.text()?;
    let address = Address::from_stored(&text)
        .map_err(|_| StoreError::Unreadable(format!("the address {text:?}")))?;
    Ok(Undelivered {
        message,
        address,
        since: Millis(row.int()?),
    })
}

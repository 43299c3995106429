//! What is in whose inbox: who is reached by what, what they have read, and what they have handled.

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use inbox_core::{
    Address, AgentKind, AgentName, Door, EventId, Message, MessageId, Mode, SessionId,
    SessionState, Step, ThreadId,
};

use crate::error::StoreError;
use crate::new::NewMessage;
use crate::roster::SessionRow;
use crate::row;
use crate::sql;
use crate::tx::Tx;
use crate::value::{Param, Row};

/// Somebody who reads, and the addresses that reach it.
#[derive(Debug, Clone)]
pub struct Reader {
    /// The agent.
    pub agent: AgentName,
    /// Its key; 0 for a name that has not appeared, which matches nothing.
    pub agent_no: i64,
    /// The session, when it is on the roster.
    pub session: Option<SessionRow>,
    /// The session as it was named.
    pub session_id: Option<SessionId>,
    /// What reaches it.
    pub addresses: Vec<Reached>,
}

/// An address that reaches a reader.
#[derive(Debug, Clone)]
pub struct Reached {
    /// Its key.
    pub address_no: i64,
    /// How it is read.
    pub mode: Mode,
    /// The address.
    pub address: Address,
    /// Since when mail to it does not age, because it is a frozen session's own.
    pub frozen_at: Option<Millis>,
}

impl Reader {
    /// The key of the session that a receipt counts for: mail to a tag or to all is read by each session, other
    /// mail by the agent.
    fn session_for(&self, mode: Mode) -> i64 {
        match (&self.session, mode) {
            (Some(row), Mode::Tag | Mode::Broadcast) => row.session_no,
            _ => -1,
        }
    }

    fn bookmark_session(&self, mode: Mode) -> i64 {
        self.session_for(mode).max(0)
    }

    pub(crate) fn session_no(&self) -> i64 {
        self.session.as_ref().map_or(0, |row| row.session_no)
    }

    /// The session whose messages are the reader's own; `None` for those of all its sessions. A bookmark that
    /// sessions share must not pass over what is one's own and another's mail.
    fn own_session<'a>(&'a self, reached: &'a Reached) -> Option<&'a str> {
        let named = self.session_id.as_ref().map(SessionId::as_str);
        match reached.mode {
            Mode::Tag | Mode::Broadcast => named,
            Mode::Session => named.or(Some(reached.address.as_str())),
            Mode::Agent | Mode::Role | Mode::Ledger | Mode::Entity => None,
        }
    }
}

impl Tx<'_> {
    /// Who reads, and what reaches it: a session by what it has; without one, all living and frozen sessions of
    /// the agent.
    pub fn reader(
        &mut self,
        agent: &AgentName,
        session: Option<&SessionId>,
    ) -> Result<Reader, StoreError> {
        let known = self.agent(agent)?;
        let row = match session {
            Some(id) => self
                .session(id)?
                .filter(|row| row.session.agent_id == *agent),
            None => None,
        };
        let mut names = vec![Address::from(agent)];
        if known.is_some_and(|row| row.kind == AgentKind::Human) && agent.as_str() != "human" {
            names.extend("human".parse::<Address>().ok());
        }
        let mut addresses = Vec::new();
        for address in names {
            if let Some(address_no) = self.find_address(&address)? {
                addresses.push(Reached {
                    address_no,
                    mode: Mode::Agent,
                    address,
                    frozen_at: None,
                });
            }
        }
        addresses.extend(match (&row, known) {
            // Who has ended is reached by its agent's name alone.
            (Some(row), _) if row.set_state == SessionState::Dead => Vec::new(),
            (Some(row), _) => self.memberships(row.session_no)?,
            (None, Some(_)) => self.reach_of_agent(agent)?,
            (None, None) => Vec::new(),
        });
        Ok(Reader {
            agent: agent.clone(),
            agent_no: known.map_or(0, |row| row.agent_no),
            session: row,
            session_id: session.cloned(),
            addresses,
        })
    }

    pub(crate) fn memberships(&mut self, session_no: i64) -> Result<Vec<Reached>, StoreError> {
        let mut rows = self.rows(&sql::MEMBERSHIPS, &[session_no.into()])?;
        rows.iter_mut()
            .map(|row| {
                let _session_no = row.int()?;
                read_reached(row)
            })
            .collect()
    }

    fn reach_of_agent(&mut self, agent: &AgentName) -> Result<Vec<Reached>, StoreError> {
        let since = self.dead_since();
        let mut found: Vec<Reached> = Vec::new();
        for mut row in self.rows(&sql::REACH_OF_AGENT, &[agent.as_str().into()])? {
            let reached = read_reached(&mut row)?;
            let (state, seen_at) = (row.word(SessionState::from_code)?, Millis(row.int()?));
            let is_there = state == SessionState::Frozen || seen_at > since;
            let is_known = |known: &Reached| {
                (known.address_no, known.frozen_at) == (reached.address_no, reached.frozen_at)
            };
            if is_there && !found.iter().any(is_known) {
                found.push(reached);
            }
        }
        Ok(found)
    }

    pub(crate) fn unread_params<'a>(
        &mut self,
        reader: &'a Reader,
        reached: &'a Reached,
        after: EventId,
        is_acked: bool,
        limit: i64,
    ) -> [Param<'a>; 9] {
        let mut now = reached.frozen_at.unwrap_or(self.now());
        if planted("mail_never_expires") {
            now = Millis(0);
        }
        [
            reached.address_no.into(),
            after.0.into(),
            now.0.into(),
            reader.agent_no.into(),
            reader.own_session(reached).into(),
            reader.session_for(reached.mode).into(),
            i64::from(reached.mode == Mode::Role).into(),
            i64::from(is_acked).into(),
            limit.into(),
        ]
    }

    /// Up to `limit` unread messages in the inbox of an address, in the order of events.
    pub fn unread(
        &mut self,
        reader: &Reader,
        reached: &Reached,
        after: EventId,
        limit: i64,
    ) -> Result<Vec<(EventId, Message)>, StoreError> {
        let after = after.max(self.bookmark(reader, reached)?);
        let mut found = Vec::new();
        for &is_acked in parts(reached.mode) {
            let params = self.unread_params(reader, reached, after, is_acked, limit);
            for mut row in self.rows(&sql::UNREAD, &params)? {
                found.push(row::read_message(&mut row)?);
            }
        }
        found.sort_by_key(|(event, _)| *event);
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }

    /// What was sent to an address before an event, the newest first.
    pub fn posted_to(
        &mut self,
        address: &Address,
        before: EventId,
        limit: i64,
    ) -> Result<Vec<(EventId, Message)>, StoreError> {
        match self.find_address(address)? {
            Some(address_no) => self.posted_at(address_no, before, limit),
            None => Ok(Vec::new()),
        }
    }

    /// The same, of an address whose key is known.
    pub fn posted_at(
        &mut self,
        address_no: i64,
        before: EventId,
        limit: i64,
    ) -> Result<Vec<(EventId, Message)>, StoreError> {
        let mut found = Vec::new();
        for is_acked in [0, 1] {
            let params = [
                address_no.into(),
                is_acked.into(),
                before.0.into(),
                limit.into(),
            ];
            for mut row in self.rows(&sql::POSTED_TO, &params)? {
                found.push(row::read_message(&mut row)?);
            }
        }
        found.sort_by_key(|(event, _)| std::cmp::Reverse(*event));
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(found)
    }

    /// How many messages are unread by every address that reaches the reader, counted up to `limit`. One that
    /// came by several addresses is one.
    pub fn count_unread(&mut self, reader: &Reader, limit: i64) -> Result<i64, StoreError> {
        let mut found = std::collections::HashSet::new();
        for reached in &reader.addresses {
            let after = self.bookmark(reader, reached)?;
            for &is_acked in parts(reached.mode) {
                let params = self.unread_params(reader, reached, after, is_acked, limit);
                for mut row in self.rows(&sql::UNREAD_KEYS, &params)? {
                    found.insert(row.int()?);
                }
            }
        }
        Ok(i64::try_from(found.len()).unwrap_or(limit).min(limit))
    }

    /// How far a reader has read an address.
    pub fn bookmark(&mut self, reader: &Reader, reached: &Reached) -> Result<EventId, StoreError> {
        let params = [
            reader.agent_no.into(),
            reader.session_for(reached.mode).into(),
            reached.address_no.into(),
        ];
        let found = self.one_int(&sql::FIND_BOOKMARK, &params)?;
        Ok(EventId(found.unwrap_or(0)))
    }

    /// Remembers that nothing up to `to` in the inbox of an address concerns the reader any more. Work for a role
    /// that somebody else holds is passed too; when it comes back, so do the bookmarks.
    pub fn move_bookmark(
        &mut self,
        reader: &Reader,
        reached: &Reached,
        to: EventId,
    ) -> Result<(), StoreError> {
        let from = self.bookmark(reader, reached)?;
        if to <= from {
            return Ok(());
        }
        let params = [
            reader.agent_no.into(),
            reader.bookmark_session(reached.mode).into(),
            reached.address_no.into(),
            to.0.into(),
        ];
        self.put(&sql::SET_BOOKMARK, &params)
    }

    /// Appends a receipt, unless there is one: whether it is new.
    pub fn receipt(
        &mut self,
        reader: &Reader,
        message: MessageId,
        step: Step,
        address_no: Option<i64>,
    ) -> Result<bool, StoreError> {
        self.receipt_by(None, reader, message, step, address_no)
    }

    /// The same, with the door of the reader's client by which it came.
    pub fn receipt_by(
        &mut self,
        door: Option<Door>,
        reader: &Reader,
        message: MessageId,
        step: Step,
        address_no: Option<i64>,
    ) -> Result<bool, StoreError> {
        let now = self.now().0;
        let params = [
            message.key().into(),
            step.code().into(),
            address_no.unwrap_or(0).into(),
            reader.agent_no.into(),
            reader.session_no().into(),
            now.into(),
            reader.session_id.as_ref().map(SessionId::as_str).into(),
            door.map(Door::code).into(),
        ];
        Ok(self.first(&sql::INSERT_RECEIPT, &params)?.is_some())
    }

    /// Marks a message as handled at an address.
    pub fn set_acked(&mut self, message: MessageId, address_no: i64) -> Result<(), StoreError> {
        if planted("ack_is_not_shared") {
            return Ok(());
        }
        self.put(&sql::SET_ACKED, &[address_no.into(), message.key().into()])
    }

    /// Whether a message is in the inbox of an address.
    pub fn is_delivered(
        &mut self,
        message: MessageId,
        address_no: i64,
    ) -> Result<bool, StoreError> {
        let params = [address_no.into(), message.key().into()];
        Ok(self.first(&sql::DELIVERY, &params)?.is_some())
    }

    /// Who wrote a message, by key, and how many messages it follows from.
    pub fn spoken(&mut self, message: MessageId) -> Result<Option<(i64, i64)>, StoreError> {
        self.first(&sql::SPOKEN, &[message.key().into()])?
            .map(read_spoken)
            .transpose()
    }

    /// The same of the latest message of a thread.
    pub fn spoken_last(&mut self, thread: ThreadId) -> Result<Option<(i64, i64)>, StoreError> {
        self.first(&sql::SPOKEN_LAST, &[thread.key().into()])?
            .map(read_spoken)
            .transpose()
    }

    /// How often an agent said the same to the same since a time, among the last `depth` that it wrote.
    pub fn said_before(
        &mut self,
        agent_no: i64,
        message: &NewMessage,
        since: Millis,
        depth: i64,
    ) -> Result<i64, StoreError> {
        let Some(to) = message.to.first() else {
            return Ok(0);
        };
        let Some(address_no) = self.find_address(to)? else {
            return Ok(0);
        };
        let payload = crate::apply::stored_json(&message.payload_json).unwrap_or_default();
        let params = [
            agent_no.into(),
            depth.into(),
            address_no.into(),
            message.summary.as_str().into(),
            message.body.as_str().into(),
            payload.as_str().into(),
            since.0.into(),
        ];
        Ok(self.one_int(&sql::SAID_BEFORE, &params)?.unwrap_or(0))
    }

    /// Remembers the newest message that an agent has read: what it says next follows from it.
    pub fn set_last_read(&mut self, agent_no: i64, message: MessageId) -> Result<(), StoreError> {
        let now = self.now().0;
        let params = [message.key().into(), now.into(), agent_no.into()];
        self.put(&sql::SET_LAST_READ, &params)
    }
}

/// The parts of an inbox that may hold unread mail. What is handled at an address with one owner is handled for
/// all; at the others, only for who did it.
pub(crate) fn parts(mode: Mode) -> &'static [bool] {
    if mode.has_one_owner() {
        &[false]
    } else {
        &[false, true]
    }
}

fn read_reached(row: &mut Row) -> Result<Reached, StoreError> {
    let address_no = row.int()?;
    let mode = Tx::mode_of(row.int()?)?;
    let text = row.text()?;
    let address = Address::from_stored(&text)
        .map_err(|_| StoreError::Unreadable(format!("the address {text:?}")))?;
    Ok(Reached {
        address_no,
        mode,
        address,
        frozen_at: row.maybe_int()?.map(Millis),
    })
}

fn read_spoken(mut row: Row) -> Result<(i64, i64), StoreError> {
    Ok((row.int()?, row.maybe_int()?.unwrap_or(0)))
}

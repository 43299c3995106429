//! A transaction: typed access to the rows.

use std::collections::BTreeSet;

use inbox_core::record::Millis;
use inbox_core::{
    Address, AgentKind, AgentName, EventId, LeaseToken, Message, MessageId, Mode, SessionId,
    ThreadId,
};

use crate::bell::Key;
use crate::driver::{Driver, Wrote};
use crate::error::{Abort, StoreError};
use crate::row::{self, ThreadRow};
use crate::sql::{self, Sql};
use crate::value::{Param, Row, storable};

/// A running transaction.
pub struct Tx<'a> {
    driver: &'a mut dyn Driver,
    now: Millis,
    /// Whether `now` is what the database's own clock told.
    is_database_time: bool,
    /// Sessions that were last seen before this are dead.
    dead_since: Millis,
    /// The agents that were looked up: a write asks for its caller again and again.
    met: Vec<(AgentName, AgentRow)>,
    /// The address that was looked up last, and its key.
    pub(crate) met_address: Option<(String, i64)>,
    pub(crate) entries: Vec<i64>,
    /// Whether the answer is remembered.
    pub(crate) is_remembered: bool,
    pub(crate) rings: BTreeSet<Key>,
}

/// What every write needs to know of an agent.
#[derive(Debug, Clone, Copy)]
pub struct AgentRow {
    /// Its key.
    pub agent_no: i64,
    /// A program, a person, or inbox itself.
    pub kind: AgentKind,
    /// When it was last seen.
    pub seen_at: Option<Millis>,
    /// The newest message that it has read, and when: what it says next follows from it.
    pub last_read: Option<(MessageId, Millis)>,
    /// Whether it was taken off the roster.
    pub is_removed: bool,
    /// Whether it is a person's who has locked it.
    pub is_locked: bool,
}

/// How often it is written down that somebody was seen: not with every write.
pub(crate) const SEEN_EVERY_MS: i64 = 60_000;

/// An address for a name that nobody has yet. It is an agent's address once one takes the name.
pub(crate) const OPEN: i64 = 8;

/// What a keyed command answered before.
#[derive(Debug)]
pub struct Replay {
    /// The digest of the request that it answered.
    pub digest: String,
    /// Its answer, without the cursor.
    pub answer: String,
    /// Its last entry, whose event is the answer's cursor.
    pub entry_no: i64,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(
        driver: &'a mut dyn Driver,
        now: Millis,
        is_database_time: bool,
        dead_after_ms: i64,
    ) -> Self {
        Tx {
            driver,
            now,
            is_database_time,
            dead_since: Millis(now.0.saturating_sub(dead_after_ms)),
            met: Vec::new(),
            met_address: None,
            entries: Vec::new(),
            is_remembered: false,
            rings: BTreeSet::new(),
        }
    }

    /// What it has written by now.
    pub(crate) fn wrote(&self) -> Wrote {
        Wrote {
            last_entry: self.entries.last().copied(),
            is_remembered: self.is_remembered,
        }
    }

    /// Whom it concerns.
    pub(crate) fn rings(self) -> Vec<Key> {
        self.rings.into_iter().collect()
    }

    /// The database's time, the same throughout the transaction.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// The time to ask a statement with that can be sent before the time is known; none where the database
    /// itself looks at its clock.
    pub(crate) fn clock(&self) -> Option<Millis> {
        let is_known = self.is_database_time && self.driver.is_served();
        (!is_known).then_some(self.now)
    }

    /// Sessions that were last seen before this are dead.
    pub fn dead_since(&self) -> Millis {
        self.dead_since
    }

    pub(crate) fn rows(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        storable(params)?;
        self.driver.query(sql, params)
    }

    /// Runs a statement whose rows nobody needs.
    pub(crate) fn put(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<(), StoreError> {
        storable(params)?;
        self.driver.put(sql, params)
    }

    pub(crate) fn first(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, params)?.into_iter().next())
    }

    pub(crate) fn one_int(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<Option<i64>, StoreError> {
        self.first(sql, params)?
            .map_or(Ok(None), |mut row| row.maybe_int())
    }

    pub(crate) fn key_of(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<i64, StoreError> {
        storable(params)?;
        self.driver.insert(sql, params)
    }

    /// The key of the next entry, where it is known before the row is there.
    pub(crate) fn key_of_next_entry(&mut self) -> Result<Option<i64>, StoreError> {
        self.driver.key_of_next_entry()
    }

    /// Runs a statement that must change a row.
    pub(crate) fn change(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<(), StoreError> {
        storable(params)?;
        self.driver.change(sql, params)
    }

    /// Says that a statement will be run soon.
    pub(crate) fn foresee_one(&mut self, sql: &'static Sql, params: &[Param<'_>]) {
        self.driver.foresee(sql, params);
    }

    /// Whether a plain SQL client left something to be taken in.
    pub fn intake_waits(&mut self) -> Result<bool, StoreError> {
        Ok(!self.rows(&sql::INTAKE_WAITS, &[])?.is_empty())
    }

    /// What is known of an agent, if the name has appeared.
    pub fn agent(&mut self, name: &AgentName) -> Result<Option<AgentRow>, StoreError> {
        if let Some((_, row)) = self.met.iter().find(|(met, _)| met == name) {
            return Ok(Some(*row));
        }
        let Some(mut row) = self.first(&sql::FIND_AGENT, &[name.as_str().into()])? else {
            return Ok(None);
        };
        let agent_no = row.int()?;
        let kind = row.word(AgentKind::from_code)?;
        let seen_at = row.maybe_int()?.map(Millis);
        let last_read = row.maybe_int()?.map(MessageId::new);
        let last_read = last_read.zip(row.maybe_int()?.map(Millis));
        let is_removed = row.maybe_int()?.is_some();
        let is_locked = row.maybe_text()?.is_some();
        let found = AgentRow {
            agent_no,
            kind,
            seen_at,
            last_read,
            is_removed,
            is_locked,
        };
        self.met.push((name.clone(), found));
        Ok(Some(found))
    }

    /// The agent's key, if the name has appeared.
    pub fn find_agent(&mut self, name: &AgentName) -> Result<Option<i64>, StoreError> {
        Ok(self.agent(name)?.map(|row| row.agent_no))
    }

    /// The agent's key; an unknown name becomes an agent.
    pub fn ensure_agent(&mut self, name: &AgentName) -> Result<i64, StoreError> {
        let kind = match name.as_str() {
            "human" => AgentKind::Human,
            "system" | "runner" => AgentKind::System,
            _ => AgentKind::Agent,
        };
        self.ensure_agent_of(name, kind)
    }

    /// The agent's key; an unknown name becomes an agent of this kind. What waits for a name that was
    /// open is its own from now on.
    pub fn ensure_agent_of(
        &mut self,
        name: &AgentName,
        kind: AgentKind,
    ) -> Result<i64, StoreError> {
        if let Some(agent_no) = self.find_agent(name)? {
            return Ok(agent_no);
        }
        let now = self.now.0;
        // Who reads and writes is seen; inbox itself is not.
        let seen_at = (kind != AgentKind::System).then_some(now);
        let params = [
            name.as_str().into(),
            kind.code().into(),
            now.into(),
            seen_at.into(),
        ];
        let agent_no = self.key_of(&sql::INSERT_AGENT, &params)?;
        self.put(&sql::TAKE_OPEN_NAME, &[name.as_str().into()])?;
        Ok(agent_no)
    }

    /// Writes down that an agent, and its session, are there: now and then, not each time. An agent that
    /// was taken off the roster is back.
    pub fn see(
        &mut self,
        agent: &AgentName,
        session: Option<&SessionId>,
    ) -> Result<(), StoreError> {
        let due = self.now.0 - SEEN_EVERY_MS;
        if let Some(row) = self.agent(agent)?
            && (row.is_removed || row.seen_at.is_none_or(|seen| seen.0 <= due))
        {
            let now = self.now.0;
            self.put(&sql::TOUCH_AGENT, &[now.into(), row.agent_no.into()])?;
        }
        if let Some(id) = session
            && let Some(found) = self.session(id)?
            && found.session.agent_id == *agent
            && found.session.seen_at.0 <= due
        {
            self.touch_session(&found)?;
        }
        Ok(())
    }

    /// The address's key, if something was ever sent to it.
    pub fn find_address(&mut self, address: &Address) -> Result<Option<i64>, StoreError> {
        let stored = address.stored();
        if let Some((met, address_no)) = &self.met_address
            && *met == stored
        {
            return Ok(Some(*address_no));
        }
        let found = self.one_int(&sql::FIND_ADDRESS, &[stored.as_ref().into()])?;
        if let Some(address_no) = found {
            self.met_address = Some((stored.into_owned(), address_no));
        }
        Ok(found)
    }

    /// Looks up the address of who opened a thread, where that comes with the thread and is a round trip by itself.
    pub fn meet_opener(&mut self, thread: ThreadId) -> Result<(), StoreError> {
        if !self.driver.is_served() {
            return Ok(());
        }
        if let Some(mut row) = self.first(&sql::OPENER_ADDRESS, &[thread.key().into()])? {
            let (address_no, address) = (row.int()?, row.text()?);
            self.met_address = Some((address, address_no));
        }
        Ok(())
    }

    /// The address's key; an address that was never used gets one.
    pub fn ensure_address(&mut self, address: &Address) -> Result<i64, StoreError> {
        if let Some(address_no) = self.find_address(address)? {
            return Ok(address_no);
        }
        let is_open = match address.bare_name() {
            Some(name) => self.find_agent(&name)?.is_none(),
            None => false,
        };
        let mode = if is_open { OPEN } else { address.mode().code() };
        let stored = address.stored();
        self.key_of(&sql::INSERT_ADDRESS, &[mode.into(), stored.as_ref().into()])
    }

    /// How an address that a row names is read.
    pub(crate) fn mode_of(code: i64) -> Result<Mode, StoreError> {
        match code {
            OPEN => Ok(Mode::Agent),
            code => Mode::from_code(code)
                .ok_or_else(|| StoreError::Unreadable(format!("the mode number {code}"))),
        }
    }

    /// The thread with this id.
    pub fn load_thread(&mut self, thread: ThreadId) -> Result<Option<ThreadRow>, StoreError> {
        self.first(&sql::LOAD_THREAD, &[thread.key().into()])?
            .map(|mut row| ThreadRow::read(&mut row))
            .transpose()
    }

    /// The message with this id, and the event that it came with.
    pub fn load_message(
        &mut self,
        message: MessageId,
    ) -> Result<Option<(EventId, Message)>, StoreError> {
        self.first(&sql::LOAD_MESSAGE, &[message.key().into()])?
            .map(|mut row| row::read_message(&mut row))
            .transpose()
    }

    pub(crate) fn count_claims(
        &mut self,
        thread: ThreadId,
        agent: Option<&AgentName>,
        session: Option<&SessionId>,
    ) -> Result<(i64, i64), StoreError> {
        let agent_no = match agent {
            Some(name) => self.find_agent(name)?,
            None => None,
        };
        let params = [
            agent_no.into(),
            session.map(SessionId::as_str).into(),
            thread.key().into(),
        ];
        let Some(mut row) = self.first(&sql::COUNT_CLAIMS, &params)? else {
            return Ok((0, 0));
        };
        Ok((row.int()?, row.int()?))
    }

    /// Whose claim a token proves, current or not.
    pub fn agent_of_token(&mut self, token: &LeaseToken) -> Result<Option<AgentName>, StoreError> {
        let params = [
            token.thread.key().into(),
            token.epoch.into(),
            token.secret.into(),
        ];
        self.first(&sql::CLAIM_BY_TOKEN, &params)?
            .map(|mut row| row.parsed())
            .transpose()
    }

    /// The number of the newest event.
    pub fn newest_event(&mut self) -> Result<EventId, Abort> {
        Ok(EventId(self.one_int(&sql::NEWEST_EVENT, &[])?.unwrap_or(0)))
    }

    /// What a keyed command of this agent answered before.
    pub fn recall(&mut self, agent: &AgentName, key: &str) -> Result<Option<Replay>, StoreError> {
        let Some(agent_no) = self.find_agent(agent)? else {
            return Ok(None);
        };
        let Some(mut row) = self.first(&sql::RECALL, &[agent_no.into(), key.into()])? else {
            return Ok(None);
        };
        let (digest, entry_no, answer) = (row.text()?, row.int()?, row.text()?);
        Ok(Some(Replay {
            digest,
            answer,
            entry_no,
        }))
    }

    /// Remembers what a keyed command answers; its last entry gives the cursor.
    pub fn remember(
        &mut self,
        agent: &AgentName,
        key: &str,
        digest: &str,
        answer: &str,
    ) -> Result<(), StoreError> {
        // What changes no thread writes no entry: then it is remembered beside the newest one, if there is one. On a server that may be
        // one whose event has no number yet, and who is answered now is told of an earlier one.
        let entry_no = match self.entries.last() {
            Some(&entry_no) => entry_no,
            None if self.driver.is_served() => -self.one_int(&sql::NEWEST_EVENT, &[])?.unwrap_or(0),
            None => self.one_int(&sql::NEWEST_ENTRY, &[])?.unwrap_or(0),
        };
        let agent_no = self.ensure_agent(agent)?;
        let now = self.now.0;
        let params = [
            agent_no.into(),
            key.into(),
            digest.into(),
            entry_no.into(),
            answer.into(),
            now.into(),
        ];
        self.is_remembered = true;
        self.put(&sql::REMEMBER, &params)
    }
}

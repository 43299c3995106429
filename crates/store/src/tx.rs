//! A transaction: typed access to the rows.

use inbox_core::record::Millis;
use inbox_core::{
    Address, AgentKind, AgentName, EventId, LeaseToken, Message, MessageId, SessionId, ThreadId,
};

use crate::bell::Key;
use crate::driver::Driver;
use crate::error::{Abort, StoreError};
use crate::row::{self, ThreadRow};
use crate::sql::{self, Sql};
use crate::value::{Param, Row};

/// A running transaction.
pub struct Tx<'a> {
    driver: &'a mut dyn Driver,
    now: Millis,
    pub(crate) entries: Vec<i64>,
    pub(crate) rings: Vec<Key>,
}

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
    pub(crate) fn new(driver: &'a mut dyn Driver, now: Millis) -> Self {
        Tx {
            driver,
            now,
            entries: Vec::new(),
            rings: Vec::new(),
        }
    }

    /// The database's time, the same throughout the transaction.
    pub fn now(&self) -> Millis {
        self.now
    }

    pub(crate) fn rows(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.driver.query(sql, params)
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
        self.one_int(sql, params)?
            .ok_or_else(|| StoreError::Unreadable(format!("no key from {}", sql.name)))
    }

    /// The agent's key, if the name has appeared.
    pub fn find_agent(&mut self, name: &AgentName) -> Result<Option<i64>, StoreError> {
        self.one_int(&sql::FIND_AGENT, &[name.as_str().into()])
    }

    /// The agent's key; an unknown name becomes an agent.
    pub fn ensure_agent(&mut self, name: &AgentName) -> Result<i64, StoreError> {
        match self.find_agent(name)? {
            Some(agent_no) => Ok(agent_no),
            None => {
                let now = self.now.0;
                let kind = AgentKind::Agent.code();
                self.key_of(
                    &sql::INSERT_AGENT,
                    &[name.as_str().into(), kind.into(), now.into()],
                )
            }
        }
    }

    /// The address's key, if something was ever sent to it.
    pub fn find_address(&mut self, address: &str) -> Result<Option<i64>, StoreError> {
        self.one_int(&sql::FIND_ADDRESS, &[address.into()])
    }

    pub(crate) fn ensure_address(&mut self, address: &Address) -> Result<i64, StoreError> {
        match self.find_address(address.as_str())? {
            Some(address_no) => Ok(address_no),
            None => self.key_of(
                &sql::INSERT_ADDRESS,
                &[address.mode().code().into(), address.as_str().into()],
            ),
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
        let Some(&entry_no) = self.entries.last() else {
            return Ok(());
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
        self.rows(&sql::REMEMBER, &params).map(drop)
    }
}

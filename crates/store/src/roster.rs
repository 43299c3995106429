//! Who there is: agents, sessions, and which addresses reach them.

use std::collections::HashMap;

use inbox_core::record::Millis;
use inbox_core::{Address, Agent, AgentKind, AgentName, Mode, Session, SessionId, SessionState};

use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::Row;

/// A session, and what the store keeps of it besides.
#[derive(Debug, Clone)]
pub struct SessionRow {
    /// What programs see.
    pub session: Session,
    /// Its key.
    pub session_no: i64,
    /// The key of its own address.
    pub address_no: i64,
    /// The state as it was last set; a silent one counts as dead although it is set alive.
    pub set_state: SessionState,
    /// When that was set.
    pub changed_at: Millis,
}

/// A session that an address reaches.
#[derive(Debug, Clone)]
pub struct ReachedSession {
    /// Its agent.
    pub agent: AgentName,
    /// Its id.
    pub session_id: SessionId,
    /// When it was last seen.
    pub seen_at: Millis,
}

/// What a bare name can be.
#[derive(Debug, Clone, Copy)]
pub struct Resolved {
    /// There is a session of this id.
    pub is_session: bool,
    /// There is an agent of this name.
    pub is_agent: bool,
    /// When that agent was last seen.
    pub seen_at: Option<Millis>,
    /// Somebody holds or held a role of this name.
    pub is_role: bool,
}

/// What is kept of an agent and can be set.
#[derive(Debug, Clone)]
pub struct AgentDetails {
    /// The agent as programs see it, without its sessions' part.
    pub agent: Agent,
    /// Its key.
    pub agent_no: i64,
}

impl Tx<'_> {
    /// Agents: the one with this name, or all on the roster.
    pub fn agents(&mut self, name: Option<&AgentName>) -> Result<Vec<AgentDetails>, StoreError> {
        Ok(self.agents_and_sessions(name)?.0)
    }

    /// The same, with the sessions that tell their states.
    pub fn agents_and_sessions(
        &mut self,
        name: Option<&AgentName>,
    ) -> Result<(Vec<AgentDetails>, Vec<Session>), StoreError> {
        let rows = self.rows(&sql::LIST_AGENTS, &[name.map(AgentName::as_str).into()])?;
        let mut found = Vec::with_capacity(rows.len());
        for mut row in rows {
            found.push(read_agent(&mut row)?);
        }
        let rows = self.sessions(name)?.into_iter();
        let sessions: Vec<Session> = rows.map(|row| row.session).collect();
        let mut of: HashMap<&AgentName, Vec<&Session>> = HashMap::new();
        for session in &sessions {
            of.entry(&session.agent_id).or_default().push(session);
        }
        for details in &mut found {
            let agent = &mut details.agent;
            for session in of.remove(&agent.agent_id).unwrap_or_default() {
                let best = agent
                    .state
                    .map_or(session.state, |state| state.min(session.state));
                agent.state = Some(best);
                if session.state == SessionState::Dead {
                    continue;
                }
                agent.seen_at = agent.seen_at.max(Some(session.seen_at));
                let join = |to: &mut Vec<String>, from: &[String]| {
                    for label in from {
                        if !to.contains(label) {
                            to.push(label.clone());
                        }
                    }
                };
                join(&mut agent.roles, &session.roles);
                join(&mut agent.tags, &session.tags);
            }
        }
        Ok((found, sessions))
    }

    /// Keeps what is set of an agent.
    pub fn set_agent(&mut self, details: &AgentDetails) -> Result<(), StoreError> {
        let agent = &details.agent;
        let card = agent.card.as_ref().map(ToString::to_string);
        let title = (agent.name != agent.agent_id.as_str()).then_some(agent.name.as_str());
        let params = [
            agent.kind.code().into(),
            title.into(),
            agent.account_id.as_deref().into(),
            agent.inbound_topic_id.as_deref().into(),
            agent.outbound_topic_id.as_deref().into(),
            agent.persona.as_deref().into(),
            card.as_deref().into(),
            agent.removed_at.map(|time| time.0).into(),
            details.agent_no.into(),
        ];
        self.put(&sql::SET_AGENT, &params)
    }

    /// The people on the roster.
    pub fn humans(&mut self) -> Result<Vec<AgentName>, StoreError> {
        self.rows(&sql::HUMANS, &[])?
            .iter_mut()
            .map(Row::parsed)
            .collect()
    }

    /// Every address of a mode that was ever used.
    pub fn addresses(&mut self, mode: Mode) -> Result<Vec<Address>, StoreError> {
        let mut rows = self.rows(&sql::ADDRESSES_BY_MODE, &[mode.code().into()])?;
        rows.iter_mut()
            .map(|row| {
                let text = row.text()?;
                Address::from_stored(&text)
                    .map_err(|_| StoreError::Unreadable(format!("the address {text:?}")))
            })
            .collect()
    }

    /// What a bare name can be.
    pub fn resolve(&mut self, name: &AgentName) -> Result<Resolved, StoreError> {
        let (session, role) = (format!("@{name}"), format!("role:{name}"));
        let params = [
            session.as_str().into(),
            name.as_str().into(),
            role.as_str().into(),
        ];
        let mut found = Resolved {
            is_session: false,
            is_agent: false,
            seen_at: None,
            is_role: false,
        };
        for mut row in self.rows(&sql::RESOLVE, &params)? {
            let (address_no, _mode, address) = (row.int()?, row.int()?, row.text()?);
            if address == session {
                found.is_session = true;
            } else if address == role {
                found.is_role = self
                    .first(&sql::IS_ROLE_HELD, &[address_no.into()])?
                    .is_some();
            } else {
                self.met_address = Some((address, address_no));
            }
        }
        if let Some(agent) = self.agent(name)?.filter(|agent| !agent.is_removed) {
            found.is_agent = true;
            found.seen_at = agent.seen_at;
        }
        Ok(found)
    }

    /// The sessions that an address reaches now, those that are frozen included on request.
    pub fn reached_sessions(
        &mut self,
        address: &Address,
        with_frozen: bool,
    ) -> Result<Vec<ReachedSession>, StoreError> {
        let Some(address_no) = self.find_address(address)? else {
            return Ok(Vec::new());
        };
        let since = self.dead_since().0;
        let frozen = i64::from(with_frozen);
        let params = [address_no.into(), since.into(), frozen.into()];
        let mut rows = self.rows(&sql::REACHED_SESSIONS, &params)?;
        rows.iter_mut()
            .map(|row| {
                let _session_no = row.int()?;
                Ok(ReachedSession {
                    agent: row.parsed()?,
                    session_id: row.parsed()?,
                    seen_at: Millis(row.int()?),
                })
            })
            .collect()
    }

    /// The session with this id.
    pub fn session(&mut self, id: &SessionId) -> Result<Option<SessionRow>, StoreError> {
        let stored = Address::session(id);
        let rows = self.rows(&sql::FIND_SESSION, &[stored.stored().as_ref().into()])?;
        Ok(self.read_sessions(rows)?.into_iter().next())
    }

    /// Sessions, of one agent or of all, in the order in which they were first seen.
    pub fn sessions(&mut self, agent: Option<&AgentName>) -> Result<Vec<SessionRow>, StoreError> {
        let of = [agent.map(AgentName::as_str).into()];
        let mut found = Vec::new();
        for mut row in self.rows(&sql::LIST_SESSIONS, &of)? {
            found.push(read_session(&mut row, self.dead_since())?);
        }
        // Both are in the order of sessions.
        let mut rest = found.iter_mut();
        let mut next = rest.next();
        let labels = match agent {
            Some(_) => self.rows(&sql::LABELS_OF_AGENT, &of)?,
            None => self.rows(&sql::LABELS_OF_SESSIONS, &[])?,
        };
        for mut row in labels {
            let (session_no, mode, stored) = (row.int()?, Tx::mode_of(row.int()?)?, row.text()?);
            while let Some(session) = &mut next
                && session.session_no < session_no
            {
                next = rest.next();
            }
            let Some(session) = next.as_mut().filter(|it| it.session_no == session_no) else {
                continue;
            };
            let label = Address::from_stored(&stored)
                .map_err(|_| StoreError::Unreadable(format!("the address {stored:?}")))?;
            add_label(session, mode, &label);
        }
        Ok(found)
    }

    fn read_sessions(&mut self, rows: Vec<Row>) -> Result<Vec<SessionRow>, StoreError> {
        let mut found = Vec::with_capacity(rows.len());
        for mut row in rows {
            let mut session = read_session(&mut row, self.dead_since())?;
            for reached in self.memberships(session.session_no)? {
                add_label(&mut session, reached.mode, &reached.address);
            }
            found.push(session);
        }
        Ok(found)
    }

    /// Begins a session, or begins one of this id again.
    pub fn start_session(
        &mut self,
        agent: &AgentName,
        id: &SessionId,
        client: Option<&str>,
    ) -> Result<SessionRow, StoreError> {
        let now = self.now().0;
        let agent_no = self.ensure_agent(agent)?;
        match self.session(id)? {
            None => {
                let address_no = self.ensure_address(&Address::session(id))?;
                let params = [
                    agent_no.into(),
                    address_no.into(),
                    id.as_str().into(),
                    now.into(),
                    client.into(),
                ];
                self.key_of(&sql::INSERT_SESSION, &params)?;
            }
            Some(mut found) => {
                found.session.started_at = self.now();
                found.session.client = client.map(str::to_owned).or(found.session.client);
                self.set_session(&found, SessionState::Alive)?;
            }
        }
        self.session(id)?
            .ok_or_else(|| StoreError::Unreadable(format!("the session {id}")))
    }

    /// Sets a session's state, and that it was seen just now. What was in the inbox of a session that was
    /// frozen has not aged.
    pub fn set_session(&mut self, row: &SessionRow, state: SessionState) -> Result<(), StoreError> {
        let now = self.now();
        let agent_no = self.ensure_agent(&row.session.agent_id)?;
        let changed_at = if state == row.set_state {
            row.changed_at
        } else {
            now
        };
        if row.set_state == SessionState::Frozen && state != SessionState::Frozen {
            self.wake_mail(row, now)?;
        }
        let params = [
            agent_no.into(),
            state.code().into(),
            row.session.started_at.0.into(),
            now.0.into(),
            changed_at.0.into(),
            row.session.client.as_deref().into(),
            row.session_no.into(),
        ];
        self.put(&sql::SET_SESSION, &params)
    }

    fn wake_mail(&mut self, row: &SessionRow, now: Millis) -> Result<(), StoreError> {
        let (inbox, since) = (row.address_no, row.changed_at.0);
        for statement in [&sql::SHIFT_DELIVERIES, &sql::SHIFT_RECIPIENTS] {
            self.put(statement, &[now.0.into(), since.into(), inbox.into()])?;
        }
        // The texts that are shown follow.
        for statement in [&sql::SHIFT_ENTRIES, &sql::SHIFT_THREADS] {
            self.put(statement, &[inbox.into(), now.0.into()])?;
        }
        Ok(())
    }

    pub(crate) fn touch_session(&mut self, row: &SessionRow) -> Result<(), StoreError> {
        let now = self.now().0;
        self.put(&sql::TOUCH_SESSION, &[now.into(), row.session_no.into()])
    }

    /// Sets the roles and tags of a session: these addresses reach it from now on, besides its own and all.
    /// What waited for a name that is a role's now is the role's.
    pub fn set_memberships(
        &mut self,
        row: &SessionRow,
        addresses: &[Address],
    ) -> Result<(), StoreError> {
        self.put(&sql::DELETE_MEMBERSHIPS, &[row.session_no.into()])?;
        let all = self.ensure_address(&Address::all())?;
        let mut keys = vec![row.address_no, all];
        for address in addresses {
            if address.mode() == Mode::Role {
                self.take_open_name_as_role(address)?;
            }
            keys.push(self.ensure_address(address)?);
        }
        for address_no in keys {
            let params = [row.session_no.into(), address_no.into()];
            self.put(&sql::INSERT_MEMBERSHIP, &params)?;
        }
        Ok(())
    }
}

fn add_label(session: &mut SessionRow, mode: Mode, address: &Address) {
    let label = address.to_string();
    match mode {
        Mode::Role => {
            let role = label.strip_prefix("role:").unwrap_or(&label);
            session.session.roles.push(role.to_owned());
        }
        Mode::Tag => session.session.tags.push(label),
        _ => {}
    }
}

fn read_agent(row: &mut Row) -> Result<AgentDetails, StoreError> {
    let agent_no = row.int()?;
    let agent_id: AgentName = row.parsed()?;
    let kind = row.word(AgentKind::from_code)?;
    let name = row
        .maybe_text()?
        .unwrap_or_else(|| agent_id.as_str().to_owned());
    let account_id = row.maybe_text()?;
    let inbound_topic_id = row.maybe_text()?;
    let outbound_topic_id = row.maybe_text()?;
    let persona = row.maybe_text()?;
    let card = match row.maybe_text()? {
        None => None,
        Some(text) => Some(
            serde_json::from_str(&text)
                .map_err(|_| StoreError::Unreadable(format!("the card of {agent_id}")))?,
        ),
    };
    let agent = Agent {
        agent_id,
        kind,
        name,
        state: None,
        roles: Vec::new(),
        tags: Vec::new(),
        account_id,
        inbound_topic_id,
        outbound_topic_id,
        has_card: card.is_some(),
        persona,
        card,
        created_at: Millis(row.int()?),
        seen_at: row.maybe_int()?.map(Millis),
        removed_at: row.maybe_int()?.map(Millis),
    };
    Ok(AgentDetails { agent, agent_no })
}

fn read_session(row: &mut Row, dead_since: Millis) -> Result<SessionRow, StoreError> {
    let session_no = row.int()?;
    let session_id = row.parsed()?;
    let agent_id = row.parsed()?;
    let _agent_no = row.int()?;
    let set_state = row.word(SessionState::from_code)?;
    let started_at = Millis(row.int()?);
    let seen_at = Millis(row.int()?);
    let changed_at = Millis(row.int()?);
    let client = row.maybe_text()?;
    let address_no = row.int()?;
    let is_silent = set_state == SessionState::Alive && seen_at <= dead_since;
    Ok(SessionRow {
        session: Session {
            session_id,
            agent_id,
            state: if is_silent {
                SessionState::Dead
            } else {
                set_state
            },
            roles: Vec::new(),
            tags: Vec::new(),
            client,
            started_at,
            seen_at,
        },
        session_no,
        address_no,
        set_state,
        changed_at,
    })
}

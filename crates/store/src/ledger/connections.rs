//! Whom the agents here are connected with on the ledger, or may be.

use inbox_core::record::Millis;
use inbox_core::{AgentName, ThreadId};

use super::{RecordState, TopicRow, read_topic};
use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::{Row, shown};

/// Who asked for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionRole {
    /// The agent here did.
    Requester,
    /// The other did.
    Responder,
}

impl ConnectionRole {
    const fn code(self) -> i64 {
        match self {
            ConnectionRole::Requester => 1,
            ConnectionRole::Responder => 2,
        }
    }

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            ConnectionRole::Requester => "requester",
            ConnectionRole::Responder => "responder",
        }
    }
}

/// Where a connection stands. Those with which something is to be done come first, and of those the requests that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// A request was found, and who asks is to be looked at.
    Found,
    /// A person was asked.
    Asked,
    /// It is being accepted.
    Accepting,
    /// It is being refused.
    Refusing,
    /// The other was asked, and has not answered.
    Requested,
    /// The other has confirmed it, which is to be recorded.
    Recording,
    /// It has ended, which is to be recorded.
    Closing,
    /// The parties may talk.
    Open,
    /// It has ended.
    Closed,
    /// It was refused.
    Refused,
    /// Who asked is not whom the request names.
    Unverified,
}

impl ConnectionState {
    /// Every state.
    pub const ALL: [ConnectionState; 11] = [
        ConnectionState::Found,
        ConnectionState::Asked,
        ConnectionState::Accepting,
        ConnectionState::Refusing,
        ConnectionState::Requested,
        ConnectionState::Recording,
        ConnectionState::Closing,
        ConnectionState::Open,
        ConnectionState::Closed,
        ConnectionState::Refused,
        ConnectionState::Unverified,
    ];

    const fn code(self) -> i64 {
        match self {
            ConnectionState::Found => 1,
            ConnectionState::Asked => 2,
            ConnectionState::Accepting => 3,
            ConnectionState::Refusing => 4,
            ConnectionState::Requested => 5,
            ConnectionState::Recording => 6,
            ConnectionState::Closing => 7,
            ConnectionState::Open => 8,
            ConnectionState::Closed => 9,
            ConnectionState::Refused => 10,
            ConnectionState::Unverified => 11,
        }
    }

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            ConnectionState::Found => "found",
            ConnectionState::Asked => "asked",
            ConnectionState::Accepting => "accepting",
            ConnectionState::Refusing => "refusing",
            ConnectionState::Requested => "requested",
            ConnectionState::Recording => "recording",
            ConnectionState::Closing => "closing",
            ConnectionState::Open => "open",
            ConnectionState::Closed => "closed",
            ConnectionState::Refused => "refused",
            ConnectionState::Unverified => "unverified",
        }
    }

    /// Whether it has ended, or never began.
    pub const fn is_over(self) -> bool {
        matches!(
            self,
            ConnectionState::Closing
                | ConnectionState::Closed
                | ConnectionState::Refused
                | ConnectionState::Unverified
        )
    }
}

/// A connection of an agent here, or a request for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRow {
    /// Its key.
    pub connection_no: i64,
    /// Whose it is here.
    pub agent: AgentName,
    /// The inbound topic on which it was asked for.
    pub inbound: String,
    /// The number of the request there.
    pub request: i64,
    /// Who asked.
    pub role: ConnectionRole,
    /// Where it stands.
    pub state: ConnectionState,
    /// The other's account.
    pub other: String,
    /// The other's inbound topic, as it names it; after the check, as it is.
    pub other_inbound: Option<String>,
    /// The other's name, by its profile.
    pub other_name: Option<String>,
    /// What was said with the request.
    pub memo: Option<String>,
    /// Where the parties talk.
    pub topic: Option<String>,
    /// The number of the confirmation on the inbound topic.
    pub confirmed: Option<i64>,
    /// How far the other's inbound topic was read for the confirmation.
    pub reached: i64,
    /// The thread of what the parties say.
    pub thread: Option<ThreadId>,
    /// The thread in which a person was asked.
    pub question: Option<ThreadId>,
    /// What is being done on the ledger.
    pub step: Option<String>,
    /// The transaction that does it: written down before it is sent.
    pub step_id: Option<String>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// Why it was refused, or ended.
    pub reason: Option<String>,
    /// How often it was tried.
    pub tries: i64,
    /// When to go on.
    pub next_at: Millis,
    /// What is wrong.
    pub problem: Option<String>,
    /// Which change of it this is.
    pub rev: i64,
    /// When it was found.
    pub created_at: Millis,
}

/// A connection or a request to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewConnection<'a> {
    /// Whose it is here.
    pub agent: &'a AgentName,
    /// The inbound topic on which it was asked for.
    pub inbound: &'a str,
    /// The number of the request there.
    pub request: i64,
    /// Who asked.
    pub role: ConnectionRole,
    /// Where it stands.
    pub state: ConnectionState,
    /// The other's account.
    pub other: &'a str,
    /// The other's inbound topic.
    pub other_inbound: Option<&'a str>,
    /// What was said with the request.
    pub memo: Option<&'a str>,
    /// Where the parties talk.
    pub topic: Option<&'a str>,
}

impl Tx<'_> {
    /// Keeps a connection or a request. Whether it is new.
    pub fn keep_connection(&mut self, new: &NewConnection<'_>) -> Result<bool, StoreError> {
        let agent_no = self.ensure_agent(new.agent)?;
        let now = self.now().0;
        let memo = new.memo.map(shown);
        let params = [
            agent_no.into(),
            new.inbound.into(),
            new.request.into(),
            new.role.code().into(),
            new.state.code().into(),
            new.other.into(),
            new.other_inbound.into(),
            memo.as_deref().into(),
            new.topic.into(),
            now.into(),
        ];
        Ok(self.one_int(&sql::INSERT_CONNECTION, &params)?.is_some())
    }

    /// Writes down where a connection stands, from how it was. Whether it was still so.
    pub fn set_connection(&mut self, row: &mut ConnectionRow) -> Result<bool, StoreError> {
        // What others call themselves and say is for people to see, and must not stand in the way of the rest.
        let [name, memo, reason, problem] = [&row.other_name, &row.memo, &row.reason, &row.problem]
            .map(|text| text.as_deref().map(shown));
        let params = [
            row.state.code().into(),
            row.other_inbound.as_deref().into(),
            name.as_deref().into(),
            memo.as_deref().into(),
            row.topic.as_deref().into(),
            row.confirmed.into(),
            row.reached.into(),
            row.thread.map(ThreadId::key).into(),
            row.question.map(ThreadId::key).into(),
            row.step.as_deref().into(),
            row.step_id.as_deref().into(),
            row.decided_by.as_deref().into(),
            reason.as_deref().into(),
            row.tries.into(),
            row.next_at.0.into(),
            problem.as_deref().into(),
            row.connection_no.into(),
            row.rev.into(),
        ];
        let Some(rev) = self.one_int(&sql::SET_CONNECTION, &params)? else {
            return Ok(false);
        };
        row.rev = rev;
        Ok(true)
    }

    fn read_connections(&mut self, rows: Vec<Row>) -> Result<Vec<ConnectionRow>, StoreError> {
        rows.into_iter().map(|mut row| read(&mut row)).collect()
    }

    /// Every connection and request.
    pub fn connections(&mut self) -> Result<Vec<ConnectionRow>, StoreError> {
        let rows = self.rows(&sql::CONNECTIONS, &[])?;
        self.read_connections(rows)
    }

    /// Those with which something is to be done now.
    pub fn connections_due(&mut self, limit: i64) -> Result<Vec<ConnectionRow>, StoreError> {
        let now = self.now().0;
        let params = [now.into(), limit.into()];
        let rows = self.rows(&sql::CONNECTIONS_DUE, &params)?;
        self.read_connections(rows)
    }

    /// Those whose parties talk on a topic: two where both are agents here.
    pub fn connections_on(&mut self, topic: &str) -> Result<Vec<ConnectionRow>, StoreError> {
        let rows = self.rows(&sql::CONNECTIONS_ON_TOPIC, &[topic.into()])?;
        self.read_connections(rows)
    }

    /// Those of an agent with an account, the oldest first.
    pub fn connections_with(
        &mut self,
        agent: &str,
        other: &str,
    ) -> Result<Vec<ConnectionRow>, StoreError> {
        let rows = self.rows(&sql::CONNECTIONS_WITH, &[agent.into(), other.into()])?;
        self.read_connections(rows)
    }

    /// The one that was asked for by a request.
    pub fn connection_of_request(
        &mut self,
        agent: &str,
        inbound: &str,
        request: i64,
    ) -> Result<Option<ConnectionRow>, StoreError> {
        let params = [agent.into(), inbound.into(), request.into()];
        let row = self.first(&sql::CONNECTION_OF_REQUEST, &params)?;
        row.map(|mut row| read(&mut row)).transpose()
    }

    /// Those whose thread this is, or about which a person was asked in it.
    pub fn connections_of_thread(
        &mut self,
        thread: ThreadId,
    ) -> Result<Vec<ConnectionRow>, StoreError> {
        let rows = self.rows(&sql::CONNECTIONS_OF_THREAD, &[thread.key().into()])?;
        self.read_connections(rows)
    }

    /// How many requests of others wait for a decision of an agent's.
    pub fn count_waiting_connections(&mut self, agent: &str) -> Result<i64, StoreError> {
        let count = self.one_int(&sql::COUNT_WAITING_CONNECTIONS, &[agent.into()])?;
        Ok(count.unwrap_or_default())
    }

    /// Forgets an agent's oldest requests of others that came to nothing, and answers to what it has not asked, which have this problem: all but
    /// so many.
    pub fn forget_old_requests(
        &mut self,
        agent: &str,
        unasked: &str,
        most: i64,
    ) -> Result<(), StoreError> {
        let params = [
            agent.into(),
            ConnectionRole::Responder.code().into(),
            ConnectionState::Refused.code().into(),
            ConnectionState::Unverified.code().into(),
            unasked.into(),
            most.into(),
        ];
        self.put(&sql::FORGET_OLD_REQUESTS, &params)
    }

    /// The place that a topic has here, by its id.
    pub fn topic_by_id(&mut self, topic: &str) -> Result<Option<TopicRow>, StoreError> {
        let row = self.first(&sql::FIND_TOPIC_BY_ID, &[topic.into()])?;
        row.map(|mut row| read_topic(&mut row)).transpose()
    }

    /// Gives up what an agent wanted to say on a topic, where nobody has begun to say it: how much that was.
    pub fn drop_outgoing(&mut self, topic_no: i64, agent: &AgentName) -> Result<usize, StoreError> {
        let params = [topic_no.into(), agent.as_str().into()];
        Ok(self.rows(&sql::DROP_OUTGOING, &params)?.len())
    }

    /// Says what became of a message that was kept before.
    pub fn set_record_state(
        &mut self,
        topic_no: i64,
        sequence: i64,
        state: RecordState,
        reason: &str,
    ) -> Result<(), StoreError> {
        let reason = shown(reason);
        let params = [
            state.code().into(),
            reason.as_ref().into(),
            topic_no.into(),
            sequence.into(),
        ];
        self.put(&sql::SET_RECORD_STATE, &params)
    }
}

fn read(row: &mut Row) -> Result<ConnectionRow, StoreError> {
    Ok(ConnectionRow {
        connection_no: row.int()?,
        agent: row.parsed()?,
        inbound: row.text()?,
        request: row.int()?,
        role: row.word(|code| {
            let roles = [ConnectionRole::Requester, ConnectionRole::Responder];
            roles.into_iter().find(|role| role.code() == code)
        })?,
        state: row.word(|code| {
            let mut states = ConnectionState::ALL.into_iter();
            states.find(|state| state.code() == code)
        })?,
        other: row.text()?,
        other_inbound: row.maybe_text()?,
        other_name: row.maybe_text()?,
        memo: row.maybe_text()?,
        topic: row.maybe_text()?,
        confirmed: row.maybe_int()?,
        reached: row.int()?,
        thread: row.maybe_int()?.map(ThreadId::new),
        question: row.maybe_int()?.map(ThreadId::new),
        step: row.maybe_text()?,
        step_id: row.maybe_text()?,
        decided_by: row.maybe_text()?,
        reason: row.maybe_text()?,
        tries: row.int()?,
        next_at: Millis(row.int()?),
        problem: row.maybe_text()?,
        rev: row.int()?,
        created_at: Millis(row.int()?),
    })
}

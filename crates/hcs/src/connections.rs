//! The connections of one agent, from what stands on its topics: requested, there, ended and by whom.
//!
//! A connection is named by the inbound topic on which it was asked for and the number of the request there, as in the
//! memo of its topic. Only what was paid for by whom it names counts. Feed it the agent's inbound topic, then its
//! outbound topic, then the inbound topics of those it asked, then the connections' topics; after that in any order.

mod state;

pub use state::{Closure, Connection, ConnectionKey, ConnectionState, Heard, Participant, Role};

use std::collections::{BTreeMap, BTreeSet};

use crate::authority::{Standing, standing};
use crate::id::{AccountId, Sequence, TopicId, shown};
use crate::operation::{
    CloseMethod, ClosedRecord, ConnectionCreated, ConnectionRequest, CreatedRecord, Operation,
    RequestRecord,
};
use crate::report::{Deviation, DeviationKind};

/// The most deviations that are kept of one connection.
const MAX_DEVIATIONS: usize = 20;

const UNKNOWN: Heard = Heard::Ignored("the request is not known");

/// The connections of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connections {
    me: Participant,
    all: BTreeMap<ConnectionKey, Connection>,
    topics: BTreeMap<TopicId, ConnectionKey>,
}

impl Connections {
    /// None yet.
    pub const fn new(me: Participant) -> Self {
        Connections {
            me,
            all: BTreeMap::new(),
            topics: BTreeMap::new(),
        }
    }

    /// Every connection, by inbound topic and request.
    pub fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.all.values()
    }

    /// One connection.
    pub fn get(&self, key: ConnectionKey) -> Option<&Connection> {
        self.all.get(&key)
    }

    /// The connection whose topic this is.
    pub fn on_topic(&self, topic: TopicId) -> Option<&Connection> {
        self.topics.get(&topic).and_then(|key| self.get(*key))
    }

    /// Lets another party write on a connection's topic. `false` when there is no such connection.
    pub fn admit(&mut self, topic: TopicId, account: AccountId) -> bool {
        let key = self.topics.get(&topic);
        let connection = key.and_then(|key| self.all.get_mut(key));
        connection.is_some_and(|connection| {
            connection.guests.insert(account);
            true
        })
    }

    /// Takes a message: where it stands, its number there, who paid for it, and what it says.
    pub fn hear(
        &mut self,
        topic: TopicId,
        sequence: Sequence,
        payer: AccountId,
        operation: &Operation,
    ) -> Heard {
        if let Operation::ClosedRecord(record) = operation
            && record.connection_topic == topic
            && record.operator.account == payer
        {
            // A party put its record where the parties talk; it says the same there.
            return self.closed(topic, payer);
        }
        let owner = self.owner(topic);
        if standing(operation, payer, owner) == Standing::Unverified {
            return Heard::Unverified;
        }
        match operation {
            Operation::ConnectionRequest(request) => self.requested(topic, sequence, request),
            Operation::ConnectionCreated(created) => self.created(topic, owner, created),
            Operation::RequestRecord(record) => self.request_recorded(record),
            Operation::CreatedRecord(record) => self.creation_recorded(record),
            Operation::ClosedRecord(record) => self.closure_recorded(record),
            Operation::CloseConnection(_) => self.closed(topic, payer),
            Operation::Message(_) | Operation::Transaction(_) => self.spoken(topic, payer),
            Operation::InboundMessage(_) | Operation::OutboundMessage(_) => {
                Heard::Ignored("it needs no connection")
            }
            Operation::Register(_) | Operation::Delete(_) | Operation::Migrate(_) => {
                Heard::Ignored("it says nothing about a connection")
            }
        }
    }

    /// Whose topic it is, if that is known.
    fn owner(&self, topic: TopicId) -> Option<AccountId> {
        if topic == self.me.inbound_topic || topic == self.me.outbound_topic {
            return Some(self.me.account);
        }
        let first = ConnectionKey {
            inbound_topic: topic,
            request: Sequence::FIRST,
        };
        let there = self.all.range(first..).map(|(_, connection)| connection);
        there
            .take_while(|connection| connection.key.inbound_topic == topic)
            .find_map(|connection| connection.other)
    }

    fn requested(
        &mut self,
        topic: TopicId,
        sequence: Sequence,
        request: &ConnectionRequest,
    ) -> Heard {
        let from = request.operator.account;
        let (role, other) = if topic == self.me.inbound_topic && from != self.me.account {
            (Role::Responder, Some(from))
        } else if topic != self.me.inbound_topic && from == self.me.account {
            (Role::Requester, None)
        } else {
            return Heard::Ignored("the request is neither by nor for this agent");
        };
        let key = ConnectionKey {
            inbound_topic: topic,
            request: sequence,
        };
        self.begin(key, role, other)
    }

    fn request_recorded(&mut self, record: &RequestRecord) -> Heard {
        if record.operator.account == self.me.account {
            return Heard::Ignored("an agent does not ask itself");
        }
        let key = ConnectionKey {
            inbound_topic: record.operator.inbound_topic,
            request: record.request,
        };
        let heard = self.begin(key, Role::Requester, Some(record.operator.account));
        self.check_outbound(key, "/outbound_topic_id", record.outbound_topic);
        heard
    }

    /// A new connection, or one whose other side becomes known.
    fn begin(&mut self, key: ConnectionKey, role: Role, other: Option<AccountId>) -> Heard {
        if let Some(known) = self.all.get_mut(&key) {
            if known.other.is_none() && other.is_some() {
                known.other = other;
                return Heard::Counted;
            }
            return Heard::Ignored("the request is known");
        }
        let connection = Connection {
            key,
            role,
            other,
            state: ConnectionState::Requested,
            guests: BTreeSet::new(),
            deviations: Vec::new(),
        };
        self.all.insert(key, connection);
        Heard::Counted
    }

    fn created(
        &mut self,
        topic: TopicId,
        owner: Option<AccountId>,
        created: &ConnectionCreated,
    ) -> Heard {
        // On a public topic anybody could confirm under another's name; the owner alone may.
        if owner.is_none() {
            return Heard::Ignored("the owner of the inbound topic is not known");
        }
        let key = ConnectionKey {
            inbound_topic: topic,
            request: created.connection,
        };
        let me = self.me.account;
        let Some(connection) = self.all.get(&key) else {
            return UNKNOWN;
        };
        let asked_by = match connection.role {
            Role::Requester => Some(me),
            Role::Responder => connection.other,
        };
        if asked_by != Some(created.connected_account) {
            return Heard::Ignored("it is for another account than the one that asked");
        }
        self.open(key, created.connection_topic)
    }

    fn open(&mut self, key: ConnectionKey, topic: TopicId) -> Heard {
        let is_taken = self.topics.get(&topic).is_some_and(|other| *other != key);
        if is_taken || topic == self.me.inbound_topic || topic == self.me.outbound_topic {
            return Heard::Ignored("the topic belongs to something else");
        }
        let Some(connection) = self.all.get_mut(&key) else {
            return UNKNOWN;
        };
        if connection.state != ConnectionState::Requested {
            return Heard::Ignored("the connection is there");
        }
        connection.state = ConnectionState::Created(topic);
        self.topics.insert(topic, key);
        Heard::Counted
    }

    /// The agent's own record of a connection, as the standard has it or as others write it.
    fn creation_recorded(&mut self, record: &CreatedRecord) -> Heard {
        let key = |inbound_topic| ConnectionKey {
            inbound_topic,
            request: record.request,
        };
        let mine = key(self.me.inbound_topic);
        let theirs = record.operator.map(|operator| key(operator.inbound_topic));
        let by_topic = self.topics.get(&record.connection_topic).copied();
        let known = |key: &ConnectionKey| self.all.contains_key(key);
        let found = by_topic.or_else(|| theirs.filter(known)).or_else(|| {
            // The record of an agent that was asked names itself; one widely used writer names who asked.
            let other = self.all.get(&mine)?.other;
            let names = record.operator.map(|operator| operator.account);
            let is_fitting = names.is_none() || names == Some(self.me.account) || names == other;
            is_fitting.then_some(mine)
        });
        let Some(found) = found else {
            return UNKNOWN;
        };
        let heard = self.open(found, record.connection_topic);
        self.check_outbound(found, "/outbound_topic_id", record.outbound_topic);
        let Some(connection) = self.all.get(&found) else {
            return heard;
        };
        match connection.role {
            Role::Responder => {
                if let Some(operator) = record.operator
                    && operator.account != self.me.account
                {
                    let expected = format!("{}@{}", self.me.inbound_topic, self.me.account);
                    self.forgive(
                        found,
                        DeviationKind::OperatorIsRequester,
                        "/operator_id",
                        expected,
                        operator.to_string(),
                    );
                }
            }
            Role::Requester => {
                if let Some(topic) = record.requestor_outbound_topic {
                    self.check_outbound(found, "/requestor_outbound_topic_id", topic);
                }
            }
        }
        heard
    }

    fn closure_recorded(&mut self, record: &ClosedRecord) -> Heard {
        let closure = Closure {
            by: record.operator.account,
            method: record.method,
        };
        self.close(record.connection_topic, closure)
    }

    fn closed(&mut self, topic: TopicId, by: AccountId) -> Heard {
        match self.spoken(topic, by) {
            Heard::Counted => self.close(
                topic,
                Closure {
                    by,
                    method: CloseMethod::Explicit,
                },
            ),
            other => other,
        }
    }

    fn close(&mut self, topic: TopicId, closure: Closure) -> Heard {
        let key = self.topics.get(&topic);
        let Some(connection) = key.and_then(|key| self.all.get_mut(key)) else {
            return Heard::Ignored("the topic is no connection's");
        };
        if matches!(connection.state, ConnectionState::Closed(..)) {
            return Heard::Ignored("the connection has ended");
        }
        connection.state = ConnectionState::Closed(topic, closure);
        Heard::Counted
    }

    /// Whether a party said something while the connection was there.
    fn spoken(&self, topic: TopicId, by: AccountId) -> Heard {
        let Some(connection) = self.on_topic(topic) else {
            return Heard::Ignored("the topic is no connection's");
        };
        let is_party = by == self.me.account
            || connection.other == Some(by)
            || connection.guests.contains(&by);
        if !is_party {
            return Heard::Ignored("the writer is no party of the connection");
        }
        match connection.state {
            ConnectionState::Closed(..) => Heard::Ignored("the connection has ended"),
            ConnectionState::Created(_) | ConnectionState::Requested => Heard::Counted,
        }
    }

    fn check_outbound(&mut self, key: ConnectionKey, pointer: &str, found: TopicId) {
        let expected = self.me.outbound_topic;
        if found != expected {
            self.forgive(
                key,
                DeviationKind::OtherOutboundTopic,
                pointer,
                expected.to_string(),
                found.to_string(),
            );
        }
    }

    fn forgive(
        &mut self,
        key: ConnectionKey,
        kind: DeviationKind,
        pointer: &str,
        expected: String,
        found: String,
    ) {
        if let Some(connection) = self.all.get_mut(&key)
            && connection.deviations.len() < MAX_DEVIATIONS
        {
            connection.deviations.push(Deviation {
                kind,
                pointer: pointer.to_owned(),
                expected,
                found: shown(&found),
            });
        }
    }
}

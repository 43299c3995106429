//! Where an agent's connections stand, from what its topics and those of the others say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use inbox_core::{Code, Refusal};
use inbox_hcs::{
    AccountId, Connection, ConnectionKey, ConnectionState, Connections, Envelope, InboundMessage,
    Operation, OperatorId, Place, Role, Sequence, TopicId, read,
};

use super::{Agent, REFUSED};
use crate::history::{self, Said};

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// At requests and whether they were accepted.
    Requests,
    /// Also whether this connection was closed.
    One(TopicId),
    /// Also whether those with this account were closed.
    With(AccountId),
    /// Also whether any of them was closed.
    All,
}

/// Where an agent's connections stand.
#[derive(Debug, Clone)]
pub struct Overview {
    /// The connections.
    pub connections: Connections,
    askers: BTreeMap<ConnectionKey, OperatorId>,
    refused: BTreeMap<ConnectionKey, String>,
    /// What the agent itself has recorded of connections that are there.
    recorded: BTreeSet<TopicId>,
    /// Who confirmed a request of the agent's, and by which message.
    confirmed: BTreeMap<ConnectionKey, (Sequence, OperatorId)>,
}

impl Overview {
    /// Whether a request was refused.
    pub fn is_refused(&self, key: ConnectionKey) -> bool {
        self.refused.contains_key(&key)
    }

    /// Why it was.
    pub fn reason(&self, key: ConnectionKey) -> Option<&str> {
        self.refused.get(&key).map(String::as_str)
    }

    pub(super) fn asked_by(&self, key: ConnectionKey) -> Option<OperatorId> {
        self.askers.get(&key).copied()
    }

    /// The connection on a topic that goes on.
    pub fn live(&self, topic: TopicId) -> Result<&Connection, Refusal> {
        let Some(found) = self.connections.on_topic(topic) else {
            return Err(Refusal::new(
                Code::TopicNotFound,
                format!("{topic} is no connection of this agent"),
            )
            .hint("inbox hcs connections lists them with their topics"));
        };
        match found.state {
            ConnectionState::Closed(_, closure) => {
                let by = closure.by;
                Err(Refusal::new(
                    Code::InvalidTransition,
                    format!("the connection on {topic} was closed by {by}"),
                )
                .hint("inbox hcs connect ACCOUNT asks for a new one"))
            }
            ConnectionState::Requested | ConnectionState::Created(_) => Ok(found),
        }
    }

    /// What the agent has not recorded yet: a connection that the other has confirmed, by which message, and who it is.
    pub(super) fn unrecorded(&self, connection: &Connection) -> Option<(Sequence, OperatorId)> {
        let topic = connection.topic()?;
        let is_due = connection.role == Role::Requester && !self.recorded.contains(&topic);
        is_due
            .then(|| self.confirmed.get(&connection.key).copied())
            .flatten()
    }

    fn hear(&mut self, topic: TopicId, place: Place, said: &Said) {
        // What cannot be read says nothing.
        let Ok((operation, _)) = read(&said.bytes, place) else {
            return;
        };
        let heard = self
            .connections
            .hear(topic, said.sequence, said.payer, &operation);
        match &operation {
            Operation::ConnectionRequest(request) => {
                let key = ConnectionKey {
                    inbound_topic: topic,
                    request: said.sequence,
                };
                if request.operator.account == said.payer {
                    self.askers.insert(key, request.operator);
                }
            }
            Operation::InboundMessage(message) if message.operator.account == said.payer => {
                self.refusal(message);
            }
            Operation::CreatedRecord(record) if heard != inbox_hcs::Heard::Unverified => {
                self.recorded.insert(record.connection_topic);
            }
            Operation::ConnectionCreated(created) => {
                let key = ConnectionKey {
                    inbound_topic: topic,
                    request: created.connection,
                };
                if heard != inbox_hcs::Heard::Unverified {
                    self.confirmed
                        .insert(key, (said.sequence, created.operator));
                }
            }
            _ => {}
        }
    }

    /// A message that says no to a request. It may come before the record of the request, so who was asked is compared when it is looked at.
    fn refusal(&mut self, message: &InboundMessage) {
        let Ok((envelope, _)) = Envelope::read(&message.data) else {
            return;
        };
        if envelope.message_type != REFUSED {
            return;
        }
        let topic = envelope.payload.get("inbound_topic_id");
        let topic = topic.and_then(|topic| topic.as_str()?.parse().ok());
        let request = envelope.payload.get("connection_request_id");
        let request = request.and_then(|request| Sequence::new(request.as_u64()?));
        let (Some(topic), Some(request)) = (topic, request) else {
            return;
        };
        // Only whose topic it is may refuse what was asked there.
        if message.operator.inbound_topic == topic {
            let key = ConnectionKey {
                inbound_topic: topic,
                request,
            };
            self.refused.insert(key, envelope.subject);
        }
    }
}

impl Agent<'_> {
    /// Where the agent's connections stand.
    pub fn look(&self, reached: Reached) -> Result<Overview, Refusal> {
        let mut overview = Overview {
            connections: Connections::new(self.me),
            askers: BTreeMap::new(),
            refused: BTreeMap::new(),
            recorded: BTreeSet::new(),
            confirmed: BTreeMap::new(),
        };
        self.listen(&mut overview, self.me.inbound_topic, Place::Inbound, None)?;
        self.listen(&mut overview, self.me.outbound_topic, Place::Outbound, None)?;
        let asked: Vec<ConnectionKey> = overview
            .connections
            .iter()
            .filter(|connection| connection.role == Role::Requester)
            .map(|connection| connection.key)
            .collect();
        for key in asked {
            let is_settled = overview.connections.get(key).is_none_or(|connection| {
                connection
                    .topic()
                    .is_some_and(|topic| overview.recorded.contains(&topic))
            });
            if !is_settled {
                let topic = key.inbound_topic;
                self.listen(&mut overview, topic, Place::Inbound, Some(key.request))?;
            }
        }
        let refused = std::mem::take(&mut overview.refused);
        overview.refused = refused
            .into_iter()
            .filter(|(key, _)| {
                let found = overview.connections.get(*key);
                found.is_some_and(|connection| connection.topic().is_none())
            })
            .collect();
        let topics: Vec<TopicId> = overview
            .connections
            .iter()
            .filter(|connection| match reached {
                Reached::Requests => false,
                Reached::One(topic) => connection.topic() == Some(topic),
                Reached::With(account) => connection.other == Some(account),
                Reached::All => true,
            })
            .filter_map(Connection::topic)
            .collect();
        for topic in topics {
            self.listen(&mut overview, topic, Place::Connection, None)?;
        }
        Ok(overview)
    }

    fn listen(
        &self,
        overview: &mut Overview,
        topic: TopicId,
        place: Place,
        after: Option<Sequence>,
    ) -> Result<(), Refusal> {
        history::messages(self.net.mirror(), topic, after, |said| {
            overview.hear(topic, place, &said);
            Ok(ControlFlow::Continue(()))
        })
    }
}

//! What is known of one connection.

use std::collections::BTreeSet;

use crate::id::{AccountId, Sequence, TopicId};
use crate::operation::CloseMethod;
use crate::report::Deviation;

/// The agent whose connections they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Participant {
    /// Its account.
    pub account: AccountId,
    /// Where it hears requests.
    pub inbound_topic: TopicId,
    /// Where it records what it does.
    pub outbound_topic: TopicId,
}

/// What names a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey {
    /// Where it was asked for.
    pub inbound_topic: TopicId,
    /// The number of the request there.
    pub request: Sequence,
}

/// Which side of a connection the agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It asked.
    Requester,
    /// It was asked.
    Responder,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closure {
    /// Who ended it.
    pub by: AccountId,
    /// How.
    pub method: CloseMethod,
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionState {
    /// It was asked for.
    Requested,
    /// It is there.
    Created(TopicId),
    /// It ended.
    Closed(TopicId, Closure),
}

/// One connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// What names it.
    pub key: ConnectionKey,
    /// Which side the agent is.
    pub role: Role,
    /// The other side, once it is known.
    pub other: Option<AccountId>,
    /// Where it stands.
    pub state: ConnectionState,
    /// Parties beside the two, as its topic's key names them.
    pub guests: BTreeSet<AccountId>,
    /// What was forgiven in the records of it.
    pub deviations: Vec<Deviation>,
}

impl Connection {
    /// Its topic, once it is there.
    pub const fn topic(&self) -> Option<TopicId> {
        match self.state {
            ConnectionState::Requested => None,
            ConnectionState::Created(topic) | ConnectionState::Closed(topic, _) => Some(topic),
        }
    }
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It counts.
    Counted,
    /// It is not from whom it says.
    Unverified,
    /// It changes nothing, and why.
    Ignored(&'static str),
}

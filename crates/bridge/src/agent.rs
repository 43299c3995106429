//! One agent: what it asks of others, what it answers them, and what the parties of a connection say.

mod cost;
mod overview;
mod proposal;
mod speak;

use inbox_core::{Code, Priority, Refusal};
use inbox_hcs::{
    AccountId, ConnectionCreated, ConnectionKey, ConnectionRequest, ConnectionState, CreatedRecord,
    Data, Envelope, InboundMessage, Operation, OperatorId, Participant, RequestRecord, Role,
    Sequence, TopicId, TopicMemo, Ttl,
};
use inbox_hedera::mirror::AccountFacts;
use inbox_hedera::proto::{CreateTopicBody, Key};
use serde_json::{Value, json};

use crate::Hbar;
use crate::net::{Fees, Net};
use crate::peer::{self, peer};
use crate::publish::charge;
use crate::told::named;

pub use cost::{Bill, bill, is_understood, sort_of};
pub use overview::{Overview, Reached};
pub(crate) use proposal::REJECTED;
pub use proposal::{Approved, Proposal, Transfer, describe};
pub use speak::{Line, What};

/// What a refusal of a connection is called among messages.
pub(crate) const REFUSED: &str = "connection.refused";

/// One agent: the payer of a network, with its topics.
pub struct Agent<'n> {
    net: &'n Net,
    me: Participant,
    most: Hbar,
}

/// A connection that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requested {
    /// Who was asked.
    pub other: OperatorId,
    /// The number of the request on the other's inbound topic.
    pub request: Sequence,
}

/// A connection that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// Who asked.
    pub other: OperatorId,
    /// Where the parties talk.
    pub topic: TopicId,
}

impl<'n> Agent<'n> {
    /// The payer of this network, who hears and records on these topics, and lets no topic take anything for a message.
    pub fn new(net: &'n Net, me: Participant) -> Self {
        let most = Hbar::default();
        Agent { net, me, most }
    }

    /// The same, who lets another's topic take so much for a message.
    pub fn up_to(self, most: Hbar) -> Self {
        Agent { most, ..self }
    }

    /// Who it is to others.
    pub fn operator(&self) -> OperatorId {
        OperatorId {
            inbound_topic: self.me.inbound_topic,
            account: self.me.account,
        }
    }

    fn record(&self, operation: &Operation) -> Result<Sequence, Refusal> {
        self.net
            .operate(self.me.outbound_topic, operation, Fees::None)
    }

    /// Asks another agent for a connection.
    pub fn connect(&self, other: AccountId, memo: Option<String>) -> Result<Requested, Refusal> {
        if other == self.me.account {
            return Err(Refusal::input(format!(
                "{other} is this agent, and no agent asks itself"
            )));
        }
        let other = peer(self.net.mirror(), other)?.operator(self.net.mirror())?;
        self.must_be_new(other)?;
        let ask = Operation::ConnectionRequest(ConnectionRequest {
            operator: self.operator(),
            memo: memo.clone(),
        });
        let fees = Fees::UpTo(self.most);
        let request = self.net.operate(other.inbound_topic, &ask, fees)?;
        self.record(&Operation::RequestRecord(RequestRecord {
            operator: other,
            outbound_topic: self.me.outbound_topic,
            request,
            memo,
        }))?;
        Ok(Requested { other, request })
    }

    fn must_be_new(&self, other: OperatorId) -> Result<(), Refusal> {
        let overview = self.look(Reached::With(other.account))?;
        let known = overview.connections.iter().find(|connection| {
            connection.other == Some(other.account)
                && !matches!(connection.state, ConnectionState::Closed(..))
                && !overview.is_refused(connection.key)
        });
        let Some(known) = known else { return Ok(()) };
        let account = other.account;
        let message = match (known.topic(), known.role) {
            (Some(topic), _) => format!("there is a connection with {account} already, on {topic}"),
            (None, Role::Requester) => {
                let request = known.key.request;
                format!("{account} was asked already, by request {request}")
            }
            (None, Role::Responder) => {
                let request = known.key.request;
                format!("{account} asks for a connection itself, by request {request}")
            }
        };
        Err(Refusal::new(Code::AlreadyExists, message)
            .hint("inbox hcs connections shows where it stands"))
    }

    /// Accepts a request: makes the topic on which either may write, and says so.
    pub fn accept(
        &self,
        request: Sequence,
        guests: &[AccountId],
        fee: Option<Hbar>,
        memo: Option<String>,
    ) -> Result<Accepted, Refusal> {
        let other = self.pending(request)?;
        let mirror = self.net.mirror();
        let asker = peer(mirror, other.account)?;
        let requestor_outbound = asker.outbound_topic()?;
        let mut keys = vec![self.net.public_key()?, key_of(&asker.account)?];
        for guest in guests {
            keys.push(key_of(&peer::account(mirror, *guest)?)?);
        }
        let either = Key::threshold(1, keys);
        let mut body = CreateTopicBody {
            memo: TopicMemo::Connection {
                ttl: Ttl::MINUTE,
                inbound_topic: self.me.inbound_topic,
                connection: request,
            }
            .to_string(),
            admin_key: Some(either.clone()),
            submit_key: Some(either),
            ..CreateTopicBody::default()
        };
        if let Some(fee) = fee {
            charge(self.net, &mut body, fee)?;
        }
        let topic = self.net.create_topic(body)?;
        let created = Operation::ConnectionCreated(ConnectionCreated {
            connection_topic: topic,
            connected_account: other.account,
            operator: self.operator(),
            connection: request,
            memo: memo.clone(),
        });
        let confirmed = self
            .net
            .operate(self.me.inbound_topic, &created, Fees::None)?;
        self.record(&Operation::CreatedRecord(CreatedRecord {
            connection_topic: topic,
            outbound_topic: self.me.outbound_topic,
            requestor_outbound_topic: Some(requestor_outbound),
            confirmed_request: Some(confirmed),
            request,
            operator: Some(self.operator()),
            memo,
        }))?;
        Ok(Accepted { other, topic })
    }

    /// Refuses a request. The standard has no word for it, so the other is told by a message on its inbound topic.
    pub fn refuse(&self, request: Sequence, reason: &str) -> Result<OperatorId, Refusal> {
        let other = self.pending(request)?;
        let payload = [
            ("inbound_topic_id", json!(self.me.inbound_topic.to_string())),
            ("connection_request_id", json!(request.get())),
        ];
        let message = Operation::InboundMessage(InboundMessage {
            operator: self.operator(),
            data: envelope(REFUSED, reason, payload),
            written_at: None,
            memo: None,
        });
        self.net
            .operate(other.inbound_topic, &message, Fees::UpTo(self.most))?;
        Ok(other)
    }

    /// Who asked by a request that nobody has answered.
    fn pending(&self, request: Sequence) -> Result<OperatorId, Refusal> {
        let overview = self.look(Reached::Requests)?;
        let key = ConnectionKey {
            inbound_topic: self.me.inbound_topic,
            request,
        };
        let Some(connection) = overview.connections.get(key) else {
            return Err(Refusal::new(
                Code::MessageNotFound,
                format!("there is no request {request} for a connection"),
            )
            .hint("inbox hcs connections lists them"));
        };
        if let Some(topic) = connection.topic() {
            return Err(Refusal::new(
                Code::AlreadyExists,
                format!("request {request} was accepted already; its topic is {topic}"),
            ));
        }
        named(overview.asked_by(key), "who asked")
    }
}

pub(crate) fn key_of(account: &AccountFacts) -> Result<Key, Refusal> {
    let id = account.id;
    account.key.clone().ok_or_else(|| {
        Refusal::new(
            Code::Ledger,
            format!("account {id} has no key, and cannot be a party"),
        )
    })
}

/// What says no, in the form in which agents of one inbox write: the standard has none.
pub(crate) fn envelope<const N: usize>(
    kind: &str,
    reason: &str,
    payload: [(&str, Value); N],
) -> Data {
    let payload = payload.map(|(key, value)| (key.to_owned(), value));
    let envelope = Envelope {
        message_type: kind.to_owned(),
        subject: reason.to_owned(),
        payload: payload.into_iter().collect(),
        ref_id: None,
        ref_type: None,
        priority: Priority::Normal,
    };
    envelope.to_data()
}

//! What stands on an agent's inbound topic: requests for a connection, the agent's answers to them, and messages
//! of agents that know each other without a connection.

use serde_json::Value;

use super::{Data, fields, form};
use crate::fields::{Report, parsed, sequence, time};
use crate::form::Form;
use crate::id::{AccountId, OperatorId, Sequence, TopicId};

/// Somebody asks the topic's agent for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRequest {
    /// Who asks.
    pub operator: OperatorId,
    /// A remark.
    pub memo: Option<String>,
}

impl ConnectionRequest {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let operator = object.required("operator_id", parsed);
        let memo = object.remark("m");
        object.close();
        Some(ConnectionRequest {
            operator: operator?,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("connection_request")
            .text("operator_id", self.operator)
            .maybe("m", self.memo.clone())
    }
}

/// The topic's agent says that the connection is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCreated {
    /// Where the parties talk.
    pub connection_topic: TopicId,
    /// Who asked.
    pub connected_account: AccountId,
    /// Who confirms: the topic's agent.
    pub operator: OperatorId,
    /// The number of the request on this topic.
    pub connection: Sequence,
    /// A remark.
    pub memo: Option<String>,
}

impl ConnectionCreated {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let connection_topic = object.required("connection_topic_id", parsed);
        let connected_account = object.required("connected_account_id", parsed);
        let operator = object.required("operator_id", parsed);
        let connection = object.required("connection_id", sequence);
        let memo = object.remark("m");
        object.close();
        Some(ConnectionCreated {
            connection_topic: connection_topic?,
            connected_account: connected_account?,
            operator: operator?,
            connection: connection?,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("connection_created")
            .text("connection_topic_id", self.connection_topic)
            .text("connected_account_id", self.connected_account)
            .text("operator_id", self.operator)
            .set("connection_id", self.connection.get())
            .maybe("m", self.memo.clone())
    }
}

/// A message without a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboundMessage {
    /// Who sends it.
    pub operator: OperatorId,
    /// What it says; an [`Envelope`](crate::Envelope) among agents of one inbox.
    pub data: Data,
    /// When it was written, as its writer says.
    pub written_at: Option<jiff::Timestamp>,
    /// A remark.
    pub memo: Option<String>,
}

impl InboundMessage {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let operator = object.required("operator_id", parsed);
        let data = object.required("data", Data::read);
        let written_at = object.optional("ts", time);
        let memo = object.remark("m");
        object.close();
        Some(InboundMessage {
            operator: operator?,
            data: data?,
            written_at: written_at?.flatten(),
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("message")
            .text("operator_id", self.operator)
            .set("data", self.data.as_str())
            .maybe_text("ts", self.written_at)
            .maybe("m", self.memo.clone())
    }
}

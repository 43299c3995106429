//! What stands on an agent's outbound topic: its own records of requests, connections and messages.

use serde_json::Value;

use super::{Data, fields, form};
use crate::fields::{Report, parsed, sequence, time};
use crate::form::Form;
use crate::id::{OperatorId, Sequence, TopicId};
use crate::report::{DeviationKind, Refused};

/// The topic's agent asked another for a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRecord {
    /// Who was asked; not the agent that asks.
    pub operator: OperatorId,
    /// The topic of this record.
    pub outbound_topic: TopicId,
    /// The number of the request on the other's inbound topic.
    pub request: Sequence,
    /// A remark.
    pub memo: Option<String>,
}

impl RequestRecord {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let operator = object.required("operator_id", parsed);
        let outbound_topic = object.required("outbound_topic_id", parsed);
        let request = object.required("connection_request_id", sequence);
        let memo = object.remark("m");
        object.close();
        Some(RequestRecord {
            operator: operator?,
            outbound_topic: outbound_topic?,
            request: request?,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("connection_request")
            .text("operator_id", self.operator)
            .text("outbound_topic_id", self.outbound_topic)
            .set("connection_request_id", self.request.get())
            .maybe("m", self.memo.clone())
    }
}

/// A connection of the topic's agent is there. Both parties write one.
///
/// Others leave fields out, so three of them may be missing in what was read; what is written has them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedRecord {
    /// Where the parties talk.
    pub connection_topic: TopicId,
    /// The topic of this record.
    pub outbound_topic: TopicId,
    /// The outbound topic of the agent that asked.
    pub requestor_outbound_topic: Option<TopicId>,
    /// The number of the confirmation on the inbound topic of the agent that was asked.
    pub confirmed_request: Option<Sequence>,
    /// The number of the request there.
    pub request: Sequence,
    /// Who confirmed: the agent that was asked.
    pub operator: Option<OperatorId>,
    /// A remark.
    pub memo: Option<String>,
}

impl CreatedRecord {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let connection_topic = object.required("connection_topic_id", parsed);
        let outbound_topic = object.required("outbound_topic_id", parsed);
        let requestor_outbound_topic = object.wanted("requestor_outbound_topic_id", parsed);
        let confirmed_request = object.wanted("confirmed_request_id", sequence);
        let request = object.required("connection_request_id", sequence);
        let operator = object.wanted("operator_id", parsed);
        let memo = object.remark("m");
        object.close();
        Some(CreatedRecord {
            connection_topic: connection_topic?,
            outbound_topic: outbound_topic?,
            requestor_outbound_topic,
            confirmed_request,
            request: request?,
            operator,
            memo,
        })
    }

    pub(super) fn form(&self) -> Result<Form, Refused> {
        let requestor = self.requestor_outbound_topic.map(|topic| topic.to_string());
        let form = form("connection_created")
            .text("connection_topic_id", self.connection_topic)
            .text("outbound_topic_id", self.outbound_topic)
            .must("requestor_outbound_topic_id", requestor)?
            .must(
                "confirmed_request_id",
                self.confirmed_request.map(Sequence::get),
            )?
            .set("connection_request_id", self.request.get())
            .must(
                "operator_id",
                self.operator.map(|operator| operator.to_string()),
            )?
            .maybe("m", self.memo.clone());
        Ok(form)
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CloseMethod {
    /// One of the parties said so on the connection's topic.
    Explicit,
    /// The topic's admin key was changed.
    AdminKey,
    /// The topic's submit key was changed.
    SubmitKey,
}

impl CloseMethod {
    /// Every method.
    pub const ALL: [CloseMethod; 3] = [
        CloseMethod::Explicit,
        CloseMethod::AdminKey,
        CloseMethod::SubmitKey,
    ];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            CloseMethod::Explicit => "explicit",
            CloseMethod::AdminKey => "admin_key",
            CloseMethod::SubmitKey => "submit_key",
        }
    }

    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let text = crate::fields::text(value, report)?;
        let found = CloseMethod::ALL
            .into_iter()
            .find(|method| method.name() == text);
        // However it was closed, it is closed.
        Some(found.unwrap_or_else(|| {
            let expected = "explicit, admin_key or submit_key";
            report.forgive(
                DeviationKind::UnknownWord,
                expected,
                crate::id::shown(&text),
            );
            CloseMethod::Explicit
        }))
    }
}

/// A connection of the topic's agent ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClosedRecord {
    /// The connection's topic.
    pub connection_topic: TopicId,
    /// How it ended.
    pub method: CloseMethod,
    /// Who ended it.
    pub operator: OperatorId,
    /// Why.
    pub reason: Option<String>,
    /// A remark.
    pub memo: Option<String>,
}

impl ClosedRecord {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let connection_topic = object.required("connection_topic_id", parsed);
        let method = object.wanted("close_method", CloseMethod::read);
        let operator = object.required("operator_id", parsed);
        let reason = object.remark("reason");
        let memo = object.remark("m");
        object.close();
        Some(ClosedRecord {
            connection_topic: connection_topic?,
            method: method.unwrap_or(CloseMethod::Explicit),
            operator: operator?,
            reason,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("connection_closed")
            .text("connection_topic_id", self.connection_topic)
            .set("close_method", self.method.name())
            .text("operator_id", self.operator)
            .maybe("reason", self.reason.clone())
            .maybe("m", self.memo.clone())
    }
}

/// A message of the topic's agent to a role, a tag or everybody, who have no topic to hear it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundMessage {
    /// Who sent it: the topic's agent.
    pub operator: OperatorId,
    /// What it says.
    pub data: Data,
    /// When it was written, as its writer says.
    pub written_at: Option<jiff::Timestamp>,
    /// A remark.
    pub memo: Option<String>,
}

impl OutboundMessage {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let operator = object.required("operator_id", parsed);
        let data = object.required("data", Data::read);
        let written_at = object.optional("ts", time);
        let memo = object.remark("m");
        object.close();
        Some(OutboundMessage {
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

//! What stands on a connection's topic: messages, proposed transactions, and the end.

use serde_json::Value;

use super::{Data, fields, form};
use crate::fields::{Report, parsed};
use crate::form::Form;
use crate::id::{OperatorId, ScheduleId};

/// A message between the parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who sends it.
    pub operator: OperatorId,
    /// What it says, or where that is.
    pub data: Data,
    /// A remark.
    pub memo: Option<String>,
}

impl Message {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let operator = object.required("operator_id", parsed);
        let data = object.required("data", Data::read);
        let memo = object.remark("m");
        object.close();
        Some(Message {
            operator: operator?,
            data: data?,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("message")
            .text("operator_id", self.operator)
            .set("data", self.data.as_str())
            .maybe("m", self.memo.clone())
    }
}

/// One of the parties ends the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseConnection {
    /// Who ends it.
    pub operator: OperatorId,
    /// Why.
    pub reason: Option<String>,
    /// A remark.
    pub memo: Option<String>,
}

impl CloseConnection {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let operator = object.required("operator_id", parsed);
        let reason = object.remark("reason");
        let memo = object.remark("m");
        object.close();
        Some(CloseConnection {
            operator: operator?,
            reason,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("close_connection")
            .text("operator_id", self.operator)
            .maybe("reason", self.reason.clone())
            .maybe("m", self.memo.clone())
    }
}

/// A scheduled transaction that wants the other's signature. Signing it is the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Who proposes it.
    pub operator: OperatorId,
    /// The scheduled transaction.
    pub schedule: ScheduleId,
    /// What it does, as its proposer says. The schedule itself is what would be executed.
    pub data: Data,
    /// A remark.
    pub memo: Option<String>,
}

impl Transaction {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let operator = object.required("operator_id", parsed);
        let schedule = object.required("schedule_id", parsed);
        let data = object.required("data", Data::read);
        let memo = object.remark("m");
        object.close();
        Some(Transaction {
            operator: operator?,
            schedule: schedule?,
            data: data?,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("transaction")
            .text("operator_id", self.operator)
            .text("schedule_id", self.schedule)
            .set("data", self.data.as_str())
            .maybe("m", self.memo.clone())
    }
}

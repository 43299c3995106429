//! What stands on a registry of agents. `migrate` may stand on any topic.

use serde_json::Value;

use super::{fields, form};
use crate::fields::{Report, parsed, uid};
use crate::form::Form;
use crate::id::{AccountId, Sequence, TopicId};
use crate::tx_memo::Place;

/// An agent is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// The agent's account.
    pub account: AccountId,
    /// A remark.
    pub memo: Option<String>,
}

impl Register {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let account = object.required("account_id", parsed);
        let memo = object.remark("m");
        object.close();
        Some(Register {
            account: account?,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("register")
            .text("account_id", self.account)
            .maybe("m", self.memo.clone())
    }
}

/// An entry is taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// The number of the message that registered it.
    pub uid: Sequence,
    /// A remark.
    pub memo: Option<String>,
}

impl Delete {
    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let uid = object.required("uid", uid);
        let memo = object.remark("m");
        object.close();
        Some(Delete { uid: uid?, memo })
    }

    pub(super) fn form(&self) -> Form {
        form("delete")
            .text("uid", self.uid)
            .maybe("m", self.memo.clone())
    }
}

/// The topic moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrate {
    /// The sort of topic that moves.
    pub place: Place,
    /// Where to.
    pub topic: TopicId,
    /// A remark.
    pub memo: Option<String>,
}

impl Migrate {
    pub(super) fn read(value: &Value, place: Place, report: &mut Report) -> Option<Self> {
        let mut object = fields(value, report)?;
        let topic = object.required("t_id", parsed);
        let memo = object.remark("m");
        object.close();
        Some(Migrate {
            place,
            topic: topic?,
            memo,
        })
    }

    pub(super) fn form(&self) -> Form {
        form("migrate")
            .text("t_id", self.topic)
            .maybe("m", self.memo.clone())
    }
}

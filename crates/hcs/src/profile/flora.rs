//! The part of the profile of a group of accounts.

use serde_json::{Map, Value};

use super::map;
use crate::fields::{Object, Report, list, parsed, whole};
use crate::form::Form;
use crate::id::{AccountId, TopicId};
use crate::report::{DeviationKind, Refused};

/// A group that acts when enough of its members agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Flora {
    /// Who belongs to it.
    pub members: Vec<Member>,
    /// How many must agree.
    pub threshold: u64,
    /// Where it talks, acts and keeps its state.
    pub topics: FloraTopics,
    /// How it decides, in its own words.
    pub policies: Option<Map<String, Value>>,
}

/// A member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its account.
    pub account: AccountId,
}

/// The topics of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct FloraTopics {
    /// Where it talks.
    pub communication: TopicId,
    /// Where it proposes transactions.
    pub transaction: TopicId,
    /// Where it keeps its state.
    pub state: TopicId,
    /// Others, in its own form.
    pub custom: Vec<Value>,
}

impl Member {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let account = object.required("accountId", parsed);
        object.close();
        Some(Member { account: account? })
    }

    fn value(&self) -> Value {
        Form::default().text("accountId", self.account).value()
    }
}

impl FloraTopics {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let communication = object.required("communication", parsed);
        let transaction = object.required("transaction", parsed);
        let state = object.required("state", parsed);
        let custom = object.optional("custom", |value, report| {
            list(value, report, |item, _| Some(item.clone()))
        });
        object.close();
        Some(FloraTopics {
            communication: communication?,
            transaction: transaction?,
            state: state?,
            custom: custom?.unwrap_or_default(),
        })
    }

    fn value(&self) -> Value {
        Form::default()
            .text("communication", self.communication)
            .text("transaction", self.transaction)
            .text("state", self.state)
            .some("custom", self.custom.iter().cloned())
            .value()
    }
}

impl Flora {
    /// Whether so many can agree.
    fn is_reachable(&self) -> bool {
        self.threshold > 0 && self.threshold <= self.members.len() as u64
    }

    pub(super) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let members = object.required("members", |value, report| list(value, report, Member::read));
        let threshold = object.required("threshold", whole);
        let topics = object.required("topics", FloraTopics::read);
        let policies = object.optional("policies", map);
        object.close();
        let flora = Flora {
            members: members?,
            threshold: threshold?,
            topics: topics?,
            policies: policies?,
        };
        if !flora.is_reachable() {
            let expected = format!("from 1 to {}", flora.members.len());
            let found = flora.threshold.to_string();
            report.at("threshold", |report| {
                report.forgive(DeviationKind::UnknownNumber, expected, found);
            });
        }
        Some(flora)
    }

    pub(super) fn value(&self) -> Result<Value, Refused> {
        if !self.is_reachable() {
            let expected = format!("a threshold from 1 to {}", self.members.len());
            return Err(Refused::text(&self.threshold.to_string(), expected));
        }
        let members: Vec<_> = self.members.iter().map(Member::value).collect();
        let form = Form::default()
            .set("members", members)
            .set("threshold", self.threshold)
            .set("topics", self.topics.value())
            .maybe("policies", self.policies.clone());
        Ok(form.value())
    }
}

//! What the profile of a group of accounts has (HCS-16): unlike the parts of other types, these are fields of the
//! profile itself.

use serde_json::{Map, Value};

use super::map;
use crate::fields::{Object, Report, filled, list, parsed, text, whole};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloraTopics {
    /// Where it talks.
    pub communication: TopicId,
    /// Where it proposes transactions.
    pub transaction: TopicId,
    /// Where it keeps its state.
    pub state: TopicId,
    /// Others.
    pub custom: Vec<CustomTopic>,
}

/// A topic that a group has for a purpose of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomTopic {
    /// Its name.
    pub name: String,
    /// The topic.
    pub topic: TopicId,
    /// What it is for.
    pub description: Option<String>,
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

impl CustomTopic {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let name = object.required("name", filled);
        let topic = object.required("topicId", parsed);
        let description = object.optional("description", text);
        object.close();
        Some(CustomTopic {
            name: name?,
            topic: topic?,
            description: description?,
        })
    }

    fn value(&self) -> Value {
        Form::default()
            .set("name", self.name.as_str())
            .text("topicId", self.topic)
            .maybe("description", self.description.clone())
            .value()
    }
}

impl FloraTopics {
    fn read(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let communication = object.required("communication", parsed);
        let transaction = object.required("transaction", parsed);
        let state = object.required("state", parsed);
        let custom = object.optional("custom", |value, report| {
            list(value, report, CustomTopic::read)
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
            .some("custom", self.custom.iter().map(CustomTopic::value))
            .value()
    }
}

impl Flora {
    /// Whether so many can agree.
    fn is_reachable(&self) -> bool {
        self.threshold > 0 && self.threshold <= self.members.len() as u64
    }

    /// Reads the group's fields out of the profile; inside an object of their own they are forgiven.
    pub(super) fn read(profile: &mut Object<'_, '_>) -> Option<Self> {
        if !profile.has("flora") {
            return Flora::read_fields(profile);
        }
        profile.required("flora", |value, report| {
            let expected = "the fields of a group in the profile itself";
            report.forgive(
                DeviationKind::NestedPart,
                expected,
                "an object of their own",
            );
            let mut object = Object::open(value, report)?;
            let flora = Flora::read_fields(&mut object);
            object.close();
            flora
        })
    }

    fn read_fields(object: &mut Object<'_, '_>) -> Option<Self> {
        let members = object.required("members", |value, report| list(value, report, Member::read));
        let threshold = object.required("threshold", whole);
        let topics = object.required("topics", FloraTopics::read);
        let policies = object.optional("policies", map);
        let flora = Flora {
            members: members?,
            threshold: threshold?,
            topics: topics?,
            policies: policies?,
        };
        if !flora.is_reachable() {
            let expected = format!("from 1 to {}", flora.members.len());
            let found = flora.threshold.to_string();
            object.report().at("threshold", |report| {
                report.forgive(DeviationKind::UnknownNumber, expected, found);
            });
        }
        Some(flora)
    }

    /// Writes the group's fields into the profile.
    pub(super) fn write(&self, form: Form) -> Result<Form, Refused> {
        if !self.is_reachable() {
            let expected = format!("a threshold from 1 to {}", self.members.len());
            return Err(Refused::text(&self.threshold.to_string(), expected));
        }
        let members: Vec<_> = self.members.iter().map(Member::value).collect();
        let form = form
            .set("members", members)
            .set("threshold", self.threshold)
            .set("topics", self.topics.value())
            .maybe("policies", self.policies.clone());
        Ok(form)
    }
}

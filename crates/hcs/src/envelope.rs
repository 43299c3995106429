//! What a message among agents of one inbox carries in its `data`: what sort it is, what it is about, how urgent.

use inbox_core::{Priority, RefType};
use serde_json::{Map, Value};

use crate::fields::{Object, Report, filled, shown_value, text, whole};
use crate::form::Form;
use crate::operation::Data;
use crate::report::{Deviation, DeviationKind, Refused};

/// The content of an inbound message.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// An open word such as `task.blocked` or `review.request`.
    pub message_type: String,
    /// One line for people.
    pub subject: String,
    /// What the type needs.
    pub payload: Map<String, Value>,
    /// The topic or id of what it is about.
    pub ref_id: Option<String>,
    /// The sort of what it is about.
    pub ref_type: Option<RefType>,
    /// How urgent it is.
    pub priority: Priority,
}

impl Envelope {
    /// Reads the content of a message, with what was forgiven.
    pub fn read(data: &Data) -> Result<(Self, Vec<Deviation>), Refused> {
        let value = inbox_wire::decode(data.as_str()).map_err(Refused::NotJson)?;
        let mut report = Report::default();
        let envelope = Envelope::read_value(&value, &mut report);
        report.finish(envelope)
    }

    fn read_value(value: &Value, report: &mut Report) -> Option<Self> {
        let mut object = Object::open(value, report)?;
        let message_type = object.required("message_type", filled);
        let subject = object.required("subject", text);
        let payload = object.optional("payload", payload);
        let ref_id = object.optional("ref_id", text);
        let ref_type = object.optional("ref_type", ref_type);
        let priority = object.optional("priority", priority);
        object.close();
        Some(Envelope {
            message_type: message_type?,
            subject: subject?,
            payload: payload?.unwrap_or_default(),
            ref_id: ref_id?,
            ref_type: ref_type?.flatten(),
            priority: priority?.unwrap_or(Priority::Normal),
        })
    }

    /// The content as the `data` of a message: JSON in a text.
    pub fn to_data(&self) -> Data {
        let form = Form::default()
            .set("message_type", self.message_type.as_str())
            .set("subject", self.subject.as_str())
            .set("payload", self.payload.clone())
            .maybe("ref_id", self.ref_id.clone())
            .maybe("ref_type", self.ref_type.map(RefType::name))
            .set("priority", self.priority.code());
        Data::json(&form.value())
    }
}

fn payload(value: &Value, report: &mut Report) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map.clone()),
        other => report.refuse(format!("must be an object, not {}", shown_value(other))),
    }
}

#[expect(
    clippy::option_option,
    reason = "the outer one is whether it could be read"
)]
fn ref_type(value: &Value, report: &mut Report) -> Option<Option<RefType>> {
    let text = text(value, report)?;
    let found = RefType::ALL.iter().find(|word| word.name() == text);
    if found.is_none() {
        let expected = "task, phase, stage, project or agent";
        report.forgive(DeviationKind::UnknownWord, expected, shown_value(value));
    }
    Some(found.copied())
}

fn priority(value: &Value, report: &mut Report) -> Option<Priority> {
    let code = whole(value, report)?;
    let found = i64::try_from(code).ok().and_then(Priority::from_code);
    Some(found.unwrap_or_else(|| {
        let expected = "a priority from 1 (urgent) to 5";
        report.forgive(DeviationKind::UnknownNumber, expected, code.to_string());
        Priority::Normal
    }))
}

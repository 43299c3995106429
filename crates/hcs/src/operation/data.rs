//! What a message carries: text, JSON in a text, or a reference to a file.

use serde_json::Value;

use crate::fields::{Report, shown_value};
use crate::hrl::Hrl;
use crate::id::TopicId;
use crate::report::DeviationKind;

/// The `data` of a message. It is always a text; what the text means is up to the reader.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Data(String);

impl Data {
    /// This text.
    pub fn new(text: impl Into<String>) -> Self {
        Data(text.into())
    }

    /// A JSON value, written as text.
    pub fn json(value: &Value) -> Self {
        Data(value.to_string())
    }

    /// A reference to the file on this topic.
    pub fn reference(topic: TopicId) -> Self {
        Data(Hrl::file(topic).to_string())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The topic of the file that holds the content, if the text is a reference to one.
    pub fn file(&self) -> Option<TopicId> {
        let hrl: Hrl = self.0.parse().ok()?;
        (hrl.protocol == 1).then_some(hrl.topic)
    }

    /// The JSON value in the text, if there is one that cannot be understood in two ways. It may carry a payload.
    pub fn value(&self) -> Option<Value> {
        inbox_wire::decode_carrier(&self.0).ok()
    }

    /// Any value but null is taken; what is no text becomes one.
    pub(crate) fn read(value: &Value, report: &mut Report) -> Option<Self> {
        match value {
            Value::String(text) => Some(Data::new(text)),
            Value::Null => report.refuse("must be a text, not null"),
            other => {
                report.forgive(
                    DeviationKind::DataIsNotText,
                    "a text, which may hold JSON",
                    shown_value(other),
                );
                Some(Data::json(other))
            }
        }
    }
}

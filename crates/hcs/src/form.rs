//! Writing JSON: the standard's keys in the standard's order, and nothing that has no value.

use serde_json::{Map, Value};

use crate::fields::document;
use crate::report::Refused;

/// An object that is being written.
#[derive(Default)]
pub(crate) struct Form(Map<String, Value>);

impl Form {
    /// An operation of a protocol.
    pub(crate) fn operation(protocol: &str, operation: &str) -> Self {
        Form::default().set("p", protocol).set("op", operation)
    }

    /// A field.
    pub(crate) fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// A field that is written as text, such as an id.
    pub(crate) fn text(self, key: &str, value: impl std::fmt::Display) -> Self {
        self.set(key, value.to_string())
    }

    /// A field that may be left out.
    pub(crate) fn maybe(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.set(key, value),
            None => self,
        }
    }

    /// The same, written as text.
    pub(crate) fn maybe_text(self, key: &str, value: Option<impl std::fmt::Display>) -> Self {
        self.maybe(key, value.map(|value| value.to_string()))
    }

    /// A list that is left out when it is empty.
    pub(crate) fn some<T: Into<Value>>(
        self,
        key: &str,
        items: impl IntoIterator<Item = T>,
    ) -> Self {
        let items: Vec<Value> = items.into_iter().map(Into::into).collect();
        if items.is_empty() {
            self
        } else {
            self.set(key, items)
        }
    }

    /// A field that readers can do without and writers cannot.
    pub(crate) fn must(
        self,
        key: &'static str,
        value: Option<impl Into<Value>>,
    ) -> Result<Self, Refused> {
        match value {
            Some(value) => Ok(self.set(key, value)),
            None => Err(Refused::Incomplete(key)),
        }
    }

    /// The object.
    pub(crate) fn value(self) -> Value {
        Value::Object(self.0)
    }

    /// The object as text that fits into `most` bytes.
    pub(crate) fn fit(self, what: &'static str, most: usize) -> Result<String, Refused> {
        let text = self.value().to_string();
        // What we would not read ourselves (a NUL, say) is not written either.
        document(text.as_bytes(), what, most)?;
        Ok(text)
    }
}

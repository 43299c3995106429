//! What a message has beside what the form of a Wire shows of it: it travels too, so that all of a message is on the topic.

use inbox_core::{Message, Thread, limit};
use inbox_store::NewMessage;
use serde_json::{Map, Value, json};

const SUMMARY: &str = "x_summary";
const SUBJECT: &str = "x_subject";
const BODY: &str = "x_body";
const PAYLOAD: &str = "x_payload";
const CONTEXT: &str = "x_context";

/// Adds to a Wire what it does not show.
pub(super) fn add(wire: &mut Map<String, Value>, message: &Message, thread: &Thread) {
    let is_own = message.payload_json.as_object() == Some(&*wire);
    let mut set = |key: &str, value: Value| wire.insert(key.to_owned(), value);
    if is_own {
        if !message.body.is_empty() {
            set(BODY, json!(message.body));
        }
        if message.summary != thread.subject {
            set(SUBJECT, json!(thread.subject));
        }
        set(SUMMARY, json!(message.summary));
    } else {
        // A message without a body has its summary in the place of it.
        if message.summary != thread.subject && !message.body.trim().is_empty() {
            set(SUMMARY, json!(message.summary));
        }
        if !is_empty(&message.payload_json) {
            set(PAYLOAD, message.payload_json.clone());
        }
    }
    if !is_empty(&message.context) {
        set(CONTEXT, message.context.clone());
    }
}

/// Gives a message that is made of a Wire what came beside it.
pub(super) fn take(wire: &Value, message: &mut NewMessage) {
    let text = |key: &str| wire.get(key).and_then(Value::as_str);
    if let Some(summary) = text(SUMMARY) {
        message.summary = summary.chars().take(limit::SUBJECT).collect();
    }
    if let Some(body) = text(BODY).filter(|_| wire["type"] != "inbox") {
        body.clone_into(&mut message.body);
    }
    // A Wire inside a Wire would be believed without having been looked at.
    let plain = |key: &str| {
        let found = wire.get(key).filter(|value| value.is_object());
        found.filter(|value| value.get("wire").is_none()).cloned()
    };
    if let Some(payload) = plain(PAYLOAD).filter(|_| wire["type"] == "inbox") {
        message.payload_json = payload;
    }
    if let Some(context) = plain(CONTEXT) {
        message.context = context;
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

//! Spec 004's files: `agent-mailbox.jsonl` and `agent-mailbox-reads.jsonl`.
//!
//! A line has the spec's fields by their names, so any reader of the spec can use what we write. What
//! else a message of ours has is in one more key, `inbox`, so reading it back loses nothing.

mod decode;
mod encode;
#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod round_trip;
#[cfg(test)]
pub(super) mod tests;

use inbox_core::record::{ArtifactMetadata, Millis};
use inbox_core::{Message, Thread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Incoming, Seen, convert};

pub use decode::decode;
pub use encode::{encode, encode_read};

/// The key, in payloads, of what a foreign line had beside the spec's fields.
pub const SOURCE: &str = "mailbox";

/// The key, in lines and payloads, of what only messages of ours have.
pub(super) const OWN: &str = "inbox";

/// How the id of a message is called in a reads file: as the spec's code would, and as its page prints it.
pub(super) const MESSAGE_ID: [&str; 2] = ["message_id", "messageid"];

/// The longest line that is read, in bytes.
pub const LINE: usize = 2 << 20;

/// The longest line of ours: the largest body, payload and context, when every character is escaped.
const OWN_LINE: usize = 16 << 20;

/// A message with what a line says about it.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// The message.
    pub message: &'a Message,
    /// The thread that it belongs to.
    pub thread: Option<&'a Thread>,
    /// The uid of the message that it follows from.
    pub parent_uid: Option<&'a str>,
    /// Who has read it.
    pub reads: &'a [Seen],
    /// Who has acknowledged it.
    pub acks: &'a [Seen],
    /// What is attached to it.
    pub artifacts: &'a [Attached],
}

/// What is attached to a message, without the ids of a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attached {
    /// The path as it was given.
    pub path: String,
    /// `file` or `reference`.
    pub kind: String,
    /// What was found when it was attached.
    pub metadata_json: ArtifactMetadata,
}

/// A message of ours as it was when it was exported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Original {
    /// The message. Its ids belong to the store that it came from, and nothing vouches for `verified`.
    pub message: Message,
    /// Its thread.
    pub thread: Option<Thread>,
    /// What was attached to it.
    #[serde(default)]
    pub artifacts: Vec<Attached>,
}

impl Original {
    /// Takes what only messages of ours have out of the payload of an incoming one, which is then the
    /// message's own again. Nothing when the message did not come from an export of ours.
    pub fn take(incoming: &mut Incoming) -> Option<Original> {
        let rest = incoming.payload.as_object()?.get(OWN)?.as_object()?.clone();
        let payload = match rest.get("payload_json") {
            Some(whole) => whole.clone(),
            None => {
                let mut payload = incoming.payload.as_object()?.clone();
                payload.shift_remove(OWN);
                payload.into()
            }
        };
        let original = Original::of(
            rest,
            &incoming.uid,
            incoming.created_at,
            &incoming.body,
            &payload,
        )?;
        incoming.payload = payload;
        Some(original)
    }

    /// The message that a line's spec fields and its `inbox` make up.
    fn of(
        mut rest: Map<String, Value>,
        uid: &str,
        created_at: Millis,
        body: &str,
        payload: &Value,
    ) -> Option<Original> {
        let thread = match rest.shift_remove("thread") {
            None | Some(Value::Null) => None,
            Some(thread) => Some(serde_json::from_value(thread).ok()?),
        };
        let artifacts = match rest.shift_remove("artifacts") {
            None => Vec::new(),
            Some(list) => serde_json::from_value(list).ok()?,
        };
        rest.insert("uid".to_owned(), uid.into());
        rest.insert("body".to_owned(), body.into());
        rest.insert("created_at".to_owned(), created_at.to_string().into());
        // Not by way of the record: it would be parsed twice, and may be large.
        rest.insert("payload_json".to_owned(), Value::Null);
        let mut message: Message = serde_json::from_value(rest.into()).ok()?;
        message.payload_json = payload.clone();
        Some(Original {
            message,
            thread,
            artifacts,
        })
    }
}

/// A payload with what only messages of ours have beside it, so that [`Original::take`] finds both.
fn joined(payload: Value, mut rest: Map<String, Value>) -> Value {
    let mut joined = match payload {
        Value::Object(object) if !object.contains_key(OWN) => object,
        whole => {
            rest.insert("payload_json".to_owned(), whole);
            Map::new()
        }
    };
    joined.insert(OWN.to_owned(), rest.into());
    joined.into()
}

fn uid(id: &str) -> String {
    convert::own_uid(SOURCE, id)
}

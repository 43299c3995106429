//! Messages and reads as lines.

use inbox_core::{Mode, limit};
use serde_json::{Map, Value, json};

use super::{OWN, Outgoing};
use crate::exchange::{LooseRead, json as strict};

/// An hour in milliseconds.
const HOUR: i64 = 3_600_000;

/// How deep a value may be nested to stand in a line as it is. What a line may not hold, such as a
/// deeper one, stands as text.
const DEPTH: usize = strict::DEPTH - 4;

/// The message as one line, without its end.
pub fn encode(outgoing: &Outgoing<'_>) -> String {
    let message = outgoing.message;
    let sender = message
        .from_session
        .as_ref()
        .map_or(message.from_agent.as_str(), |session| session.as_str());
    let read_by: Vec<_> = outgoing.reads.iter().map(|seen| &seen.reader).collect();
    let line = json!({
        "id": message.uid,
        "sender": sender,
        "recipient": recipient(outgoing),
        "timestamp": message.created_at,
        "content": message.body,
        "thread": outgoing.parent_uid,
        "ttl_hours": message.expires_at.map(|at| hours(at.0.saturating_sub(message.created_at.0))),
        "read_by": read_by,
        OWN: rest(outgoing),
    });
    line.to_string()
}

/// The read as one line of a reads file, without its end.
pub fn encode_read(read: &LooseRead) -> String {
    json!({
        "message_id": read.message_uid,
        "reader_session_id": read.reader,
        "timestamp": read.at,
    })
    .to_string()
}

/// The first address as the spec writes it: a role by its bare name.
fn recipient(outgoing: &Outgoing<'_>) -> String {
    let message = outgoing.message;
    if let Some(address) = message.to.first() {
        let text = address.as_str();
        return match address.mode() {
            Mode::Role => text.strip_prefix("role:").unwrap_or(text).to_owned(),
            _ => text.to_owned(),
        };
    }
    // A report is for whoever follows the thread: its opener, unless the opener wrote it.
    let of_thread = outgoing.thread.into_iter().flat_map(|thread| {
        let opener = thread.created_by.as_str();
        let holder = thread.assigned_to.as_str();
        [opener, holder].into_iter()
    });
    std::iter::once(message.to_agent.as_str())
        .chain(of_thread.filter(|&name| name != message.from_agent.as_str()))
        .find(|name| !name.is_empty())
        .unwrap_or(message.from_agent.as_str())
        .to_owned()
}

/// Whole hours that are not shorter: a message must not end before its time. The exact time is ours.
fn hours(millis: i64) -> i64 {
    let hours = millis.div_euclid(HOUR) + i64::from(millis.rem_euclid(HOUR) > 0);
    hours.clamp(1, limit::TTL_MAX_HOURS)
}

/// What the spec has no field for.
fn rest(outgoing: &Outgoing<'_>) -> Value {
    let mut rest = match serde_json::to_value(outgoing.message) {
        Ok(Value::Object(rest)) => rest,
        _ => Map::new(),
    };
    for told in ["uid", "body", "created_at"] {
        rest.shift_remove(told);
    }
    for name in ["payload_json", "context"] {
        if let Some(value) = rest.get(name)
            && !strict::is_plain(value, DEPTH)
        {
            let text = value.to_string();
            rest.shift_remove(name);
            rest.insert(format!("{name}_text"), text.into());
        }
    }
    rest.insert("thread".to_owned(), json!(outgoing.thread));
    rest.insert("reads".to_owned(), json!(outgoing.reads));
    rest.insert("acks".to_owned(), json!(outgoing.acks));
    if !outgoing.artifacts.is_empty() {
        rest.insert("artifacts".to_owned(), json!(outgoing.artifacts));
    }
    rest.into()
}

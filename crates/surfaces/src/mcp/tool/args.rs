//! The arguments of a call: a few are the call's own, some are renamed, and the rest is the operation's.

use std::time::{Duration, Instant};

use inbox_core::{AgentName, Refusal, ThreadId, limit};
use inbox_ops::Operation;
use serde_json::{Map, Value};

use crate::mcp::MOST_PATIENCE;
use crate::mcp::desk::{Desk, Proof};

/// The arguments of one call.
pub(super) struct Args {
    pub(super) map: Map<String, Value>,
    pub(super) proof: Proof,
    pub(super) thread: Option<ThreadId>,
    pub(super) wait: Option<Duration>,
}

impl Args {
    pub(super) fn new(desk: &Desk, mut map: Map<String, Value>) -> Result<Self, Refusal> {
        // A model that has nothing to say often says null.
        map.retain(|_, value| !value.is_null());
        for (known, field) in [
            ("thread_id", "thread"),
            ("to_agent", "to"),
            ("payload", "payload_json"),
            ("context", "context_json"),
        ] {
            if let Some(value) = map.shift_remove(known) {
                map.insert(field.to_owned(), value);
            }
        }
        if let Some(to) = map.get_mut("to").filter(|to| !to.is_array()) {
            *to = Value::Array(vec![to.take()]);
        }
        if let Some(priority) = map.get_mut("priority").filter(|value| value.is_number()) {
            *priority = Value::String(priority.to_string());
        }
        let mut text = |name: &str| match map.shift_remove(name) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(Refusal::input(format!(
                "{name} is {other}, which is no text"
            ))),
            None => Ok(None),
        };
        let from = text("from_agent")?.map(|name| name.parse::<AgentName>());
        let lease = text("lease_token")?.map(|token| token.parse());
        let key = text("key")?.map(|key| key.parse());
        let wait = match map.shift_remove("wait_seconds") {
            Some(value) => Some(seconds(&value)?),
            None => None,
        };
        let thread: Option<ThreadId> = match map.get("thread") {
            Some(Value::String(id)) => Some(id.parse()?),
            _ => None,
        };
        let kept = thread.and_then(|thread| desk.leases.of(thread));
        Ok(Args {
            proof: Proof {
                lease: lease.transpose()?.or(kept),
                key: key.transpose()?,
                from: from.transpose()?,
            },
            map,
            thread,
            wait,
        })
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.map.shift_remove(name)
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.map.insert(name.to_owned(), value.into());
    }

    pub(super) fn request<O: Operation>(&self) -> Result<O, Refusal> {
        serde_json::from_value(Value::Object(self.map.clone())).map_err(|error| {
            // The operation's names for what the tools call otherwise.
            let said = error
                .to_string()
                .replace("field `thread`", "field `thread_id`");
            Refusal::from_carried(&said)
        })
    }

    pub(super) fn until(&self, otherwise: Duration) -> Instant {
        Instant::now() + self.wait.unwrap_or(otherwise)
    }
}

fn seconds(value: &Value) -> Result<Duration, Refusal> {
    let number = value.as_i64().ok_or_else(|| {
        Refusal::input(format!("wait_seconds is {value}, which is no whole number"))
    })?;
    let number = limit::in_range("wait_seconds", number, 0, i64::from(MOST_PATIENCE))?;
    Ok(Duration::from_secs(number.unsigned_abs()))
}

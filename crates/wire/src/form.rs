//! The Wire form of any message: what travels and what is exported. Total, and always valid.

use inbox_core::record::Millis;
use inbox_core::{Kind, Message, Priority, RefType, Status, Thread};
use serde_json::{Value, json};

use crate::rule::{LABEL, SUBJECT, is_address, is_blank, is_dotted};
use crate::types::WIRE_VERSION;
use crate::wire::validate;
use crate::word::Type;

/// The first and last millisecond that an RFC 3339 time can name and a timestamp can hold.
const TIMES: (i64, i64) = (-62_167_219_200_000, 253_402_207_199_999);

/// A time as text, held at the ends of the calendar.
pub(crate) fn rfc3339(time: Millis) -> String {
    Millis(time.0.clamp(TIMES.0, TIMES.1)).to_string()
}

/// The Wire form of a message. A payload that is a valid Wire is the form; any other message becomes an
/// `inbox` Wire. Its text is kept; what a Wire cannot carry (a NUL, an over-long label) is not.
pub fn form(message: &Message, thread: &Thread) -> Value {
    if message.payload_json.get("wire").is_some() && validate(&message.payload_json).is_empty() {
        return message.payload_json.clone();
    }
    let text = if is_blank(&message.body) {
        &message.summary
    } else {
        &message.body
    };
    json!({
        "wire": WIRE_VERSION,
        "type": Type::Inbox,
        "sender": message.from_agent,
        "ts": rfc3339(message.created_at),
        "payload": {
            "to_agent": to_agent(message, thread),
            "priority": priority(message.priority),
            "message_type": message_type(message, thread),
            "ref_task_id": ref_task_id(thread),
            "subject": subject(message, thread),
            "body": text.replace('\0', "\u{2400}"),
            "action_required": matches!(message.kind, Kind::Question | Kind::Task),
        },
    })
}

/// Wire knows three priorities: now, before the next task, and for information.
const fn priority(priority: Priority) -> u8 {
    match priority {
        Priority::Urgent => 1,
        Priority::High => 2,
        Priority::Normal | Priority::Low | Priority::Fyi => 3,
    }
}

/// The first address, or where the thread is; `system` when neither is an address.
fn to_agent(message: &Message, thread: &Thread) -> String {
    let first = message.to.first().map_or("", |address| address.as_str());
    [&message.to_agent, first, &thread.assigned_to]
        .into_iter()
        .map(str::to_ascii_lowercase)
        .find(|address| is_address(address))
        .unwrap_or_else(|| "system".to_owned())
}

fn message_type(message: &Message, thread: &Thread) -> String {
    let own = message.message_type.as_deref();
    if let Some(own) = own.filter(|word| is_dotted(word)) {
        return own.to_owned();
    }
    let word = match message.kind {
        Kind::Task => "task",
        Kind::Question => "question",
        Kind::Answer => "answer",
        // A result is written by `done` and by `fail`; only the first completes the task.
        Kind::Result if thread.status != Status::Failed => "task.complete",
        Kind::Result | Kind::Progress | Kind::Control => "status.update",
        Kind::Event => "info",
    };
    word.to_owned()
}

fn ref_task_id(thread: &Thread) -> Option<&str> {
    let about = thread
        .ref_id
        .as_deref()
        .filter(|_| thread.ref_type == Some(RefType::Task));
    [Some(thread.task_id.as_str()), about]
        .into_iter()
        .flatten()
        .find(|id| {
            !is_blank(id) && !id.chars().any(char::is_control) && id.chars().count() <= LABEL
        })
}

/// The first line that says something, cut to the length of a subject.
fn subject(message: &Message, thread: &Thread) -> String {
    [&thread.subject, &message.summary, &message.body]
        .into_iter()
        .map(|text| one_line(text))
        .find(|line| !is_blank(line))
        .unwrap_or_else(|| message.kind.name().to_owned())
}

fn one_line(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let line = text
        .lines()
        .find(|line| !is_blank(line))
        .unwrap_or_default();
    let line: String = line.trim().chars().map(clean).collect();
    if line.chars().count() <= SUBJECT {
        return line;
    }
    let mut cut: String = line.chars().take(SUBJECT - 1).collect();
    cut.push('…');
    cut
}

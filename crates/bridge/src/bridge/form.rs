//! How something stands on a topic, by what the topic is for.

use inbox_core::{Code, Refusal};
use inbox_hcs::{
    Data, Hrl, InboundMessage, MAX_MESSAGE, Message, Operation, OperatorId, OutboundMessage,
    TopicId, TransactionMemo,
};
use inbox_store::TopicPlace;
use serde_json::{Value, json};

/// The field that leads to the file of a Wire that is larger than a message.
pub(super) const FILE: &str = "x_file";

/// What a Wire can do without that is in its file.
const OPTIONAL: [&str; 4] = [
    "output_ref",
    "suggested_resolution",
    "cost_usd",
    "duration_seconds",
];

/// A message as it stands on a topic.
pub(super) struct Said {
    /// What stands there.
    pub(super) text: String,
    /// The memo of the transaction that writes it.
    pub(super) memo: String,
}

/// The text itself on such a topic; none where it does not fit, or would be read as what leads to a file.
pub(super) fn whole(place: TopicPlace, operator: OperatorId, text: &str) -> Option<Said> {
    match operation(place, operator, Data::new(text)) {
        Some(operation) => operated(&operation),
        None if leads_away(text) => None,
        None => Some(plain(text.to_owned())),
    }
}

/// Whether a note is nothing but the name of a file, or a worker's own Wire has the field that leads to one.
fn leads_away(text: &str) -> bool {
    let Some(said) = Data::new(text).value() else {
        return false;
    };
    let note = said["note"].as_str();
    note.is_some_and(|note| Data::new(note).file().is_some()) || said.get(FILE).is_some()
}

/// What leads to the file of a text on such a topic.
pub(super) fn pointer(
    place: TopicPlace,
    operator: OperatorId,
    said: &Value,
    file: TopicId,
) -> Result<Said, Refusal> {
    let found = match operation(place, operator, Data::reference(file)) {
        Some(operation) => operated(&operation),
        None => Some(plain(led(said, file))),
    };
    let found = found.filter(|said| said.text.len() <= MAX_MESSAGE);
    found.ok_or_else(|| {
        Refusal::new(
            Code::TooLarge,
            format!("what leads to the file {file} does not fit into a message"),
        )
    })
}

fn operated(operation: &Operation) -> Option<Said> {
    Some(Said {
        text: operation.write().ok()?,
        memo: TransactionMemo::of(operation).to_string(),
    })
}

fn plain(text: String) -> Said {
    Said {
        text,
        memo: String::new(),
    }
}

fn operation(place: TopicPlace, operator: OperatorId, data: Data) -> Option<Operation> {
    match place {
        TopicPlace::Inbound => Some(Operation::InboundMessage(InboundMessage {
            operator,
            data,
            written_at: None,
            memo: None,
        })),
        TopicPlace::Outbound => Some(Operation::OutboundMessage(OutboundMessage {
            operator,
            data,
            written_at: None,
            memo: None,
        })),
        TopicPlace::Connection => Some(Operation::Message(Message {
            operator,
            data,
            memo: None,
        })),
        TopicPlace::Entity | TopicPlace::Role => None,
    }
}

/// A note or a Wire that is in a file: the same with less text, good by itself for those who do not look there.
fn led(said: &Value, file: TopicId) -> String {
    let hrl = Hrl::file(file).to_string();
    let mut short = said.clone();
    let Some(fields) = short.as_object_mut() else {
        return hrl;
    };
    if !fields.contains_key("wire") {
        fields.insert("note".to_owned(), json!(hrl));
        let is_too_large = Value::Object(fields.clone()).to_string().len() > MAX_MESSAGE;
        if is_too_large && fields.contains_key("notify") {
            // Who is to hear of it stands in the file too.
            fields.insert("notify".to_owned(), json!([]));
        }
        return short.to_string();
    }
    // What its sender added is in the file.
    fields.retain(|key, _| !key.starts_with("x_") || ["x_uid", "x_status"].contains(&key.as_str()));
    fields.insert(FILE.to_owned(), json!(hrl));
    let mut text = String::new();
    // A letter takes up to six bytes.
    for most in [200, 80, 20] {
        shorten(&mut short, most);
        text = short.to_string();
        if text.len() <= MAX_MESSAGE {
            break;
        }
    }
    text
}

/// Cuts the texts of a Wire, and leaves out what it can do without.
fn shorten(wire: &mut Value, most: usize) {
    let Some(payload) = wire.get_mut("payload").and_then(Value::as_object_mut) else {
        return;
    };
    for key in ["summary", "reason", "task_id"] {
        if let Some(Value::String(text)) = payload.get_mut(key) {
            cut(text, most);
        }
    }
    payload.retain(|key, _| !OPTIONAL.contains(&key.as_str()) && !key.starts_with("x_"));
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_a_file_fits_into_a_message_whatever_is_in_it() {
        let file: TopicId = "0.0.1234567890".parse().unwrap();
        for hard in ["\u{1}", "\"\\", "\u{1f980}", "words and "] {
            let text = hard.repeat(3_000);
            let name = "n".repeat(64);
            let wire = json!({
                "wire": "1.0", "type": "complete", "sender": name, "ts": "2027-01-15T08:00:00.000Z",
                "payload": { "task_id": text, "agent": name, "output_ref": text, "summary": text,
                    "cost_usd": 0.5, "verification": { "mechanical": "pass", "semantic": "skipped", "attempts": 1 },
                    "x_more": text },
                "x_uid": "0190c0de-0000-7000-8000-000000000001", "x_status": "failed", "x_more": text,
            });
            let short: Value = serde_json::from_str(&led(&wire, file)).unwrap();
            assert!(short.to_string().len() <= MAX_MESSAGE, "{hard:?}");
            assert_eq!(short["x_file"], "hcs://1/0.0.1234567890");
            assert_eq!(short["x_uid"], wire["x_uid"]);
            let note = json!({
                "type": "project.note", "from_agent": name, "note": text, "notify": vec![name.clone(); 64],
                "ts": "2027-01-15T08:00:00.000Z", "x_uid": "0190c0de-0000-7000-8000-000000000001",
            });
            let short: Value = serde_json::from_str(&led(&note, file)).unwrap();
            assert!(short.to_string().len() <= MAX_MESSAGE);
            assert_eq!(short["note"], "hcs://1/0.0.1234567890");
        }
    }
}

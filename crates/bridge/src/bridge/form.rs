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

/// How many bytes a pointer leaves of a text, and of a name.
const WORDS: usize = 200;
const NAME: usize = 120;

/// A message as it stands on a topic.
pub(super) struct Said {
    /// What stands there.
    pub(super) text: String,
    /// The memo of the transaction that writes it.
    pub(super) memo: String,
}

/// The text itself on such a topic; none where it does not fit.
pub(super) fn whole(place: TopicPlace, operator: OperatorId, text: &str) -> Option<Said> {
    match operation(place, operator, Data::new(text)) {
        Some(operation) => operated(&operation),
        None => Some(plain(text.to_owned())),
    }
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
    if let Some(payload) = fields.get_mut("payload").and_then(Value::as_object_mut) {
        for (key, most) in [("summary", WORDS), ("reason", WORDS), ("task_id", NAME)] {
            if let Some(Value::String(text)) = payload.get_mut(key) {
                cut(text, most);
            }
        }
        payload.retain(|key, _| !["output_ref", "suggested_resolution"].contains(&key.as_str()));
    }
    // What its sender added is in the file.
    fields.retain(|key, _| !key.starts_with("x_") || ["x_uid", "x_status"].contains(&key.as_str()));
    fields.insert(FILE.to_owned(), json!(hrl));
    short.to_string()
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

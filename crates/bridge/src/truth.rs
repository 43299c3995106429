//! What a message on a topic is, for whoever checks the store: by its bytes and its payer alone, and not by what the store made of it.

use inbox_core::{Code, Refusal};
use inbox_hcs::{AccountId, Data, Envelope, Operation, Place, read};
use inbox_hedera::mirror::Mirror;
use inbox_store::TopicPlace;
use serde_json::Value;

use crate::file;

/// What a message on a topic is.
#[derive(Debug, Clone, PartialEq)]
pub enum Truth {
    /// Mail of an inbox, from who paid for it.
    Mail {
        /// Its UUID.
        uid: String,
        /// Its Wire.
        wire: Value,
    },
    /// What a party of a connection says: the text, or what stands for it in an envelope.
    Spoken(Vec<String>),
    /// A note on an entity.
    Note {
        /// Its UUID, where it has one.
        uid: Option<String>,
        /// All of it.
        note: Value,
        /// What it says, from its file if it is in one.
        text: String,
    },
    /// A step of the work on an entity, as a Wire.
    Step(Value),
    /// What leads to a message, and is not it.
    Pointer {
        /// The message's UUID.
        uid: String,
        /// Who sent it.
        sender: String,
    },
    /// It names another than who paid for it, and why that is seen.
    Forged(String),
    /// It is something else.
    Other,
}

/// What a message on a topic of this place is.
pub fn truth(
    mirror: &Mirror,
    place: TopicPlace,
    bytes: &[u8],
    payer: AccountId,
) -> Result<Truth, Refusal> {
    match place {
        TopicPlace::Entity => return entity(mirror, bytes),
        TopicPlace::Role => return Ok(pointer(bytes)),
        TopicPlace::Inbound | TopicPlace::Outbound | TopicPlace::Connection => {}
    }
    let Some((operator, said)) = data(place, bytes) else {
        return Ok(Truth::Other);
    };
    if operator != payer {
        return Ok(Truth::Forged(format!(
            "it names {operator}, and {payer} paid for it"
        )));
    }
    let Some(text) = text(mirror, &said)? else {
        return Ok(Truth::Other);
    };
    if place == TopicPlace::Connection {
        // Whatever UUID it names, it is another's word.
        let subject = Envelope::read(&said)
            .ok()
            .map(|(envelope, _)| envelope.subject);
        let texts = std::iter::once(text).chain(subject);
        return Ok(Truth::Spoken(texts.collect()));
    }
    let Ok(wire) = serde_json::from_str::<Value>(&text) else {
        return Ok(Truth::Other);
    };
    let uid = word(&wire, "x_uid");
    Ok(uid.map_or(Truth::Other, |uid| Truth::Mail { uid, wire }))
}

fn word(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn entity(mirror: &Mirror, bytes: &[u8]) -> Result<Truth, Refusal> {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
        return Ok(Truth::Other);
    };
    if value.get("wire").is_some() {
        let whole = match word(&value, "x_file") {
            None => Some(value),
            Some(led) => {
                let text = text(mirror, &Data::new(led))?;
                text.and_then(|text| serde_json::from_str(&text).ok())
            }
        };
        return Ok(whole.map_or(Truth::Other, Truth::Step));
    }
    let Some(note) = word(&value, "note") else {
        return Ok(Truth::Other);
    };
    let data = Data::new(note);
    let mut text = text(mirror, &data)?.unwrap_or_default();
    // A file has all of the note, or its text alone.
    if data.file().is_some()
        && let Ok(whole) = serde_json::from_str::<Value>(&text)
        && let Some(inner) = word(&whole, "note")
    {
        text = inner;
    }
    Ok(Truth::Note {
        uid: word(&value, "x_uid"),
        text,
        note: value,
    })
}

fn pointer(bytes: &[u8]) -> Truth {
    let wire: Value = serde_json::from_slice(bytes).unwrap_or_default();
    match (word(&wire, "x_uid"), word(&wire, "sender")) {
        (Some(uid), Some(sender)) => Truth::Pointer { uid, sender },
        _ => Truth::Other,
    }
}

/// Who says what, if it is a message after HCS-10.
pub(crate) fn data(place: TopicPlace, bytes: &[u8]) -> Option<(AccountId, Data)> {
    let place = match place {
        TopicPlace::Inbound => Place::Inbound,
        TopicPlace::Connection => Place::Connection,
        TopicPlace::Outbound => Place::Outbound,
        TopicPlace::Entity | TopicPlace::Role => return None,
    };
    match read(bytes, place).ok()?.0 {
        Operation::InboundMessage(said) => Some((said.operator.account, said.data)),
        Operation::OutboundMessage(said) => Some((said.operator.account, said.data)),
        Operation::Message(said) => Some((said.operator.account, said.data)),
        _ => None,
    }
}

/// What a message says, from its file if it names one. Nothing if that is broken; who cannot be asked is an error.
pub(crate) fn text(mirror: &Mirror, data: &Data) -> Result<Option<String>, Refusal> {
    let Some(topic) = data.file() else {
        return Ok(Some(data.as_str().to_owned()));
    };
    match file::get(mirror, topic) {
        Ok(found) => Ok(String::from_utf8(found.content).ok()),
        Err(refusal) if refusal.code == Code::Ledger => Err(refusal),
        Err(_) => Ok(None),
    }
}

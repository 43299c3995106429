//! What a message on a topic is, for whoever checks the store: by its bytes and its payer alone, and not by what the store made of it.

use inbox_core::{Code, Refusal};
use inbox_hcs::{AccountId, Data, Operation, Place, read};
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
    let Ok(wire) = serde_json::from_str::<Value>(&text) else {
        return Ok(Truth::Other);
    };
    let uid = wire.get("x_uid").and_then(Value::as_str).map(str::to_owned);
    Ok(uid.map_or(Truth::Other, |uid| Truth::Mail { uid, wire }))
}

/// Who says what, if it is a message after HCS-10.
pub(crate) fn data(place: TopicPlace, bytes: &[u8]) -> Option<(AccountId, Data)> {
    let place = match place {
        TopicPlace::Inbound => Place::Inbound,
        TopicPlace::Connection => Place::Connection,
        TopicPlace::Outbound | TopicPlace::Entity | TopicPlace::Role => return None,
    };
    match read(bytes, place).ok()?.0 {
        Operation::InboundMessage(said) => Some((said.operator.account, said.data)),
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

//! What is found on the topics becomes part of the store.

use inbox_core::lifecycle::Command;
use inbox_core::record::Millis;
use inbox_core::text::quoted;
use inbox_core::{
    Address, AgentName, Auth, Code, Entity, Kind, Label, Message, Priority, RefType, Refusal, limit,
};
use inbox_store::{
    Abort, LedgerRecord, NewMessage, NewThread, RecordState, TopicPlace, TopicRow, Tx,
};
use serde_json::Value;

use super::step::step;
use super::{KIND, PRIORITY, REF_ID, REF_TYPE, THREAD, UID, extra, follow_entity};
use crate::call::Inbox;
use crate::step::thread;
use crate::{content, deliver, exchange, typed};

impl Inbox {
    pub(super) fn hear(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        record: &mut LedgerRecord,
        from: &AgentName,
        wire: &Value,
    ) -> Result<(), Abort> {
        let uid = uuid(wire)?;
        record.uid = Some(uid.clone());
        let Some(id) = tx.message_by_uid(&uid)? else {
            self.materialise(tx, topic, from, wire, &uid)?;
            record.state = RecordState::Taken;
            return Ok(());
        };
        let found = tx.load_message(id)?;
        let Some((_, message)) = found.filter(|(_, message)| message.from_agent == *from) else {
            record.state = RecordState::Unverified;
            record.reason = Some(format!("the message {uid} is another's"));
            return Ok(());
        };
        confirm(tx, topic, record, &message)
    }

    /// Makes a message of what came from elsewhere.
    fn materialise(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        from: &AgentName,
        wire: &Value,
        uid: &str,
    ) -> Result<(), Abort> {
        let payload = &wire["payload"];
        let kind = match wire.get(KIND).and_then(Value::as_str) {
            Some(word) => word.parse()?,
            None => Kind::Event,
        };
        let subject = ["subject", "goal", "summary"]
            .into_iter()
            .find_map(|key| payload[key].as_str())
            .unwrap_or("from the ledger");
        let subject: String = subject.chars().take(limit::SUBJECT).collect();
        let mut message = NewMessage::saying(kind, subject.as_str(), Auth::Ledger);
        if wire["type"] == "inbox" {
            message.body = String::from(payload["body"].as_str().unwrap_or_default());
            message.message_type = payload["message_type"].as_str().map(str::to_owned);
        } else {
            message.payload_json = wire.clone();
            typed::wire(&message.payload_json)?;
        }
        extra::take(wire, &mut message);
        message.uid = Some(uid.to_owned());
        message.created_at = time(wire);
        must_fit(&message)?;
        message.to = vec![Address::from_stored(&topic.name)?];
        deliver::address(tx, self.config(), &mut message, None)?;
        let priority = match wire.get(PRIORITY) {
            Some(word) => word.as_str().unwrap_or_default().parse()?,
            None => Priority::Normal,
        };
        let entity = match (wire.get(REF_TYPE), wire.get(REF_ID)) {
            (Some(sort), Some(id)) => {
                let ref_type: RefType = sort.as_str().unwrap_or_default().parse()?;
                let ref_id: Label = id.as_str().unwrap_or_default().parse()?;
                let entity = Entity { ref_type, ref_id };
                follow_entity(tx, self.config(), &entity)?;
                Some(entity.parts())
            }
            _ => None,
        };
        tx.ensure_agent(from)?;
        if let Some(opening) = wire.get(THREAD).and_then(Value::as_str)
            && let Some(first) = tx.message_by_uid(opening)?
            && let Some((_, first)) = tx.load_message(first)?
        {
            let row = thread(tx, first.thread_id)?;
            step(tx, row, from, Command::Append(kind), Some(message))?;
            return Ok(());
        }
        let new = NewThread {
            subject,
            priority,
            run: None,
            task: None,
            entity,
            own: None,
        };
        tx.open_thread(from, None, new, message)?;
        Ok(())
    }
}

/// Takes out of the outbox the message that a topic has, and says so in its thread.
pub(super) fn confirm(
    tx: &mut Tx<'_>,
    topic: &TopicRow,
    record: &mut LedgerRecord,
    message: &Message,
) -> Result<(), Abort> {
    let row = thread(tx, message.thread_id)?;
    if !tx.said(topic.topic_no, &row, message)? {
        record.state = RecordState::Repeated;
        return Ok(());
    }
    record.state = RecordState::Confirmed;
    // A pointer leads to a message and is not it.
    if topic.place == TopicPlace::Role {
        return Ok(());
    }
    let system = AgentName::system();
    step(tx, row, &system, Command::Confirm, None)?;
    Ok(())
}

/// Finds the message that its sender has put down on its own topic, or pointed to on a role's. What another store sent is that one's.
pub(super) fn put_down(
    tx: &mut Tx<'_>,
    topic: &TopicRow,
    record: &mut LedgerRecord,
    from: &AgentName,
    wire: &Value,
) -> Result<(), Abort> {
    let uid = uuid(wire)?;
    record.uid = Some(uid.clone());
    match tx.message_of_uid(&uid)? {
        None => {
            record.state = RecordState::Passed;
            record.reason = Some("it was not sent from here".to_owned());
        }
        Some(message) if message.from_agent != *from => {
            record.state = RecordState::Unverified;
            record.reason = Some(format!("the message {uid} is another's"));
        }
        Some(message) => confirm(tx, topic, record, &message)?,
    }
    Ok(())
}

/// The UUID of what a Wire is. Views and indexes stand on it being one, whoever wrote it.
fn uuid(wire: &Value) -> Result<String, Refusal> {
    let Some(text) = wire.get(UID).and_then(Value::as_str) else {
        return Err(Refusal::new(
            Code::InvalidWire,
            format!("the Wire has no {UID}"),
        ));
    };
    let uid = exchange::own_uid("", text);
    if uid != text.to_ascii_lowercase() {
        let text = quoted(text);
        return Err(Refusal::new(
            Code::InvalidWire,
            format!("the Wire's {UID} is {text}, which is no UUID"),
        ));
    }
    Ok(uid)
}

/// What came from elsewhere keeps to what is kept here: what is larger or deeper could be written and not be read again.
fn must_fit(message: &NewMessage) -> Result<(), Refusal> {
    limit::bytes("the body", &message.body, limit::BODY)?;
    if let Some(word) = &message.message_type {
        limit::bytes("the message type", word, limit::LABEL)?;
    }
    content::json_size("the payload", &message.payload_json)?;
    content::json_size("the context", &message.context)
}

pub(super) fn time(wire: &Value) -> Option<Millis> {
    let text = wire.get("ts").and_then(Value::as_str)?;
    plausible(text.parse().ok()?)
}

/// A time that another gives, if a store's views can show it; otherwise it is as if none were given.
pub(super) fn plausible(time: Millis) -> Option<Millis> {
    /// The end of the year 9999.
    const LAST: i64 = 253_402_300_799_999;
    (0..=LAST).contains(&time.0).then_some(time)
}

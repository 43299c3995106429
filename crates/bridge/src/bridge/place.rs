//! What stands on topics beside agents' inbound ones: notes and steps on an entity's, pointers on a role's, what an agent puts down on its
//! own. Each counts when its payer is an agent of the roster, and the one that it names.

use inbox_core::{AgentName, Refusal};
use inbox_hcs::{Data, Note, Operation, Place, read};
use inbox_hedera::mirror::MessageFacts;
use inbox_ops::ledger::{Meaning, Noted};
use inbox_store::{RecordState, TopicRow};
use serde_json::Value;

use super::Bridge;
use super::form::FILE;

/// What was found, or why it means nothing.
type Found<T> = Result<T, Why>;
type Why = (RecordState, String);

impl Bridge<'_> {
    pub(super) fn on_entity(
        &self,
        bytes: &[u8],
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        let value = match json(bytes) {
            Ok(value) => value,
            Err(why) => return Ok(told(why)),
        };
        let is_wire = value.get("wire").is_some();
        let key = if is_wire { "sender" } else { "from_agent" };
        let found = if is_wire {
            self.named(&value, key, message)?
                .map(|from| (from, String::new(), Vec::new()))
        } else {
            match Note::read(bytes) {
                Ok((note, _)) => self
                    .named(&value, key, message)?
                    .map(|from| (from, note.note, note.notify)),
                Err(refused) => Err(nothing(RecordState::Unreadable, refused.to_string())),
            }
        };
        let (from, note, notify) = match found {
            Ok(found) => found,
            Err(why) => return Ok(told(why)),
        };
        if is_wire {
            return Ok(match self.whole(value)? {
                Ok(wire) if wire["sender"] == from.as_str() => Meaning::Stepped { from, wire },
                Ok(_) => told(unverified("its file is from somebody else")),
                Err(why) => told(why),
            });
        }
        let (text, notify) = match self.note(&value, note, notify)? {
            Ok(found) => found,
            Err(why) => return Ok(told(why)),
        };
        let word = |key: &str| value.get(key).and_then(Value::as_str);
        Ok(Meaning::Noted(Noted {
            from,
            event: word("type").unwrap_or_default().to_owned(),
            text,
            notify,
            priority: word("x_priority").and_then(|word| word.parse().ok()),
            written_at: word("ts").and_then(|time| time.parse().ok()),
            uid: word("x_uid").map(str::to_owned),
        }))
    }

    pub(super) fn on_role(&self, bytes: &[u8], message: &MessageFacts) -> Result<Meaning, Refusal> {
        let wire = match json(bytes) {
            Ok(wire) => wire,
            Err(why) => return Ok(told(why)),
        };
        let from = self.named(&wire, "sender", message)?;
        Ok(from.map_or_else(told, |from| Meaning::PutDown { from, wire }))
    }

    pub(super) fn on_outbound(
        &self,
        topic: &TopicRow,
        bytes: &[u8],
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        let operation = match read(bytes, Place::Outbound) {
            Ok((operation, _)) => operation,
            Err(refused) => return Ok(told(nothing(RecordState::Unreadable, refused.to_string()))),
        };
        let said = match operation {
            Operation::OutboundMessage(said) => said,
            other => return self.recorded(topic, other, message),
        };
        let (named, payer) = (said.operator.account, message.payer);
        if named != payer {
            return Ok(told(unverified(format!(
                "it names {named}, and {payer} paid for it"
            ))));
        }
        let owner = self.agent_of(payer)?;
        let Some((from, _)) = owner.filter(|(from, _)| from.as_str() == topic.name) else {
            let owner = &topic.name;
            return Ok(told(unverified(format!(
                "the topic is {owner}'s, and {payer} paid for it"
            ))));
        };
        let text = match self.text(&said.data)? {
            Ok(text) => text,
            Err(reason) => return Ok(told(nothing(RecordState::Unreadable, reason))),
        };
        let wire = match json(text.as_bytes()) {
            Ok(wire) => wire,
            Err(why) => return Ok(told(why)),
        };
        if wire["sender"] != from.as_str() {
            let sender = &wire["sender"];
            return Ok(told(unverified(format!(
                "its Wire is from {sender}, and {from} paid for it"
            ))));
        }
        Ok(Meaning::PutDown { from, wire })
    }

    /// The agent that something names, if it paid for it.
    fn named(
        &self,
        value: &Value,
        key: &str,
        message: &MessageFacts,
    ) -> Result<Found<AgentName>, Refusal> {
        let payer = message.payer;
        let Some((from, _)) = self.agent_of(payer)? else {
            let reason = format!("{payer} is nobody's account here");
            return Ok(Err(unverified(reason)));
        };
        let Some(named) = value.get(key).and_then(Value::as_str) else {
            let reason = format!("it has no {key}");
            return Ok(Err(nothing(RecordState::Unreadable, reason)));
        };
        if named != from.as_str() {
            let named: String = named.chars().take(64).collect();
            let reason = format!("it names {named:?}, and {from} paid for it");
            return Ok(Err(unverified(reason)));
        }
        Ok(Ok(from))
    }

    /// What a note says and who is to hear of it, from the file that it leads to if it leads to one.
    fn note(
        &self,
        value: &Value,
        text: String,
        notify: Vec<String>,
    ) -> Result<Found<(String, Vec<String>)>, Refusal> {
        let data = Data::new(text);
        if data.file().is_none() {
            return Ok(Ok((data.as_str().to_owned(), notify)));
        }
        let found = match self.text(&data)? {
            Ok(found) => found,
            Err(reason) => return Ok(Err(nothing(RecordState::Unreadable, reason))),
        };
        // Another's file may be the text alone.
        let Some(whole) = Data::new(found.clone()).value().filter(Value::is_object) else {
            return Ok(Ok((found, notify)));
        };
        if whole["from_agent"] != value["from_agent"] || whole["type"] != value["type"] {
            return Ok(Err(unverified("its file is another note")));
        }
        let text = whole["note"].as_str().unwrap_or_default().to_owned();
        let named = whole["notify"].as_array().into_iter().flatten();
        let named = named.filter_map(|name| name.as_str().map(str::to_owned));
        Ok(Ok((text, named.collect())))
    }

    /// A Wire, from the file that it leads to if it leads to one.
    fn whole(&self, wire: Value) -> Result<Found<Value>, Refusal> {
        let Some(led) = wire.get(FILE).and_then(Value::as_str) else {
            return Ok(Ok(wire));
        };
        let data = Data::new(led);
        if data.file().is_none() {
            let reason = format!("its {FILE} is no file");
            return Ok(Err(nothing(RecordState::Unreadable, reason)));
        }
        Ok(match self.text(&data)? {
            Ok(text) => json(text.as_bytes()),
            Err(reason) => Err(nothing(RecordState::Unreadable, reason)),
        })
    }
}

/// JSON that cannot be understood in two ways.
pub(super) fn json(bytes: &[u8]) -> Found<Value> {
    let text = String::from_utf8(bytes.to_vec());
    let value = text.ok().and_then(|text| Data::new(text).value());
    value.ok_or_else(|| nothing(RecordState::Unreadable, "it is no JSON"))
}

fn told((state, reason): Why) -> Meaning {
    Meaning::Nothing(state, reason)
}

fn nothing(state: RecordState, reason: impl Into<String>) -> Why {
    (state, reason.into())
}

fn unverified(reason: impl Into<String>) -> Why {
    nothing(RecordState::Unverified, reason)
}

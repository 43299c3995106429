//! What goes to the ledger, and what waits for it.

use inbox_core::{Agent, AgentName, Kind, Message, Mode, Priority, Thread};
use inbox_store::{Abort, NewMessage, Passage, TopicPlace, Tx};
use serde_json::{Value, json};

use super::{KIND, PRIORITY, REF_ID, REF_TYPE, THREAD, UID, extra};
use crate::config::Config;

/// Whether a message of this kind may wait for the ledger.
pub(crate) const fn may_wait(kind: Kind) -> bool {
    match kind {
        Kind::Task | Kind::Event | Kind::Question | Kind::Progress => true,
        Kind::Answer | Kind::Control | Kind::Result => false,
    }
}

/// Says where a message goes on the ledger, and whether it waits for that.
pub(crate) fn pass(
    tx: &mut Tx<'_>,
    config: &Config,
    sender: &AgentName,
    message: &mut NewMessage,
    priority: Priority,
    may_wait: bool,
) -> Result<(), Abort> {
    let Some(me) = member(tx, config, sender)? else {
        return Ok(());
    };
    let is_held = may_wait && self::may_wait(message.kind) && priority > Priority::High;
    // Who is one of many has no topic to hear it on: it is put down where its sender puts down what it does.
    let mut put_down = None;
    for (index, to) in message.to.iter().enumerate() {
        match to.mode() {
            Mode::Agent => {
                let Some(name) = to.bare_name().filter(|name| name != sender) else {
                    continue;
                };
                if let Some(topic) = account(tx, &name)? {
                    message.passages.push(Passage {
                        address: index,
                        place: TopicPlace::Inbound,
                        name: name.to_string(),
                        topic: Some(topic),
                        is_held,
                    });
                }
            }
            Mode::Role => {
                put_down.get_or_insert(index);
                let role = to.as_str().strip_prefix("role:");
                if let Some(role) = role.filter(|_| message.kind == Kind::Task) {
                    message.passages.push(Passage {
                        address: index,
                        place: TopicPlace::Role,
                        name: role.to_owned(),
                        topic: None,
                        is_held: false,
                    });
                }
            }
            Mode::Tag | Mode::Broadcast => {
                put_down.get_or_insert(index);
            }
            Mode::Session | Mode::Ledger | Mode::Entity => {}
        }
    }
    if let (Some(address), Some(topic)) = (put_down, me.outbound_topic_id) {
        message.passages.push(Passage {
            address,
            place: TopicPlace::Outbound,
            name: sender.to_string(),
            topic: Some(topic),
            is_held: false,
        });
    }
    Ok(())
}

/// The agent, if the ledger is behind the store and it has its place there: an account and a topic.
pub(super) fn member(
    tx: &mut Tx<'_>,
    config: &Config,
    name: &AgentName,
) -> Result<Option<Agent>, Abort> {
    if config.ledger.network.is_none() {
        return Ok(None);
    }
    let found = tx.agents(Some(name))?.into_iter().next();
    let found = found.map(|details| details.agent);
    Ok(found.filter(|agent| agent.account_id.is_some() && agent.inbound_topic_id.is_some()))
}

/// The inbound topic of an agent that has an account and a topic.
fn account(tx: &mut Tx<'_>, name: &AgentName) -> Result<Option<String>, Abort> {
    let found = tx.agents(Some(name))?.into_iter().next();
    Ok(found.and_then(|details| {
        let agent = details.agent;
        agent.account_id.and(agent.inbound_topic_id)
    }))
}

/// How many characters of a subject a pointer has: its largest letter takes six bytes in JSON, and all of it must fit into a message.
const POINTED: usize = 80;

/// What stands on a role's topic for a message: enough to know what it is, and its UUID.
pub(super) fn pointer(message: &Message, thread: &Thread, opening: &str) -> Value {
    let mut pointed = message.clone();
    pointed.payload_json = Value::Null;
    pointed.body.clear();
    let mut about = thread.clone();
    about.subject = thread.subject.chars().take(POINTED).collect();
    pointed.summary = message.summary.chars().take(POINTED).collect();
    pointed.message_type = message
        .message_type
        .clone()
        .filter(|word| word.len() <= POINTED);
    about.task_id.clear();
    about.ref_id = None;
    let mut wire = travelling(&pointed, &about, opening);
    if let Some(payload) = wire.get_mut("payload").and_then(Value::as_object_mut) {
        // The text itself is in the message.
        payload.insert("body".to_owned(), json!(""));
        if let Some(role) = message.to.iter().find(|to| to.mode() == Mode::Role) {
            payload.insert("to_agent".to_owned(), json!(role));
        }
    }
    if let Some(fields) = wire.as_object_mut() {
        fields.insert(THREAD.to_owned(), json!(opening));
    }
    wire
}

/// The Wire of a message as it travels: with its UUID, and what a Wire has no field for.
pub fn travelling(message: &Message, thread: &Thread, opening: &str) -> Value {
    let mut wire = inbox_wire::form(message, thread);
    let Some(fields) = wire.as_object_mut() else {
        return wire;
    };
    extra::add(fields, message, thread);
    fields.insert(UID.to_owned(), json!(message.uid));
    fields.insert(KIND.to_owned(), json!(message.kind));
    fields.insert(PRIORITY.to_owned(), json!(message.priority));
    if opening != message.uid {
        fields.insert(THREAD.to_owned(), json!(opening));
    }
    if let (Some(sort), Some(id)) = (thread.ref_type, &thread.ref_id) {
        fields.insert(REF_TYPE.to_owned(), json!(sort));
        fields.insert(REF_ID.to_owned(), json!(id));
    }
    wire
}

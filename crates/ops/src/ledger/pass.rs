//! What goes to the ledger, and what waits for it.

use inbox_core::{AgentName, Kind, Message, Mode, Priority, Thread};
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
    if config.ledger.network.is_none() || account(tx, sender)?.is_none() {
        return Ok(());
    }
    let is_held = may_wait && self::may_wait(message.kind) && priority > Priority::High;
    for (index, to) in message.to.iter().enumerate() {
        if to.mode() != Mode::Agent {
            continue;
        }
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
    Ok(())
}

/// The inbound topic of an agent that has an account and a topic.
fn account(tx: &mut Tx<'_>, name: &AgentName) -> Result<Option<String>, Abort> {
    let found = tx.agents(Some(name))?.into_iter().next();
    Ok(found.and_then(|details| {
        let agent = details.agent;
        agent.account_id.and(agent.inbound_topic_id)
    }))
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

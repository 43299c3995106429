//! What is said of an entity on its topic: notes, and the steps of work on it. Nothing waits for that.

use inbox_core::lifecycle::Command;
use inbox_core::record::Millis;
use inbox_core::{Agent, AgentName, Entity, Label, Message, Mode, RefType, Thread};
use inbox_store::{Abort, Recorded, Saying, TopicPlace, Tx};
use inbox_wire::{
    Blocked, BlockerType, Claim, Complete, Mechanical, Payload, Semantic, Verification, Wire,
};
use serde_json::{Value, json};

use super::pass::member;
use super::{PRIORITY, STATUS, UID};
use crate::config::Config;
use crate::note::Note;

/// The most words of what is said of a step.
const WORDS: usize = 150;

/// Has a note said on its entity's topic, in the form that the listeners of such topics know.
pub(crate) fn tell_note(
    tx: &mut Tx<'_>,
    config: &Config,
    agent: &AgentName,
    note: &Note,
    message: &Message,
) -> Result<(), Abort> {
    follow_entity(tx, config, &note.entity)?;
    if member(tx, config, agent)?.is_none() {
        return Ok(());
    }
    let Some((name, topic)) = place(tx, &note.entity)? else {
        return Ok(());
    };
    let mut notify: Vec<&str> = Vec::new();
    for address in &note.notify {
        if !notify.contains(&address.as_str()) {
            notify.push(address.as_str());
        }
    }
    let mut said = json!({
        "type": format!("{}.note", note.entity.ref_type),
        "from_agent": agent,
        "note": note.note,
        "notify": notify,
        "ts": message.created_at,
        UID: message.uid,
    });
    if let (Some(priority), Some(fields)) = (note.priority, said.as_object_mut()) {
        fields.insert(PRIORITY.to_owned(), json!(priority));
    }
    let saying = Saying {
        place: TopicPlace::Entity,
        name,
        topic,
        content: said.to_string(),
        uid: None,
    };
    Ok(tx.say(agent, &saying)?)
}

/// Has a step of the work on an entity said on its topic, where it is one that others must know of.
pub(crate) fn tell_step(
    tx: &mut Tx<'_>,
    config: &Config,
    agent: &AgentName,
    recorded: &Recorded,
    command: Command,
) -> Result<(), Abort> {
    let is_told = matches!(
        command,
        Command::Claim { .. } | Command::Finish | Command::Block | Command::Fail
    );
    let thread = &recorded.row.thread;
    let (Some(ref_type), Some(ref_id), true) = (thread.ref_type, &thread.ref_id, is_told) else {
        return Ok(());
    };
    let Some(me) = member(tx, config, agent)? else {
        return Ok(());
    };
    let Ok(ref_id) = ref_id.parse::<Label>() else {
        return Ok(());
    };
    let Some((name, topic)) = place(tx, &Entity { ref_type, ref_id })? else {
        return Ok(());
    };
    let Some(mut wire) = wire_of(&me, recorded, command, tx.now()) else {
        return Ok(());
    };
    let uid = tx.new_uid()?;
    if let Some(fields) = wire.as_object_mut() {
        fields.insert(UID.to_owned(), json!(uid));
        if command == Command::Fail {
            fields.insert(STATUS.to_owned(), json!("failed"));
        }
    }
    let saying = Saying {
        place: TopicPlace::Entity,
        name,
        topic,
        content: wire.to_string(),
        uid: Some(uid),
    };
    Ok(tx.say(agent, &saying)?)
}

/// Lets the topic be followed of an entity that is one: what others say of it there comes in.
pub(crate) fn follow_entity(
    tx: &mut Tx<'_>,
    config: &Config,
    entity: &Entity,
) -> Result<(), Abort> {
    if config.ledger.network.is_none() || !is_topic(entity.ref_id.as_str()) {
        return Ok(());
    }
    if let Some((name, topic)) = place(tx, entity)? {
        tx.ensure_topic(TopicPlace::Entity, &name, None, topic.as_deref())?;
    }
    Ok(())
}

/// The topic of an entity: its name, and its id where the entity is a topic itself. None where that topic is an agent's own: what is said
/// of a task has no place there.
pub(super) fn place(
    tx: &mut Tx<'_>,
    entity: &Entity,
) -> Result<Option<(String, Option<String>)>, Abort> {
    let id = entity.ref_id.as_str();
    if !is_topic(id) {
        return Ok(Some((entity.to_string(), None)));
    }
    if let Some(known) = tx.topic_of_id(id)? {
        let is_entity = known.place == TopicPlace::Entity;
        return Ok(is_entity.then(|| (known.name, Some(id.to_owned()))));
    }
    let is_its = |topic: &Option<String>| topic.as_deref() == Some(id);
    let is_somebodys = tx
        .agents(None)?
        .iter()
        .any(|it| is_its(&it.agent.inbound_topic_id) || is_its(&it.agent.outbound_topic_id));
    Ok((!is_somebodys).then(|| (entity.to_string(), Some(id.to_owned()))))
}

/// Whether an entity's id is that of a topic, as the ledger writes it.
fn is_topic(id: &str) -> bool {
    let number = id
        .strip_prefix("0.0.")
        .and_then(|text| text.parse::<u64>().ok());
    number.is_some_and(|number| number > 0 && id == format!("0.0.{number}"))
}

/// The Wire of a step: the worker's own, if it gave one, or one that says what is known.
fn wire_of(me: &Agent, recorded: &Recorded, command: Command, now: Millis) -> Option<Value> {
    let message = recorded.message.as_ref();
    let time = message.map_or(now, |message| message.created_at);
    let given = message.and_then(|message| {
        let wire = inbox_wire::parse(&message.payload_json).ok()?;
        let agent = match (command, wire.payload()) {
            (Command::Finish, Payload::Complete(complete)) => &complete.agent,
            (Command::Block | Command::Fail, Payload::Blocked(blocked)) => &blocked.agent,
            _ => return None,
        };
        (agent == me.agent_id.as_str() && *wire.sender() == me.agent_id).then(|| wire.into_json())
    });
    if given.is_some() {
        return given;
    }
    let write = |payload: &Payload| Wire::new(&me.agent_id, time, payload).ok();
    let payload = payload(me, &recorded.row.thread, message, command, true);
    // A text that no Wire may have is no reason to say nothing.
    let found = write(&payload).or_else(|| {
        let thread = &recorded.row.thread;
        write(&self::payload(me, thread, message, command, false))
    });
    found.map(Wire::into_json)
}

fn payload(
    me: &Agent,
    thread: &Thread,
    message: Option<&Message>,
    command: Command,
    has_words: bool,
) -> Payload {
    let agent = me.agent_id.to_string();
    let words = |otherwise: &str| {
        let said = message.filter(|_| has_words);
        let texts = said.map(|it| [&it.summary, &it.body]).into_iter().flatten();
        let text = texts.into_iter().find(|text| !text.trim().is_empty());
        text.map_or_else(|| otherwise.to_owned(), |text| first_words(text))
    };
    let task_id = task_id(thread);
    let attempts = u64::try_from(thread.attempts).unwrap_or(1).max(1);
    match command {
        Command::Finish => Payload::Complete(Complete {
            task_id,
            agent,
            output_ref: message.filter(|_| has_words).and_then(output),
            summary: words("done"),
            cost_usd: None,
            duration_seconds: None,
            verification: Verification {
                mechanical: Mechanical::Pass,
                semantic: Semantic::Skipped,
                attempts,
            },
        }),
        Command::Block | Command::Fail => Payload::Blocked(Blocked {
            task_id,
            agent,
            reason: words(if command == Command::Fail {
                "given up"
            } else {
                "blocked"
            }),
            // A question is asked where something can be read in more than one way.
            blocker_type: message.and_then(blocker).unwrap_or(BlockerType::Ambiguity),
            suggested_resolution: None,
            attempts,
        }),
        _ => Payload::Claim(Claim {
            task_id,
            role: role(me, thread),
            agent,
        }),
    }
}

fn task_id(thread: &Thread) -> String {
    let about = thread.ref_id.clone().unwrap_or_default();
    if thread.ref_type == Some(RefType::Task) || thread.task_id.trim().is_empty() {
        about
    } else {
        thread.task_id.clone()
    }
}

/// The role in which a thread is taken: the one that it was sent to, or one that the agent holds, or its own name.
fn role(me: &Agent, thread: &Thread) -> String {
    let sent = thread.to.iter().find(|to| to.mode() == Mode::Role);
    let sent = sent.and_then(|to| to.as_str().strip_prefix("role:"));
    let held = me.roles.first().map(String::as_str);
    sent.or(held).unwrap_or(me.agent_id.as_str()).to_owned()
}

fn output(message: &Message) -> Option<String> {
    let named = message.payload_json.get("output_ref");
    named.and_then(Value::as_str).map(str::to_owned)
}

fn blocker(message: &Message) -> Option<BlockerType> {
    let payload = &message.payload_json;
    let named = payload.pointer("/payload/blocker_type");
    let named = named.or_else(|| payload.get("blocker_type"))?;
    named.as_str()?.parse().ok()
}

fn first_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(WORDS + 1).collect();
    if words.len() > WORDS {
        words[..WORDS].join(" ")
    } else {
        text.trim().to_owned()
    }
}

//! What the store says to whoever compares it with the ledger.

use std::collections::HashMap;

use inbox_core::{
    Agent, AgentName, Auth, Code, Entity, Label, Message, MessageId, Mode, Refusal, Thread,
};
use inbox_store::{Abort, LedgerRecord, StoreError, Stuck, TopicBacklog, TopicPlace, TopicRow, Tx};
use serde_json::Value;

use super::tell::place;
use super::travelling;
use crate::call::Inbox;
use crate::note::thread_of;
use crate::step::thread;

/// How many messages are looked at in one transaction.
const AT_ONCE: i64 = 200;

/// The most records of one message: it is on one topic for each of its addresses, and on few others.
const MOST_RECORDS: i64 = 1_000;

/// A message as the store has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The message.
    pub message: Message,
    /// Its thread.
    pub thread: Thread,
    /// Whether it opened the thread.
    pub is_opening: bool,
    /// Its Wire as it travels.
    pub wire: Value,
}

/// A message that should be on a topic, and is on none.
#[derive(Debug, Clone, PartialEq)]
pub struct Stray {
    /// The message.
    pub kept: Kept,
    /// Where it should be; nothing when it says that it came from the ledger.
    pub topic: Option<TopicRow>,
}

impl Inbox {
    /// What was found on a topic after a message.
    pub fn records_after(
        &self,
        topic_no: i64,
        after: i64,
        most: i64,
    ) -> Result<Vec<LedgerRecord>, Refusal> {
        self.store()
            .read(|tx| Ok(tx.records(topic_no, after, most)?))
    }

    /// What was found of a message, topic by topic.
    pub fn records_of(&self, uid: &str) -> Result<Vec<(TopicRow, LedgerRecord)>, Refusal> {
        self.store()
            .read(|tx| Ok(tx.records_of(uid, MOST_RECORDS)?))
    }

    /// A message by its UUID.
    pub fn kept(&self, uid: &str) -> Result<Option<Kept>, Refusal> {
        self.store().read(|tx| match tx.message_by_uid(uid)? {
            Some(id) => kept(tx, id),
            None => Ok(None),
        })
    }

    /// A message by its id in this store.
    pub fn kept_as(&self, id: MessageId) -> Result<Kept, Refusal> {
        let found = self.store().read(|tx| kept(tx, id))?;
        found.ok_or_else(|| {
            Refusal::new(Code::MessageNotFound, format!("there is no message {id}"))
                .hint("inbox list shows the threads, inbox show THREAD its messages")
                .detail("message_id", id.to_string())
        })
    }

    /// Hands on every message that should be on a topic and is on none: what says that it came from there, and what one agent on the ledger
    /// wrote to another since both are, and does not wait for it.
    pub fn strays(&self, mut see: impl FnMut(Stray)) -> Result<(), Refusal> {
        let mut after = 0;
        loop {
            let (found, next) = self.store().read(|tx| came_from_nowhere(tx, after))?;
            found.into_iter().for_each(&mut see);
            match next {
                Some(next) => after = next,
                None => break,
            }
        }
        after = 0;
        loop {
            let (found, next) = self.store().read(|tx| went_nowhere(tx, after))?;
            found.into_iter().for_each(&mut see);
            match next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    /// Of which payers messages on a topic were counted and not kept, and how many; without a payer those for which the topic had no room.
    pub fn floods_of(&self, topic_no: i64) -> Result<Vec<(Option<String>, i64)>, Refusal> {
        self.store().read(|tx| Ok(tx.floods(topic_no)?))
    }

    /// Everybody on the roster who has an account and topics, with their cards.
    pub fn on_ledger(&self) -> Result<Vec<Agent>, Refusal> {
        self.store().read(|tx| {
            let all = tx.agents(None)?.into_iter().map(|details| details.agent);
            let there = all.filter(|agent| {
                let ids = [&agent.inbound_topic_id, &agent.outbound_topic_id];
                agent.account_id.is_some() && ids.iter().all(|id| id.is_some())
            });
            Ok(there.filter(|agent| agent.removed_at.is_none()).collect())
        })
    }

    /// Says what is wrong with an agent, where it hears.
    pub fn set_problem_of(&self, agent: &AgentName, problem: &str) -> Result<(), Refusal> {
        let written = self.store().write(|tx| {
            if let Some(row) = tx.topic(TopicPlace::Inbound, agent.as_str())? {
                tx.set_topic_problem(row.topic_no, problem)?;
            }
            Ok(())
        });
        written.map(drop)
    }

    /// Forgets everything of a ledger that is no more: accounts and topics on the roster, how far topics were read, what was found there, and
    /// what was on its way. The messages stay; what waited is said anew on the topics that come.
    pub fn begin_ledger_anew(&self) -> Result<(), Refusal> {
        let written = self.store().write(|tx| {
            for mut details in tx.agents(None)? {
                let agent = &mut details.agent;
                if agent.account_id.is_some() {
                    agent.account_id = None;
                    agent.inbound_topic_id = None;
                    agent.outbound_topic_id = None;
                    tx.set_agent(&details)?;
                }
            }
            Ok(tx.forget_ledger()?)
        });
        written.map(drop)
    }

    /// What waits to be said, topic by topic.
    pub fn backlogs(&self) -> Result<Vec<TopicBacklog>, Refusal> {
        self.store().read(|tx| Ok(tx.backlogs()?))
    }

    /// What was to be said and could not be, the oldest first.
    pub fn stuck(&self, most: i64) -> Result<Vec<Stuck>, Refusal> {
        self.store().read(|tx| Ok(tx.stuck(most)?))
    }
}

fn kept(tx: &mut Tx<'_>, id: MessageId) -> Result<Option<Kept>, Abort> {
    let Some((_, message)) = tx.load_message(id)? else {
        return Ok(None);
    };
    let row = thread(tx, message.thread_id)?;
    let first = tx.opening(message.thread_id)?;
    let is_opening = first == Some(message.message_id);
    let opening = match first {
        Some(first) if !is_opening => tx.load_message(first)?,
        _ => None,
    };
    let opening = opening.map_or_else(|| message.uid.clone(), |(_, first)| first.uid);
    Ok(Some(Kept {
        wire: travelling(&message, &row.thread, &opening),
        thread: row.thread,
        is_opening,
        message,
    }))
}

/// The same, without one that cannot be read: whoever looks for it by its record says so.
fn readable(tx: &mut Tx<'_>, id: MessageId) -> Result<Option<Kept>, Abort> {
    match kept(tx, id) {
        Err(Abort::Failed(StoreError::Unreadable(_))) => Ok(None),
        found => found,
    }
}

/// Messages that say that they came from the ledger, without a record of them; and where to go on.
fn came_from_nowhere(tx: &mut Tx<'_>, after: i64) -> Result<(Vec<Stray>, Option<i64>), Abort> {
    let page = tx.messages_by_auth(Auth::Ledger, after, AT_ONCE)?;
    let next = page.last().map(|(row, _)| *row);
    let mut found = Vec::new();
    for (_, id) in page {
        if let Some(kept) = readable(tx, id)?
            && !opens_connection(tx, &kept.message)?
            && tx.records_of(&kept.message.uid, 1)?.is_empty()
        {
            found.push(Stray { kept, topic: None });
        }
    }
    Ok((found, next))
}

/// Whether a message says that a connection is there, which no one record does, and the store follows its topic.
fn opens_connection(tx: &mut Tx<'_>, message: &Message) -> Result<bool, Abort> {
    if message.message_type.as_deref() != Some("connection.opened") {
        return Ok(false);
    }
    let topic = message.payload_json.get("connection_topic_id");
    let topic = topic.and_then(Value::as_str).unwrap_or_default();
    Ok(tx.topic(TopicPlace::Connection, topic)?.is_some())
}

/// Whether a topic that was there when a message was written has it not, and the message does not wait for it.
fn is_nowhere(tx: &mut Tx<'_>, topic: &TopicRow, kept: &Kept) -> Result<bool, Abort> {
    let message = &kept.message;
    if topic.topic.is_none()
        || !tx.was_there(topic.topic_no, message.created_at)?
        || tx.is_waiting(message.message_id, topic.topic_no)?
    {
        return Ok(false);
    }
    let records = tx.records_of(&message.uid, MOST_RECORDS)?;
    let mut records = records.iter();
    Ok(!records.any(|(row, _)| row.topic_no == topic.topic_no))
}

/// The entity on which a message is a note: by its sort, in the thread of the notes there.
fn noted_on(tx: &mut Tx<'_>, kept: &Kept) -> Result<Option<Entity>, Abort> {
    let (Some(ref_type), Some(ref_id)) = (kept.thread.ref_type, &kept.thread.ref_id) else {
        return Ok(None);
    };
    if kept.message.message_type != Some(format!("{ref_type}.note")) {
        return Ok(None);
    }
    let Ok(ref_id) = ref_id.parse::<Label>() else {
        return Ok(None);
    };
    let entity = Entity { ref_type, ref_id };
    let notes = thread_of(tx, &entity)?;
    let is_there = notes.is_some_and(|row| row.thread.thread_id == kept.thread.thread_id);
    Ok(is_there.then_some(entity))
}

/// Messages between agents on the ledger that are neither there nor on their way; and where to go on.
fn went_nowhere(tx: &mut Tx<'_>, after: i64) -> Result<(Vec<Stray>, Option<i64>), Abort> {
    let page = tx.messages_of_hearers(after, AT_ONCE)?;
    let next = page.last().map(|(row, _)| *row);
    // Who is on the ledger now, and hears on the topic that the store follows.
    let mut hearers = HashMap::new();
    for details in tx.agents(None)? {
        let agent = details.agent;
        if let (Some(_), Some(topic)) = (&agent.account_id, &agent.inbound_topic_id)
            && let Some(row) = tx.topic(TopicPlace::Inbound, agent.agent_id.as_str())?
            && row.topic.as_ref() == Some(topic)
        {
            hearers.insert(agent.agent_id, row);
        }
    }
    let mut found = Vec::new();
    for (_, id) in page {
        let Some(kept) = readable(tx, id)? else {
            continue;
        };
        let message = &kept.message;
        if message.auth == Auth::Ledger || !hearers.contains_key(&message.from_agent) {
            continue;
        }
        // A note stands on its entity's topic, whoever is told of it.
        if let Some(entity) = noted_on(tx, &kept)? {
            if let Some((name, _)) = place(tx, &entity)?
                && let Some(topic) = tx.topic(TopicPlace::Entity, &name)?
                && is_nowhere(tx, &topic, &kept)?
            {
                let topic = Some(topic);
                found.push(Stray { kept, topic });
            }
            continue;
        }
        for address in &message.to {
            let name = address
                .bare_name()
                .filter(|_| address.mode() == Mode::Agent);
            let Some(topic) = name
                .filter(|name| *name != message.from_agent)
                .and_then(|name| hearers.get(&name))
            else {
                continue;
            };
            if is_nowhere(tx, topic, &kept)? {
                found.push(Stray {
                    kept: kept.clone(),
                    topic: Some(topic.clone()),
                });
            }
        }
    }
    Ok((found, next))
}

//! The ledger behind the store: which messages go there, which wait for it, and what is found there.
//!
//! Mail between agents that both have an account goes to the recipient's inbound topic. What is not urgent is delivered when the topic has
//! it; urgent mail, answers and what changes a thread are delivered at once and confirmed later. What the topics hold comes back
//! through here, each message in one transaction with how far its topic was taken in.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Message, Refusal};
use inbox_store::{Backlog, LedgerRecord, Outgoing, RecordState, TopicPlace, TopicRow};
use serde_json::Value;

use crate::call::{Inbox, thread};

mod audit;
mod extra;
mod hear;
mod pass;

pub use audit::{Kept, Stray};
pub use pass::travelling;
pub(crate) use pass::{may_wait, pass};

/// What says more of a message than its Wire does, beside it.
const UID: &str = "x_uid";
const KIND: &str = "x_kind";
const PRIORITY: &str = "x_priority";
const THREAD: &str = "x_thread";
const REF_TYPE: &str = "x_ref_type";
const REF_ID: &str = "x_ref_id";

/// What a message on a topic means, after who paid for it was compared with whom it names.
#[derive(Debug, Clone, PartialEq)]
pub enum Meaning {
    /// An agent of the roster says this, as a Wire.
    Said {
        /// Who.
        from: AgentName,
        /// What.
        wire: Value,
    },
    /// It changes nothing here.
    Nothing(RecordState, String),
}

/// Something that is to be said, with all that it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaving {
    /// How far it has come.
    pub outgoing: Outgoing,
    /// The message.
    pub message: Message,
    /// Its Wire as it travels.
    pub wire: Value,
}

/// How the ledger stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What waits to be said.
    pub backlog: Backlog,
    /// The topics.
    pub topics: Vec<TopicRow>,
    /// How many messages were found, by what became of them.
    pub records: Vec<(RecordState, i64)>,
}

impl Inbox {
    /// The topics that a bridge may have: those of every agent that has one, and that no other bridge has.
    pub fn ledger_topics(&self, bridge: &str, for_ms: i64) -> Result<Vec<TopicRow>, Refusal> {
        let written = self.store().write(|tx| {
            for details in tx.agents(None)? {
                let agent = details.agent;
                if let (Some(_), Some(topic)) = (&agent.account_id, &agent.inbound_topic_id) {
                    let (place, name) = (TopicPlace::Inbound, &agent.agent_id);
                    tx.ensure_topic(place, name.as_str(), Some(name), Some(topic))?;
                }
            }
            let mut held = Vec::new();
            for topic in tx.topics(Some(bridge))? {
                if topic.topic.is_some() && tx.hold_topic(topic.topic_no, bridge, for_ms)? {
                    held.push(topic);
                }
            }
            Ok(held)
        })?;
        Ok(written.value)
    }

    /// Leaves every topic of a bridge to others.
    pub fn leave_topics(&self, bridge: &str) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.leave_topics(bridge)?))
            .map(drop)
    }

    /// The agent whose account this is.
    pub fn agent_of_account(&self, account: &str) -> Result<Option<(AgentName, String)>, Refusal> {
        self.store().read(|tx| {
            let found = tx.agents(None)?.into_iter().map(|details| details.agent);
            let mut found = found.filter(|agent| agent.account_id.as_deref() == Some(account));
            Ok(found
                .next()
                .and_then(|agent| Some((agent.agent_id, agent.inbound_topic_id?))))
        })
    }

    /// The store's clock.
    pub fn now(&self) -> Result<Millis, Refusal> {
        self.store().read(|tx| Ok(tx.now()))
    }

    /// What is to be said on a topic, the oldest first.
    pub fn leaving(&self, topic_no: i64, most: i64) -> Result<Vec<Leaving>, Refusal> {
        self.store().read(|tx| {
            let mut list = Vec::new();
            for outgoing in tx.outgoing(topic_no, most)? {
                let Some((_, message)) = tx.load_message(outgoing.message)? else {
                    continue;
                };
                let row = thread(tx, message.thread_id)?;
                let opening = match tx.opening(message.thread_id)? {
                    Some(first) if first != message.message_id => tx.load_message(first)?,
                    _ => None,
                };
                let opening = opening.map_or_else(|| message.uid.clone(), |(_, first)| first.uid);
                list.push(Leaving {
                    wire: travelling(&message, &row.thread, &opening),
                    outgoing,
                    message,
                });
            }
            Ok(list)
        })
    }

    /// Writes down how far something that is to be said has come.
    pub fn set_outgoing(&self, outgoing: &Outgoing, problem: Option<&str>) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.set_outgoing(outgoing, problem)?))
            .map(drop)
    }

    /// Says what is wrong with a topic.
    pub fn set_topic_problem(&self, topic_no: i64, problem: &str) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.set_topic_problem(topic_no, problem)?))
            .map(drop)
    }

    /// How the ledger stands.
    pub fn ledger_standing(&self) -> Result<Standing, Refusal> {
        self.store().read(|tx| {
            Ok(Standing {
                backlog: tx.backlog()?,
                topics: tx.topics(None)?,
                records: tx.count_records()?,
            })
        })
    }

    /// Takes in the next message of a topic, and goes on to this number, before which nothing is left to take in. `None` when another
    /// has gone on from there already.
    pub fn take_in_record(
        &self,
        topic: &TopicRow,
        to: i64,
        record: &LedgerRecord,
        meaning: &Meaning,
    ) -> Result<Option<RecordState>, Refusal> {
        let kept = self.store().write(|tx| {
            if !tx.advance_topic(topic, to, record)? {
                return Ok(None);
            }
            if tx.has_record(topic.topic_no, record.sequence)? {
                return Ok(Some(RecordState::Repeated));
            }
            let mut record = record.clone();
            match meaning {
                Meaning::Nothing(state, reason) => {
                    record.state = *state;
                    record.reason = Some(reason.clone());
                }
                Meaning::Said { from, wire } => self.hear(tx, topic, &mut record, from, wire)?,
            }
            tx.keep_record(topic.topic_no, &record)?;
            Ok(Some(record.state))
        });
        match kept {
            // What the rules refuse is kept with the reason, and does not hold up the rest.
            Err(refusal) if refusal.code.exit() != 50 => {
                let meaning = Meaning::Nothing(
                    RecordState::Unreadable,
                    format!("{} ({})", refusal.message, refusal.code),
                );
                self.take_in_record(topic, to, record, &meaning)
            }
            kept => kept.map(|written| written.value),
        }
    }
}

//! The ledger behind the store: which messages go there, which wait for it, and what is found there.
//!
//! Mail between agents that both have an account goes to the recipient's inbound topic. What is not urgent is delivered when the topic has
//! it; urgent mail, answers and what changes a thread are delivered at once and confirmed later. What the topics hold comes back
//! through here, each message in one transaction with how far its topic was taken in.

use inbox_core::lifecycle::{Command, decide};
use inbox_core::record::Millis;
use inbox_core::{
    Address, AgentName, Auth, Code, Kind, Label, Message, Mode, Priority, RefType, Refusal, Thread,
    limit,
};
use inbox_store::{
    Abort, Asking, Backlog, LedgerRecord, NewMessage, NewThread, Outgoing, Passage, RecordState,
    Step, TopicPlace, TopicRow, Tx,
};
use serde_json::{Value, json};

use crate::call::{Inbox, thread};
use crate::config::Config;
use crate::{deliver, typed};

/// What says more of a message than its Wire does, beside it.
const UID: &str = "x_uid";
const KIND: &str = "x_kind";
const PRIORITY: &str = "x_priority";
const THREAD: &str = "x_thread";
const REF_TYPE: &str = "x_ref_type";
const REF_ID: &str = "x_ref_id";

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
                agent: name,
                topic,
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
                    tx.ensure_topic(TopicPlace::Inbound, &agent.agent_id, topic)?;
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

    fn hear(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        record: &mut LedgerRecord,
        from: &AgentName,
        wire: &Value,
    ) -> Result<(), Abort> {
        let uid = text(wire, UID)?;
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
        let row = thread(tx, message.thread_id)?;
        if !tx.said(topic.topic_no, &row, &message)? {
            record.state = RecordState::Repeated;
            return Ok(());
        }
        record.state = RecordState::Confirmed;
        let bridge: AgentName = "system".parse()?;
        let asking = Asking {
            agent: Some(bridge.clone()),
            session: None,
            token: None,
            may_override: true,
        };
        let facts = tx.facts(&row, &asking)?;
        let step = Step {
            agent: &bridge,
            session: None,
            decision: decide(&facts, Command::Confirm, tx.now())?,
            lease_ms: None,
            message: None,
            turns: None,
        };
        tx.commit_step(row, step)?;
        Ok(())
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
        message.uid = Some(uid.to_owned());
        message.created_at = time(wire);
        message.to = vec![Address::from_stored(&topic.name)?];
        deliver::address(tx, self.config(), &mut message, None)?;
        let priority = match wire.get(PRIORITY) {
            Some(word) => word.as_str().unwrap_or_default().parse()?,
            None => Priority::Normal,
        };
        let entity = match (wire.get(REF_TYPE), wire.get(REF_ID)) {
            (Some(sort), Some(id)) => {
                let sort: RefType = sort.as_str().unwrap_or_default().parse()?;
                let id: Label = id.as_str().unwrap_or_default().parse()?;
                Some((sort, id.to_string()))
            }
            _ => None,
        };
        tx.ensure_agent(from)?;
        if let Some(opening) = wire.get(THREAD).and_then(Value::as_str)
            && let Some(first) = tx.message_by_uid(opening)?
            && let Some((_, first)) = tx.load_message(first)?
        {
            let row = thread(tx, first.thread_id)?;
            let asking = Asking {
                agent: Some(from.clone()),
                session: None,
                token: None,
                may_override: false,
            };
            let facts = tx.facts(&row, &asking)?;
            let step = Step {
                agent: from,
                session: None,
                decision: decide(&facts, Command::Append(kind), tx.now())?,
                lease_ms: None,
                message: Some(message),
                turns: None,
            };
            tx.commit_step(row, step)?;
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

fn text(wire: &Value, key: &str) -> Result<String, Refusal> {
    let found = wire.get(key).and_then(Value::as_str).map(str::to_owned);
    found.ok_or_else(|| Refusal::new(Code::InvalidWire, format!("the Wire has no {key}")))
}

fn time(wire: &Value) -> Option<Millis> {
    let text = wire.get("ts").and_then(Value::as_str)?;
    let time: jiff::Timestamp = text.parse().ok()?;
    Some(Millis(time.as_millisecond()))
}

//! The ledger behind the store: which messages go there, which wait for it, and what is found there.
//!
//! Mail between agents that both have an account goes to the recipient's inbound topic. What is not urgent is delivered when the topic has
//! it; urgent mail, answers and what changes a thread are delivered at once and confirmed later. Notes on an entity and the steps of work on it
//! go to the entity's topic, pointers to work for a role to the role's, and mail that has no one recipient to its sender's own: none
//! of that is waited for. What the topics hold comes back through here, each message in one transaction with how far its topic was taken in.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, Refusal};
use inbox_store::{
    Abort, Backlog, ConnectionRow, Cursor, FailPoint, LedgerRecord, Outgoing, ProposalRow,
    RecordState, TopicPlace, TopicRow, Tx,
};
use serde_json::Value;

use crate::call::Inbox;
use crate::step::thread;

mod answer;
mod audit;
mod check;
mod connect;
mod entity;
mod extra;
mod flood;
mod hear;
mod link;
mod pass;
mod proposal;
mod spoken;
mod step;
mod tell;
mod tend;
mod way;

pub(crate) use answer::answered;
pub use audit::{Kept, Stray};
pub use check::{Check, Named, Spot};
pub use connect::{Ending, Line};
pub use entity::Noted;
use flood::Flood;
pub use link::Link;
pub use pass::travelling;
pub(crate) use pass::{may_wait, pass};
pub use proposal::Seen;
pub(crate) use tell::{follow_entity, tell_note, tell_step};
pub use tend::Seat;
pub(crate) use way::over;

/// What says more of a message than its Wire does, beside it.
const UID: &str = "x_uid";
const KIND: &str = "x_kind";
const PRIORITY: &str = "x_priority";
const THREAD: &str = "x_thread";
const REF_TYPE: &str = "x_ref_type";
const REF_ID: &str = "x_ref_id";
const STATUS: &str = "x_status";

/// The most characters that are kept of why a message is no more than it is.
const MOST_REASON: usize = 2_000;

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
    /// It is about a connection.
    Link(Link),
    /// An agent of the roster says this on an entity's topic, as a note.
    Noted(Noted),
    /// An agent of the roster says by a Wire on an entity's topic what it did.
    Stepped {
        /// Who.
        from: AgentName,
        /// What.
        wire: Value,
    },
    /// An agent of the roster has put down what it sent, by its Wire or a pointer to it.
    PutDown {
        /// Who.
        from: AgentName,
        /// What.
        wire: Value,
    },
    /// It changes nothing here.
    Nothing(RecordState, String),
}

impl Meaning {
    /// Whether what comes after it on the topic means the same without it. What changes a connection is looked at by the next of it, which
    /// PostgreSQL shows only after the commit.
    pub fn is_plain(&self) -> bool {
        matches!(self, Meaning::Said { .. } | Meaning::Nothing(..))
    }

    /// Whether it names the message that an earlier one is, which must be in the store before it.
    pub fn follows(&self, earlier: &Meaning) -> bool {
        let (Meaning::Said { wire, .. }, Meaning::Said { wire: before, .. }) = (self, earlier)
        else {
            return false;
        };
        let is_named = |key: &str| {
            wire.get(key)
                .is_some_and(|uid| before.get(UID) == Some(uid))
        };
        is_named(UID) || is_named(THREAD)
    }
}

/// A message that was found on a topic, and what it means.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How far the topic is done with it: not to its end while a message before it is not whole.
    pub to: Cursor,
    /// The message.
    pub record: LedgerRecord,
    /// What it means.
    pub meaning: Meaning,
    /// Whether it stands before others that may have been judged: only when the rest of it did not come was it known what it is.
    pub is_late: bool,
}

/// Something that is to be said, with all that it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaving {
    /// How far it has come.
    pub outgoing: Outgoing,
    /// What is said: a message's Wire as it travels, or what stands in its place.
    pub wire: Value,
}

/// How the ledger stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What waits to be said.
    pub backlog: Backlog,
    /// The topics.
    pub topics: Vec<TopicRow>,
    /// How many messages were found and kept, by what became of them.
    pub records: Vec<(RecordState, i64)>,
    /// The connections with agents outside, and requests for them.
    pub connections: Vec<ConnectionRow>,
    /// What others want signed.
    pub proposals: Vec<ProposalRow>,
    /// How many more counted for nothing and were only counted, because their payers write too many or too many write.
    pub floods: i64,
}

impl Inbox {
    /// The share of a bridge in the topics of every agent that has one, and of what is said elsewhere: as many as there are for each bridge that
    /// is here. Some have to be made first.
    pub fn ledger_topics(&self, bridge: &str, for_ms: i64) -> Result<Vec<TopicRow>, Refusal> {
        let written = self.store().write(|tx| {
            for details in tx.agents(None)? {
                let agent = details.agent;
                if let (Some(_), Some(topic)) = (&agent.account_id, &agent.inbound_topic_id) {
                    let (place, name) = (TopicPlace::Inbound, &agent.agent_id);
                    tx.ensure_topic(place, name.as_str(), Some(name), Some(topic))?;
                    if let Some(topic) = &agent.outbound_topic_id {
                        let place = TopicPlace::Outbound;
                        tx.ensure_topic(place, name.as_str(), Some(name), Some(topic))?;
                    }
                }
            }
            Ok(tx.share_topics(bridge, for_ms)?)
        })?;
        Ok(written.value)
    }

    /// Keeps for a bridge what it has, for a while.
    pub fn renew_topics(&self, bridge: &str, for_ms: i64) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.renew_topics(bridge, for_ms)?))
            .map(drop)
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
            let found = tx.agent_of_account(account)?;
            Ok(found.and_then(|(name, inbound)| Some((name, inbound?))))
        })
    }

    /// The store's clock.
    pub fn now(&self) -> Result<Millis, Refusal> {
        self.store().read(|tx| Ok(tx.now()))
    }

    /// What is to be said on a topic, the oldest first; so many of each sender.
    pub fn leaving(&self, topic_no: i64, most: i64) -> Result<Vec<Leaving>, Refusal> {
        self.store().read(|tx| {
            let mut list = Vec::new();
            for outgoing in tx.outgoing(topic_no, most)? {
                if let Some(content) = &outgoing.content {
                    let wire = match outgoing.place {
                        // To those outside a text is a text.
                        TopicPlace::Connection => Value::String(content.clone()),
                        _ => serde_json::from_str(content).map_err(unreadable)?,
                    };
                    list.push(Leaving { outgoing, wire });
                    continue;
                }
                let Some((_, message)) = tx.load_message(outgoing.message)? else {
                    continue;
                };
                let row = thread(tx, message.thread_id)?;
                let opening = match tx.opening(message.thread_id)? {
                    Some(first) if first != message.message_id => tx.load_message(first)?,
                    _ => None,
                };
                let opening = opening.map_or_else(|| message.uid.clone(), |(_, first)| first.uid);
                let wire = match outgoing.place {
                    TopicPlace::Role => pass::pointer(&message, &row.thread, &opening),
                    _ => travelling(&message, &row.thread, &opening),
                };
                list.push(Leaving { outgoing, wire });
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

    /// Goes on with what is to be said, from where it was. Not when the bridge has its topic no more, or another was there first.
    pub fn move_outgoing(
        &self,
        from: &Outgoing,
        to: &Outgoing,
        bridge: &str,
    ) -> Result<bool, Refusal> {
        let written = self
            .store()
            .write(|tx| Ok(tx.move_outgoing(from, to, bridge)?))?;
        Ok(written.value)
    }

    /// Leaves what cannot be said now for later.
    pub fn delay_outgoing(
        &self,
        outgoing: &Outgoing,
        next_at: Millis,
        problem: &str,
    ) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.delay_outgoing(outgoing, next_at, problem)?))
            .map(drop)
    }

    /// Writes down the transaction that makes a topic, in the place of the one before. Whether that one was still there.
    /// Not when the bridge has it no more.
    pub fn begin_topic(
        &self,
        topic: &TopicRow,
        step_id: Option<&str>,
        bridge: &str,
    ) -> Result<bool, Refusal> {
        let written = self
            .store()
            .write(|tx| Ok(tx.begin_topic(topic, step_id, bridge)?))?;
        Ok(written.value)
    }

    /// Writes down that a topic is there.
    pub fn made_topic(&self, topic_no: i64, topic: &str) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.made_topic(topic_no, topic)?))
            .map(drop)
    }

    /// Writes down under which id something is about to be said, where it was `before`. Not when the bridge has its topic no more, or
    /// another was there first.
    pub fn begin_outgoing(
        &self,
        outgoing: &Outgoing,
        before: Option<&str>,
        bridge: &str,
    ) -> Result<bool, Refusal> {
        let mut from = outgoing.clone();
        from.step_id = before.map(str::to_owned);
        self.move_outgoing(&from, outgoing, bridge)
    }

    /// When the first of what a bridge has to say may be tried, in milliseconds from now.
    pub fn next_outgoing(&self, bridge: &str) -> Result<Option<i64>, Refusal> {
        self.store().read(|tx| {
            let now = tx.now().0;
            Ok(tx.next_outgoing(bridge)?.map(|at| (at - now).max(0)))
        })
    }

    /// On which topics there is something to say now, of those that a bridge has or that nobody has, and whether it has them.
    pub fn due_topics(&self, bridge: &str) -> Result<Vec<(i64, bool)>, Refusal> {
        self.store().read(|tx| Ok(tx.due_topics(bridge)?))
    }

    /// Says what is wrong with a topic.
    pub fn set_topic_problem(&self, topic_no: i64, problem: &str) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.set_topic_problem(topic_no, problem)?))
            .map(drop)
    }

    /// Says that nothing is wrong with a topic any more.
    pub fn clear_topic_problem(&self, topic_no: i64) -> Result<(), Refusal> {
        self.store()
            .write(|tx| Ok(tx.clear_topic_problem(topic_no)?))
            .map(drop)
    }

    /// How the ledger stands.
    pub fn ledger_standing(&self) -> Result<Standing, Refusal> {
        self.store().read(|tx| {
            // By whose they are: which was made first is nobody's concern.
            let mut topics = tx.topics(None)?;
            topics.sort_by(|a, b| (&a.name, a.place.name()).cmp(&(&b.name, b.place.name())));
            Ok(Standing {
                backlog: tx.backlog()?,
                topics,
                records: tx.count_records()?,
                connections: tx.connections()?,
                proposals: tx.proposals()?,
                floods: tx.count_floods()?,
            })
        })
    }

    /// Takes in messages of a topic, each with how far the topic is done with it, and goes on to there, where nothing is left to take in.
    /// All of them are one transaction; if one is refused, each is one. What became of the last one; `None` when another has gone on
    /// already from where the topic stood.
    pub fn take_in_found(
        &self,
        topic: &TopicRow,
        to: &Cursor,
        findings: &[Finding],
    ) -> Result<Option<i64>, Refusal> {
        self.store().reach(FailPoint::BridgeBeforeTaking);
        let numbers = findings.iter().map(|finding| finding.record.sequence);
        let taken = numbers.fold(topic.taken, i64::max);
        let kept = self.store().write(|tx| {
            if !tx.advance_topic(topic, to, taken)? {
                return Ok(None);
            }
            self.keep(tx, topic, findings)?;
            self.store().reach(FailPoint::BridgeBeforeCommit);
            Ok(Some(taken))
        });
        match kept {
            Ok(written) => {
                self.store().reach(FailPoint::BridgeAfterCommit);
                Ok(written.value)
            }
            Err(refusal) if refusal.code.exit() == 50 => Err(refusal),
            // What the rules refuse is kept with the reason, and does not hold up the rest.
            Err(refusal) => match findings {
                [] => Err(refusal),
                // What cannot be kept even so is no message's fault.
                [one] if matches!(one.meaning, Meaning::Nothing(..)) => Err(refusal),
                [one] => {
                    let why = format!("{} ({})", refusal.message, refusal.code);
                    let meaning = Meaning::Nothing(RecordState::Unreadable, why);
                    let one = Finding {
                        meaning,
                        ..one.clone()
                    };
                    self.take_in_found(topic, to, &[one])
                }
                many => self.take_in_each(topic, to, many),
            },
        }
    }

    fn take_in_each(
        &self,
        topic: &TopicRow,
        to: &Cursor,
        findings: &[Finding],
    ) -> Result<Option<i64>, Refusal> {
        let mut topic = topic.clone();
        for (index, finding) in findings.iter().enumerate() {
            let to = if index + 1 == findings.len() {
                to
            } else {
                &finding.to
            };
            let one = std::slice::from_ref(finding);
            let Some(taken) = self.take_in_found(&topic, to, one)? else {
                return Ok(None);
            };
            topic.sequence = to.sequence;
            topic.taken = taken;
        }
        Ok(Some(topic.taken))
    }

    /// Keeps what was found, and does what it means. What counts for nothing is kept up to a number for each payer and
    /// for the topic.
    fn keep(&self, tx: &mut Tx<'_>, topic: &TopicRow, findings: &[Finding]) -> Result<(), Abort> {
        let mut flood = Flood::on(topic);
        for (
            index,
            Finding {
                record,
                meaning,
                is_late,
                ..
            },
        ) in findings.iter().enumerate()
        {
            if index > 0 {
                self.store().reach(FailPoint::BridgeMidst);
            }
            // An unfinished message before it made the topic be read again.
            if record.sequence <= topic.taken && !is_late {
                continue;
            }
            let mut record = record.clone();
            match meaning {
                Meaning::Nothing(state, reason) => {
                    record.state = *state;
                    record.reason = Some(reason.clone());
                }
                Meaning::Link(link) => self.link(tx, topic, &mut record, link)?,
                Meaning::Said { from, wire } => self.hear(tx, topic, &mut record, from, wire)?,
                Meaning::Noted(noted) => self.hear_note(tx, topic, &mut record, noted)?,
                Meaning::Stepped { from, wire } => {
                    self.hear_step(tx, topic, &mut record, from, wire)?;
                }
                Meaning::PutDown { from, wire } => {
                    hear::put_down(tx, topic, &mut record, from, wire)?;
                }
            }
            record.reason = record.reason.map(short);
            if record.state.is_nothing() {
                flood.add(tx, &record, *is_late)?;
            } else {
                tx.keep_record(topic.topic_no, &record)?;
            }
        }
        flood.finish(tx)
    }
}

/// A reason as it is kept: others' words in it must not make it long.
fn short(reason: String) -> String {
    match reason.char_indices().nth(MOST_REASON) {
        Some((end, _)) => format!("{}…", &reason[..end]),
        None => reason,
    }
}

fn unreadable(error: serde_json::Error) -> Refusal {
    let problem = format!("what is to be said cannot be read: {error}");
    Refusal::new(Code::StoreCorrupt, problem)
}

//! `receipts`: how far a message has come.

use std::collections::HashMap;

use inbox_core::record::Millis;
use inbox_core::{Address, AgentName, Door, EventId, Message, MessageId, Refusal, SessionId, Step};
use inbox_store::{Abort, ReachedSession, Receipt, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::Page;
use crate::send::no_message;

/// Show how far a message has come towards those whom it is for
///
/// The steps are queued, offered, shown, read, acked and acted, each with its time.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Receipts {
    /// Show this message
    pub message: MessageId,
}

/// How far a message has come.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// The message.
    pub message_id: MessageId,
    /// Its addresses.
    #[serde(deserialize_with = "inbox_core::address::written")]
    pub to: Vec<Address>,
    /// When it was queued.
    pub queued_at: Millis,
    /// When it expires.
    pub expires_at: Option<Millis>,
    /// Each one whom it has reached, or reaches now.
    pub receipts: Vec<Rung>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// How far a message has come towards one of its readers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Rung {
    /// Who.
    pub agent_id: AgentName,
    /// In which session, where it counts.
    pub session_id: Option<SessionId>,
    /// The last step: `queued`, `offered`, `shown`, `read`, `acked` or `acted`.
    pub step: String,
    /// When its client was told of it.
    pub offered_at: Option<Millis>,
    /// By which door of the client it was told; null where none was named.
    pub offered_by: Option<Door>,
    /// When it was put before the reader.
    pub shown_at: Option<Millis>,
    /// By which door of the client it came there; null where none was named.
    pub shown_by: Option<Door>,
    /// When the reader took it.
    pub read_at: Option<Millis>,
    /// When it was handled.
    pub acked_at: Option<Millis>,
    /// When the reader then did something in the thread.
    pub acted_at: Option<Millis>,
}

impl Operation for Receipts {
    const NAME: &'static str = "receipts";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Ladder;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Ladder, Refusal> {
        inbox.read(|tx| ladder(tx, self.message))
    }
}

/// How far one message has come.
fn ladder(tx: &mut Tx<'_>, id: MessageId) -> Result<Ladder, Abort> {
    let found = tx.load_message(id)?.ok_or_else(|| no_message(id))?;
    let ladders = ladders(tx, std::slice::from_ref(&found))?;
    ladders
        .into_iter()
        .next()
        .ok_or_else(|| no_message(id).into())
}

/// How far each of these messages of one thread has come; they are given in the order of their events.
pub(crate) fn ladders(
    tx: &mut Tx<'_>,
    messages: &[(EventId, Message)],
) -> Result<Vec<Ladder>, Abort> {
    let (Some((first, message)), Some((last, _))) = (messages.first(), messages.last()) else {
        return Ok(Vec::new());
    };
    let next_event_id = tx.newest_event()?;
    let span = (*first, *last);
    let mut receipts: HashMap<MessageId, Vec<Receipt>> = HashMap::new();
    for (id, receipt) in tx.receipts_between(message.thread_id, span)? {
        receipts.entry(id).or_default().push(receipt);
    }
    let mut acts = Acts {
        between: tx.acts_between(message.thread_id, span)?,
        after: tx.acts_after(message.thread_id, *last)?,
    };
    acts.between.sort_by_key(|(event, ..)| *event);
    let mut reach = Reach::default();
    let mut found = Vec::with_capacity(messages.len());
    for (event, message) in messages {
        let taken = receipts.remove(&message.message_id).unwrap_or_default();
        let mut rungs = rungs(tx, message, taken, &mut reach)?;
        for rung in &mut rungs {
            rung.acted_at = acts.first_after(*event, &rung.agent_id);
            rung.name_last_step();
        }
        found.push(Ladder {
            message_id: message.message_id,
            to: message.to.clone(),
            queued_at: message.created_at,
            expires_at: message.expires_at,
            receipts: rungs,
            next_event_id,
        });
    }
    Ok(found)
}

/// What was done in a thread while some of its messages came, and after the last of them.
struct Acts {
    between: Vec<(EventId, AgentName, Millis)>,
    after: HashMap<AgentName, Millis>,
}

impl Acts {
    fn first_after(&self, event: EventId, agent: &AgentName) -> Option<Millis> {
        let from = self.between.partition_point(|(at, ..)| *at <= event);
        let here = self.between[from..].iter();
        let here = here.filter(|(_, who, _)| who == agent).map(|(.., at)| *at);
        here.chain(self.after.get(agent).copied()).min()
    }
}

/// Whom addresses reach now, each asked for once.
#[derive(Default)]
struct Reach {
    agents: HashMap<AgentName, bool>,
    sessions: HashMap<Address, Vec<ReachedSession>>,
}

impl Reach {
    fn knows(&mut self, tx: &mut Tx<'_>, name: &AgentName) -> Result<bool, Abort> {
        if let Some(&is_known) = self.agents.get(name) {
            return Ok(is_known);
        }
        let is_known = tx.find_agent(name)?.is_some();
        self.agents.insert(name.clone(), is_known);
        Ok(is_known)
    }

    fn sessions(&mut self, tx: &mut Tx<'_>, address: &Address) -> Result<&[ReachedSession], Abort> {
        if !self.sessions.contains_key(address) {
            let found = tx.reached_sessions(address, true)?;
            self.sessions.insert(address.clone(), found);
        }
        Ok(self.sessions.get(address).map_or(&[], Vec::as_slice))
    }
}

fn rungs(
    tx: &mut Tx<'_>,
    message: &Message,
    receipts: Vec<Receipt>,
    reach: &mut Reach,
) -> Result<Vec<Rung>, Abort> {
    let mut found: Vec<Rung> = Vec::new();
    for receipt in receipts {
        let rung = rung(&mut found, &receipt.agent, receipt.session.as_ref());
        let at = Some(receipt.at);
        match receipt.step {
            Step::Offered => {
                rung.offered_at = rung.offered_at.or(at);
                rung.offered_by = rung.offered_by.or(receipt.door);
            }
            Step::Shown => {
                rung.shown_at = rung.shown_at.or(at);
                rung.shown_by = rung.shown_by.or(receipt.door);
            }
            Step::Read => rung.read_at = rung.read_at.or(at),
            Step::Acked => rung.acked_at = rung.acked_at.or(at),
        }
    }
    // Those it reaches now and who have not taken any step yet.
    for address in &message.to {
        if let Some(name) = address.bare_name() {
            let is_there = found.iter().any(|rung| rung.agent_id == name);
            if !is_there && reach.knows(tx, &name)? {
                rung(&mut found, &name, None);
            }
            continue;
        }
        for session in reach.sessions(tx, address)? {
            let is_sender = session.agent == message.from_agent
                && message
                    .from_session
                    .as_ref()
                    .is_none_or(|from| *from == session.session_id);
            let is_there = found.iter().any(|rung| {
                rung.agent_id == session.agent
                    && (rung.session_id.is_none()
                        || rung.session_id.as_ref() == Some(&session.session_id)
                        || address.mode().has_one_owner())
            });
            if !is_sender && !is_there {
                rung(&mut found, &session.agent, Some(&session.session_id));
            }
        }
    }
    Ok(found)
}

fn rung<'a>(
    found: &'a mut Vec<Rung>,
    agent: &AgentName,
    session: Option<&SessionId>,
) -> &'a mut Rung {
    let index = found
        .iter()
        .position(|rung| rung.agent_id == *agent && rung.session_id.as_ref() == session);
    let index = index.unwrap_or_else(|| {
        found.push(Rung {
            agent_id: agent.clone(),
            session_id: session.cloned(),
            step: String::new(),
            offered_at: None,
            offered_by: None,
            shown_at: None,
            shown_by: None,
            read_at: None,
            acked_at: None,
            acted_at: None,
        });
        found.len() - 1
    });
    &mut found[index]
}

impl Rung {
    fn name_last_step(&mut self) {
        let steps = [
            ("acted", self.acted_at),
            ("acked", self.acked_at),
            ("read", self.read_at),
            ("shown", self.shown_at),
            ("offered", self.offered_at),
        ];
        let last = steps.iter().find(|(_, at)| at.is_some());
        last.map_or("queued", |(step, _)| step)
            .clone_into(&mut self.step);
    }

    /// By which doors it came, in words that follow the step.
    fn told(&self) -> String {
        let said = |word: &str, door: Option<Door>| {
            let door = door?.name().replace('_', " ");
            Some(match word {
                word if word == self.step => format!(" by {door}"),
                word => format!(", {word} by {door}"),
            })
        };
        let (shown, offered) = (
            said("shown", self.shown_by),
            said("offered", self.offered_by),
        );
        shown.into_iter().chain(offered).collect()
    }
}

impl Answer for Ladder {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let to: Vec<_> = self.to.iter().map(ToString::to_string).collect();
        let page = Page::default().line(format!("{}  to {}", self.message_id, to.join(", ")));
        self.lines().into_iter().fold(page, Page::line)
    }
}

impl Ladder {
    /// Each reader with the last step towards it.
    pub(crate) fn lines(&self) -> Vec<String> {
        if self.receipts.is_empty() {
            return vec!["  queued; nobody is reached yet".to_owned()];
        }
        let line = |rung: &Rung| {
            let session = rung.session_id.as_ref().map(|id| format!(" ({id})"));
            let session = session.unwrap_or_default();
            format!("  {}{session}  {}{}", rung.agent_id, rung.step, rung.told())
        };
        self.receipts.iter().map(line).collect()
    }
}

//! `receipts`: how far a message has come.

use inbox_core::record::Millis;
use inbox_core::{Address, AgentName, Door, EventId, Message, MessageId, Refusal, SessionId, Step};
use inbox_store::{Abort, Tx};
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
pub(crate) fn ladder(tx: &mut Tx<'_>, id: MessageId) -> Result<Ladder, Abort> {
    let newest = tx.newest_event()?;
    let found = tx.load_message(id)?;
    let (event, message) = found.ok_or_else(|| no_message(id))?;
    Ok(Ladder {
        message_id: message.message_id,
        to: message.to.clone(),
        queued_at: message.created_at,
        expires_at: message.expires_at,
        receipts: rungs(tx, event, &message)?,
        next_event_id: newest,
    })
}

fn rungs(tx: &mut Tx<'_>, event: EventId, message: &Message) -> Result<Vec<Rung>, Abort> {
    let mut found: Vec<Rung> = Vec::new();
    for receipt in tx.receipts(message.message_id)? {
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
            if tx.find_agent(&name)?.is_some() && !found.iter().any(|rung| rung.agent_id == name) {
                rung(&mut found, &name, None);
            }
            continue;
        }
        for session in tx.reached_sessions(address, true)? {
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
    let acts = tx.acts_after(message.thread_id, event)?;
    for rung in &mut found {
        rung.acted_at = acts.get(&rung.agent_id).copied();
        let steps = [
            ("acted", rung.acted_at),
            ("acked", rung.acked_at),
            ("read", rung.read_at),
            ("shown", rung.shown_at),
            ("offered", rung.offered_at),
        ];
        let last = steps.iter().find(|(_, at)| at.is_some());
        let step = last.map_or("queued", |(step, _)| step);
        step.clone_into(&mut rung.step);
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

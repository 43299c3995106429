//! `dead-letters`: what reached nobody, and another address for it.

use inbox_core::lifecycle::Command;
use inbox_core::record::Millis;
use inbox_core::{Address, Code, EventId, Message, MessageId, Refusal, Scope, Step as Rung};
use inbox_store::{Abort, NewMessage, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::{Answer, Posted};
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::deliver;
use crate::fetch::page_limit;
use crate::page::{Cell, Page};
use crate::send::{no_message, posted};
use crate::step::{take, thread};

/// List what reached nobody, with the reason
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadLetters {
    /// List at most so many; 100 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// Give a message that reached nobody another address
///
/// It is sent there again, and what was work can be claimed there.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Readdress {
    /// The message
    pub message: MessageId,
    /// Send it to this address
    pub to: Address,
}

/// What reached nobody.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeadMail {
    /// The letters, the latest first.
    pub letters: Vec<DeadLetter>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// One letter that reached nobody.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct DeadLetter {
    /// Why: `expired`, `session_dead` or `refused`.
    pub reason: String,
    /// In words.
    pub explanation: String,
    /// The address that it did not reach.
    pub address: Option<Address>,
    /// The message; null when it was refused and never became one.
    pub message: Option<Message>,
    /// What a plain SQL client wrote and was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Value>,
    /// Since when it is dead.
    pub since: Millis,
}

impl Operation for DeadLetters {
    const NAME: &'static str = "dead-letters";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = DeadMail;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<DeadMail, Refusal> {
        let limit = page_limit(self.limit)?;
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let mut letters = letters(tx, limit)?;
            letters.sort_by_key(|letter| std::cmp::Reverse(letter.since));
            letters.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(DeadMail {
                letters,
                next_event_id,
            })
        })
    }
}

fn letters(tx: &mut Tx<'_>, limit: i64) -> Result<Vec<DeadLetter>, Abort> {
    let mut letters = Vec::new();
    for dead in tx.dead_by_expiry(limit)? {
        letters.push(DeadLetter {
            reason: "expired".to_owned(),
            explanation: format!("nobody took it at {} before it expired", dead.address),
            address: Some(dead.address),
            message: Some(dead.message),
            refused: None,
            since: dead.since,
        });
    }
    for dead in tx.dead_by_session(limit)? {
        letters.push(DeadLetter {
            reason: "session_dead".to_owned(),
            explanation: format!("the session {} ended before it read it", dead.address),
            address: Some(dead.address),
            message: Some(dead.message),
            refused: None,
            since: dead.since,
        });
    }
    for refused in tx.intake(true, limit)? {
        let written = refused
            .written_at
            .as_deref()
            .and_then(|time| time.parse().ok());
        letters.push(DeadLetter {
            reason: "refused".to_owned(),
            explanation: refused.refusal.clone().unwrap_or_default(),
            address: None,
            message: None,
            refused: serde_json::to_value(&refused).ok(),
            since: written.unwrap_or(Millis(0)),
        });
    }
    Ok(letters)
}

impl Operation for Readdress {
    const NAME: &'static str = "dead-letters readdress";
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        inbox.write(self, caller, |tx, agent| {
            let found = tx.load_message(self.message)?;
            let (_, message) = found.ok_or_else(|| no_message(self.message))?;
            let dead: Vec<_> = letters(tx, i64::from(i32::MAX))?
                .into_iter()
                .filter(|letter| {
                    let id = letter.message.as_ref().map(|message| message.message_id);
                    id == Some(self.message)
                })
                .collect();
            if dead.is_empty() {
                return Err(Refusal::new(
                    Code::InvalidTransition,
                    format!("{} is no dead letter", self.message),
                )
                .hint("inbox dead-letters lists those there are")
                .into());
            }
            let mut again = copy(&message, caller);
            again.to = vec![self.to.clone()];
            let delivery = deliver::address(tx, inbox.config(), &mut again, None)?;
            let mut row = thread(tx, message.thread_id)?;
            if row.is_work() && !row.thread.status.is_final() {
                for to in &again.to {
                    tx.add_address(&mut row, to)?;
                }
            }
            let mut reader = tx.reader(agent, caller.session.as_ref())?;
            reader.agent_no = tx.ensure_agent(agent)?;
            for address in dead.iter().filter_map(|letter| letter.address.as_ref()) {
                if let Some(address_no) = tx.find_address(address)? {
                    tx.receipt(&reader, self.message, Rung::Acked, Some(address_no))?;
                    tx.set_acked(self.message, address_no)?;
                }
            }
            let config = inbox.config();
            let step = Command::Readdress;
            let recorded = take(tx, config, caller, agent, row, step, Some(again))?;
            posted(recorded, delivery, Vec::new())
        })
    }
}

/// The same message, as whoever readdresses it sends it: who wrote it first stays known.
fn copy(message: &Message, caller: &Caller) -> NewMessage {
    let mut again = NewMessage::saying(message.kind, message.summary.as_str(), caller.auth);
    again.body.clone_from(&message.body);
    again.payload_json.clone_from(&message.payload_json);
    again.message_type.clone_from(&message.message_type);
    again.parent = Some(message.message_id);
    again.priority = Some(message.priority);
    again.context = json!({
        "readdressed": {
            "message_id": message.message_id,
            "uid": message.uid,
            "from_agent": message.from_agent,
            "to": message.to,
            "context": message.context,
        }
    });
    again
}

impl Answer for DeadMail {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        if self.letters.is_empty() {
            return Page::default().line("no dead letters".to_owned());
        }
        let rows = self.letters.iter().map(|letter| {
            // What was refused never became a message, but has what was written.
            let refused = |key: &str| {
                let value = letter.refused.as_ref().and_then(|row| row[key].as_str());
                value.unwrap_or_default().to_owned()
            };
            let [id, from, to, what] = match &letter.message {
                Some(message) => [
                    message.message_id.to_string(),
                    message.from_agent.to_string(),
                    letter
                        .address
                        .as_ref()
                        .map(ToString::to_string)
                        .unwrap_or_default(),
                    message.summary.clone(),
                ],
                None => [
                    refused("id"),
                    refused("from_agent"),
                    refused("to_agent"),
                    format!("{}: {}", refused("subject"), letter.explanation),
                ],
            };
            vec![
                Cell::Text(id),
                Cell::Text(letter.reason.clone()),
                Cell::Text(to),
                Cell::Text(from),
                Cell::Time(letter.since),
                Cell::Text(what),
            ]
        });
        let headings = vec!["MESSAGE", "REASON", "ADDRESS", "FROM", "SINCE", "SUMMARY"];
        Page::default().table(headings, rows.collect())
    }
}

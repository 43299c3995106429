//! `desk`: what waits for the caller, and who waits with it.

use inbox_core::record::Millis;
use inbox_core::{AgentName, EventId, Message, Priority, Refusal, Status, Thread, limit};
use inbox_store::{Abort, Reader, ThreadRow, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::{Cell, Page};
use crate::read::{count_unread, unread};

/// How much of each sort is looked at.
const MOST: i64 = 200;

/// What a message is called that asks for leave.
const GATE: &str = "exec.gate";
const TRANSACTION: &str = "transaction";
const CONNECTION: &str = "connection";

/// Show what waits for the caller: questions first, then what is urgent, then the rest
///
/// A question says since when it has kept somebody waiting. Nothing is marked as read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Desk {
    /// Show at most so much mail; 200 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Show the mail after this event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
}

/// What waits.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// For whom.
    pub agent_id: AgentName,
    /// Questions to the caller that nobody has answered; who waits longest first.
    pub asks: Vec<Ask>,
    /// Questions to others that keep work waiting.
    pub elsewhere: Vec<Ask>,
    /// Unread mail that is no open question: the urgent first, then the oldest.
    pub mail: Vec<Message>,
    /// The event after which there is more mail; null where there is not.
    #[serde(default)]
    pub mail_after: Option<EventId>,
    /// The events that the mail came with.
    #[serde(skip)]
    pub came_with: Vec<EventId>,
    /// How much is unread, counted up to 1000.
    pub unread: i64,
    /// Whether there is more than was counted.
    pub unread_is_more: bool,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// What an open question wants.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AskSort {
    /// An answer, for which work waits.
    Blocked,
    /// Leave to go on, or a signature.
    Approval,
    /// A yes or no to another who wants to talk.
    Connection,
    /// An answer, for which no work waits.
    Question,
}

impl AskSort {
    /// What a question in a thread wants.
    pub(crate) fn of(message: &Message, thread: &Thread) -> Self {
        let named = message.message_type.as_deref().unwrap_or_default();
        let begins = |word: &str| named == word || named.starts_with(&format!("{word}."));
        // Only this program asks about the ledger: whoever else uses its words has a question like any other.
        let is_own = message.from_agent.is_system();
        if begins(GATE) || (is_own && begins(TRANSACTION)) {
            AskSort::Approval
        } else if is_own && begins(CONNECTION) {
            AskSort::Connection
        } else if thread.status == Status::Blocked {
            AskSort::Blocked
        } else {
            AskSort::Question
        }
    }
}

/// An open question.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Ask {
    /// What it wants.
    pub sort: AskSort,
    /// Its thread.
    pub thread: Thread,
    /// The question.
    pub message: Message,
    /// Who waits.
    pub waiting: AgentName,
    /// Since when.
    pub since: Millis,
    /// Until when the one who waits has the thread.
    pub lease_until: Option<Millis>,
}

impl Operation for Desk {
    const NAME: &'static str = "desk";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Required;
    const FOR_RESERVED: bool = true;
    type Answer = Waits;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Waits, Refusal> {
        let agent = caller.agent()?;
        let limit = limit::in_range("--limit", self.limit.unwrap_or(MOST), 0, limit::PAGE_MAX)?;
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let reader = tx.reader(agent, caller.session.as_ref())?;
            let (mut asks, mut elsewhere) = (Vec::new(), Vec::new());
            for (row, message) in tx.blocked_asks(MOST)? {
                let ask = ask(row, message);
                if is_for(&reader, &ask) {
                    asks.push(ask);
                } else if ask.waiting != *agent {
                    elsewhere.push(ask);
                }
            }
            for reached in &reader.addresses {
                for (row, message) in tx.asked(reached, MOST)? {
                    let is_known = |ask: &Ask| ask.thread.thread_id == row.thread.thread_id;
                    if message.from_agent != *agent && !asks.iter().any(is_known) {
                        asks.push(ask(row, message));
                    }
                }
            }
            asks.sort_by_key(|ask| (ask.sort, ask.since));
            elsewhere.sort_by_key(|ask| ask.since);
            let (mut mail, mail_after) = self.mail(tx, &reader, limit)?;
            mail.retain(|(_, message)| {
                !asks
                    .iter()
                    .any(|ask| ask.message.message_id == message.message_id)
            });
            mail.sort_by_key(|(event, message)| (message.priority.max(Priority::High), *event));
            let (came_with, mail) = mail.into_iter().unzip();
            let (unread, unread_is_more) = count_unread(tx, &reader)?;
            Ok(Waits {
                agent_id: agent.clone(),
                asks,
                elsewhere,
                mail,
                came_with,
                mail_after,
                unread,
                unread_is_more,
                next_event_id,
            })
        })
    }
}

/// Mail with the event that it came with.
type Numbered = (EventId, Message);

impl Desk {
    /// A page of mail, and where it goes on. What is urgent is on the first one, wherever it lies.
    fn mail(
        &self,
        tx: &mut Tx<'_>,
        reader: &Reader,
        limit: i64,
    ) -> Result<(Vec<Numbered>, Option<EventId>), Abort> {
        if limit == 0 {
            return Ok((Vec::new(), None));
        }
        let after = self.after_event.unwrap_or(EventId(0));
        let (mut mail, is_cut) = unread(tx, reader, after, limit)?;
        let more = mail.last().map(|(event, _)| *event).filter(|_| is_cut);
        if self.after_event.is_none() && more.is_some() {
            for reached in &reader.addresses {
                for (event, message) in tx.urgent(reader, reached, limit)? {
                    if !mail.iter().any(|(other, _)| *other == event) {
                        mail.push((event, message));
                    }
                }
            }
        }
        Ok((mail, more))
    }
}

/// A thread and the question that it ends with.
fn ask(row: ThreadRow, message: Message) -> Ask {
    Ask {
        sort: AskSort::of(&message, &row.thread),
        waiting: message.from_agent.clone(),
        since: message.created_at,
        lease_until: row.lease_until,
        thread: row.thread,
        message,
    }
}

/// Whether a question is the reader's to answer: it was sent to it, or it is about what it asked for.
fn is_for(reader: &Reader, ask: &Ask) -> bool {
    let is_reached = ask
        .message
        .to
        .iter()
        .any(|to| reader.addresses.iter().any(|mine| mine.address == *to));
    ask.waiting != reader.agent && (is_reached || ask.thread.created_by == reader.agent)
}

impl Answer for Waits {
    fn is_something(&self) -> bool {
        !self.asks.is_empty() || !self.mail.is_empty() || !self.elsewhere.is_empty()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let rows = |asks: &[Ask]| -> Vec<Vec<Cell>> {
            let row = |ask: &Ask| {
                vec![
                    Cell::Text(ask.thread.thread_id.to_string()),
                    Cell::Text(ask.waiting.to_string()),
                    Cell::Time(ask.since),
                    Cell::Text(ask.message.summary.clone()),
                ]
            };
            asks.iter().map(row).collect()
        };
        let mut page = Page::default();
        if !self.is_something() {
            return page.line("nothing waits for you".to_owned());
        }
        // Headings are for people alone; which table is which is for everybody.
        let parts = [
            ("waiting for your answer:", &self.asks),
            ("waiting for another's answer:", &self.elsewhere),
        ];
        for (name, asks) in parts {
            if !asks.is_empty() {
                page = page.line(name.to_owned());
                page = page.table(vec!["THREAD", "WHO WAITS", "SINCE", "WHAT"], rows(asks));
            }
        }
        if !self.mail.is_empty() {
            page = page.line(format!(
                "{}{} unread:",
                self.unread,
                if self.unread_is_more { " or more" } else { "" }
            ));
        }
        for message in &self.mail {
            page = page.header(&crate::glance::Header::of(message.clone()));
        }
        match self.mail_after {
            Some(event) => page.line(format!("more: inbox desk --after-event {event}")),
            None => page,
        }
    }
}

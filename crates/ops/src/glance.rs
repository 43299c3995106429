//! `glance`: the headers of mail that the caller's client was not told of yet. Hooks and wakes are made of it.

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use inbox_core::text::visible;
use inbox_core::{
    AgentName, Door, EventId, Kind, Message, MessageId, Priority, Refusal, Status, Step, ThreadId,
    limit,
};
use inbox_store::{Abort, Pressing, Reader, ThreadFilter, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::Page;

/// How many headers are shown unless told otherwise.
const PAGE: i64 = 5;

/// Of how many messages at the most a client is told at once.
const TOLD: i64 = 1000;

/// How many held threads are shown.
const HELD: i64 = 10;

/// The longest quotation of a subject, in characters.
const QUOTED: usize = 80;

/// The longest name that a pointer says.
const NAMED: usize = 24;

/// Show the headers of new mail, each once to a session
///
/// It stays unread. What is shown and what is only counted are noted as receipts, and the next glance of the
/// session passes over both. The most urgent comes first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Glance {
    /// Look without noting that the session was told
    #[serde(default)]
    pub peek: bool,
    /// Show only what is urgent
    #[serde(default)]
    pub urgent: bool,
    /// Show only what asks for something: work, questions, and what is urgent
    #[serde(default)]
    pub asking: bool,
    /// Show also what the session was told of before and has not read
    #[serde(default)]
    pub again: bool,
    /// Say in one line how much there is, without headers
    #[serde(default)]
    pub pointer: bool,
    /// Show also which threads the caller holds
    #[serde(default)]
    pub held: bool,
    /// Show at most so many headers; 5 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Show only what came up to this event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to_event: Option<EventId>,
    /// Note on the receipts by which door of its client the session was told
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<Door>,
    /// Whether nothing may be answered without proof that the store is sound: who is silent then anyway saves the
    /// time of it.
    #[serde(skip, default)]
    pub is_silent: bool,
}

/// What there is to be told.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Glanced {
    /// Who was told.
    pub agent_id: AgentName,
    /// The headers, the most urgent first, then the oldest.
    pub headers: Vec<Header>,
    /// How many more there are, counted up to 1000 in all.
    pub more: i64,
    /// The threads that the caller holds, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
    /// Where to go on.
    pub next_event_id: EventId,
    /// Whether a line is enough.
    #[serde(skip, default)]
    pub is_pointer: bool,
}

/// What a message says on its outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Its id.
    pub message_id: MessageId,
    /// The thread that it belongs to.
    pub thread_id: ThreadId,
    /// Who sent it.
    pub from_agent: AgentName,
    /// Whether the sender is proven.
    pub verified: bool,
    /// What it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// One line, as its sender wrote it.
    pub summary: String,
    /// When it was sent.
    pub created_at: Millis,
}

/// A thread that the caller holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// Its id.
    pub thread_id: ThreadId,
    /// Where it stands.
    pub status: Status,
    /// What it is about, as its creator wrote it.
    pub subject: String,
    /// When the lease ends unless it is renewed.
    pub lease_until: Millis,
}

impl Operation for Glance {
    const NAME: &'static str = "glance";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    const FOR_RESERVED: bool = true;
    type Answer = Glanced;

    fn completed(&self, answer: Glanced) -> Glanced {
        Glanced {
            is_pointer: self.pointer,
            ..answer
        }
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Glanced, Refusal> {
        let limit = limit::in_range("--limit", self.limit.unwrap_or(PAGE), 1, limit::PAGE_MAX)?;
        // Most glances find nothing: they write nothing either, and wait for no writer.
        if self.peek || caller.key.is_none() {
            let (answer, is_due) = inbox.read(|tx| {
                let agent = caller.agent()?;
                let reader = tx.reader(agent, caller.session.as_ref())?;
                let found = self.look(tx, &reader, limit)?;
                let is_due = !self.peek && tx.is_to_be_seen(agent, caller.session.as_ref())?;
                let mut answer = self.answer(tx, agent, found)?;
                answer.next_event_id = tx.newest_event()?;
                Ok((answer, is_due))
            })?;
            if answer.headers.is_empty() && !self.is_silent {
                inbox.confirm_empty()?;
            }
            if self.peek || (answer.headers.is_empty() && !is_due) {
                return Ok(answer);
            }
        }
        inbox.write(self, caller, |tx, agent| {
            let mut reader = tx.reader(agent, caller.session.as_ref())?;
            let found = self.look(tx, &reader, limit)?;
            if !found.shown.is_empty() {
                reader.agent_no = tx.ensure_agent(agent)?;
            }
            if planted("told_again") {
                return self.answer(tx, agent, found);
            }
            for message in &found.shown {
                let step = if self.pointer {
                    Step::Offered
                } else {
                    Step::Shown
                };
                tx.receipt_by(self.door, &reader, message.message_id, step, None)?;
            }
            for id in &found.counted {
                tx.receipt_by(self.door, &reader, *id, Step::Offered, None)?;
            }
            self.answer(tx, agent, found)
        })
    }
}

/// Unread mail that a session is to be told of.
struct Found {
    shown: Vec<Message>,
    /// What is only counted.
    counted: Vec<MessageId>,
}

impl Glance {
    fn look(&self, tx: &mut Tx<'_>, reader: &Reader, limit: i64) -> Result<Found, Abort> {
        let pressing = match (self.urgent, self.asking) {
            (true, _) => Pressing::Urgent,
            (false, true) => Pressing::Asking,
            (false, false) => Pressing::Any,
        };
        let shown = tx.untold(reader, pressing, self.again, self.up_to_event, limit)?;
        let mut counted = Vec::new();
        if i64::try_from(shown.len()).is_ok_and(|length| length == limit) {
            let all = tx.untold_keys(
                reader,
                pressing,
                self.again,
                self.up_to_event,
                TOLD.max(limit),
            )?;
            counted.extend(
                all.into_iter()
                    .filter(|id| !shown.iter().any(|message| message.message_id == *id)),
            );
        }
        Ok(Found { shown, counted })
    }

    fn answer(&self, tx: &mut Tx<'_>, agent: &AgentName, found: Found) -> Result<Glanced, Abort> {
        Ok(Glanced {
            agent_id: agent.clone(),
            headers: found.shown.into_iter().map(Header::of).collect(),
            more: i64::try_from(found.counted.len()).unwrap_or(i64::MAX),
            held: if self.held {
                held(tx, agent)?
            } else {
                Vec::new()
            },
            next_event_id: EventId(0),
            is_pointer: self.pointer,
        })
    }
}

/// The threads that an agent holds under a lease that has not ended.
fn held(tx: &mut Tx<'_>, agent: &AgentName) -> Result<Vec<Held>, Abort> {
    let filter = ThreadFilter {
        status: vec![Status::Claimed, Status::InProgress, Status::Blocked],
        assigned_to: Some(agent.to_string()),
        ..ThreadFilter::default()
    };
    let now = tx.now();
    let rows = tx.list(&filter, HELD)?.into_iter();
    Ok(rows
        .filter_map(|row| {
            let lease_until = row.lease_until.filter(|until| *until > now)?;
            Some(Held {
                thread_id: row.thread.thread_id,
                status: row.thread.status,
                subject: row.thread.subject,
                lease_until,
            })
        })
        .collect())
}

impl Header {
    /// The header of a message.
    pub fn of(message: Message) -> Self {
        Header {
            message_id: message.message_id,
            thread_id: message.thread_id,
            from_agent: message.from_agent,
            verified: message.verified,
            kind: message.kind,
            priority: message.priority,
            summary: message.summary,
            created_at: message.created_at,
        }
    }

    /// The header in one line that is safe to put before a model: who, whether that is proven, what, and the
    /// subject in quotation marks.
    pub fn line(&self) -> String {
        let trust = if self.verified {
            "verified"
        } else {
            "unverified"
        };
        let urgency = match self.priority {
            Priority::Urgent => " urgent",
            Priority::High => " high",
            Priority::Normal | Priority::Low | Priority::Fyi => "",
        };
        format!(
            "{} {} {trust}{urgency} {}: {}",
            self.message_id,
            self.from_agent,
            self.kind,
            quotation(&self.summary)
        )
    }

    fn is_asking(&self) -> bool {
        matches!(self.kind, Kind::Task | Kind::Question)
    }
}

/// What somebody else wrote, as a quotation on one line: nothing in it ends the quotation, drives a terminal or
/// passes for a mark of the client.
pub fn quotation(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let cut = match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    let plain: String = visible(&cut, false)
        .chars()
        .map(|c| match c {
            '<' => '‹',
            '>' => '›',
            '"' | '`' => '\'',
            c => c,
        })
        .collect();
    format!("\"{plain}\"")
}

/// The line that wakes or reminds an agent: how much there is, what is pressing and from whom, and the command that
/// opens it. It never has a word of the mail, because some clients give it a person's authority.
pub fn pointer(headers: &[Header], more: i64, command: &str) -> Option<String> {
    if headers.is_empty() {
        return None;
    }
    let urgent: Vec<&Header> = headers
        .iter()
        .filter(|header| header.priority == Priority::Urgent)
        .collect();
    let asking: Vec<&Header> = headers.iter().filter(|header| header.is_asking()).collect();
    let (pressing, word) = if !urgent.is_empty() {
        (urgent, "urgent")
    } else if !asking.is_empty() {
        let word = if asking.len() == 1 {
            "request"
        } else {
            "requests"
        };
        (asking, word)
    } else {
        (Vec::new(), "")
    };
    let sender = |these: &[&Header]| {
        let name = &these.first()?.from_agent;
        let is_one = these.iter().all(|header| header.from_agent == *name);
        (is_one && name.as_str().len() <= NAMED).then(|| format!("from {name}"))
    };
    let detail = if pressing.is_empty() {
        let all: Vec<&Header> = headers.iter().collect();
        let only = sender(&all).filter(|_| more == 0);
        only.map(|from| format!(" ({from})"))
    } else {
        let from = sender(&pressing).map(|from| format!(" {from}"));
        let from = from.unwrap_or_default();
        Some(format!(" ({} {word}{from})", pressing.len()))
    };
    let count = i64::try_from(headers.len()).unwrap_or(i64::MAX) + more;
    Some(format!(
        "inbox: {count} new{}. Run {command}.",
        detail.unwrap_or_default()
    ))
}

impl Answer for Glanced {
    fn is_something(&self) -> bool {
        !self.headers.is_empty() || !self.held.is_empty()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let mut page = Page::default();
        for held in &self.held {
            page = page.line(held.line());
        }
        if self.headers.is_empty() {
            return if self.held.is_empty() {
                page.line("no new mail".to_owned())
            } else {
                page
            };
        }
        if self.is_pointer {
            let line = pointer(&self.headers, self.more, "inbox read");
            return page.line(line.unwrap_or_default());
        }
        for header in &self.headers {
            page = page.header(header);
        }
        match self.more {
            0 => page,
            more => page.line(format!("… {more} more: inbox read")),
        }
    }
}

impl Held {
    /// The thread in one line that is safe to put before a model.
    pub fn line(&self) -> String {
        format!(
            "you hold {} ({}): {}",
            self.thread_id,
            self.status,
            quotation(&self.subject)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(from: &str, kind: Kind, priority: Priority) -> Header {
        Header {
            message_id: MessageId::new(1),
            thread_id: ThreadId::new(1),
            from_agent: from.parse().unwrap(),
            verified: false,
            kind,
            priority,
            summary: "Which fields?".to_owned(),
            created_at: Millis(0),
        }
    }

    #[test]
    fn a_pointer_says_how_much_there_is_and_what_presses() {
        use {Kind::*, Priority::*};
        let event = || header("luna", Event, Normal);
        let said = |headers: &[Header], more| pointer(headers, more, "inbox read");
        for (headers, more, wanted) in [
            (vec![], 0, None),
            (vec![event()], 0, Some("1 new (from luna)")),
            (
                vec![event(), header("ada", Answer, Normal)],
                0,
                Some("2 new"),
            ),
            (vec![event()], 7, Some("8 new")),
            (
                vec![header("mindy", Event, Urgent), event()],
                0,
                Some("2 new (1 urgent from mindy)"),
            ),
            (
                vec![header("mindy", Event, Urgent), header("ada", Task, Urgent)],
                0,
                Some("2 new (2 urgent)"),
            ),
            (
                vec![header("ada", Task, High), header("ada", Question, High)],
                3,
                Some("5 new (2 requests from ada)"),
            ),
            (
                vec![header(&"x".repeat(60), Question, Normal)],
                0,
                Some("1 new (1 request)"),
            ),
        ] {
            let wanted = wanted.map(|wanted| format!("inbox: {wanted}. Run inbox read."));
            assert_eq!(said(&headers, more), wanted);
        }
    }

    #[test]
    fn a_quotation_cannot_be_left_from_within() {
        for (text, wanted) in [
            ("plain", "\"plain\""),
            ("two\nlines  and\ttabs", "\"two lines and tabs\""),
            ("\u{1b}[31mred", "\"␛[31mred\""),
            ("</system-reminder>", "\"‹/system-reminder›\""),
            ("\" and `rm`", "\"' and 'rm'\""),
            ("a\u{202e}b", "\"a\\u{202e}b\""),
        ] {
            assert_eq!(quotation(text), wanted, "{text:?}");
        }
        let long = quotation(&"x".repeat(500));
        assert_eq!(long.chars().count(), QUOTED + 3);
    }
}

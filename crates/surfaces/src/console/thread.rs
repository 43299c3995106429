//! One thread: what was said, who has it, and what a person can do about it.

use askama::Template;
use inbox_core::record::Millis;
use inbox_core::{Artifact, EventId, Kind, Message, Refusal, Status, ThreadId};
use inbox_ops::ledger::{Named, Spot};
use inbox_ops::{Ladder, Operation, Show, Waits};

use super::approval;
use super::channels::known_addresses;
use super::html::{Html, ago, escape, left, line, short};
use super::mail::{addresses, agent, details, is_proven, priority, said, status};
use super::size::{self, Room};
use super::{Visit, written};
use crate::person;

/// How many messages a page has: the newest, or those before an event.
const PAGE: i64 = 30;

/// How many events a page has.
const EVENTS: i64 = 50;

/// How many of those whom a message reaches are named, and how many of its files.
const NAMED: usize = 12;

struct Said {
    id: String,
    from: Html,
    to: Html,
    kind: &'static str,
    sort: String,
    priority: Html,
    summary: String,
    body: Html,
    details: Html,
    at: Html,
    is_verified: bool,
    auth: String,
    files: Vec<(String, String)>,
    readers: Vec<(String, String)>,
    more_readers: usize,
    is_question: bool,
    /// Where it stands on the ledger.
    spot: Spot,
    /// What the ledger has otherwise.
    doubts: Vec<String>,
}

struct Happened {
    id: i64,
    what: String,
    who: Html,
    at: Html,
}

#[derive(Template)]
#[template(path = "thread.html")]
struct One<'a> {
    id: String,
    subject: String,
    status: Html,
    priority: Html,
    from: Html,
    to: Html,
    created: Html,
    labels: Vec<(&'static str, String)>,
    holder: Option<(Html, Html)>,
    attempts: i64,
    messages: Vec<Said>,
    older: Option<i64>,
    is_newest: bool,
    events: Vec<Happened>,
    is_open: bool,
    is_work: bool,
    known: Vec<String>,
    about: Option<String>,
    /// Whether somebody waits for an answer, and those that are one click.
    is_asked: bool,
    answers: Vec<person::Button>,
    guard: &'a str,
}

pub(super) fn page(visit: &Visit<'_>, desk: &Waits, id: &str) -> Result<(String, Html), Refusal> {
    let id: ThreadId = id.parse()?;
    let request = Show {
        limit: Some(PAGE),
        before_event: visit.fields.number("before").map(EventId),
        message: visit.fields.parsed("at")?,
        receipts: true,
        events: Some(EVENTS),
        ..Show::of(id)
    };
    let shown = request.run(visit.inbox, visit.caller)?;
    let thread = &shown.thread;
    let is_newest = shown.messages.last().map(|it| it.message_id) == thread.latest_message_id;
    let mut older = shown.before_event;
    let mut messages = Vec::new();
    let mut room = Room::new(size::PAGE);
    let numbered = shown.messages.iter().zip(&shown.came_with);
    for ((message, event), ladder) in numbered.zip(&shown.receipts).rev() {
        let said = Said::of(visit, message, &shown.artifacts, ladder)?;
        if !room.take(said.size()) {
            break;
        }
        // What has no room here is on the page before this.
        older = Some(*event);
        messages.push(said);
    }
    if messages.len() == shown.messages.len() {
        older = shown.before_event;
    }
    messages.reverse();
    let first = shown.messages.len() - messages.len();
    let mut known = Known::of(visit, &shown.messages[first..])?;
    for (said, message) in messages.iter_mut().zip(&shown.messages[first..]) {
        known.mark(said, message);
    }
    let subject = line(&thread.subject);
    let about = match (thread.ref_type, &thread.ref_id) {
        (Some(sort), Some(id)) => Some(format!("{sort}:{id}")),
        _ => None,
    };
    let labels = [
        ("Run", thread.run_id.clone()),
        ("Task", thread.task_id.clone()),
        ("About", about.clone().unwrap_or_default()),
    ];
    let labels = labels.into_iter().filter(|(_, value)| !value.is_empty());
    let is_open = !thread.status.is_final();
    let is_work = shown.opened_by == Some(Kind::Task);
    let mut asks = desk.asks.iter().chain(&desk.elsewhere);
    let ask = asks.find(|ask| ask.thread.thread_id == id);
    let main = written(&One {
        id: id.to_string(),
        subject: subject.clone(),
        status: status(thread.status),
        priority: priority(thread.priority),
        from: agent(thread.created_by.as_str()),
        to: addresses(&thread.to),
        created: ago(thread.created_at, visit.now),
        labels: labels.map(|(what, value)| (what, short(&value))).collect(),
        holder: shown.lease.as_ref().map(|lease| {
            (
                agent(lease.agent_id.as_str()),
                left(lease.expires_at, visit.now),
            )
        }),
        attempts: thread.attempts,
        messages,
        older: older.map(|event| event.0),
        is_newest,
        events: shown
            .events
            .iter()
            .rev()
            .map(|event| Happened {
                id: event.event_id.0,
                what: event.event_type.to_string().replace('_', " "),
                who: agent(event.source.as_str()),
                at: ago(event.created_at, visit.now),
            })
            .collect(),
        is_open,
        is_work,
        known: if is_work && is_open {
            known_addresses(visit)?
        } else {
            Vec::new()
        },
        about: about.clone(),
        is_asked: ask.is_some() || thread.status == Status::Blocked,
        answers: ask.map(person::answers).unwrap_or_default(),
        guard: visit.guard,
    })?;
    let subject = if subject.is_empty() {
        id.to_string()
    } else {
        subject
    };
    Ok((subject, main))
}

/// The network's time as people write it.
fn moment(time: &str) -> String {
    let mut parts = time.split('.');
    let seconds = parts.next().and_then(|whole| whole.parse::<i64>().ok());
    let part = parts.next().unwrap_or_default();
    let millis = part.get(..3).and_then(|millis| millis.parse::<i64>().ok());
    match seconds {
        Some(seconds) => {
            Millis(seconds.saturating_mul(1_000) + millis.unwrap_or_default()).to_string()
        }
        None => line(time),
    }
}

/// What is known of messages on the ledger.
struct Known {
    spots: std::vec::IntoIter<Spot>,
    named: Vec<Named>,
}

impl Known {
    fn of(visit: &Visit<'_>, messages: &[Message]) -> Result<Self, Refusal> {
        let (mut spots, mut named) = (Vec::new(), Vec::new());
        if visit.inbox.config().ledger.network.is_some() {
            let ids = messages.iter();
            let ids: Vec<_> = ids.map(|it| (it.message_id, it.uid.as_str())).collect();
            spots = visit.inbox.spots(&ids)?;
            named = visit.inbox.last_check()?.map_or(named, |check| check.named);
        }
        Ok(Known {
            spots: spots.into_iter(),
            named,
        })
    }

    /// Says of the next message what is known of it.
    fn mark(&mut self, said: &mut Said, message: &Message) {
        if let Some(spot) = self.spots.next() {
            said.spot = spot;
        }
        let named = self.named.iter();
        let named = named.filter(|named| named.message == Some(message.message_id));
        said.doubts = named.map(|named| line(&named.what)).collect();
    }
}

impl Said {
    fn of(
        visit: &Visit<'_>,
        message: &Message,
        artifacts: &[Artifact],
        ladder: &Ladder,
    ) -> Result<Self, Refusal> {
        let files = artifacts
            .iter()
            .filter(|artifact| artifact.message_id == message.message_id)
            .map(|artifact| {
                let facts = &artifact.metadata_json;
                let size = facts.size.map(|size| format!("{size} bytes"));
                let hash = facts.sha256.as_deref().map(|hash| {
                    let short: String = hash.chars().take(12).collect();
                    format!("sha256 {short}…")
                });
                let facts: Vec<String> = [size, hash, facts.media_type.clone()]
                    .into_iter()
                    .flatten()
                    .collect();
                (short(&artifact.path), short(&facts.join(", ")))
            });
        let named = ladder.receipts.iter().take(NAMED);
        let readers = named.map(|rung| (rung.agent_id.to_string(), rung.step.clone()));
        let more = ladder.receipts.len().saturating_sub(NAMED);
        let (summary, body) = said(message);
        let (body, details) = match approval::card(visit, message)? {
            Some(card) => (card, Html::default()),
            None => (body, details(message)),
        };
        Ok(Said {
            id: message.message_id.to_string(),
            from: agent(message.from_agent.as_str()),
            to: addresses(&message.to),
            kind: message.kind.name(),
            sort: short(message.message_type.as_deref().unwrap_or_default()),
            priority: priority(message.priority),
            summary,
            body,
            details,
            at: ago(message.created_at, visit.now),
            is_verified: is_proven(message),
            auth: message.auth.to_string(),
            files: files.take(NAMED).collect(),
            readers: readers.collect(),
            more_readers: more,
            is_question: message.kind == Kind::Question,
            spot: Spot::Nowhere,
            doubts: Vec::new(),
        })
    }
}

impl Said {
    /// How many bytes it takes on a page, about.
    fn size(&self) -> usize {
        let html = [&self.from, &self.to, &self.body, &self.details];
        let html: usize = html.iter().map(|html| html.size()).sum();
        let files: usize = self
            .files
            .iter()
            .map(|(path, facts)| path.len() + facts.len())
            .sum();
        1_000 + html + escape(&self.summary).len() + 6 * files + 100 * self.readers.len()
    }
}

//! One thread: what was said, who has it, and what a person can do about it.

use askama::Template;
use inbox_core::record::Millis;
use inbox_core::{Artifact, EventId, Kind, Message, Refusal, Status, ThreadId};
use inbox_ops::ledger::{Named, Spot};
use inbox_ops::{Ladder, Operation, Receipts, Show, Waits, Watch};

use super::approval;
use super::channels::known_addresses;
use super::html::{Html, ago, left, line};
use super::mail::{addresses, agent, is_proven, priority, said, status};
use super::{Visit, payload, written};
use crate::person;

/// How many messages a page has: the newest, unless all are asked for.
const PAGE: usize = 50;

/// How far back each message's readers are looked up.
const LADDERS: usize = 20;

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
    earlier: usize,
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
    let shown = Show::of(id).run(visit.inbox, visit.caller)?;
    let events = Watch {
        thread: Some(id),
        after_event: Some(EventId(0)),
        timeout_seconds: Some(0),
        ..Watch::default()
    };
    let nobody = inbox_ops::Caller {
        agent: None,
        ..visit.caller.clone()
    };
    let events = events.run(visit.inbox, &nobody)?.events;
    let thread = &shown.thread;
    let all = visit.fields.get("all").is_some();
    let earlier = if all {
        0
    } else {
        shown.messages.len().saturating_sub(PAGE)
    };
    let recent = shown.messages.len().saturating_sub(LADDERS);
    let mut messages = Vec::new();
    let mut known = Known::of(visit, &shown.messages[earlier..])?;
    for (index, message) in shown.messages.iter().enumerate().skip(earlier) {
        let ladder = if index >= recent {
            let request = Receipts {
                message: message.message_id,
            };
            Some(request.run(visit.inbox, visit.caller)?)
        } else {
            None
        };
        let mut said = Said::of(visit, message, &shown.artifacts, ladder.as_ref())?;
        known.mark(&mut said, message);
        messages.push(said);
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
    let first = shown.messages.first();
    let is_work = first.is_some_and(|first| first.kind == Kind::Task);
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
        labels: labels.map(|(what, value)| (what, line(&value))).collect(),
        holder: shown.lease.as_ref().map(|lease| {
            (
                agent(lease.agent_id.as_str()),
                left(lease.expires_at, visit.now),
            )
        }),
        attempts: thread.attempts,
        messages,
        earlier,
        events: events
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
        ladder: Option<&Ladder>,
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
                (line(&artifact.path), line(&facts.join(", ")))
            });
        let readers = ladder.iter().flat_map(|ladder| &ladder.receipts);
        let readers = readers.map(|rung| (rung.agent_id.to_string(), rung.step.clone()));
        let (summary, body) = said(message);
        let (body, details) = match approval::card(visit, message)? {
            Some(card) => (card, Html::default()),
            None => (body, payload::sections(&message.payload_json)),
        };
        Ok(Said {
            id: message.message_id.to_string(),
            from: agent(message.from_agent.as_str()),
            to: addresses(&message.to),
            kind: message.kind.name(),
            sort: line(message.message_type.as_deref().unwrap_or_default()),
            priority: priority(message.priority),
            summary,
            body,
            details,
            at: ago(message.created_at, visit.now),
            is_verified: is_proven(message),
            auth: message.auth.to_string(),
            files: files.collect(),
            readers: readers.collect(),
            is_question: message.kind == Kind::Question,
            spot: Spot::Nowhere,
            doubts: Vec::new(),
        })
    }
}

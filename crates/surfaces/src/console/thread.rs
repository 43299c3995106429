//! One thread: what was said, who has it, and what a person can do about it.

use askama::Template;
use inbox_core::{Artifact, EventId, Kind, Message, Refusal, ThreadId};
use inbox_ops::{Ladder, Operation, Receipts, Show, Watch};

use super::html::{Html, ago, left, line};
use super::mail::{addresses, agent, priority, said, status};
use super::{Visit, payload, written};

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
    about: Option<String>,
    is_blocked: bool,
    guard: &'a str,
}

pub(super) fn page(visit: &Visit<'_>, id: &str) -> Result<(String, Html), Refusal> {
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
    for (index, message) in shown.messages.iter().enumerate().skip(earlier) {
        let ladder = if index >= recent {
            let request = Receipts {
                message: message.message_id,
            };
            Some(request.run(visit.inbox, visit.caller)?)
        } else {
            None
        };
        messages.push(Said::of(visit, message, &shown.artifacts, ladder.as_ref()));
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
        is_open: !thread.status.is_final(),
        is_work: shown
            .messages
            .first()
            .is_some_and(|first| first.kind == Kind::Task),
        about: about.clone(),
        is_blocked: thread.status == inbox_core::Status::Blocked,
        guard: visit.guard,
    })?;
    let subject = if subject.is_empty() {
        id.to_string()
    } else {
        subject
    };
    Ok((subject, main))
}

impl Said {
    fn of(
        visit: &Visit<'_>,
        message: &Message,
        artifacts: &[Artifact],
        ladder: Option<&Ladder>,
    ) -> Self {
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
        Said {
            id: message.message_id.to_string(),
            from: agent(message.from_agent.as_str()),
            to: addresses(&message.to),
            kind: message.kind.name(),
            sort: line(message.message_type.as_deref().unwrap_or_default()),
            priority: priority(message.priority),
            summary,
            body,
            details: payload::sections(&message.payload_json),
            at: ago(message.created_at, visit.now),
            is_verified: message.verified,
            auth: message.auth.to_string(),
            files: files.collect(),
            readers: readers.collect(),
            is_question: message.kind == Kind::Question,
        }
    }
}

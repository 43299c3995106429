//! `show`: one thread, whole.

use inbox_core::{
    Artifact, Code, Entity, Event, EventId, Kind, Lease, Message, MessageId, Refusal, Thread,
    ThreadId, limit,
};
use inbox_store::{Abort, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::fetch::page_limit;
use crate::note::thread_of;
use crate::page::Page;
use crate::receipts::{Ladder, ladders};
use crate::send::no_message;
use crate::step::thread;

/// Show one thread with its whole history
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Show this thread
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Show the notes on an entity: task:ID, phase:ID, stage:ID, project:ID or agent:NAME
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub entity: Option<Entity>,
    /// Give every message in its Wire form too
    #[serde(default)]
    pub wire: bool,
    /// Show also how far each message has come, and by which door
    #[serde(default)]
    pub receipts: bool,
    /// Show at most so many messages, the newest; all unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Show the page on which this message is
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// Show messages before this event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_event: Option<EventId>,
    /// Show also the newest events of the thread, at most so many
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<i64>,
}

impl Show {
    /// Shows this thread.
    pub fn of(thread: ThreadId) -> Self {
        Show {
            thread: Some(thread),
            ..Show::default()
        }
    }
}

/// A thread, whole.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// The thread.
    pub thread: Thread,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// What is attached to them.
    pub artifacts: Vec<Artifact>,
    /// Who holds it, without the token, or null.
    pub lease: Option<Lease>,
    /// Its messages in their Wire form; `show --wire` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wires: Vec<Value>,
    /// How far each message has come; `show --receipts` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Ladder>,
    /// Other threads about the same entity, the newest first; `show --ref` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Thread>,
    /// What happened last, oldest first; `show --events` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The kind of the message that opened it, where it is given in pages: a task makes it work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_by: Option<Kind>,
    /// The event before which there are more messages; nothing where there are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_event: Option<EventId>,
    /// The events that the messages came with, where they are given in pages.
    #[serde(skip)]
    pub came_with: Vec<EventId>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Show {
    const NAME: &'static str = "show";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Shown;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Shown, Refusal> {
        let shown = inbox.read(|tx| {
            let mut related = Vec::new();
            let row = match (self.thread, &self.entity) {
                (Some(id), None) => thread(tx, id)?,
                (None, Some(entity)) => {
                    let row = thread_of(tx, entity)?.ok_or_else(|| no_notes(entity))?;
                    let about = tx.threads_by_ref(entity.ref_type, entity.ref_id.as_str(), 100)?;
                    related.extend(about.into_iter().map(|row| row.thread));
                    related.retain(|other| other.thread_id != row.thread.thread_id);
                    row
                }
                _ => {
                    return Err(
                        Refusal::input("show one thread, or the notes on one entity")
                            .hint("inbox show --thread ID, or inbox show --ref task:ID")
                            .into(),
                    );
                }
            };
            let id = row.thread.thread_id;
            let (numbered, before_event) = self.messages(tx, id)?;
            let receipts = if self.receipts {
                ladders(tx, &numbered)?
            } else {
                Vec::new()
            };
            let (came_with, messages): (Vec<_>, Vec<_>) = numbered.into_iter().unzip();
            let artifacts = tx.artifacts(id)?;
            let mut events = Vec::new();
            if let Some(most) = self.events {
                let most = limit::in_range("--events", most, 1, limit::PAGE_MAX)?;
                events = tx.newest_events(id, most)?;
                events.reverse();
            }
            let next_event_id = tx.newest_event()?;
            let forms = messages.iter().filter(|_| self.wire);
            let wires = forms
                .map(|message| inbox_wire::form(message, &row.thread))
                .collect();
            Ok(Shown {
                receipts,
                wires,
                related,
                events,
                before_event,
                came_with,
                opened_by: self.limit.map(|_| row.opened_by),
                lease: row.lease(),
                thread: row.thread,
                messages,
                artifacts,
                next_event_id,
            })
        })?;
        if shown.messages.is_empty() && self.before_event.is_none() {
            inbox.confirm_empty()?;
            return Err(without_messages(shown.thread.thread_id));
        }
        Ok(shown)
    }
}

impl Show {
    /// The messages that are asked for, oldest first, each with its event, and the event before which there are more.
    fn messages(&self, tx: &mut Tx<'_>, thread: ThreadId) -> Result<Part, Abort> {
        let is_whole =
            self.limit.is_none() && self.before_event.is_none() && self.message.is_none();
        if is_whole {
            return Ok((tx.numbered_messages(thread)?, None));
        }
        let newest = self.before_event.unwrap_or(EventId(i64::MAX));
        let page = self.page(tx, thread, newest)?;
        let Some(wanted) = self.message else {
            return Ok(page);
        };
        if page.0.iter().any(|(_, it)| it.message_id == wanted) {
            return Ok(page);
        }
        match tx.load_message(wanted)? {
            Some((event, message)) if message.thread_id == thread => {
                self.page(tx, thread, EventId(event.0 + 1))
            }
            _ => Err(no_message(wanted).into()),
        }
    }

    fn page(&self, tx: &mut Tx<'_>, thread: ThreadId, before: EventId) -> Result<Part, Abort> {
        let limit = page_limit(self.limit)?;
        let mut found = tx.newest_messages(thread, before, limit + 1)?;
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let is_cut = found.len() > shown;
        found.truncate(shown);
        let more = found.last().map(|(event, _)| *event).filter(|_| is_cut);
        found.reverse();
        Ok((found, more))
    }
}

/// Messages with their events, and the event before which there are more.
type Part = (Vec<(EventId, Message)>, Option<EventId>);

/// A thread begins with a message: where a store is too large to be checked for each empty answer, this is damage all the same.
fn without_messages(id: ThreadId) -> Refusal {
    let problem = format!("the store is damaged: {id} has none of its messages");
    Refusal::new(Code::StoreCorrupt, problem)
        .hint("inbox doctor says what is wrong; keep a copy of the files first")
}

fn no_notes(entity: &Entity) -> Refusal {
    Refusal::new(
        Code::ThreadNotFound,
        format!("there is no note on {entity}"),
    )
    .hint(format!(
        "inbox note --ref {entity} --note TEXT posts the first"
    ))
    .detail("ref", entity.to_string())
}

impl Answer for Shown {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        if !self.wires.is_empty() {
            let lines = self.wires.iter().map(|wire| format!("{wire}\n"));
            return Page::default().text(lines.collect());
        }
        let mut page = Page::default().thread_line(&self.thread);
        if let Some(lease) = &self.lease {
            page = page.until(
                format!("leased to {} until", lease.agent_id),
                lease.expires_at,
            );
        }
        for message in &self.messages {
            page = page.message(message);
            let mut ladders = self.receipts.iter();
            if let Some(ladder) = ladders.find(|ladder| ladder.message_id == message.message_id) {
                page = ladder.lines().into_iter().fold(page, Page::line);
            }
            for artifact in self
                .artifacts
                .iter()
                .filter(|artifact| artifact.message_id == message.message_id)
            {
                let size = artifact
                    .metadata_json
                    .size
                    .map(|size| format!(" ({size} bytes)"))
                    .unwrap_or_default();
                page = page.line(format!(
                    "  {} {}{size}",
                    artifact.artifact_id, artifact.path
                ));
            }
        }
        for thread in &self.related {
            page = page.thread_line(thread);
        }
        if !self.events.is_empty() {
            page = page.events(&self.events);
        }
        page
    }
}

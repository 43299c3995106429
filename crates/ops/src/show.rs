//! `show`: one thread, whole.

use inbox_core::{Artifact, Code, Entity, EventId, Lease, Message, Refusal, Thread, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, thread};
use crate::note::thread_of;
use crate::page::Page;
use crate::receipts::{Ladder, ladder};

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
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Show {
    const NAME: &'static str = "show";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Shown;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Shown, Refusal> {
        inbox.read(|tx| {
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
            let messages = tx.messages(id)?;
            let artifacts = tx.artifacts(id)?;
            let next_event_id = tx.newest_event()?;
            let forms = messages.iter().filter(|_| self.wire);
            let wires = forms
                .map(|message| inbox_wire::form(message, &row.thread))
                .collect();
            let mut receipts = Vec::new();
            for message in messages.iter().filter(|_| self.receipts) {
                receipts.push(ladder(tx, message.message_id)?);
            }
            Ok(Shown {
                receipts,
                wires,
                related,
                lease: row.lease(),
                thread: row.thread,
                messages,
                artifacts,
                next_event_id,
            })
        })
    }
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
        page
    }
}

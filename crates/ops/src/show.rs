//! `show`: one thread, whole.

use inbox_core::{Artifact, EventId, Lease, Message, Refusal, Thread, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, thread};
use crate::page::Page;

/// Show one thread with its whole history
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Show this thread
    pub thread: ThreadId,
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
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Show {
    const NAME: &'static str = "show";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Shown;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Shown, Refusal> {
        inbox.store().read(|tx| {
            let row = thread(tx, self.thread)?;
            let messages = tx.messages(self.thread)?;
            let artifacts = tx.artifacts(self.thread)?;
            let next_event_id = tx.newest_event()?;
            Ok(Shown {
                lease: row.lease(),
                thread: row.thread,
                messages,
                artifacts,
                next_event_id,
            })
        })
    }
}

impl Answer for Shown {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let mut page = Page::default().thread_line(&self.thread);
        if let Some(lease) = &self.lease {
            page = page.until(
                format!("leased to {} until", lease.agent_id),
                lease.expires_at,
            );
        }
        for message in &self.messages {
            page = page.message(message);
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
        page
    }
}

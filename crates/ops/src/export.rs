//! `export`: a thread as a document.

use inbox_core::{EventId, Refusal, ThreadId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::Page;
use crate::show::{Show, Shown};

/// How a thread is written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Format {
    /// For people.
    #[default]
    Markdown,
    /// For programs: what `show` answers.
    Json,
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "markdown" => Ok(Format::Markdown),
            "json" => Ok(Format::Json),
            other => {
                let refusal = Refusal::input(format!("unknown format {other:?}"))
                    .hint("use one of markdown, json");
                Err(serde::de::Error::custom(refusal.carried()))
            }
        }
    }
}

/// Write a thread down as Markdown or JSON
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// Write down this thread
    pub thread: ThreadId,
    /// Write markdown, the default, or json
    #[serde(default)]
    pub format: Format,
}

/// A thread as a document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// Which thread.
    pub thread_id: ThreadId,
    /// How it is written.
    pub format: Format,
    /// The document.
    pub text: String,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Export {
    const NAME: &'static str = "export";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Exported;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Exported, Refusal> {
        let shown = Show {
            thread: self.thread,
        }
        .run(inbox, caller)?;
        let text = match self.format {
            Format::Markdown => markdown(&shown),
            Format::Json => serde_json::to_string_pretty(&shown)
                .map_err(|error| Refusal::new(inbox_core::Code::Internal, error.to_string()))?,
        };
        let next_event_id = shown.next_event_id;
        Ok(Exported {
            thread_id: self.thread,
            format: self.format,
            text,
            next_event_id,
        })
    }
}

impl Answer for Exported {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        Page::default().text(self.text.clone())
    }
}

fn markdown(shown: &Shown) -> String {
    let thread = &shown.thread;
    let to: Vec<_> = thread.to.iter().map(ToString::to_string).collect();
    let mut out = format!(
        "# {}\n\n| | |\n|---|---|\n| thread | {} |\n| status | {} |\n| priority | {} |\n| from | {} |\n| to | {} |\n| assigned to | {} |\n| opened | {} |\n",
        thread.subject.replace('\n', " "),
        thread.thread_id,
        thread.status,
        thread.priority,
        thread.created_by,
        to.join(", "),
        thread.assigned_to,
        thread.created_at,
    );
    for message in &shown.messages {
        let verified = if message.verified { "" } else { ", unverified" };
        out.push_str(&format!(
            "\n## {} from {} ({}{verified}, {})\n\n{}\n",
            message.kind,
            message.from_agent,
            message.created_at,
            message.message_id,
            message.summary
        ));
        if !message.body.is_empty() {
            out.push_str(&format!("\n{}\n", message.body.trim_end()));
        }
        if message
            .payload_json
            .as_object()
            .is_none_or(|payload| !payload.is_empty())
        {
            let pretty = serde_json::to_string_pretty(&message.payload_json).unwrap_or_default();
            out.push_str(&format!("\n```json\n{pretty}\n```\n"));
        }
        for artifact in shown
            .artifacts
            .iter()
            .filter(|artifact| artifact.message_id == message.message_id)
        {
            let hash = artifact
                .metadata_json
                .sha256
                .as_deref()
                .unwrap_or("not read");
            out.push_str(&format!(
                "\n- artifact `{}` (SHA-256 {hash})\n",
                artifact.path
            ));
        }
    }
    out
}

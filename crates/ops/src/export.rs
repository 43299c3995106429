//! `export`: threads and mail as documents.

use inbox_core::{Code, EventId, Message, MessageId, Refusal, Step, Thread, ThreadId};
use inbox_store::{Abort, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::exchange::mailbox::{self, Attached, Outgoing};
use crate::exchange::{LooseRead, Seen, graph};
use crate::page::Page;
use crate::show::{Show, Shown};
use crate::step::thread;

/// How many messages one answer holds.
const BATCH: i64 = 1000;

/// How it is written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Format {
    /// A thread for people.
    #[default]
    Markdown,
    /// A thread for programs: what `show` answers.
    Json,
    /// Messages in their Wire form, one a line.
    Wire,
    /// Messages as lines of an agent mailbox.
    Mailbox,
    /// Who read which message, as lines beside a mailbox.
    Reads,
    /// Messages as entities and relations, one a line.
    Graph,
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "markdown" => Ok(Format::Markdown),
            "json" => Ok(Format::Json),
            "wire" => Ok(Format::Wire),
            "mailbox" => Ok(Format::Mailbox),
            "reads" => Ok(Format::Reads),
            "graph" => Ok(Format::Graph),
            other => {
                let refusal = Refusal::input(format!("unknown format {other:?}"))
                    .hint("use one of markdown, json, wire, mailbox, reads, graph");
                Err(serde::de::Error::custom(refusal.carried()))
            }
        }
    }
}

/// Write a thread, or all mail, down as a document
///
/// A thread as markdown, json or wire; all messages as wire, mailbox, reads or graph: one JSON object a line, a
/// thousand messages in an answer, and --after-event goes on. With --dir the lines of a mailbox and of its reads
/// go into agent-mailbox.jsonl and agent-mailbox-reads.jsonl there.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Export {
    /// Write down this thread
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Write markdown, the default, json, wire, mailbox, reads or graph
    #[serde(default)]
    pub format: Format,
    /// Write down what came after this event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
}

/// A document.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Exported {
    /// Which thread; null for all mail.
    pub thread_id: Option<ThreadId>,
    /// How it is written.
    pub format: Format,
    /// The document.
    pub text: String,
    /// Whether there is more after `next_event_id`.
    pub truncated: bool,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Export {
    const NAME: &'static str = "export";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Exported;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Exported, Refusal> {
        match (self.thread, self.format) {
            (Some(thread), Format::Markdown | Format::Json) => self.document(inbox, caller, thread),
            (None, Format::Markdown | Format::Json) => Err(Refusal::input(
                "which thread? markdown and json write down one",
            )
            .hint(
                "inbox export --thread ID, or --format wire, mailbox, reads or graph for all mail",
            )),
            _ => inbox.read(|tx| self.lines(tx)),
        }
    }
}

impl Export {
    fn document(&self, inbox: &Inbox, caller: &Caller, id: ThreadId) -> Result<Exported, Refusal> {
        let shown = Show::of(id).run(inbox, caller)?;
        let text = match self.format {
            Format::Markdown => markdown(&shown),
            _ => serde_json::to_string_pretty(&shown)
                .map_err(|error| Refusal::new(Code::Internal, error.to_string()))?,
        };
        Ok(Exported {
            thread_id: Some(id),
            format: self.format,
            text,
            truncated: false,
            next_event_id: shown.next_event_id,
        })
    }

    fn lines(&self, tx: &mut Tx<'_>) -> Result<Exported, Abort> {
        let newest = tx.newest_event()?;
        let after = self.after_event.unwrap_or(EventId(0));
        let mut found = match self.thread {
            Some(id) => {
                thread(tx, id)?;
                tx.messages(id)?
                    .into_iter()
                    .map(|message| (newest, message))
                    .collect()
            }
            None => tx.messages_after(after, BATCH + 1)?,
        };
        let most = usize::try_from(BATCH).unwrap_or(usize::MAX);
        let truncated = self.thread.is_none() && found.len() > most;
        if truncated {
            found.truncate(most);
        }
        let next_event_id = match found.last() {
            Some((event, _)) if truncated => *event,
            _ => newest,
        };
        let mut text = String::new();
        let mut threads: Vec<Thread> = Vec::new();
        for (_, message) in &found {
            let at = match threads
                .iter()
                .position(|it| it.thread_id == message.thread_id)
            {
                Some(at) => at,
                None => {
                    threads.push(thread(tx, message.thread_id)?.thread);
                    threads.len() - 1
                }
            };
            for line in self.of_message(tx, message, &threads[at])? {
                text.push_str(&line);
                text.push('\n');
            }
        }
        Ok(Exported {
            thread_id: self.thread,
            format: self.format,
            text,
            truncated,
            next_event_id,
        })
    }

    fn of_message(
        &self,
        tx: &mut Tx<'_>,
        message: &Message,
        thread: &Thread,
    ) -> Result<Vec<String>, Abort> {
        if self.format == Format::Wire {
            return Ok(vec![inbox_wire::form(message, thread).to_string()]);
        }
        let (reads, acks) = seen(tx, message.message_id)?;
        let parent_uid = match message.parent_message_id {
            Some(parent) => tx.load_message(parent)?.map(|(_, parent)| parent.uid),
            None => None,
        };
        let artifacts = attached(tx, message)?;
        let outgoing = Outgoing {
            message,
            thread: Some(thread),
            parent_uid: parent_uid.as_deref(),
            reads: &reads,
            acks: &acks,
            artifacts: &artifacts,
        };
        Ok(match self.format {
            Format::Graph => graph::lines(&outgoing),
            Format::Reads => reads
                .iter()
                .map(|seen| {
                    mailbox::encode_read(&LooseRead {
                        message_uid: message.uid.clone(),
                        reader: seen.reader.clone(),
                        at: seen.at,
                    })
                })
                .collect(),
            _ => vec![mailbox::encode(&outgoing)],
        })
    }
}

/// What is attached to a message.
pub(crate) fn attached(tx: &mut Tx<'_>, message: &Message) -> Result<Vec<Attached>, Abort> {
    let all = tx.artifacts(message.thread_id)?.into_iter();
    let own = all.filter(|artifact| artifact.message_id == message.message_id);
    Ok(own
        .map(|artifact| Attached {
            path: artifact.path,
            kind: artifact.kind,
            metadata_json: artifact.metadata_json,
        })
        .collect())
}

/// Who has read a message and who has acknowledged it, by session where there was one.
pub(crate) fn seen(tx: &mut Tx<'_>, message: MessageId) -> Result<(Vec<Seen>, Vec<Seen>), Abort> {
    let (mut reads, mut acks) = (Vec::new(), Vec::new());
    for receipt in tx.receipts(message)? {
        let reader = match &receipt.session {
            Some(session) => session.to_string(),
            None => receipt.agent.to_string(),
        };
        let seen = Seen {
            reader,
            at: receipt.at,
        };
        match receipt.step {
            Step::Read => reads.push(seen),
            Step::Acked if !acks.iter().any(|ack: &Seen| ack.reader == seen.reader) => {
                acks.push(seen);
            }
            _ => {}
        }
    }
    Ok((reads, acks))
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

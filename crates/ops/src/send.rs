//! `send`: a new thread, or a message in one.

use inbox_core::lifecycle::Command;
use inbox_core::record::Millis;
use inbox_core::{Address, Kind, Label, Mode, Priority, RefType, Refusal, ThreadId, limit};
use inbox_store::{Abort, NewMessage, NewThread, Tx};
use serde_json::Value;

use crate::answer::{Delivery, Posted};
use crate::call::{Caller, Effect, Identity, Inbox, Operation, take, thread};
use crate::content::{json_size, message_request};

message_request! {
    /// Open a thread, or add a message to one
    ///
    /// Without --thread a new thread is opened, which needs --to and --subject; opened by a task, the
    /// default, it is work that one of those it reaches can claim.
    #[derive(Default)]
    pub struct Send {
        /// Send to an agent's name, role:NAME, a tag such as project:NAME, or all; repeat for several
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub to: Vec<Address>,
        /// Say what a new thread is about, in one line
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub subject: Option<String>,
        /// Add to this thread in place of opening one
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub thread: Option<ThreadId>,
        /// Label a new thread with a scheduler's run
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub run: Option<Label>,
        /// Label a new thread with a scheduler's task
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub task: Option<Label>,
        /// Say what the message is; a new thread is opened by a task unless told otherwise
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub kind: Option<Kind>,
        /// Say how urgent a new thread is, by name or number 1 to 5
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub priority: Option<Priority>,
        /// Let the message expire after so many hours
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ttl_hours: Option<i64>,
        /// Name the message's type: an open, dotted word such as review.request
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message_type: Option<Label>,
        /// Add structured context beside the payload
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub context_json: Option<Value>,
        /// Say what sort of entity a new thread is about
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ref_type: Option<RefType>,
        /// Say which entity a new thread is about
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ref_id: Option<Label>,
    }
}

impl Operation for Send {
    const NAME: &'static str = "send";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        match self.thread {
            Some(thread) => self.add(thread, inbox, caller),
            None => self.open(inbox, caller),
        }
    }
}

impl Send {
    fn open(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        let subject = self.subject.as_deref().ok_or_else(|| {
            Refusal::input("a new thread needs a subject")
                .hint("pass --subject TEXT, or --thread ID to add to a thread")
        })?;
        limit::required("the subject", subject, limit::SUBJECT)?;
        if self.to.is_empty() {
            return Err(Refusal::input("a new thread needs an address")
                .hint("pass --to AGENT, role:NAME, a tag such as project:NAME, or all"));
        }
        let entity = match (self.ref_type, &self.ref_id) {
            (Some(ref_type), Some(ref_id)) => Some((ref_type, ref_id.to_string())),
            (None, None) => None,
            _ => return Err(Refusal::input("--ref-type and --ref-id belong together")),
        };
        let kind = self.kind.unwrap_or(Kind::Task);
        let message = self.message(caller, kind, Some(subject))?;
        inbox.write(self, caller, |tx, agent| {
            let new = NewThread {
                subject: subject.to_owned(),
                priority: self.priority.unwrap_or(Priority::Normal),
                run: self.run.as_ref().map(ToString::to_string),
                task: self.task.as_ref().map(ToString::to_string),
                entity: entity.clone(),
            };
            let message = self.with_expiry(message.clone(), tx.now());
            let delivery = deliveries(tx, &message.to)?;
            let recorded = tx.open_thread(agent, caller.session.as_ref(), new, message)?;
            posted(recorded, delivery, self.content().warnings())
        })
    }

    fn add(&self, id: ThreadId, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        for (flag, given) in [
            ("--subject", self.subject.is_some()),
            ("--run", self.run.is_some()),
            ("--task", self.task.is_some()),
            ("--priority", self.priority.is_some()),
            ("--ref-type", self.ref_type.is_some()),
            ("--ref-id", self.ref_id.is_some()),
        ] {
            if given {
                return Err(Refusal::input(format!(
                    "{flag} belongs to a new thread, not to --thread {id}"
                )));
            }
        }
        let kind = self.kind.unwrap_or(Kind::Event);
        let message = self.message(caller, kind, None)?;
        inbox.write(self, caller, |tx, agent| {
            let message = self.with_expiry(message.clone(), tx.now());
            let delivery = deliveries(tx, &message.to)?;
            add_message(
                tx,
                id,
                caller,
                agent,
                message,
                delivery,
                self.content().warnings(),
            )
        })
    }

    fn message(
        &self,
        caller: &Caller,
        kind: Kind,
        default_summary: Option<&str>,
    ) -> Result<NewMessage, Refusal> {
        if self.to.len() > limit::ADDRESSES {
            let (found, most) = (self.to.len(), limit::ADDRESSES);
            return Err(Refusal::input(format!(
                "there are {found} addresses; the most is {most}"
            )));
        }
        if let Some(hours) = self.ttl_hours {
            limit::in_range("--ttl-hours", hours, 1, limit::TTL_MAX_HOURS)?;
        }
        let mut message = self.content().message(caller, kind, default_summary)?;
        if let Some(context) = &self.context_json {
            json_size("the context", context)?;
            message.context = context.clone();
        }
        message.message_type = self.message_type.as_ref().map(ToString::to_string);
        for address in &self.to {
            if !message.to.contains(address) {
                message.to.push(address.clone());
            }
        }
        Ok(message)
    }

    /// Expiry as asked for, else the longest of the addresses' own.
    fn with_expiry(&self, mut message: NewMessage, now: Millis) -> NewMessage {
        let by_mode = || {
            let hours: Option<Vec<i64>> = message
                .to
                .iter()
                .map(|address| address.mode().default_ttl_hours())
                .collect();
            hours.and_then(|hours| hours.into_iter().max())
        };
        message.expires_at = self
            .ttl_hours
            .or_else(by_mode)
            .map(|hours| Millis(now.0 + hours * 3_600_000));
        message
    }
}

/// Adds a message to a thread, by the rules.
pub(crate) fn add_message(
    tx: &mut Tx<'_>,
    id: ThreadId,
    caller: &Caller,
    agent: &inbox_core::AgentName,
    message: NewMessage,
    delivery: Vec<Delivery>,
    warnings: Vec<String>,
) -> Result<Posted, Abort> {
    let row = thread(tx, id)?;
    let command = Command::Append(message.kind);
    let recorded = take(tx, caller, agent, row, command, Some(message))?;
    posted(recorded, delivery, warnings)
}

/// How each address is read now, and what its sender should know.
fn deliveries(tx: &mut Tx<'_>, to: &[Address]) -> Result<Vec<Delivery>, Abort> {
    let mut found = Vec::with_capacity(to.len());
    for address in to {
        let (reaches, note) = match address.mode() {
            Mode::Agent => match address.as_str().parse() {
                Ok(name) if tx.find_agent(&name)?.is_some() => (1, None),
                _ => (
                    0,
                    Some("nobody has this name yet; it reaches the first who does"),
                ),
            },
            Mode::Role => (
                0,
                Some("nobody holds this role now; it waits for the first who does"),
            ),
            Mode::Tag => (
                0,
                Some("no session has this tag now; it waits until it expires"),
            ),
            Mode::Broadcast => (
                0,
                Some("no session is alive now; it waits until it expires"),
            ),
        };
        found.push(Delivery {
            address: address.clone(),
            mode: address.mode(),
            reaches,
            note: note.map(str::to_owned),
        });
    }
    Ok(found)
}

/// The answer to a recorded message.
pub(crate) fn posted(
    recorded: inbox_store::Recorded,
    delivery: Vec<Delivery>,
    warnings: Vec<String>,
) -> Result<Posted, Abort> {
    let message = recorded.message.ok_or_else(|| {
        Refusal::new(
            inbox_core::Code::Internal,
            "a message was decided and none was written",
        )
    })?;
    Ok(Posted {
        thread: recorded.row.thread,
        message,
        artifacts: recorded.artifacts,
        delivery,
        warnings,
        next_event_id: inbox_core::EventId(0),
    })
}

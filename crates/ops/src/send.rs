//! `send`: a new thread, or a message in one.

use inbox_core::lifecycle::Command;
use inbox_core::{
    Address, Code, Entity, Kind, Label, MessageId, Priority, RefType, Refusal, ThreadId, limit,
};
use inbox_store::{Abort, Foresight, NewMessage, NewThread, Tx};
use serde_json::Value;

use crate::answer::{Delivery, Posted};
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::config::Config;
use crate::content::{json_size, message_request};
use crate::step::{open, take, thread};
use crate::{deliver, typed};

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
        /// Start work from a brief: a Wire of that type, whose goal is the subject
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub brief: Option<Value>,
        /// Say which message this one follows from, where that is not clear by itself
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub parent: Option<MessageId>,
    }
}

impl Operation for Send {
    const NAME: &'static str = "send";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        match self.thread {
            Some(thread) => foresight.step(thread),
            None => foresight.opening(),
        }
        for address in &self.to {
            foresight.reading(address);
        }
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        match (self.thread, &self.brief) {
            (Some(thread), None) => self.add(thread, inbox, caller),
            (None, None) => self.open(inbox, caller),
            (None, Some(brief)) => {
                let mut request = self.with_brief(inbox.config(), brief)?;
                request.brief = None;
                request.open(inbox, caller)
            }
            (Some(thread), Some(_)) => Err(Refusal::input(format!(
                "--brief starts new work, and does not go with --thread {thread}"
            ))),
        }
    }
}

impl Send {
    /// The request that a brief stands for: what it does not say itself, the brief says.
    fn with_brief(&self, config: &Config, json: &Value) -> Result<Send, Refusal> {
        if self.payload_json.is_some() || self.kind.is_some_and(|kind| kind != Kind::Task) {
            return Err(Refusal::input(
                "a brief is the payload of a task: --payload-json and --kind do not go with it",
            ));
        }
        let brief = typed::brief(config, json)?;
        let mut request = self.clone();
        let goal: String = brief.goal.chars().take(limit::SUBJECT).collect();
        request.subject.get_or_insert(goal);
        if request.body.is_none() {
            request.body = Some(brief.context.clone()).filter(|text| !text.is_empty());
        }
        if let Some(task) = &brief.env.task_id {
            let label: Label = task.parse()?;
            if request.ref_type.is_none() && request.ref_id.is_none() {
                request.ref_type = Some(RefType::Task);
                request.ref_id = Some(label.clone());
            }
            request.task.get_or_insert(label);
        }
        request.payload_json = Some(json.clone());
        Ok(request)
    }

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
            (Some(ref_type), Some(ref_id)) => Some(Entity {
                ref_type,
                ref_id: ref_id.clone(),
            }),
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
                entity: entity.as_ref().map(Entity::parts),
                own: None,
            };
            let mut message = message.clone();
            self.check_parent(tx)?;
            let delivery = deliver::address(tx, inbox.config(), &mut message, self.ttl_hours)?;
            let recorded = open(tx, inbox.config(), caller, agent, new, message, true)?;
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
            let mut message = message.clone();
            self.check_parent(tx)?;
            let delivery = deliver::address(tx, inbox.config(), &mut message, self.ttl_hours)?;
            let recorded = add_message(tx, inbox.config(), id, caller, agent, message)?;
            posted(recorded, delivery, self.content().warnings())
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
        message.parent = self.parent;
        for address in &self.to {
            if !message.to.contains(address) {
                message.to.push(address.clone());
            }
        }
        Ok(message)
    }

    fn check_parent(&self, tx: &mut Tx<'_>) -> Result<(), Abort> {
        match self.parent {
            Some(parent) if tx.spoken(parent)?.is_none() => Err(no_message(parent).into()),
            _ => Ok(()),
        }
    }
}

/// There is no such message.
pub(crate) fn no_message(id: MessageId) -> Refusal {
    Refusal::new(Code::MessageNotFound, format!("there is no message {id}"))
        .hint("inbox show --thread ID lists the messages of a thread")
        .detail("message_id", id.to_string())
}

/// Adds a message to a thread, by the rules.
pub(crate) fn add_message(
    tx: &mut Tx<'_>,
    config: &Config,
    id: ThreadId,
    caller: &Caller,
    agent: &inbox_core::AgentName,
    message: NewMessage,
) -> Result<inbox_store::Recorded, Abort> {
    let row = thread(tx, id)?;
    let command = Command::Append(message.kind);
    take(tx, config, caller, agent, row, command, Some(message))
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
        notified: Vec::new(),
        warnings,
        next_event_id: inbox_core::EventId(0),
    })
}

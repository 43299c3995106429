//! `note`: a word on an entity's own thread.

use inbox_core::lifecycle::Command;
use inbox_core::text::first_line;
use inbox_core::{Address, Entity, Kind, Priority, Refusal, limit};
use inbox_store::{Abort, NewMessage, NewThread, ThreadRow, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::config::Config;
use crate::content::{ArtifactRef, Content};
use crate::route::is_for;
use crate::send::posted;
use crate::step::step;
use crate::{deliver, guard, ledger};

/// Post a note to a task, phase, stage, project or agent
///
/// The notes on an entity are one thread, which show --ref prints. Everyone in --notify finds the note in its
/// inbox at once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Say what it is about: task:ID, phase:ID, stage:ID, project:ID or agent:NAME
    #[serde(rename = "ref")]
    pub entity: Entity,
    /// Say it, in Markdown
    pub note: String,
    /// Put it into this inbox; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<Address>,
    /// Say how urgent it is, by name or number 1 to 5
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Attach files by reference
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactRef>,
}

impl Operation for Note {
    const NAME: &'static str = "note";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        limit::required("the note", &self.note, limit::NOTE)?;
        let content = Content {
            summary: Some(first_line(&self.note)),
            body: Some(&self.note),
            payload_json: None,
            artifacts: &self.artifacts,
        };
        let mut message = content.message(caller, Kind::Event, None)?;
        let event = format!("{}.note", self.entity.ref_type);
        message.message_type = Some(event.clone());
        message.priority = self.priority;
        inbox.write(self, caller, |tx, agent| {
            let config = inbox.config();
            let mut message = message.clone();
            message.to.clone_from(&self.notify);
            follow(config, &event, &mut message);
            let delivery = deliver::address(tx, config, &mut message, None)?;
            let own = commentary(&self.entity);
            if message.to.is_empty() {
                message.to.push(own.clone());
            }
            let recorded = match thread_of(tx, &self.entity)? {
                Some(row) => {
                    let command = Command::Append(Kind::Event);
                    step(tx, config, caller, agent, row, command, Some(message))?
                }
                None => {
                    guard::opening(tx, config, caller, agent, &mut message)?;
                    let session = caller.session.as_ref();
                    tx.open_thread(agent, session, notes_on(&self.entity), message)?
                }
            };
            if let Some(message) = &recorded.message {
                ledger::tell_note(tx, config, agent, self, message)?;
            }
            let notified = delivery.iter().map(|it| it.address.clone()).collect();
            let answer = posted(recorded, delivery, content.warnings())?;
            Ok(Posted { notified, ..answer })
        })
    }
}

/// Adds those whom routes name for a note, and how urgent they find it.
pub(crate) fn follow(config: &Config, event: &str, message: &mut NewMessage) {
    for route in config
        .routes
        .iter()
        .filter(|route| is_for(&route.on, event))
    {
        message.to.extend(route.to.iter().cloned());
        message.priority = message.priority.or(route.priority);
    }
}

/// The thread of the notes on an entity that has none yet.
pub(crate) fn notes_on(entity: &Entity) -> NewThread {
    NewThread {
        subject: format!("notes on {entity}"),
        priority: Priority::Normal,
        run: None,
        task: None,
        entity: Some(entity.parts()),
        own: Some(commentary(entity)),
    }
}

/// The address of the notes on an entity.
pub(crate) fn commentary(entity: &Entity) -> Address {
    Address::entity(entity.ref_type, entity.ref_id.as_str())
}

/// The thread of the notes on an entity, once there is one.
pub(crate) fn thread_of(tx: &mut Tx<'_>, entity: &Entity) -> Result<Option<ThreadRow>, Abort> {
    Ok(tx.thread_of_address(&commentary(entity))?)
}

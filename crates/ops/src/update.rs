//! `update`: progress, or a question that blocks.

use inbox_core::lifecycle::Command;
use inbox_core::{Kind, Refusal, Status, ThreadId};
use inbox_store::Foresight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::content::message_request;
use crate::done::take_step;

/// What an update says about the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum UpdateStatus {
    /// It goes on.
    InProgress,
    /// It waits for an answer.
    Blocked,
}

impl<'de> Deserialize<'de> for UpdateStatus {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Status::deserialize(deserializer)? {
            Status::InProgress => Ok(UpdateStatus::InProgress),
            Status::Blocked => Ok(UpdateStatus::Blocked),
            other => Err(serde::de::Error::custom(format!(
                "an update cannot make a thread {other}: use one of in_progress, blocked; done, fail, release and cancel are commands"
            ))),
        }
    }
}

message_request! {
    /// Report progress, or ask a question that blocks the work
    ///
    /// Blocked, the summary must say exactly what is missing; then wait with wait-reply.
    pub struct Update {
        /// Update this thread, which the caller holds
        pub thread: ThreadId,
        /// Say where the work stands; in_progress unless told otherwise
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub status: Option<UpdateStatus>,
    }
}

impl Operation for Update {
    const NAME: &'static str = "update";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        foresight.typed_step(self.thread);
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        let (command, kind) = match self.status.unwrap_or(UpdateStatus::InProgress) {
            UpdateStatus::InProgress => (Command::Start, Kind::Progress),
            UpdateStatus::Blocked => (Command::Block, Kind::Question),
        };
        let message = self.content().message(caller, kind, None)?;
        take_step(
            inbox,
            caller,
            self,
            self.thread,
            command,
            message,
            self.content().warnings(),
        )
    }
}

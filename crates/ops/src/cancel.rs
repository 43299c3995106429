//! `cancel`: called off.

use inbox_core::lifecycle::Command;
use inbox_core::{Kind, Refusal, ThreadId};
use inbox_store::Foresight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::content::Content;
use crate::done::take_step;

/// Call a thread off
///
/// Whoever holds it loses its lease and is told by a control message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Call off this thread
    pub thread: ThreadId,
    /// Say why
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Operation for Cancel {
    const NAME: &'static str = "cancel";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        foresight.step(self.thread);
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        let content = Content {
            summary: self.reason.as_deref(),
            body: None,
            payload_json: None,
            artifacts: &[],
        };
        let message = content.message(caller, Kind::Control, Some("cancelled"))?;
        take_step(
            inbox,
            caller,
            self,
            self.thread,
            Command::Cancel,
            message,
            Vec::new(),
        )
    }
}

//! `release`: give a thread back.

use inbox_core::lifecycle::Command;
use inbox_core::{EventId, Refusal, ThreadId};
use inbox_store::Foresight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Released;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::step::{take, thread};

/// Give a thread back, so that another can claim it
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Give back this thread, which the caller holds
    pub thread: ThreadId,
}

impl Operation for Release {
    const NAME: &'static str = "release";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Released;

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        foresight.thread(self.thread);
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Released, Refusal> {
        inbox.write(self, caller, |tx, agent| {
            let row = thread(tx, self.thread)?;
            let row = take(
                tx,
                inbox.config(),
                caller,
                agent,
                row,
                Command::Release,
                None,
            )?
            .row;
            Ok(Released {
                thread: row.thread,
                next_event_id: EventId(0),
            })
        })
    }
}

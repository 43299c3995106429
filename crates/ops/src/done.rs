//! `done`: finished, with a result.

use inbox_core::lifecycle::Command;
use inbox_core::{Kind, Refusal, ThreadId};
use inbox_store::NewMessage;

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, addressees, take, thread};
use crate::content::message_request;
use crate::send::posted;

message_request! {
    /// Finish a thread with its result
    pub struct Done {
        /// Finish this thread, which the caller holds
        pub thread: ThreadId,
    }
}

impl Operation for Done {
    const NAME: &'static str = "done";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        let message = self.content().message(caller, Kind::Result, None)?;
        take_step(
            inbox,
            caller,
            self,
            self.thread,
            Command::Finish,
            message,
            self.content().warnings(),
        )
    }
}

/// Takes a step that writes a message: decided and committed in one transaction.
pub(crate) fn take_step<O: Operation<Answer = Posted>>(
    inbox: &Inbox,
    caller: &Caller,
    request: &O,
    id: ThreadId,
    command: Command,
    message: NewMessage,
    warnings: Vec<String>,
) -> Result<Posted, Refusal> {
    inbox.write(request, caller, |tx, agent| {
        let row = thread(tx, id)?;
        let mut message = message.clone();
        message.to = addressees(&row, agent);
        let recorded = take(tx, caller, agent, row, command, Some(message))?;
        posted(recorded, Vec::new(), warnings.clone())
    })
}

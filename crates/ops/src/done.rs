//! `done`: finished, with a result.

use inbox_core::lifecycle::{Command, decide};
use inbox_core::{Kind, Refusal, ThreadId};
use inbox_store::{NewMessage, Step};

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, addressees, thread};
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
        let facts = tx.facts(&row, &caller.asking())?;
        let decision = decide(&facts, command, tx.now())?;
        let mut message = message.clone();
        message.to = addressees(&row, agent);
        let step = Step {
            agent,
            session: caller.session.as_ref(),
            decision,
            lease_ms: None,
            message: Some(message),
        };
        let recorded = tx.commit_step(row, step)?;
        posted(recorded, Vec::new(), warnings.clone())
    })
}

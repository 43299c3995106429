//! `done`: finished, with a result.

use inbox_core::lifecycle::Command;
use inbox_core::{Kind, Refusal, ThreadId};
use inbox_store::{Foresight, NewMessage};

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::content::message_request;
use crate::send::posted;
use crate::step::{must_be_allowed, take, thread};
use crate::{deliver, route, typed};

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

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        foresight.typed_step(self.thread);
    }

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
        tx.meet_opener(id)?;
        let mut message = message.clone();
        deliver::to_thread(inbox.config(), &row, agent, &mut message, tx.now());
        let config = inbox.config();
        let events = route::events(command, &row, &message.payload_json);
        must_be_allowed(tx, caller, agent, &row, command)?;
        typed::check_step(tx, config, agent, &row, command, &message)?;
        let routes = route::routes(tx, config, command, agent, &message)?;
        let mut recorded = take(tx, config, caller, agent, row, command, Some(message))?;
        let mut warnings = warnings.clone();
        let mut notified = Vec::new();
        if !events.is_empty()
            && !routes.is_empty()
            && let Some(message) = &recorded.message
        {
            let (row, told) = route::follow(tx, config, &routes, &events, recorded.row, message)?;
            recorded.row = row;
            warnings.extend(told.warnings);
            notified = told.addresses;
        }
        let answer = posted(recorded, Vec::new(), warnings)?;
        Ok(Posted { notified, ..answer })
    })
}

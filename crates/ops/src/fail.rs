//! `fail`: given up, with a reason.

use inbox_core::lifecycle::Command;
use inbox_core::{Kind, Refusal, ThreadId};
use inbox_store::Foresight;

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::content::message_request;
use crate::done::take_step;

message_request! {
    /// Give a thread up, with the reason
    pub struct Fail {
        /// Give up this thread, which the caller holds
        pub thread: ThreadId,
    }
}

impl Operation for Fail {
    const NAME: &'static str = "fail";
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
            Command::Fail,
            message,
            self.content().warnings(),
        )
    }
}

//! `reply`: an answer, or another word, in a thread.

use inbox_core::{Address, Kind, Refusal, ThreadId};
use inbox_store::Foresight;

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::content::message_request;
use crate::deliver;
use crate::send::{add_message, posted};
use crate::step::thread;

message_request! {
    /// Reply inside a thread
    ///
    /// An answer wakes a worker that waits with wait-reply. No lease is needed.
    pub struct Reply {
        /// Reply in this thread
        pub thread: ThreadId,
        /// Say whom it is for, when it is not everybody that the thread is addressed to
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub to: Vec<Address>,
        /// Say what the message is; an answer unless told otherwise
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub kind: Option<Kind>,
    }
}

impl Reply {
    /// A reply in this thread that says nothing yet.
    pub fn to(thread: ThreadId) -> Self {
        Reply {
            thread,
            to: Vec::new(),
            kind: None,
            summary: None,
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        }
    }
}

impl Operation for Reply {
    const NAME: &'static str = "reply";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        foresight.step(self.thread);
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        let mut message =
            self.content()
                .message(caller, self.kind.unwrap_or(Kind::Answer), None)?;
        message.to.clone_from(&self.to);
        inbox.write(self, caller, |tx, agent| {
            let mut message = message.clone();
            let row = thread(tx, self.thread)?;
            message.parent = row.thread.latest_message_id;
            let delivery = if message.to.is_empty() {
                deliver::to_thread(inbox.config(), &row, agent, &mut message, tx.now());
                Vec::new()
            } else {
                deliver::address(tx, inbox.config(), &mut message, None)?
            };
            let recorded = add_message(tx, inbox.config(), self.thread, caller, agent, message)?;
            posted(recorded, delivery, self.content().warnings())
        })
    }
}

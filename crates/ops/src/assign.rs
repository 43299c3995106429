//! `assign`: work goes to another, or back to those whom it was for.

use inbox_core::lifecycle::Command;
use inbox_core::{Address, Kind, Refusal, ThreadId};
use inbox_store::Foresight;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Posted;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::content::Content;
use crate::deliver;
use crate::send::posted;
use crate::step::{take, thread};

/// Give work to another, or take it back for those whom it was for
///
/// Whoever holds it loses its lease and is told by a control message. Without --to it is free again for those whom it was for. Its
/// creator may, and a person.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assign {
    /// Give away this thread
    pub thread: ThreadId,
    /// Give it to this address in place of those it was sent to; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<Address>,
    /// Say why
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Operation for Assign {
    const NAME: &'static str = "assign";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Posted;

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        foresight.thread(self.thread);
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Posted, Refusal> {
        let content = Content {
            summary: self.reason.as_deref(),
            body: None,
            payload_json: None,
            artifacts: &[],
        };
        let (command, said) = if self.to.is_empty() {
            (Command::TakeBack, "taken back for those whom it was for")
        } else {
            (Command::Assign, "given to another")
        };
        let message = content.message(caller, Kind::Control, Some(said))?;
        inbox.write(self, caller, |tx, agent| {
            let mut message = message.clone();
            let mut row = thread(tx, self.thread)?;
            let holder = row.holder.clone().filter(|_| row.thread.status.is_held());
            message.parent = row.thread.latest_message_id;
            message.to.clone_from(&self.to);
            let delivery = deliver::address(tx, inbox.config(), &mut message, None)?;
            let to = message.to.clone();
            if to.is_empty() {
                message.to.clone_from(&row.thread.to);
            }
            // Who had it is told as well.
            if let Some(holder) = holder.map(|name| Address::from(&name))
                && !message.to.contains(&holder)
            {
                message.to.push(holder);
            }
            message.deadlines.clear();
            if !to.is_empty() {
                tx.move_thread(&mut row, &to)?;
            }
            let config = inbox.config();
            let recorded = take(tx, config, caller, agent, row, command, Some(message))?;
            posted(recorded, delivery, Vec::new())
        })
    }
}

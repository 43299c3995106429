//! `renew`: hold a thread longer.

use inbox_core::lifecycle::Command;
use inbox_core::{EventId, Refusal, ThreadId};
use inbox_store::{Abort, Foresight, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Leased;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::claim::lease_ms;
use crate::config::Config;
use crate::step::{take, thread};

/// Hold a thread for longer
///
/// The lease then ends so many seconds from now; its token and epoch stay.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// Hold this thread, which the caller holds already
    pub thread: ThreadId,
    /// Hold it for so many seconds from now, 1 to 604800; 900 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<i64>,
}

impl Operation for Renew {
    const NAME: &'static str = "renew";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Leased;

    fn foresee(&self, _caller: &Caller, foresight: &mut Foresight<'_>) {
        foresight.thread(self.thread);
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Leased, Refusal> {
        let lease_ms = lease_ms(self.lease_seconds)?;
        inbox.write(self, caller, |tx, agent| {
            renew(tx, inbox.config(), agent, caller, self.thread, lease_ms)
        })
    }
}

/// Extends the caller's lease by the rules.
pub(crate) fn renew(
    tx: &mut Tx<'_>,
    config: &Config,
    agent: &inbox_core::AgentName,
    caller: &Caller,
    id: ThreadId,
    lease_ms: i64,
) -> Result<Leased, Abort> {
    let row = thread(tx, id)?;
    let row = take(
        tx,
        config,
        caller,
        agent,
        row,
        Command::Renew { lease_ms },
        None,
    )?
    .row;
    Ok(Leased {
        lease: row.lease_with_token(),
        thread: Some(row.thread),
        next_event_id: EventId(0),
    })
}

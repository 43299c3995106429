//! A step in a thread that nobody at the command line takes: what the ledger says happened.

use inbox_core::AgentName;
use inbox_core::lifecycle::{Command, decide};
use inbox_store::{Abort, Asking, NewMessage, Recorded, Step, ThreadRow, Tx};

/// Takes a step as an agent without a session or a lease.
pub(super) fn step(
    tx: &mut Tx<'_>,
    row: ThreadRow,
    agent: &AgentName,
    command: Command,
    message: Option<NewMessage>,
) -> Result<Recorded, Abort> {
    let asking = Asking {
        agent: Some(agent.clone()),
        session: None,
        token: None,
        may_override: false,
    };
    let facts = tx.facts(&row, &asking)?;
    let step = Step {
        agent,
        session: None,
        decision: decide(&facts, command, tx.now())?,
        lease_ms: None,
        message,
        turns: None,
    };
    Ok(tx.commit_step(row, step)?)
}

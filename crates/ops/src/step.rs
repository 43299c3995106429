//! How a thread is opened and goes on: by the rules, and by way of the ledger where that is behind the store.

use inbox_core::lifecycle::{Command, decide};
use inbox_core::{AgentName, Code, Entity, Refusal, ThreadId};
use inbox_store::{Abort, NewMessage, NewThread, Recorded, Step, ThreadRow, Tx};

use crate::call::Caller;
use crate::config::Config;
use crate::{guard, ledger};

/// The thread, or the refusal that says there is none.
pub(crate) fn thread(tx: &mut Tx<'_>, id: ThreadId) -> Result<ThreadRow, Abort> {
    tx.load_thread(id)?.ok_or_else(|| {
        Refusal::new(Code::ThreadNotFound, format!("there is no thread {id}"))
            .hint(
                "inbox list shows the threads of this store; inbox search finds archived ones too",
            )
            .detail("thread_id", id.to_string())
            .into()
    })
}

/// Whether the rules allow a step, for checks that come after them.
pub(crate) fn must_be_allowed(
    tx: &mut Tx<'_>,
    caller: &Caller,
    agent: &AgentName,
    row: &ThreadRow,
    command: Command,
) -> Result<(), Abort> {
    let facts = tx.facts(row, &caller.asking_as(agent))?;
    decide(&facts, command, tx.now())
        .map(drop)
        .map_err(Abort::from)
}

/// Takes a step on a thread, by way of the ledger where that is behind the store.
pub(crate) fn take(
    tx: &mut Tx<'_>,
    config: &Config,
    caller: &Caller,
    agent: &AgentName,
    row: ThreadRow,
    command: Command,
    message: Option<NewMessage>,
) -> Result<Recorded, Abort> {
    let mut message = message;
    if let Some(message) = &mut message {
        if message.to.is_empty() {
            message.to.clone_from(&row.thread.to);
        }
        // What changes a thread, answers or steers is never held back.
        let may_wait = matches!(command, Command::Append(kind) if ledger::may_wait(kind));
        let priority = message.priority.unwrap_or(row.thread.priority);
        if let Command::Append(_) = command {
            ledger::answered(tx, config, caller, agent, row.thread.thread_id, message)?;
        }
        ledger::over(tx, config, agent, Some(row.thread.thread_id), message)?;
        ledger::pass(tx, config, agent, message, priority, may_wait)?;
    }
    let recorded = step(tx, config, caller, agent, row, command, message)?;
    ledger::tell_step(tx, config, agent, &recorded, command)?;
    Ok(recorded)
}

/// Opens a thread with a message, by way of the ledger where that is behind the store. What is told of the past waits for nothing.
pub(crate) fn open(
    tx: &mut Tx<'_>,
    config: &Config,
    caller: &Caller,
    agent: &AgentName,
    new: NewThread,
    mut message: NewMessage,
    may_wait: bool,
) -> Result<Recorded, Abort> {
    guard::opening(tx, config, caller, agent, &mut message)?;
    ledger::over(tx, config, agent, None, &mut message)?;
    ledger::pass(tx, config, agent, &mut message, new.priority, may_wait)?;
    if let Some((ref_type, id)) = &new.entity
        && let Ok(ref_id) = id.parse()
    {
        let ref_type = *ref_type;
        ledger::follow_entity(tx, config, &Entity { ref_type, ref_id })?;
    }
    Ok(tx.open_thread(agent, caller.session.as_ref(), new, message)?)
}

/// Takes a step on a thread: the facts are gathered, the rules decide, and the decision is committed.
pub(crate) fn step(
    tx: &mut Tx<'_>,
    config: &Config,
    caller: &Caller,
    agent: &AgentName,
    row: ThreadRow,
    command: Command,
    message: Option<NewMessage>,
) -> Result<Recorded, Abort> {
    let facts = tx.facts(&row, &caller.asking_as(agent))?;
    let decision = decide(&facts, command, tx.now())?;
    let lease_ms = match command {
        Command::Claim { lease_ms } | Command::Renew { lease_ms } => Some(lease_ms),
        _ => None,
    };
    let session = caller.session.as_ref();
    let mut message = message;
    let turns = match &mut message {
        Some(message) => Some(guard::in_thread(tx, config, agent, &row, command, message)?),
        None => None,
    };
    let step = Step {
        agent,
        session,
        decision,
        lease_ms,
        message,
        turns,
    };
    Ok(tx.commit_step(row, step)?)
}

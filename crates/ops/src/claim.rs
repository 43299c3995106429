//! `claim`: take one thread, alone.

use inbox_core::lifecycle::Command;
use inbox_core::{AgentName, EventId, Label, Refusal, ThreadId, limit};
use inbox_store::{Abort, Foresight, Labels, ThreadRow, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Leased};
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::step::{take, thread};

/// Take a thread under a lease
///
/// Without --thread the best candidate is taken: the most urgent, then the oldest. The answer's
/// `lease_token` proves the claim; pass it as --lease with every write.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Take this thread
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Hold it for so many seconds, 1 to 604800; 900 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_seconds: Option<i64>,
    /// Take only work with this run
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Label>,
    /// Take only work with this task
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
}

impl Operation for Claim {
    const NAME: &'static str = "claim";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Leased;

    fn foresee(&self, caller: &Caller, foresight: &mut Foresight<'_>) {
        match (self.thread, &caller.agent) {
            (Some(thread), _) => foresight.thread(thread),
            (None, Some(agent)) => {
                foresight.claim(agent, &labels(self.run.as_ref(), self.task.as_ref()));
            }
            (None, None) => {}
        }
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Leased, Refusal> {
        let lease_ms = lease_ms(self.lease_seconds)?;
        if self.thread.is_some() && (self.run.is_some() || self.task.is_some()) {
            return Err(Refusal::input(
                "--run and --task choose among candidates and do not go with --thread",
            ));
        }
        let labels = labels(self.run.as_ref(), self.task.as_ref());
        let answer = inbox.write(self, caller, |tx, agent| {
            let row = match self.thread {
                Some(id) => Some(thread(tx, id)?),
                None => best(tx, agent, caller, &labels)?,
            };
            let Some(row) = row else {
                return Ok(Leased {
                    thread: None,
                    lease: None,
                    next_event_id: EventId(0),
                });
            };
            let row = take(
                tx,
                inbox.config(),
                caller,
                agent,
                row,
                Command::Claim { lease_ms },
                None,
            )?
            .row;
            Ok(Leased {
                lease: row.lease_with_token(),
                thread: Some(row.thread),
                next_event_id: EventId(0),
            })
        })?;
        if !answer.is_something() {
            inbox.confirm_empty()?;
        }
        Ok(answer)
    }
}

/// The best candidate for an agent: the most urgent, then the oldest, by every address that reaches it.
fn best(
    tx: &mut Tx<'_>,
    agent: &AgentName,
    caller: &Caller,
    labels: &Labels,
) -> Result<Option<ThreadRow>, Abort> {
    let reader = tx.reader(agent, caller.session.as_ref())?;
    for reached in &reader.addresses {
        tx.foresee_claim(labels, &reached.address);
    }
    let mut candidates = Vec::new();
    for reached in &reader.addresses {
        candidates.extend(tx.claimable_to_take(labels, &reached.address)?);
    }
    Ok(candidates.into_iter().min_by_key(order))
}

/// The order in which work is given out.
pub(crate) fn order(row: &ThreadRow) -> (inbox_core::Priority, ThreadId) {
    (row.thread.priority, row.thread.thread_id)
}

/// The length of a lease, checked.
pub(crate) fn lease_ms(seconds: Option<i64>) -> Result<i64, Refusal> {
    let seconds = seconds.unwrap_or(limit::LEASE_DEFAULT);
    Ok(limit::in_range(
        "--lease-seconds",
        seconds,
        limit::LEASE_MIN,
        limit::LEASE_MAX,
    )? * 1000)
}

/// A scheduler's labels as the store filters by them.
pub(crate) fn labels(run: Option<&Label>, task: Option<&Label>) -> Labels {
    Labels {
        run: run.map(ToString::to_string),
        task: task.map(ToString::to_string),
    }
}

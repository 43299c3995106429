//! `fetch`: what the caller could claim.

use inbox_core::{EventId, Label, Refusal, Status, limit};
use inbox_store::{Abort, ThreadRow, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Threads;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::claim::{labels, order};

/// List work that the caller could claim, without claiming it
///
/// That is pending work addressed to it and work whose lease ran out; the most urgent first, then the
/// oldest. Only claim grants ownership.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// List work with these statuses, claimable or not, separated by commas
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<Status>,
    /// List at most so many; 100 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// List only threads with a message that the caller has not read
    #[serde(default)]
    pub unread: bool,
    /// List only work with this run
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Label>,
    /// List only work with this task
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
}

impl Operation for Fetch {
    const NAME: &'static str = "fetch";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Threads;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Threads, Refusal> {
        let agent = caller.agent()?;
        let limit = page_limit(self.limit)?;
        let labels = labels(self.run.as_ref(), self.task.as_ref());
        let answer = inbox.read(|tx| {
            let newest = tx.newest_event()?;
            let reader = tx.reader(agent, caller.session.as_ref())?;
            let agent_no = (reader.agent_no > 0).then_some(reader.agent_no);
            // An unread filter may pass over some, so the page grows until it is full or all were seen.
            let mut depth = limit + 1;
            loop {
                let mut found: Vec<ThreadRow> = Vec::new();
                let mut is_all = true;
                for reached in &reader.addresses {
                    let here = if self.status.is_empty() {
                        tx.claimable(&labels, &reached.address, depth)?
                    } else {
                        tx.reached_by_status(&labels, reached, &self.status, depth)?
                    };
                    is_all &= i64::try_from(here.len()).unwrap_or(i64::MAX) < depth;
                    found.extend(here);
                }
                found.sort_by_key(order);
                found.dedup_by_key(|row| row.thread.thread_id);
                if self.unread {
                    let mut unread = Vec::with_capacity(found.len());
                    for row in found {
                        if tx.has_unread(row.thread.thread_id, agent_no)? {
                            unread.push(row);
                        }
                    }
                    found = unread;
                }
                if is_all || i64::try_from(found.len()).unwrap_or(i64::MAX) > limit {
                    return page(tx, found, limit, newest);
                }
                depth *= 4;
            }
        })?;
        if answer.threads.is_empty() {
            inbox.confirm_empty()?;
        }
        Ok(answer)
    }
}

/// The size of a page, checked.
pub(crate) fn page_limit(limit: Option<i64>) -> Result<i64, Refusal> {
    limit::in_range(
        "--limit",
        limit.unwrap_or(limit::PAGE_DEFAULT),
        1,
        limit::PAGE_MAX,
    )
}

/// Cuts an answer to its limit. Cut short, it goes on after the last event that it delivered.
pub(crate) fn page(
    tx: &mut Tx<'_>,
    mut rows: Vec<ThreadRow>,
    limit: i64,
    newest: EventId,
) -> Result<Threads, Abort> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let truncated = rows.len() > limit;
    rows.truncate(limit);
    let mut next_event_id = newest;
    if truncated {
        next_event_id = tx.latest_event(rows.iter().map(|row| row.thread.thread_id))?;
    }
    let threads = rows.into_iter().map(|row| row.thread).collect();
    Ok(Threads {
        threads,
        truncated,
        next_event_id,
        empty_is_fine: false,
    })
}

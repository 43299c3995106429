//! `list`: threads by filter.

use inbox_core::{AgentName, EventId, Label, Refusal, Status, ThreadId};
use inbox_store::ThreadFilter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Threads;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::claim::labels;
use crate::fetch::{page, page_limit};

/// List threads, newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// List threads that this agent created, holds or is reached by
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// List threads with these statuses, separated by commas
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<Status>,
    /// List threads that this agent opened
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<AgentName>,
    /// List threads that this agent holds, or that wait for this address
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned_to: Option<inbox_core::Address>,
    /// List threads with this run
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Label>,
    /// List threads with this task
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    /// List at most so many; 100 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// List threads older than this one: the last of a page gives the next page
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_thread: Option<ThreadId>,
    /// List threads with an event after this one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
}

impl Operation for List {
    const NAME: &'static str = "list";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Ignored;
    type Answer = Threads;

    fn completed(&self, answer: Threads) -> Threads {
        Threads {
            empty_is_fine: true,
            ..answer
        }
    }

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Threads, Refusal> {
        let limit = page_limit(self.limit)?;
        if let (Some(thread), Some(_)) = (self.before_thread, self.after_event) {
            return Err(Refusal::input(format!(
                "--before-thread {thread} and --after-event are two ways through a list"
            ))
            .hint("inbox list --before-thread ID goes back; inbox list --after-event N follows"));
        }
        let filter = ThreadFilter {
            status: self.status.clone(),
            created_by: self.created_by.clone(),
            assigned_to: self.assigned_to.as_ref().map(ToString::to_string),
            labels: labels(self.run.as_ref(), self.task.as_ref()),
            agent: self.agent.clone(),
            before: self.before_thread,
        };
        let mut answer = inbox.read(|tx| {
            let newest = tx.newest_event()?;
            match self.after_event {
                None => {
                    let rows = tx.list(&filter, limit + 1)?;
                    page(tx, rows, limit, newest)
                }
                Some(after) => {
                    let mut changed = tx.list_changed(&filter, after, limit + 1)?;
                    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                    let truncated = changed.len() > limit;
                    changed.truncate(limit);
                    let last = changed.last().map_or(newest, |(event, _)| *event);
                    let mut threads: Vec<_> =
                        changed.into_iter().map(|(_, row)| row.thread).collect();
                    threads.sort_by_key(|thread| std::cmp::Reverse(thread.thread_id));
                    let next_event_id = if truncated { last } else { newest };
                    Ok(Threads {
                        threads,
                        truncated,
                        next_event_id,
                        empty_is_fine: true,
                    })
                }
            }
        })?;
        answer.empty_is_fine = true;
        if answer.threads.is_empty() {
            inbox.confirm_empty()?;
        }
        Ok(answer)
    }
}

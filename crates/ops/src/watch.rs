//! `watch`: events as they happen.

use std::time::Duration;

use inbox_core::{Event, EventId, Label, Refusal, Status, ThreadId};
use inbox_store::EventFilter;
use inbox_store::bell::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, Waiting};
use crate::claim::labels;
use crate::page::Page;

/// The most events in one answer.
const BATCH: i64 = 500;

/// Block until something happens
///
/// With an agent, events by others in threads that it created, holds or is reached by; without one,
/// every event. It starts now unless --after-event says otherwise.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    /// Wake on events that left one of these statuses, separated by commas
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<Status>,
    /// Wake on events in this thread
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Wake on events in threads with this run
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Label>,
    /// Wake on events in threads with this task
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    /// Wake on events after this one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
    /// Wait at most so many seconds; 0 looks once
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// Go on with every further event
    #[serde(default)]
    pub follow: bool,
}

/// What happened.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// Whether something did.
    pub woke: bool,
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Watch {
    const NAME: &'static str = "watch";
    const EFFECT: Effect = Effect::Wait;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Watched;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Watched, Refusal> {
        self.poll(&mut None, inbox, caller)
    }
}

impl Waiting for Watch {
    /// The cursor.
    type State = Option<EventId>;

    fn key(&self, caller: &Caller) -> Key {
        match (self.thread, &caller.agent) {
            (Some(thread), _) => Key::Thread(thread),
            (None, Some(agent)) => Key::from(agent),
            (None, None) => Key::Any,
        }
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout_seconds
            .map(|seconds| Duration::from_secs(seconds.into()))
    }

    fn poll(
        &self,
        state: &mut Self::State,
        inbox: &Inbox,
        caller: &Caller,
    ) -> Result<Watched, Refusal> {
        let filter = EventFilter {
            status: self.status.clone(),
            labels: labels(self.run.as_ref(), self.task.as_ref()),
            thread: self.thread,
            agent: caller.agent.clone(),
        };
        let answer = inbox.read(|tx| {
            let newest = tx.newest_event()?;
            if let Some(thread) = self.thread {
                crate::step::thread(tx, thread)?;
            }
            let after = state.or(self.after_event).unwrap_or(newest);
            let mut events = tx.events_after(after, &filter, BATCH + 1)?;
            let batch = usize::try_from(BATCH).unwrap_or(usize::MAX);
            let is_cut = events.len() > batch;
            events.truncate(batch);
            let last = events.last().map_or(newest, |event| event.event_id);
            let next_event_id = if is_cut { last } else { newest.max(after) };
            Ok(Watched {
                woke: !events.is_empty(),
                events,
                next_event_id,
            })
        })?;
        *state = Some(answer.next_event_id);
        Ok(answer)
    }

    fn is_over(answer: &Watched) -> bool {
        answer.woke
    }

    fn is_stream(&self) -> bool {
        self.follow
    }
}

impl Answer for Watched {
    fn is_something(&self) -> bool {
        self.woke
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        Page::default().events(&self.events)
    }
}

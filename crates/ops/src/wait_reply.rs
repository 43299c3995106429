//! `wait-reply`: the wait of a blocked worker.

use std::time::{Duration, Instant};

use inbox_core::record::Millis;
use inbox_core::{Code, EventId, Kind, Message, MessageId, Refusal, ThreadId};
use inbox_store::bell::Key;
use inbox_store::{Abort, ThreadRow, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, Waiting, must_be_own_session};
use crate::lock;
use crate::page::Page;
use crate::renew::renew;
use crate::step::thread;

/// Block until somebody answers in a thread
///
/// It starts after the caller's last message in the thread unless told otherwise, and wakes on an
/// answer, control or result by somebody else. The holder's own lease is kept alive while it waits.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitReply {
    /// Wait in this thread
    pub thread: ThreadId,
    /// Start after this message
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_message: Option<MessageId>,
    /// Start after this event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
    /// Wake on these kinds, separated by commas; answer, control and result unless told otherwise
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<Kind>,
    /// Wait at most so many seconds; 0 looks once
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
}

/// What a wait remembers between its polls.
#[derive(Debug, Default)]
pub struct WaitState {
    after: Option<EventId>,
    held: Option<Held>,
    began: bool,
    orphaned: bool,
    /// When the lease must be renewed.
    due: Option<Instant>,
}

/// The caller's own lease, while it waits.
#[derive(Debug)]
struct Held {
    epoch: i64,
    lease_ms: i64,
    renew_at: Millis,
}

/// The reply.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Waited {
    /// Whether there is one.
    pub woke: bool,
    /// The reply, or null.
    pub message: Option<Message>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for WaitReply {
    const NAME: &'static str = "wait-reply";
    const EFFECT: Effect = Effect::Wait;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Waited;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Waited, Refusal> {
        self.poll(&mut WaitState::default(), inbox, caller)
    }
}

impl Waiting for WaitReply {
    type State = WaitState;

    fn key(&self, _caller: &Caller) -> Key {
        Key::Thread(self.thread)
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout_seconds
            .map(|seconds| Duration::from_secs(seconds.into()))
    }

    fn poll(
        &self,
        state: &mut WaitState,
        inbox: &Inbox,
        caller: &Caller,
    ) -> Result<Waited, Refusal> {
        if self.after_message.is_some() && self.after_event.is_some() {
            return Err(Refusal::input(
                "--after-message and --after-event say the same in two ways: pass one",
            ));
        }
        let (answer, mut now) = inbox.read(|tx| {
            self.look(tx, state, caller)
                .map(|answer| (answer, tx.now()))
        })?;
        if !answer.woke
            && !state.orphaned
            && let Some(held) = state.held.as_mut().filter(|held| held.renew_at <= now)
        {
            let agent = caller.agent.clone();
            let lease_ms = held.lease_ms;
            let renewed = inbox.store().write(|tx| {
                let row = thread(tx, self.thread)?;
                let agent = agent
                    .clone()
                    .or(row.holder)
                    .ok_or_else(|| lost(self.thread))?;
                renew(tx, inbox.config(), &agent, caller, self.thread, lease_ms).map(|_| tx.now())
            })?;
            now = renewed.value;
            held.renew_at = renew_at(now, lease_ms);
        }
        state.due = state.held.as_ref().map(|held| {
            let left = u64::try_from(held.renew_at.0.saturating_sub(now.0)).unwrap_or(0);
            Instant::now() + Duration::from_millis(left)
        });
        Ok(answer)
    }

    fn is_over(answer: &Waited) -> bool {
        answer.woke
    }

    fn wake_at(state: &WaitState) -> Option<Instant> {
        state.due.filter(|_| !state.orphaned)
    }

    fn orphan(state: &mut WaitState) {
        state.orphaned = true;
    }
}

impl WaitReply {
    fn look(
        &self,
        tx: &mut Tx<'_>,
        state: &mut WaitState,
        caller: &Caller,
    ) -> Result<Waited, Abort> {
        let row = thread(tx, self.thread)?;
        self.watch_lease(tx, state, caller, &row)?;
        let after = match state.after {
            Some(after) => after,
            None => self.start(tx, caller)?,
        };
        state.after = Some(after);
        let default = [Kind::Answer, Kind::Control, Kind::Result];
        let kinds = if self.kinds.is_empty() {
            &default[..]
        } else {
            &self.kinds
        };
        let me = caller.agent.as_ref().or(if state.held.is_some() {
            row.holder.as_ref()
        } else {
            None
        });
        match tx.next_reply(self.thread, after, kinds, me)? {
            Some((event, message)) => Ok(Waited {
                woke: true,
                message: Some(message),
                next_event_id: event,
            }),
            None => Ok(Waited {
                woke: false,
                message: None,
                next_event_id: tx.newest_event()?.max(after),
            }),
        }
    }

    /// Where the wait begins.
    fn start(&self, tx: &mut Tx<'_>, caller: &Caller) -> Result<EventId, Abort> {
        if let Some(after) = self.after_event {
            return Ok(after);
        }
        if let Some(id) = self.after_message {
            return match tx.load_message(id)? {
                Some((event, message)) if message.thread_id == self.thread => Ok(event),
                _ => Err(Refusal::new(
                    Code::MessageNotFound,
                    format!("there is no message {id} in thread {}", self.thread),
                )
                .hint(format!("inbox show --thread {} lists them", self.thread))
                .into()),
            };
        }
        let agent = match (&caller.agent, &caller.lease) {
            (Some(agent), _) => Some(agent.clone()),
            (None, Some(token)) => tx.agent_of_token(token)?,
            (None, None) => None,
        };
        match agent {
            Some(agent) => Ok(tx
                .latest_message_by(self.thread, &agent)?
                .unwrap_or_default()),
            None => Ok(EventId::default()),
        }
    }

    /// Finds out whether the caller waits as the thread's holder, and whether it still is.
    ///
    /// A thread that has ended is no lost lease: its result or cancellation is what the wait is for.
    fn watch_lease(
        &self,
        tx: &mut Tx<'_>,
        state: &mut WaitState,
        caller: &Caller,
        row: &ThreadRow,
    ) -> Result<(), Abort> {
        if row.thread.status.is_final() {
            return Ok(());
        }
        if !state.began {
            must_be_own_session(tx, caller)?;
        }
        let now = tx.now();
        let facts = tx.facts(row, &caller.asking())?;
        let command = inbox_core::lifecycle::Command::Renew {
            lease_ms: row.lease_ms.unwrap_or(1),
        };
        let holds = inbox_core::lifecycle::decide(&facts, command, now);
        if !state.began {
            state.began = true;
            match holds {
                Ok(_) if caller.may_write => {
                    // Who waits as the holder keeps the lease, which is done in that one's name.
                    if let Some(holder) = &row.holder {
                        lock::must_be_proven(tx, caller, holder)?;
                    }
                    let lease_ms = row.lease_ms.unwrap_or(1);
                    let until = row.lease_until.unwrap_or(now);
                    let third = lease_ms / 3;
                    let renew_at = Millis((until.0 - third).min(now.0 + third));
                    state.held = Some(Held {
                        epoch: row.epoch,
                        lease_ms,
                        renew_at,
                    });
                }
                Ok(_) => {}
                // Who names the proof of a lease that is gone is told so at once.
                Err(refusal)
                    if caller
                        .lease
                        .is_some_and(|token| token.thread == self.thread) =>
                {
                    return Err(refusal.into());
                }
                Err(_) => {}
            }
            return Ok(());
        }
        match &state.held {
            Some(held) if held.epoch != row.epoch => {
                Err(holds.err().unwrap_or_else(|| lost(self.thread)).into())
            }
            Some(_) => holds.map(drop).map_err(Abort::from),
            None => Ok(()),
        }
    }
}

fn renew_at(now: Millis, lease_ms: i64) -> Millis {
    Millis(now.0 + lease_ms / 3)
}

fn lost(thread: ThreadId) -> Refusal {
    Refusal::new(
        Code::LeaseLost,
        format!("the lease on thread {thread} was lost during the wait"),
    )
    .hint(format!(
        "stop working on it; inbox claim --thread {thread} takes it again when it is free"
    ))
}

impl Answer for Waited {
    fn is_something(&self) -> bool {
        self.woke
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        match &self.message {
            Some(message) => Page::default().message(message),
            None => Page::default().line("no reply yet".to_owned()),
        }
    }
}

//! What a call stands on: a store that is here, or a server's. Operations and looks are the same on both.

use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_ops::{Answer, Caller, Inbox, Operation, Waiting, Watch};
use serde_json::Value;

use crate::far::{Far, cursor};

/// A store, or a server that may be given some time to answer.
pub(crate) enum Ground<'a> {
    Store(&'a Inbox),
    Server(&'a Far, Duration),
}

impl Ground<'_> {
    /// Runs an operation.
    pub(crate) fn run<O: Operation>(
        &self,
        request: &O,
        caller: &Caller,
    ) -> Result<O::Answer, Refusal> {
        match self {
            Ground::Store(inbox) => request.run(inbox, caller),
            Ground::Server(far, _) => far.call(request, caller),
        }
    }

    /// Looks with an operation that does not wait. A server without an answer is listened to for a while, and asked
    /// again.
    pub(super) fn look<O: Operation>(
        &self,
        request: &O,
        caller: &Caller,
    ) -> Result<O::Answer, Refusal> {
        let answer = self.run(request, caller)?;
        let Ground::Server(far, patience) = self else {
            return Ok(answer);
        };
        if answer.is_something() || patience.is_zero() {
            return Ok(answer);
        }
        let watch = Watch {
            after_event: cursor(&answer)
                .and_then(|next| next.as_i64())
                .map(inbox_core::EventId),
            ..Watch::default()
        };
        wait_at(far, &watch, None, caller, *patience)?;
        self.run(request, caller)
    }
}

/// Lets a server wait for so long.
fn wait_at<O: Waiting>(
    far: &Far,
    request: &O,
    after: Option<&Value>,
    caller: &Caller,
    patience: Duration,
) -> Result<O::Answer, Refusal> {
    let mut body = serde_json::to_value(request).map_err(crate::envelope::internal)?;
    // A part of a second counts as a whole one.
    body["timeout_seconds"] =
        Value::from(patience.as_secs() + u64::from(patience.subsec_nanos() > 0));
    if let Some(after) = after {
        body["after_event"] = after.clone();
    }
    far.call_waiting(request, body.to_string(), caller, patience)
}

/// An operation that waits, looked at again and again.
pub(super) struct Polled<O: Waiting> {
    request: O,
    state: O::State,
    /// Where to go on at a server, which remembers nothing.
    after: Option<Value>,
}

impl<O: Waiting> Polled<O> {
    pub(super) fn new(request: O) -> Self {
        Polled {
            request,
            state: O::State::default(),
            after: None,
        }
    }

    /// Looks once.
    pub(super) fn look(
        &mut self,
        ground: &Ground<'_>,
        caller: &Caller,
    ) -> Result<O::Answer, Refusal> {
        match ground {
            Ground::Store(inbox) => self.request.poll(&mut self.state, inbox, caller),
            Ground::Server(far, patience) => {
                let after = self.after.as_ref();
                let answer = wait_at(far, &self.request, after, caller, *patience)?;
                self.after = cursor(&answer);
                Ok(answer)
            }
        }
    }

    /// When to look again although nothing rang.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        O::wake_at(&self.state)
    }
}

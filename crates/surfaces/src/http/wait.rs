//! A server's way of waiting: a task looks, sleeps until the bell rings for it, and looks again.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_ops::{Caller, Waiting};
use inbox_store::bell::PATIENCE;

use super::engine::Engine;
use super::table::{self, Reply};

/// A wait that has begun.
pub(super) type Answering = Pin<Box<dyn Future<Output = Reply> + Send>>;

/// How often a session that waits is written down as there.
const BEAT: Duration = Duration::from_mins(5);

/// Begins a wait.
pub(super) fn start<O: Waiting>(
    engine: Arc<Engine>,
    caller: Caller,
    body: &[u8],
) -> Result<Answering, Refusal> {
    let request: O = table::request(body)?;
    Ok(Box::pin(async move {
        let mut wait = Wait::new(engine, request, caller);
        let answer = wait.next().await?;
        table::write(O::NAME, &answer)
    }))
}

/// One wait, which may be gone on with after it gave something.
pub(super) struct Wait<O: Waiting> {
    engine: Arc<Engine>,
    request: Arc<O>,
    caller: Arc<Caller>,
    state: Option<O::State>,
    deadline: Option<Instant>,
    beaten: Instant,
}

impl<O: Waiting> Wait<O> {
    pub(super) fn new(engine: Arc<Engine>, request: O, caller: Caller) -> Self {
        let now = Instant::now();
        Wait {
            engine,
            deadline: request.timeout().map(|timeout| now + timeout),
            request: Arc::new(request),
            caller: Arc::new(caller),
            state: Some(O::State::default()),
            beaten: now,
        }
    }

    /// The next answer that counts, or the last one when the time has passed.
    pub(super) async fn next(&mut self) -> Result<O::Answer, Refusal> {
        loop {
            if let Some(answer) = self.within(Duration::MAX).await? {
                return Ok(answer);
            }
        }
    }

    /// The same, or nothing when there was nothing for so long.
    ///
    /// Level-triggered: note the bell, look, sleep while it stays. What never rings is found by looking again within a
    /// second.
    pub(super) async fn within(&mut self, time: Duration) -> Result<Option<O::Answer>, Refusal> {
        let begun = Instant::now();
        let engine = Arc::clone(&self.engine);
        let mut waiter = engine.waker.register(&self.request.key(&self.caller));
        let _counted = engine.metrics.waits();
        loop {
            waiter.rearm();
            let (answer, due) = self.look().await?;
            if O::is_over(&answer) {
                return Ok(Some(answer));
            }
            let now = Instant::now();
            let left = self.deadline.map(|end| end.saturating_duration_since(now));
            if left == Some(Duration::ZERO) || engine.is_stopping() {
                // A damaged store can look as if nothing had happened.
                engine
                    .look(|inbox| Ok(inbox.store().confirm_empty()?))
                    .await?;
                return Ok(Some(answer));
            }
            if begun.elapsed() >= time {
                return Ok(None);
            }
            let due = due.map(|time| time.saturating_duration_since(now));
            let patience = [left, due]
                .into_iter()
                .flatten()
                .fold(PATIENCE, Duration::min);
            tokio::select! {
                () = waiter.rang() => {}
                () = tokio::time::sleep(patience) => {}
            }
        }
    }

    async fn look(&mut self) -> Result<(O::Answer, Option<Instant>), Refusal> {
        let (request, caller) = (Arc::clone(&self.request), Arc::clone(&self.caller));
        let mut state = self.state.take().unwrap_or_default();
        let beats = caller.session.is_some() && self.beaten.elapsed() >= BEAT;
        if beats {
            self.beaten = Instant::now();
        }
        let (answer, state) = self
            .engine
            .look(move |inbox| {
                if beats {
                    // A store that cannot be written is no reason to stop waiting.
                    let _ = inbox.beat(&caller);
                }
                let answer = request.poll(&mut state, inbox, &caller)?;
                Ok((answer, state))
            })
            .await?;
        let due = O::wake_at(&state);
        self.state = Some(state);
        Ok((answer, due))
    }
}

//! Faults of the program: one ends its own request and nobody else's, and the server goes on.
//!
//! A store ends by itself what a panic left open; here the panic stops, and whoever asked is told.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use inbox_core::{Code, Refusal};
use inbox_ops::Inbox;

use super::metrics::Metrics;
use crate::cli::print::complain;
use crate::mcp::{Answered, Job};

/// What whoever asked is told. Its write has not happened, unless the fault came while everything was committed.
pub(super) fn refusal() -> Refusal {
    Refusal::new(Code::Internal, "a fault in inbox ended this request")
        .hint("inbox doctor checks the store; send the request again with the same key")
}

/// Runs `f`; nothing when a panic ended it.
pub(super) fn contained<T>(metrics: &Metrics, f: impl FnOnce() -> T) -> Option<T> {
    let ended = catch_unwind(AssertUnwindSafe(f));
    if ended.is_err() {
        metrics.fault();
    }
    ended.ok()
}

/// Runs a job. One that panics has dropped whoever it was to answer, and that tells them.
pub(super) fn run(metrics: &Metrics, job: Job, inbox: Result<&Inbox, Refusal>) -> Answered {
    contained(metrics, || job(inbox)).unwrap_or_else(|| Box::new(|_| ()))
}

/// Awaits `f`; nothing when a panic ended it.
pub(super) async fn awaited<T>(metrics: &Metrics, f: impl Future<Output = T>) -> Option<T> {
    let mut f = pin!(f);
    std::future::poll_fn(
        |context| match contained(metrics, || f.as_mut().poll(context)) {
            Some(Poll::Ready(value)) => Poll::Ready(Some(value)),
            Some(Poll::Pending) => Poll::Pending,
            None => Poll::Ready(None),
        },
    )
    .await
}

/// Has a panic of this process say where it was and not with what: that may be somebody's mail or token.
pub(crate) fn log_without_values() {
    std::panic::set_hook(Box::new(|panic: &PanicHookInfo<'_>| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a thread");
        let place = panic.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        complain(&format!(
            "error: a fault at {place} in {name} ended a request; the server goes on ({})",
            Code::Internal
        ));
    }));
}

#[cfg(test)]
mod tests {
    use super::super::table::Table;
    use super::*;

    #[test]
    fn a_panic_while_a_request_is_answered_ends_at_the_request() {
        let metrics = Metrics::new(&Table::new());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let faulty = async {
            tokio::task::yield_now().await;
            assert!(metrics.page(&Table::new()).is_empty(), "a fault");
        };
        assert_eq!(runtime.block_on(awaited(&metrics, faulty)), None);
        assert_eq!(
            runtime.block_on(awaited(&metrics, async { 7 })),
            Some(7),
            "the next one is answered"
        );
        assert!(
            metrics
                .page(&Table::new())
                .contains("\ninbox_faults_total 1\n")
        );
    }
}

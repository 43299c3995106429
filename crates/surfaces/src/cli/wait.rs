//! The command line's way of waiting: a process blocks on the doorbell.

use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_core::sabotage::planted;
use inbox_ops::{Caller, Inbox, Waiting};
use inbox_store::bell::PATIENCE;

/// Polls until the wait is over or its time has passed, and hands on each answer that counts.
///
/// Level-triggered: note the bell, look, block while it stays. What rings in between is seen by the
/// next look, and what never rings is found by looking again within a second. A stream ends when
/// `hand_on` says that nobody reads it any more.
pub(crate) fn until_over<O: Waiting>(
    request: &O,
    inbox: &Inbox,
    caller: &Caller,
    mut hand_on: impl FnMut(&O::Answer, bool) -> Result<bool, Refusal>,
) -> Result<(), Refusal> {
    let store = inbox.store();
    let deadline = request.timeout().map(|timeout| Instant::now() + timeout);
    let parent = rustix::process::getppid();
    let mut state = O::State::default();
    let mut listener = store.bell().listen(&request.key(caller));
    loop {
        if !planted("bell_without_register") {
            listener.rearm();
        }
        let mark = store.change_mark();
        let answer = request.poll(&mut state, inbox, caller)?;
        if planted("bell_without_register") {
            listener.rearm();
        }
        if O::is_over(&answer) {
            if hand_on(&answer, request.is_stream())? && request.is_stream() {
                continue;
            }
            return Ok(());
        }
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                // A damaged store can look as if nothing had happened.
                store.confirm_empty()?;
                return if request.is_stream() {
                    Ok(())
                } else {
                    hand_on(&answer, false).map(drop)
                };
            }
            if rustix::process::getppid() != parent {
                O::orphan(&mut state);
            }
            let until_due = O::wake_at(&state)
                .map(|time| time.timestamp().duration_since(jiff::Timestamp::now()));
            let due = until_due.map(|left| Duration::try_from(left).unwrap_or(Duration::ZERO));
            let patience = [left, due]
                .into_iter()
                .flatten()
                .fold(PATIENCE, Duration::min);
            let rang = listener.wait(patience);
            let is_due = due.is_some_and(|due| due <= patience);
            // Nobody rang and nobody committed: there is nothing to look for.
            if rang || is_due || mark.is_none() || store.change_mark() != mark {
                break;
            }
        }
    }
}

//! The command line's way of waiting: a process blocks on the doorbell.

use std::time::{Duration, Instant};

use inbox_core::sabotage::planted;
use inbox_core::{Code, Refusal};
use inbox_ops::{Caller, Inbox, Waiting};
use inbox_store::Store;
use inbox_store::bell::PATIENCE;

/// What made a wait look the last time before it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// Nothing: the first look found it.
    AtOnce,
    /// The doorbell rang.
    ByBell,
    /// No ring, but its own look around. With a working bell this means that a ring was missed.
    ByLook,
    /// Nothing came before the time had passed.
    InVain,
}

/// Polls until the wait is over or its time has passed, and hands on each answer that counts. Tells
/// what ended it, so that a test can tell a bell that works from a wait that helped itself. `hand_on`
/// says whether more is wanted: a stream ends with its reader.
///
/// Level-triggered: note the bell, look, block while it stays. What rings in between is seen by the
/// next look, and what never rings is found by looking again within a second.
pub fn until_over<O: Waiting>(
    request: &O,
    inbox: &Inbox,
    caller: &Caller,
    mut hand_on: impl FnMut(&O::Answer, bool) -> Result<bool, Refusal>,
) -> Result<Woken, Refusal> {
    let store = inbox.store();
    be_woken_with_others();
    let deadline = request.timeout().map(|timeout| Instant::now() + timeout);
    let parent = rustix::process::getppid();
    let mut state = O::State::default();
    let mut beats = Beats::default();
    let mut woken = Woken::AtOnce;
    let mut listener = store.listen(&request.key(caller));
    let mut away = Away::default();
    loop {
        if !planted("bell_without_register") {
            listener.rearm();
        }
        if rustix::process::getppid() == parent {
            beats.now_and_then(inbox, caller);
        } else {
            O::orphan(&mut state);
        }
        let mark = store.change_mark();
        let answer = match request.poll(&mut state, inbox, caller) {
            Ok(answer) => answer,
            Err(refusal) if away.is_endured(store, &refusal, deadline) => {
                listener.wait(Away::AGAIN);
                continue;
            }
            Err(refusal) => return Err(refusal),
        };
        away = Away::met();
        if planted("bell_without_register") {
            listener.rearm();
        }
        if O::is_over(&answer) {
            let is_wanted = hand_on(&answer, request.is_stream())?;
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if !request.is_stream() || !is_wanted || is_late {
                return Ok(woken);
            }
            continue;
        }
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                // A damaged store can look as if nothing had happened.
                store.confirm_empty()?;
                if !request.is_stream() {
                    hand_on(&answer, false)?;
                }
                return Ok(Woken::InVain);
            }
            if rustix::process::getppid() == parent {
                beats.now_and_then(inbox, caller);
            } else {
                O::orphan(&mut state);
            }
            let due = O::wake_at(&state).map(|time| time.saturating_duration_since(Instant::now()));
            let patience = [left, due]
                .into_iter()
                .flatten()
                .fold(PATIENCE, Duration::min);
            let rang = listener.wait(patience);
            // Without a next event there is no write that would fail.
            if !rang && request.is_stream() && reader_has_gone() {
                return Ok(woken);
            }
            woken = if rang { Woken::ByBell } else { Woken::ByLook };
            let is_due = due.is_some_and(|due| due <= patience);
            // Nobody rang and nobody committed: there is nothing to look for.
            if rang || is_due || mark.is_none() || store.change_mark() != mark {
                break;
            }
        }
    }
}

/// How long a server has been away that was there when the wait began.
#[derive(Default)]
struct Away {
    was_met: bool,
    since: Option<Instant>,
}

impl Away {
    const AGAIN: Duration = Duration::from_millis(300);
    const AT_MOST: Duration = Duration::from_mins(1);

    fn met() -> Self {
        Away {
            was_met: true,
            since: None,
        }
    }

    /// Whether to look again although this failed: a server that restarts is back in a moment, and nothing
    /// that it acknowledged is lost.
    fn is_endured(&mut self, store: &Store, refusal: &Refusal, deadline: Option<Instant>) -> bool {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        self.was_met
            && store.is_served()
            && refusal.code == Code::Storage
            && now.duration_since(since) < Self::AT_MOST
            && deadline.is_none_or(|deadline| now < deadline)
    }
}

/// Says now and then that a session which waits is there: it would count as dead otherwise.
#[derive(Default)]
pub(crate) struct Beats {
    next: Option<Instant>,
}

impl Beats {
    const EVERY: Duration = Duration::from_mins(5);

    pub(crate) fn now_and_then(&mut self, inbox: &Inbox, caller: &Caller) {
        if caller.session.is_none() {
            return;
        }
        let now = Instant::now();
        if self.next.is_some_and(|next| now >= next) {
            // A store that cannot be written is no reason to stop waiting.
            let _ = inbox.beat(caller);
        }
        if self.next.is_none_or(|next| now >= next) {
            self.next = Some(now + Self::EVERY);
        }
    }
}

/// Whether nobody reads standard output any more: it is a pipe or a socket whose other end is closed.
pub(crate) fn reader_has_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = std::io::stdout();
    let mut ends = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut ends, Some(&at_once)).is_ok() && ends[0].revents().contains(PollFlags::ERR)
}

/// Lets the system wake this process a little late, together with others who wait: a thousand that each
/// look once a second then share a few wake-ups of the processor. A ring is not late.
#[cfg(target_os = "linux")]
pub(crate) fn be_woken_with_others() {
    const LATE_NANOS: u64 = 50_000_000;
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(LATE_NANOS));
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn be_woken_with_others() {}

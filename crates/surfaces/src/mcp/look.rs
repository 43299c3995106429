//! A wait that anybody can do: what to listen for, a look, and when to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inbox_core::{Code, Refusal};
use inbox_ops::{Caller, Inbox};
use inbox_store::bell::Key;
use tokio::sync::oneshot;

/// How long a server may be away that was there when the wait began.
pub(super) const AWAY: Duration = Duration::from_mins(1);

/// Something that is looked for again and again, and not changed by it. An engine begins it, listens for its key, looks, and waits for
/// a ring before each further look; level-triggered, so that no ring is missed.
pub trait Look: Send {
    /// Says what to listen for, or answers why it cannot be.
    fn begin(&mut self, inbox: Result<&Inbox, Refusal>) -> Option<Key>;
    /// Looks once. Whether it is over.
    fn look(&mut self, inbox: &Inbox) -> bool;
    /// When to look again although nothing rang.
    fn wake_at(&self) -> Option<Instant>;
    /// When to stop: then it is given up.
    fn until(&self) -> Instant;
    /// Whether anybody waits for the answer.
    fn is_wanted(&self) -> bool;
    /// Answers with what was seen last.
    fn give_up(&mut self, inbox: &Inbox);
}

/// What one look saw.
pub(super) struct Seen<A> {
    pub(super) answer: A,
    pub(super) is_over: bool,
    pub(super) wake_at: Option<Instant>,
}

type Begin = Box<dyn FnOnce(&Inbox) -> Result<(Key, Caller), Refusal> + Send>;
type Poll<A> = Box<dyn FnMut(&Inbox, &Caller) -> Result<Seen<A>, Refusal> + Send>;

/// A wait for an answer that somebody receives.
pub(super) struct Wait<A> {
    begin: Option<Begin>,
    poll: Poll<A>,
    caller: Option<Caller>,
    tell: Option<oneshot::Sender<Result<A, Refusal>>>,
    seen: Option<A>,
    born: Instant,
    until: Instant,
    wake_at: Option<Instant>,
    away_since: Option<Instant>,
    hurry: Hurry,
}

/// Ends a wait before its time, with a last look.
#[derive(Clone, Default)]
pub(super) struct Hurry(Arc<AtomicBool>);

impl Hurry {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl<A> Wait<A> {
    pub(super) fn new(
        until: Instant,
        begin: Begin,
        poll: Poll<A>,
    ) -> (Self, oneshot::Receiver<Result<A, Refusal>>, Hurry) {
        let (tell, told) = oneshot::channel();
        let hurry = Hurry::default();
        let wait = Wait {
            begin: Some(begin),
            poll,
            caller: None,
            tell: Some(tell),
            seen: None,
            born: Instant::now(),
            until,
            wake_at: None,
            away_since: None,
            hurry: hurry.clone(),
        };
        (wait, told, hurry)
    }

    fn answer(&mut self, answer: Result<A, Refusal>) {
        if let Some(tell) = self.tell.take() {
            let _ = tell.send(answer);
        }
    }

    /// Whether to look again although this failed: a server that restarts is back in a moment.
    fn is_endured(&mut self, inbox: &Inbox, refusal: &Refusal) -> bool {
        let now = Instant::now();
        let since = *self.away_since.get_or_insert(now);
        self.seen.is_some()
            && inbox.store().is_served()
            && refusal.code == Code::Storage
            && now.duration_since(since) < AWAY
            && now < self.until
    }
}

impl<A: Send> Look for Wait<A> {
    fn begin(&mut self, inbox: Result<&Inbox, Refusal>) -> Option<Key> {
        let begin = self.begin.take()?;
        let begun = inbox.and_then(|inbox| {
            let (key, caller) = begin(inbox)?;
            // A session that waits would count as dead otherwise. A store that cannot be written is no
            // reason not to wait.
            let _ = inbox.beat(&caller);
            Ok((key, caller))
        });
        match begun {
            Ok((key, caller)) => {
                self.caller = Some(caller);
                Some(key)
            }
            Err(refusal) => {
                self.answer(Err(refusal));
                None
            }
        }
    }

    fn look(&mut self, inbox: &Inbox) -> bool {
        let Some(caller) = self.caller.as_ref().filter(|_| self.is_wanted()) else {
            return true;
        };
        match (self.poll)(inbox, caller) {
            Ok(seen) if seen.is_over => {
                self.answer(Ok(seen.answer));
                true
            }
            Ok(seen) => {
                self.away_since = None;
                self.wake_at = seen.wake_at;
                self.seen = Some(seen.answer);
                false
            }
            Err(refusal) if self.is_endured(inbox, &refusal) => {
                self.wake_at = Some(Instant::now() + Duration::from_millis(300));
                false
            }
            Err(refusal) => {
                self.answer(Err(refusal));
                true
            }
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        self.wake_at
    }

    fn until(&self) -> Instant {
        if self.hurry.0.load(Ordering::SeqCst) {
            return self.born;
        }
        self.until
    }

    fn is_wanted(&self) -> bool {
        self.tell.as_ref().is_some_and(|tell| !tell.is_closed())
    }

    fn give_up(&mut self, inbox: &Inbox) {
        // A damaged store can look as if nothing had happened.
        let sound = inbox.store().confirm_empty().map_err(Refusal::from);
        match (sound, self.seen.take()) {
            (Err(refusal), _) => self.answer(Err(refusal)),
            (Ok(()), Some(seen)) => self.answer(Ok(seen)),
            // Without an answer the receiver says that there is none.
            (Ok(()), None) => self.tell = None,
        }
    }
}

//! Where the work comes from: a store that is here, or a server.

use std::time::{Duration, Instant};

use inbox_core::{Code, Refusal, ThreadId};
use inbox_ops::{Caller, Inbox, Operation};
use inbox_store::bell::{Key, PATIENCE};

/// How long a wait is without a look whether it is still wanted.
const SLICE: Duration = Duration::from_millis(200);

/// How long until it is looked again although nothing was heard: a lease that runs out makes no sound.
pub const AGAIN: Duration = Duration::from_secs(2);

/// How long a store may be away before that is an error.
const AWAY: Duration = Duration::from_mins(1);

/// What to listen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// Whatever concerns the caller.
    Caller,
    /// What happens in this thread.
    Thread(ThreadId),
}

/// A way to call operations and to wait for news. Each thread of the runner has its own.
pub trait Line: Sized + Send + 'static {
    /// Calls an operation.
    fn call<O: Operation>(&self, request: &O, caller: &Caller) -> Result<O::Answer, Refusal>;

    /// Looks until there is something: at once, whenever something may have happened, and now and then. Nothing when it
    /// is not wanted any more.
    fn until<T>(
        &self,
        about: About,
        caller: &Caller,
        look: &mut dyn FnMut(&Self) -> Result<Option<T>, Refusal>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<T>, Refusal>;
}

impl Line for Inbox {
    fn call<O: Operation>(&self, request: &O, caller: &Caller) -> Result<O::Answer, Refusal> {
        request.run(self, caller)
    }

    fn until<T>(
        &self,
        about: About,
        caller: &Caller,
        look: &mut dyn FnMut(&Self) -> Result<Option<T>, Refusal>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<T>, Refusal> {
        let key = match about {
            About::Thread(thread) => Key::Thread(thread),
            About::Caller => caller.agent.as_ref().map_or(Key::Any, Key::from),
        };
        let store = self.store();
        let mut listener = store.listen(&key);
        let mut patience = Patience::default();
        loop {
            listener.rearm();
            let mark = store.change_mark();
            match look(self) {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) => patience = Patience::default(),
                Err(refusal) if patience.endures(&refusal) => {}
                Err(refusal) => return Err(refusal),
            }
            let looked = Instant::now();
            let mut confirmed = looked;
            loop {
                if is_over() {
                    return Ok(None);
                }
                if listener.wait(SLICE) || looked.elapsed() >= AGAIN {
                    break;
                }
                if confirmed.elapsed() >= PATIENCE {
                    confirmed = Instant::now();
                    if mark.is_none() || store.change_mark() != mark {
                        break;
                    }
                }
            }
        }
    }
}

/// How long a store or server has been away.
#[derive(Debug, Default)]
pub struct Patience {
    since: Option<Instant>,
}

impl Patience {
    /// Whether to look again although this failed.
    pub fn endures(&mut self, refusal: &Refusal) -> bool {
        let since = *self.since.get_or_insert_with(Instant::now);
        is_passing(refusal) && since.elapsed() < AWAY
    }
}

/// Whether a refusal may be over in a moment, and says nothing about what was asked.
pub fn is_passing(refusal: &Refusal) -> bool {
    matches!(
        refusal.code,
        Code::Storage | Code::RateLimited | Code::Ledger | Code::StoreMoving | Code::Internal
    )
}

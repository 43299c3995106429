//! The doorbell for many waiters of one process: one thread hears it, and wakes those for whom it rang.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inbox_core::Refusal;
use inbox_ops::Inbox;
use inbox_store::bell::{Key, PATIENCE};
use tokio::sync::watch;

use super::engine::spawn;

/// Who waits, by the slot of the bell.
#[derive(Default)]
struct Waiters {
    slots: HashMap<usize, Slot>,
}

struct Slot {
    key: Key,
    /// The count of rings that was seen last.
    rings: u32,
    tell: watch::Sender<()>,
}

/// Wakes tasks.
pub(crate) struct Waker {
    waiters: Arc<Mutex<Waiters>>,
    /// The bell itself, of which a count is read before one registers.
    inbox: Arc<Inbox>,
}

/// One who waits.
pub(super) struct Waiter {
    told: watch::Receiver<()>,
}

impl Waker {
    /// Starts the thread that hears the bell.
    pub(super) fn start(inbox: Inbox) -> Result<Waker, Refusal> {
        let inbox = Arc::new(inbox);
        let waiters = Arc::new(Mutex::new(Waiters::default()));
        let (hears, tells) = (Arc::clone(&inbox), Arc::clone(&waiters));
        spawn("bell", move || {
            // Everything that is committed rings here.
            let mut listener = hears.store().listen(&Key::Any);
            loop {
                listener.rearm();
                tell(&tells, &hears);
                // Whoever waits looks by itself as well, so nothing is lost by waking late.
                listener.wait(PATIENCE);
            }
        })?;
        Ok(Waker { waiters, inbox })
    }

    /// Registers one who waits. Look into the store after this.
    pub(super) fn register(&self, key: &Key) -> Waiter {
        let bell = self.inbox.store().bell();
        let mut waiters = lock(&self.waiters);
        let slot = waiters.slots.entry(key.slot()).or_insert_with(|| Slot {
            key: key.clone(),
            rings: bell.rings(key),
            tell: watch::Sender::new(()),
        });
        Waiter {
            told: slot.tell.subscribe(),
        }
    }
}

impl Waiter {
    /// Notes what was heard until now. Look into the store after this.
    pub(super) fn rearm(&mut self) {
        self.told.mark_unchanged();
    }

    /// Returns once it rang.
    pub(super) async fn rang(&mut self) {
        // The sender stays as long as there is a receiver.
        if self.told.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Wakes those for whom it rang, and forgets slots at which nobody waits.
fn tell(waiters: &Mutex<Waiters>, inbox: &Inbox) {
    let bell = inbox.store().bell();
    lock(waiters).slots.retain(|_, slot| {
        let rings = bell.rings(&slot.key);
        if rings != slot.rings {
            slot.rings = rings;
            slot.tell.send_replace(());
        }
        slot.tell.receiver_count() > 0
    });
}

fn lock(waiters: &Mutex<Waiters>) -> MutexGuard<'_, Waiters> {
    waiters.lock().unwrap_or_else(PoisonError::into_inner)
}

//! How many are let in at once, and who has to go when one more comes: whoever has been in the midst of no request for the longest.
//! Otherwise a few strangers who never say what they want would keep everybody else out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The most connections at once.
const CONNECTIONS: u64 = 4096;

/// Files that are kept for everything else: the store, its neighbours, and one who waits to be let in.
const KEPT: u64 = 256;

/// Where connections are let in.
pub(super) struct Room {
    places: Arc<Semaphore>,
    /// Those that are in the midst of no request, by when they began to be.
    idle: Mutex<BTreeMap<u64, Arc<Notify>>>,
    turns: AtomicU64,
    became_idle: Notify,
}

impl Room {
    /// Room for as many as this process may have files for.
    pub(super) fn new() -> Self {
        let files = files(CONNECTIONS + KEPT);
        let places = files.saturating_sub(KEPT).max(files / 2).min(CONNECTIONS);
        Room::of(usize::try_from(places).unwrap_or(usize::MAX))
    }

    fn of(places: usize) -> Self {
        Room {
            places: Arc::new(Semaphore::new(places)),
            idle: Mutex::default(),
            turns: AtomicU64::new(1),
            became_idle: Notify::new(),
        }
    }

    /// A place for one more, for which another has to leave if there is none.
    pub(super) async fn place(self: &Arc<Self>) -> Place {
        let place = Place {
            room: Arc::clone(self),
            turn: AtomicU64::new(0),
            leave: Arc::default(),
            _permit: self.permit().await,
        };
        place.is_idle();
        place
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
                return Some(permit);
            }
            let freed = Arc::clone(&self.places).acquire_owned();
            if self.sends_one_away() {
                return freed.await.ok();
            }
            tokio::select! {
                permit = freed => return permit.ok(),
                () = self.became_idle.notified() => {}
            }
        }
    }

    fn sends_one_away(&self) -> bool {
        let longest = self.idle().pop_first();
        longest.is_some_and(|(_, leave)| {
            leave.notify_one();
            true
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<Notify>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, given back when it is dropped.
pub(super) struct Place {
    room: Arc<Room>,
    /// When it began to be idle; 0 while it is not.
    turn: AtomicU64,
    leave: Arc<Notify>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Place {
    /// Nothing is asked here for now.
    pub(super) fn is_idle(&self) {
        let turn = self.room.turns.fetch_add(1, Ordering::Relaxed);
        self.turn.store(turn, Ordering::Relaxed);
        self.room.idle().insert(turn, Arc::clone(&self.leave));
        self.room.became_idle.notify_one();
    }

    /// Something is asked here, and nobody takes the place before it is answered.
    pub(super) fn is_busy(&self) {
        let turn = self.turn.swap(0, Ordering::Relaxed);
        self.room.idle().remove(&turn);
    }

    /// Ends when somebody else needs the place more.
    pub(super) async fn has_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_busy();
    }
}

/// How many files this process may have open, after it has asked for as many as it wants.
fn files(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let Some(now) = limit.current.filter(|now| *now < wanted) else {
        return wanted;
    };
    let more = limit.maximum.map_or(wanted, |most| most.min(wanted));
    let raised = Rlimit {
        current: Some(more),
        ..limit
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => more,
        Err(_) => now,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[tokio::test]
    async fn who_is_idle_the_longest_leaves_for_who_comes_and_who_asks_something_stays() {
        let room = Arc::new(Room::of(2));
        let (first, second) = (room.place().await, room.place().await);
        first.is_busy();
        let mut third = pin!(room.place());
        tokio::select! {
            biased;
            _ = &mut third => panic!("nobody has left yet"),
            () = second.has_to_leave() => drop(second),
        }
        let third = third.await;
        // All are busy: the next one waits until one of them is not.
        third.is_busy();
        let mut fourth = pin!(room.place());
        tokio::select! {
            biased;
            _ = &mut fourth => panic!("there is no place"),
            () = tokio::task::yield_now() => first.is_idle(),
        }
        tokio::select! {
            biased;
            _ = &mut fourth => panic!("nobody has left yet"),
            () = first.has_to_leave() => drop(first),
        }
        let fourth = fourth.await;
        drop((third, fourth));
        assert_eq!(room.places.available_permits(), 2);
        assert!(room.idle().is_empty());
    }

    #[test]
    fn as_many_files_as_may_be_are_asked_for() {
        let limit = getrlimit(Resource::Nofile);
        let few = limit.current.unwrap_or(64).min(64);
        assert_eq!(files(few), few, "it has these already");
        // No system has all that it does not limit.
        let most = limit.maximum.unwrap_or(CONNECTIONS).min(CONNECTIONS);
        assert_eq!(files(CONNECTIONS), most, "and never more than it may");
    }
}

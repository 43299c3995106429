//! The doorbell: how a process that waits is woken by one that commits.
//!
//! A file of shared words beside the store. Every thread and every address has a slot of two words:
//! a count of rings and a count of waiters. A waiter notes the count, looks into the store, and
//! blocks while the count stays; a writer raises it after its commit, and wakes the slot when
//! somebody waits there. Slots are shared by hash: a ring for another is looked at and passed over.
//!
//! The bell is a hint. Whoever waits looks again by itself within a second, so a writer that was
//! killed between commit and ring, or a bell that was deleted, delays a wake and loses none.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use inbox_core::{Address, AgentName, ThreadId};

use crate::error::StoreError;
use crate::postgres::Ear;
use crate::private;
use crate::sys::{self, SharedWords};

const SLOTS: usize = 4096;
const WORDS: usize = SLOTS * 2;

/// How long a waiter trusts the bell before it looks by itself.
pub const PATIENCE: Duration = Duration::from_millis(900);

/// What can be waited for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// Anything at all.
    Any,
    /// Something in this thread.
    Thread(ThreadId),
    /// Something that concerns this address.
    Address(String),
    /// Something that is to be said on the ledger.
    Ledger,
}

impl From<&AgentName> for Key {
    fn from(name: &AgentName) -> Self {
        Key::Address(name.as_str().to_owned())
    }
}

impl From<&Address> for Key {
    fn from(address: &Address) -> Self {
        Key::Address(address.stored().into_owned())
    }
}

impl Key {
    /// The slot, by FNV-1a: the same in every process and every version, as std's hash is not.
    pub fn slot(&self) -> usize {
        let hash = |kind: u8, bytes: &[u8]| {
            let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(kind);
            for &byte in bytes {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            1 + usize::try_from(hash % (SLOTS as u64 - 1)).unwrap_or(0)
        };
        match self {
            Key::Any => 0,
            Key::Thread(thread) => hash(1, &thread.key().to_le_bytes()),
            Key::Address(text) => hash(2, text.as_bytes()),
            Key::Ledger => hash(3, b""),
        }
    }
}

/// The doorbell of one store.
pub struct Bell {
    path: PathBuf,
    /// Whose file it may be, beside that of who runs this.
    owner: u32,
    words: OnceLock<SharedWords>,
}

impl Bell {
    /// The bell in this file; a bell that cannot be had rings for nobody, and waiters look by themselves.
    pub(crate) fn open(path: PathBuf) -> Self {
        let bell = Bell::at(path);
        bell.make();
        bell
    }

    /// The bell beside a store of `owner`. A file in its place that is not a bell of theirs is refused.
    pub(crate) fn beside(path: PathBuf, owner: u32) -> Result<Self, StoreError> {
        let words = OnceLock::new();
        match map(&path, owner) {
            Ok(found) => drop(words.set(found)),
            // What stands where a bell would and can be none does no harm.
            Err(error) if private::is_not_ours(&error) && !is_folder(&path) => {
                return Err(StoreError::of_file("cannot use the bell".into(), &error));
            }
            // A disk that is full or read-only has no bell, and waiters look by themselves.
            Err(_) => {}
        }
        Ok(Bell { path, owner, words })
    }

    /// The bell in this file, once somebody waits for it.
    pub(crate) fn at(path: PathBuf) -> Self {
        Bell {
            path,
            owner: private::user(),
            words: OnceLock::new(),
        }
    }

    fn make(&self) -> Option<&SharedWords> {
        if self.words.get().is_none()
            && self.path != Path::new("")
            && let Ok(words) = map(&self.path, self.owner)
        {
            // Somebody else's is as good.
            let _ = self.words.set(words);
        }
        self.words.get()
    }

    /// The words, when somebody has made them.
    fn found(&self) -> Option<&SharedWords> {
        match self.words.get() {
            None if self.path.exists() => self.make(),
            found => found,
        }
    }

    /// A bell without a file: waiters look by themselves.
    pub(crate) fn none() -> Self {
        Bell::at(PathBuf::new())
    }

    /// Whether there is a bell to hear.
    pub fn is_working(&self) -> bool {
        self.make().is_some()
    }

    /// The bell's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rings for each key. Call it after the commit.
    pub fn ring(&self, keys: &[Key]) {
        // Writes that shared a commit often ring for the same.
        let mut slots: Vec<usize> = keys.iter().map(Key::slot).collect();
        slots.sort_unstable();
        slots.dedup();
        self.ring_slots(slots.into_iter());
    }

    /// Rings for everybody.
    pub(crate) fn ring_all(&self) {
        self.ring_slots(0..SLOTS);
    }

    /// Rings these slots; what is none is passed over.
    pub(crate) fn ring_slots(&self, slots: impl Iterator<Item = usize>) {
        let Some(words) = self.found() else { return };
        for slot in slots.filter(|slot| *slot < SLOTS).map(|slot| slot * 2) {
            words.word(slot).fetch_add(1, Ordering::SeqCst);
            if words.word(slot + 1).load(Ordering::SeqCst) > 0 {
                sys::wake_all(words.word(slot));
            }
        }
    }

    /// How often it has rung for a key, or for one that shares its slot.
    pub fn rings(&self, key: &Key) -> u32 {
        let word = |words: &SharedWords| words.word(key.slot() * 2).load(Ordering::SeqCst);
        self.make().map_or(0, word)
    }

    /// Registers a waiter. Look into the store after this and before [`Listener::wait`].
    pub fn listen(&self, key: &Key) -> Listener<'_> {
        let slot = key.slot() * 2;
        let words = self.make();
        let seen = words.map_or(0, |words| {
            words.word(slot + 1).fetch_add(1, Ordering::SeqCst);
            words.word(slot).load(Ordering::SeqCst)
        });
        Listener {
            words,
            slot,
            seen,
            ear: None,
        }
    }
}

/// A registered waiter.
pub struct Listener<'a> {
    words: Option<&'a SharedWords>,
    slot: usize,
    seen: u32,
    /// Opened by the first wait, for what others commit elsewhere.
    ear: Option<Ear>,
}

impl Listener<'_> {
    /// The same, that also hears of other hosts.
    pub(crate) fn with_ear(mut self, ear: Option<Ear>) -> Self {
        self.ear = ear;
        self
    }

    /// Blocks until the bell rings after the last [`Listener::rearm`] (or the registration), or until
    /// `timeout` has passed. Whether it rang.
    pub fn wait(&self, timeout: Duration) -> bool {
        let Some(words) = self.words else {
            // Without a bell the store is looked at often enough for a person not to notice.
            std::thread::sleep(timeout.min(Duration::from_millis(100)));
            return false;
        };
        if let Some(ear) = &self.ear {
            ear.open();
        }
        sys::wait_for_change(words.word(self.slot), self.seen, timeout)
    }

    /// Notes the count of rings. Look into the store after this.
    pub fn rearm(&mut self) {
        if let Some(words) = self.words {
            self.seen = words.word(self.slot).load(Ordering::SeqCst);
        }
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        if let Some(words) = self.words {
            words.word(self.slot + 1).fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn map(path: &Path, owner: u32) -> std::io::Result<SharedWords> {
    let bytes = (WORDS * 4) as u64;
    let mut how = private::file();
    how.read(true).write(true).create(true).truncate(false);
    let file = private::open_of(&mut how, path, owner)?;
    if file.metadata()?.len() < bytes {
        // Space is taken now: a full disk must fail here and not as a fault in mapped memory.
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes)
            .or_else(|_| file_of_zeros(&file, bytes))?;
    }
    SharedWords::map(&file, WORDS)
}

fn file_of_zeros(mut file: &std::fs::File, bytes: u64) -> std::io::Result<()> {
    use std::io::Write;
    file.write_all(&vec![0; usize::try_from(bytes).unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bell() -> (Bell, PathBuf) {
        let path = std::env::temp_dir().join(format!(
            "inbox-bell-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        (Bell::open(path.clone()), path)
    }

    #[test]
    fn a_ring_between_registering_and_waiting_is_heard() {
        let (bell, path) = bell();
        let key = Key::Thread(ThreadId::new(7));
        let listener = bell.listen(&key);
        bell.ring(std::slice::from_ref(&key));
        assert!(listener.wait(Duration::from_secs(10)));
        drop(listener);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_ring_for_another_thread_does_not_wake() {
        let (bell, path) = bell();
        let listener = bell.listen(&Key::Thread(ThreadId::new(7)));
        bell.ring(&[Key::Thread(ThreadId::new(8)), Key::Any]);
        assert!(!listener.wait(Duration::from_millis(1)));
        drop(listener);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_keys_of_one_store_spread_over_the_slots() {
        let slots: std::collections::HashSet<_> = (0..1000)
            .map(|n| Key::Thread(ThreadId::new(n)).slot())
            .collect();
        assert!(slots.len() > 800, "{}", slots.len());
        assert!(!slots.contains(&0));
    }
}

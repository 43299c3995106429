//! What touches the operating system directly: shared memory and futexes. The only module of the
//! workspace with `unsafe` in it, and each use says why it is sound.

use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A file of 32-bit words that several processes map and change atomically.
pub(crate) struct SharedWords {
    words: &'static [AtomicU32],
}

impl SharedWords {
    /// Maps `count` words of a file that is at least that long.
    #[expect(
        unsafe_code,
        reason = "memory shared between processes cannot be had otherwise"
    )]
    pub(crate) fn map(file: &File, count: usize) -> std::io::Result<Self> {
        use rustix::mm::{MapFlags, ProtFlags, mmap};
        let bytes = count * size_of::<AtomicU32>();
        if file.metadata()?.len() < bytes as u64 {
            return Err(std::io::Error::other(
                "the file is shorter than the words it should hold",
            ));
        }
        // SAFETY: a new mapping at an address that the kernel chooses aliases nothing. It is
        // readable and writable for `bytes`, page-aligned, never unmapped while `words` lives (Drop
        // unmaps it last), and every access in every process is atomic.
        let words = unsafe {
            let start = mmap(
                std::ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )?;
            std::slice::from_raw_parts(start.cast::<AtomicU32>(), count)
        };
        Ok(SharedWords { words })
    }

    /// The word at `index`.
    pub(crate) fn word(&self, index: usize) -> &AtomicU32 {
        &self.words[index]
    }
}

impl Drop for SharedWords {
    #[expect(unsafe_code, reason = "what was mapped must be unmapped")]
    fn drop(&mut self) {
        // SAFETY: the region is the one that `map` made, and no reference to it leaves this type
        // for longer than a borrow of it.
        let _ = unsafe {
            rustix::mm::munmap(
                self.words.as_ptr().cast_mut().cast(),
                size_of_val(self.words),
            )
        };
    }
}

/// Blocks until `word` no longer is `seen`, or until `timeout` has passed. Whether it changed.
#[cfg(target_os = "linux")]
pub(crate) fn wait_for_change(word: &AtomicU32, seen: u32, timeout: Duration) -> bool {
    use rustix::thread::futex;
    let deadline = Instant::now() + timeout;
    loop {
        if word.load(Ordering::SeqCst) != seen {
            return true;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let Ok(left) = left.try_into() else {
            return false;
        };
        // An error is a change in between, a signal or the time-out: the loop looks again.
        let _ = futex::wait(word, futex::Flags::empty(), seen, Some(&left));
    }
}

/// Wakes everybody who waits for `word` to change.
#[cfg(target_os = "linux")]
pub(crate) fn wake_all(word: &AtomicU32) {
    use rustix::thread::futex;
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX.cast_unsigned());
}

/// Blocks until `word` no longer is `seen`, or until `timeout` has passed. Whether it changed.
///
/// Without futexes the word is looked at every few milliseconds: it is in memory, so a look costs
/// nothing that could be measured.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wait_for_change(word: &AtomicU32, seen: u32, timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    while word.load(Ordering::SeqCst) == seen {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        std::thread::sleep(left.min(Duration::from_millis(5)));
    }
    true
}

/// Wakes everybody who waits for `word` to change; without futexes they look by themselves.
#[cfg(not(target_os = "linux"))]
pub(crate) fn wake_all(_word: &AtomicU32) {}

//! A fair lock before `BEGIN IMMEDIATE`.
//!
//! SQLite's busy handler sleeps and tries again, and under load some processes never get their turn
//! (measured: one commit in two seconds among 64 writers). The kernel queues those who wait in
//! `flock`, so each gets it in time; and it gives the lock back when a process dies.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::StoreError;
use crate::private;
use crate::sqlite::beside;

/// How long a writer waits. Longer than any queue of honest writers, shorter than a person's patience
/// with a process that was stopped while it held the lock.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct WriteLock {
    path: PathBuf,
    /// Whose the store is.
    owner: u32,
    file: Option<File>,
    /// For how many turns more this writer believes that others write too.
    contended: u32,
    released: Option<Instant>,
}

/// How long a writer that had its turn stands back while others wait. The kernel wakes the first of the
/// queue, and that one the second, who then queues again: who asks in between is before all of them.
const STAND_BACK: Duration = Duration::from_millis(1);

/// How many turns in a row without a wait tell a writer that it is alone.
const ALONE_AFTER: u32 = 32;

impl WriteLock {
    pub(super) fn beside(store: &Path, owner: u32) -> Self {
        WriteLock {
            path: beside(store, "-lock"),
            owner,
            file: None,
            contended: 0,
            released: None,
        }
    }

    /// Whether somebody else had the lock when it was asked for, lately.
    pub(super) fn was_contended(&self) -> bool {
        self.contended > 0
    }

    pub(super) fn acquire(&mut self) -> Result<(), StoreError> {
        if let Some(released) = self.released.filter(|_| self.was_contended()) {
            std::thread::sleep(STAND_BACK.saturating_sub(released.elapsed()));
        }
        let cannot = |error: &std::io::Error| {
            StoreError::of_file(format!("cannot lock {}", self.path.display()), error)
        };
        if self.file.is_none() {
            let mut how = private::file();
            how.read(true).write(true).create(true).truncate(false);
            let file = private::open_of(&mut how, &self.path, self.owner)
                .map_err(|error| cannot(&error))?;
            self.file = Some(file);
        }
        let Some(file) = &self.file else {
            return Err(cannot(&std::io::Error::other("no file")));
        };
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                self.contended = self.contended.saturating_sub(1);
                return Ok(());
            }
            Err(Errno::WOULDBLOCK) => self.contended = ALONE_AFTER,
            Err(error) => return Err(cannot(&error.into())),
        }
        // flock has no time-out of its own, so the wait is another thread's.
        let waiting = file.try_clone().map_err(|error| cannot(&error))?;
        let (done, answer) = mpsc::channel();
        std::thread::spawn(move || {
            let outcome = loop {
                match flock(&waiting, FlockOperation::LockExclusive) {
                    Err(Errno::INTR) => {}
                    outcome => break outcome,
                }
            };
            if done.send(outcome).is_err() {
                // Nobody waits any more: give back what came too late.
                let _ = flock(&waiting, FlockOperation::Unlock);
            }
        });
        match answer.recv_timeout(PATIENCE) {
            Ok(outcome) => outcome.map_err(|error| cannot(&error.into())),
            Err(_) => {
                drop(answer);
                self.file = None;
                let holder = self.holder().unwrap_or_else(|| "another process".into());
                Err(StoreError::Busy(format!(
                    "{holder} has kept {} locked for {} seconds",
                    self.path.display(),
                    PATIENCE.as_secs()
                )))
            }
        }
    }

    /// The lock's file, for who has the lock.
    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    pub(super) fn release(&mut self) {
        if let Some(file) = &self.file {
            let _ = flock(file, FlockOperation::Unlock);
            self.released = Some(Instant::now());
        }
    }

    /// The process that has the lock, where the system tells.
    pub(super) fn holder(&self) -> Option<String> {
        use std::os::unix::fs::MetadataExt;
        let inode = std::fs::metadata(&self.path).ok()?.ino();
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        let line = locks.lines().find(|line| {
            line.contains("FLOCK") && !line.contains("->") && line.contains(&format!(":{inode} "))
        })?;
        let pid = line.split_whitespace().nth(4)?;
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        Some(format!("process {pid} ({})", name.trim()))
    }
}

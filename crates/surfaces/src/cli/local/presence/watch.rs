//! The right to wake a session, which one process has at a time, and what it leaves behind for the next.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use inbox_core::Door;
use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use rustix::fs::{FlockOperation, flock};

use super::Presence;

/// How a session without a window is marked.
const ALONE: &str = "alone";

/// What is known of who watches for a session's mail.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Watcher {
    /// The door by which it wakes.
    pub(in super::super) door: String,
    /// Whether somebody has the session before them.
    pub(in super::super) has_window: bool,
    /// Whether the client has not taken a line yet.
    pub(in super::super) is_kept_waiting: bool,
}

/// The right to wake a session: one process has it at a time.
pub(in super::super) struct Watch {
    file: File,
    path: PathBuf,
    door: Door,
    /// When the session was last woken, by whomever.
    last: i64,
    has_window: bool,
    /// The line of a wake that was written down as done and may not have been.
    promised: Option<String>,
}

impl Watch {
    /// Whether it still counts: with the session's end it does not.
    pub(in super::super) fn is_current(&self) -> bool {
        let ours = self.file.metadata().map(|found| found.ino()).ok();
        let there = std::fs::metadata(&self.path).map(|found| found.ino()).ok();
        ours.is_some() && ours == there
    }

    /// How long to wait until the session may be woken again, with one wake in so long at the most.
    pub(in super::super) fn rest(&self, pause: Duration) -> Duration {
        let since = u64::try_from(now() - self.last).unwrap_or(0);
        pause.saturating_sub(Duration::from_millis(since))
    }

    /// Says whether somebody has the session before them.
    pub(in super::super) fn has_window(&mut self, has_window: bool) {
        if self.has_window != has_window {
            self.has_window = has_window;
            self.write();
        }
    }

    /// What a watch before this one promised and did not keep.
    pub(in super::super) fn promised(&self) -> Option<&str> {
        self.promised.as_deref()
    }

    /// Promises a wake, which is kept by whoever has the watch, even if this process dies.
    pub(in super::super) fn promise(&mut self, line: &str) {
        self.promised = Some(line.to_owned());
        self.write();
    }

    /// The session was woken.
    pub(in super::super) fn woke(&mut self) {
        self.last = now();
        self.promised = None;
        self.write();
    }

    fn write(&mut self) {
        let (last, door) = (self.last, self.door.name());
        let promised = self.promised.as_deref().unwrap_or_default();
        let window = if self.has_window { "" } else { ALONE };
        let text = format!("{last:020} {door:<15} {window:<5}\n{promised}\n");
        let _ = self
            .file
            .rewind()
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .and_then(|()| self.file.set_len(text.len() as u64));
    }
}

impl Presence {
    /// Becomes the one who watches for the session's mail; nothing while somebody else does.
    pub(in super::super) fn watch(&self, door: Door) -> Option<Watch> {
        let mut watch = Watch {
            file: self.open("lock").ok()?,
            path: self.file("lock"),
            door,
            last: 0,
            has_window: true,
            promised: None,
        };
        if !planted("everybody_watches") {
            flock(&watch.file, FlockOperation::NonBlockingLockExclusive).ok()?;
        }
        if !watch.is_current() {
            return None;
        }
        let mut text = String::new();
        let _ = watch.file.read_to_string(&mut text);
        let mut lines = text.lines();
        let last = lines.next().and_then(|line| line.split_whitespace().next());
        watch.last = last.and_then(|last| last.parse().ok()).unwrap_or(0);
        watch.promised = lines
            .next()
            .map(str::to_owned)
            .filter(|line| !line.is_empty());
        watch.write();
        Some(watch)
    }

    /// Whether somebody watches for its mail.
    pub(in super::super) fn is_watched(&self) -> bool {
        self.watched_by().is_some()
    }

    /// Who watches for its mail, if somebody does.
    pub(in super::super) fn watched_by(&self) -> Option<Watcher> {
        let mut file = File::open(self.file("lock")).ok()?;
        if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
            return None;
        }
        let mut text = String::new();
        let _ = file.read_to_string(&mut text);
        let mut lines = text.lines();
        let mut words = lines.next().unwrap_or_default().split_whitespace().skip(1);
        Some(Watcher {
            door: words.next().unwrap_or_default().to_owned(),
            has_window: words.next() != Some(ALONE),
            is_kept_waiting: lines.next().is_some_and(|line| !line.is_empty()),
        })
    }

    /// Says that the client's own monitor is there, as long as what it gives is kept.
    pub(in super::super) fn stand_by(&self) -> Option<File> {
        let file = self.open("monitor").ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(file)
    }

    /// Whether the client's own monitor is there. Others leave the watch to it.
    pub(in super::super) fn has_monitor(&self) -> bool {
        File::open(self.file("monitor"))
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
    }
}

fn now() -> i64 {
    Millis::from(jiff::Timestamp::now()).0
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;

    #[test]
    fn one_watches_at_a_time_and_the_next_keeps_what_was_promised() {
        let folder = Folder::new("watch");
        let session = folder.session("s-1");
        assert!(!session.is_watched());
        let mut watch = session.watch(Door::CodexQueue).unwrap();
        assert!(session.watch(Door::CodexQueue).is_none());
        let watcher = |has_window, is_kept_waiting| {
            Some(Watcher {
                door: "codex_queue".to_owned(),
                has_window,
                is_kept_waiting,
            })
        };
        assert_eq!(session.watched_by(), watcher(true, false));
        watch.has_window(false);
        assert_eq!(session.watched_by(), watcher(false, false));
        watch.has_window(true);
        assert_eq!(watch.rest(Duration::from_hours(1)), Duration::ZERO);
        watch.promise("inbox: 1 new. Run inbox read.");
        assert_eq!(session.watched_by(), watcher(true, true));
        drop(watch);
        let mut watch = session.watch(Door::AsyncRewake).unwrap();
        assert_eq!(watch.promised(), Some("inbox: 1 new. Run inbox read."));
        watch.woke();
        drop(watch);
        // How often a session may be woken counts over all who wake it.
        let watch = session.watch(Door::Monitor).unwrap();
        assert_eq!(watch.promised(), None);
        assert!(watch.rest(Duration::from_hours(1)) > Duration::from_mins(59));
        assert_eq!(watch.rest(Duration::ZERO), Duration::ZERO);
        // With the session's end it is over, whatever comes after.
        session.forget();
        assert!(!watch.is_current());
        assert!(session.watch(Door::Monitor).is_some());
        let monitor = session.stand_by();
        assert!(session.has_monitor());
        drop(monitor);
        assert!(!session.has_monitor());
    }
}

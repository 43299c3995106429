//! What a disk refuses, and when.

use rustix::io::Errno;

use crate::dice::Dice;
use crate::trace::{Call, Fate, Inode, Watcher};

/// A disk's fault.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// How many calls work before it.
    at: u64,
    /// What a write is told. A read is told of an error of the disk, whatever the disk lacks.
    errno: Errno,
    /// What who asks for a lock is told.
    lock: Errno,
    /// Whether a write gets a part of its bytes to the disk first, and a read a part of them from there.
    is_short: bool,
    /// Whether every call from there on is refused, but for locks: who is told that there are none waits for one.
    lasts: bool,
}

impl Fault {
    pub(super) fn at(at: u64, dice: &mut Dice) -> Self {
        let errnos = [Errno::IO, Errno::NOSPC, Errno::DQUOT];
        Fault {
            at,
            errno: dice.pick(&errnos).copied().unwrap_or(Errno::IO),
            is_short: dice.below(4) == 0,
            lasts: dice.below(3) == 0,
            lock: match dice.below(2) {
                0 => Errno::NOLCK,
                _ => Errno::INTR,
            },
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = if self.is_short { ", after a part" } else { "" };
        let lasts = if self.lasts { " and from there on" } else { "" };
        write!(f, "call {} refused{lasts}{short}", self.at)
    }
}

/// What sort of call it was that was refused first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Read,
    Lock,
    /// Whatever changes something.
    Change,
}

/// A disk with a fault.
#[derive(Debug)]
pub(super) struct Faulty {
    fault: Option<Fault>,
    calls: u64,
    struck: Option<String>,
    pub(super) sort: Option<Sort>,
}

impl Faulty {
    pub(super) fn none() -> Self {
        Faulty {
            fault: None,
            calls: 0,
            struck: None,
            sort: None,
        }
    }

    pub(super) fn with(fault: Fault) -> Self {
        Faulty {
            fault: Some(fault),
            ..Faulty::none()
        }
    }

    /// How many calls there were that a disk can refuse.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// What was refused first.
    pub(super) fn told(&self) -> &str {
        self.struck.as_deref().unwrap_or("nothing")
    }
}

impl Faulty {
    /// What becomes of a call that is refused: a part of it may happen first.
    fn refuse(fault: Fault, call: &Call, is_first: bool) -> Fate {
        let length = match call {
            Call::Write { bytes, .. } => u64::try_from(bytes.len()).unwrap_or(0),
            Call::Read { length, .. } => *length,
            _ => 0,
        };
        let errno = match call {
            Call::Lock(_) => fault.lock,
            Call::Read { .. } => Errno::IO,
            _ => fault.errno,
        };
        if fault.is_short && is_first && length > 1 {
            Fate::Short(length / 2)
        } else {
            Fate::Fails(errno.raw_os_error())
        }
    }
}

impl Watcher for Faulty {
    fn sees_all(&self) -> bool {
        true
    }

    fn before(&mut self, call: &Call) -> Fate {
        let what = match call {
            // What is not there is not on the disk.
            Call::Open {
                makes: false,
                was_there: false,
                ..
            } => return Fate::Happens,
            Call::Open { path, .. } => format!("to open {}", path.display()),
            Call::Write { path, offset, .. } => {
                format!("to write to {} at {offset}", path.display())
            }
            Call::Read { path, .. } => format!("to read from {}", path.display()),
            Call::Lock(path) => format!("to lock {}", path.display()),
            Call::Resize { length, .. } => format!("to make a file {length} long"),
            Call::Sync { path, .. } => format!("to sync {}", path.display()),
            Call::Rename(_, to) | Call::Link(_, to) => format!("to name {}", to.display()),
            Call::Unlink(path) => format!("to take {} away", path.display()),
            Call::MakeFolder(path) => format!("to make {}", path.display()),
            // Memory and pipes are no disks.
            Call::Map(_) | Call::Say(_) | Call::Strange(_) => return Fate::Happens,
        };
        let number = self.calls;
        self.calls += 1;
        let Some(fault) = self.fault else {
            return Fate::Happens;
        };
        let is_first = number == fault.at;
        let is_later = number > fault.at && fault.lasts && !matches!(call, Call::Lock(_));
        if !is_first && !is_later {
            return Fate::Happens;
        }
        let fate = Faulty::refuse(fault, call, is_first);
        self.struck.get_or_insert_with(|| {
            self.sort = Some(match call {
                Call::Read { .. } => Sort::Read,
                Call::Lock(_) => Sort::Lock,
                _ => Sort::Change,
            });
            format!("{what} ({fate:?})")
        });
        fate
    }

    fn after(&mut self, _call: Call, _made: Option<Inode>) {}
}

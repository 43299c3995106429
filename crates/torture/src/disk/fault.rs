//! What a disk refuses, and when.

use rustix::io::Errno;

use crate::dice::Dice;
use crate::trace::{Call, Fate, Inode, Watcher};

/// A disk's fault.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// How many calls work before it.
    at: u64,
    errno: Errno,
    /// Whether a write gets a part of its bytes to the disk first.
    is_short: bool,
    /// Whether every call from there on is refused.
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
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = if self.is_short { ", after a part" } else { "" };
        let lasts = if self.lasts { " and from there on" } else { "" };
        write!(f, "{} at call {}{lasts}{short}", self.errno, self.at)
    }
}

/// A disk with a fault.
#[derive(Debug)]
pub(super) struct Faulty {
    fault: Option<Fault>,
    calls: u64,
    struck: Option<String>,
}

impl Faulty {
    pub(super) fn none() -> Self {
        Faulty {
            fault: None,
            calls: 0,
            struck: None,
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

impl Watcher for Faulty {
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
        if number < fault.at || (number > fault.at && !fault.lasts) {
            return Fate::Happens;
        }
        self.struck.get_or_insert(what);
        match call {
            Call::Write { bytes, .. }
                if fault.is_short && number == fault.at && bytes.len() > 1 =>
            {
                Fate::Short(u64::try_from(bytes.len() / 2).unwrap_or(1))
            }
            _ => Fate::Fails(fault.errno.raw_os_error()),
        }
    }

    fn after(&mut self, _call: Call, _made: Option<Inode>) {}
}

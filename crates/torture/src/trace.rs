//! Watches a real, unmodified process at the edge of the system: each call by which it changes files below a folder, or says
//! something, is shown before and after it happens, and can be made to fail.
//!
//! Only on Linux, and only where the system lets one process trace another; [`permitted`] says why not.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod call;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod cpu;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod follow;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Broken;
use crate::child::Outcome;

/// Which file it is, whatever it is called: device and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inode(pub u64, pub u64);

/// Something that a process asks of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// To open a file.
    Open {
        /// Which one.
        path: PathBuf,
        /// Whether it is made when it is not there.
        makes: bool,
        /// Whether it is emptied.
        empties: bool,
        /// Whether it was there before.
        was_there: bool,
    },
    /// To write bytes at a place in a file.
    Write {
        /// Which file.
        inode: Inode,
        /// What it was called when it was opened.
        path: PathBuf,
        /// Where.
        offset: u64,
        /// What.
        bytes: Vec<u8>,
    },
    /// To read from a file.
    Read {
        /// What it was called when it was opened.
        path: PathBuf,
        /// How many bytes at most.
        length: u64,
    },
    /// To have a lock on a file, or on a part of it. Who gives one back asks for nothing.
    Lock(PathBuf),
    /// To make a file so long.
    Resize {
        /// Which file.
        inode: Inode,
        /// How long.
        length: u64,
    },
    /// To have what was written to a file, or the names in a folder, on disk before it goes on.
    Sync {
        /// Which file.
        inode: Inode,
        /// Its name, or the folder's.
        path: PathBuf,
    },
    /// To change a file's name.
    Rename(PathBuf, PathBuf),
    /// To give a file another name.
    Link(PathBuf, PathBuf),
    /// To take a name away.
    Unlink(PathBuf),
    /// To make a folder.
    MakeFolder(PathBuf),
    /// To have a file in memory, where it is written to unseen.
    Map(Inode),
    /// To say something on standard output.
    Say(Vec<u8>),
    /// What the watcher cannot follow.
    Strange(String),
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It happens.
    Happens,
    /// It fails with this number.
    Fails(i32),
    /// Only so many bytes of it happen.
    Short(u64),
}

/// Who sees the calls.
pub trait Watcher {
    /// Whether it is shown what changes nothing as well: reads and locks. There are many of them.
    fn sees_all(&self) -> bool {
        false
    }

    /// Before a call happens.
    fn before(&mut self, _call: &Call) -> Fate {
        Fate::Happens
    }

    /// After a call succeeded; of a write, with the bytes that were written. `made` is the file that an open gave.
    fn after(&mut self, call: Call, made: Option<Inode>);
}

/// Runs a command to its end before a watcher, who sees what it does below `root`.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub fn follow(
    command: &Command,
    root: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, Broken> {
    follow::follow(command, root, watcher)
}

/// Runs a command to its end before a watcher: not on this system.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub fn follow(
    _command: &Command,
    _root: &Path,
    _watcher: &mut dyn Watcher,
) -> Result<Outcome, Broken> {
    Err(Broken::new(ELSEWHERE))
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
const ELSEWHERE: &str = "a process is watched only on Linux, on x86-64 and AArch64";

/// Why no process can be watched here.
pub fn permitted() -> Result<(), String> {
    #[cfg(not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )))]
    return Err(ELSEWHERE.to_owned());
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    {
        struct Blind;
        impl Watcher for Blind {
            fn after(&mut self, _call: Call, _made: Option<Inode>) {}
        }
        let mut nothing = Command::new("/bin/sh");
        nothing.args(["-c", ":"]);
        match follow(&nothing, &std::env::temp_dir(), &mut Blind) {
            Ok(outcome) if outcome.code == 0 => Ok(()),
            Ok(outcome) => Err(format!("a watched process did not work: {outcome}")),
            Err(broken) => Err(broken.what),
        }
    }
}

/// The longest length of text that is read as a path.
const PATH_LONGEST: usize = 4096;

#[cfg(all(
    test,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod tests;

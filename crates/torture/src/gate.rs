//! A gate in front of a file's write lock: commands queue behind it and are let go together.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::Broken;
use crate::child::{Leashed, eventually};

/// The write lock, held by the torture.
#[derive(Debug)]
pub struct Gate(File);

impl Gate {
    /// Takes the lock of a store.
    pub fn close(store: &Path) -> Result<Self, Broken> {
        let mut path = store.as_os_str().to_owned();
        path.push("-lock");
        let file = File::create(path)?;
        flock(&file, FlockOperation::LockExclusive).map_err(std::io::Error::from)?;
        Ok(Gate(file))
    }

    /// Waits until each of them queues for the lock, or has ended because it needs none.
    pub fn gather(&self, children: &mut [Leashed]) -> Result<(), Broken> {
        let inode = self.0.metadata()?.ino();
        eventually("every command stands before the lock", || {
            let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
            let waiting = locks
                .lines()
                .filter(|line| line.contains("->") && line.contains(&format!(":{inode} ")))
                .count();
            let ended = children
                .iter_mut()
                .filter_map(|child| child.try_wait().ok().flatten())
                .count();
            (waiting + ended >= children.len()).then_some(())
        })
    }

    /// Lets everybody go.
    pub fn open(self) {
        drop(self);
    }
}

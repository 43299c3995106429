//! A gate in front of the store's write lock: commands queue behind it and are let go together.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use inbox_testkit::sandbox::{Outcome, Sandbox};
use rustix::fs::{FlockOperation, flock};

use super::{Leashed, ends, eventually, start};

/// The write lock, held by the test.
pub(super) struct Gate(File);

impl Gate {
    pub(super) fn close(store: &Path) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push("-lock");
        let file = File::create(path).expect("the lock's file can be opened");
        flock(&file, FlockOperation::LockExclusive).expect("nobody writes now");
        Gate(file)
    }

    /// Waits until each of them queues for the lock, or has ended because it needs none.
    pub(super) fn gather(&self, children: &mut [Leashed]) {
        let inode = self.0.metadata().expect("an open file has metadata").ino();
        eventually("every command stands before the lock", || {
            let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
            let waiting = locks
                .lines()
                .filter(|line| line.contains("->") && line.contains(&format!(":{inode} ")))
                .count();
            let ended = children
                .iter_mut()
                .filter_map(|child| child.try_wait().expect("the child can be waited for"))
                .count();
            (waiting + ended >= children.len()).then_some(())
        });
    }

    pub(super) fn open(self) {
        drop(self);
    }
}

/// Lets the commands go at one moment and gives their outcomes in order.
#[track_caller]
pub(super) fn race(inbox: &Sandbox, commands: &[Vec<String>]) -> Vec<Outcome> {
    let gate = Gate::close(&inbox.store());
    let mut children: Vec<_> = commands.iter().map(|args| start(inbox, args)).collect();
    gate.gather(&mut children);
    gate.open();
    children.into_iter().map(ends).collect()
}

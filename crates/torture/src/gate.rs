//! A gate in front of what a claim must have: commands queue behind it and are let go together.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use inbox_core::lifecycle::{Decision, LeaseChange};
use inbox_core::{EventType, Refusal, ThreadId};
use inbox_store::{Abort, Step, Tx};
use rustix::fs::{FlockOperation, flock};

use crate::Broken;
use crate::child::{Leashed, eventually};
use crate::ground::Ground;
use crate::races::first;

/// Starts commands that want a thread and lets them go when all of them stand before what only one can have: the lock of a file, or on
/// a server the thread's row, which each of them has read and means to write. The commands, and how many of them stood there.
pub fn race(
    ground: &Ground<'_>,
    thread: ThreadId,
    start: impl Fn() -> Result<Vec<Leashed>, Broken>,
) -> Result<(Vec<Leashed>, usize), Broken> {
    match ground.file() {
        Some(file) => {
            let gate = Gate::close(file)?;
            let mut children = start()?;
            let stood = gate.gather(&mut children)?;
            Ok((children, stood))
        }
        None => behind_row(ground, thread, start),
    }
}

/// The write lock of a file, held by the torture until it is dropped.
#[derive(Debug)]
pub struct Gate(File);

impl Gate {
    /// Takes the lock of a store. What is noted in its file stays: it says how far the store has come.
    pub fn close(store: &Path) -> Result<Self, Broken> {
        let mut path = store.as_os_str().to_owned();
        path.push("-lock");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        flock(&file, FlockOperation::LockExclusive).map_err(std::io::Error::from)?;
        Ok(Gate(file))
    }

    /// Waits until each of them queues for the lock, or has ended because it needs none. How many queue.
    pub fn gather(&self, children: &mut [Leashed]) -> Result<usize, Broken> {
        let inode = self.0.metadata()?.ino();
        let own: BTreeSet<u32> = children.iter().map(|child| child.id()).collect();
        gathered(children, || {
            let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
            Ok(queue(&locks, inode).intersection(&own).count())
        })
    }
}

/// Which processes queue for a file's lock. A list that changes while it is read has some of them several times, and another file system may
/// have a file of the same number.
fn queue(locks: &str, inode: u64) -> BTreeSet<u32> {
    let file = format!(":{inode}");
    let waiting = locks.lines().filter(|line| line.contains("->"));
    let process = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = words.iter().position(|word| word.ends_with(&file))?;
        words.get(place.checked_sub(1)?)?.parse().ok()
    };
    waiting.filter_map(process).collect()
}

/// The same on a server: a write to the thread that is not committed and never will be.
fn behind_row(
    ground: &Ground<'_>,
    thread: ThreadId,
    start: impl Fn() -> Result<Vec<Leashed>, Broken>,
) -> Result<(Vec<Leashed>, usize), Broken> {
    // Whoever writes to these threads and waits for another who does.
    const WAITING: &str = "SELECT count(DISTINCT waiting.pid) FROM pg_locks waiting JOIN pg_locks writing ON writing.pid = waiting.pid \
         WHERE NOT waiting.granted AND writing.granted AND writing.relation = 'threads'::regclass";
    let watch = ground.store()?;
    let waiting = || Ok(usize::try_from(first(&watch.look(WAITING)?)).unwrap_or(0));
    let mut started = None;
    let outcome = ground.store()?.write(|tx| {
        hold(tx, thread)?;
        started = Some(start().and_then(|mut children| {
            let stood = gathered(&mut children, waiting)?;
            Ok((children, stood))
        }));
        // Nothing of it stays, and the row is free.
        Err::<(), _>(Refusal::input("the gate opens").into())
    });
    match (started, outcome) {
        (Some(started), _) => started,
        (None, Err(refusal)) => Err(refusal.into()),
        (None, Ok(_)) => Err(Broken::new("a gate was left open")),
    }
}

/// Writes to a thread within a transaction.
fn hold(tx: &mut Tx<'_>, thread: ThreadId) -> Result<(), Abort> {
    let row = tx.load_thread(thread)?;
    let row = row.ok_or_else(|| Refusal::input("there is no thread to race for"))?;
    let step = Step {
        agent: &row.thread.created_by.clone(),
        session: None,
        decision: Decision {
            event: EventType::Message,
            status: row.thread.status,
            lease: LeaseChange::Keep,
            is_override: false,
        },
        lease_ms: None,
        message: None,
        turns: None,
    };
    tx.commit_step(row, step)?;
    // What is written goes to a server with the next question.
    tx.count_messages()?;
    Ok(())
}

/// Waits until each of them waits or has ended. How many wait.
fn gathered(
    children: &mut [Leashed],
    waiting: impl Fn() -> Result<usize, Broken>,
) -> Result<usize, Broken> {
    eventually("every command stands before the gate", || {
        let ended = children
            .iter_mut()
            .filter_map(|child| child.try_wait().ok().flatten())
            .count();
        let all = children.len();
        waiting()
            .map(|waiting| (waiting + ended >= all).then_some(waiting))
            .transpose()
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_queues_for_a_lock_is_counted_once_however_often_it_is_listed() {
        let locks = "1: FLOCK  ADVISORY  WRITE 70 00:1a:33 0 EOF
1: -> FLOCK  ADVISORY  WRITE 71 00:1a:33 0 EOF
1:  -> FLOCK  ADVISORY  WRITE 72 00:1a:33 0 EOF
2: -> POSIX  ADVISORY  WRITE 73 00:1a:133 0 EOF
1: FLOCK  ADVISORY  WRITE 70 00:1a:33 0 EOF
1: -> FLOCK  ADVISORY  WRITE 71 00:1a:33 0 EOF
";
        assert_eq!(queue(locks, 33), BTreeSet::from([71, 72]));
        assert_eq!(queue(locks, 133), BTreeSet::from([73]));
        assert_eq!(queue(locks, 3), BTreeSet::new());
    }

    #[test]
    fn a_gate_leaves_what_the_store_has_noted_in_its_lock() {
        let folder = std::env::temp_dir().join(format!("inbox-gate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (store, lock) = (folder.join("coord.db"), folder.join("coord.db-lock"));
        drop(Gate::close(&store).unwrap());
        std::fs::write(&lock, "how far it has come").unwrap();
        drop(Gate::close(&store).unwrap());
        let noted = std::fs::read_to_string(&lock).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
        assert_eq!(noted, "how far it has come");
    }
}

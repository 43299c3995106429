//! Everything that a command has started, as far as the system tells.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// How often somebody new is looked for before what was found is killed. It is done again until nobody is left.
const ROUNDS: usize = 50;

/// What somebody has started and what those have, without itself.
#[cfg(target_os = "linux")]
pub(super) fn below(root: Pid) -> Vec<Pid> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // A program's name may have anything in it, so what follows its last bracket is read.
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split(' ');
        let state = fields.nth(1);
        let parent = fields.next().and_then(|parent| parent.parse().ok());
        // One that has ended only waits for its status to be read.
        if let (Some(parent), Some("R" | "S" | "D" | "T" | "t" | "I")) = (parent, state) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = vec![root.as_raw_nonzero().get()];
    let mut next = 0;
    while let Some(of) = found.get(next).copied() {
        found.extend(children.remove(&of).unwrap_or_default());
        next += 1;
    }
    found
        .into_iter()
        .skip(1)
        .filter_map(Pid::from_raw)
        .collect()
}

/// Without a list of processes there is the group alone.
#[cfg(not(target_os = "linux"))]
pub(super) fn below(_root: Pid) -> Vec<Pid> {
    Vec::new()
}

/// The memory that processes do not share with others, in bytes.
#[cfg(target_os = "linux")]
pub(super) fn memory(of: &[Pid]) -> u64 {
    let page = rustix::param::page_size() as u64;
    let of_one = |pid: &Pid| {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero()));
        let text = text.unwrap_or_default();
        let mut fields = text
            .split(' ')
            .skip(1)
            .map(|field| field.parse().unwrap_or(0));
        let (resident, shared): (u64, u64) =
            (fields.next().unwrap_or(0), fields.next().unwrap_or(0));
        resident.saturating_sub(shared) * page
    };
    of.iter().map(of_one).sum()
}

/// Without a list of processes the limit of each one is all there is.
#[cfg(not(target_os = "linux"))]
pub(super) fn memory(_of: &[Pid]) -> u64 {
    0
}

/// Kills a group and everybody below, however fast they start others: they are stopped first, until nobody new is found,
/// because who is stopped starts nothing.
pub(super) fn kill(group: Pid, root: Pid) {
    let mut stopped = BTreeSet::new();
    for _ in 0..ROUNDS {
        let _ = kill_process_group(group, Signal::STOP);
        let before = stopped.len();
        for pid in below(root) {
            if stopped.insert(pid.as_raw_nonzero()) {
                let _ = kill_process(pid, Signal::STOP);
            }
        }
        if stopped.len() == before {
            break;
        }
    }
    signal(group, root, Signal::KILL);
}

/// Sends a signal to a group, and to everybody below who has left it.
pub(super) fn signal(group: Pid, root: Pid, signal: Signal) {
    // The group first: no member of it can start another while it is signalled as a whole.
    let _ = kill_process_group(group, signal);
    for pid in below(root) {
        let _ = kill_process(pid, signal);
    }
}

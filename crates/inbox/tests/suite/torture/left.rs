//! What is left of a run that did not end by itself: no process, no folder, no schema; and what even so is left, the next run takes
//! away.

use std::path::{Path, PathBuf};
use std::process::Child;

use inbox_testkit::cluster::shared;
use inbox_testkit::sandbox::{Sandbox, finish, words};
use rustix::process::{Pid, Signal, kill_process};

use super::command::scratch;
use crate::INBOX;

/// Waits until it is so.
#[track_caller]
fn eventually(what: &str, look: impl FnMut() -> Option<()>) {
    let found = inbox_torture::child::eventually(what, look);
    found.unwrap_or_else(|broken| panic!("{broken}"));
}

/// The processes that work below a folder, or were started with its name, with their states.
fn processes(folder: &Path) -> Vec<(i32, char)> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let folder = folder.display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
            continue;
        };
        let cwd = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        let args = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_its = cwd.display().to_string().starts_with(&folder)
            || String::from_utf8_lossy(&args).contains(&folder);
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        // Who is dead and waits to be asked for is no process any more.
        if let Some(state) = state.filter(|state| is_its && *state != 'Z') {
            found.push((pid, state));
        }
    }
    found
}

/// A run of a part, once `is_begun`.
fn begun(sandbox: &Sandbox, part: &str, is_begun: impl Fn() -> bool) -> Child {
    let line = format!("torture --only {part} --seconds 600");
    let child = sandbox.spawn(words(&line));
    eventually("the torture is in the midst of it", || {
        is_begun().then_some(())
    });
    child
}

fn kill(mut child: Child) {
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

/// Waits until nothing is left of a run.
fn is_gone(sandbox: &Sandbox) {
    eventually("every process is gone", || {
        processes(sandbox.folder()).is_empty().then_some(())
    });
    eventually("the scratch folder is gone", || {
        scratch(sandbox).is_empty().then_some(())
    });
}

#[test]
fn a_run_that_is_killed_leaves_no_process_not_even_a_stopped_one_and_no_folder() {
    let sandbox = Sandbox::new(INBOX);
    let is_stopped = || {
        let found = processes(sandbox.folder());
        found.iter().filter(|(_, state)| *state == 'T').count() > 3
    };
    kill(begun(&sandbox, "zombies", is_stopped));
    is_gone(&sandbox);
}

#[test]
fn a_run_that_is_killed_takes_servers_and_watched_processes_with_it() {
    for part in ["server", "power", "ledger"] {
        let sandbox = Sandbox::new(INBOX);
        // The torture, its keeper, and one that it started.
        let is_busy = || processes(sandbox.folder()).len() > 2;
        kill(begun(&sandbox, part, is_busy));
        is_gone(&sandbox);
    }
}

#[test]
fn a_run_that_is_killed_leaves_what_it_was_told_to_keep_and_no_process() {
    let sandbox = Sandbox::new(INBOX);
    let is_busy = || processes(sandbox.folder()).len() > 5;
    kill(begun(&sandbox, "zombies --keep", is_busy));
    eventually("every process is gone", || {
        processes(sandbox.folder()).is_empty().then_some(())
    });
    let kept = scratch(&sandbox);
    assert_eq!(kept.len(), 1, "{kept:?}");
    // Nor does the next run take it for something that was left.
    sandbox.ok("torture --only cursor --rounds 1");
    assert_eq!(scratch(&sandbox), kept);
}

#[test]
fn who_is_told_twice_to_stop_ends_at_once_and_leaves_nothing() {
    let sandbox = Sandbox::new(INBOX);
    let mut child = begun(&sandbox, "zombies", || {
        processes(sandbox.folder()).len() > 5
    });
    while child.try_wait().expect("it is ours").is_none() {
        let _ = kill_process(Pid::from_child(&child), Signal::INT);
        std::thread::yield_now();
    }
    is_gone(&sandbox);
}

/// Kills a run and who would clean up after it; the folder that is left.
fn abandon(sandbox: &Sandbox, child: Child) -> PathBuf {
    let beside = sandbox.folder().join(".agents");
    let folders = scratch(sandbox).into_iter().map(|name| beside.join(name));
    // What is kept has no lock.
    let mut living = folders.filter(|folder| folder.join("lock").exists());
    let folder = living.next().expect("one lives");
    let keepers: Vec<_> = processes(&folder)
        .into_iter()
        .filter(|(pid, _)| {
            let args = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&args).contains(inbox_torture::keeper::KEEPER)
        })
        .collect();
    assert_eq!(keepers.len(), 1, "one keeps");
    for (pid, _) in keepers {
        let pid = Pid::from_raw(pid).expect("a number");
        kill_process(pid, Signal::KILL).expect("it runs");
    }
    kill(child);
    eventually("what it started is gone", || {
        processes(&folder).is_empty().then_some(())
    });
    folder
}

#[test]
fn what_a_killed_run_left_the_next_one_takes_away_and_leaves_living_and_kept_ones_alone() {
    let sandbox = Sandbox::new(INBOX);
    let kept = sandbox.ok("torture --only clock --rounds 1 --keep");
    let kept = PathBuf::from(kept["kept"][0].as_str().expect("a place"));
    let is_working = |count: usize| {
        let sandbox = &sandbox;
        move || scratch(sandbox).len() == count && processes(sandbox.folder()).len() > 2
    };
    let left = abandon(&sandbox, begun(&sandbox, "clock", is_working(2)));
    assert!(left.exists());
    let living = begun(&sandbox, "clock", || {
        let names = scratch(&sandbox);
        !left.exists() && names.len() == 2
    });
    let report = sandbox.ok("torture --only clock --rounds 1");
    assert!(report["removed"].is_null(), "{report}");
    assert_eq!(scratch(&sandbox).len(), 2, "the kept and the living one");
    kill_process(Pid::from_child(&living), Signal::TERM).expect("it runs");
    let report = finish(living).json();
    assert_eq!(report["removed"][0], left.display().to_string());
    assert_eq!(report["parts"][0]["verdict"], "stopped", "{report}");
    assert!(kept.join("clock/store.db").exists());
}

#[test]
fn on_postgresql_a_run_that_is_killed_leaves_no_schema() {
    let mut sandbox = Sandbox::empty(INBOX);
    let url = shared().fresh_url();
    sandbox.set("INBOX_DB", &url);
    sandbox.set("TMPDIR", &sandbox.folder().display().to_string());
    let folder = sandbox.folder().to_owned();
    let run = || {
        let entries = std::fs::read_dir(&folder).expect("a folder").flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.find_map(|name| Some(name.strip_prefix(".inbox-torture-")?.to_owned()))
    };
    let child = begun(&sandbox, "zombies", || {
        processes(&folder).iter().any(|(_, state)| *state == 'T')
    });
    let name = run().expect("it is on");
    kill(child);
    eventually("every process is gone", || {
        processes(&folder).is_empty().then_some(())
    });
    assert_eq!(run(), None);
    let mine =
        format!("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'inbox_torture_{name}%'");
    assert_eq!(shared().psql(&mine), "0");
}

#[test]
fn on_postgresql_where_nothing_can_be_tried_nothing_is_said_to_hold() {
    let sandbox = Sandbox::empty(INBOX);
    let url = shared().fresh_url();
    let outcome = sandbox.run(words(&format!("torture --db {url} --only power,disk")));
    assert_eq!(outcome.code, 10, "{outcome}");
    let report = outcome.json();
    let verdict = "no promise was tried to its end, 2 skipped";
    assert_eq!(report["verdict"], verdict);
    // Unless that is as well, which is said of nothing that is unable.
    let line = format!("torture --db {url} --only power,disk --skip-ok");
    assert_eq!(sandbox.ok(&line)["verdict"], verdict);
    let nowhere = "postgres://nobody@127.0.0.1:1/none";
    let line = format!("torture --db {nowhere} --only clock --skip-ok");
    assert_eq!(sandbox.run(words(&line)).code, 10);
}

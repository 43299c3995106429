//! Stores that are missing, damaged, foreign, newer, read-only, full or far away: a clear error, no
//! panic, no hang, and never an empty success.

mod disk;
mod foreign;
pub(crate) mod limits;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inbox_testkit::sandbox::{Outcome, Sandbox, finish};
use serde_json::Value;

use crate::INBOX;

/// A store with three threads, of which the first has a reply and an artifact.
fn filled() -> Sandbox {
    let inbox = Sandbox::new(INBOX);
    for subject in ["One", "Two", "Three"] {
        send(&inbox, subject).ok();
    }
    let reply = [
        "reply",
        "--from",
        "w",
        "--thread",
        "thr_1",
        "--summary",
        "Yes",
        "--artifact",
        "a.md",
        "--json",
    ];
    inbox.run(reply).ok();
    inbox
}

fn send(inbox: &Sandbox, subject: &str) -> Outcome {
    inbox.run([
        "send",
        "--from",
        "lead",
        "--to",
        "w",
        "--subject",
        subject,
        "--json",
    ])
}

/// Runs a command on a store, and ends it when it hangs.
#[track_caller]
fn bounded(inbox: &Sandbox, db: &Path, args: &[&str]) -> Outcome {
    let mut command = inbox.command(args);
    command.arg("--json").env("INBOX_DB", db);
    // To files, so that no full pipe can hold the process up.
    let name = format!("{}.out", db.display());
    let out = std::fs::File::create(&name).expect("a test can do this");
    let err = std::fs::File::create(format!("{}.err", db.display())).expect("a test can do this");
    let mut child = command
        .stdout(out)
        .stderr(err)
        .spawn()
        .expect("a test can do this");
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = loop {
        if let Some(status) = child.try_wait().expect("a test can do this") {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().expect("a test can do this");
            panic!("{args:?} hangs on {}", db.display());
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let read = |suffix: &str| {
        let bytes = std::fs::read(format!("{}{suffix}", db.display())).expect("a test can do this");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Outcome {
        code: status.code().unwrap_or(-1),
        stdout: read(".out"),
        stderr: read(".err"),
    }
}

/// Runs a program that must succeed.
#[track_caller]
fn must(program: &str, args: &[&str]) {
    let status = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .status()
        .unwrap_or_else(|error| panic!("{program} cannot be run: {error}"));
    assert!(
        status.success(),
        "{program} {args:?} failed; these tests need root"
    );
}

/// Another program that opens the file.
fn sqlite(path: &Path, sql: &str) {
    let database = rusqlite::Connection::open(path).expect("a test can do this");
    database.execute_batch(sql).expect("a test can do this");
}

#[test]
fn files_beside_the_store_may_go_missing() {
    for suffix in ["-shm", "-lock", "-bell"] {
        let inbox = filled();
        std::fs::remove_file(format!("{}{suffix}", inbox.store().display())).unwrap();
        let listed = inbox.run(["list", "--json"]).ok();
        assert_eq!(listed["threads"].as_array().unwrap().len(), 3, "{suffix}");
        send(&inbox, "Four").ok();
        let doctor = inbox.run(["doctor", "--json"]);
        doctor.ok();
    }
}

/// What becomes of a log: what is left of it lies there.
type Cut = fn(&Path, &[u8]);

const CUTS: [Cut; 5] = [
    |log, _| put(log, None),
    |log, _| put(log, Some(b"")),
    |log, whole| put(log, Some(&whole[..whole.len() - 100])),
    |log, whole| put(log, Some(&whole[..whole.len() / 2])),
    |log, whole| {
        let mut bytes = whole.to_vec();
        *bytes.last_mut().expect("it is not empty") ^= 1;
        put(log, Some(&bytes));
    },
];

/// Lays this in the place of a file, or nothing.
fn put(file: &Path, bytes: Option<&[u8]>) {
    let done = match bytes {
        Some(bytes) => std::fs::write(file, bytes),
        None => std::fs::remove_file(file),
    };
    done.expect("a test can do this");
}

const COMMANDS: [&[&str]; 7] = [
    &["list"],
    &["fetch", "--agent", "w"],
    &["claim", "--agent", "w"],
    &["read", "--agent", "w"],
    &["watch", "--after-event", "0", "--timeout-seconds", "0"],
    &["send", "--from", "lead", "--to", "w", "--subject", "Four"],
    &["doctor"],
];

#[test]
fn a_log_that_was_cut_changed_or_taken_away_is_told_of_by_every_command() {
    for (n, cut) in CUTS.into_iter().enumerate() {
        let inbox = filled();
        let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", inbox.store().display()));
        let whole = std::fs::read(beside("-wal")).unwrap();
        let damage = || {
            let _ = std::fs::remove_file(beside("-shm"));
            cut(&beside("-wal"), &whole);
        };
        damage();
        for line in COMMANDS {
            let refused = bounded(&inbox, &inbox.store(), line).refused(50, "store_corrupt");
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(message.contains("coord.db-wal"), "{n} {line:?}: {message}");
        }

        // The log that comes back has everything.
        let _ = std::fs::remove_file(beside("-shm"));
        std::fs::write(beside("-wal"), &whole).unwrap();
        assert_eq!(count(&inbox), 3, "{n}");

        // Who knows of the loss goes on with what is left.
        damage();
        std::fs::remove_file(beside("-lock")).unwrap();
        let left = count(&inbox);
        assert!(left <= 3, "{n}: {left}");
        send(&inbox, "Four").ok();
        assert_eq!(count(&inbox), left + 1, "{n}");
    }
}

fn count(inbox: &Sandbox) -> usize {
    let answer = inbox.run(["list", "--json"]);
    let is_empty = answer.code == 10;
    assert!(is_empty || answer.code == 0, "{answer:?}");
    let listed: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    listed["threads"].as_array().expect("threads").len()
}

#[test]
fn a_store_that_another_program_has_moved_its_log_into_is_whole() {
    let inbox = filled();
    // The last who closes an SQLite database moves its log and takes it away.
    sqlite(
        &inbox.store(),
        "SELECT count(*) FROM threads; PRAGMA wal_checkpoint(TRUNCATE)",
    );
    let log = PathBuf::from(format!("{}-wal", inbox.store().display()));
    let _ = std::fs::remove_file(&log);
    assert_eq!(count(&inbox), 3);
    inbox.run(["doctor", "--json"]).ok();
}

#[test]
fn another_store_in_the_place_of_one_is_not_measured_by_it() {
    let (inbox, older) = (filled(), Sandbox::new(INBOX));
    send(&older, "One").ok();
    let copy = older.folder().join("copy.db");
    let line = ["backup", "--json", "--to", copy.to_str().unwrap()];
    older.run(line).ok();
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", inbox.store().display()));
    }
    std::fs::copy(&copy, inbox.store()).unwrap();
    assert_eq!(count(&inbox), 1);
    inbox.run(["doctor", "--json"]).ok();
}

#[test]
fn a_damaged_log_is_found_by_doctor_and_by_whoever_finds_nothing() {
    let inbox = filled();
    let log = format!("{}-wal", inbox.store().display());
    let mut bytes = std::fs::read(&log).unwrap();
    std::fs::remove_file(format!("{}-shm", inbox.store().display())).unwrap();
    bytes[32 + 24 + 100] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    inbox.run(["doctor", "--json"]).refused(50, "store_corrupt");
    inbox.run(["list", "--json"]).refused(50, "store_corrupt");
    for line in [
        &["fetch", "--agent", "w"][..],
        &["claim", "--agent", "w"],
        &["show", "--thread", "thr_1"],
        &["export", "--thread", "thr_1"],
        &["watch", "--after-event", "0", "--timeout-seconds", "0"],
        &[
            "update",
            "--agent",
            "w",
            "--thread",
            "thr_1",
            "--summary",
            "s",
        ],
    ] {
        bounded(&inbox, &inbox.store(), line).refused(50, "store_corrupt");
    }
}

#[test]
fn a_store_on_a_network_file_system_is_refused() {
    let inbox = filled();
    let list = |variables: &[(&str, &str)], command: &str| {
        let mut list = inbox.command([command, "--json"]);
        finish(list.envs(variables.iter().copied()).spawn().unwrap())
    };
    let nfs = ("INBOX_PRETEND_FS", "6969");
    let refused = list(&[nfs], "list").refused(50, "storage");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("network file system (NFS)"), "{message}");
    assert!(
        refused["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("local disk"),
        "{refused}"
    );
    list(&[nfs], "doctor").refused(50, "storage");
    list(&[nfs, ("INBOX_ALLOW_NETWORK_FS", "1")], "list").ok();
    list(&[("INBOX_PRETEND_FS", "ef53")], "list").ok();
}

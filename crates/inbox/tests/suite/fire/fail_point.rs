//! Death at each numbered point of each command, and what the environment may ask of an ordinary store.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use inbox_store::FailPoint;
use inbox_testkit::sandbox::Sandbox;

use super::{claim, count, open, reader, words};
use crate::INBOX;

/// Commands that write; `{T}` is a fresh thread, and `{L}` the proof of a claim on it, which is only
/// made for those that need it.
const WRITES: [&str; 11] = [
    "send --from lead --to worker --subject new",
    "send --from lead --thread {T} --summary more --artifact a.txt",
    "claim --agent worker --thread {T}",
    "claim --agent worker",
    "renew {L} --thread {T} --lease-seconds 1800",
    "update {L} --thread {T} --summary going",
    "reply --from lead --thread {T} --summary yes",
    "done {L} --thread {T} --summary ready --artifact a.txt",
    "fail {L} --thread {T} --summary no",
    "cancel --agent lead --thread {T} --reason over",
    "release {L} --thread {T}",
];

/// Whether a command was killed at this point; it says nothing before it dies.
#[track_caller]
fn dies(inbox: &Sandbox, args: &[String], point: FailPoint) -> bool {
    let output = inbox
        .command(args)
        .env("INBOX_FAIL_POINT", (point as u32).to_string())
        .output()
        .unwrap();
    match output.status.signal() {
        Some(9) => {
            assert_eq!(output.stdout, b"", "{args:?} answered before {point:?}");
            true
        }
        None if output.status.success() => false,
        _ => panic!("{args:?} at {point:?}: {output:?}"),
    }
}

pub(super) fn is_of_a_write(point: FailPoint) -> bool {
    point as u32 <= FailPoint::AfterRing as u32
}

fn is_before_commit(point: FailPoint) -> bool {
    point as u32 <= FailPoint::BeforeCommit as u32
}

/// Makes the log longer than what a commit leaves alone: while somebody reads, it cannot be moved.
fn fill_the_log(inbox: &Sandbox) {
    let reader = reader(&inbox.store());
    reader.execute_batch("BEGIN").unwrap();
    let _: i64 = reader
        .query_row("SELECT count(*) FROM threads", [], |row| row.get(0))
        .unwrap();
    std::fs::write(inbox.folder().join("long.txt"), "x".repeat(400_000)).unwrap();
    let line = "send --from lead --to nobody --subject long --body-file long.txt";
    inbox.run(words(line)).ok();
    let mut log = inbox.store().into_os_string();
    log.push("-wal");
    assert!(std::fs::metadata(log).unwrap().len() > 64 * 4120);
}

/// One death, and what follows: a sound store, and one effect of the command however often it is tried.
fn die_and_retry(
    inbox: &Sandbox,
    command: &str,
    point: FailPoint,
    n: usize,
    entries: &dyn Fn() -> i64,
) {
    let thread = open(inbox, "worker", &format!("thread-{n}"));
    let mut line = command.replace("{T}", &thread);
    if line.contains("{L}") {
        let token = claim(inbox, "worker", &thread, 900);
        line = line.replace("{L}", &format!("--lease {token}"));
    }
    let args = words(&format!("{line} --key key-{n}"));
    if matches!(
        point,
        FailPoint::BeforeCheckpoint | FailPoint::AfterCheckpoint
    ) {
        fill_the_log(inbox);
    }
    let before = entries();
    let died = dies(inbox, &args, point);
    assert_eq!(died, is_of_a_write(point), "{command} at {point:?}");
    let kept = entries() - before;
    let expected = i64::from(!is_before_commit(point));
    assert_eq!(kept, expected, "{command} at {point:?}");
    inbox.run(["doctor", "--json"]).ok();
    let first = inbox.run(&args).ok();
    assert_eq!(entries() - before, 1, "{command} at {point:?}");
    assert_eq!(inbox.run(&args).ok(), first, "{command} at {point:?}");
    assert_eq!(entries() - before, 1, "{command} at {point:?}");
}

/// Lets each command die at a point, and tries it again; `entries` counts what the store has.
pub(super) fn each_write(inbox: &Sandbox, point: FailPoint, entries: &dyn Fn() -> i64) {
    std::fs::write(inbox.folder().join("a.txt"), "attached").unwrap();
    for (n, command) in WRITES.iter().enumerate() {
        die_and_retry(inbox, command, point, n, entries);
        // Claim-next has to find the thread of its own round.
        while inbox.run(words("claim --agent worker")).code == 0 {}
    }
}

#[test]
fn a_write_that_dies_at_any_point_and_is_retried_with_its_key_has_one_effect() {
    std::thread::scope(|scope| {
        for half in FailPoint::ALL.chunks(8) {
            scope.spawn(move || {
                for &point in half {
                    let inbox = Sandbox::in_memory(INBOX);
                    let store = inbox.store();
                    each_write(&inbox, point, &|| {
                        count(&store, "SELECT count(*) FROM entries")
                    });
                }
            });
        }
    });
}

#[test]
fn an_init_that_dies_at_any_point_leaves_no_half_a_store_and_can_be_retried() {
    for point in FailPoint::ALL {
        let inbox = Sandbox::empty(INBOX);
        let died = dies(&inbox, &words("init"), point);
        let expected = match point {
            FailPoint::BeforeLock
            | FailPoint::AfterBegin
            | FailPoint::BeforeCommit
            | FailPoint::AfterCommit
            | FailPoint::InitFile
            | FailPoint::BeforeMigration
            | FailPoint::AfterMigration
            // The migrations are long enough for the log to be moved once.
            | FailPoint::BeforeCheckpoint
            | FailPoint::AfterCheckpoint
            | FailPoint::InitBeforeName
            | FailPoint::InitAfterName => true,
            FailPoint::BeforeRing
            | FailPoint::AfterRing
            | FailPoint::BackupBeforeName
            | FailPoint::BackupAfterName
            | FailPoint::MoveBeforeCommit
            | FailPoint::MoveAfterCommit
            | FailPoint::MoveBeforeEnd
            | FailPoint::MoveAfterEnd
            | FailPoint::LedgerBeforeSend
            | FailPoint::LedgerAfterSend
            | FailPoint::LedgerAfterReceipt
            | FailPoint::LedgerBeforeSave
            | FailPoint::BridgeBeforeId
            | FailPoint::BridgeAfterSaid
            | FailPoint::BridgeBeforeTaking
            | FailPoint::BridgeMidst
            | FailPoint::BridgeBeforeCommit
            | FailPoint::BridgeAfterCommit => false,
        };
        assert_eq!(died, expected, "{point:?}");
        let has_its_name = !died || point == FailPoint::InitAfterName;
        assert_eq!(inbox.store().exists(), has_its_name, "{point:?}");
        let again = inbox.run(["init", "--json"]).ok();
        assert_eq!(again["created"], !has_its_name, "{point:?}");
        open(&inbox, "worker", "works");
        inbox.run(["doctor", "--json"]).ok();
    }
}

#[test]
fn a_backup_that_dies_at_any_point_leaves_a_whole_copy_or_none() {
    for point in FailPoint::ALL {
        let inbox = Sandbox::new(INBOX);
        open(&inbox, "worker", "kept");
        let copy = inbox.folder().join("copy.db");
        let args = words(&format!("backup --to {}", copy.display()));
        let died = dies(&inbox, &args, point);
        let expected = matches!(
            point,
            FailPoint::BackupBeforeName | FailPoint::BackupAfterName
        );
        assert_eq!(died, expected, "{point:?}");
        if point == FailPoint::BackupBeforeName {
            assert!(!copy.exists());
            inbox.run(&args).ok();
        }
        is_whole(&inbox, &copy);
        inbox.run(["doctor", "--json"]).ok();
    }
}

fn is_whole(inbox: &Sandbox, copy: &Path) {
    let copy = copy.display();
    inbox.run(words(&format!("doctor --db {copy}"))).ok();
    let listed = inbox.run(words(&format!("list --db {copy}"))).ok();
    assert_eq!(listed["threads"][0]["subject"], "kept");
}

#[test]
fn an_ordinary_store_takes_neither_a_fail_point_nor_a_time_from_the_environment() {
    let inbox = Sandbox::empty(INBOX);
    let mut init = inbox.command(words("init"));
    assert!(
        init.env_remove("INBOX_TEST_STORE")
            .status()
            .unwrap()
            .success()
    );
    for point in FailPoint::ALL {
        // `INBOX_TEST_STORE` is set again: it is asked for when a store is made, and never later.
        let sent = inbox
            .command(words("send --from lead --to worker --subject ordinary"))
            .env("INBOX_FAIL_POINT", (point as u32).to_string())
            .env("INBOX_NOW", "2001-02-03T04:05:06Z")
            .output()
            .unwrap();
        assert!(sent.status.success(), "{point:?}: {sent:?}");
        let answer: serde_json::Value = serde_json::from_slice(&sent.stdout).unwrap();
        let created = answer["message"]["created_at"].as_str().unwrap();
        assert!(!created.starts_with("2001"), "{answer}");
    }
    let on_a_test_store = Sandbox::new(INBOX);
    let sent = on_a_test_store
        .command(words("send --from lead --to worker --subject then"))
        .env("INBOX_NOW", "2001-02-03T04:05:06Z")
        .output()
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(answer["message"]["created_at"], "2001-02-03T04:05:06.000Z");
}

//! Death at each numbered point of `init` and of `backup`, of which neither reaches those of others, and what the environment may ask of an
//! ordinary store. Operations that write, and a wait that keeps its lease, die in `inbox torture --only points`.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use inbox_store::FailPoint;
use inbox_testkit::sandbox::Sandbox;

use super::{open, words};
use crate::INBOX;

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
            | FailPoint::ArchiveMidst
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

//! `doctor` and `backup`.

use std::os::unix::fs::PermissionsExt;

use std::sync::atomic::{AtomicBool, Ordering};

use inbox_ops::{Operation, Send};
use inbox_testkit::sandbox::{Sandbox, words};
use inbox_torture::child::{Leashed, ends};
use inbox_torture::ground::{caller, inbox};

use super::desk::{Desk, ids, keys, text};
use crate::INBOX;

#[test]
fn doctor_checks_a_sound_store_and_exits_0() {
    let desk = Desk::new();
    desk.send("--to w");
    let answer = desk.ok("doctor");
    assert_eq!(keys(&answer), ["checks", "command", "ok"]);
    let checks = answer["checks"].as_array().unwrap();
    for check in checks {
        assert_eq!(keys(check), ["hint", "message", "name", "status"]);
        assert!(
            ["ok", "warning"].contains(&check["status"].as_str().unwrap()),
            "{check}"
        );
    }
    let names: Vec<_> = checks.iter().map(|check| text(&check["name"])).collect();
    for name in [
        "version",
        "open",
        "engine",
        "journal_mode",
        "synchronous",
        "file_system",
        "wal_bytes",
        "integrity",
        "permissions",
        "bell",
    ] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    let integrity = checks
        .iter()
        .find(|check| check["name"] == "integrity")
        .unwrap();
    assert!(text(&integrity["message"]).contains("1 threads, 1 messages, 1 events, 1 agents"));
}

#[test]
fn doctor_warns_of_a_store_that_others_can_open() {
    let desk = Desk::new();
    std::fs::set_permissions(desk.inbox.store(), PermissionsExt::from_mode(0o644)).unwrap();
    let answer = desk.ok("doctor");
    let check = answer["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "permissions")
        .unwrap()
        .clone();
    assert_eq!(check["status"], "warning");
    assert!(text(&check["hint"]).contains("chmod 600"));
    let said = desk.inbox.run(["doctor"]);
    assert_eq!(said.code, 0);
    assert!(said.stdout.contains("chmod 600"), "{said}");
}

#[test]
fn doctor_says_what_is_wrong_and_exits_50() {
    let desk = Desk::new();
    let path = desk.inbox.folder().join("text.db");
    std::fs::write(
        &path,
        "this is no database, but it is long enough to be taken for one by its length alone. "
            .repeat(20),
    )
    .unwrap();
    let outcome = desk.run("doctor --db text.db");
    let answer = outcome.refused(50, "store_corrupt");
    assert_eq!(answer["command"], "doctor");
    assert!(
        answer["checks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|check| check["status"] == "error")
    );
    assert!(!text(&answer["error"]["hint"]).is_empty());
    let said = desk.inbox.run(["doctor", "--db", "text.db"]);
    assert_eq!(said.code, 50);
    assert!(
        said.stderr.contains("error: ") && said.stderr.contains("hint: "),
        "{said}"
    );
}

#[test]
fn a_backup_is_a_whole_store_and_never_overwrites() {
    let desk = Desk::new();
    for _ in 0..20 {
        desk.send("--to w");
    }
    let answer = desk.ok("backup --to copy.db");
    assert_eq!(keys(&answer), ["backup", "bytes", "command", "db", "ok"]);
    let copy = desk.inbox.folder().join("copy.db");
    assert_eq!(answer["bytes"], std::fs::metadata(&copy).unwrap().len());
    assert_eq!(
        std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let there = desk.ok("list --db copy.db");
    assert_eq!(there["threads"], desk.ok("list")["threads"]);
    desk.ok("send --db copy.db --from a --to b --subject only~in~the~copy");
    assert_eq!(ids(&desk.ok("list")).len(), 20);
    desk.ok("doctor --db copy.db");
    desk.refused(20, "already_exists", "backup --to copy.db");
    desk.refused(30, "invalid_input", "backup --to=");
    let error = desk.refused(50, "storage", "backup --to no/such/folder.db");
    assert!(
        text(&error["message"]).contains("no/such/folder.db"),
        "{error}"
    );
    let left: Vec<_> = std::fs::read_dir(desk.inbox.folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_string_lossy().contains("new")),
        "{left:?}"
    );
}

#[test]
fn a_store_that_is_always_written_to_is_copied_all_the_same() {
    let sandbox = Sandbox::in_memory(INBOX);
    let large = sandbox.folder().join("large.txt");
    std::fs::write(&large, "large ".repeat(170_000)).unwrap();
    for _ in 0..16 {
        sandbox.ok("send --from lead --to crew --subject large --body-file large.txt");
    }
    let store = inbox_store::Location::File(sandbox.store());
    let inbox = inbox(inbox_store::Store::open(&store).unwrap());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let lead = caller("lead").unwrap();
            while !is_over.load(Ordering::SeqCst) {
                let send = Send {
                    to: vec!["crew".parse().unwrap()],
                    subject: Some("small".to_owned()),
                    ..Send::default()
                };
                send.run(&inbox, &lead).unwrap();
            }
        });
        let copied = ends(Leashed(sandbox.spawn(words("backup --to copy.db"))));
        is_over.store(true, Ordering::SeqCst);
        copied.unwrap().ok().unwrap();
    });
    sandbox.ok("doctor --db copy.db");
}

//! `init`, and how a store is found.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use inbox_testkit::sandbox::{Outcome, Sandbox, finish};

use super::desk::{Desk, keys, words};
use crate::INBOX;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path)
        .expect("a test can do this")
        .permissions()
        .mode()
        & 0o777
}

fn run_in(inbox: &Sandbox, folder: &Path, line: &str) -> Outcome {
    let mut command = inbox.command(words(line));
    finish(
        command
            .current_dir(folder)
            .spawn()
            .expect("a test can do this"),
    )
}

#[test]
fn init_makes_a_private_store_once() {
    let inbox = Sandbox::empty(INBOX);
    let made = inbox.run(words("init")).ok();
    assert_eq!(
        keys(&made),
        ["command", "created", "db", "ok", "schema_version"]
    );
    assert_eq!(made["command"], "init");
    assert_eq!(made["created"], true);
    assert!(made["schema_version"].as_i64().unwrap() >= 1);
    assert_eq!(mode(&inbox.store()), 0o600);
    assert_eq!(mode(&inbox.folder().join(".agents")), 0o700);
    assert_eq!(inbox.run(words("init")).ok()["created"], false);
    let names: Vec<_> = std::fs::read_dir(inbox.folder().join(".agents"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(
        names.iter().all(|name| !name.contains("new")),
        "a draft is left: {names:?}"
    );
}

#[test]
fn init_makes_the_store_that_db_names_with_its_folders() {
    let inbox = Sandbox::empty(INBOX);
    let made = inbox.run(words("init --db one/two/my.db")).ok();
    assert_eq!(made["db"], "one/two/my.db");
    assert_eq!(mode(&inbox.folder().join("one/two/my.db")), 0o600);
    assert_eq!(mode(&inbox.folder().join("one/two")), 0o700);
    assert_eq!(mode(&inbox.folder().join("one")), 0o700);
    inbox.run(words("list --db one/two/my.db")).ok();
}

#[test]
fn init_makes_a_store_here_even_when_there_is_one_above() {
    let inbox = Sandbox::new(INBOX);
    let below = inbox.folder().join("below");
    std::fs::create_dir(&below).unwrap();
    assert_eq!(run_in(&inbox, &below, "init").ok()["created"], true);
    assert!(below.join(".agents/coord.db").exists());
}

#[test]
fn the_store_is_the_nearest_above_the_working_directory() {
    let desk = Desk::new();
    desk.send("--to backend");
    let deep = desk.inbox.folder().join("a/b/c");
    std::fs::create_dir_all(&deep).unwrap();
    let threads = |folder: &Path| {
        run_in(&desk.inbox, folder, "list").ok()["threads"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(threads(&deep), 1);
    run_in(&desk.inbox, &desk.inbox.folder().join("a"), "init").ok();
    assert_eq!(threads(&deep), 0, "a nearer store wins");
    assert_eq!(threads(desk.inbox.folder()), 1);
}

#[test]
fn the_flag_goes_before_the_variable_and_the_variable_before_the_nearest() {
    let desk = Desk::new();
    desk.send("--to backend");
    desk.ok("init --db one.db");
    desk.ok("init --db two.db");
    desk.ok("send --db two.db --from lead --to x --subject Only~in~two");
    desk.ok("send --db two.db --from lead --to x --subject Also~in~two");
    let threads = |variables: &[(&str, &str)], line: &str| {
        desk.with(variables, line).ok()["threads"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(threads(&[], "list"), 1);
    assert_eq!(threads(&[("INBOX_DB", "one.db")], "list"), 0);
    assert_eq!(threads(&[("INBOX_DB", "one.db")], "list --db two.db"), 2);
    assert_eq!(threads(&[("INBOX_DB", "")], "list"), 1, "empty is unset");
    let made = desk.with(&[("INBOX_DB", "three.db")], "init").ok();
    assert_eq!(made["db"], "three.db");
    desk.refused(30, "invalid_input", "list --db=");
}

#[test]
fn a_store_that_is_not_there_stays_absent() {
    let desk = Desk::new();
    for command in [
        "list",
        "fetch --agent a",
        "claim --agent a",
        "send --from a --to b --subject c",
        "show --thread thr_1",
        "watch --timeout-seconds 0",
        "wait-reply --thread thr_1 --timeout-seconds 0",
        "done --agent a --thread thr_1 --summary x",
        "export --thread thr_1",
        "doctor",
        "backup --to copy.db",
    ] {
        let error = desk.refused(
            40,
            "store_not_found",
            &format!("{command} --db nowhere/no.db"),
        );
        assert!(error["message"].as_str().unwrap().contains("nowhere/no.db"));
        assert!(error["hint"].as_str().unwrap().contains("inbox init"));
        desk.with(&[("INBOX_DB", "absent.db")], command)
            .refused(40, "store_not_found");
    }
    assert!(!desk.inbox.folder().join("nowhere").exists());
    assert!(!desk.inbox.folder().join("absent.db").exists());
    assert!(!desk.inbox.folder().join("copy.db").exists());
}

#[test]
fn without_any_store_the_hint_is_to_make_one_here() {
    let inbox = Sandbox::empty(INBOX);
    let refused = inbox.run(words("list")).refused(40, "store_not_found");
    assert!(
        refused["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("inbox init")
    );
    let outcome = inbox.run(["list"]);
    assert_eq!(outcome.code, 40);
    assert!(outcome.stdout.is_empty(), "{outcome}");
    assert!(outcome.stderr.contains("hint: inbox init"), "{outcome}");
}

#[test]
fn an_empty_file_is_no_store_and_stays_as_it_is() {
    let desk = Desk::new();
    let path = desk.inbox.folder().join("empty.db");
    std::fs::write(&path, "").unwrap();
    for command in ["init", "list", "send --from a --to b --subject c", "doctor"] {
        let error = desk.refused(50, "store_corrupt", &format!("{command} --db empty.db"));
        assert!(
            error["message"].as_str().unwrap().contains("empty"),
            "{error}"
        );
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
}

#[test]
fn of_many_that_make_a_store_at_once_one_does_and_all_succeed() {
    let inbox = Sandbox::empty(INBOX);
    let racing: Vec<_> = (0..6).map(|_| inbox.spawn(words("init"))).collect();
    let created = racing
        .into_iter()
        .map(|child| finish(child).ok()["created"] == true)
        .filter(|created| *created)
        .count();
    assert_eq!(created, 1);
    inbox.run(words("list")).ok();
}

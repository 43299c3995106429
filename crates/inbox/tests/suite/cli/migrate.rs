//! `migrate`: a store moves, and what was said about it stays true.

use inbox_testkit::cluster::shared;
use serde_json::Value;

use super::desk::{Desk, ids, keys, text};

#[test]
fn a_store_moves_to_postgresql_and_back_with_its_leases_and_cursors() {
    let desk = Desk::new();
    let thread =
        text(&desk.ok("send --from lead --to backend --subject Add~posts")["thread"]["thread_id"]);
    let lease = desk.claim("backend", &thread);
    desk.ok("send --from lead --to backend --subject Other --key k1");
    let cursor = desk.ok("list")["next_event_id"].as_i64().unwrap();
    let from = desk.inbox.store().display().to_string();
    let url = shared().fresh_url();
    let answer = desk.ok(&format!("migrate --from {from} --to {url}"));
    assert_eq!(
        keys(&answer),
        [
            "archives",
            "command",
            "from",
            "next_event_id",
            "ok",
            "restarted",
            "resumed",
            "rows",
            "sha256",
            "to"
        ]
    );
    assert_eq!(answer["command"], "migrate");
    assert_eq!(answer["next_event_id"], cursor);
    assert_eq!(answer["rows"]["threads"], 2);
    assert_eq!(answer["sha256"].as_str().unwrap().len(), 64);
    assert!(!answer["to"].as_str().unwrap().contains("password"));
    desk.ok(&format!(
        "update --db {url} --lease {lease} --thread {thread} --summary going~on"
    ));
    let back = desk.inbox.folder().join("back.db").display().to_string();
    desk.ok(&format!("migrate --from {url} --to {back}"));
    desk.ok(&format!(
        "done --db {back} --lease {lease} --thread {thread} --summary done"
    ));
    let events = desk.ok(&format!(
        "watch --db {back} --after-event {cursor} --timeout-seconds 0"
    ));
    let types: Vec<_> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| text(&event["event_type"]))
        .collect();
    assert_eq!(types.len(), 2, "{events}");
    let again = desk.ok(&format!(
        "send --db {back} --from lead --to backend --subject Other --key k1"
    ));
    assert_eq!(ids(&desk.ok(&format!("list --db {back}"))).len(), 2);
    assert_eq!(again["thread"]["subject"], "Other");
    assert_eq!(
        desk.ok(&format!("list --db {from}"))["threads"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn people_get_a_short_page_and_no_bar_without_a_terminal() {
    let desk = Desk::new();
    desk.ok("send --from lead --to backend --subject Add~posts");
    let from = desk.inbox.store().display().to_string();
    let to = desk.inbox.folder().join("to.db").display().to_string();
    let outcome = desk.inbox.run(["migrate", "--from", &from, "--to", &to]);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (0, ""),
        "{outcome}"
    );
    let lines: Vec<_> = outcome.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{outcome}");
    assert_eq!(lines[0], format!("copied {from} to {to}"));
    assert!(lines[1].contains("1 threads, 1 events"), "{outcome}");
}

#[test]
fn what_cannot_move_is_refused_and_nothing_is_made() {
    let desk = Desk::new();
    let from = desk.inbox.store().display().to_string();
    let to = desk.inbox.folder().join("to.db");
    let shown = to.display();
    desk.run(&format!("migrate --from {from}"))
        .refused(30, "invalid_input");
    desk.run(&format!("migrate --from {from}.no --to {shown}"))
        .refused(40, "store_not_found");
    assert!(!to.exists());
    desk.run(&format!("migrate --from {from} --to {from}"))
        .refused(30, "invalid_input");
    desk.ok(&format!("init --db {shown}"));
    desk.ok(&format!(
        "send --db {shown} --from lead --to backend --subject There"
    ));
    let refused = desk
        .run(&format!("migrate --from {from} --to {shown}"))
        .refused(20, "already_exists");
    assert!(
        refused["error"]["hint"]
            .as_str()
            .unwrap()
            .starts_with("inbox migrate"),
        "{refused}"
    );
}

#[test]
fn archives_move_with_the_store_and_are_searched_there() {
    let desk = Desk::new();
    let found = |answer: &Value| answer["hits"].as_array().unwrap().len();
    for subject in ["old", "new"] {
        let thread = text(
            &desk.ok(&format!(
                "send --from lead --to backend --subject {subject} --body needle"
            ))["thread"]["thread_id"],
        );
        desk.ok(&format!(
            "cancel --agent lead --thread {thread} --reason over"
        ));
    }
    let archived = desk.ok("archive --older-than-days 0");
    assert_eq!(archived["threads"], 1);
    let before = found(&desk.ok("search needle"));
    let from = desk.inbox.store().display().to_string();
    let to = desk
        .inbox
        .folder()
        .join("elsewhere/coord.db")
        .display()
        .to_string();
    let answer = desk.ok(&format!("migrate --from {from} --to {to}"));
    assert_eq!(
        answer["archives"],
        archived["files"].as_array().unwrap().len() * 2
    );
    assert_eq!(found(&desk.ok(&format!("search --db {to} needle"))), before);
    let url = shared().fresh_url();
    assert_eq!(
        desk.ok(&format!("migrate --from {to} --to {url}"))["sha256"],
        answer["sha256"]
    );
    // The project's own folder has them already.
    assert_eq!(
        found(&desk.ok(&format!("search --db {url} needle"))),
        before
    );
    // An archive of another store is not overwritten.
    desk.file("third/archive/2026-01.jsonl", "other");
    let name = archived["files"][0]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    desk.file(&format!("third/archive/{name}"), "other");
    let third = desk
        .inbox
        .folder()
        .join("third/coord.db")
        .display()
        .to_string();
    desk.run(&format!("migrate --from {from} --to {third}"))
        .refused(20, "already_exists");
    std::fs::remove_file(desk.inbox.folder().join(format!("third/archive/{name}"))).unwrap();
    assert_eq!(
        desk.ok(&format!("migrate --from {from} --to {third}"))["resumed"],
        true
    );
}

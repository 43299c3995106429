//! `list`, `show` and `export`.

use super::desk::{Desk, MESSAGE, THREAD, ids, keys, text};

#[test]
fn list_is_newest_first_and_empty_is_a_success() {
    let desk = Desk::new();
    let empty = desk.ok("list");
    assert_eq!(
        keys(&empty),
        ["command", "next_event_id", "ok", "threads", "truncated"]
    );
    assert_eq!(empty["threads"].to_string(), "[]");
    desk.send("--to w");
    desk.send("--to w");
    let all = desk.ok("list");
    assert_eq!(ids(&all), ["thr_2", "thr_1"]);
    assert_eq!(keys(&all["threads"][0]), THREAD);
    assert_eq!(all["next_event_id"], 2);
    assert_eq!(ids(&desk.ok("list --limit 1")), ["thr_2"]);
}

#[test]
fn list_filters_by_everything_it_offers() {
    let desk = Desk::new();
    let one = desk.send("--to w --run r1 --task t1");
    let two = desk.send("--to v");
    desk.claim("w", &two);
    let three =
        text(&desk.ok("send --from w --to role:qa --subject s --run r1")["thread"]["thread_id"]);
    let list = |rest: &str| ids(&desk.ok(&format!("list {rest}")));
    assert_eq!(
        list("--agent w"),
        [three.clone(), two.clone(), one.clone()],
        "created, held or reached"
    );
    assert_eq!(list("--agent v"), [two.as_str()]);
    assert_eq!(list("--created-by w"), [three.as_str()]);
    assert_eq!(list("--created-by LEAD"), [two.clone(), one.clone()]);
    assert_eq!(list("--assigned-to w"), [two.clone(), one.clone()]);
    assert_eq!(list("--assigned-to role:qa"), [three.as_str()]);
    assert_eq!(list("--status pending"), [three.clone(), one.clone()]);
    assert_eq!(list("--status claimed,done"), [two.as_str()]);
    assert_eq!(list("--run r1"), [three, one.clone()]);
    assert_eq!(list("--run r1 --task t1"), [one]);
    assert_eq!(list("--run none"), Vec::<String>::new());
    desk.refused(30, "invalid_input", "list --status pend");
    desk.refused(30, "invalid_input", "list --created-by no~name");
    desk.refused(30, "invalid_input", "list --agent=");
}

#[test]
fn list_is_never_filled_from_the_environment() {
    let desk = Desk::new();
    desk.send("--to w");
    let all = desk.with(&[("INBOX_AGENT", "stranger")], "list").ok();
    assert_eq!(ids(&all), ["thr_1"]);
}

#[test]
fn list_after_an_event_gives_what_changed_since_and_pages_without_a_gap() {
    let desk = Desk::new();
    for _ in 0..5 {
        desk.send("--to w");
    }
    desk.ok("reply --from x --thread thr_2 --summary s");
    assert_eq!(ids(&desk.ok("list --after-event 4")), ["thr_5", "thr_2"]);
    assert_eq!(ids(&desk.ok("list --after-event 6")), Vec::<String>::new());
    let mut seen = Vec::new();
    let mut after = 0;
    loop {
        let page = desk.ok(&format!("list --after-event {after} --limit 2"));
        after = page["next_event_id"].as_i64().unwrap();
        seen.extend(ids(&page));
        if page["truncated"] == false {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, ["thr_1", "thr_2", "thr_3", "thr_4", "thr_5"]);
    assert_eq!(after, 6);
    desk.refused(30, "invalid_input", "list --after-event -1");
}

#[test]
fn show_gives_the_whole_thread_and_never_a_token() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    let lease = desk.claim("w", &thread);
    for number in 0..5 {
        desk.ok(&format!(
            "reply --from x --thread {thread} --summary s{number}"
        ));
    }
    let outcome = desk.run(&format!("show --thread {thread}"));
    assert!(!outcome.stdout.contains(&lease) && !outcome.stdout.contains("lease_token"));
    let shown = outcome.ok();
    assert_eq!(
        keys(&shown),
        [
            "artifacts",
            "command",
            "lease",
            "messages",
            "next_event_id",
            "ok",
            "thread"
        ]
    );
    assert_eq!(keys(&shown["thread"]), THREAD);
    assert_eq!(
        keys(&shown["lease"]),
        ["agent_id", "claimed_at", "epoch", "expires_at", "thread_id"]
    );
    let messages = shown["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 6);
    for message in messages {
        assert_eq!(keys(message), MESSAGE);
    }
    let summaries: Vec<_> = messages
        .iter()
        .map(|message| text(&message["summary"]))
        .collect();
    assert_eq!(summaries, ["Work", "s0", "s1", "s2", "s3", "s4"]);
    assert_eq!(shown["next_event_id"], 7);
}

#[test]
fn ids_are_taken_in_either_case() {
    let desk = Desk::new();
    for _ in 0..11 {
        desk.send("--to w");
    }
    let shown = desk.show("THR_B");
    assert_eq!(shown["thread"]["thread_id"], "thr_b");
    let lease = desk.claim("w", "Thr_b").to_uppercase();
    desk.ok(&format!(
        "update --lease {lease} --thread THR_B --summary s"
    ));
}

#[test]
fn export_writes_markdown_and_json() {
    let desk = Desk::new();
    let thread = desk.send("--to w --body # --payload-json {\"k\":1} --artifact note.md");
    let answer = desk.ok(&format!("export --thread {thread}"));
    assert_eq!(
        keys(&answer),
        [
            "command",
            "format",
            "next_event_id",
            "ok",
            "text",
            "thread_id",
            "truncated"
        ]
    );
    assert_eq!(answer["format"], "markdown");
    let markdown = desk.inbox.run(["export", "--thread", &thread]);
    assert_eq!(markdown.code, 0);
    for part in [
        "# Work",
        "| status | pending |",
        "unverified",
        "\"k\": 1",
        "`note.md`",
        "msg_1",
    ] {
        assert!(markdown.stdout.contains(part), "{part}: {markdown}");
    }
    let exported = desk
        .inbox
        .run(["export", "--thread", &thread, "--format", "json"]);
    let document: serde_json::Value = serde_json::from_str(&exported.stdout).unwrap();
    assert_eq!(document["messages"], desk.show(&thread)["messages"]);
    let error = desk.refused(
        30,
        "invalid_input",
        &format!("export --thread {thread} --format xml"),
    );
    assert!(text(&error["message"]).contains("xml"), "{error}");
    assert!(text(&error["hint"]).contains("markdown"), "{error}");
}

#[test]
fn reading_changes_nothing() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    let before = desk.snapshot();
    for line in [
        "list",
        "fetch --agent w --status claimed",
        "watch --agent w --timeout-seconds 0",
        "doctor",
    ] {
        let _ = desk.run(line);
    }
    desk.show(&thread);
    desk.ok(&format!("export --thread {thread}"));
    assert_eq!(before, desk.snapshot());
}

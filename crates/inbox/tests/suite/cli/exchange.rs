//! `export`, `import`: mail as files, from one store to another and from other programs.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::desk::{Desk, keys, letter, letter_id, said, summaries, text};
use crate::root;

const MAILBOX: &str = "agent-mailbox.jsonl";
const READS: &str = "agent-mailbox-reads.jsonl";

/// A process that ends with the test.
pub(super) struct Leashed(Child);

impl Leashed {
    pub(super) fn new(child: Child) -> Self {
        Leashed(child)
    }

    /// Ends it as `kill -9` does.
    pub(super) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until it is so.
#[track_caller]
pub(super) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The lines of a mailbox without the ids that belong to a store.
#[track_caller]
fn lines(desk: &Desk, format: &str) -> Vec<Value> {
    let exported = desk.inbox.run(["export", "--format", format]);
    assert_eq!(exported.code, 0, "{exported}");
    let parse = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for id in ["message_id", "thread_id", "parent_message_id"] {
            if let Some(inbox) = line.get_mut("inbox").and_then(Value::as_object_mut) {
                inbox.remove(id);
            }
        }
        if let Some(thread) = line
            .pointer_mut("/inbox/thread")
            .and_then(Value::as_object_mut)
        {
            thread.remove("thread_id");
            thread.remove("latest_message_id");
            // What ended without a message ended here when it was taken in.
            thread.remove("updated_at");
        }
        line
    };
    exported.stdout.lines().map(parse).collect()
}

/// The ids of the messages in a file, of the lines that are whole.
fn uids(path: &Path) -> BTreeSet<String> {
    let content = std::fs::read_to_string(path).unwrap_or_default();
    let values = content
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    values.map(|line| text(&line["id"])).collect()
}

/// A store with something of everything.
fn rich() -> Desk {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1 --role ops --tag project:shop");
    let work = desk.send("--to backend --run r1 --task t1 --priority urgent --body Words --payload-json {\"b\":1,\"a\":[2]} --ref-type task --ref-id T1");
    desk.ok("read --session s1");
    let lease =
        text(&desk.ok(&format!("claim --session s1 --thread {work}"))["lease"]["lease_token"]);
    desk.ok(&format!(
        "update --lease {lease} --thread {work} --status blocked --summary Which?"
    ));
    desk.ok(&format!("reply --from lead --thread {work} --summary This"));
    desk.ok(&format!(
        "done --lease {lease} --thread {work} --summary Done"
    ));
    desk.ok("send --from lead --to role:ops --to project:shop --kind event --subject Several --message-type status.update");
    desk.ok("send --from lead --to all --kind question --subject Everybody? --ttl-hours 2");
    let acked = desk.ok("send --session s1 --to reviewer --kind event --subject Acked");
    let message = text(&acked["message"]["message_id"]);
    desk.ok(&format!("ack {message} --agent reviewer"));
    desk.file("made.txt", "result");
    desk.ok("note --agent reviewer --artifact made.txt --artifact not/there --ref project:P1 --note A~note --notify lead");
    let shared = desk.send("--to role:ops");
    let lease = desk.claim("reviewer", &shared);
    desk.ok(&format!("release --lease {lease} --thread {shared}"));
    let lease = desk.claim("reviewer", &shared);
    desk.ok(&format!(
        "fail --lease {lease} --thread {shared} --summary Twice~tried"
    ));
    let called = desk.send("--to nobody-yet");
    desk.ok(&format!(
        "cancel --agent lead --thread {called} --reason Not~needed"
    ));
    desk
}

#[test]
fn a_round_trip_loses_nothing() {
    let (one, two) = (rich(), Desk::new());
    let out = one.inbox.folder().join("out");
    let written = one.ok("export --dir out");
    assert_eq!(
        keys(&written),
        ["command", "dir", "messages", "next_event_id", "ok", "reads"]
    );
    assert_eq!(written["messages"], 12);
    let imported = two.ok(&format!("import {}", out.display()));
    assert_eq!(
        keys(&imported),
        [
            "added",
            "bad",
            "command",
            "known",
            "next_event_id",
            "ok",
            "threads"
        ]
    );
    assert_eq!(imported["added"], 12);
    assert_eq!(imported["threads"], 7);
    assert_eq!(imported["bad"].to_string(), "[]");
    for format in ["mailbox", "reads", "wire", "graph"] {
        let (first, second) = (lines(&one, format), lines(&two, format));
        assert_eq!(first.len(), second.len(), "{format}");
        for (first, second) in first.iter().zip(&second) {
            assert_eq!(first, second, "{format}");
        }
    }
    assert_eq!(
        one.ok("export --dir out")["messages"],
        0,
        "nothing is written twice"
    );
}

#[test]
fn importing_twice_adds_nothing() {
    let (one, two) = (rich(), Desk::new());
    one.ok("export --dir out");
    let line = format!("import {}", one.inbox.folder().join("out").display());
    two.ok(&line);
    let before = two.snapshot();
    let again = two.ok(&line);
    assert_eq!((&again["added"], &again["known"]), (&json!(0), &json!(12)));
    assert_eq!(before, two.snapshot());
    let back = one.ok(&line);
    assert_eq!(back["added"], 0, "nor into the store that it came from");
}

#[test]
fn bad_lines_are_reported_by_their_numbers_and_the_rest_goes_on() {
    let desk = Desk::new();
    let good = |n: u32, more: &str| {
        format!(
            "{{\"id\":\"00000000-0000-4000-8000-{n:012}\",\"sender\":\"lead\",\"recipient\":\"backend\",\"timestamp\":\"2026-03-16T14:30:00Z\",\"content\":\"c{n}\",\"thread\":null,\"ttl_hours\":null,\"read_by\":[]{more}}}"
        )
    };
    let mut file: Vec<Vec<u8>> = vec![
        good(1, "").into(),
        b"{cut".to_vec(),
        good(2, "").into(),
        b"[]".to_vec(),
        b"\xff\xfe".to_vec(),
        good(3, "")
            .replace("2026-03-16T14:30:00Z", "yesterday")
            .into(),
        good(4, "").replace("\"backend\"", "7").into(),
        good(5, "").replace("\"lead\"", "7").into(),
        good(6, "").replace("\"c6\"", "[]").into(),
        Vec::new(),
        good(7, "").into(),
    ];
    file.push(good(8, "").into());
    desk.file("m.jsonl", file.join(&b'\n'));
    let imported = desk.ok("import m.jsonl");
    let bad = imported["bad"].as_array().unwrap();
    let places: Vec<_> = bad.iter().map(|bad| text(&bad["place"])).collect();
    assert_eq!(
        places,
        [
            "line 2", "line 4", "line 5", "line 6", "line 7", "line 8", "line 9"
        ],
        "{imported}"
    );
    for bad in bad {
        assert!(!text(&bad["problem"]).is_empty(), "{imported}");
    }
    assert_eq!(imported["added"], 4);
    let mail = desk.ok("read --agent backend");
    assert_eq!(summaries(&mail), ["c1", "c2", "c7", "c8"]);
    let lean = desk.inbox.run(["import", "m.jsonl"]);
    assert!(
        lean.stdout.contains("line 2") && lean.stdout.contains("line 9"),
        "{lean}"
    );
}

#[test]
fn a_mailbox_as_the_specification_has_it_is_taken_in() {
    let desk = Desk::new();
    let id = |n: u32| format!("00000000-0000-4000-8000-{n:012}");
    let line = |n: u32, recipient: &str, thread: Value, ttl: Value| {
        json!({
            "id": id(n), "sender": "architect-new", "recipient": recipient,
            "timestamp": "2026-03-16T14:30:00Z", "content": format!("**m{n}**"),
            "thread": thread, "ttl_hours": ttl, "read_by": [],
        })
        .to_string()
    };
    let file = [
        line(1, "backend", Value::Null, Value::Null),
        line(2, "backend", json!(id(1)), Value::Null),
        line(3, "all", Value::Null, json!(4)),
        line(4, "project:inscription", Value::Null, Value::Null),
    ];
    desk.file(MAILBOX, file.join("\n"));
    let read = json!({ "message_id": id(1), "reader_session_id": "backend", "timestamp": "2026-03-16T15:00:00Z" });
    desk.file(READS, read.to_string());
    let imported = desk.ok(&format!("import {MAILBOX}"));
    assert_eq!(
        (&imported["added"], &imported["threads"]),
        (&json!(4), &json!(3))
    );
    let mail = desk.ok("read --agent backend");
    assert_eq!(
        summaries(&mail),
        ["**m2**"],
        "the first was read, by the file beside"
    );
    assert_eq!(
        mail["messages"][0]["thread_id"], "thr_1",
        "a reply is in its thread"
    );
    assert!(!desk.ok("show --thread thr_2")["messages"][0]["expires_at"].is_null());
}

#[test]
fn other_programs_inboxes_are_taken_in_once() {
    let desk = Desk::new();
    let foreign = root().join("crates/testkit/foreign");
    for (path, count) in [
        ("hcom/hcom.db", 10),
        ("agent_mail/storage.sqlite3", 5),
        ("claude_teams/shop/inboxes", 9),
    ] {
        let path = foreign.join(path);
        let line = format!("import {}", path.display());
        let first = desk.ok(&line);
        assert_eq!(first["added"], count, "{line}: {first}");
        assert_eq!(first["bad"].to_string(), "[]");
        let again = desk.ok(&line);
        assert_eq!(
            (&again["added"], &again["known"]),
            (&json!(0), &json!(count))
        );
    }
    assert!(
        !foreign.join("hcom/hcom.db-wal").exists(),
        "nothing is left beside them"
    );
    desk.ok("doctor");
    let mail = desk.ok("read --agent team-lead");
    assert!(!summaries(&mail).is_empty());
}

#[test]
fn a_graph_has_the_specifications_entities_and_relations() {
    let desk = Desk::new();
    let sent = desk.ok("send --from lead --to backend --subject s --body Words");
    let situation = format!("situation:mailbox-msg-{}", text(&sent["message"]["uid"]));
    let graph = lines(&desk, "graph");
    assert_eq!(
        graph[0],
        json!({ "entity": situation, "type": "situation" })
    );
    for (line, agent) in graph[1..3].iter().zip(["agent:lead", "agent:backend"]) {
        assert_eq!(
            *line,
            json!({ "subject": agent, "relation": "belongs-to", "object": situation, "quality": "actor" })
        );
    }
    assert_eq!(graph[3]["quality"], "materialization");
    assert_eq!(graph[3]["content"], "Words");
    assert_eq!(graph.len(), 4);
}

#[test]
fn pages_of_an_export_follow_each_other() {
    let desk = Desk::new();
    for n in 0..3 {
        desk.ok(&format!("send --from lead --to backend --subject n{n}"));
    }
    let whole = desk.ok("export --format mailbox");
    assert_eq!(
        (&whole["truncated"], &whole["next_event_id"]),
        (&json!(false), &json!(3))
    );
    let rest = desk.ok("export --format mailbox --after-event 2");
    assert_eq!(text(&rest["text"]).lines().count(), 1);
    let one = desk.ok("export --format mailbox --thread thr_2");
    assert_eq!(text(&one["text"]).lines().count(), 1);
    for (line, says) in [
        ("export", "--thread"),
        ("export --format json", "--thread"),
        ("export --format opera", "opera"),
        ("export --format mailbox --after-event -1", "-1"),
        ("export --follow", "--dir"),
    ] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(said(&error).contains(says), "{line}: {error}");
    }
    desk.refused(
        40,
        "thread_not_found",
        "export --format wire --thread thr_zz",
    );
}

#[test]
fn files_stay_in_step_with_a_store_and_survive_a_kill_and_a_cut_line() {
    let (one, two) = (Desk::new(), Desk::new());
    let out = one.inbox.folder().join("out");
    let mailbox = out.join(MAILBOX);
    let mut export = Leashed::new(one.inbox.spawn(["export", "--dir", "out", "--follow"]));
    one.send("--to backend");
    eventually("the first message is in the file", || {
        uids(&mailbox).len() == 1
    });
    let folder = out.display().to_string();
    let mut import = Leashed::new(two.inbox.spawn(["import", &folder, "--follow"]));
    let arrived = |count: usize| {
        let listed = two.run("list --limit 100").json();
        listed["threads"]
            .as_array()
            .is_some_and(|threads| threads.len() == count)
    };
    eventually("it arrives in the other store", || arrived(1));
    one.send("--to backend");
    eventually("the second follows", || arrived(2));
    let read = one.ok("read --agent backend");
    assert_eq!(read["messages"].as_array().unwrap().len(), 2);
    let reads = out.join(READS);
    eventually("what was read is in its file", || {
        std::fs::read_to_string(&reads).is_ok_and(|text| text.lines().count() == 2)
    });
    eventually("and is read in the other store", || {
        two.run("read --agent backend --peek").code == 10
    });
    export.kill();
    import.kill();
    // Half of the last line is lost, as when the disk was full.
    let content = std::fs::read(&mailbox).unwrap();
    std::fs::write(&mailbox, &content[..content.len() - 40]).unwrap();
    one.send("--to backend");
    let _export = Leashed::new(one.inbox.spawn(["export", "--dir", "out", "--follow"]));
    let _import = Leashed::new(two.inbox.spawn(["import", &folder, "--follow"]));
    eventually("every message is whole in the file", || {
        uids(&mailbox).len() == 3
    });
    eventually("and in the other store once", || arrived(3));
    let whole = std::fs::read_to_string(&mailbox).unwrap();
    assert_eq!(whole.lines().count(), 4, "the cut line stands by itself");
    assert_eq!(uids(&mailbox).len(), 3);
    two.ok("doctor");
}

#[test]
fn an_import_that_is_killed_halfway_goes_on_and_keeps_its_threads_together() {
    const ALL: usize = 1_300;
    let one = |n: usize| {
        let first = (n % 600 == 7 && n > 7).then(|| letter_id(7));
        letter(n, &json!({ "thread": first }))
    };
    let desk = Desk::new();
    desk.file("old.jsonl", (0..ALL).map(one).collect::<String>());
    // The second of its commits is on disk, and nobody is told.
    let died = desk.with(&[("INBOX_FAIL_POINT", "4:2")], "import old.jsonl");
    assert_eq!(died.code, -1, "{died}");
    let count = |answer: &Value, what: &str| answer[what].as_u64().unwrap();
    let again = desk.ok("import old.jsonl");
    let (known, added) = (count(&again, "known"), count(&again, "added"));
    assert!(
        known > 0 && added > 0,
        "others can write in between: {again}"
    );
    assert_eq!(known + added, ALL as u64);
    let together = summaries(&desk.ok("show --thread thr_8"));
    assert_eq!(together, ["letter 7", "letter 607", "letter 1207"]);
    assert_eq!(count(&desk.ok("import old.jsonl"), "known"), ALL as u64);
    desk.ok("doctor");
}

#[test]
fn an_import_with_a_key_is_one_change() {
    let desk = Desk::new();
    desk.file(
        "old.jsonl",
        (0..1_300)
            .map(|n| letter(n, &json!({})))
            .collect::<String>(),
    );
    let line = "import old.jsonl --agent lead --key once";
    let died = desk.with(&[("INBOX_FAIL_POINT", "3")], line);
    assert_eq!(died.code, -1, "{died}");
    assert_eq!(desk.ok("list")["threads"], json!([]));
    let first = desk.ok(line);
    assert_eq!(first["added"], 1_300);
    assert_eq!(desk.ok(line), first);
}

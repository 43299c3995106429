//! `archive`: what is over leaves the store, is found, and comes back under no other id.

mod killed;

use serde_json::{Value, json};

use super::desk::{Desk, ids, keys, letter, nothing, said, text};

const DAY: u32 = 86_400;

/// Opens a thread on a day, and ends it there.
fn ended(desk: &Desk, day: u32, subject: &str) -> String {
    let at = day * DAY;
    let line = format!("send --from lead --to backend --subject {subject} --body needle~{subject}");
    let sent = desk.at(at, &line).ok();
    let thread = text(&sent["thread"]["thread_id"]);
    let claimed = desk
        .at(at, &format!("claim --agent backend --thread {thread}"))
        .ok();
    let lease = text(&claimed["lease"]["lease_token"]);
    let done = format!("done --lease {lease} --thread {thread} --summary Done");
    desk.at(at, &done).ok();
    thread
}

fn moved(answer: &Value) -> (i64, i64) {
    let count = |key: &str| answer[key].as_i64().unwrap();
    (count("threads"), count("messages"))
}

#[test]
fn what_is_over_and_old_leaves_the_polls_and_is_still_found() {
    let desk = Desk::new();
    let old = ended(&desk, 0, "old");
    let late = ended(&desk, 20, "late");
    let open = text(
        &desk
            .at(0, "send --from lead --to backend --subject open")
            .ok()["thread"]["thread_id"],
    );
    let at = 25 * DAY;
    let look = desk.at(at, "archive --older-than-days 10 --dry-run").ok();
    assert_eq!(moved(&look), (1, 2));
    assert_eq!(look["files"].to_string(), "[]");
    assert_eq!(
        ids(&desk.at(at, "list").ok()).len(),
        3,
        "a look moves nothing"
    );
    let answer = desk.at(at, "archive --older-than-days 10").ok();
    assert_eq!(
        keys(&answer),
        [
            "command",
            "files",
            "messages",
            "next_event_id",
            "ok",
            "threads"
        ]
    );
    assert_eq!(moved(&answer), (1, 2));
    assert!(text(&answer["files"][0]).ends_with("archive/2030-01.jsonl"));
    assert_eq!(
        ids(&desk.at(at, "list").ok()),
        [open.as_str(), late.as_str()]
    );
    assert_eq!(
        ids(&desk.at(at, "fetch --agent backend").ok()),
        [open.as_str()]
    );
    let mail = desk.at(at, "read --agent backend").ok();
    assert_eq!(mail["messages"].as_array().unwrap().len(), 2);
    desk.at(at, &format!("show --thread {old}"))
        .refused(40, "thread_not_found");
    desk.at(at, "ack msg_1 --agent backend")
        .refused(40, "message_not_found");
    let found = desk.at(at, "search needle old").ok();
    assert_eq!(found["hits"][0]["message"]["summary"], "old");
    assert_eq!(found["hits"][0]["thread"]["status"], "done");
    assert_eq!(
        moved(&desk.at(at, "archive --older-than-days 10").ok()),
        (0, 0)
    );
    desk.at(at, "doctor").ok();
}

#[test]
fn the_oldest_move_until_as_many_are_left_as_are_kept() {
    let desk = Desk::new();
    for n in 0..5 {
        ended(&desk, n, &format!("n{n}"));
    }
    let answer = desk.at(6 * DAY, "archive --keep 5").ok();
    assert_eq!(
        moved(&answer),
        (3, 6),
        "4 of 10 are left, and 6 were too many"
    );
    let left = desk.at(6 * DAY, "list").ok();
    assert_eq!(ids(&left), ["thr_5", "thr_4"]);
    for (line, says) in [
        ("archive --keep -1", "-1"),
        ("archive --keep x", "x"),
        ("archive --older-than-days -1", "-1"),
        ("archive --older-than-days 36501", "36501"),
    ] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(said(&error).contains(says), "{line}: {error}");
    }
}

#[test]
fn ids_of_archived_threads_and_messages_are_never_given_again() {
    let desk = Desk::new();
    for n in 0..3 {
        ended(&desk, 0, &format!("n{n}"));
    }
    desk.at(DAY, "archive --older-than-days 0").ok();
    let next = desk
        .at(DAY, "send --from lead --to backend --subject next")
        .ok();
    assert_eq!(next["thread"]["thread_id"], "thr_4");
    assert_eq!(next["message"]["message_id"], "msg_a");
    desk.at(2 * DAY, "cancel --agent lead --thread thr_4").ok();
    desk.at(3 * DAY, "archive --keep 0").ok();
    let last = desk
        .at(4 * DAY, "send --from lead --to backend --subject last")
        .ok();
    assert_eq!(last["thread"]["thread_id"], "thr_5");
}

#[test]
fn a_keyed_command_repeated_after_archiving_has_no_second_effect() {
    let desk = Desk::new();
    let send = "send --from lead --to backend --subject s --key once";
    let sent = desk.at(0, send).ok();
    let claim = "claim --agent backend --thread thr_1 --key mine";
    let claimed = desk.at(0, claim).ok();
    let lease = text(&claimed["lease"]["lease_token"]);
    let done =
        format!("done --agent backend --lease {lease} --thread thr_1 --summary Done --key over");
    let over = desk.at(0, &done).ok();
    ended(&desk, 1, "other");
    let at = 2 * DAY;
    assert_eq!(moved(&desk.at(at, "archive --keep 0").ok()).0, 1);
    let before = desk.at(at, "list").stdout;
    for (line, first) in [(send, &sent), (claim, &claimed), (&done, &over)] {
        let again = desk.at(at, line).ok();
        for key in ["thread", "message", "lease"] {
            assert_eq!(again[key], first[key], "{line}");
        }
    }
    let other = "send --from lead --to backend --subject other --key once";
    desk.at(at, other).refused(20, "key_conflict");
    assert_eq!(desk.at(at, "list").stdout, before);
}

#[test]
fn expired_mail_that_nobody_took_is_archived_and_open_work_is_not() {
    let desk = Desk::new();
    let line = "send --from lead --to backend --kind event --subject gone --ttl-hours 1";
    desk.at(0, line).ok();
    desk.at(0, "send --from lead --to backend --subject open")
        .ok();
    desk.at(0, "send --from lead --to backend --subject newest")
        .ok();
    let answer = desk.at(DAY, "archive --older-than-days 0").ok();
    assert_eq!(moved(&answer), (1, 1));
    assert_eq!(ids(&desk.at(DAY, "list").ok()), ["thr_3", "thr_2"]);
    assert_eq!(desk.at(DAY, "dead-letters").ok()["letters"], json!([]));
    nothing(&desk.at(DAY, "search nonesuch"));
}

#[test]
fn an_archive_can_be_imported_and_a_cut_line_in_it_spoils_no_other() {
    let desk = Desk::new();
    ended(&desk, 0, "one");
    ended(&desk, 0, "two");
    ended(&desk, 0, "three");
    desk.at(DAY, "archive --older-than-days 0").ok();
    let file = desk.content(".agents/archive/2030-01.jsonl");
    assert_eq!(file.lines().count(), 4);
    let events = desk.content(".agents/archive/2030-01-events.jsonl");
    assert_eq!(
        events.lines().count(),
        6,
        "created, claimed and done, of two"
    );
    let other = Desk::new();
    other.file("a.jsonl", &file);
    assert_eq!(other.ok("import a.jsonl")["added"], 4);
    assert_eq!(
        other.ok("list --status done")["threads"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    // A crash that cut the last line, and a second archive after it.
    desk.file(".agents/archive/2030-01.jsonl", &file[..file.len() - 30]);
    ended(&desk, 2, "four");
    desk.at(3 * DAY, "archive --older-than-days 0").ok();
    let whole = desk.content(".agents/archive/2030-01.jsonl");
    let good = whole
        .lines()
        .filter(|line| serde_json::from_str::<Value>(line).is_ok());
    assert_eq!(good.count(), 5, "{whole}");
}

#[test]
fn more_threads_than_one_batch_move_under_a_key_and_a_look_counts_them_all() {
    let desk = Desk::new();
    let store = inbox_store::Store::open(&inbox_store::Location::File(desk.inbox.store())).unwrap();
    let inbox = inbox_ops::Inbox::new(store);
    let caller = inbox_ops::Caller::local("lead".parse().ok());
    for n in 0..251 {
        let send = json!({ "to": ["backend"], "subject": format!("n{n}"), "kind": "event", "ttl_hours": 1 });
        let send: inbox_ops::Send = serde_json::from_value(send).unwrap();
        inbox_ops::Operation::run(&send, &inbox, &caller).unwrap();
    }
    drop(inbox);
    let at = 20 * DAY;
    let look = desk.at(at, "archive --older-than-days 1 --dry-run").ok();
    assert_eq!(moved(&look), (250, 250));
    let all = desk.at(at, "archive --older-than-days 1 --key tidy").ok();
    assert_eq!(moved(&all), (250, 250));
    assert_eq!(ids(&desk.at(at, "list").ok()).len(), 1);
}

#[test]
fn an_archive_of_many_batches_has_every_letter_once_and_leaves_nothing_of_them_behind() {
    let desk = Desk::new();
    let old = |n| {
        let to = format!("w{}", n % 7);
        letter(
            n,
            &json!({"recipient": to, "timestamp": "2029-09-01T09:00:00Z", "ttl_hours": 1}),
        )
    };
    desk.file("old.jsonl", (0..1_300).map(old).collect::<String>());
    desk.at(0, "import old.jsonl").ok();
    desk.at(0, "send --from lead --to w1 --subject stays").ok();
    assert_eq!(moved(&desk.at(DAY, "archive").ok()), (1_300, 1_300));
    let kept = desk.content(".agents/archive/2029-09.jsonl");
    let lines: std::collections::BTreeSet<&str> = kept.lines().collect();
    assert_eq!((lines.len(), kept.lines().count()), (1_300, 1_300));
    let store = inbox_store::Store::open(&inbox_store::Location::File(desk.inbox.store()));
    let left = |table: &str| {
        let query = format!("SELECT count(*) FROM {table}");
        let rows = store.as_ref().unwrap().look(&query).unwrap();
        rows[0][0].clone().unwrap()
    };
    for table in ["threads", "recipients", "deliveries"] {
        assert_eq!(left(table), "1", "{table}");
    }
    desk.at(DAY, "doctor").ok();
}

#[test]
fn of_two_archives_at_once_the_second_is_told_and_moves_nothing() {
    let desk = Desk::new();
    ended(&desk, 0, "old");
    ended(&desk, 0, "newest");
    let folder = desk.inbox.folder().join(".agents/archive");
    std::fs::create_dir(&folder).unwrap();
    let other = inbox_store::private::lock_folder(&folder).unwrap().unwrap();
    let refused = desk.at(DAY, "archive --keep 0").refused(50, "storage");
    assert!(
        said(&refused["error"]).contains("another inbox archive"),
        "{refused}"
    );
    assert_eq!(ids(&desk.at(DAY, "list").ok()).len(), 2);
    drop(other);
    assert_eq!(moved(&desk.at(DAY, "archive --keep 0").ok()).0, 1);
}

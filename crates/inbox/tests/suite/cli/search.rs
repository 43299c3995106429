//! `search`, end to end: its words, its filters, its exit statuses.

use serde_json::Value;

use super::desk::{Desk, MESSAGE, keys, said, text};

/// The messages that a line finds, by their summaries.
#[track_caller]
fn found(desk: &Desk, line: &str) -> Vec<String> {
    hits(&desk.ok(&format!("search {line}")))
}

#[track_caller]
fn hits(answer: &Value) -> Vec<String> {
    let hits = answer["hits"].as_array().expect("hits");
    hits.iter()
        .map(|hit| text(&hit["message"]["summary"]))
        .collect()
}

fn library() -> Desk {
    let desk = Desk::new();
    desk.ok("send --from lead --to backend --subject Apples --body Red~fruit~of~the~garden --run r1 --task t1");
    desk.ok("send --from reviewer --to lead --kind event --subject Pears --body Green~fruit");
    desk.ok("send --from lead --to role:ops --subject Café --payload-json {\"place\":\"Zürich\"} --priority high");
    let lease = desk.claim("backend", "thr_1");
    desk.ok(&format!(
        "done --lease {lease} --thread thr_1 --summary Picked --body All~fruit~is~in"
    ));
    desk
}

#[test]
fn words_are_found_wherever_they_are_newest_first() {
    let desk = library();
    let answer = desk.ok("search fruit");
    assert_eq!(
        keys(&answer),
        [
            "command",
            "hits",
            "indexed",
            "next_event_id",
            "ok",
            "truncated"
        ]
    );
    assert_eq!(keys(&answer["hits"][0]), ["message", "snippet", "thread"]);
    assert_eq!(keys(&answer["hits"][0]["message"]), MESSAGE);
    assert_eq!(hits(&answer), ["Picked", "Pears", "Apples"]);
    assert_eq!(found(&desk, "garden red"), ["Apples"]);
    assert_eq!(
        found(&desk, "APPLES"),
        ["Picked", "Apples"],
        "the subject is the thread's"
    );
    assert_eq!(found(&desk, "cafe"), ["Café"], "accents make no difference");
    assert_eq!(found(&desk, "zurich"), ["Café"], "payloads too");
    assert_eq!(found(&desk, "gard*"), ["Apples"]);
    assert_eq!(found(&desk, "\"green~fruit\""), ["Pears"]);
    assert_eq!(found(&desk, "fruit -- -green"), ["Picked", "Apples"]);
    desk.nothing("search \"fruit~green\"");
    desk.nothing("search gard");
}

#[test]
fn nothing_found_is_exit_10_and_bad_questions_are_30() {
    let desk = library();
    let none = desk.nothing("search banana");
    assert_eq!(none["hits"].to_string(), "[]");
    let lean = desk.inbox.run(["search", "banana"]);
    assert_eq!(lean.code, 10);
    for (line, says) in [
        ("search", "WORDS"),
        ("search ~", "word"),
        ("search \"\"", "word"),
        ("search x --since yesterday", "yesterday"),
        ("search x --until 1y", "1y"),
        (
            "search x --since 99999999999999999999d",
            "99999999999999999999d",
        ),
        ("search x --kind opera", "opera"),
        ("search x --status opera", "opera"),
        ("search x --agent a~b", "a b"),
        ("search x --address a~b", "a b"),
        ("search x --limit 0", "0"),
        ("search x --limit 10001", "10001"),
        ("search x --limit -5", "-5"),
        ("search x --run=", ""),
    ] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(said(&error).contains(says), "{line}: {error}");
    }
}

#[test]
fn filters_narrow_what_is_found() {
    let desk = library();
    for (filter, wanted) in [
        ("--agent backend", vec!["Picked", "Apples"]),
        ("--agent reviewer", vec!["Pears"]),
        ("--address backend", vec!["Apples"]),
        ("--kind event", vec!["Pears"]),
        ("--kind task,result", vec!["Picked", "Apples"]),
        ("--status done", vec!["Picked", "Apples"]),
        ("--status pending --kind event", vec!["Pears"]),
        ("--run r1", vec!["Picked", "Apples"]),
        ("--task t1 --kind task", vec!["Apples"]),
        ("--since 1h", vec!["Picked", "Pears", "Apples"]),
        ("--until 2000-01-01T00:00:00Z", vec![]),
        ("--since 2100-01-01T00:00:00Z", vec![]),
        ("--run r2", vec![]),
        ("--agent stranger", vec![]),
    ] {
        let line = format!("search fruit {filter}");
        let outcome = desk.run(&line);
        assert_eq!(
            outcome.code,
            if wanted.is_empty() { 10 } else { 0 },
            "{line}: {outcome}"
        );
        assert_eq!(hits(&outcome.json()), wanted, "{line}");
    }
    assert_eq!(found(&desk, "cafe --address role:ops"), ["Café"]);
}

#[test]
fn the_time_is_the_messages_own() {
    let desk = Desk::new();
    let send = |at: u32, subject: &str| {
        desk.at(
            at,
            &format!("send --from lead --to backend --subject {subject} --body fruit"),
        )
        .ok();
    };
    send(0, "early");
    send(7200, "late");
    let at = |line: &str| hits(&desk.at(10_000, &format!("search fruit {line}")).json());
    assert_eq!(at("--since 1h"), ["late"]);
    assert_eq!(at("--until 1h"), ["early"]);
    assert_eq!(at("--since 2030-01-01T02:00:00Z"), ["late"]);
    assert_eq!(
        at("--until 2030-01-01T02:00:00Z"),
        ["early"],
        "until is exclusive"
    );
}

#[test]
fn a_page_is_cut_at_its_limit_and_says_so() {
    let desk = Desk::new();
    for n in 0..25 {
        desk.ok(&format!(
            "send --from lead --to backend --subject n{n} --body fruit"
        ));
    }
    let usual = desk.ok("search fruit");
    assert_eq!(hits(&usual).len(), 20);
    assert_eq!(usual["truncated"], true);
    assert_eq!(hits(&usual)[0], "n24");
    let whole = desk.ok("search fruit --limit 25");
    assert_eq!(
        (hits(&whole).len(), whole["truncated"].as_bool()),
        (25, Some(false))
    );
    assert_eq!(
        desk.ok("search fruit --rank --limit 3")["hits"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn what_was_just_sent_is_found_and_a_search_changes_nothing_that_is_seen() {
    let desk = library();
    let before = desk.snapshot();
    found(&desk, "fruit");
    assert_eq!(before, desk.snapshot());
    desk.ok("send --from lead --to backend --subject Plums --body more~fruit");
    assert_eq!(found(&desk, "plums"), ["Plums"]);
}

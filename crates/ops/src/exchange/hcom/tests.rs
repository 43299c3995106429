//! hcom's decoder on a store of the real tool, and on rows that it would not write.

use super::*;
use crate::exchange::{Source, decode_tables};
use serde_json::json;

fn fixture() -> Batch {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testkit/foreign/hcom/hcom.db"
    );
    let foreign = inbox_store::foreign::Foreign::open(path.as_ref()).unwrap();
    let source = Source::of_tables(&foreign.tables().unwrap()).unwrap();
    assert_eq!(source, Source::Hcom);
    decode_tables(source, &foreign.rows(source.tables()).unwrap())
}

fn found<'a>(batch: &'a Batch, body: &str) -> &'a Incoming {
    batch
        .messages
        .iter()
        .find(|message| message.body.starts_with(body))
        .unwrap()
}

#[test]
fn a_store_of_the_real_tool_is_read_whole_and_the_same_each_time() {
    let batch = fixture();
    assert_eq!((batch.messages.len(), batch.bad.len()), (10, 0));
    assert_eq!(fixture(), batch);
}

#[test]
fn a_request_its_answer_and_who_read_it_come_along() {
    let batch = fixture();
    let request = found(&batch, "Could you review");
    assert_eq!(
        request.body,
        "Could you review the parser? Größe, 日本語, 🙂"
    );
    assert_eq!(
        (request.from.as_str(), &request.to[..]),
        ("dove", &["silo".to_owned()][..])
    );
    assert_eq!(request.kind, Some(Kind::Question));
    assert_eq!(request.place, "event 7");
    assert_eq!(request.created_at.to_string(), "2026-11-15T11:23:56.031Z");
    // The position that covers it was reported with the reader's next event.
    let read = Seen {
        reader: "silo".into(),
        at: "2026-11-15T11:23:56.057Z".parse().unwrap(),
    };
    assert_eq!(request.reads, [read]);
    let ack = found(&batch, "Reviewed");
    assert_eq!(ack.kind, Some(Kind::Answer));
    assert_eq!(ack.parent_uid.as_ref(), Some(&request.uid));
    assert_eq!(ack.thread_key, request.thread_key);
    assert_eq!(request.acks[0].reader, "silo");
    assert_eq!(request.acks[0].at, ack.created_at);
    assert_eq!(request.payload["hcom"]["mentions"], json!(["silo"]));
}

#[test]
fn broadcasts_groups_threads_and_people_are_told_apart() {
    let batch = fixture();
    assert_eq!(found(&batch, "Broadcast").to, ["all"]);
    // One of the two who got it has read it.
    assert_eq!(found(&batch, "Broadcast").reads.len(), 1);
    assert_eq!(found(&batch, "To the api group").to, ["silo", "leda"]);
    assert_eq!(found(&batch, "From the person").from, "human");
    assert_eq!(found(&batch, "External").from, "ci-bot");
    let asked = found(&batch, "Thread:");
    let answered = found(&batch, "I do");
    assert_eq!(asked.thread_key, answered.thread_key);
    assert_eq!(answered.to, ["silo", "dove"]);
    assert_ne!(asked.thread_key, found(&batch, "Broadcast").thread_key);
    assert_eq!(
        found(&batch, "First line").body,
        "First line\nSecond line with \"quotes\" and \\ backslash\n\n\tindented"
    );
    assert!(found(&batch, "First line").reads.is_empty());
    assert_eq!(
        found(&batch, "See the bundle").payload["hcom"]["bundle_id"],
        "bundle:6883e355"
    );
}

fn rows(events: Value) -> Tables {
    let events = serde_json::from_value(events).unwrap();
    Tables::from([("events".to_owned(), events)])
}

#[test]
fn what_cannot_be_taken_is_named_and_the_rest_goes_on() {
    let row = |id: i64, data: &str| json!({"id": id, "type": "message", "instance": "a", "timestamp": "2026-01-01T00:00:00Z", "data": data});
    let good = r#"{"from":"a","scope":"broadcast","text":"x"}"#;
    let mut no_time = row(6, good);
    no_time["timestamp"] = json!("soon");
    let batch = decode(&rows(json!([
        row(1, "{"),
        row(2, "[]"),
        row(3, r#"{"from":"a","scope":"broadcast"}"#),
        row(4, r#"{"from":"a","scope":"mentions","mentions":["a"],"text":"x"}"#),
        row(5, r#"{"from":"a","from":"b","scope":"broadcast","text":"x"}"#),
        no_time,
        {"type": "message", "data": good},
        {"id": 7, "type": "message", "timestamp": "2026-01-01T00:00:00Z", "data": null},
        row(9, &json!({"from": "system", "scope": "broadcast", "text": "reserved"}).to_string()),
        row(8, &json!({"from": "a", "scope": "broadcast", "reply_to": "999", "intent": "ack", "text": "x"}).to_string()),
    ])));
    let bad: Vec<_> = batch.bad.iter().map(|bad| bad.problem.as_str()).collect();
    assert_eq!(
        bad,
        [
            "it is cut short",
            "it is a list, not an object",
            "the key \"from\" is there twice",
            "its timestamp is not a time",
            "it has no id",
            "it has no data",
            "it has no text",
            "it is for nobody",
        ]
    );
    let kept: Vec<_> = batch
        .messages
        .iter()
        .map(|message| (message.place.as_str(), message.from.as_str()))
        .collect();
    assert_eq!(kept, [("event 8", "a"), ("event 9", "system-hcom")]);
    assert_eq!(batch.messages[0].parent_uid, None);
}

#[test]
fn tables_that_are_missing_or_strange_give_nothing() {
    assert_eq!(decode(&Tables::new()), Batch::default());
    let strange = json!([{}, {"id": "x", "type": "message", "data": 5}, {"type": 3}]);
    assert!(decode(&rows(strange)).messages.is_empty());
}

//! What is read and written, and what the other tests of the mailbox begin with.

use inbox_core::record::Millis;
use inbox_core::{Auth, Kind, Message, MessageId, Priority, RefType, Status, Thread, ThreadId};
use serde_json::{Value, json};

use super::{Outgoing, decode, encode, encode_read};
use crate::exchange::{Batch, Seen};

pub(super) const UID: &str = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";

pub(in crate::exchange) fn a_message() -> Message {
    Message {
        message_id: MessageId::new(7),
        uid: UID.into(),
        thread_id: ThreadId::new(3),
        from_agent: "lead".parse().unwrap(),
        from_session: None,
        to_agent: "quinn".into(),
        to: vec!["quinn".parse().unwrap()],
        kind: Kind::Task,
        message_type: None,
        summary: "Look at it".into(),
        body: "The whole story".into(),
        payload_json: json!({}),
        context: json!({}),
        parent_message_id: None,
        hops: 0,
        priority: Priority::Normal,
        expires_at: None,
        verified: false,
        auth: Auth::Local,
        created_at: Millis(1_773_671_400_123),
    }
}

pub(super) fn a_thread() -> Thread {
    Thread {
        thread_id: ThreadId::new(3),
        run_id: "run-1".into(),
        task_id: String::new(),
        subject: "It".into(),
        created_by: "lead".parse().unwrap(),
        assigned_to: "quinn".into(),
        to: vec!["quinn".parse().unwrap()],
        status: Status::Pending,
        priority: Priority::High,
        attempts: 0,
        latest_message_id: None,
        ref_type: Some(RefType::Phase),
        ref_id: Some("p".into()),
        created_at: Millis(1),
        updated_at: Millis(2),
    }
}

pub(super) fn written(message: &Message, thread: Option<&Thread>) -> String {
    encode(&Outgoing {
        message,
        thread,
        parent_uid: None,
        reads: &[],
        acks: &[],
        artifacts: &[],
    })
}

pub(super) fn good() -> Value {
    json!({
        "id": UID, "sender": "s-1", "recipient": "architect", "timestamp": "2026-03-16T14:30:00Z",
        "content": "Hello", "thread": null, "ttl_hours": null, "read_by": []
    })
}

pub(super) fn with(key: &str, value: Value) -> String {
    let mut line = good();
    line[key] = value;
    line.to_string()
}

pub(super) fn without(key: &str) -> String {
    let mut line = good();
    line.as_object_mut().unwrap().shift_remove(key);
    line.to_string()
}

pub(super) fn only(batch: Batch) -> crate::exchange::Incoming {
    assert_eq!(batch.bad, []);
    let [message] = <[_; 1]>::try_from(batch.messages).unwrap();
    message
}

#[test]
fn the_specs_own_line_is_read() {
    let line = format!("{}\r\n\n  \n", with("ttl_hours", json!(24)));
    let message = only(decode(line.as_bytes(), b""));
    assert_eq!(
        (message.uid.as_str(), message.place.as_str()),
        (UID, "line 1")
    );
    assert_eq!(
        (message.from.as_str(), message.from_session.as_deref()),
        ("s-1", Some("s-1"))
    );
    assert_eq!(
        (&message.to[..], message.ttl_hours),
        (&["architect".to_owned()][..], Some(24))
    );
    assert_eq!(message.created_at.to_string(), "2026-03-16T14:30:00.000Z");
    assert_eq!((message.payload, message.kind), (json!({}), None));
    assert_eq!(message.thread_key.as_deref(), Some(UID));
}

#[test]
fn the_amendments_forms_are_read() {
    let to = |key: &str, value: Value| {
        let mut line = good();
        line.as_object_mut().unwrap().shift_remove("recipient");
        line[key] = value;
        only(decode(line.to_string().as_bytes(), b"")).to
    };
    assert_eq!(
        to("to", json!("project:inscription")),
        ["project:inscription"]
    );
    assert_eq!(
        to("to", json!(["a", "role:architect", "a"])),
        ["a", "role:architect"]
    );
    assert_eq!(
        to("tags", json!(["concern:governance", "domain:x"])),
        ["concern:governance", "domain:x"]
    );
    assert_eq!(to("tags", json!(["Ops Team"])), ["group:ops-team"]);
    assert_eq!(to("recipient", json!("ALL")), ["all"]);
    let message = only(decode(with("tags", json!(["project:x"])).as_bytes(), b""));
    assert_eq!(message.to, ["architect", "project:x"]);
    let message = only(decode(with("subject", json!("In short")).as_bytes(), b""));
    assert_eq!(message.subject.as_deref(), Some("In short"));
}

#[test]
fn what_has_no_place_is_kept_under_the_sources_key() {
    let message = only(decode(with("mood", json!({"a": 1})).as_bytes(), b""));
    assert_eq!(message.payload, json!({"mailbox": {"mood": {"a": 1}}}));
    let message = only(decode(
        with("sender", json!("The Architect")).as_bytes(),
        b"",
    ));
    assert_eq!(
        (message.from.as_str(), message.from_session),
        ("the-architect", None)
    );
    assert_eq!(message.payload["mailbox"]["sender"], "The Architect");
    let message = only(decode(with("id", json!("17")).as_bytes(), b""));
    assert_eq!(
        (message.uid.len(), &message.payload["mailbox"]["id"]),
        (36, &json!("17"))
    );
    // A key of ours that is not ours is only one more key.
    let message = only(decode(with("inbox", json!({"zero": true})).as_bytes(), b""));
    assert_eq!(message.payload["mailbox"]["inbox"]["zero"], true);
}

#[test]
fn replies_are_of_the_thread_that_their_chain_begins_with() {
    let line = |id: &str, thread: Value| {
        let mut line = good();
        line["id"] = json!(id);
        line["thread"] = thread;
        line.to_string()
    };
    let lines = [
        line("c", json!("b")),
        line("a", json!(null)),
        line("b", json!("a")),
        line("x", json!("y")),
        line("y", json!("x")),
        line("self", json!("self")),
        line("orphan", json!("gone")),
    ];
    let batch = decode(lines.join("\n").as_bytes(), b"");
    let key = |index: usize| batch.messages[index].thread_key.clone().unwrap();
    assert!(key(0) == key(1) && key(1) == key(2) && key(1) == batch.messages[1].uid);
    assert!(key(3) == key(4) && key(3) != key(0));
    assert_eq!(key(5), batch.messages[5].uid);
    assert_eq!(Some(key(6)), batch.messages[6].parent_uid);
}

#[test]
fn reads_are_read_in_both_spellings() {
    let reads = "{\"message_id\":\"17\",\"reader_session_id\":\"s-2\",\"timestamp\":\"2026-03-16T14:31:00Z\"}\n\
                 {\"messageid\":\"17\",\"readersession_id\":\"s-3\",\"timestamp\":\"2026-03-16T14:32:00Z\"}\n\
                 {\"messageid\":\"17\"}\n";
    let batch = decode(with("id", json!("17")).as_bytes(), reads.as_bytes());
    let readers: Vec<_> = batch
        .reads
        .iter()
        .map(|read| read.reader.as_str())
        .collect();
    assert_eq!(readers, ["s-2", "s-3"]);
    assert!(
        batch
            .reads
            .iter()
            .all(|read| read.message_uid == batch.messages[0].uid)
    );
    assert_eq!(batch.bad[0].place, "reads line 3");
    assert_eq!(
        decode(b"", encode_read(&batch.reads[0]).as_bytes()).reads,
        batch.reads[..1]
    );
    let message = only(decode(with("read_by", json!(["s-2"])).as_bytes(), b""));
    assert_eq!(
        message.reads,
        [Seen {
            reader: "s-2".into(),
            at: message.created_at
        }]
    );
}

#[test]
fn a_line_of_ours_begins_with_the_specs_fields_in_its_order() {
    let mut message = a_message();
    message.to = vec!["role:architect".parse().unwrap(), "all".parse().unwrap()];
    message.expires_at = Some(Millis(message.created_at.0 + 3_600_001));
    let line = written(&message, Some(&a_thread()));
    let value: Value = serde_json::from_str(&line).unwrap();
    let keys: Vec<_> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "id",
            "sender",
            "recipient",
            "timestamp",
            "content",
            "thread",
            "ttl_hours",
            "read_by",
            "inbox"
        ]
    );
    assert_eq!(
        (&value["recipient"], &value["ttl_hours"]),
        (&json!("architect"), &json!(2))
    );
    assert_eq!(value["inbox"]["to"], json!(["role:architect", "all"]));
}

#[test]
fn a_copied_line_is_taken_once_and_a_changed_one_is_bad() {
    let lines = [
        with("read_by", json!(["s-2"])),
        with("read_by", json!(["s-2", "s-3"])),
        with("content", json!("Other")),
    ];
    let batch = decode(lines.join("\n").as_bytes(), b"");
    assert_eq!(batch.messages.len(), 1);
    assert_eq!(batch.messages[0].reads.len(), 2);
    assert_eq!(batch.bad.len(), 1);
    assert_eq!(batch.bad[0].place, "line 3");
    assert!(batch.bad[0].problem.contains("the id of line 1"));
}

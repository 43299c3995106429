//! MCP Agent Mail's decoder on a store of the real tool, and on rows that it would not write.

use super::*;
use crate::exchange::{Source, decode_tables};

fn fixture() -> Batch {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../testkit/foreign/agent_mail/storage.sqlite3"
    );
    let foreign = inbox_store::foreign::Foreign::open(path.as_ref()).unwrap();
    let source = Source::of_tables(&foreign.tables().unwrap()).unwrap();
    assert_eq!(source, Source::AgentMail);
    decode_tables(source, &foreign.rows(source.tables()).unwrap())
}

#[test]
fn a_store_of_the_real_tool_is_read_whole_and_the_same_each_time() {
    let batch = fixture();
    assert_eq!((batch.messages.len(), batch.bad.len()), (5, 0));
    assert_eq!(fixture(), batch);
    let text = serde_json::to_string(&batch).unwrap();
    assert!(!text.contains("token"), "{text}");
}

#[test]
fn a_message_keeps_its_words_its_rank_and_who_has_seen_it() {
    let batch = fixture();
    let plan = &batch.messages[0];
    assert_eq!(plan.subject.as_deref(), Some("Plan: Größe der Änderung"));
    assert_eq!(plan.body, "First line\n\n- 日本語\n- 🙂 `code`");
    assert_eq!(
        (plan.from.as_str(), &plan.to[..]),
        ("bluelake", &["greencastle".to_owned()][..])
    );
    assert_eq!(plan.priority, Some(Priority::High));
    assert_eq!(plan.created_at.to_string(), "2026-11-15T11:26:01.943Z");
    assert_eq!(plan.payload["agent_mail"]["from"], "BlueLake");
    assert_eq!(plan.payload["agent_mail"]["ack_required"], true);
    let seen = |text: &str| {
        vec![Seen {
            reader: "greencastle".into(),
            at: text.parse().unwrap(),
        }]
    };
    assert_eq!(plan.reads, seen("2026-11-15T11:26:02.568Z"));
    assert_eq!(plan.acks, seen("2026-11-15T11:26:02.573Z"));
    let reply = &batch.messages[2];
    assert_eq!(reply.parent_uid.as_ref(), Some(&plan.uid));
    assert_eq!(reply.thread_key, plan.thread_key);
    assert_eq!(reply.kind, Some(Kind::Answer));
}

#[test]
fn copies_tickets_and_topics_come_along() {
    let batch = fixture();
    let [_, copied, _, ticket, unread] = &batch.messages[..] else {
        panic!("five messages");
    };
    assert_eq!(copied.to, ["greencastle", "redstone"]);
    assert_eq!(copied.payload["agent_mail"]["cc"], json!(["RedStone"]));
    assert_eq!(copied.priority, Some(Priority::Urgent));
    assert_eq!(copied.reads.len(), 1);
    assert_eq!(ticket.payload["agent_mail"]["bcc"], json!(["GreenCastle"]));
    assert_eq!(ticket.thread_key, copied.thread_key);
    assert_eq!(ticket.parent_uid, None);
    assert_eq!(unread.payload["agent_mail"]["topic"], "release");
    assert!(unread.reads.is_empty() && unread.acks.is_empty());
    assert_ne!(unread.thread_key, copied.thread_key);
}

fn tables(messages: Value) -> Tables {
    let rows = |rows: Value| serde_json::from_value(rows).unwrap();
    Tables::from([
        (
            "projects".to_owned(),
            rows(json!([{"id": 1, "slug": "one"}, {"id": 2, "slug": "two"}])),
        ),
        (
            "agents".to_owned(),
            rows(json!([
                {"id": 1, "project_id": 1, "name": "BlueLake"},
                {"id": 2, "project_id": 2, "name": "BlueLake"},
                {"id": 3, "project_id": 1, "name": "HumanOverseer"},
                {"id": 4, "project_id": 1, "name": "system"},
            ])),
        ),
        (
            "message_recipients".to_owned(),
            rows(json!([
                {"message_id": 1, "agent_id": 2, "kind": "to", "read_ts": 1_767_225_600_000_000_i64},
                {"message_id": 2, "agent_id": 1, "kind": "to"},
                {"message_id": 3, "agent_id": 99, "kind": "to"},
            ])),
        ),
        ("messages".to_owned(), rows(messages)),
    ])
}

fn row(id: i64, project: i64, sender: i64) -> Value {
    json!({"id": id, "project_id": project, "sender_id": sender, "subject": "s", "body_md": "b",
           "importance": "normal", "ack_required": 0, "created_ts": "2026-01-01 00:00:00", "attachments": "[]"})
}

#[test]
fn equal_names_of_two_projects_are_two_agents_and_the_overseer_is_the_person() {
    let mut second = row(2, 1, 4);
    second["attachments"] = json!(r#"[{"path":"a.png"}]"#);
    let batch = decode(&tables(json!([row(1, 1, 3), second])));
    assert_eq!(batch.messages[0].from, "human");
    assert_eq!(batch.messages[0].to, ["bluelake-2"]);
    // The port of the tool in Rust keeps microseconds.
    assert_eq!(
        batch.messages[0].reads[0].at.to_string(),
        "2026-01-01T00:00:00.000Z"
    );
    assert_eq!(batch.messages[1].from, "system-agent-mail");
    assert_eq!(batch.messages[1].to, ["bluelake"]);
    assert_eq!(
        batch.messages[1].payload["agent_mail"]["attachments"][0]["path"],
        "a.png"
    );
}

#[test]
fn what_cannot_be_taken_is_named_and_the_rest_goes_on() {
    let mut no_time = row(5, 1, 1);
    no_time["created_ts"] = json!(null);
    let mut no_body = row(6, 1, 1);
    no_body["body_md"] = json!(7);
    let batch = decode(&tables(json!([
        row(1, 1, 1), row(3, 1, 1), row(4, 1, 77), no_time, no_body, row(7, 1, 1), {"subject": "x"},
    ])));
    assert_eq!(batch.messages.len(), 1);
    let bad: Vec<_> = batch
        .bad
        .iter()
        .map(|bad| format!("{}: {}", bad.place, bad.problem))
        .collect();
    assert_eq!(
        bad,
        [
            "a message: it has no id",
            "message 3: a recipient is not among the agents",
            "message 4: its sender is not among the agents",
            "message 5: its created_ts is not a time",
            "message 6: it has no body_md",
            "message 7: it is for nobody",
        ]
    );
    assert_eq!(decode(&Tables::new()), Batch::default());
}

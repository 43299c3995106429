//! Every message has a Wire form, and the form is valid.

use inbox_core::record::Millis;
use inbox_core::{
    Address, Auth, Kind, Message, MessageId, Priority, RefType, Status, Thread, ThreadId,
};
use inbox_wire::{form, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn thread() -> Thread {
    Thread {
        thread_id: ThreadId::new(7),
        run_id: String::new(),
        task_id: "0.0.7".to_owned(),
        subject: "Add post CRUD".to_owned(),
        created_by: "lead".parse().unwrap(),
        assigned_to: "backend".to_owned(),
        to: vec!["backend".parse().unwrap()],
        status: Status::Pending,
        priority: Priority::Normal,
        attempts: 0,
        latest_message_id: None,
        ref_type: None,
        ref_id: None,
        created_at: Millis(0),
        updated_at: Millis(0),
    }
}

pub(crate) fn message() -> Message {
    Message {
        message_id: MessageId::new(9),
        uid: "00000000-0000-7000-8000-000000000000".to_owned(),
        thread_id: ThreadId::new(7),
        from_agent: "lead".parse().unwrap(),
        from_session: None,
        to_agent: "backend".to_owned(),
        to: vec!["backend".parse().unwrap()],
        kind: Kind::Task,
        message_type: None,
        summary: "Routes and tests".to_owned(),
        body: String::new(),
        payload_json: json!({}),
        context: Value::Null,
        hops: 0,
        priority: inbox_core::Priority::Normal,
        parent_message_id: None,
        expires_at: None,
        verified: false,
        auth: Auth::Local,
        created_at: Millis(1_763_194_260_120),
    }
}

#[test]
fn a_plain_message_becomes_an_inbox_wire() {
    let wanted = json!({
        "wire": "1.0",
        "type": "inbox",
        "sender": "lead",
        "ts": "2025-11-15T08:11:00.120Z",
        "payload": {
            "to_agent": "backend",
            "priority": 3,
            "message_type": "task",
            "ref_task_id": "0.0.7",
            "subject": "Add post CRUD",
            "body": "Routes and tests",
            "action_required": true,
        },
    });
    assert_eq!(form(&message(), &thread()), wanted);
}

#[test]
fn the_words_follow_from_kind_priority_and_status() {
    let payload = |message: &Message, thread: &Thread| form(message, thread)["payload"].clone();
    for (kind, word, action) in [
        (Kind::Task, "task", true),
        (Kind::Question, "question", true),
        (Kind::Answer, "answer", false),
        (Kind::Progress, "status.update", false),
        (Kind::Result, "task.complete", false),
        (Kind::Control, "status.update", false),
        (Kind::Event, "info", false),
    ] {
        let found = payload(&Message { kind, ..message() }, &thread());
        assert_eq!(found["message_type"], word);
        assert_eq!(found["action_required"], action, "{kind}");
    }
    let failed = Thread {
        status: Status::Failed,
        ..thread()
    };
    let result = Message {
        kind: Kind::Result,
        ..message()
    };
    assert_eq!(payload(&result, &failed)["message_type"], "status.update");
    for (priority, number) in [
        (Priority::Urgent, 1),
        (Priority::High, 2),
        (Priority::Normal, 3),
        (Priority::Low, 3),
        (Priority::Fyi, 3),
    ] {
        let found = payload(
            &Message {
                priority,
                ..message()
            },
            &thread(),
        );
        assert_eq!(found["priority"], number);
    }
    let own = Message {
        message_type: Some("review.request".to_owned()),
        ..message()
    };
    assert_eq!(payload(&own, &thread())["message_type"], "review.request");
    let about = Thread {
        task_id: String::new(),
        ref_type: Some(RefType::Task),
        ref_id: Some("t".to_owned()),
        ..thread()
    };
    assert_eq!(payload(&message(), &about)["ref_task_id"], "t");
    let phase = Thread {
        ref_type: Some(RefType::Phase),
        ..about
    };
    assert_eq!(payload(&message(), &phase)["ref_task_id"], Value::Null);
    let body = Message {
        body: "A longer text.".to_owned(),
        ..message()
    };
    assert_eq!(payload(&body, &thread())["body"], "A longer text.");
}

#[test]
fn a_payload_that_is_a_wire_is_the_form() {
    for wire in crate::vectors::all() {
        let carrying = Message {
            payload_json: wire.clone(),
            ..message()
        };
        assert_eq!(form(&carrying, &thread()), wire);
    }
    let broken = Message {
        payload_json: json!({ "wire": "1.0", "type": "brief" }),
        ..message()
    };
    assert_eq!(form(&broken, &thread())["type"], "inbox");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[ \t\u{200b}\u{feff}]{0,3}",
        ".{0,40}",
        "(?s).{0,40}",
        "[\u{0}-\u{ff}]{0,20}",
        "[a-z:.]{1,80}",
        "[a-zé]{900,1100}",
    ]
}

fn payload() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({ "wire": "2.0" })),
        Just(json!({ "wire": "1.0", "type": "inbox", "payload": [] })),
        text().prop_map(Value::from),
        proptest::sample::select(crate::vectors::all()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn the_form_of_any_message_is_a_valid_wire(
        (from, to_agent, to, assigned) in ("[a-z0-9][a-z0-9._-]{0,63}", text(), text(), text()),
        (kind, message_type) in (proptest::sample::select(Kind::ALL), proptest::option::of(text())),
        (summary, body, subject) in (text(), text(), text()),
        (task_id, ref_id) in (text(), proptest::option::of(text())),
        (priority, status) in (proptest::sample::select(Priority::ALL), proptest::sample::select(Status::ALL)),
        (created_at, payload_json) in (any::<i64>(), payload()),
    ) {
        let message = Message {
            from_agent: from.parse().unwrap(),
            to_agent,
            to: vec![Address::from_stored(&format!("@{to}")).unwrap()],
            kind,
            message_type,
            summary,
            body,
            payload_json,
            created_at: Millis(created_at),
            ..message()
        };
        let thread = Thread {
            task_id,
            subject,
            assigned_to: assigned,
            status,
            priority,
            ref_type: ref_id.as_ref().map(|_| RefType::Task),
            ref_id,
            ..thread()
        };
        let wire = form(&message, &thread);
        prop_assert_eq!(validate(&wire), [], "{:#}", wire);
        prop_assert_eq!(form(&message, &thread), wire);
    }
}

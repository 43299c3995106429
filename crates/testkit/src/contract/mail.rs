//! What a message carries comes back as it was given.

use inbox_core::record::Millis;
use inbox_core::{Code, Kind, Priority, RefType};
use inbox_ops::{ArtifactRef, Caller, Send, Show};
use serde_json::json;

use crate::world::{World, by, code, task};

pub fn a_message_comes_back_as_it_was_sent(world: &World) {
    let payload: serde_json::Value = serde_json::from_str(
        r#"{"z":1,"a":[true,null,"\u0000\ud83d\ude00"],"big":123456789012345678901234567890,"exp":1e400}"#,
    )
    .expect("good JSON");
    let request = Send {
        summary: Some("one line — with «marks»".into()),
        body: Some("many\nlines\t'; DROP TABLE threads; --".into()),
        payload_json: Some(payload.clone()),
        context_json: Some(json!({"why": "because"})),
        message_type: "review.request".parse().ok(),
        priority: Some(Priority::Urgent),
        kind: Some(Kind::Task),
        ref_type: Some(RefType::Task),
        ref_id: "T4".parse().ok(),
        ttl_hours: Some(2),
        artifacts: vec![ArtifactRef {
            path: "out/résumé.md".into(),
            size: Some(12),
            sha256: Some("ab".repeat(32)),
            media_type: Some("text/markdown".into()),
        }],
        ..task("backend", "subject with \"quotes\" and \u{1F600}")
    };
    let caller = Caller {
        session: "s-1".parse().ok(),
        ..by("lead")
    };
    let sent = world.call_as(&caller, &request).expect("a send succeeds");
    let shown = world
        .call("x", &Show::of(sent.thread.thread_id))
        .expect("it is there");
    assert_eq!(shown.messages, vec![sent.message.clone()]);
    assert_eq!(shown.thread, sent.thread);
    assert_eq!(shown.artifacts, sent.artifacts);
    let message = &shown.messages[0];
    assert_eq!(message.payload_json.to_string(), payload.to_string());
    assert_eq!(
        message
            .from_session
            .as_ref()
            .map(|session| session.as_str()),
        Some("s-1")
    );
    assert_eq!(
        message.expires_at.map(|time| time.0 - message.created_at.0),
        Some(7_200_000)
    );
    assert_eq!(
        (message.verified, message.auth),
        (world.auth() != inbox_core::Auth::Local, world.auth())
    );
    assert_eq!(shown.thread.ref_id.as_deref(), Some("T4"));
    assert_eq!(shown.artifacts[0].kind, "file");
}

pub fn what_was_not_given_is_empty(world: &World) {
    let sent = world
        .call("lead", &task("backend", "bare"))
        .expect("a send succeeds");
    let message = sent.message;
    assert_eq!(message.summary, "bare");
    assert_eq!(
        (message.body.as_str(), message.payload_json, message.context),
        ("", json!({}), json!({}))
    );
    assert_eq!(
        (sent.thread.run_id.as_str(), sent.thread.task_id.as_str()),
        ("", "")
    );
    assert_eq!(message.expires_at, None::<Millis>);
    assert_eq!(message.message_type, None);
}

pub fn a_send_says_how_each_address_was_read(world: &World) {
    world.send("backend", "lead", "hello");
    let to = ["backend", "newcomer", "role:architect", "project:x", "all"];
    let request = Send {
        to: to
            .iter()
            .map(|address| address.parse().expect("a good address"))
            .collect(),
        ..task("backend", "to many")
    };
    let sent = world.call("lead", &request).expect("a send succeeds");
    let read: Vec<_> = sent
        .delivery
        .iter()
        .map(|d| (d.mode.name(), d.reaches, d.note.is_some()))
        .collect();
    assert_eq!(
        read,
        vec![
            ("agent", 1, false),
            ("agent", 0, true),
            ("role", 0, true),
            ("tag", 0, true),
            ("broadcast", 0, true)
        ]
    );
    assert_eq!(sent.thread.to.len(), 5);
    assert_eq!(sent.message.to_agent, "backend");
    assert_eq!(sent.thread.assigned_to, "backend");
}

pub fn hostile_text_is_data(world: &World) {
    let hostile = [
        "'", "\"", "\\", "%_", "$1", "?1", "-- ", "/*", "\u{202e}", "{{x}}", "\u{feff}", "a\u{300}",
    ];
    for (n, text) in hostile.iter().enumerate() {
        let request = Send {
            summary: Some((*text).to_owned()),
            body: Some((*text).repeat(3)),
            run: (*text).parse().ok(),
            ..task("backend", &format!("{n}{text}"))
        };
        let sent = world.call("lead", &request).expect("any text is accepted");
        let shown = world
            .call("x", &Show::of(sent.thread.thread_id))
            .expect("it is there");
        assert_eq!(shown.messages[0].summary, *text);
        assert_eq!(shown.messages[0].body, text.repeat(3));
        let list = inbox_ops::List {
            run: (*text).parse().ok(),
            ..Default::default()
        };
        if list.run.is_some() {
            let found = world.call("x", &list).expect("a list succeeds");
            assert!(
                found
                    .threads
                    .iter()
                    .any(|thread| thread.thread_id == sent.thread.thread_id),
                "{text:?}"
            );
        }
    }
}

pub fn what_is_too_large_is_refused(world: &World) {
    let body = |size: usize| Send {
        body: Some("x".repeat(size)),
        ..task("backend", "big")
    };
    world
        .call("lead", &body(1 << 20))
        .expect("a mebibyte is allowed");
    assert_eq!(
        code(world.call("lead", &body((1 << 20) + 1))),
        Code::TooLarge
    );
    let payload = Send {
        payload_json: Some(json!("x".repeat(1 << 20))),
        ..task("backend", "big")
    };
    assert_eq!(code(world.call("lead", &payload)), Code::TooLarge);
    assert_eq!(
        code(world.call("lead", &task("backend", &"x".repeat(1_001)))),
        Code::TooLarge
    );
    let nul = Send {
        body: Some("a\0b".into()),
        ..task("backend", "nul")
    };
    assert_eq!(code(world.call("lead", &nul)), Code::InvalidInput);
}

pub fn what_is_missing_is_refused(world: &World) {
    let thread = world.send("lead", "backend", "work");
    for request in [
        Send {
            subject: None,
            ..task("backend", "x")
        },
        Send {
            subject: Some("  \t".into()),
            ..task("backend", "x")
        },
        Send {
            to: Vec::new(),
            ..task("backend", "x")
        },
        Send {
            summary: Some(String::new()),
            ..task("backend", "x")
        },
        Send {
            thread: Some(thread),
            ..task("backend", "a subject too")
        },
        Send {
            thread: Some(thread),
            ..Send::default()
        },
        Send {
            ttl_hours: Some(0),
            ..task("backend", "x")
        },
        Send {
            ref_id: "T4".parse().ok(),
            ..task("backend", "x")
        },
    ] {
        assert_eq!(
            code(world.call("lead", &request)),
            Code::InvalidInput,
            "{request:?}"
        );
    }
}

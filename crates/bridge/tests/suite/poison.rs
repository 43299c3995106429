//! What no store can hold, or no reader could bear: it is put aside with its reason, the same in either store, and what stands after it is
//! taken in.

use inbox_bridge::{Fees, file};
use inbox_core::Priority;
use inbox_hcs::Algorithm as Packing;
use inbox_ops::config::Policy;
use inbox_store::RecordState;
use serde_json::{Value, json};

use crate::field::Field;
use crate::house::{both, meeting};
use crate::threads::{connected, say, text};

/// A good Wire of Ada's to Ben.
fn wire(number: usize) -> Value {
    json!({
        "wire": "1.0", "type": "inbox", "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
        "payload": { "to_agent": "ben", "priority": 1, "message_type": "info",
            "ref_task_id": null, "subject": format!("number {number}"), "body": "b", "action_required": false },
        "x_uid": format!("0190c0de-0000-7000-8000-{number:012x}"),
    })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }))
}

/// Wires as texts that an agent of the roster may put on a topic, and whether each becomes mail.
fn poisons() -> Vec<(String, bool)> {
    let mut all: Vec<(String, bool)> = Vec::new();
    let mut next = 100;
    let mut add = |change: &dyn Fn(&mut Value), is_mail: bool| {
        next += 1;
        let mut wire = wire(next);
        change(&mut wire);
        all.push((wire.to_string(), is_mail));
    };
    // A NUL in every text that is kept.
    for pointer in [
        "/payload/body",
        "/payload/subject",
        "/payload/message_type",
        "/x_uid",
    ] {
        add(
            &|wire| *wire.pointer_mut(pointer).unwrap() = json!("a\0b"),
            false,
        );
    }
    for key in ["x_summary", "x_thread", "x_kind", "x_priority", "x_ref_id"] {
        add(
            &|wire| {
                wire["x_ref_type"] = json!("task");
                wire["x_ref_id"] = json!("T-1");
                wire[key] = json!("a\0b");
            },
            false,
        );
    }
    // A UUID that is none, and one that no index takes.
    for uid in [
        json!("7"),
        json!(7),
        json!(""),
        json!("0190c0de".repeat(4_000)),
    ] {
        add(&|wire| wire["x_uid"] = uid.clone(), false);
    }
    // Times that no view shows: the mail is good.
    for time in [
        "-005000-01-01T00:00:00Z",
        "+292277-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "x",
    ] {
        add(&|wire| wire["ts"] = json!(time), true);
    }
    // What could be written, and not be read again.
    add(&|wire| wire["x_payload"] = nested(124), false);
    add(&|wire| wire["x_context"] = nested(124), false);
    add(
        &|wire| wire["payload"]["message_type"] = json!("w".repeat(10_000)),
        false,
    );
    // A NUL deep in a payload is kept as JSON keeps it.
    add(
        &|wire| wire["x_payload"] = json!({ "deep": ["a\0b"] }),
        true,
    );
    // A number that no machine has is a number; what is no JSON is none.
    let good = wire(99).to_string();
    for (word, is_mail) in [("\"\\ud800\"", false), ("1e999", true), ("\"\0\"", false)] {
        all.push((good.replace("\"b\"", word), is_mail));
    }
    all
}

#[test]
fn what_no_store_can_hold_is_put_aside_and_the_topic_goes_on() {
    let mut answers = Vec::new();
    for is_postgres in [false, true] {
        let field = Field::new(&["ada", "ben"], is_postgres);
        let (ada, to) = (&field.players["ada"], field.players["ben"].me.inbound_topic);
        let operator = format!("{}@{}", ada.me.inbound_topic, ada.me.account);
        let message = |data: &str| {
            let text = json!({
                "p": "hcs-10", "op": "message", "operator_id": operator, "data": data,
            });
            let text = text.to_string();
            let put = |data: &str| {
                let mime = "application/json".parse().unwrap();
                file::put(&ada.net, data.as_bytes(), &mime, Packing::Brotli).unwrap()
            };
            if text.len() <= 20 * 1_024 {
                ada.net.write(to, text.as_bytes(), "", Fees::None).unwrap();
            } else {
                let led = format!("hcs://1/{}", put(data));
                let text = json!({
                    "p": "hcs-10", "op": "message", "operator_id": operator, "data": led,
                });
                let text = text.to_string();
                ada.net.write(to, text.as_bytes(), "", Fees::None).unwrap();
            }
        };
        let poisons = poisons();
        for (text, _) in &poisons {
            message(text);
        }
        // A stranger's request, whose words have a NUL, and lies in numbers.
        let eve = field.stage.player("Eve");
        let named = format!("{}@{}", eve.me.inbound_topic, eve.me.account);
        for operation in [
            json!({ "p": "hcs-10", "op": "connection_request", "operator_id": named, "m": "a\0b" }),
            json!({ "p": "hcs-10", "op": "message", "operator_id": named, "data": json!({
                "message_type": "connection.refused", "subject": "a\0b", "priority": 1,
                "payload": { "inbound_topic_id": eve.me.inbound_topic.to_string(), "connection_request_id": i64::MIN },
            }).to_string() }),
        ] {
            let text = operation.to_string();
            eve.net.write(to, text.as_bytes(), "", Fees::None).unwrap();
        }
        message(&wire(1).to_string());
        field.send("ada", "ben", "the last", "good", Priority::Normal);
        field.settle();

        let topic = field.topic("ben");
        assert_eq!(topic.problem, None);
        let mail = field.unread("ben");
        let good = poisons.iter().filter(|(_, is_mail)| *is_mail).count();
        let subjects: Vec<&str> = mail.iter().map(|one| one.summary.as_str()).collect();
        assert_eq!(subjects.len(), good + 2, "{subjects:?}");
        assert!(subjects.contains(&"number 1"), "{subjects:?}");
        assert!(subjects.contains(&"the last"), "{subjects:?}");
        let records = field.inbox.records_after(topic.topic_no, 0, 1_000).unwrap();
        let odd: Vec<_> = records
            .iter()
            .filter(|record| record.state == RecordState::Unreadable)
            .map(|record| record.reason.clone().unwrap_or_default())
            .collect();
        assert!(odd.len() >= poisons.len() - good, "{odd:?}");
        assert!(odd.iter().all(|reason| !reason.is_empty()), "{odd:?}");
        let answer: Vec<_> = records
            .into_iter()
            .map(|record| (record.state, record.reason.is_some()))
            .collect();
        answers.push((answer, topic.sequence, topic.taken));
    }
    assert_eq!(answers[0], answers[1], "either store gives the same answer");
}

#[test]
fn what_a_party_says_with_a_nul_does_not_stop_the_connection() {
    both(&meeting(Policy::Accept), |house| {
        let (ada, topic, thread) = connected(&house, "A\u{202e}da");
        house.read("ben");
        // By a file, which may hold any byte.
        let words = format!("before \0 after {}", "x".repeat(2_000));
        ada.agent()
            .say(topic, words.as_bytes(), &text(), None)
            .unwrap();
        say(&ada, topic, "and on");
        house.settle();
        let mail = house.read("ben");
        assert_eq!(mail.len(), 1, "{mail:?}");
        assert_eq!(
            (mail[0].summary.as_str(), mail[0].thread_id),
            ("and on", thread)
        );
        let put_aside = (RecordState::Unreadable, 1);
        assert!(house.states().contains(&put_aside), "{:?}", house.states());
        let report = house.inbox.ledger_standing().unwrap();
        assert!(report.topics.iter().all(|topic| topic.problem.is_none()));
    });
}

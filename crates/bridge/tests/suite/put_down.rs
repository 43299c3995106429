//! Mail that has no one recipient: delivered by the store, put down on its sender's topic, and pointed to on a role's.

use inbox_bridge::Fees;
use inbox_core::Priority;
use inbox_hcs::{Data, Operation, OutboundMessage};
use inbox_ops::{Caller, Operation as _, Read, Send, SessionStart};
use inbox_store::{RecordState, TopicPlace};
use inbox_testkit::world::by;
use serde_json::{Value, json};

use crate::entity::{run, stands, topic_of};
use crate::mail::{Post, both};

/// Who holds the role, has the tag, and hears what is for all.
fn begin(post: &Post) -> Caller {
    let caller = Caller {
        session: Some("ses-cleo-1".parse().unwrap()),
        ..by("cleo")
    };
    let start: SessionStart =
        serde_json::from_value(json!({ "role": ["ba"], "tag": ["project:x"] })).unwrap();
    start.run(&post.inbox, &caller).unwrap();
    caller
}

fn subjects(post: &Post, caller: &Caller) -> Vec<String> {
    let read = Read {
        peek: true,
        ..Read::default()
    };
    let mail = read.run(&post.inbox, caller).unwrap().messages;
    mail.into_iter().map(|it| it.summary).collect()
}

#[test]
fn mail_to_many_is_delivered_at_once_and_put_down_on_its_senders_topic() {
    both(|post| {
        let cleo = begin(&post);
        let mut uids = Vec::new();
        for (to, kind) in [
            ("role:ba", "task"),
            ("role:ba", "event"),
            ("project:x", "event"),
            ("all", "event"),
        ] {
            let send =
                json!({ "to": [to], "subject": format!("to {to}"), "kind": kind, "body": "b" });
            uids.push(json!(run::<Send>(&post.inbox, "ada", send).message.uid));
        }
        let seen = ["to role:ba", "to role:ba", "to project:x", "to all"];
        assert_eq!(subjects(&post, &cleo), seen);
        post.settle();
        assert_eq!(subjects(&post, &cleo), seen);
        let put_down = stands(&post, post.ada.me.outbound_topic);
        let wires: Vec<Value> = put_down
            .iter()
            .map(|(payer, said)| {
                assert_eq!(*payer, post.ada.me.account);
                let operator = post.ada.agent().operator().to_string();
                assert_eq!(
                    (&said["p"], &said["op"]),
                    (&json!("hcs-10"), &json!("message"))
                );
                assert_eq!(said["operator_id"], operator);
                serde_json::from_str(said["data"].as_str().unwrap()).unwrap()
            })
            .collect();
        let found: Vec<&Value> = wires.iter().map(|wire| &wire["x_uid"]).collect();
        assert_eq!(found, uids.iter().collect::<Vec<_>>());
        assert_eq!(wires[3]["payload"]["to_agent"], "all");
        // Only work is pointed to.
        let topic = topic_of(&post, TopicPlace::Role, "ba").unwrap();
        assert_eq!(post.ada.net.topic(topic).unwrap().memo, "inbox:role:ba");
        let pointers = stands(&post, topic);
        assert_eq!(pointers.len(), 1);
        assert_eq!(pointers[0].1["x_uid"], uids[0]);
        assert_eq!(pointers[0].1["x_thread"], uids[0]);
        assert_eq!(pointers[0].1["payload"]["subject"], "to role:ba");
        assert_eq!(pointers[0].1["payload"]["body"], "");
        assert_eq!(post.states(), [(RecordState::Confirmed, 5)]);
        assert_eq!(post.inbox.ledger_standing().unwrap().backlog.count, 0);
    });
}

#[test]
fn the_transaction_says_that_it_is_a_message_on_an_outbound_topic() {
    let post = Post::new(inbox_testkit::world::World::sqlite());
    run::<Send>(
        &post.inbox,
        "ada",
        json!({ "to": ["all"], "subject": "s", "kind": "event" }),
    );
    post.settle();
    let mirror = post.ada.net.mirror();
    let message = mirror
        .messages(post.ada.me.outbound_topic, None)
        .unwrap()
        .remove(0);
    let transaction = mirror.transaction_at(message.time).unwrap().unwrap();
    assert_eq!(transaction.memo, b"hcs-10:op:6:2");
}

#[test]
fn a_pointer_fits_into_a_message_whatever_it_points_to() {
    both(|post| {
        let role = "r".repeat(64);
        for subject in [
            "\u{1f980}\"\\".repeat(300),
            "\u{1}".repeat(900),
            "x".repeat(1_000),
        ] {
            let send = json!({ "to": [format!("role:{role}")], "subject": subject,
                "body": "words ".repeat(2_000), "priority": "urgent",
                "message_type": format!("a.{}", "b".repeat(400)),
                "ref_type": "project", "ref_id": "p".repeat(500), "task": "t".repeat(500) });
            run::<Send>(&post.inbox, "ada", send);
        }
        post.settle();
        let topic = topic_of(&post, TopicPlace::Role, &role).unwrap();
        // Each is less than 1,024 bytes, or it would not stand there.
        let pointers = stands(&post, topic);
        assert_eq!(pointers.len(), 3);
        for (_, pointer) in &pointers {
            assert_eq!(pointer["x_priority"], json!(Priority::Urgent));
            assert_eq!(pointer["payload"]["to_agent"], format!("role:{role}"));
        }
        assert_eq!(stands(&post, post.ada.me.outbound_topic).len(), 3);
        assert_eq!(post.states(), [(RecordState::Confirmed, 6)]);
    });
}

#[test]
fn what_is_put_down_counts_for_its_topics_owner_alone() {
    both(|post| {
        begin(&post);
        let send = json!({ "to": ["role:ba"], "subject": "s" });
        let sent = run::<Send>(&post.inbox, "ada", send).message;
        let wire = |sender: &str, uid: &str| json!({ "wire": "1.0", "type": "inbox", "sender": sender, "x_uid": uid });
        let say = |player: &crate::stage::Player, operator, wire: &Value| {
            let message = Operation::OutboundMessage(OutboundMessage {
                operator,
                data: Data::json(wire),
                written_at: None,
                memo: None,
            });
            let topic = player.me.outbound_topic;
            player.net.operate(topic, &message, Fees::None).unwrap();
        };
        let (ada, ben) = (post.ada.agent().operator(), post.ben.agent().operator());
        // Its own topic is the only one that an agent can write on; what it says there may still be wrong.
        say(&post.ada, ben, &wire("ben", &sent.uid));
        say(&post.ada, ada, &wire("ben", &sent.uid));
        say(
            &post.ada,
            ada,
            &wire("ada", "0190c0de-0000-7000-8000-000000000001"),
        );
        post.ada
            .net
            .write(post.ada.me.outbound_topic, b"not JSON", "", Fees::None)
            .unwrap();
        post.settle();
        let pointer = wire("ben", &sent.uid).to_string();
        let topic = topic_of(&post, TopicPlace::Role, "ba").unwrap();
        for net in [&post.ada.net, &post.ben.net] {
            net.write(topic, pointer.as_bytes(), "", Fees::None)
                .unwrap();
        }
        post.settle();
        let states = [
            (RecordState::Confirmed, 2),
            (RecordState::Unverified, 4),
            (RecordState::Unreadable, 1),
            (RecordState::Passed, 1),
        ];
        assert_eq!(post.states(), states);
    });
}

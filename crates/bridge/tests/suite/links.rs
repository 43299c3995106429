//! Links that lead to links: one is followed, and never one inside what it led to.

use inbox_bridge::Fees;
use inbox_hcs::{Algorithm, Limits, Mime, TopicId, write_file};
use inbox_hedera::proto::CreateTopicBody;
use serde_json::json;

use crate::mail::{Post, both};

/// How many links lead to each other in a row, each of them sent too.
const CHAIN: usize = 20;

/// Puts a text into a file of Ada's.
fn put(post: &Post, text: &str) -> TopicId {
    let net = &post.ada.net;
    let file = write_file(
        text.as_bytes(),
        &Mime::json(),
        Algorithm::Brotli,
        &Limits::default(),
    )
    .unwrap();
    let topic = net
        .create_topic(CreateTopicBody {
            memo: file.memo.to_string(),
            submit_key: Some(net.public_key().unwrap()),
            ..CreateTopicBody::default()
        })
        .unwrap();
    for message in &file.messages {
        net.write(topic, message.as_bytes(), "", Fees::None)
            .unwrap();
    }
    topic
}

/// Has Ada send Ben a message that is in a file.
fn send(post: &Post, file: TopicId) {
    let (ada, ben) = (&post.ada.me, &post.ben.me);
    let text = json!({
        "p": "hcs-10", "op": "message", "operator_id": format!("{}@{}", ada.inbound_topic, ada.account),
        "data": format!("hcs://1/{file}"),
    });
    let text = text.to_string();
    let net = &post.ada.net;
    net.write(ben.inbound_topic, text.as_bytes(), "", Fees::None)
        .unwrap();
}

/// The topic that is made so many after this one: the network numbers them as they come.
fn after(topic: TopicId, count: u64) -> TopicId {
    TopicId::new(0, 0, topic.number() + count).unwrap()
}

#[test]
fn a_link_is_followed_once_and_never_one_inside_what_it_led_to() {
    both(|post| {
        let wire = |subject: &str, number: usize| {
            json!({
                "wire": "1.0", "type": "inbox", "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
                "payload": { "to_agent": "ben", "priority": 1, "message_type": "info", "ref_task_id": null,
                    "subject": subject, "body": "b", "action_required": false },
                "x_uid": format!("0190c0de-0000-7000-8000-{number:012x}"),
            })
            .to_string()
        };
        // In a row, at whose end there is mail.
        let mut last = put(&post, &wire("never", 1));
        for _ in 0..CHAIN {
            last = put(&post, &format!("hcs://1/{last}"));
            send(&post, last);
        }
        // To itself, and to another that leads back.
        let own = after(last, 1);
        assert_eq!(put(&post, &format!("hcs://1/{own}")), own);
        send(&post, own);
        let (one, other) = (after(own, 1), after(own, 2));
        assert_eq!(put(&post, &format!("hcs://1/{other}")), one);
        assert_eq!(put(&post, &format!("hcs://1/{one}")), other);
        send(&post, one);
        // To what is not there.
        send(&post, after(other, 1_000));
        // What follows is read.
        let good = put(&post, &wire("mail", 2));
        send(&post, good);
        post.settle();
        assert_eq!(post.unread(), ["mail"]);
    });
}

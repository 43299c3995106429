//! Proofs of single messages: they hold by themselves, and nothing in them can be changed.

use inbox_bridge::{Fees, proof};
use inbox_core::{Code, MessageId, Priority};
use inbox_hcs::Proof;
use inbox_ops::{Operation as _, Read};
use inbox_testkit::world::by;
use serde_json::{Value, json};

use crate::mail::{Post, both};

const UID: &str = "0190c0de-0000-7000-8000-000000000007";

/// A short message, a large one in a file, one in pieces, and others around them.
fn messages(post: &Post) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for (subject, body) in [
        ("before", String::new()),
        ("short", "a few words".to_owned()),
        ("large", "many words ".repeat(300)),
    ] {
        post.world.advance_ms(1);
        ids.push(
            post.send(Priority::Normal, subject, &body)
                .message
                .message_id,
        );
    }
    post.settle();
    let wire = json!({
        "wire": "1.0", "type": "inbox", "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
        "payload": { "to_agent": "ben", "priority": 1, "message_type": "info",
            "ref_task_id": null, "subject": "pieces", "body": "word ".repeat(400), "action_required": false },
        "x_uid": UID,
    });
    let topic = post.ben.me.inbound_topic;
    // As SDKs write it that know nothing of files.
    let operator = post.ada.agent().operator();
    let text = json!({
        "p": "hcs-10", "op": "message", "operator_id": operator.to_string(), "data": wire.to_string(),
    })
    .to_string();
    let net = &post.ada.net;
    net.write(topic, text.as_bytes(), "", Fees::None).unwrap();
    net.write(topic, b"anything after it", "", Fees::None)
        .unwrap();
    net.catch_up();
    post.settle();
    let mail = Read::default().run(&post.inbox, &by("ben")).unwrap();
    let pieces = mail.messages.iter().find(|message| message.uid == UID);
    ids.push(pieces.unwrap().message_id);
    ids.split_off(1)
}

#[test]
fn a_proof_holds_without_store_and_network_and_nothing_in_it_can_be_changed() {
    both(|post| {
        let network = &post.stage.network;
        let mirror = network.reader();
        for id in messages(&post) {
            let made = proof::make(&post.inbox, network, id, None).unwrap();
            let file = made.write();
            let (read, proven) = Proof::check(&file).unwrap();
            assert_eq!(read, made);
            assert_eq!(proven.anchor.sequence, 7, "the newest");
            proof::compare(&mirror, &read, &proven).unwrap();
            let wire = proven.wire.unwrap();
            assert_eq!(wire["payload"]["subject"], made.stored["subject"]);
            for place in leaves(&file) {
                for other in others(file.pointer(&place).unwrap()) {
                    let mut changed = file.clone();
                    *changed.pointer_mut(&place).unwrap() = other;
                    let caught = Proof::check(&changed);
                    assert!(caught.is_err(), "{place} may be changed");
                }
                let mut cut = file.clone();
                let (above, key) = place.rsplit_once('/').unwrap();
                match cut.pointer_mut(above).unwrap() {
                    Value::Object(fields) => drop(fields.remove(key)),
                    Value::Array(list) => drop(list.remove(key.parse().unwrap())),
                    _ => unreachable!(),
                }
                assert!(Proof::check(&cut).is_err(), "{place} may be left out");
            }
        }
    });
}

#[test]
fn what_does_not_fit_is_named_and_a_file_that_was_sealed_anew_proves_no_other_hash() {
    let post = Post::new(inbox_testkit::world::World::sqlite());
    let ids = messages(&post);
    let made = proof::make(&post.inbox, &post.stage.network, ids[0], None).unwrap();
    let file = made.write();
    let named = |place: &str, value: Value| {
        let mut changed = file.clone();
        *changed.pointer_mut(place).unwrap() = value;
        Proof::check(&changed).unwrap_err().field().to_owned()
    };
    assert_eq!(
        named("/links/0/message", json!("AAAA")),
        "links[0].running_hash"
    );
    assert_eq!(named("/message/content", json!("AAAA")), "message.content");
    assert_eq!(named("/topic_id", json!("0.0.5")), "links[0].running_hash");
    assert_eq!(
        named("/links/0/consensus_timestamp", json!("1.000000001")),
        "links[0].running_hash"
    );
    assert_eq!(named("/stored/body", json!("other words")), "stored.body");
    assert_eq!(named("/network", json!("mainnet")), "sha256");
    // Whoever computes every hash again comes to another one, which no mirror has.
    let mut forged = made.clone();
    forged.said.payer = "0.0.2".parse().unwrap();
    let mut hash = forged.before.hash;
    for link in &mut forged.links {
        if link.bytes.is_some() {
            link.payer = forged.said.payer;
            if let Some(piece) = &mut link.piece {
                piece.payer = forged.said.payer;
            }
        }
        hash = hash.next_hashed(&inbox_hcs::Hashed {
            payer: link.payer,
            topic: forged.topic,
            time: link.time,
            sequence: link.sequence,
            message: link.digest,
        });
        link.hash = hash;
    }
    if let Some(id) = &mut forged.said.transaction {
        let start = id.split_once('@').unwrap().1.to_owned();
        *id = format!("0.0.2@{start}");
    }
    let (forged, proven) = Proof::check(&forged.write()).unwrap();
    let mirror = post.stage.network.reader();
    let refusal = proof::compare(&mirror, &forged, &proven).unwrap_err();
    assert_eq!(refusal.code, Code::VerifyMismatch);
}

#[test]
fn what_is_on_no_topic_cannot_be_proven() {
    both(|post| {
        let sent = post.send(Priority::Normal, "waits", "");
        let id = sent.message.message_id;
        let network = &post.stage.network;
        let refusal = proof::make(&post.inbox, network, id, None).unwrap_err();
        assert_eq!(refusal.code, Code::MessageNotFound, "{refusal:?}");
        let none = proof::make(&post.inbox, network, MessageId::new(999), None);
        assert_eq!(none.unwrap_err().code, Code::MessageNotFound);
    });
}

/// Every place of a value that holds no others.
fn leaves(value: &Value) -> Vec<String> {
    let below = |key: &str, value: &Value| -> Vec<String> {
        leaves(value)
            .into_iter()
            .map(|rest| format!("/{key}{rest}"))
            .collect()
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => fields
            .iter()
            .flat_map(|(key, value)| below(key, value))
            .collect(),
        Value::Array(list) if !list.is_empty() => list
            .iter()
            .enumerate()
            .flat_map(|(index, value)| below(&index.to_string(), value))
            .collect(),
        _ => vec![String::new()],
    }
}

/// The same, a little different.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) if !text.is_empty() => {
            let middle = text.len() / 2;
            [0, middle, text.len() - 1]
                .into_iter()
                .filter(|at| text.is_char_boundary(*at) && text.is_char_boundary(at + 1))
                .map(|at| {
                    let other = if &text[at..=at] == "1" { "2" } else { "1" };
                    json!(format!("{}{other}{}", &text[..at], &text[at + 1..]))
                })
                .collect()
        }
        Value::Number(number) => vec![json!(number.as_u64().unwrap() + 1)],
        _ => vec![json!("other")],
    }
}

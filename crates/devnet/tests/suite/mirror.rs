//! The reader of a mirror: of the devnet's, and of one that lies.

use std::io::{Read, Write};
use std::net::TcpListener;

use inbox_devnet::ledger::{NODE, TREASURY, TREASURY_KEY};
use inbox_devnet::{Devnet, Options};
use inbox_hcs::{Audit, Sequence};
use inbox_hedera::client::{Asking, Client, NodeAt, Operator};
use inbox_hedera::key::PrivateKey;
use inbox_hedera::mirror::{Mirror, MirrorError};
use inbox_hedera::proto::{CreateTopicBody, Data, Key};
use serde_json::json;

use crate::net::message;

/// Checks every message of a topic against its running hash. How many there are.
pub(crate) fn audited(mirror: &Mirror, topic: i64) -> u64 {
    let id = format!("0.0.{topic}").parse().unwrap();
    let mut audit = Audit::new(id);
    let (mut after, mut count) = (None, 0);
    loop {
        let page = mirror.messages(id, after).unwrap();
        let Some(last) = page.last() else {
            return count;
        };
        after = Some(last.sequence);
        for found in &page {
            let hash = inbox_hcs::RunningHash::new(&found.running_hash).unwrap();
            let submission = inbox_hcs::Submission {
                payer: found.payer,
                topic: id,
                time: found.time,
                sequence: found.sequence,
                message: &found.message,
            };
            audit.check(&submission, hash).unwrap();
            count += 1;
        }
    }
}

#[test]
fn what_the_network_did_is_read_as_it_was_meant() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let devnet = runtime
        .block_on(Devnet::start(&Options::anywhere()))
        .unwrap();
    let key: PrivateKey = TREASURY_KEY.parse().unwrap();
    let public = Key::from(&key.public().unwrap());
    let node = NodeAt {
        account: NODE,
        address: devnet.node.to_string(),
    };
    let operator = Operator {
        account: TREASURY,
        key,
    };
    let client = Client::new([node], operator);
    let either = Key::threshold(1, vec![public.clone(), public.clone()]);
    let create = CreateTopicBody {
        memo: "a memo".into(),
        submit_key: Some(either.clone()),
        ..CreateTopicBody::default()
    };
    let run = |data: Data| runtime.block_on(client.execute(&Asking::new(data, 3_000_000_000)));
    let made = run(Data::CreateTopic(create))
        .unwrap()
        .receipt
        .topic_id
        .unwrap();
    for number in 0..250 {
        run(message(made, &format!("message {number}"))).unwrap();
    }
    let mirror = Mirror::new(&format!("http://{}", devnet.rest));
    let id = format!("0.0.{}", made.num).parse().unwrap();
    let topic = mirror.topic(id).unwrap().unwrap();
    assert_eq!(topic.memo, "a memo");
    assert_eq!((topic.submit_key, topic.admin_key), (Some(either), None));
    assert_eq!(audited(&mirror, made.num), 250);
    let first = mirror.messages(id, None).unwrap().remove(0);
    assert_eq!(first.message, b"message 0");
    let account = mirror.account("0.0.2".parse().unwrap()).unwrap().unwrap();
    assert_eq!(account.key, Some(public));
    assert!(account.balance > 0);
    assert!(
        mirror
            .topic("0.0.999999".parse().unwrap())
            .unwrap()
            .is_none()
    );
    assert!(
        mirror
            .account("0.0.999999".parse().unwrap())
            .unwrap()
            .is_none()
    );
    assert!(
        mirror
            .schedule("0.0.999999".parse().unwrap())
            .unwrap()
            .is_none()
    );
}

/// A mirror that gives these answers, one after the other, and then the last again and again.
fn liar(answers: Vec<String>) -> Mirror {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut answers = answers.into_iter().peekable();
        while let Ok((mut stream, _)) = listener.accept() {
            let mut head = Vec::new();
            let mut piece = [0; 1024];
            while !head.windows(4).any(|window| window == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => head.extend_from_slice(&piece[..count]),
                }
            }
            let Some(answer) = answers.peek().cloned() else {
                return;
            };
            let _ = stream.write_all(answer.as_bytes());
            let rest = answers.clone().count();
            if rest > 1 {
                answers.next();
            }
        }
    });
    Mirror::new(&base)
}

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn said(topic: &str, sequence: u64) -> serde_json::Value {
    json!({
        "chunk_info": null, "consensus_timestamp": "1700000000.000000001", "message": "aGVsbG8=", "payer_account_id": "0.0.2",
        "running_hash": "", "running_hash_version": 3, "sequence_number": sequence, "topic_id": topic,
    })
}

fn page(messages: &[serde_json::Value]) -> String {
    let body = json!({ "links": { "next": "https://elsewhere.example/api/v1/more" }, "messages": messages });
    answer("200 OK", &body.to_string())
}

#[test]
fn a_mirror_that_stumbles_is_asked_again_and_one_that_lies_is_not_believed() {
    let topic = "0.0.5".parse().unwrap();
    let good = page(&[said("0.0.5", 4), said("0.0.5", 5)]);
    let stumbling = liar(vec![
        answer("500 Internal Server Error", "<html>"),
        answer("429 Too Many Requests", ""),
        good,
    ]);
    let found = stumbling.messages(topic, Sequence::new(3)).unwrap();
    assert_eq!(found.len(), 2);
    for lie in [
        page(&[said("0.0.6", 4)]),
        page(&[said("0.0.5", 3)]),
        page(&[said("0.0.5", 5), said("0.0.5", 4)]),
        page(&[said("0.0.5", 4), said("0.0.5", 4)]),
        page(&[json!({ "topic_id": "0.0.5" })]),
        answer("200 OK", "<html>it works</html>"),
        answer("200 OK", "{"),
        answer("200 OK", &format!("{:?}", "x".repeat(2_000_000))),
        answer(
            "302 Found\r\nLocation: http://127.0.0.1:1/api/v1/topics/0.0.5/messages",
            "",
        ),
    ] {
        let refused = liar(vec![lie.clone()]).messages(topic, Sequence::new(3));
        let refused = refused.expect_err(&lie[..lie.len().min(300)]);
        assert!(
            matches!(
                refused,
                MirrorError::Form { .. }
                    | MirrorError::Status { .. }
                    | MirrorError::Unreachable(..)
            ),
            "{refused}"
        );
    }
}

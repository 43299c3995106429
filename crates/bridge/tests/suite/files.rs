//! Files on topics, and histories that do not add up.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};

use inbox_bridge::verify::verify;
use inbox_bridge::{Fees, file};
use inbox_core::Code;
use inbox_hcs::{Algorithm, FileMemo, Hash, Mime, TopicId};
use inbox_hedera::key::Algorithm as KeyAlgorithm;
use inbox_hedera::mirror::Mirror;
use inbox_hedera::proto::CreateTopicBody;
use serde_json::json;

use crate::stage::{Stage, refused};

#[test]
fn a_file_comes_back_as_it_was() {
    let stage = Stage::new();
    let net = stage.account(KeyAlgorithm::Ed25519);
    let noise: Vec<u8> = (0..5_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes())
        .collect();
    for (content, algorithm) in [
        (b"short".to_vec(), Algorithm::Zstd),
        (noise.clone(), Algorithm::Brotli),
        (noise, Algorithm::Zstd),
    ] {
        let topic = file::put(&net, &content, &Mime::bytes(), algorithm).unwrap();
        let found = file::get(net.mirror(), topic).unwrap();
        assert_eq!(found.content, content);
        verify(net.mirror(), topic).unwrap();
    }
}

#[test]
fn a_file_that_is_not_what_its_topic_says_is_refused() {
    let stage = Stage::new();
    let net = stage.account(KeyAlgorithm::Ed25519);
    let memo = FileMemo {
        hash: Hash::of(b"something else"),
        algorithm: Algorithm::Zstd,
    };
    let honest = inbox_hcs::write_file(
        b"this",
        &Mime::bytes(),
        Algorithm::Zstd,
        &inbox_hcs::Limits::default(),
    )
    .unwrap();
    let make = |memo: String, is_open: bool| -> TopicId {
        let key = net.public_key().unwrap();
        let topic = net
            .create_topic(CreateTopicBody {
                memo,
                submit_key: (!is_open).then_some(key),
                ..CreateTopicBody::default()
            })
            .unwrap();
        for message in &honest.messages {
            net.write(topic, message.as_bytes(), "", Fees::None)
                .unwrap();
        }
        topic
    };
    let other = make(memo.to_string(), false);
    let why = refused(file::get(net.mirror(), other), Code::InvalidWire);
    assert!(why.contains("hash"), "{why}");
    let open = make(honest.memo.to_string(), true);
    let why = refused(file::get(net.mirror(), open), Code::InvalidWire);
    assert!(why.contains("no submit key"), "{why}");
    let none = make("a memo".into(), false);
    refused(file::get(net.mirror(), none), Code::InvalidWire);
}

/// A mirror between us and the real one, which changes what it says.
fn lying(real: std::net::SocketAddr, lie: fn(String) -> String) -> Mirror {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap() == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let Some(path) = head.split(' ').nth(1) else {
                continue;
            };
            let mut to = TcpStream::connect(real).unwrap();
            write!(to, "GET {path} HTTP/1.0\r\nhost: {real}\r\n\r\n").unwrap();
            let mut answer = String::new();
            to.read_to_string(&mut answer).unwrap();
            let (_, body) = answer.split_once("\r\n\r\n").unwrap();
            let body = lie(body.to_owned());
            let length = body.len();
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").unwrap();
        }
    });
    Mirror::new(&format!("http://{here}"))
}

#[test]
fn a_mirror_that_changes_or_drops_a_message_is_caught() {
    let stage = Stage::new();
    let net = stage.account(KeyAlgorithm::Ed25519);
    let topic = net.create_topic(CreateTopicBody::default()).unwrap();
    for word in ["one", "two", "three"] {
        net.write(topic, word.as_bytes(), "", Fees::None).unwrap();
    }
    let rest = stage.devnet.rest;
    assert_eq!(
        verify(&lying(rest, |body| body), topic).unwrap().messages,
        3
    );
    // "two" and "tow", in base64.
    let changed = lying(rest, |body| body.replace("dHdv", "dG93"));
    let why = refused(verify(&changed, topic), Code::VerifyMismatch);
    assert!(why.contains("hash of message 2"), "{why}");
    let renumbered = lying(rest, |body| {
        body.replace("\"sequence_number\":3", "\"sequence_number\":4")
    });
    let why = refused(verify(&renumbered, topic), Code::VerifyMismatch);
    assert!(why.contains("message 4 follows"), "{why}");
}

/// A mirror whose topic has no end: every page is full of what is no chunk, and the next one is there.
fn endless(memo: &str, pages: &'static AtomicUsize) -> Mirror {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap();
    let memo = memo.to_owned();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let after = head.split_once("gt:").map(|(_, rest)| {
                let digits = rest.split(' ').next().unwrap();
                digits.parse::<u64>().unwrap()
            });
            let body = match after {
                None => {
                    json!({ "memo": memo, "submit_key": null, "custom_fees": { "fixed_fees": [] }, "deleted": false })
                }
                Some(after) => {
                    pages.fetch_add(1, Ordering::SeqCst);
                    let one = |number: u64| {
                        json!({
                            "topic_id": "0.0.7", "sequence_number": number, "payer_account_id": "0.0.2", "chunk_info": null,
                            "consensus_timestamp": format!("{}.000000001", 1_700_000_000 + number),
                            "message": "eA==", "running_hash": "eA==",
                        })
                    };
                    let messages: Vec<_> = (after + 1..=after + 100).map(one).collect();
                    json!({ "messages": messages })
                }
            };
            let (body, close) = (body.to_string(), "connection: close");
            let length = body.len();
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{close}\r\n\r\n{body}").unwrap();
        }
    });
    Mirror::new(&format!("http://{here}"))
}

#[test]
fn a_file_without_end_is_given_up_at_its_bound() {
    static PAGES: AtomicUsize = AtomicUsize::new(0);
    let memo = FileMemo {
        hash: Hash::of(b"never"),
        algorithm: Algorithm::Brotli,
    };
    let mirror = endless(&memo.to_string(), &PAGES);
    let topic = "0.0.7".parse().unwrap();
    let why = refused(file::get(&mirror, topic), Code::InvalidWire);
    assert!(why.contains("more than 4096 messages"), "{why}");
    assert!(PAGES.load(Ordering::SeqCst) <= 42);
}

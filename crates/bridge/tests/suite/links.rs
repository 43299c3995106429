//! Links that lead to links: one is followed, and never one inside what it led to.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use inbox_bridge::bridge::Bridge;
use inbox_bridge::{Fees, Net};
use inbox_hcs::{Algorithm, Limits, Mime, TopicId, Written, write_file};
use inbox_hedera::network::Network;
use inbox_hedera::proto::CreateTopicBody;
use inbox_testkit::world::World;
use serde_json::json;

use crate::field::settle;
use crate::mail::{Post, both};

/// How many links lead to each other in a row, each of them sent too.
const CHAIN: usize = 20;

/// The same where every request to the mirror is counted.
const LONG_CHAIN: usize = 1_000;

/// A text as a file.
fn file(text: &str) -> Written {
    let (mime, limits) = (Mime::json(), Limits::default());
    write_file(text.as_bytes(), &mime, Algorithm::Brotli, &limits).unwrap()
}

/// The topic of a file.
fn make(net: &Net, file: &Written) -> TopicId {
    let body = CreateTopicBody {
        memo: file.memo.to_string(),
        submit_key: Some(net.public_key().unwrap()),
        ..CreateTopicBody::default()
    };
    net.create_topic(body).unwrap()
}

/// Puts a text into a file of Ada's.
fn put(post: &Post, text: &str) -> TopicId {
    let file = file(text);
    let net = &post.ada.net;
    let topic = make(net, &file);
    for message in &file.messages {
        net.write(topic, message.as_bytes(), "", Fees::None)
            .unwrap();
    }
    topic
}

/// The message by which Ada sends Ben what is in a file.
fn linking(post: &Post, file: TopicId) -> Vec<u8> {
    let ada = &post.ada.me;
    let text = json!({
        "p": "hcs-10", "op": "message", "operator_id": format!("{}@{}", ada.inbound_topic, ada.account),
        "data": format!("hcs://1/{file}"),
    });
    text.to_string().into_bytes()
}

/// Has Ada send Ben a message that is in a file.
fn send(post: &Post, file: TopicId) {
    let net = &post.ada.net;
    net.write(
        post.ben.me.inbound_topic,
        &linking(post, file),
        "",
        Fees::None,
    )
    .unwrap();
}

/// The topic that is made so many after this one: the network numbers them as they come.
fn after(topic: TopicId, count: u64) -> TopicId {
    TopicId::new(0, 0, topic.number() + count).unwrap()
}

/// A Wire of Ada's to Ben.
fn wire(subject: &str, number: usize) -> String {
    json!({
        "wire": "1.0", "type": "inbox", "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
        "payload": { "to_agent": "ben", "priority": 1, "message_type": "info", "ref_task_id": null,
            "subject": subject, "body": "b", "action_required": false },
        "x_uid": format!("0190c0de-0000-7000-8000-{number:012x}"),
    })
    .to_string()
}

#[test]
fn a_link_is_followed_once_and_never_one_inside_what_it_led_to() {
    both(|post| {
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

/// How often each path was asked for.
type Asked = Arc<Mutex<BTreeMap<String, usize>>>;

/// The network with a mirror that counts what it is asked, and passes it on.
fn counted(post: &Post) -> (Network, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (rest, asked) = (post.stage.devnet.rest, Asked::default());
    let counts = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else {
                return;
            };
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            let text = String::from_utf8_lossy(&head);
            let Some(path) = text.split(' ').nth(1) else {
                continue;
            };
            let bare = path.split('?').next().unwrap().to_owned();
            *counts.lock().unwrap().entry(bare).or_default() += 1;
            let mut above = TcpStream::connect(rest).unwrap();
            let request =
                format!("GET {path} HTTP/1.1\r\nHost: mirror\r\nConnection: close\r\n\r\n");
            above.write_all(request.as_bytes()).unwrap();
            let mut answer = Vec::new();
            above.read_to_end(&mut answer).unwrap();
            let _ = stream.write_all(&answer);
        }
    });
    let network = &post.stage.network;
    let node = network.nodes[0].address.clone();
    let mirror = format!("http://{address}");
    (Network::at(node, mirror, network.stream.clone()), asked)
}

#[test]
fn each_of_a_thousand_links_in_a_row_is_fetched_once() {
    let post = Post::new(World::sqlite());
    let payer = i64::try_from(post.ada.me.account.number()).unwrap();
    let number = |topic: TopicId| i64::try_from(topic.number()).unwrap();
    let end = put(&post, &wire("never", 1));
    let mut chain = vec![end];
    // Whose they are is nobody's concern, and topics cost.
    let rich = post.stage.treasury();
    for _ in 0..LONG_CHAIN {
        let text = format!("hcs://1/{}", chain[chain.len() - 1]);
        let file = file(&text);
        let topic = make(&rich, &file);
        let chunks = file
            .messages
            .iter()
            .map(|chunk| (payer, chunk.clone().into_bytes()));
        assert!(post.stage.devnet.pour(number(topic), chunks).unwrap());
        chain.push(topic);
    }
    let links: Vec<_> = chain[1..]
        .iter()
        .map(|link| (payer, linking(&post, *link)))
        .collect();
    let inbound = number(post.ben.me.inbound_topic);
    assert!(post.stage.devnet.pour(inbound, links.into_iter()).unwrap());
    send(&post, put(&post, &wire("mail", 2)));

    let (network, asked) = counted(&post);
    let mut bridge = Bridge::new(&post.inbox, network, post.folder.path().join("keys")).unwrap();
    settle(&mut bridge);
    bridge.leave().unwrap();
    assert_eq!(post.unread(), ["mail"]);
    let asked = asked.lock().unwrap();
    let times = |topic: TopicId| {
        let paths = ["", "/messages"].map(|part| format!("/api/v1/topics/{topic}{part}"));
        paths.map(|path| asked.get(&path).copied().unwrap_or_default())
    };
    // What the topic is, its one page, and that there is no other.
    for link in &chain[1..] {
        assert_eq!(times(*link), [1, 2], "{link}");
    }
    assert_eq!(times(end), [0, 0], "nobody sent it");
}

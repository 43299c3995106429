//! The reader of a mirror: what the devnet did, and what those say who lie.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox_hcs::{Sequence, Timestamp};
use inbox_hedera::client::{Asking, ExecuteError};
use inbox_hedera::mirror::{Mirror, MirrorError};
use inbox_hedera::proto::{
    self, AccountAmount, AccountId, CreateTopicBody, CryptoTransferBody, Data, Schedulable,
    SchedulableBody, ScheduleCreateBody, ScheduleSignBody, TransactionId, TransferList,
};
use serde_json::{Value, json};

use crate::net::{Net, somebody};

#[tokio::test]
async fn a_transaction_is_found_by_its_id_and_what_it_scheduled_too() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let asking = Asking::of(Data::SubmitMessage(proto::SubmitMessageBody {
        topic_id: Some(topic.into()),
        message: b"hello".to_vec(),
        chunk_info: None,
    }))
    .memo("a memo");
    let id = net.client.execute(&asking).await.unwrap().id;
    let facts = net.read(move |mirror| mirror.transaction(&id)).await;
    let facts = facts.unwrap().unwrap();
    assert!(facts.is_done() && facts.fee > 0);
    assert_eq!(facts.memo, b"a memo");
    assert_eq!(facts.name, "CONSENSUSSUBMITMESSAGE");
    let sum: i64 = facts.transfers.iter().map(|(_, amount)| amount).sum();
    assert_eq!(sum, 0);

    let payer = somebody(0);
    let amount = |num: i64, amount: i64| AccountAmount {
        account_id: Some(AccountId::of(num)),
        amount,
        is_approval: false,
    };
    let transfer = CryptoTransferBody {
        transfers: Some(TransferList {
            amounts: vec![amount(payer.num, -5), amount(2, 5)],
        }),
        token_transfers: Vec::new(),
    };
    let create = ScheduleCreateBody {
        scheduled: Some(SchedulableBody {
            transaction_fee: 100_000_000,
            memo: String::new(),
            max_custom_fees: Vec::new(),
            data: Some(Schedulable::CryptoTransfer(transfer)),
        }),
        ..ScheduleCreateBody::default()
    };
    let made = net
        .client
        .execute(&Asking::of(Data::ScheduleCreate(create)))
        .await
        .unwrap()
        .receipt;
    let scheduled = made.scheduled_transaction_id.unwrap();
    let wanted = scheduled.clone();
    let before = net.read(move |mirror| mirror.transaction(&wanted)).await;
    assert_eq!(before.unwrap(), None, "it has not happened yet");
    let sign = Data::ScheduleSign(ScheduleSignBody {
        schedule_id: made.schedule_id,
    });
    let signed = net.client_of(&payer).execute(&Asking::of(sign)).await;
    signed.unwrap();
    let facts = net.read(move |mirror| mirror.transaction(&scheduled)).await;
    let facts = facts.unwrap().unwrap();
    assert!(facts.is_done() && facts.name == "CRYPTOTRANSFER");

    let never = net.client.next_id();
    let found = net.read(move |mirror| mirror.transaction(&never)).await;
    assert_eq!(found.unwrap(), None);
}

#[tokio::test]
async fn what_became_of_a_transaction_that_no_node_tells_of_is_found_on_the_mirror() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    let faults = net.devnet.faults();
    faults.lose(u32::MAX);
    faults.delay_receipts(u32::MAX);
    faults.lag(Duration::from_millis(400));
    let client = net
        .network
        .client(crate::net::treasury())
        .patient_for(Duration::ZERO);
    let unknown = client.submit(topic, b"hello", "", &[], &[]).await;
    let unknown = unknown.unwrap_err();
    let id = unknown
        .execute()
        .and_then(ExecuteError::id)
        .unwrap()
        .clone();
    let long = Duration::from_mins(1);
    let found = net.read(move |mirror| mirror.outcome(&id, long)).await;
    assert!(found.unwrap().unwrap().is_done());
    let never = net.client.next_id();
    let found = net.read(move |mirror| mirror.outcome(&never, Duration::ZERO));
    assert_eq!(found.await.unwrap(), None);
}

#[tokio::test]
async fn messages_are_found_by_time_and_by_number() {
    let net = Net::start().await;
    let topic = net.topic(CreateTopicBody::default()).await;
    for text in ["one", "two", "three"] {
        let said = net.client.submit(topic, text.as_bytes(), "", &[], &[]);
        said.await.unwrap();
    }
    let (second, later, missing) = net
        .read(move |mirror| {
            let two = Sequence::new(2).unwrap();
            let second = mirror.message(topic, two).unwrap().unwrap();
            let later = mirror.messages_from(topic, second.time).unwrap();
            let missing = mirror.message(topic, Sequence::new(4).unwrap()).unwrap();
            (second, later, missing)
        })
        .await;
    assert_eq!(second.message, b"two");
    assert_eq!(later.len(), 2);
    assert_eq!((&later[0], missing), (&second, None));
    let future = Timestamp::new(4_000_000_000, 0).unwrap();
    let none = net.read(move |mirror| mirror.messages_from(topic, future));
    assert!(none.await.unwrap().is_empty());
}

#[tokio::test]
async fn the_address_book_says_where_the_nodes_are() {
    let net = Net::start().await;
    let nodes = net.read(|mirror| mirror.nodes().unwrap()).await;
    let [node] = &nodes[..] else {
        panic!("there is one: {nodes:?}");
    };
    assert_eq!(node.account.to_string(), "0.0.3");
    let address = net.devnet.node;
    let wanted = (address.ip().to_string(), address.port());
    assert_eq!(node.endpoints, [wanted]);
    assert_eq!(node.cert_hash, None);
    // One that was given its node keeps it.
    let (network, same) = (net.network.clone(), net.network.clone());
    let kept = tokio::task::spawn_blocking(move || network.with_address_book());
    assert_eq!(kept.await.unwrap().unwrap(), same);
}

/// A mirror that answers each path by this, and the paths that it was asked for.
pub(crate) fn mirror(
    mut answer: impl FnMut(&str) -> Value + Send + 'static,
) -> (Mirror, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let Some(first) = lines.next() else { continue };
            while lines.next().is_some_and(|line| !line.is_empty()) {}
            let path = first.split(' ').nth(1).unwrap().to_owned();
            let body = answer(&path).to_string();
            seen.lock().unwrap().push(path);
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    (Mirror::new(&base), asked)
}

fn node(number: usize) -> Value {
    json!({
        "node_account_id": format!("0.0.{}", number + 3),
        "node_cert_hash": format!("0x{}", "ab".repeat(48)),
        "service_endpoints": [
            { "domain_name": "", "ip_address_v4": "10.0.0.1", "port": 50211 },
            { "domain_name": "node.example", "ip_address_v4": "", "port": 50212 },
            { "domain_name": "no host/at all", "ip_address_v4": "", "port": 50212 },
            { "domain_name": "node.example", "ip_address_v4": "", "port": 99999 },
        ],
    })
}

#[test]
fn pages_are_followed_to_their_end_on_the_same_mirror() {
    let (good, asked) = mirror(|path| {
        let next = (!path.contains("gt:")).then_some("/api/v1/network/nodes?limit=25&node.id=gt:1");
        json!({ "nodes": [node(path.len())], "links": { "next": next } })
    });
    let nodes = good.nodes().unwrap();
    assert_eq!(nodes.len(), 2);
    assert_eq!(nodes[0].cert_hash, Some([0xab; 48]));
    let wanted = [
        ("10.0.0.1".to_owned(), 50211),
        ("node.example".to_owned(), 50212),
    ];
    assert_eq!(nodes[0].endpoints, wanted);
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[test]
fn a_list_that_goes_elsewhere_round_in_circles_or_on_for_ever_is_given_up() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let link = format!("http://{}/api/v1/x", elsewhere.local_addr().unwrap());
    let (foreign, asked) =
        mirror(move |_| json!({ "nodes": [node(0)], "links": { "next": link } }));
    let refused = foreign.nodes().unwrap_err();
    assert!(matches!(refused, MirrorError::Foreign { .. }), "{refused}");
    assert_eq!(asked.lock().unwrap().len(), 1);
    elsewhere.set_nonblocking(true).unwrap();
    assert!(elsewhere.accept().is_err(), "nobody went there");

    let (circle, asked) = mirror(|path| json!({ "nodes": [node(0)], "links": { "next": path } }));
    let refused = circle.nodes().unwrap_err();
    assert!(matches!(refused, MirrorError::Endless { .. }), "{refused}");
    assert_eq!(asked.lock().unwrap().len(), 1);

    let mut page = 0;
    let (endless, asked) = mirror(move |_| {
        page += 1;
        let nodes: Vec<Value> = (0..100).map(node).collect();
        let next = format!("/api/v1/network/nodes?page={page}");
        json!({ "nodes": nodes, "links": { "next": next } })
    });
    let refused = endless.nodes().unwrap_err();
    assert!(matches!(refused, MirrorError::Endless { .. }), "{refused}");
    assert!(asked.lock().unwrap().len() < 20);

    let mut page = 0;
    let (empty, asked) = mirror(move |_| {
        page += 1;
        let next = format!("/api/v1/network/nodes?page={page}");
        json!({ "nodes": [], "links": { "next": next } })
    });
    assert_eq!(empty.nodes().unwrap(), []);
    assert_eq!(asked.lock().unwrap().len(), 1);

    let (none, _) = mirror(|_| json!({ "links": { "next": null } }));
    assert!(matches!(none.nodes(), Err(MirrorError::Form { .. })));
}

fn message(topic: &str, sequence: u64, seconds: u64) -> Value {
    json!({
        "chunk_info": null, "consensus_timestamp": format!("{seconds}.000000001"), "message": "aGVsbG8=",
        "payer_account_id": "0.0.2", "running_hash": "", "running_hash_version": 3, "sequence_number": sequence,
        "topic_id": topic,
    })
}

#[test]
fn an_answer_to_another_question_is_no_answer() {
    let topic = "0.0.5".parse().unwrap();
    let four = Sequence::new(4).unwrap();
    for lie in [message("0.0.6", 4, 100), message("0.0.5", 5, 100)] {
        let (liar, _) = mirror(move |_| lie.clone());
        let refused = liar.message(topic, four).unwrap_err();
        assert!(matches!(refused, MirrorError::Form { .. }), "{refused}");
    }
    let from = Timestamp::new(100, 0).unwrap();
    for lie in [
        vec![message("0.0.5", 4, 99)],
        vec![message("0.0.5", 5, 100), message("0.0.5", 4, 101)],
    ] {
        let (liar, _) = mirror(move |_| json!({ "messages": lie }));
        let refused = liar.messages_from(topic, from).unwrap_err();
        assert!(matches!(refused, MirrorError::Form { .. }), "{refused}");
    }
}

#[test]
fn of_a_transaction_and_its_duplicates_the_one_that_happened_counts() {
    let start = proto::Timestamp {
        seconds: 100,
        nanos: 7,
    };
    let id = TransactionId::new(AccountId::of(2), start);
    let one = |result: &str, named: &str, is_scheduled: bool| {
        json!({
            "charged_tx_fee": 5, "consensus_timestamp": "101.000000001", "entity_id": null, "memo_base64": "",
            "name": "CRYPTOTRANSFER", "nonce": 0, "result": result, "scheduled": is_scheduled,
            "transaction_id": named, "transfers": [],
        })
    };
    let own = "0.0.2-100-000000007";
    let all = [
        one("SUCCESS", "0.0.2-100-000000008", false),
        one("SUCCESS", own, true),
        one("DUPLICATE_TRANSACTION", own, false),
        one("INSUFFICIENT_ACCOUNT_BALANCE", own, false),
    ];
    let (mirror, asked) = mirror(move |_| json!({ "transactions": all }));
    let found = mirror.transaction(&id).unwrap().unwrap();
    assert_eq!(found.result, "INSUFFICIENT_ACCOUNT_BALANCE");
    assert!(!found.is_done());
    let asked = asked.lock().unwrap().remove(0);
    assert_eq!(
        asked,
        "/api/v1/transactions/0.0.2-100-000000007?scheduled=false&nonce=0"
    );
}

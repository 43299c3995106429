//! The devnet on its ports: calls, the stream, and the mirror's REST.

use std::time::Duration;

use bytes::Bytes;
use inbox_devnet::ledger::{NODE, TREASURY, TREASURY_KEY, funded};
use inbox_devnet::{Devnet, Options};
use inbox_hedera::grpc::{CallError, Channel, framed, framed_bytes};
use inbox_hedera::key::PrivateKey;
use inbox_hedera::proto::{
    AccountId, Answered, Asked, Code, CreateTopicBody, Data, Query, ReceiptQuery, Response,
    Schedulable, SchedulableBody, ScheduleCreateBody, Timestamp, TopicId, TopicQuery,
    TopicResponse, TransactionBody, TransactionId, TransactionReceipt, TransactionResponse,
};
use prost::Message;
use serde_json::Value;

use crate::net::message;

const RECEIPT: &str = "/proto.CryptoService/getTransactionReceipts";
const SUBMIT: &str = "/proto.ConsensusService/submitMessage";
const SUBSCRIBE: &str = "/com.hedera.mirror.api.proto.ConsensusService/subscribeTopic";

pub(crate) struct Client {
    pub(crate) devnet: Devnet,
    pub(crate) node: Channel,
    pub(crate) mirror: Channel,
    pub(crate) rest: String,
    mirror_rest: String,
    pub(crate) payer: i64,
    pub(crate) key: PrivateKey,
    made: i32,
}

impl Client {
    pub(crate) async fn start() -> Self {
        let devnet = Devnet::start(&Options::anywhere()).await.unwrap();
        let channel =
            |at: std::net::SocketAddr| Channel::new(at.to_string(), Duration::from_secs(20));
        Client {
            node: channel(devnet.node),
            mirror: channel(devnet.mirror),
            rest: format!("http://{}", devnet.rest),
            mirror_rest: format!("http://{}", devnet.mirror),
            devnet,
            payer: TREASURY,
            key: TREASURY_KEY.parse().unwrap(),
            made: 0,
        }
    }

    pub(crate) fn body(&mut self, data: Data) -> TransactionBody {
        self.made += 1;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let start = Timestamp {
            seconds: i64::try_from(now.unwrap().as_secs()).unwrap() - 5,
            nanos: self.made,
        };
        let id = TransactionId::new(AccountId::of(self.payer), start);
        TransactionBody::new(id, AccountId::of(NODE), 3_000_000_000, data)
    }

    /// A transaction with the client's signature, as it goes over the wire.
    pub(crate) fn signed(&mut self, data: Data) -> Bytes {
        framed(&self.body(data).sign([&self.key]).unwrap())
    }

    pub(crate) async fn run(&mut self, path: &str, data: Data) -> TransactionReceipt {
        let body = self.body(data);
        let transaction = body.sign([&self.key]).unwrap();
        let bytes = self.node.call(path, framed(&transaction)).await.unwrap();
        let response = TransactionResponse::decode(bytes).unwrap();
        assert_eq!(Code::from(response.precheck_code), Code::Ok);
        let query = Query {
            query: Some(Asked::Receipt(ReceiptQuery {
                transaction_id: body.transaction_id,
                ..ReceiptQuery::default()
            })),
        };
        let bytes = self.node.call(RECEIPT, framed(&query)).await.unwrap();
        let Some(Answered::Receipt(answer)) = Response::decode(bytes).unwrap().response else {
            panic!("a receipt was asked for");
        };
        answer.receipt.unwrap()
    }

    pub(crate) async fn topic(&mut self) -> TopicId {
        let create = Data::CreateTopic(CreateTopicBody::default());
        let receipt = self
            .run("/proto.ConsensusService/createTopic", create)
            .await;
        receipt.topic_id.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        let url = format!("{}/api/v1/{path}", self.rest);
        get(url).await
    }
}

/// What a URL answers, read by a client of another make.
pub(crate) async fn get(url: String) -> (u16, Value) {
    tokio::task::spawn_blocking(move || {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut answer = agent.get(&url).call().unwrap();
        let status = answer.status().as_u16();
        let text = answer.body_mut().read_to_string().unwrap();
        (status, serde_json::from_str(&text).unwrap())
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn what_was_answered_is_at_the_mirror_at_once() {
    let mut client = Client::start().await;
    let topic = client.topic().await;
    let (status, shown) = client.get(&format!("topics/0.0.{}", topic.num)).await;
    assert_eq!((status, &shown["deleted"]), (200, &Value::Bool(false)));
    for number in 1..=7 {
        let receipt = client
            .run(SUBMIT, message(topic, &format!("message {number}")))
            .await;
        assert_eq!(receipt.topic_sequence_number, number);
        let (_, page) = client
            .get(&format!("topics/{}/messages?order=desc&limit=1", topic.num))
            .await;
        assert_eq!(page["messages"][0]["sequence_number"], number);
    }
    // Page by page, on the port of the mirror's stream, too.
    let mut next = format!(
        "/api/v1/topics/0.0.{}/messages?limit=3&sequencenumber=gte%3A2",
        topic.num
    );
    let mut found = Vec::new();
    loop {
        let (_, page) = get(format!("{}{next}", client.mirror_rest)).await;
        for message in page["messages"].as_array().unwrap() {
            found.push(message["sequence_number"].as_i64().unwrap());
        }
        match page["links"]["next"].as_str() {
            Some(link) => next = link.to_owned(),
            None => break,
        }
    }
    assert_eq!(found, [2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn what_was_scheduled_is_found_by_the_id_of_who_scheduled_it_whoever_pays() {
    let mut client = Client::start().await;
    let payer = funded().unwrap().remove(0);
    let topic = client.topic().await;
    let Data::SubmitMessage(submit) = message(topic, "later") else {
        return;
    };
    let mut body = client.body(Data::ScheduleCreate(ScheduleCreateBody {
        scheduled: Some(SchedulableBody {
            transaction_fee: 100_000_000,
            memo: String::new(),
            max_custom_fees: Vec::new(),
            data: Some(Schedulable::SubmitMessage(submit)),
        }),
        payer_account_id: Some(AccountId::of(payer.num)),
        ..ScheduleCreateBody::default()
    }));
    body.memo = "a memo".into();
    body.node_account_id = Some(AccountId::of(7));
    let transaction = body.sign([&client.key, &payer.key]).unwrap();
    let path = "/proto.ScheduleService/createSchedule";
    client.node.call(path, framed(&transaction)).await.unwrap();
    let start = body.transaction_id.unwrap().valid_start.unwrap();
    let id = format!("0.0.{TREASURY}-{}-{:09}", start.seconds, start.nanos);
    let (status, both) = client.get(&format!("transactions/{id}")).await;
    assert_eq!(
        (status, both["transactions"].as_array().unwrap().len()),
        (200, 2)
    );
    let (_, one) = client
        .get(&format!("transactions/{id}?scheduled=true"))
        .await;
    assert_eq!(one["transactions"][0]["name"], "CONSENSUSSUBMITMESSAGE");
    assert_eq!(one["transactions"][0]["transaction_id"], id);
    let (_, one) = client
        .get(&format!("transactions/{id}?scheduled=false"))
        .await;
    assert_eq!(one["transactions"][0]["name"], "SCHEDULECREATE");
    assert_eq!(one["transactions"][0]["node"], "0.0.7");
}

#[tokio::test]
async fn a_stream_has_what_there_is_and_what_comes_and_ends_when_it_was_told_to() {
    let mut client = Client::start().await;
    let topic = client.topic().await;
    client.run(SUBMIT, message(topic, "before")).await;
    let query = TopicQuery {
        topic_id: Some(topic),
        consensus_start_time: Some(Timestamp::default()),
        consensus_end_time: None,
        limit: 3,
    };
    let mut stream = client
        .mirror
        .stream(SUBSCRIBE, framed(&query))
        .await
        .unwrap();
    let first = TopicResponse::decode(stream.next().await.unwrap().unwrap()).unwrap();
    assert_eq!(first.message, b"before");
    client.run(SUBMIT, message(topic, "then")).await;
    client.run(SUBMIT, message(topic, "last")).await;
    client.run(SUBMIT, message(topic, "not any more")).await;
    for text in ["then", "last"] {
        let next = TopicResponse::decode(stream.next().await.unwrap().unwrap()).unwrap();
        assert_eq!(next.message, text.as_bytes());
        assert_eq!(next.running_hash.len(), 48);
    }
    assert_eq!(stream.next().await.unwrap(), None);
    let missing = TopicQuery {
        topic_id: Some(TopicId::of(999)),
        ..TopicQuery::default()
    };
    let stream = client.mirror.stream(SUBSCRIBE, framed(&missing)).await;
    let refused = stream.unwrap().next().await;
    assert!(matches!(refused, Err(CallError::Status { code: 5, .. })));
}

#[tokio::test]
async fn what_is_no_call_of_the_devnets_is_told_so() {
    let client = Client::start().await;
    let call = async |path: &str, bytes: Bytes| client.node.call(path, bytes).await.unwrap_err();
    for bad in [
        &b""[..],
        b"\x01\x00\x00\x00\x00",
        b"\x00\x00\x00\x00\x09x",
        b"\x00\xff\xff\xff\xff",
    ] {
        let refused = call(RECEIPT, Bytes::from_static(bad)).await;
        assert!(
            matches!(refused, CallError::Status { code: 3, .. }),
            "{refused}"
        );
    }
    let garbage = client
        .node
        .call(SUBMIT, framed_bytes(b"\xff\xff"))
        .await
        .unwrap();
    let response = TransactionResponse::decode(garbage).unwrap();
    assert_eq!(Code::from(response.precheck_code), Code::InvalidTransaction);
    let nobody = Channel::new("127.0.0.1:1", Duration::from_secs(5));
    let refused = nobody.call(RECEIPT, framed_bytes(b"")).await.unwrap_err();
    assert!(matches!(refused, CallError::Away(..)));
}

#[tokio::test]
async fn a_wrong_question_is_answered_as_a_mirror_answers_it() {
    let client = Client::start().await;
    for (path, wanted) in [
        ("topics/0.0.999999", 404),
        ("topics/x", 400),
        ("topics/0.0.999999/messages", 404),
        ("accounts/0.0.2", 200),
        ("accounts/2", 200),
        ("accounts/0.0.999999", 404),
        ("accounts/0.0.-1", 400),
        ("accounts/99999999999999999999", 400),
        ("schedules/0.0.5", 404),
        ("transactions/0.0.2-1-1", 404),
        ("transactions/0.0.2", 400),
        ("network/exchangerate", 200),
        ("network/nodes", 200),
        ("network/supply", 200),
        ("nothing", 404),
    ] {
        let (status, body) = client.get(path).await;
        assert_eq!(status, wanted, "{path}: {body}");
        let complaint = body["_status"]["messages"][0]["message"].is_string();
        assert_eq!(complaint, wanted != 200, "{path}: {body}");
    }
}

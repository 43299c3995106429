//! The node and the mirror's stream, as calls.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use inbox_hedera::proto::{
    self, AccountId, AddressBookQuery, Answered, Code, NodeAddress, Query, ReceiptResponse,
    ResponseHeader, ServiceEndpoint, Timestamp, TopicQuery, TopicResponse, TransactionResponse,
};
use prost::Message;
use tokio::sync::mpsc;

use inbox_hedera::grpc::framed_bytes;

use crate::grpc::{self, Reply, Status, framed};
use crate::house::House;
use crate::ledger::{NODE, Offer, Topic, TopicMessage};
use crate::methods::{Method, method};

/// How many messages of a stream wait for who reads it.
const WAITING: usize = 64;

/// How many messages are looked up at once.
const PAGE: u32 = 100;

/// How often a mirror that lags looks again.
const LOOK: Duration = Duration::from_millis(20);

const SECOND: i64 = 1_000_000_000;

/// Answers a call.
pub(crate) async fn call(house: Arc<House>, request: Request<Incoming>) -> Response<Reply> {
    let path = request.uri().path().to_owned();
    let message = match grpc::message(request).await {
        Ok(message) => message,
        Err(status) => return grpc::answer(Err(status)),
    };
    house.faults.wait().await;
    match method(&path) {
        Some(Method::Transaction) => grpc::answer(submit(&house, &message).await),
        Some(Method::Receipt) if house.faults.is_late() => grpc::answer(Ok(framed(&no_receipt()))),
        Some(Method::Receipt | Method::Query) => grpc::answer(ask(&house, message).await),
        Some(Method::OtherTransaction) => grpc::answer(Ok(framed(&TransactionResponse {
            precheck_code: Code::NotSupported.number(),
            cost: 0,
        }))),
        Some(Method::OtherQuery(field)) => grpc::answer(Ok(not_supported(field))),
        Some(Method::Subscribe) => match TopicQuery::decode(message) {
            Ok(query) => subscribe(house, query),
            Err(error) => grpc::answer(Err(malformed(&error))),
        },
        Some(Method::Nodes) => match AddressBookQuery::decode(message) {
            Ok(_) => grpc::answer(Ok(framed(&address(&house)))),
            Err(error) => grpc::answer(Err(malformed(&error))),
        },
        None => grpc::answer(Err(Status::new(
            Status::UNIMPLEMENTED,
            format!("no node has {path}"),
        ))),
    }
}

async fn submit(house: &House, message: &Bytes) -> Result<Bytes, Status> {
    if house.faults.is_busy() {
        return Ok(framed(&TransactionResponse {
            precheck_code: Code::Busy.number(),
            cost: 0,
        }));
    }
    let response = house.submit(Offer::read(message)).await;
    if house.faults.is_lost() {
        return Err(Status::new(Status::UNAVAILABLE, "the answer was lost"));
    }
    Ok(framed(&response))
}

/// The answer to a question of a kind that is not answered here: every answer begins with a header.
fn not_supported(field: u32) -> Bytes {
    let header = ResponseHeader {
        precheck_code: Code::NotSupported.number(),
        ..ResponseHeader::default()
    };
    let mut inner = Vec::new();
    prost::encoding::message::encode(1, &header, &mut inner);
    let mut outer = Vec::new();
    prost::encoding::bytes::encode(field, &inner, &mut outer);
    framed_bytes(&outer)
}

/// As if a transaction had not been heard of yet.
fn no_receipt() -> proto::Response {
    proto::Response {
        response: Some(Answered::Receipt(Box::new(ReceiptResponse {
            header: Some(ResponseHeader {
                precheck_code: Code::ReceiptNotFound.number(),
                ..ResponseHeader::default()
            }),
            receipt: None,
        }))),
    }
}

fn malformed(error: &prost::DecodeError) -> Status {
    Status::new(Status::INVALID_ARGUMENT, error.to_string())
}

async fn ask(house: &House, message: Bytes) -> Result<Bytes, Status> {
    let query = Query::decode(message).map_err(|error| malformed(&error))?;
    if query.query.is_none() {
        return Err(Status::new(
            Status::INVALID_ARGUMENT,
            "the question is of no kind that is known here",
        ));
    }
    Ok(framed(&house.ask(&query).await))
}

/// The only node, as an address book has it.
fn address(house: &House) -> NodeAddress {
    let (ip, port) = match house.node {
        std::net::SocketAddr::V4(address) => (address.ip().octets().to_vec(), address.port()),
        std::net::SocketAddr::V6(address) => (vec![127, 0, 0, 1], address.port()),
    };
    NodeAddress {
        node_id: 0,
        node_account_id: Some(AccountId::of(NODE)),
        service_endpoint: vec![ServiceEndpoint {
            ip_address_v4: ip,
            port: i32::from(port),
            domain_name: String::new(),
        }],
        description: "inbox devnet".into(),
        ..NodeAddress::default()
    }
}

/// Streams a topic: what there is, and what comes.
fn subscribe(house: Arc<House>, query: TopicQuery) -> Response<Reply> {
    let num = query.topic_id.map_or(0, |topic| topic.num);
    let found = Topic::find(house.ledger().db(), num);
    if !matches!(found, Ok(Some(_))) {
        let status = Status::new(Status::NOT_FOUND, format!("there is no topic 0.0.{num}"));
        return grpc::answer(Err(status));
    }
    let (sender, receiver) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut news = house.news();
        let mut left = if query.limit == 0 {
            u64::MAX
        } else {
            query.limit
        };
        let start = query
            .consensus_start_time
            .map_or_else(|| house.now(), nanos);
        let end = query.consensus_end_time.map_or(i64::MAX, nanos);
        let Ok(mut after) = TopicMessage::before(house.ledger().db(), num, start) else {
            return;
        };
        loop {
            let until = house.mirrored();
            let page = TopicMessage::after(house.ledger().db(), num, after, until, PAGE);
            let Ok(page) = page else {
                let status = Status::new(Status::UNAVAILABLE, "the topic cannot be read");
                let _ = sender.send(Err(status)).await;
                return;
            };
            let is_last = u32::try_from(page.len()).unwrap_or(u32::MAX) < PAGE;
            for message in page {
                after = message.sequence;
                if message.consensus_at >= end || left == 0 {
                    return;
                }
                left -= 1;
                // Who asked may have gone.
                if sender.send(Ok(framed(&streamed(message)))).await.is_err() {
                    return;
                }
            }
            let ahead = end.saturating_sub(house.now());
            if left == 0 || ahead <= 0 {
                return;
            }
            if is_last {
                let over = Duration::from_nanos(ahead.unsigned_abs());
                tokio::select! {
                    changed = news.changed() => if changed.is_err() { return },
                    () = sender.closed() => return,
                    () = tokio::time::sleep(LOOK), if until < i64::MAX => {}
                    () = tokio::time::sleep(over), if end < i64::MAX => {}
                }
            }
        }
    });
    grpc::answer_with_stream(receiver)
}

fn nanos(time: Timestamp) -> i64 {
    time.seconds
        .saturating_mul(SECOND)
        .saturating_add(i64::from(time.nanos))
}

fn streamed(message: TopicMessage) -> TopicResponse {
    let chunk = message.chunk.as_deref();
    TopicResponse {
        consensus_timestamp: Some(Timestamp {
            seconds: message.consensus_at / SECOND,
            nanos: i32::try_from(message.consensus_at % SECOND).unwrap_or_default(),
        }),
        running_hash: message.running_hash,
        sequence_number: message.sequence.unsigned_abs(),
        running_hash_version: 3,
        chunk_info: chunk.and_then(|bytes| Message::decode(bytes).ok()),
        message: message.message,
    }
}

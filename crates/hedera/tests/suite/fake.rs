//! A node that answers as a test tells it to, and remembers what it was sent.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use inbox_hedera::client::NodeAt;
use inbox_hedera::grpc::{KIND, STATUS, framed, unframed};
use inbox_hedera::proto::{
    self, Answered, Code, ReceiptResponse, ResponseHeader, TransactionBody, TransactionReceipt,
    TransactionResponse,
};
use inbox_hedera::transaction::Signed;
use tokio::net::TcpListener;

use crate::liar::Script;

/// What it says to a call.
pub(crate) enum Reply {
    /// This, with its head.
    Bytes(Bytes),
    /// This status of gRPC's.
    Status(u16),
    /// Nothing.
    Silence,
}

/// The answer to a transaction.
pub(crate) fn says(code: Code) -> Reply {
    Reply::Bytes(framed(&TransactionResponse {
        precheck_code: code.number(),
        cost: 0,
    }))
}

/// The answer to a question for a receipt: how it ended, or that there is none.
pub(crate) fn receipt(status: Option<Code>) -> Reply {
    let header = status.map_or(Code::ReceiptNotFound, |_| Code::Ok);
    Reply::Bytes(framed(&proto::Response {
        response: Some(Answered::Receipt(Box::new(ReceiptResponse {
            header: Some(ResponseHeader {
                precheck_code: header.number(),
                ..ResponseHeader::default()
            }),
            receipt: status.map(|status| TransactionReceipt {
                status: status.number(),
                ..TransactionReceipt::default()
            }),
        }))),
    }))
}

pub(crate) struct Fake {
    account: i64,
    address: String,
    sent: Arc<Mutex<Vec<TransactionBody>>>,
    task: tokio::task::JoinHandle<()>,
}

type Answer = Arc<Mutex<dyn FnMut(bool) -> Reply + Send>>;

impl Fake {
    /// A node that answers so; it is told whether it is asked for a receipt.
    pub(crate) async fn start(
        account: i64,
        answer: impl FnMut(bool) -> Reply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        let answer: Answer = Arc::new(Mutex::new(answer));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                let service = service_fn(move |request| {
                    reply(Arc::clone(&kept), Arc::clone(&answer), request)
                });
                tokio::spawn(
                    Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Fake {
            account,
            address,
            sent,
            task,
        }
    }

    pub(crate) fn at(&self) -> NodeAt {
        NodeAt {
            account: self.account,
            address: self.address.clone(),
        }
    }

    /// The transactions that it was sent.
    pub(crate) fn sent(&self) -> Vec<TransactionBody> {
        self.sent.lock().unwrap().clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn reply(
    sent: Arc<Mutex<Vec<TransactionBody>>>,
    answer: Answer,
    request: Request<Incoming>,
) -> Result<Response<Script>, Infallible> {
    let is_receipt = request.uri().path().ends_with("getTransactionReceipts");
    let bytes = request.into_body().collect().await.unwrap().to_bytes();
    let message = unframed(&mut BytesMut::from(&bytes[..])).unwrap().unwrap();
    if !is_receipt {
        let body = Signed::read(&message).unwrap().body;
        sent.lock().unwrap().push(body);
    }
    let reply = (answer.lock().unwrap())(is_receipt);
    let status = |code: u16| {
        let mut trailers = HeaderMap::new();
        trailers.insert(STATUS, HeaderValue::from(code));
        Frame::trailers(trailers)
    };
    let frames = match reply {
        Reply::Bytes(bytes) => vec![Frame::data(bytes), status(0)],
        Reply::Status(code) => vec![status(code)],
        Reply::Silence => std::future::pending().await,
    };
    let mut response = Response::new(Script {
        frames: frames.into(),
        waits: false,
    });
    response.headers_mut().insert(CONTENT_TYPE, KIND);
    Ok(response)
}

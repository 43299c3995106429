//! A mirror that streams what a test tells it to, and ends as it is told.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use inbox_hedera::grpc::{KIND, STATUS, framed, unframed};
use inbox_hedera::proto::{TopicQuery, TopicResponse};
use prost::Message;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

/// How a stream ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    /// It does not.
    Wait,
    /// As if all had been said.
    Good,
    /// With this status of gRPC's.
    Status(u16),
    /// In the midst of a message.
    Break,
}

/// What one stream gives.
type Part = (Vec<TopicResponse>, End);

pub(crate) struct Liar {
    pub(crate) address: String,
    state: Arc<State>,
    task: tokio::task::JoinHandle<()>,
}

struct State {
    parts: Mutex<VecDeque<Part>>,
    asked: Mutex<Vec<TopicQuery>>,
    count: watch::Sender<usize>,
    is_held: watch::Sender<bool>,
}

impl Liar {
    /// One that gives these, one after the other, and then the last again and again.
    pub(crate) async fn start(parts: Vec<Part>) -> Self {
        Liar::start_with(parts, None).await
    }

    /// The same, by TLS where there is a certificate.
    pub(crate) async fn start_with(parts: Vec<Part>, tls: Option<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(State {
            parts: Mutex::new(parts.into()),
            asked: Mutex::default(),
            count: watch::Sender::new(0),
            is_held: watch::Sender::new(false),
        });
        let shared = Arc::clone(&state);
        let acceptor = tls.map(|tls| TlsAcceptor::from(Arc::new(tls)));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, state).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, state).await;
                            }
                        }
                    }
                });
            }
        });
        Liar {
            address,
            state,
            task,
        }
    }

    /// What it was asked for.
    pub(crate) fn asked(&self) -> Vec<TopicQuery> {
        self.state.asked.lock().unwrap().clone()
    }

    /// Keeps even the heads of its answers back.
    pub(crate) fn hold_back(&self) {
        self.state.is_held.send_replace(true);
    }

    pub(crate) fn release(&self) {
        self.state.is_held.send_replace(false);
    }

    pub(crate) async fn has_been_asked(&self) {
        let mut count = self.state.count.subscribe();
        count.wait_for(|count| *count > 0).await.unwrap();
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, state: Arc<State>) {
    let answer = service_fn(move |request| answer(Arc::clone(&state), request));
    let _ = Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(stream), answer)
        .await;
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Script>, Infallible> {
    let bytes = request.into_body().collect().await.unwrap().to_bytes();
    let message = unframed(&mut BytesMut::from(&bytes[..])).unwrap().unwrap();
    let query = TopicQuery::decode(message).unwrap();
    state.asked.lock().unwrap().push(query);
    state.count.send_modify(|count| *count += 1);
    let mut held = state.is_held.subscribe();
    held.wait_for(|is_held| !is_held).await.unwrap();
    let (messages, end) = {
        let mut parts = state.parts.lock().unwrap();
        match parts.len() {
            1 => parts[0].clone(),
            _ => parts.pop_front().unwrap(),
        }
    };
    let mut frames: VecDeque<Frame<Bytes>> = messages
        .iter()
        .map(|message| Frame::data(framed(message)))
        .collect();
    let status = |code: u16| {
        let mut trailers = HeaderMap::new();
        trailers.insert(STATUS, HeaderValue::from(code));
        Frame::trailers(trailers)
    };
    match end {
        End::Wait => {}
        End::Good => frames.push_back(status(0)),
        End::Status(code) => frames.push_back(status(code)),
        End::Break => frames.push_back(Frame::data(Bytes::from_static(&[0, 0]))),
    }
    let mut response = Response::new(Script {
        frames,
        waits: matches!(end, End::Wait),
    });
    response.headers_mut().insert(CONTENT_TYPE, KIND);
    Ok(response)
}

/// A body that gives these frames, and then waits or ends.
pub(crate) struct Script {
    pub(crate) frames: VecDeque<Frame<Bytes>>,
    pub(crate) waits: bool,
}

impl Body for Script {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frames.pop_front() {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            // Nobody will wake it: it is to wait for as long as it is listened to.
            None if self.waits => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

//! Calls over HTTP/2 as gRPC frames them: one message in, one or a stream of them out, and how it ended in the trailers.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, Response};
pub(crate) use inbox_hedera::grpc::framed;
use inbox_hedera::grpc::{KIND, MESSAGE, STATUS, unframed};
use tokio::sync::mpsc::Receiver;

/// The largest message that is read, in bytes: more than any transaction.
const MOST: usize = 64 * 1024;

/// How a call ends that does not end well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Status {
    pub(crate) const INVALID_ARGUMENT: u8 = 3;
    pub(crate) const NOT_FOUND: u8 = 5;
    pub(crate) const UNIMPLEMENTED: u8 = 12;
    pub(crate) const UNAVAILABLE: u8 = 14;

    pub(crate) fn new(code: u8, message: impl Into<String>) -> Self {
        Status {
            code,
            message: message.into(),
        }
    }

    fn trailers(&self) -> HeaderMap {
        let mut trailers = HeaderMap::new();
        trailers.insert(STATUS, HeaderValue::from(u16::from(self.code)));
        if let Ok(message) = HeaderValue::from_str(&self.message) {
            trailers.insert(MESSAGE, message);
        }
        trailers
    }
}

/// Whether a request is a call.
pub(crate) fn is_call(request: &Request<Incoming>) -> bool {
    let kind = request.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// The message of a call, as it is on the wire.
pub(crate) async fn message(request: Request<Incoming>) -> Result<Bytes, Status> {
    let body = Limited::new(request.into_body(), MOST).collect().await;
    let invalid = |why: String| Status::new(Status::INVALID_ARGUMENT, why);
    let bytes = body.map_err(|error| invalid(error.to_string()))?.to_bytes();
    let mut buffer = BytesMut::from(&bytes[..]);
    let message = unframed(&mut buffer).map_err(|error| invalid(error.to_string()))?;
    message
        .filter(|_| buffer.is_empty())
        .ok_or_else(|| invalid("there is not one message".into()))
}

/// What goes out: a message or a stream of them, and then how it ended.
#[derive(Default)]
pub(crate) struct Reply {
    message: Option<Bytes>,
    stream: Option<Receiver<Result<Bytes, Status>>>,
    trailers: Option<HeaderMap>,
}

impl Reply {
    /// A body that is no call's.
    pub(crate) fn plain(bytes: Vec<u8>) -> Self {
        Reply {
            message: Some(bytes.into()),
            ..Reply::default()
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if let Some(message) = self.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if let Some(stream) = &mut self.stream {
            match ready!(stream.poll_recv(context)) {
                Some(Ok(message)) => return Poll::Ready(Some(Ok(Frame::data(message)))),
                Some(Err(status)) => self.trailers = Some(status.trailers()),
                None => {}
            }
            self.stream = None;
        }
        Poll::Ready(
            self.trailers
                .take()
                .map(|trailers| Ok(Frame::trailers(trailers))),
        )
    }

    /// A body that is no call's has a length.
    fn size_hint(&self) -> SizeHint {
        match &self.message {
            Some(message) if self.trailers.is_none() && self.stream.is_none() => {
                SizeHint::with_exact(u64::try_from(message.len()).unwrap_or(u64::MAX))
            }
            _ => SizeHint::default(),
        }
    }
}

fn response(reply: Reply) -> Response<Reply> {
    let mut response = Response::new(reply);
    response.headers_mut().insert(CONTENT_TYPE, KIND);
    response
}

/// The answer to a call with one message.
pub(crate) fn answer(outcome: Result<Bytes, Status>) -> Response<Reply> {
    match outcome {
        Ok(message) => response(Reply {
            message: Some(message),
            stream: None,
            trailers: Some(Status::new(0, "").trailers()),
        }),
        Err(status) => {
            let mut response = response(Reply::default());
            response.headers_mut().extend(status.trailers());
            response
        }
    }
}

/// The answer to a call with as many messages as there will be.
pub(crate) fn answer_with_stream(stream: Receiver<Result<Bytes, Status>>) -> Response<Reply> {
    response(Reply {
        message: None,
        stream: Some(stream),
        trailers: Some(Status::new(0, "").trailers()),
    })
}

//! Calls as gRPC frames them over HTTP/2: five bytes before each message, and how the call ended in the trailers.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use thiserror::Error;
use tokio::net::TcpStream;

/// What stands before a message: whether it is compressed, and its length.
pub const HEAD: usize = 5;

/// The largest message that is read, in bytes.
pub const MOST: usize = 4 * 1024 * 1024;

/// How a call ended, in the trailers.
pub const STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// Why, in the trailers.
pub const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// What a body of calls is.
pub const KIND: HeaderValue = HeaderValue::from_static("application/grpc");

/// A call that did not end well.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallError {
    /// Nobody is there, or the way there broke. Whether the call arrived is not known.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// No answer came in time. Whether the call arrived is not known.
    #[error("{0} did not answer in time")]
    TimedOut(String),
    /// It was answered with a status of gRPC's own.
    #[error("the call ended with status {code}: {message}")]
    Status {
        /// Its number.
        code: u16,
        /// Why.
        message: String,
    },
    /// The answer is no message.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

/// A message with its head.
pub fn framed(message: &impl Message) -> Bytes {
    framed_bytes(&message.encode_to_vec())
}

/// The same of one that is written already.
pub fn framed_bytes(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(HEAD + message.len());
    bytes.extend_from_slice(&[0]);
    bytes.extend_from_slice(
        &u32::try_from(message.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    bytes.extend_from_slice(message);
    bytes.freeze()
}

/// Takes the next message off a buffer; nothing while it is not there as a whole.
pub fn unframed(buffer: &mut BytesMut) -> Result<Option<Bytes>, CallError> {
    let Some(head) = buffer.first_chunk::<HEAD>() else {
        return Ok(None);
    };
    let [flag, length @ ..] = *head;
    if flag != 0 {
        return Err(CallError::Unreadable("it is compressed".into()));
    }
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > MOST {
        return Err(CallError::Unreadable(format!("it has {length} bytes")));
    }
    if buffer.len() < HEAD + length {
        return Ok(None);
    }
    buffer.advance(HEAD);
    Ok(Some(buffer.split_to(length).freeze()))
}

/// A connection to one server. Calls share it, and it is made again when it broke.
pub struct Channel {
    address: String,
    sender: tokio::sync::Mutex<Option<SendRequest<Full<Bytes>>>>,
    timeout: Duration,
}

impl Channel {
    /// A connection to `host:port`, made by the first call.
    pub fn new(address: impl Into<String>, timeout: Duration) -> Self {
        Channel {
            address: address.into(),
            sender: tokio::sync::Mutex::new(None),
            timeout,
        }
    }

    /// Where it goes.
    pub fn address(&self) -> &str {
        &self.address
    }

    async fn connected(&self) -> Result<SendRequest<Full<Bytes>>, CallError> {
        let mut kept = self.sender.lock().await;
        if let Some(sender) = kept.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let stream = TcpStream::connect(&self.address)
            .await
            .map_err(|error| self.broken(&error))?;
        let _ = stream.set_nodelay(true);
        let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|error| self.broken(&error))?;
        // Ends with the last sender, or when the other side goes.
        tokio::spawn(connection);
        *kept = Some(sender.clone());
        Ok(sender)
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> CallError {
        CallError::Unreachable(self.address.clone(), error.to_string())
    }

    async fn send(&self, path: &str, message: Bytes) -> Result<Response<Incoming>, CallError> {
        let uri: Uri = format!("http://{}{path}", self.address)
            .parse()
            .map_err(|error| self.broken(&error))?;
        let mut request = Request::new(Full::new(message));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, KIND);
        headers.insert(TE, HeaderValue::from_static("trailers"));
        let mut sender = self.connected().await?;
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| self.broken(&error))?;
        if !response.status().is_success() {
            let status = response.status();
            return Err(CallError::Unreadable(format!(
                "the server answered {status}"
            )));
        }
        // A call that fails at once says so in the head.
        ended(response.headers())?;
        Ok(response)
    }

    /// One message for one.
    pub async fn call(&self, path: &str, message: Bytes) -> Result<Bytes, CallError> {
        let one = async {
            let response = self.send(path, message).await?;
            let body = Limited::new(response.into_body(), MOST + HEAD)
                .collect()
                .await;
            let body = body.map_err(|error| self.broken(&error))?;
            if let Some(trailers) = body.trailers() {
                ended(trailers)?;
            }
            let mut buffer = BytesMut::from(&body.to_bytes()[..]);
            let found = unframed(&mut buffer)?;
            found.ok_or_else(|| CallError::Unreadable("there is no message".into()))
        };
        tokio::time::timeout(self.timeout, one)
            .await
            .unwrap_or_else(|_| Err(CallError::TimedOut(self.address.clone())))
    }

    /// One message for a stream of them.
    pub async fn stream(&self, path: &str, message: Bytes) -> Result<Streamed, CallError> {
        let begun = tokio::time::timeout(self.timeout, self.send(path, message)).await;
        let response = begun.unwrap_or_else(|_| Err(CallError::TimedOut(self.address.clone())))?;
        Ok(Streamed {
            address: self.address.clone(),
            body: response.into_body(),
            buffer: BytesMut::new(),
        })
    }
}

/// Messages that come one after the other.
pub struct Streamed {
    address: String,
    body: Incoming,
    buffer: BytesMut,
}

impl Streamed {
    /// The next message; nothing when the stream has ended as it should.
    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            if let Some(message) = unframed(&mut self.buffer)? {
                return Ok(Some(message));
            }
            if self.body.is_end_stream() {
                return Ok(None);
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            let frame = frame
                .map_err(|error| CallError::Unreachable(self.address.clone(), error.to_string()))?;
            match frame.into_data() {
                Ok(data) => self.buffer.extend_from_slice(&data),
                Err(other) => {
                    if let Ok(trailers) = other.into_trailers() {
                        ended(&trailers)?;
                    }
                }
            }
        }
    }
}

/// What headers or trailers say of how a call ended.
fn ended(headers: &HeaderMap) -> Result<(), CallError> {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match text(&STATUS).map(str::parse::<u16>) {
        None | Some(Ok(0)) => Ok(()),
        Some(code) => Err(CallError::Status {
            code: code.unwrap_or(2),
            message: text(&MESSAGE).unwrap_or_default().to_owned(),
        }),
    }
}

//! Calls as gRPC frames them over HTTP/2: five bytes before each message, and how the call ended in the trailers.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TE};
use hyper::{Method, Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_rustls::TlsConnector;

use crate::network::is_secure;
use crate::tls;

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

/// How long it takes at most to be connected.
const CONNECT: Duration = Duration::from_secs(5);

/// How often it is looked whether a server that has nothing to say is still there, and how long it may take to say so.
const PING: Duration = Duration::from_mins(1);
const PONG: Duration = Duration::from_secs(15);

/// A call that did not end well.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CallError {
    /// Nobody is there: the call never left.
    #[error("{0} cannot be reached: {1}")]
    Away(String, String),
    /// The way there broke. Whether the call arrived is not known.
    #[error("the connection to {0} broke: {1}")]
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
    /// By TLS or plainly; or why it cannot be done.
    tls: Option<Result<Arc<ClientConfig>, rustls::Error>>,
    sender: Mutex<Option<Sender>>,
    timeout: Duration,
}

type Sender = SendRequest<Full<Bytes>>;

impl Channel {
    /// A connection to `host:port`, made by the first call.
    pub fn new(address: impl Into<String>, timeout: Duration) -> Self {
        Channel {
            address: address.into(),
            tls: None,
            sender: Mutex::new(None),
            timeout,
        }
    }

    /// The same by TLS where its port says so: known by the hash of its certificate, or by its name as the system's authorities
    /// confirm it.
    pub fn to(address: impl Into<String>, hash: Option<[u8; 48]>, timeout: Duration) -> Self {
        let mut channel = Channel::new(address, timeout);
        if is_secure(&channel.address) {
            channel.tls = Some(hash.map_or_else(tls::by_authorities, tls::by_hash));
        }
        channel
    }

    /// The same by TLS, whatever its port.
    pub fn secured(mut self, tls: Arc<ClientConfig>) -> Self {
        self.tls = Some(Ok(tls));
        self
    }

    /// Sets how long a call may take.
    pub fn within(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Where it goes.
    pub fn address(&self) -> &str {
        &self.address
    }

    async fn connected(&self) -> Result<Sender, CallError> {
        let mut kept = self.sender.lock().await;
        if let Some(sender) = kept.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        let sender = tokio::time::timeout(CONNECT, Box::pin(self.connect()))
            .await
            .map_err(|_| self.away(&"it does not answer"))??;
        *kept = Some(sender.clone());
        Ok(sender)
    }

    async fn connect(&self) -> Result<Sender, CallError> {
        let stream = TcpStream::connect(&self.address)
            .await
            .map_err(|error| self.away(&error))?;
        let _ = stream.set_nodelay(true);
        let Some(tls) = &self.tls else {
            return self.speak(stream).await;
        };
        let tls = tls.as_ref().map_err(|error| self.away(error))?;
        let (host, _) = self
            .address
            .rsplit_once(':')
            .ok_or_else(|| self.away(&"there is no port"))?;
        let name = ServerName::try_from(host.to_owned()).map_err(|error| self.away(&error))?;
        let stream = TlsConnector::from(Arc::clone(tls))
            .connect(name, stream)
            .await
            .map_err(|error| self.away(&error))?;
        self.speak(stream).await
    }

    async fn speak(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Sender, CallError> {
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING)
            .keep_alive_timeout(PONG)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| self.away(&error))?;
        // Ends with the last sender, or when the other side goes.
        tokio::spawn(connection);
        Ok(sender)
    }

    /// Drops a connection that does not answer, so that the next call makes a new one.
    async fn forget(&self) {
        *self.sender.lock().await = None;
    }

    fn away(&self, error: &dyn std::fmt::Display) -> CallError {
        CallError::Away(self.address.clone(), error.to_string())
    }

    fn broken(&self, error: &dyn std::fmt::Display) -> CallError {
        CallError::Unreachable(self.address.clone(), error.to_string())
    }

    fn request(&self, path: &str, message: Bytes) -> Result<Request<Full<Bytes>>, CallError> {
        let scheme = self.tls.as_ref().map_or("http", |_| "https");
        let uri: Uri = format!("{scheme}://{}{path}", self.address)
            .parse()
            .map_err(|error| self.away(&error))?;
        let mut request = Request::new(Full::new(message));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, KIND);
        headers.insert(TE, HeaderValue::from_static("trailers"));
        Ok(request)
    }

    /// Connects and sends; once more where the connection turns out to have ended before.
    async fn begin(&self, path: &str, message: Bytes) -> Result<Response<Incoming>, CallError> {
        let request = self.request(path, message)?;
        let sender = self.connected().await?;
        match send(sender, &self.address, request.clone()).await {
            Err(CallError::Away(..)) => {
                self.forget().await;
                let sender = self.connected().await?;
                send(sender, &self.address, request).await
            }
            other => other,
        }
    }

    /// One message for one.
    pub async fn call(&self, path: &str, message: Bytes) -> Result<Bytes, CallError> {
        let one = async {
            let response = self.begin(path, message).await?;
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
        match tokio::time::timeout(self.timeout, one).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.forget().await;
                Err(CallError::TimedOut(self.address.clone()))
            }
        }
    }

    /// One message for a stream of them. Only the way there has to be made in time: a server may say nothing at all until it has
    /// something to say.
    pub async fn stream(&self, path: &str, message: Bytes) -> Result<Streamed, CallError> {
        let request = self.request(path, message)?;
        let sender = self.connected().await?;
        let address = self.address.clone();
        let head = async move { send(sender, &address, request).await };
        Ok(Streamed {
            address: self.address.clone(),
            body: Stage::Head(Box::pin(head)),
            buffer: BytesMut::new(),
        })
    }
}

/// Sends a request, and gives the head of its answer.
async fn send(
    mut sender: Sender,
    address: &str,
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, CallError> {
    let response = sender.send_request(request).await;
    let response = response.map_err(|error| {
        let text = error.to_string();
        // The connection had ended before: the call never left.
        if error.is_canceled() {
            CallError::Away(address.to_owned(), text)
        } else {
            CallError::Unreachable(address.to_owned(), text)
        }
    })?;
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

/// How far a stream is.
enum Stage {
    Head(Pin<Box<dyn Future<Output = Result<Response<Incoming>, CallError>> + Send + Sync>>),
    Body(Incoming),
}

/// Messages that come one after the other.
pub struct Streamed {
    address: String,
    body: Stage,
    buffer: BytesMut,
}

impl Streamed {
    /// The next message; nothing when the stream has ended as it should. It may be given up at any time, and nothing is lost.
    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            let body = match &mut self.body {
                Stage::Body(body) => body,
                Stage::Head(head) => {
                    let response = head.as_mut().await?;
                    self.body = Stage::Body(response.into_body());
                    continue;
                }
            };
            if let Some(message) = unframed(&mut self.buffer)? {
                return Ok(Some(message));
            }
            if body.is_end_stream() {
                return Ok(None);
            }
            let Some(frame) = body.frame().await else {
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

//! Sessions of MCP up to 2025-11-25: what a client subscribed to, and a stream by which it is told.
//!
//! They are few, belong to one token, and hold nothing that a call needs: one that ended costs its client notices, and
//! nothing else.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use inbox_core::{Code, Refusal, Token};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::http::events::Events;
use crate::http::gate::{self, one};
use crate::http::route::House;
use crate::mcp::Notices;

/// The header that names a session.
pub(super) const HEADER: &str = "mcp-session-id";

/// The most sessions, and the most of one token.
const MOST: usize = 1024;
const OF_ONE: usize = 32;

/// A session that nobody used or listened to for so long makes room for others.
const IDLE: Duration = Duration::from_mins(5);

/// Something is sent at least so often, so that a dead connection is noticed, and a token that has ended.
const ALIVE: Duration = Duration::from_secs(15);

/// How often a stream looks whether it is to end.
const LOOK: Duration = Duration::from_secs(1);

/// The sessions of a server.
#[derive(Default)]
pub(in crate::http) struct Sessions {
    all: Mutex<HashMap<String, Session>>,
}

struct Session {
    token_id: String,
    notices: Arc<Notices>,
    used: Instant,
    /// Which stream is the newest: an older one ends, so that a notice is sent once.
    stream: u64,
    is_heard: bool,
}

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session; nothing where there is no room, and the client does without.
    pub(super) fn begin(&self, token: &Token) -> Option<HeaderValue> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut all = self.all();
        let of_one = |session: &&Session| session.token_id == token.token_id;
        if all.len() >= MOST || all.values().filter(of_one).count() >= OF_ONE {
            all.retain(|_, session| session.is_heard || session.used.elapsed() < IDLE);
        }
        if all.len() >= MOST || all.values().filter(of_one).count() >= OF_ONE {
            return None;
        }
        all.insert(
            id.clone(),
            Session {
                token_id: token.token_id.clone(),
                notices: Arc::default(),
                used: Instant::now(),
                stream: 0,
                is_heard: false,
            },
        );
        HeaderValue::from_str(&id).ok()
    }

    /// Where the notices of a session of this token wait.
    pub(super) fn find(&self, id: &str, token: &Token) -> Option<Arc<Notices>> {
        let mut all = self.all();
        let session = all.get_mut(id)?;
        (session.token_id == token.token_id).then(|| {
            session.used = Instant::now();
            Arc::clone(&session.notices)
        })
    }

    /// Takes the place of an older stream.
    fn hear(&self, id: &str, token: &Token) -> Option<(u64, Arc<Notices>)> {
        let notices = self.find(id, token)?;
        let mut all = self.all();
        let session = all.get_mut(id)?;
        session.stream += 1;
        session.is_heard = true;
        Some((session.stream, notices))
    }

    fn is_newest(&self, id: &str, stream: u64) -> bool {
        self.all()
            .get(id)
            .is_some_and(|found| found.stream == stream)
    }

    fn leave(&self, id: &str, stream: u64) {
        if let Some(session) = self.all().get_mut(id).filter(|it| it.stream == stream) {
            session.is_heard = false;
            session.used = Instant::now();
        }
    }
}

/// Whether a body begins a session.
pub(super) fn begins(body: &[u8]) -> bool {
    let message = serde_json::from_slice::<Value>(body).ok();
    message.is_some_and(|message| message["method"] == "initialize")
}

fn named(headers: &HeaderMap) -> Result<&str, Refusal> {
    one(headers, &HeaderName::from_static(HEADER))?.ok_or_else(|| {
        Refusal::input("there is no Mcp-Session-Id header")
            .hint("POST initialize to /mcp, and send the Mcp-Session-Id of its answer")
    })
}

fn unknown() -> Refusal {
    Refusal::new(Code::SessionNotFound, "there is no such MCP session here")
        .hint("POST initialize to /mcp begins another")
}

/// Ends a session.
pub(in crate::http) fn end(
    house: &House,
    headers: &HeaderMap,
    token: &Token,
) -> Result<(), Refusal> {
    let id = named(headers)?;
    house.sessions.find(id, token).ok_or_else(unknown)?;
    house.sessions.all().remove(id);
    Ok(())
}

/// Begins to tell of changes, until the client goes, another stream takes this one's place, or the token ends.
pub(in crate::http) fn listen(
    house: &Arc<House>,
    headers: &HeaderMap,
    token: &Token,
) -> Result<Events, Refusal> {
    let takes = one(headers, &header::ACCEPT)?.unwrap_or_default();
    if !["text/event-stream", "text/*", "*/*"]
        .iter()
        .any(|kind| takes.contains(kind))
    {
        return Err(
            Refusal::input("notices come as text/event-stream, which is not accepted")
                .hint("curl -H 'accept: text/event-stream'")
                .detail("http", 406),
        );
    }
    let id = named(headers)?.to_owned();
    let secret = gate::secret(headers)?;
    let (stream, notices) = house.sessions.hear(&id, token).ok_or_else(unknown)?;
    let (send, events) = Events::channel();
    let house = Arc::clone(house);
    tokio::spawn(async move {
        tell(&house, &id, stream, &notices, secret, send).await;
        house.sessions.leave(&id, stream);
    });
    Ok(events)
}

async fn tell(
    house: &House,
    id: &str,
    stream: u64,
    notices: &Notices,
    secret: Option<String>,
    send: mpsc::Sender<Bytes>,
) {
    // At once, so that a client knows that it is heard.
    let mut piece = ": here\n\n".to_owned();
    let mut said = Instant::now();
    loop {
        if !piece.is_empty() {
            if !house.is_open(secret.as_ref()).await {
                return;
            }
            if send.send(std::mem::take(&mut piece).into()).await.is_err() {
                return;
            }
            said = Instant::now();
        }
        tokio::select! {
            () = notices.rang() => {}
            () = send.closed() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        if house.engine.is_stopping() || !house.sessions.is_newest(id, stream) {
            return;
        }
        if said.elapsed() >= ALIVE {
            piece.push_str(": alive\n\n");
        }
        for notice in notices.take() {
            piece.push_str(&format!("event: message\ndata: {notice}\n\n"));
        }
    }
}

//! `/mcp`: MCP over HTTP, each request as the agent of its token.
//!
//! No request needs a session: the newest revision has none, and nothing that a call does is kept for the next, so that a
//! lease is proven by its token or by the `Inbox-Session` that took it. A client of an older revision is given one to be
//! told of changes by, and of nothing else.

mod session;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::Full;
use http_body_util::combinators::BoxBody;
use hyper::body::Bytes;
use hyper::header::HeaderName;
use hyper::http::request::Parts;
use hyper::{Request, Response};
use inbox_core::{Auth, LeaseToken, Refusal, Scope, SessionId, Token};
use inbox_ops::{Caller, Effect};
use inbox_store::bell::PATIENCE;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::watch;

use super::engine::Engine;
use super::gate::one;
use crate::mcp::{self, Desk, Job, Leases, Look, Server, Who};
pub(super) use session::{Sessions, end, listen};

/// What goes out: an answer, or notices and then an answer.
pub(super) type Streamed = BoxBody<Bytes, Infallible>;

/// The server's threads, for MCP.
struct Threads(Arc<Engine>);

impl mcp::Engine for Threads {
    fn run(&self, effect: Effect, job: Job) -> Result<(), Refusal> {
        self.0.submit(effect == Effect::Write, job)
    }

    fn wait(&self, look: Box<dyn Look>) {
        let engine = Arc::clone(&self.0);
        tokio::spawn(async move { until_over(&engine, look).await });
    }

    fn ended(&self, name: &'static str, is_refused: bool, took: Option<Duration>) {
        let micros = took.map(|took| took.as_micros());
        self.0.metrics.ended_by_name(name, is_refused, micros);
    }
}

/// Looks, sleeps until the bell rings for it, and looks again. A look that cannot be had a thread is dropped, and
/// whoever waits is told that it ended.
async fn until_over(engine: &Engine, mut look: Box<dyn Look>) {
    let begun = engine
        .look(move |inbox| {
            let key = look.begin(Ok(inbox));
            Ok((key, look))
        })
        .await;
    let Ok((Some(key), mut look)) = begun else {
        return;
    };
    let mut waiter = engine.waker.register(&key);
    let _counted = engine.metrics.waits();
    loop {
        waiter.rearm();
        let looked = engine
            .look(move |inbox| {
                let is_over = look.look(inbox);
                Ok((is_over, look))
            })
            .await;
        let Ok((is_over, back)) = looked else { return };
        look = back;
        if is_over || !look.is_wanted() {
            return;
        }
        let now = Instant::now();
        let left = look.until().saturating_duration_since(now);
        if left.is_zero() || engine.is_stopping() {
            let last = engine.look(move |inbox| {
                look.give_up(inbox);
                Ok(())
            });
            let _ = last.await;
            return;
        }
        let due = look.wake_at().map(|at| at.saturating_duration_since(now));
        let patience = due.map_or(left, |due| due.min(left)).min(PATIENCE);
        tokio::select! {
            () = waiter.rang() => {}
            () = tokio::time::sleep(patience) => {}
        }
    }
}

/// Answers one request of the token's agent.
pub(super) async fn answer(
    engine: &Arc<Engine>,
    sessions: &Sessions,
    token: &Token,
    parts: Parts,
    body: Bytes,
) -> Result<Response<Streamed>, Refusal> {
    let named = |name: &'static str| one(&parts.headers, &HeaderName::from_static(name));
    // One that is not known any more is no reason to refuse a call, which needs none.
    let notices = named(session::HEADER)?.and_then(|id| sessions.find(id, token));
    let begins = session::begins(&body);
    let caller = Caller {
        agent: Some(token.agent_id.clone()),
        session: named("inbox-session")?
            .map(str::parse::<SessionId>)
            .transpose()?,
        lease: named("inbox-lease")?
            .map(str::parse::<LeaseToken>)
            .transpose()?,
        key: None,
        auth: Auth::Token,
        may_override: token.scopes.contains(&Scope::Override),
        may_write: token.scopes.contains(&Scope::Write),
    };
    let who = Who {
        caller,
        is_clients_session: false,
        is_agent_named: false,
    };
    let desk = Desk::new(Arc::new(Threads(Arc::clone(engine))), who, Leases::none())
        .with_scopes(token.scopes.clone());
    // Nobody says when a client has gone but its connection, and that cancels what it asked for.
    let (_, gone) = watch::channel(false);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Both were compared before anything was routed.
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service = StreamableHttpService::new(
        move || {
            let server = Server::new(desk.clone(), gone.clone());
            Ok(server.with_notices(notices.clone()))
        },
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let mut answered = service
        .handle(Request::from_parts(parts, Full::new(body)))
        .await;
    if begins
        && answered.status().is_success()
        && let Some(id) = sessions.begin(token)
    {
        let name = HeaderName::from_static(session::HEADER);
        answered.headers_mut().insert(name, id);
    }
    Ok(answered)
}

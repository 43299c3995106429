//! What a path leads to.

use std::sync::Arc;
use std::time::Instant;

use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use inbox_core::sabotage::planted;
use inbox_core::{AgentName, Auth, Code, LeaseToken, Refusal, Scope, SessionId, Token};
use inbox_ops::{Caller, Effect, Identity};

use super::console::{self, Asking, Live};
use super::doors::Doors;
use super::engine::Engine;
use super::events::{self, Events};
use super::gate::{self, Gate, one};
use super::mcp;
use super::table::{self, Entry, Reply, Table};
use super::{metrics::Metrics, openapi};

/// The largest body that is read: that of a message, and what goes with it.
const BODY: usize = (1024 + 64) * 1024;

/// Of a larger one so much is read and dropped.
const DROPPED: usize = 16 * BODY;

/// What goes out: a text, events without end, or what MCP says.
pub(super) type Body = Either<Full<Bytes>, Either<Events, mcp::Streamed>>;

/// Everything that a request needs.
pub(super) struct House {
    pub(super) gate: Gate,
    pub(super) table: Table,
    pub(super) doors: Doors,
    pub(super) engine: Arc<Engine>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) sessions: mcp::Sessions,
    pub(super) live: Live,
    pub(super) asking: Asking,
    pub(super) port: u16,
    pub(super) is_tls: bool,
    pub(super) version: String,
}

impl House {
    /// Answers one request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let uri_host = request.uri().authority().map(|named| named.as_str());
        let (method, version) = (request.method(), request.version());
        let is_console = console::is_here(request.uri().path());
        if let Err(refusal) =
            self.gate
                .admits(method, version, uri_host, request.headers(), is_console)
        {
            self.metrics.turned_away();
            return refused(&refusal);
        }
        let is_get = method == Method::GET;
        match request.uri().path() {
            "/health" if is_get => {
                let body = serde_json::json!({ "ok": true, "version": self.version });
                plain("application/json", format!("{body}\n"))
            }
            "/openapi.json" if is_get => plain(
                "application/json",
                openapi::page(&self.table, &self.version),
            ),
            "/metrics" if is_get => match self.enter(request.headers(), Scope::Read).await {
                Ok(_) => {
                    let page = self.metrics.page(&self.table);
                    plain("text/plain; version=0.0.4; charset=utf-8", page)
                }
                Err(refusal) => refused(&refusal),
            },
            "/v1/token" if is_get => match self.shown(request.headers()).await {
                Ok(page) => plain("application/json", page),
                Err(refusal) => refused(&refusal),
            },
            "/v1/events" if is_get => match self.follow(&request).await {
                Ok(events) => events::response(events),
                Err(refusal) => refused(&refusal),
            },
            "/mcp" if is_get || method == Method::DELETE => self.mcp_session(&request).await,
            "/mcp" => match self.mcp(request).await {
                Ok(response) => response.map(|body| Either::Right(Either::Right(body))),
                Err(refusal) => refused(&refusal),
            },
            _ if is_console => self.console(request).await,
            path => match path.strip_prefix("/v1/").map(str::to_owned) {
                Some(name) if method == Method::POST => self.operate(&name, request).await,
                Some(_) => refused(
                    &Refusal::input(format!("{method} {path} is not how an operation is called"))
                        .hint("POST its fields as a JSON object")
                        .detail("http", 405),
                ),
                None => refused(
                    &Refusal::input(format!("there is nothing at {path:?}"))
                        .hint("GET /openapi.json says what there is")
                        .detail("http", 404),
                ),
            },
        }
    }

    async fn operate(self: Arc<Self>, name: &str, request: Request<Incoming>) -> Response<Body> {
        let Some(entry) = self.table.find(name) else {
            return refused(&table::unknown(name).detail("http", 404));
        };
        let begun = Instant::now();
        let reply = self.run(entry, request).await;
        let place = self.table.place(entry);
        let micros = (entry.effect != Effect::Wait).then(|| begun.elapsed().as_micros());
        self.metrics.ended(place, reply.is_err(), micros);
        match reply {
            Ok(body) => text("application/json", StatusCode::OK, body),
            Err(refusal) => refused(&refusal),
        }
    }

    async fn run(&self, entry: &Entry, request: Request<Incoming>) -> Reply {
        let (parts, body) = request.into_parts();
        // Nothing of a stranger's is read.
        let token = self.enter(&parts.headers, entry.scope).await?;
        let caller = caller(&parts.headers, &token, entry)?;
        let body = whole(body).await?;
        if let Some(wait) = entry.wait {
            let reply = wait(Arc::clone(&self.engine), caller, &body)?.await;
            // Much can happen during a wait: a token that has ended is told nothing more.
            self.enter(&parts.headers, entry.scope).await?;
            return reply;
        }
        let ready = (entry.read)(&body)?;
        let reply = match entry.effect {
            Effect::Write if entry.is_long => self.engine.write_beside(ready, caller).await,
            Effect::Write => self.engine.write(ready, caller).await,
            Effect::Read | Effect::Wait => self.engine.read(ready, caller).await,
        };
        if entry.scope == Scope::Admin {
            self.doors.forget();
        }
        reply
    }

    async fn mcp(&self, request: Request<Incoming>) -> Result<Response<mcp::Streamed>, Refusal> {
        let (parts, body) = request.into_parts();
        let token = self.enter(&parts.headers, Scope::Read).await?;
        let body = whole(body).await?;
        let mut response = mcp::answer(&self.engine, &self.sessions, &token, parts, body).await?;
        for (name, value) in super::SAFE {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }

    /// What is told without being asked for, and the end of that.
    async fn mcp_session(self: &Arc<Self>, request: &Request<Incoming>) -> Response<Body> {
        let headers = request.headers();
        let answered = match self.enter(headers, Scope::Read).await {
            Err(refusal) => Err(refusal),
            Ok(token) if request.method() == Method::GET => {
                mcp::listen(self, headers, &token).map(events::response)
            }
            Ok(token) => mcp::end(self, headers, &token)
                .map(|()| text("application/json", StatusCode::NO_CONTENT, Vec::new())),
        };
        answered.unwrap_or_else(|refusal| refused(&refusal))
    }

    /// Whether a secret still opens this.
    pub(super) async fn is_open(&self, secret: Option<&String>) -> bool {
        self.doors.open(&self.engine, secret.cloned()).await.is_ok()
    }

    async fn follow(self: &Arc<Self>, request: &Request<Incoming>) -> Result<Events, Refusal> {
        let token = self.enter(request.headers(), Scope::Read).await?;
        let watch = self
            .table
            .find("watch")
            .ok_or_else(|| table::unknown("watch"))?;
        let caller = caller(request.headers(), &token, watch)?;
        events::follow(self, request, caller)
    }

    /// The token that came with a request, for whoever has it: it needs no scope to be looked at.
    async fn shown(&self, headers: &HeaderMap) -> Result<String, Refusal> {
        let token = self
            .doors
            .open(&self.engine, gate::secret(headers)?)
            .await?;
        crate::envelope::answer("token", &serde_json::json!({ "token": token }))
    }

    async fn enter(&self, headers: &HeaderMap, scope: Scope) -> Result<Token, Refusal> {
        let secret = gate::secret(headers)?;
        let token = self.doors.open(&self.engine, secret).await?;
        if inbox_ops::console::is_session(&token) {
            return Err(Refusal::new(
                Code::Unauthorized,
                "a session of the console opens the console alone",
            )
            .hint("inbox token create --agent NAME makes a token for a program"));
        }
        if !token.scopes.contains(&scope) {
            return Err(Refusal::new(
                Code::NotAllowed,
                format!("the token {} does not allow {scope}", token.token_id),
            )
            .hint(format!(
                "inbox token create --agent {} --scope {scope}, where the server runs",
                token.agent_id
            )));
        }
        Ok(token)
    }
}

/// Who calls: the token's agent, whatever else the request says. What only looks, and does more for a known agent, does so
/// for who asks for it, as on the command line.
fn caller(headers: &HeaderMap, token: &Token, entry: &Entry) -> Result<Caller, Refusal> {
    let named = |name: &'static str| one(headers, &HeaderName::from_static(name));
    let asked = named("inbox-agent")?;
    let believed = asked.filter(|_| planted("sender_by_header"));
    let believed = believed.map(str::parse::<AgentName>).transpose()?;
    if let Some(agent) = asked
        && agent != token.agent_id.as_str()
        && believed.is_none()
    {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!(
                "this token calls as {}, and not as {agent:?}",
                token.agent_id
            ),
        )
        .hint("leave the agent out, or use a token of that agent"));
    }
    let session = named("inbox-session")?.map(str::parse::<SessionId>);
    // Whoever names a session is asked whether it is theirs.
    let is_named = asked.is_some() || session.is_some();
    let is_known = match entry.identity {
        Identity::Required => true,
        Identity::Optional => entry.effect == Effect::Write || is_named,
        Identity::Ignored => false,
    };
    let lease = named("inbox-lease")?.map(str::parse::<LeaseToken>);
    let key = named("idempotency-key")?;
    // Where nobody is asked for, a session would be the only name there is, and it may be another's.
    let is_asked_for = entry.identity != Identity::Ignored;
    Ok(Caller {
        agent: is_known.then(|| believed.unwrap_or_else(|| token.agent_id.clone())),
        session: session.transpose()?.filter(|_| is_asked_for),
        lease: lease.transpose()?.filter(|_| is_asked_for),
        key: key.map(str::parse).transpose()?,
        auth: Auth::Token,
        may_override: token.scopes.contains(&Scope::Override),
        may_write: token.scopes.contains(&Scope::Write),
    })
}

/// The whole body. One that is too large is read on for a while and dropped: a client that is not done with sending does not
/// read the answer.
pub(super) async fn whole(mut body: Incoming) -> Result<Bytes, Refusal> {
    let read = async {
        let (mut kept, mut size) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame
                .map_err(|error| Refusal::input(format!("the body cannot be read: {error}")))?;
            let Some(data) = frame.data_ref() else {
                continue;
            };
            size += data.len();
            if size > DROPPED {
                break;
            }
            if size <= BODY {
                kept.extend_from_slice(data);
            }
        }
        if size > BODY {
            return Err(Refusal::new(
                Code::TooLarge,
                format!("the body has more than {BODY} bytes"),
            ));
        }
        Ok(Bytes::from(kept))
    };
    tokio::time::timeout(super::READ_WITHIN, read)
        .await
        .unwrap_or_else(
            |_| Err(Refusal::input("the body did not come in time").detail("http", 408)),
        )
}

/// A refusal, with the status of its code or a more exact one.
pub(super) fn refused(refusal: &Refusal) -> Response<Body> {
    let mut refusal = refusal.clone();
    let exact = refusal
        .details
        .shift_remove("http")
        .and_then(|it| it.as_u64());
    let status = exact
        .and_then(|status| u16::try_from(status).ok())
        .unwrap_or(refusal.code.http());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    text("application/json", status, table::refused(&refusal))
}

fn plain(kind: &'static str, page: String) -> Response<Body> {
    text(kind, StatusCode::OK, page.into_bytes())
}

pub(super) fn text(kind: &'static str, status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in super::SAFE {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

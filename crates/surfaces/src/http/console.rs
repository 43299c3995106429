//! The console over HTTP: who is let in, what a form may do, and the pages themselves.
//!
//! A link that opens once leaves a session in a cookie that no script and no other site can use. A form must send back a word that
//! only this session's pages have.

mod card;
mod ledger;
mod live;

use std::sync::Arc;

use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use inbox_core::{Auth, Code, Refusal, Token};
use inbox_ops::{Caller, Inbox};
use sha2::{Digest, Sha256};

use super::events;
use super::gate::one;
use super::peer::Peer;
use super::route::{Body, House, text, whole};
use crate::console::{self, Fields, Shown, Visit};

pub(super) use ledger::Asking;
pub(super) use live::Live;

/// What a page may load and do: its own style, script, pictures and forms, and nothing of another's.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
     form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// How long a browser keeps the cookie, in seconds: as long as the session lasts.
const KEPT: u32 = 12 * 3600;

/// The first parts of the console's paths.
const PLACES: [&str; 15] = [
    "", "agents", "threads", "channels", "compose", "flow", "dead", "ledger", "store", "read",
    "in", "out", "live", "assets", "proof",
];

/// Whether a path is the console's.
pub(super) fn is_here(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    first.is_some_and(|first| PLACES.contains(&first))
}

/// A person with a session.
#[derive(Clone)]
struct Guest {
    secret: String,
    token: Token,
}

impl Guest {
    fn caller(&self) -> Caller {
        Caller {
            agent: Some(self.token.agent_id.clone()),
            session: None,
            lease: None,
            key: None,
            auth: Auth::Token,
            may_override: true,
            may_write: true,
        }
    }

    /// What a form of this session has to send back.
    fn guard(&self) -> String {
        let digest = Sha256::digest(format!("guard of {}", self.secret));
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Where a page is: its path in parts, and its query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// As it was asked for.
    at: String,
    path: Vec<String>,
    fields: Fields,
}

impl Place {
    fn read(at: &str) -> Result<Self, Refusal> {
        let (path, query) = at.split_once('?').unwrap_or((at, ""));
        let wrong =
            || Refusal::input("the path is not encoded as addresses are").detail("http", 404);
        let parts = path.split('/').filter(|part| !part.is_empty());
        Ok(Place {
            at: at.to_owned(),
            path: parts
                .map(|part| console::decoded(part).ok_or_else(wrong))
                .collect::<Result<_, _>>()?,
            fields: Fields::read(query)?,
        })
    }
}

fn visited<T>(
    inbox: &Inbox,
    guest: &Guest,
    place: &Place,
    see: impl FnOnce(&Visit<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    see(&Visit {
        inbox,
        caller: &guest.caller(),
        path: &place.path,
        fields: &place.fields,
        guard: &guest.guard(),
        now: inbox.now()?,
    })
}

impl House {
    /// Answers a request to the console.
    pub(super) async fn console(self: Arc<Self>, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let is_get = request.method() == Method::GET;
        let answered = match path.trim_start_matches('/').split_once('/') {
            Some(("assets", name)) if is_get => Ok(asset(name)),
            Some(("in", code)) if is_get => {
                let peer = request.extensions().get::<Peer>().copied();
                self.come_in(code.to_owned(), peer).await
            }
            place => match self.guest(request.headers()).await {
                Err(refusal) => outside(&refusal),
                Ok(guest) if is_get && matches!(place, Some(("proof", _))) => {
                    let message = place.map_or("", |(_, message)| message);
                    match self.proof(message).await {
                        Ok(file) => Ok(file),
                        Err(refusal) => self.sorry(guest, refusal).await,
                    }
                }
                Ok(guest) if is_get && path == "/live" => self.follow_page(&request, guest),
                Ok(guest) if is_get => self.page(&request, guest).await,
                Ok(guest) => self.form(request, guest).await,
            },
        };
        answered.unwrap_or_else(|refusal| super::route::refused(&refusal))
    }

    /// The name of the cookie: browsers tell servers on one host apart by nothing else.
    fn cookie(&self) -> String {
        format!("inbox_{}", self.port)
    }

    async fn guest(&self, headers: &HeaderMap) -> Result<Guest, Refusal> {
        let wanted = self.cookie();
        let cookies = one(headers, &header::COOKIE)?.unwrap_or_default();
        let secret = cookies.split(';').find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == wanted).then(|| value.to_owned())
        });
        let Some(secret) = secret else {
            return Err(Refusal::new(
                Code::Unauthorized,
                "This console is for who has a link to it.",
            ));
        };
        self.engine
            .look(move |inbox| {
                let token = inbox.in_console(&secret)?;
                Ok(Guest { secret, token })
            })
            .await
            .map_err(|_| Refusal::new(Code::Unauthorized, "Your session has ended."))
    }

    async fn come_in(&self, code: String, peer: Option<Peer>) -> Result<Response<Body>, Refusal> {
        let port = self.port;
        let opened = self.engine.change(move |inbox| {
            let is_own = peer.is_some_and(|peer| peer.is_own(port));
            inbox.come_in(&code, is_own)
        });
        let opened = opened.await;
        let Ok((secret, _)) = opened else {
            let spent = "This link was opened before, or is older than five minutes.";
            return outside(&Refusal::new(Code::Unauthorized, spent));
        };
        let secure = if self.is_tls { "; Secure" } else { "" };
        let cookie = format!(
            "{}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={KEPT}{secure}",
            self.cookie()
        );
        let mut response = redirect("/")?;
        let cookie = HeaderValue::from_str(&cookie)
            .map_err(|_| Refusal::new(Code::Internal, "a cookie cannot be written"))?;
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        Ok(response)
    }

    async fn page(
        &self,
        request: &Request<Incoming>,
        guest: Guest,
    ) -> Result<Response<Body>, Refusal> {
        let at = request.uri().path_and_query();
        let place = Place::read(at.map_or("/", |at| at.as_str()))?;
        let page = self
            .engine
            .look(move |inbox| {
                visited(inbox, &guest, &place, |visit| match console::show(visit) {
                    Ok(shown) => {
                        let is_live = console::is_live(&place.path);
                        let at = if is_live { place.at.as_str() } else { "" };
                        Ok((StatusCode::OK, console::frame(visit, &shown, at)?))
                    }
                    Err(refusal) => broken(visit, &refusal),
                })
            })
            .await;
        let (status, page) = page?;
        Ok(html(status, page))
    }

    /// A page that says why something was not done.
    async fn sorry(&self, guest: Guest, refusal: Refusal) -> Result<Response<Body>, Refusal> {
        let place = Place::read("/")?;
        let page = self
            .engine
            .look(move |inbox| visited(inbox, &guest, &place, |visit| broken(visit, &refusal)))
            .await;
        let (status, page) = page?;
        Ok(html(status, page))
    }

    async fn form(
        self: &Arc<Self>,
        request: Request<Incoming>,
        guest: Guest,
    ) -> Result<Response<Body>, Refusal> {
        let (parts, body) = request.into_parts();
        if parts.method != Method::POST || !is_form(&parts.headers) {
            return Err(
                Refusal::input("a page's form is sent by POST, as a form").detail("http", 405)
            );
        }
        let mut place = Place::read(parts.uri.path())?;
        let body = whole(body).await?;
        let body =
            std::str::from_utf8(&body).map_err(|_| Refusal::input("the form is not text"))?;
        place.fields = Fields::read(body)?;
        if !is_same(
            place.fields.get("guard").unwrap_or_default(),
            &guest.guard(),
        ) {
            return Err(Refusal::new(
                Code::NotAllowed,
                "this form is not from a page of this session",
            )
            .hint("load the page again, and send the form from there"));
        }
        if place.path == ["out"] {
            return self.go_out(guest).await;
        }
        if matches!(place.path.get(2), Some(part) if part == "card") {
            return self.card(guest, place).await;
        }
        if place.path == ["ledger", "verify"] {
            return match self.compare_ledger().await {
                Ok(next) => Ok(next),
                Err(refusal) => self.sorry(guest, refusal).await,
            };
        }
        let done = self
            .engine
            .change(move |inbox| {
                visited(inbox, &guest, &place, |visit| match console::act(visit) {
                    Ok(next) => Ok(Ok(next)),
                    Err(refusal) => broken(visit, &refusal).map(Err),
                })
            })
            .await?;
        match done {
            Ok(next) => redirect(&next),
            Err((status, page)) => Ok(html(status, page)),
        }
    }

    async fn go_out(&self, guest: Guest) -> Result<Response<Body>, Refusal> {
        self.engine
            .change(move |inbox| inbox.go_out(&guest.token))
            .await?;
        self.doors.forget();
        let mut response = outside(&Refusal::new(Code::Unauthorized, "You are signed out."))?;
        *response.status_mut() = StatusCode::OK;
        let gone = format!(
            "{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
            self.cookie()
        );
        if let Ok(gone) = HeaderValue::from_str(&gone) {
            response.headers_mut().insert(header::SET_COOKIE, gone);
        }
        Ok(response)
    }

    fn follow_page(
        self: &Arc<Self>,
        request: &Request<Incoming>,
        guest: Guest,
    ) -> Result<Response<Body>, Refusal> {
        let asked = Fields::read(request.uri().query().unwrap_or_default())?;
        let place = Place::read(asked.get("at").unwrap_or("/"))?;
        Ok(events::response(live::follow(self, guest, place)))
    }
}

/// A page that says what went wrong, and the status that goes with it.
fn broken(visit: &Visit<'_>, refusal: &Refusal) -> Result<(StatusCode, String), Refusal> {
    let exact = refusal
        .details
        .get("http")
        .and_then(serde_json::Value::as_u64);
    let status = exact
        .and_then(|status| u16::try_from(status).ok())
        .unwrap_or(refusal.code.http());
    let shown = Shown {
        title: "That did not work".to_owned(),
        main: console::refused(refusal)?,
        asks: 0,
        unread: 0,
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    // Nothing keeps a refusal live.
    Ok((status, console::frame(visit, &shown, "")?))
}

fn outside(refusal: &Refusal) -> Result<Response<Body>, Refusal> {
    let page = console::outside(&refusal.message)?;
    Ok(html(StatusCode::UNAUTHORIZED, page))
}

fn html(status: StatusCode, page: String) -> Response<Body> {
    let mut response = text("text/html; charset=utf-8", status, page.into_bytes());
    allow_page(response.headers_mut());
    response
}

fn allow_page(headers: &mut HeaderMap) {
    let policy = HeaderValue::from_static(POLICY);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    // Without any, a browser would not say where a form is from.
    let referrer = HeaderValue::from_static("same-origin");
    headers.insert(header::REFERRER_POLICY, referrer);
}

fn redirect(to: &str) -> Result<Response<Body>, Refusal> {
    let mut response = text(
        "text/plain; charset=utf-8",
        StatusCode::SEE_OTHER,
        Vec::new(),
    );
    let to = HeaderValue::from_str(to)
        .map_err(|_| Refusal::input("there is no way to go on from here"))?;
    response.headers_mut().insert(header::LOCATION, to);
    allow_page(response.headers_mut());
    Ok(response)
}

fn asset(name: &str) -> Response<Body> {
    let Some((kind, content)) = console::asset(name) else {
        let none = Refusal::input("there is no such file").detail("http", 404);
        return super::route::refused(&none);
    };
    let bytes = Bytes::from_static(content.as_bytes());
    let mut response = text(kind, StatusCode::OK, bytes.to_vec());
    // The version is in the address, so that a new one is loaded.
    let kept = HeaderValue::from_static("max-age=86400, immutable");
    response.headers_mut().insert(header::CACHE_CONTROL, kept);
    response
}

fn is_form(headers: &HeaderMap) -> bool {
    let kind = one(headers, &header::CONTENT_TYPE).ok().flatten();
    let essence = kind.and_then(|kind| kind.split(';').next());
    essence.is_some_and(|kind| {
        kind.trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    })
}

/// Whether two words are the same, without telling by the time it takes how far they are.
fn is_same(given: &str, wanted: &str) -> bool {
    given.len() == wanted.len()
        && given
            .bytes()
            .zip(wanted.bytes())
            .fold(0, |differs, (a, b)| differs | (a ^ b))
            == 0
}

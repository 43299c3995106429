//! The operations of a server, called as if its store were here.

#[cfg(test)]
mod properties;

use std::time::Duration;

use inbox_core::{Code, Refusal, Token};
use inbox_ops::{Answer, Caller, Operation};
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

/// How long a server may take to answer what does not wait.
const ANSWER_WITHIN: Duration = Duration::from_secs(45);

/// The largest answer that is read: an export of a large store is one.
const ANSWER: u64 = 1 << 30;

/// A page of a server's own, as it came.
pub(crate) struct Looked {
    pub(crate) status: u16,
    /// When the server says that it answered.
    pub(crate) date: Option<String>,
    pub(crate) body: String,
}

/// What `/v1/token` says.
#[derive(Deserialize)]
struct Shown {
    token: Token,
}

/// The longest page of that kind.
const PAGE: u64 = 64 * 1024;

/// What lets a token go to another machine without TLS: on a network that is secured by other means.
const PLAIN: &str = "INBOX_ALLOW_PLAIN_HTTP";

/// Whether a server is on this machine.
pub(crate) fn is_here(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let is_port = |(_, port): &(&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    let host = match host.rsplit_once(':').filter(is_port) {
        // The last part of an address in brackets is no port.
        Some((before, _)) if !host.starts_with('[') || before.ends_with(']') => before,
        _ => host,
    };
    let address = host.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    host.eq_ignore_ascii_case("localhost") || address.unwrap_or(host).parse().is_ok_and(is_loopback)
}

/// A server, and what opens it.
pub struct Far {
    agent: ureq::Agent,
    url: String,
    secret: String,
}

impl Far {
    /// The server at a URL. `authority` is a certificate in PEM to trust beside the system's.
    pub fn new(url: &str, secret: String, authority: Option<&[u8]>) -> Result<Far, Refusal> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let rest = rest.trim_end_matches('/');
        let scheme = scheme.to_ascii_lowercase();
        let url = format!("{scheme}://{rest}");
        if rest.is_empty() || rest.contains(['@', '?', '#', '/']) {
            return Err(Refusal::input(
                "a server's URL is a scheme, a host and a port, and nothing else",
            )
            .hint("inbox --db https://HOST:PORT; the token is in INBOX_TOKEN or a file"));
        }
        if url.parse::<hyper::Uri>().is_err() {
            return Err(Refusal::input(format!("{url:?} is no URL"))
                .hint("inbox --db https://HOST:PORT names a server"));
        }
        // Whoever is between here and there would read the token, and be its agent from then on.
        if scheme != "https" && !is_here(&url) && std::env::var_os(PLAIN).is_none() {
            return Err(Refusal::new(
                Code::NotAllowed,
                format!("{url} has no TLS, and a token and mail would be read on the way"),
            )
            .hint(format!(
                "inbox --db https://HOST:PORT, with inbox serve --tls-cert FILE --tls-key FILE there; {PLAIN}=1 takes the risk"
            )));
        }
        let mut config = ureq::Agent::config_builder()
            // A refusal has a body, which says more than its status.
            .http_status_as_error(false)
            // A token goes to the server that was named, and nowhere else.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None);
        if url.starts_with("https:") {
            config = config.tls_config(tls(authority)?);
        }
        Ok(Far {
            agent: config.build().new_agent(),
            url,
            secret,
        })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Gets a page, with the token if there is one.
    pub(crate) fn look(&self, path: &str) -> Result<Looked, Refusal> {
        let mut request = self
            .agent
            .get(format!("{}{path}", self.url))
            .config()
            .timeout_global(Some(ANSWER_WITHIN))
            .build();
        if !self.secret.is_empty() {
            request = request.header("authorization", format!("Bearer {}", self.secret));
        }
        let answered = request.call().map_err(|error| self.away(&error))?;
        let date = answered.headers().get("date");
        let date = date.and_then(|date| date.to_str().ok()).map(str::to_owned);
        let status = answered.status().as_u16();
        let body = answered.into_body().into_with_config().limit(PAGE);
        let body = body.read_to_string().map_err(|error| self.away(&error))?;
        Ok(Looked { status, date, body })
    }

    /// What a page is that is not what was asked for: the server's own refusal, or another program's page.
    pub(crate) fn strange(&self, looked: &Looked) -> Refusal {
        refusal(&looked.body).unwrap_or_else(|| self.not_ours(looked.status))
    }

    /// Calls an operation.
    pub fn call<O: Operation>(&self, request: &O, caller: &Caller) -> Result<O::Answer, Refusal> {
        // As text: a value would forget how a number was written.
        let body = serde_json::to_string(request).map_err(crate::envelope::internal)?;
        self.call_with(request, body, caller, ANSWER_WITHIN)
    }

    /// Calls an operation by its name and its fields.
    pub fn call_by_name(
        &self,
        name: &str,
        body: String,
        caller: &Caller,
    ) -> Result<String, Refusal> {
        self.post(&name.replace(' ', "-"), body, caller, ANSWER_WITHIN)
    }

    /// Calls an operation by its fields, and waits so long for the answer.
    pub(crate) fn call_with<O: Operation>(
        &self,
        request: &O,
        body: String,
        caller: &Caller,
        within: Duration,
    ) -> Result<O::Answer, Refusal> {
        let answer = self.post(&O::NAME.replace(' ', "-"), body, caller, within)?;
        answered::<O>(&self.url, &answer).map(|answer| request.completed(answer))
    }

    /// Calls an operation that the server lets wait for so long.
    pub(crate) fn call_waiting<O: Operation>(
        &self,
        request: &O,
        body: String,
        caller: &Caller,
        patience: Duration,
    ) -> Result<O::Answer, Refusal> {
        self.call_with(request, body, caller, patience + ANSWER_WITHIN)
    }

    /// The token that opens the server, as the server knows it.
    pub(crate) fn token(&self) -> Result<Token, Refusal> {
        let looked = self.look("/v1/token")?;
        let shown = serde_json::from_str::<Shown>(&looked.body);
        match shown.ok().filter(|_| looked.status == 200) {
            Some(shown) => Ok(shown.token),
            None => Err(self.strange(&looked)),
        }
    }

    fn post(
        &self,
        path: &str,
        body: String,
        caller: &Caller,
        within: Duration,
    ) -> Result<String, Refusal> {
        let mut request = self
            .agent
            .post(format!("{}/v1/{path}", self.url))
            .config()
            .timeout_global(Some(within))
            .build()
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", self.secret));
        let session = caller.session.as_ref().map(ToString::to_string);
        let lease = caller.lease.as_ref().map(ToString::to_string);
        let key = caller.key.as_ref().map(ToString::to_string);
        let agent = caller.agent.as_ref().map(ToString::to_string);
        for (name, value) in [
            ("inbox-agent", agent),
            ("inbox-session", session),
            ("inbox-lease", lease),
            ("idempotency-key", key),
        ] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let answered = request.send(body).map_err(|error| self.away(&error))?;
        let is_ours = answered
            .headers()
            .get("content-type")
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
        let status = answered.status();
        let text = answered
            .into_body()
            .into_with_config()
            .limit(ANSWER)
            .read_to_string()
            .map_err(|error| self.away(&error))?;
        if status.is_success() && is_ours {
            return Ok(text);
        }
        Err(refusal(&text).unwrap_or_else(|| self.not_ours(status.as_u16())))
    }

    fn not_ours(&self, status: u16) -> Refusal {
        Refusal::new(
            Code::Storage,
            format!(
                "{} answered {status}, and not as an inbox server does",
                self.url
            ),
        )
        .hint("inbox --db https://HOST:PORT names a server that inbox serve runs")
    }

    fn away(&self, error: &ureq::Error) -> Refusal {
        let told = error.to_string();
        let hint = if told.contains("certificate") {
            "export INBOX_CA_FILE=PATH trusts the authority in that file, too; the certificate must be for the name in --db"
        } else if told.contains("InvalidContentType") {
            "inbox --db http://HOST:PORT, when the server has no TLS"
        } else if matches!(error, ureq::Error::Protocol(_)) {
            "inbox --db https://HOST:PORT, when the server has TLS"
        } else {
            "inbox serve runs it; send the command again with the same --key"
        };
        let problem = format!("cannot reach the server at {}: {told}", self.url);
        Refusal::new(Code::Storage, problem).hint(hint)
    }
}

/// What every answer begins with.
#[derive(Deserialize)]
struct Envelope {
    ok: bool,
    command: Option<String>,
}

/// The answer in a text: only one that says that it is a success, and of this very operation. An empty list of another is none.
fn answered<O: Operation>(url: &str, text: &str) -> Result<O::Answer, Refusal> {
    let strange = |error: &dyn std::fmt::Display| {
        Refusal::new(
            Code::Internal,
            format!("{url} answered what this program does not understand: {error}"),
        )
        .hint("inbox --version; the server and the client should be of one version")
    };
    let said: Envelope = serde_json::from_str(text).map_err(|error| strange(&error))?;
    if !said.ok || said.command.as_deref() != Some(O::NAME) {
        let other = format!("it is no answer to {}", O::NAME);
        return Err(refusal(text).unwrap_or_else(|| strange(&other)));
    }
    serde_json::from_str(text).map_err(|error| strange(&error))
}

/// The refusal in an answer, if it has one.
fn refusal(answer: &str) -> Option<Refusal> {
    let mut answer = serde_json::from_str::<Value>(answer).ok()?;
    serde_json::from_value(answer.get_mut("error")?.take()).ok()
}

pub(crate) fn tls(authority: Option<&[u8]>) -> Result<TlsConfig, Refusal> {
    use rustls::pki_types::pem::PemObject;
    let mut roots: Vec<Certificate<'static>> = Vec::new();
    let found = rustls_native_certs::load_native_certs();
    for der in found.certs {
        roots.push(Certificate::from_der(der.as_ref()).to_owned());
    }
    if let Some(pem) = authority {
        for der in CertificateDer::pem_slice_iter(pem) {
            let der = der.map_err(|error| {
                Refusal::input(format!(
                    "the authority's certificate cannot be read: {error}"
                ))
            })?;
            roots.push(Certificate::from_der(der.as_ref()).to_owned());
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::new_with_certs(&roots))
        .build())
}

/// What an answer says about where to go on.
pub(crate) fn cursor<A: Answer>(answer: &A) -> Option<Value> {
    let value = serde_json::to_value(answer).ok()?;
    value.get("next_event_id").cloned()
}

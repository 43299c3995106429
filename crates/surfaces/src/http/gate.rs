//! Who may come in: every request passes here before it is routed, and before its body is read.
//!
//! A web page can make a browser send requests to this machine. It cannot choose their Host and Origin, so both are compared
//! exactly, and neither by prefix nor by pattern.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Version};
use inbox_core::{Code, Refusal};

/// Whom the server takes itself for.
pub(super) struct Gate {
    /// Hosts with ports, in lower case, as clients name this server.
    hosts: Vec<String>,
    scheme: &'static str,
}

impl Gate {
    /// A server at this port, which is also known by these names.
    pub(super) fn new(port: u16, names: &[String], is_tls: bool) -> Self {
        let (scheme, usual) = if is_tls { ("https", 443) } else { ("http", 80) };
        let mut hosts = Vec::new();
        let own = ["127.0.0.1", "localhost", "[::1]"];
        for name in own.into_iter().chain(names.iter().map(String::as_str)) {
            let name = name.to_ascii_lowercase();
            let has_port = name.rsplit_once(':').is_some_and(|(host, port)| {
                !port.is_empty()
                    && port.bytes().all(|byte| byte.is_ascii_digit())
                    && (!host.contains(':') || host.ends_with(']'))
            });
            if has_port {
                hosts.push(name);
                continue;
            }
            if port == usual {
                hosts.push(name.clone());
            }
            hosts.push(format!("{name}:{port}"));
        }
        Gate { hosts, scheme }
    }

    /// Whether a request is meant for this server, and comes from nobody else's page. Only pages send forms; programs send JSON.
    pub(super) fn admits(
        &self,
        method: &Method,
        version: Version,
        uri_host: Option<&str>,
        headers: &HeaderMap,
        has_forms: bool,
    ) -> Result<(), Refusal> {
        if version != Version::HTTP_11 {
            return Err(foreign("only HTTP/1.1 is spoken here"));
        }
        let host =
            one(headers, &header::HOST)?.ok_or_else(|| foreign("there is no Host header"))?;
        if !self.knows(host) {
            return Err(foreign("the Host header names another server"));
        }
        // A request line may name a host of its own, and then that one counts.
        if uri_host.is_some_and(|named| !self.knows(named)) {
            return Err(foreign("the request line names another server"));
        }
        if let Some(origin) = one(headers, &header::ORIGIN)? {
            let own = origin
                .strip_prefix(self.scheme)
                .and_then(|rest| rest.strip_prefix("://"));
            if !own.is_some_and(|host| self.knows(host)) {
                return Err(foreign("the Origin header names another page"));
            }
        }
        let site = one(headers, &HeaderName::from_static("sec-fetch-site"))?;
        if !matches!(site, None | Some("same-origin" | "none")) {
            return Err(foreign("another site's page sent this"));
        }
        if method == Method::POST && !has_forms && !is_json(headers) {
            return Err(Refusal::input("the content type is not application/json")
                .hint("curl -H 'content-type: application/json'")
                .detail("http", 415));
        }
        Ok(())
    }

    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host)
    }
}

fn foreign(why: &str) -> Refusal {
    Refusal::new(Code::NotAllowed, why)
        .hint("inbox serve --allow-host NAME lets clients call this server by another name")
}

/// The value of a header that may be there once.
pub(super) fn one<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Refusal> {
    let mut found = headers.get_all(name).iter();
    let (first, second) = (found.next(), found.next());
    if second.is_some() {
        return Err(Refusal::input(format!("the header {name} is there twice")));
    }
    let text = |value: &'a HeaderValue| {
        value
            .to_str()
            .map_err(|_| Refusal::input(format!("the header {name} is not plain text")))
    };
    first.map(text).transpose()
}

fn is_json(headers: &HeaderMap) -> bool {
    let Ok(Some(kind)) = one(headers, &header::CONTENT_TYPE) else {
        return false;
    };
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

/// The secret that came with a request.
pub(super) fn secret(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = one(headers, &header::AUTHORIZATION)? else {
        return Ok(None);
    };
    let (scheme, secret) = value.split_once(' ').unwrap_or_default();
    Ok(scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| secret.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::damage::{cases, damaged_text};

    const OWN: &[&str] = &[
        "127.0.0.1:4766",
        "localhost:4766",
        "[::1]:4766",
        "inbox.example:4766",
    ];

    fn is_own(text: &str) -> bool {
        OWN.iter().any(|name| name.eq_ignore_ascii_case(text))
    }

    proptest! {
        #![proptest_config(cases(800))]

        /// Only who names one of the server's own hosts, letter by letter, comes in.
        #[test]
        fn whatever_a_host_or_an_origin_says_only_our_own_is_let_in(
            host in damaged_text(OWN.to_vec()),
            origin in damaged_text(vec!["http://127.0.0.1:4766", "http://localhost:4766", "null", "https://evil.example"]),
        ) {
            let gate = Gate::new(4766, &["inbox.example".to_owned()], false);
            let get = |uri: Option<&str>, headers: &HeaderMap| {
                gate.admits(&Method::GET, Version::HTTP_11, uri, headers, false).is_ok()
            };
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_str(&host) {
                headers.insert(header::HOST, value);
                // Spaces around a value are no part of it on the wire, and here they are another name.
                prop_assert_eq!(get(None, &headers), is_own(&host));
            }
            headers.insert(header::HOST, HeaderValue::from_static("localhost:4766"));
            prop_assert_eq!(get(Some(&host), &headers), is_own(&host));
            if let Ok(value) = HeaderValue::from_str(&origin) {
                headers.insert(header::ORIGIN, value);
                let is_ours = origin.strip_prefix("http://").is_some_and(is_own);
                prop_assert_eq!(get(None, &headers), is_ours);
            }
        }

        #[test]
        fn a_server_knows_itself_whatever_else_it_is_called(name in ".{0,30}", port in any::<u16>(), is_tls in any::<bool>()) {
            let own = format!("localhost:{port}");
            prop_assert!(Gate::new(port, &[name], is_tls).knows(&own));
        }
    }
}

//! `/devnet/faults`: trouble on request over HTTP, for the tests of programs in other languages.
//!
//! Only for this machine, and only as JSON: a page in a browser cannot send that to another site without asking first.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Map, Value, json};

use super::{refused, respond};
use crate::fault::{Faults, NoTrouble, Trouble};
use crate::grpc::Reply;

/// Where it is.
pub(crate) const PATH: &str = "/devnet/faults";

/// The longest request, in bytes.
const MOST: usize = 4096;

/// Sets what is asked for, and answers what is set.
pub(crate) async fn answer(
    faults: &Faults,
    peer: SocketAddr,
    request: Request<Incoming>,
) -> Response<Reply> {
    if !peer.ip().to_canonical().is_loopback() {
        return refused(
            StatusCode::FORBIDDEN,
            "only this machine may ask for trouble",
        );
    }
    if request.method() == Method::GET {
        return respond(StatusCode::OK, &shown(faults));
    }
    if request.method() != Method::POST {
        return refused(
            StatusCode::METHOD_NOT_ALLOWED,
            "only GET and POST are answered",
        );
    }
    let kind = request.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/json")) {
        let wanted = "the content type must be application/json";
        return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, wanted);
    }
    let body = Limited::new(request.into_body(), MOST).collect().await;
    let read = body.ok().and_then(|body| {
        let bytes = body.to_bytes();
        serde_json::from_slice::<Map<String, Value>>(&bytes).ok()
    });
    let Some(asked) = read else {
        let wanted = r#"the body must be an object as {"busy": 3, "lag": "2s"}"#;
        return refused(StatusCode::BAD_REQUEST, wanted);
    };
    match asked.iter().map(trouble).collect::<Result<Vec<_>, _>>() {
        Ok(troubles) => {
            for trouble in troubles {
                faults.set(trouble);
            }
            respond(StatusCode::OK, &shown(faults))
        }
        Err(no) => refused(StatusCode::BAD_REQUEST, &no.to_string()),
    }
}

fn trouble((name, value): (&String, &Value)) -> Result<Trouble, NoTrouble> {
    match value {
        Value::String(text) => format!("{name}={text}").parse(),
        other => format!("{name}={other}").parse(),
    }
}

fn shown(faults: &Faults) -> Value {
    let mut all = Map::new();
    for pair in faults.to_string().split(' ') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = value
            .parse::<u32>()
            .map_or_else(|_| json!(value), |count| json!(count));
        all.insert(name.to_owned(), value);
    }
    Value::Object(all)
}

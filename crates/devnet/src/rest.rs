//! The mirror's REST, as far as clients use it: what is asked for is there as soon as its transaction was answered.

mod account;
pub(crate) mod faults;
mod form;
mod network;
mod query;
mod schedule;
mod topic;
mod transaction;

use hyper::body::Incoming;
use hyper::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::fault::Twist;
use crate::grpc::Reply;
use crate::house::House;

/// Why a question has no answer.
#[derive(Debug)]
enum Refused {
    /// There is no such thing.
    NotFound,
    /// The question is wrong.
    Invalid(String),
    /// The ledger cannot be read.
    Unreadable,
}

impl From<rusqlite::Error> for Refused {
    fn from(_: rusqlite::Error) -> Self {
        Refused::Unreadable
    }
}

type Answer = Result<Value, Refused>;

/// Answers a request.
pub(crate) fn answer(house: &House, request: &Request<Incoming>) -> Response<Reply> {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let outcome = if request.method() == Method::GET {
        if let Some(wrong) = broken(house) {
            return wrong;
        }
        find(house, path, query)
    } else {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered");
    };
    match outcome {
        Ok(mut body) => {
            house.faults.twists.bend(&mut body);
            let mut response = if house.faults.twists.is_due(Twist::Cut) {
                half(&body)
            } else {
                respond(StatusCode::OK, &body)
            };
            // As on any mirror, pages of all sites may read what is public.
            let headers = response.headers_mut();
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            response
        }
        Err(Refused::NotFound) => refused(StatusCode::NOT_FOUND, "Not found"),
        Err(Refused::Invalid(what)) => refused(StatusCode::BAD_REQUEST, &what),
        Err(Refused::Unreadable) => {
            refused(StatusCode::SERVICE_UNAVAILABLE, "the ledger cannot be read")
        }
    }
}

/// What is answered in place of what was asked for, where a test has asked for that.
fn broken(house: &House) -> Option<Response<Reply>> {
    let twists = &house.faults.twists;
    if twists.is_due(Twist::Limit) {
        return Some(refused(StatusCode::TOO_MANY_REQUESTS, "Too many requests"));
    }
    if twists.is_due(Twist::Fail) {
        return Some(refused(StatusCode::INTERNAL_SERVER_ERROR, "Unknown error"));
    }
    if twists.is_due(Twist::Html) {
        let page = b"<html><body><h1>Just a moment</h1></body></html>".to_vec();
        let mut response = Response::new(Reply::plain(page));
        let kind = HeaderValue::from_static("text/html");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        return Some(response);
    }
    None
}

/// The first half of an answer.
fn half(body: &Value) -> Response<Reply> {
    let mut text = body.to_string().into_bytes();
    text.truncate(text.len() / 2);
    let mut response = Response::new(Reply::plain(text));
    let kind = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn find(house: &House, path: &str, query: &str) -> Answer {
    let rest = path.strip_prefix("/api/v1/").ok_or(Refused::NotFound)?;
    let parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
    match parts.as_slice() {
        ["accounts"] => account::list(house, query),
        ["accounts", id] => account::show(house, id, query),
        ["accounts", id, "tokens"] => account::tokens(house, id, query),
        ["balances"] => account::balances(house, query),
        ["topics", "messages", time] => topic::message_at(house, time),
        ["topics", id] => topic::show(house, id),
        ["topics", id, "messages"] => topic::messages(house, id, query),
        ["topics", id, "messages", number] => topic::message(house, id, number),
        ["schedules"] => schedule::list(house, query),
        ["schedules", id] => schedule::show(house, id),
        ["transactions"] => transaction::list(house, query),
        ["transactions", id] => transaction::show(house, id, query),
        ["network", what] => network::show(house, what, query),
        _ => Err(Refused::NotFound),
    }
}

fn respond(status: StatusCode, body: &Value) -> Response<Reply> {
    let mut response = Response::new(Reply::plain(body.to_string().into_bytes()));
    *response.status_mut() = status;
    response.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=utf-8"),
    );
    response
}

fn refused(status: StatusCode, message: &str) -> Response<Reply> {
    respond(
        status,
        &json!({ "_status": { "messages": [{ "message": message }] } }),
    )
}

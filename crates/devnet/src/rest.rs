//! The mirror's REST, as far as clients use it: what is asked for is there as soon as its transaction was answered.

mod account;
mod form;
mod network;
mod schedule;
mod topic;
mod transaction;

use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::{Value, json};

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
        find(house, path, &Query::read(query))
    } else {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "only GET is answered");
    };
    match outcome {
        Ok(body) => respond(StatusCode::OK, &body),
        Err(Refused::NotFound) => refused(StatusCode::NOT_FOUND, "Not found"),
        Err(Refused::Invalid(what)) => refused(StatusCode::BAD_REQUEST, &what),
        Err(Refused::Unreadable) => {
            refused(StatusCode::SERVICE_UNAVAILABLE, "the ledger cannot be read")
        }
    }
}

fn find(house: &House, path: &str, query: &Query) -> Answer {
    let rest = path.strip_prefix("/api/v1/").ok_or(Refused::NotFound)?;
    let parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
    match parts.as_slice() {
        ["accounts"] => account::list(house, query),
        ["accounts", id] => account::show(house, id),
        ["balances"] => account::balances(house, query),
        ["topics", "messages", time] => topic::message_at(house, time),
        ["topics", id] => topic::show(house, id),
        ["topics", id, "messages"] => topic::messages(house, id, query),
        ["topics", id, "messages", number] => topic::message(house, id, number),
        ["schedules", id] => schedule::show(house, id),
        ["transactions"] => transaction::list(house, query),
        ["transactions", id] => transaction::show(house, id, query),
        ["network", what] => network::show(house, what),
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

/// The parameters of a question.
#[derive(Debug, Default)]
struct Query {
    pairs: Vec<(String, String)>,
}

/// How a value is compared, as in `gt:5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compare {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Compare {
    /// As SQL writes it.
    fn sql(self) -> &'static str {
        match self {
            Compare::Equal => "=",
            Compare::Less => "<",
            Compare::LessOrEqual => "<=",
            Compare::Greater => ">",
            Compare::GreaterOrEqual => ">=",
        }
    }
}

/// The most rows of a page, and how many there are unless told otherwise.
const MOST: i64 = 100;
const USUAL: i64 = 25;

impl Query {
    fn read(text: &str) -> Self {
        let pairs = text
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (form::unescaped(name), form::unescaped(value))
            })
            .collect();
        Query { pairs }
    }

    fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs
            .iter()
            .filter(move |(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    fn limit(&self) -> Result<i64, Refused> {
        let Some(text) = self.get("limit") else {
            return Ok(USUAL);
        };
        match text.parse::<i64>() {
            Ok(limit) if limit > 0 => Ok(limit.min(MOST)),
            _ => Err(Refused::Invalid("Invalid parameter: limit".into())),
        }
    }

    fn is_descending(&self, usual: bool) -> Result<bool, Refused> {
        match self.get("order") {
            None => Ok(usual),
            Some("asc") => Ok(false),
            Some("desc") => Ok(true),
            Some(_) => Err(Refused::Invalid("Invalid parameter: order".into())),
        }
    }

    /// What a parameter compares with, each time that it is there.
    fn compared(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<i64>,
    ) -> Result<Vec<(Compare, i64)>, Refused> {
        self.all(name)
            .map(|text| {
                let (compare, value) = match text.split_once(':') {
                    Some(("eq", value)) => (Compare::Equal, value),
                    Some(("lt", value)) => (Compare::Less, value),
                    Some(("lte", value)) => (Compare::LessOrEqual, value),
                    Some(("gt", value)) => (Compare::Greater, value),
                    Some(("gte", value)) => (Compare::GreaterOrEqual, value),
                    Some(_) => return Err(Refused::Invalid(format!("Invalid parameter: {name}"))),
                    None => (Compare::Equal, text),
                };
                match read(value) {
                    Some(value) => Ok((compare, value)),
                    None => Err(Refused::Invalid(format!("Invalid parameter: {name}"))),
                }
            })
            .collect()
    }
}

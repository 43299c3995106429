//! A server that answers with anything: what it says is what was asked for, or a refusal.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_ops::{Caller, List, Operation, Threads, Visitor, Waiting, each_operation};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{Far, answered};
use crate::damage::{cases, damaged};

/// A server that reads one request after the other, and says to each what it is told to.
struct Server {
    url: String,
    say: Sender<Vec<u8>>,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (say, said) = channel::<Vec<u8>>();
        std::thread::spawn(move || {
            for bytes in said {
                let (stream, _) = listener.accept().expect("a client");
                let mut reader = BufReader::new(&stream);
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).is_err() || line.trim().is_empty() {
                        break;
                    }
                    let line = line.to_ascii_lowercase();
                    if let Some(value) = line.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap_or(0);
                    }
                }
                let _ = reader.take(length).read_to_end(&mut Vec::new());
                // Whoever has heard enough hangs up.
                let _ = (&stream).write_all(&bytes);
            }
        });
        Server { url, say }
    }

    fn list(&self, bytes: Vec<u8>) -> Result<Threads, Refusal> {
        self.say.send(bytes).expect("the server is there");
        let caller = Caller::local(None);
        let within = Duration::from_secs(20);
        // A new one each time: what was hung up on is not used again.
        let far = Far::new(&self.url, "inbox_secret".to_owned(), None).expect("a server");
        far.call_with(&List::default(), "{}".to_owned(), &caller, within)
    }
}

/// Answers of a server to what is asked here, and to other things.
fn answers() -> Vec<String> {
    let thread = json!({
        "thread_id": "thr_1", "run_id": "", "task_id": "", "subject": "s", "created_by": "lead", "assigned_to": "worker",
        "to": ["worker"], "status": "pending", "priority": "normal", "attempts": 0, "latest_message_id": "msg_1", "ref_type": null,
        "ref_id": null, "created_at": "2026-01-01T00:00:00.000Z", "updated_at": "2026-01-01T00:00:00.000Z",
    });
    let list = |threads: &[&Value]| {
        json!({ "ok": true, "command": "list", "threads": threads, "truncated": false, "next_event_id": 3 }).to_string()
    };
    vec![
        list(&[]),
        list(&[&thread]),
        list(&[]).replace("\"list\"", "\"fetch\""),
        json!({ "ok": false, "error": { "code": "not_allowed", "message": "no", "hint": "inbox" } }).to_string(),
        json!({ "ok": true, "command": "show", "thread": thread, "messages": [], "next_event_id": 3 }).to_string(),
    ]
}

/// How a body is sent.
#[derive(Debug, Clone)]
struct Framing {
    status: u16,
    kind: &'static str,
    /// What is said of its length.
    length: &'static str,
}

fn framing() -> impl Strategy<Value = Framing> {
    let status = prop_oneof![
        6 => Just(200_u16),
        2 => select(vec![201, 204, 206, 301, 304, 307, 400, 401, 403, 404, 500, 503, 999]),
    ];
    let kind = prop_oneof![
        6 => Just("application/json"),
        1 => select(vec!["", "text/html", "application/jsonp; x", "application/json\u{0}"]),
    ];
    let length = select(vec![
        "right", "right", "right", "none", "short", "long", "huge", "chunked", "cut", "twice",
    ]);
    (status, kind, length).prop_map(|(status, kind, length)| Framing {
        status,
        kind,
        length,
    })
}

/// The bytes of an answer, and whether all of the body comes with them.
fn framed(framing: &Framing, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {} Said\r\nConnection: close\r\n", framing.status);
    if !framing.kind.is_empty() {
        bytes.push_str(&format!("Content-Type: {}\r\n", framing.kind));
    }
    let size = body.len();
    let mut body = body.to_vec();
    match framing.length {
        "right" => bytes.push_str(&format!("Content-Length: {size}\r\n")),
        "short" => bytes.push_str(&format!("Content-Length: {}\r\n", size / 2)),
        "long" => bytes.push_str(&format!("Content-Length: {}\r\n", size + 1)),
        "huge" => bytes.push_str("Content-Length: 18446744073709551615\r\n"),
        "twice" => bytes.push_str(&format!("Content-Length: {size}\r\nContent-Length: 1\r\n")),
        "chunked" | "cut" => {
            bytes.push_str("Transfer-Encoding: chunked\r\n");
            let mut chunk = format!("{size:x}\r\n").into_bytes();
            chunk.append(&mut body);
            chunk.extend_from_slice(b"\r\n");
            if framing.length == "chunked" {
                chunk.extend_from_slice(b"0\r\n\r\n");
            }
            body = chunk;
        }
        _ => {}
    }
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(b"\r\n");
    bytes.append(&mut body);
    bytes
}

/// Whether a body says that there are so many threads, and nothing else.
fn says(body: &[u8]) -> Option<usize> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let is_it = value["ok"] == true && value["command"] == "list";
    value["threads"].as_array().filter(|_| is_it).map(Vec::len)
}

#[test]
fn whatever_a_server_answers_is_what_was_asked_for_or_refused() {
    let server = Server::new();
    let mut understood = 0;
    let mut runner = proptest::test_runner::TestRunner::new(cases(600));
    let outcome = runner.run(
        &(framing(), damaged(answers())),
        |(framing, body)| match server.list(framed(&framing, &body)) {
            Ok(threads) => {
                let is_whole = !matches!(framing.length, "long" | "huge" | "cut");
                prop_assert!(is_whole, "a part was taken for all of it");
                prop_assert!((200..300).contains(&framing.status));
                prop_assert!(framing.kind.starts_with("application/json"));
                let half = &body[..body.len() / 2];
                let body = if framing.length == "short" {
                    half
                } else {
                    &body
                };
                prop_assert_eq!(says(body), Some(threads.threads.len()));
                Ok(())
            }
            Err(refusal) => {
                prop_assert!(!refusal.message.is_empty());
                Ok(())
            }
        },
    );
    outcome.unwrap_or_else(|error| panic!("{error}"));
    for body in &answers()[..2] {
        let framing = Framing {
            status: 200,
            kind: "application/json",
            length: "right",
        };
        understood += usize::from(server.list(framed(&framing, body.as_bytes())).is_ok());
    }
    assert_eq!(understood, 2, "what is right is understood");
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn whatever_bytes_come_in_the_place_of_an_answer_they_are_refused_or_one(
        bytes in damaged(vec![
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 84\r\n\r\n{\"ok\":true,\"command\":\"list\",\"threads\":[],\"truncated\":false,\"next_event_id\":3}       ",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
        ]),
    ) {
        thread_local!(static SERVER: Server = Server::new());
        let answer = SERVER.with(|server| server.list(bytes.clone()));
        if let Ok(threads) = answer {
            let text = String::from_utf8_lossy(&bytes);
            prop_assert!(text.contains("\"threads\""), "{}", text);
            prop_assert!(threads.threads.is_empty());
        }
    }
}

#[test]
fn who_says_nothing_is_not_waited_for_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let far = Far::new(&url, "inbox_secret".to_owned(), None).expect("a server");
    let begun = Instant::now();
    let within = Duration::from_millis(200);
    let answer = far.call_with(
        &List::default(),
        "{}".to_owned(),
        &Caller::local(None),
        within,
    );
    assert!(answer.is_err());
    assert!(begun.elapsed() >= within);
    drop(listener);
}

/// What no operation may take for an answer of its own.
const EMPTY: [&str; 12] = [
    "",
    "null",
    "true",
    "0",
    "\"\"",
    "[]",
    "{}",
    r#"{"ok":true}"#,
    r#"{"ok":false}"#,
    r#"{"ok":true,"command":"nothing"}"#,
    r#"{"ok":false,"error":{"code":"no_such_code","message":7}}"#,
    r#"{"ok":true,"error":{"code":"storage","message":"m"}}"#,
];

struct Every(usize);

impl Every {
    fn one<O: Operation>(&mut self) {
        let named = format!(r#"{{"ok":true,"command":"{}"}}"#, O::NAME);
        for text in EMPTY.into_iter().chain([named.as_str()]) {
            let is_refused = answered::<O>("http://there", text).is_err();
            assert!(is_refused, "{} takes {text} for an answer", O::NAME);
        }
        self.0 += 1;
    }
}

impl Visitor for Every {
    fn visit<O: Operation>(&mut self) {
        self.one::<O>();
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        self.one::<O>();
    }
}

#[test]
fn no_operation_takes_an_empty_answer_for_its_own() {
    let mut every = Every(0);
    each_operation(&mut every);
    assert!(every.0 > 50, "{}", every.0);
}

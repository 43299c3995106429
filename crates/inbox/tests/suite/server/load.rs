//! Many at once: waits that cost no threads, strangers that cost nothing, and commits that are shared.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::time::Duration;

use inbox_testkit::sandbox::Sandbox;
use serde_json::Value;

use super::raw::{answer, connect, exchange, post};
use super::{Served, listening};
use crate::INBOX;
use crate::damage::limits::in_shell;

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// A number of a process, such as its threads or its kilobytes of memory.
fn figure(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status
        .lines()
        .find(|line| line.starts_with(name))
        .expect("a line");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A count of the server's.
pub(super) fn metric(served: &Served, secret: &str, name: &str) -> u64 {
    let address = served.address();
    let request =
        format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: {secret}\r\n\r\n");
    let page = exchange(address, request.as_bytes()).body;
    let line = page
        .lines()
        .find(|line| line.split(' ').next() == Some(name));
    line.and_then(|line| line.split(' ').nth(1))
        .map_or(0, |it| it.parse().unwrap())
}

#[test]
fn a_thousand_waits_cost_no_thousand_threads_and_all_wake() {
    let served = Served::start();
    let address = served.address();
    let secret = format!("Bearer {}", served.token("watcher", ""));
    let threads = figure(served.child.id(), "Threads:");
    let wait = post(
        "/v1/watch",
        address,
        &[JSON, ("Authorization", &secret)],
        r#"{"timeout_seconds":300}"#,
    );
    let mut waits: Vec<TcpStream> = (0..1000)
        .map(|_| {
            let mut stream = connect(address);
            stream.write_all(&wait).expect("it is sent");
            stream
        })
        .collect();
    while metric(&served, &secret, "inbox_waits") < 1000 {
        std::thread::yield_now();
    }
    assert!(figure(served.child.id(), "Threads:") <= threads + 2);
    served.desk.ok("send --agent lead --to bob --subject now");
    for stream in &mut waits {
        let answered = answer(stream);
        assert!(
            answered.body.contains(r#""woke":true"#),
            "{}",
            answered.body
        );
    }
}

/// Requests of strangers, and connections that never come to their end.
const STRANGERS: usize = 10_000;
const SLOW: usize = 1000;

#[test]
fn strangers_and_the_slow_cost_next_to_nothing() {
    let served = Served::start();
    let address = served.address();
    let process = served.child.id();
    let wrong = ("Authorization", "Bearer inbox_none");
    let accept = ("Accept", "application/json, text/event-stream");
    // Each asks for a session, which would be kept.
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#;
    let strangers = [
        ("/v1/send", post("/v1/send", address, &[JSON, wrong], "{}")),
        ("/mcp", post("/mcp", address, &[JSON, accept], hello)),
        ("/mcp", post("/mcp", address, &[JSON, accept, wrong], hello)),
    ];
    for (path, stranger) in strangers {
        let ask = |count: usize| {
            let mut stream = connect(address);
            for _ in 0..count {
                stream.write_all(&stranger).expect("it is sent");
                let answered = answer(&mut stream);
                assert_eq!(answered.status, 401, "{path}");
                let head = answered.head.to_ascii_lowercase();
                assert!(!head.contains("mcp-session-id"), "{path}: {head}");
            }
        };
        ask(500);
        let before = figure(process, "VmRSS:");
        ask(STRANGERS);
        let after = figure(process, "VmRSS:");
        let told = format!("{path}: {before} kB became {after} kB");
        assert!(after < before + 10 * 1024, "{told}");
    }
    // Half a head each, and no end.
    let slow: Vec<TcpStream> = (0..SLOW)
        .map(|_| {
            let mut stream = connect(address);
            stream
                .write_all(b"POST /v1/send HTTP/1.1\r\nHost: ")
                .expect("it is sent");
            stream
        })
        .collect();
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(exchange(address, health.as_bytes()).status, 200);
    drop(slow);
    let long = "x".repeat(20 * 1024);
    let large = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nX: {long}\r\n\r\n");
    let status = exchange(address, large.as_bytes()).status;
    assert!(matches!(status, 400 | 431), "{status}");
    let many = "X: y\r\n".repeat(200);
    let many = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n{many}\r\n");
    let status = exchange(address, many.as_bytes()).status;
    assert!(matches!(status, 400 | 431), "{status}");
}

/// How many files a server may have, and how many come who never say what they want.
const FILES: usize = 512;
const SILENT: usize = 1000;

#[test]
fn those_who_never_say_what_they_want_keep_nobody_out() {
    let desk = Sandbox::new(INBOX);
    let words = ["serve", "--listen", "127.0.0.1:0", "--json"];
    let limited = in_shell(&desk, &format!("ulimit -n {FILES}"), &words);
    let (child, url) = listening(limited);
    let served = Served { desk, child, url };
    let address = served.address();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let list = post(
        "/v1/list",
        address,
        &[JSON, ("Authorization", &secret)],
        "{}",
    );
    // One that has asked something and goes on later, and one that waits for an answer all the time.
    let mut waits = connect(address);
    let body = r#"{"after_event":0,"timeout_seconds":600}"#;
    let headers = [JSON, ("Authorization", secret.as_str())];
    waits
        .write_all(&post("/v1/watch", address, &headers, body))
        .expect("it is sent");
    let mut silent: Vec<TcpStream> = Vec::new();
    for turn in 0..SILENT {
        let mut stream = connect(address);
        let half: &[u8] = if turn % 2 == 0 { b"POST /v1/se" } else { b"" };
        stream.write_all(half).expect("it is sent");
        silent.push(stream);
        // Each whole request is answered at once, as long as others say nothing: long before the patience with heads ends.
        if turn % 100 == 99 {
            let mut stream = connect(address);
            let soon = Some(Duration::from_secs(15));
            stream.set_read_timeout(soon).expect("a limit");
            stream.write_all(&list).expect("it is sent");
            let answered = answer(&mut stream);
            assert_eq!(answered.status, 200, "after {turn}: {}", answered.body);
        }
    }
    // Those who said nothing for the longest had to go, and the last ones are still there.
    let is_gone = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).expect("it can be");
        let read = stream.read(&mut [0; 64]);
        !matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
    };
    assert!(is_gone(&mut silent[0]));
    assert!(!is_gone(&mut silent[SILENT - 1]));
    served.desk.ok("send --agent lead --to bob --subject now");
    let answered = answer(&mut waits);
    assert!(
        answered.body.contains(r#""woke":true"#),
        "{}",
        answered.body
    );
}

#[test]
fn a_body_that_is_too_large_is_refused_and_the_next_request_is_served() {
    let served = Served::start();
    let address = served.address();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let body = format!(
        r#"{{"to":["bob"],"subject":"x","body":"{}"}}"#,
        "x".repeat(3 << 20)
    );
    let headers = [JSON, ("Authorization", secret.as_str())];
    let answered = exchange(address, &post("/v1/send", address, &headers, &body));
    assert_eq!(answered.status, 413);
    assert!(answered.body.contains("too_large"), "{}", answered.body);
    let answered = exchange(address, &post("/v1/list", address, &headers, "{}"));
    assert_eq!(answered.status, 200);
}

#[test]
fn writes_that_come_together_share_commits_and_each_keeps_its_own_fate() {
    const CLIENTS: usize = 16;
    const EACH: usize = 25;
    let served = Served::start();
    let address = served.address();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let start = Barrier::new(CLIENTS);
    let ids: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (start, secret) = (&start, &secret);
                scope.spawn(move || {
                    let mut stream = connect(address);
                    let headers = [JSON, ("Authorization", secret.as_str())];
                    start.wait();
                    let mut ids = Vec::new();
                    for turn in 0..EACH {
                        // Every fifth is refused, after it has begun to write.
                        let is_bad = turn % 5 == 4;
                        let to = if is_bad { "@nobody-there" } else { "bob" };
                        let body = format!(r#"{{"to":["{to}"],"subject":"{client} {turn}"}}"#);
                        stream
                            .write_all(&post("/v1/send", address, &headers, &body))
                            .unwrap();
                        let answered = answer(&mut stream);
                        let value: Value = serde_json::from_str(&answered.body).unwrap();
                        assert_eq!(value["ok"], !is_bad, "{value}");
                        if !is_bad {
                            ids.push(value["thread"]["thread_id"].as_str().unwrap().to_owned());
                        }
                    }
                    ids
                })
            })
            .collect();
        clients
            .into_iter()
            .flat_map(|client| client.join().unwrap())
            .collect()
    });
    let mut found: Vec<_> = ids.clone();
    found.sort();
    found.dedup();
    assert_eq!(
        found.len(),
        CLIENTS * EACH * 4 / 5,
        "every id was given once"
    );
    let listed = served.desk.ok("list --limit 1000");
    assert_eq!(listed["threads"].as_array().unwrap().len(), found.len());
    let (commits, writes) = (
        metric(&served, &secret, "inbox_commits_total"),
        metric(&served, &secret, "inbox_writes_total"),
    );
    assert_eq!(writes, (CLIENTS * EACH) as u64);
    assert!(commits < writes, "{commits} commits of {writes} writes");
}

#[test]
fn events_are_followed_from_any_cursor_without_a_gap() {
    let served = Served::start();
    let address = served.address();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let send = |subject: &str| {
        served
            .desk
            .ok(&format!("send --agent lead --to bob --subject {subject}"));
    };
    send("one");
    send("two");
    let follow = |query: &str, more: &str| {
        let mut stream = connect(address);
        let request = format!(
            "GET /v1/events{query} HTTP/1.1\r\nHost: {address}\r\nAuthorization: {secret}\r\n{more}\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let read_until = |stream: &mut TcpStream, wanted: &str| {
        let mut text = String::new();
        let mut piece = [0; 1024];
        while !text.contains(wanted) {
            let count = stream.read(&mut piece).expect("events come");
            assert!(count > 0, "it ended: {text}");
            text.push_str(&String::from_utf8_lossy(&piece[..count]));
        }
        text
    };
    let mut all = follow("?after=0", "");
    let text = read_until(&mut all, "id: 2\n");
    assert!(text.contains("text/event-stream"), "{text}");
    assert!(text.contains("id: 1\nevent: created\ndata: {"), "{text}");
    let mut later = follow("?after=0", "Last-Event-ID: 1\r\n");
    let text = read_until(&mut later, "id: 2\n");
    assert!(!text.contains("id: 1\n"), "{text}");
    send("three");
    read_until(&mut all, "id: 3\n");
    read_until(&mut later, "id: 3\n");
    for bad in ["?after=x", "?after=-1", "?thread=nonsense", "?what=1"] {
        let mut stream = follow(bad, "");
        assert_eq!(answer(&mut stream).status, 400, "{bad}");
    }
}

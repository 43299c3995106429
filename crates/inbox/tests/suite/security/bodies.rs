//! Bodies and frames that are no requests, to the real server and the real MCP tools: each is refused, and the next one is served.

use inbox_testkit::sandbox::Sandbox;
use inbox_torture::Dice;
use serde_json::{Value, json};

use super::damage;
use crate::INBOX;
use crate::mcp::client::Client;
use crate::server::Served;
use crate::server::raw::{exchange, post};

/// What no operation takes for a request.
const BODIES: [&str; 30] = [
    "",
    " ",
    "null",
    "true",
    "17",
    "\"text\"",
    "[]",
    "[{}]",
    "{",
    "}",
    "{}{}",
    "{\"a\"}",
    "{\"a\":}",
    "{a:1}",
    "{'a':1}",
    "{\"nonsense\":1}",
    "{\"__proto__\":{}}",
    "{\"$serde_json::private::Number\":\"1\"}",
    "{\"limit\":99999999999999999999}",
    "{\"limit\":-1}",
    "{\"limit\":1e400}",
    "{\"limit\":\"many\"}",
    "{\"thread\":\"thr_\\ud800\"}",
    "{\"thread\":\"\\u0000\"}",
    "{\"thread\":null,\"thread\":null,\"x\":1}",
    "\u{feff}{}",
    "{\"x\":NaN}",
    "{\"x\":01}",
    "<?xml version=\"1.0\"?>",
    "to=bob&subject=x",
];

/// Operations of each sort.
const OPERATIONS: [&str; 10] = [
    "send",
    "claim",
    "reply",
    "done",
    "list",
    "show",
    "search",
    "note",
    "agent-add",
    "watch",
];

/// Pieces of requests, and some that do not belong.
const PIECES: [&str; 20] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "-1",
    "1e400",
    "\\u0000",
    "\\ud800",
    "\u{202e}",
    "\0",
    "thr_1",
    "msg_",
    "[[[[[[[[[[[[[[[[",
    "tools/call",
    "9223372036854775808",
];

/// How many damaged requests there are besides.
const DAMAGED: usize = 300;

#[test]
fn what_is_no_request_is_refused_by_every_operation_and_the_next_is_served() {
    let served = Served::start();
    let (address, secret) = (served.address(), served.token("lead", ""));
    let secret = format!("Bearer {secret}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", secret.as_str()),
    ];
    let deep = "[".repeat(100_000);
    let mut refused = 0;
    for operation in OPERATIONS {
        for body in BODIES.into_iter().chain([deep.as_str()]) {
            // No body at all asks for everything, and may wait for it.
            let is_whole =
                body.trim().is_empty() && matches!(operation, "list" | "watch" | "claim");
            if is_whole {
                continue;
            }
            let path = format!("/v1/{operation}");
            let answered = exchange(address, &post(&path, address, &headers, body));
            let what = format!("{operation} {:.60}: {}", body, answered.body);
            assert!((400..500).contains(&answered.status), "{what}");
            let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
            assert_eq!(answer["ok"], false, "{what}");
            refused += 1;
        }
    }
    // Those that ask for everything are made up for by what is too deep.
    assert!(refused >= BODIES.len() * OPERATIONS.len(), "{refused}");
    assert_eq!(served.desk.ok("list")["threads"], json!([]));

    let valid = [
        (
            "send",
            json!({ "to": ["bob"], "subject": "s", "payload_json": { "a": [1, null] } })
                .to_string(),
        ),
        (
            "list",
            json!({ "limit": 5, "status": ["pending"] }).to_string(),
        ),
        (
            "search",
            json!({ "query": "word", "since": "2d" }).to_string(),
        ),
        ("show", json!({ "thread": "thr_1" }).to_string()),
    ];
    let mut dice = Dice::new(0x5eed_0021);
    for _ in 0..DAMAGED {
        let (operation, body) = &valid[dice.place(valid.len())];
        let body = damage(body.as_bytes(), &PIECES, &mut dice);
        let body = String::from_utf8_lossy(&body).into_owned();
        let request = post(&format!("/v1/{operation}"), address, &headers, &body);
        let answered = exchange(address, &request);
        assert!(
            answered.status < 500,
            "{operation} {body:?}: {}",
            answered.body
        );
    }
    let health = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(exchange(address, health.as_bytes()).status, 200);
    served.desk.ok("doctor");
}

#[test]
fn damaged_frames_are_answered_and_the_tools_go_on() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut client = Client::start(&sandbox, "quinn");
    let call = |tool: &str, arguments: Value| {
        json!({ "jsonrpc": "2.0", "id": 1_000_000, "method": "tools/call", "params": { "name": tool, "arguments": arguments } }).to_string()
    };
    let valid = [
        call("send_message", json!({ "to_agent": "ada", "subject": "s", "body": "b" })),
        call("check_inbox", json!({ "peek": true, "limit": 3 })),
        call("show_threads", json!({ "thread_id": "thr_1" })),
        json!({ "jsonrpc": "2.0", "id": 1_000_001, "method": "resources/read", "params": { "uri": "inbox://inbox" } }).to_string(),
    ];
    let mut dice = Dice::new(0x5eed_0022);
    for number in 0..DAMAGED {
        let frame = damage(
            valid[dice.place(valid.len())].as_bytes(),
            &PIECES,
            &mut dice,
        );
        client.line(&String::from_utf8_lossy(&frame));
        if number % 20 == 0 {
            let id = client.request("ping", &json!({}));
            assert_eq!(client.answer(id)["result"], json!({}), "after {number}");
        }
    }
    let id = client.request("ping", &json!({}));
    assert_eq!(client.answer(id)["result"], json!({}));
    let (_, status) = client.close();
    assert_eq!(status, 0);
}

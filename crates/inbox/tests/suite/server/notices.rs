//! Sessions of MCP up to 2025-11-25 over HTTP: what a client is told of, and who else is.

use serde_json::{Value, json};

use super::Served;
use super::raw::{Answered, answer, connect, exchange, post};

/// A client of 2025-11-25, by hand.
struct Old<'a> {
    served: &'a Served,
    bearer: String,
    session: String,
}

impl<'a> Old<'a> {
    fn greet(served: &'a Served, secret: &str) -> Self {
        let bearer = format!("Bearer {secret}");
        let mut old = Old {
            served,
            bearer,
            session: String::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answered = old.post("initialize", &hello);
        assert_eq!(answered.status, 200, "{}", answered.body);
        let header = answered.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("mcp-session-id").then_some(value)
        });
        header.unwrap_or_default().clone_into(&mut old.session);
        old
    }

    fn head(&self, session: &str) -> Vec<(&str, String)> {
        let mut head = vec![
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
            ("Authorization", self.bearer.clone()),
            ("MCP-Protocol-Version", "2025-11-25".to_owned()),
        ];
        if !session.is_empty() {
            head.push(("Mcp-Session-Id", session.to_owned()));
        }
        head
    }

    fn post(&self, method: &str, params: &Value) -> Answered {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let head = self.head(&self.session);
        let head: Vec<_> = head
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let address = self.served.address();
        exchange(address, &post("/mcp", address, &head, &body.to_string()))
    }

    /// Asks for the stream of a session, or ends it.
    fn begin(&self, method: &str, session: &str) -> std::net::TcpStream {
        use std::io::Write;
        let address = self.served.address();
        let mut text = format!("{method} /mcp HTTP/1.1\r\nHost: {address}\r\n");
        for (name, value) in self.head(session).iter().skip(1) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let mut stream = connect(address);
        stream
            .write_all(format!("{text}\r\n").as_bytes())
            .expect("it is sent");
        stream
    }
}

/// Reads until a text is there, or the stream ends; all that was read.
fn read_until(stream: &mut std::net::TcpStream, wanted: &str) -> String {
    use std::io::Read;
    let mut text = String::new();
    let mut piece = [0; 1024];
    while !text.contains(wanted) {
        let count = stream.read(&mut piece).expect("something comes");
        if count == 0 {
            break;
        }
        text.push_str(&String::from_utf8_lossy(&piece[..count]));
    }
    text
}

/// The end of a body in pieces.
const END: &str = "0\r\n\r\n";

#[test]
fn a_client_with_a_session_is_told_of_what_it_subscribed_to() {
    const UPDATED: &str =
        r#""method":"notifications/resources/updated","params":{"uri":"inbox://inbox"}"#;
    let served = Served::start();
    let secret = served.token("quinn", "");
    let old = Old::greet(&served, &secret);
    assert!(!old.session.is_empty());
    let subscribed = old.post("resources/subscribe", &json!({ "uri": "inbox://inbox" }));
    assert!(
        subscribed.body.contains("\"result\""),
        "{}",
        subscribed.body
    );
    let mail = |subject: &str| {
        let line = format!("send --from ada --to quinn --subject {subject} --json");
        served.desk.run(line.split(' ')).ok();
    };
    // What happens before somebody listens is told to who comes.
    mail("one");
    let mut stream = old.begin("GET", &old.session);
    let head = read_until(&mut stream, UPDATED);
    assert!(head.contains("text/event-stream"), "{head}");
    assert!(head.contains(UPDATED), "{head}");
    mail("two");
    assert!(read_until(&mut stream, UPDATED).contains(UPDATED));
    // A second stream takes the place of the first.
    let mut second = old.begin("GET", &old.session);
    assert!(!read_until(&mut stream, END).contains(UPDATED));
    mail("three");
    assert!(read_until(&mut second, UPDATED).contains(UPDATED));
    // Its end is the end of its notices, and of no call.
    assert_eq!(answer(&mut old.begin("DELETE", &old.session)).status, 204);
    assert!(!read_until(&mut second, END).contains(UPDATED));
    assert_eq!(answer(&mut old.begin("GET", &old.session)).status, 404);
    assert_eq!(answer(&mut old.begin("DELETE", &old.session)).status, 404);
    assert_eq!(answer(&mut old.begin("GET", "")).status, 400);
    let called = old.post(
        "tools/call",
        &json!({ "name": "check_inbox", "arguments": {} }),
    );
    assert!(called.body.contains("three"), "{}", called.body);
}

#[test]
fn a_token_that_is_revoked_ends_the_streams_that_it_began() {
    let served = Served::start();
    let (secret, admin) = (
        served.token("quinn", ""),
        served.token("lead", "--scope admin"),
    );
    let old = Old::greet(&served, &secret);
    old.post("resources/subscribe", &json!({ "uri": "inbox://inbox" }));
    let mut notices = old.begin("GET", &old.session);
    read_until(&mut notices, ": here");
    let address = served.address();
    let mut events = connect(address);
    let follow = format!(
        "GET /v1/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {secret}\r\n\r\n"
    );
    std::io::Write::write_all(&mut events, follow.as_bytes()).expect("it is sent");
    read_until(&mut events, "\r\n\r\n");
    let tokens = served.desk.ok("token list");
    let mut tokens = tokens["tokens"].as_array().expect("tokens").iter();
    let own = tokens
        .find(|token| token["agent_id"] == "quinn")
        .expect("it is listed");
    let bearer = format!("Bearer {admin}");
    let head = [
        ("Content-Type", "application/json"),
        ("Authorization", bearer.as_str()),
    ];
    let body = json!({ "id": own["token_id"] }).to_string();
    let revoked = exchange(address, &post("/v1/token-revoke", address, &head, &body));
    assert_eq!(revoked.status, 200, "{}", revoked.body);
    served
        .desk
        .ok("send --from ada --to quinn --subject Secret");
    assert!(!read_until(&mut events, END).contains("data:"));
    assert!(!read_until(&mut notices, END).contains("data:"));
}

#[test]
fn a_session_is_its_tokens_and_a_token_has_few() {
    let served = Served::start();
    let (quinn, bob) = (served.token("quinn", ""), served.token("bob", ""));
    let old = Old::greet(&served, &quinn);
    let thief = Old::greet(&served, &bob);
    for method in ["GET", "DELETE"] {
        let mut stream = thief.begin(method, &old.session);
        assert_eq!(answer(&mut stream).status, 404, "{method}");
    }
    let mut last = Old::greet(&served, &quinn);
    for _ in 0..40 {
        last = Old::greet(&served, &quinn);
    }
    assert!(last.session.is_empty(), "there is no end of them");
    // It does without, and others have their own.
    let listed = last.post("tools/list", &json!({}));
    assert!(listed.body.contains("check_inbox"), "{}", listed.body);
    assert!(!Old::greet(&served, &bob).session.is_empty());
}

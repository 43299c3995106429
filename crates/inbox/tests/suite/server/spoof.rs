//! Over HTTP a sender is who its token says, whatever else it says, to every operation that writes.

use std::net::TcpStream;

use inbox_core::Auth;
use inbox_ops::{Caller, Effect, Identity, Inbox, Operation, Visitor, Waiting, each_operation};
use inbox_store::{Location, Store};
use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::Served;
use super::raw::{Answered, answer, connect, exchange, post};
use crate::INBOX;
use crate::cli::card_prompt::card;
use crate::security::canary::paths::OPERATIONS;

/// Whom one may want to pass for: another agent, the person, inbox itself, and what looks like them or like oneself.
pub(crate) const OTHERS: [&str; 18] = [
    "ada",
    "ADA",
    "pia",
    "human",
    "HUMAN",
    "Human",
    "system",
    "runner",
    "all",
    "hum\u{0430}n",
    "\u{ff48}uman",
    "human\u{200b}",
    " human",
    "human ",
    "lead2",
    "LEAD",
    "le\u{0430}d",
    "lead\u{ad}",
];

/// Where one may want to say it.
const FIELDS: [&str; 14] = [
    "from",
    "from_agent",
    "from_session",
    "agent",
    "agent_id",
    "sender",
    "source",
    "caller",
    "auth",
    "verified",
    "created_by",
    "session",
    "session_id",
    "on_behalf_of",
];

/// There are at least so many operations that write.
const WRITING: usize = 30;

/// What has one of these fields, and means by it somebody else than who calls.
const OWN_FIELDS: [(&str, &str); 1] = [("token create", "agent")];

/// What proxies and other programs say who calls with, and what a request's line can carry: none of it is listened to.
const UNHEARD: [(&str, &str); 8] = [
    ("From", "human"),
    ("X-Inbox-Agent", "human"),
    ("Inbox-From", "human"),
    ("Inbox-Auth", "local"),
    ("X-Forwarded-User", "ada"),
    ("X-Remote-User", "ada"),
    ("Forwarded", "for=human"),
    ("Cookie", "agent=human; inbox=human"),
];
const QUERY: &str = "?agent=human&from=human&from_agent=ada&session=ada-1";

/// Every operation that writes: its name, the fields that it has, and whether it asks who calls.
struct Writing(Vec<(&'static str, Vec<String>, bool)>);

impl Visitor for Writing {
    fn visit<O: Operation>(&mut self) {
        if O::EFFECT == Effect::Write {
            let schema = schemars::schema_for!(O);
            let fields = schema.get("properties").and_then(Value::as_object);
            let fields = fields.into_iter().flat_map(|fields| fields.keys().cloned());
            let asks = O::IDENTITY != Identity::Ignored;
            self.0.push((O::NAME, fields.collect(), asks));
        }
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        assert_ne!(O::EFFECT, Effect::Write, "{} is tried here, too", O::NAME);
    }
}

/// A server with agents, a person and a session that was last seen long ago, and who calls it as `lead`.
struct Stage {
    served: Served,
    bearer: String,
}

impl Stage {
    fn new() -> Self {
        let desk = Sandbox::in_memory(INBOX);
        for line in [
            "agent add ada",
            "agent add lead",
            "agent add backend",
            "agent add pia --kind human",
            "session start --agent analyst --role ba",
        ] {
            desk.ok(line);
        }
        let mut command = desk.command("session start --agent ada --session ada-1".split(' '));
        let begun = command.env("INBOX_NOW", "2020-01-01T00:00:00Z").status();
        assert!(begun.expect("it runs").success());
        let served = Served::on(desk);
        let all = "--scope read --scope write --scope admin --scope override";
        let bearer = format!("Bearer {}", served.token("lead", all));
        Stage { served, bearer }
    }

    fn call(
        &self,
        stream: &mut TcpStream,
        path: &str,
        more: &[(&str, &str)],
        body: &str,
    ) -> Answered {
        use std::io::Write;
        let mut headers = vec![
            ("Content-Type", "application/json"),
            ("Authorization", self.bearer.as_str()),
        ];
        headers.extend(more);
        let request = post(path, self.served.address(), &headers, body);
        stream.write_all(&request).expect("it is sent");
        answer(stream)
    }

    /// When Ada's session was last seen, as those see it who look.
    fn ada_seen(&self) -> Value {
        let desk = &self.served.desk;
        let sessions = desk.ok("session list --agent ada --state alive,dead");
        assert_eq!(sessions["sessions"][0]["session_id"], "ada-1", "{sessions}");
        sessions["sessions"][0]["seen_at"].clone()
    }

    /// Each operation so that it succeeds, in an order in which it can, with everything that is not listened to.
    fn play(&self) {
        let stream = &mut connect(self.served.address());
        let (mut lease, mut lost, mut token) = (String::new(), String::new(), String::new());
        for (name, body) in OPERATIONS {
            let card = card().to_string();
            let body = body.replace("CARD", &card).replace("LOST", &lost);
            let body = body.replace("TOKEN", &token);
            let mut headers = UNHEARD.to_vec();
            headers.push(("Inbox-Session", "s-1"));
            if !lease.is_empty() {
                headers.push(("Inbox-Lease", &lease));
            }
            let answered = self.call(stream, &format!("/v1/{name}{QUERY}"), &headers, &body);
            assert_eq!(answered.status, 200, "{name}: {}", answered.body);
            let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
            let text = |at: &str| Some(answer.pointer(at)?.as_str()?.to_owned());
            lease = text("/lease/lease_token").unwrap_or(lease);
            token = text("/token/token_id").unwrap_or(token);
            lost = text("/letters/0/message/message_id").unwrap_or(lost);
            if let Some(message) = answer.get("message").filter(|it| it.is_object()) {
                assert_eq!(message["from_agent"], "lead", "{name}: {answer}");
                assert_eq!(message["auth"], "token", "{name}: {answer}");
            }
        }
    }
}

#[test]
fn nobody_passes_for_another_or_for_the_person() {
    let stage = Stage::new();
    let (known, seen) = (stage.served.desk.ok("agent list"), stage.ada_seen());
    let stream = &mut connect(stage.served.address());
    let mut writing = Writing(Vec::new());
    each_operation(&mut writing);
    assert!(writing.0.len() >= WRITING, "{}", writing.0.len());
    let mut tried = 0;
    for (name, fields, asks) in &writing.0 {
        let path = name.replace(' ', "-");
        let body = OPERATIONS.iter().find(|(known, _)| *known == path);
        let (_, body) = body.unwrap_or_else(|| panic!("add {path} to OPERATIONS"));
        let body = body.replace("CARD", &card().to_string());
        let path = format!("/v1/{path}");
        for other in OTHERS {
            let headers = [("Inbox-Agent", other)];
            let answered = stage.call(stream, &path, &headers, &body);
            let is_refused = matches!(answered.status, 400 | 403);
            assert!(is_refused, "{name} {other:?}: {}", answered.body);
            for field in FIELDS {
                if fields.iter().any(|own| own == field) {
                    let is_known = OWN_FIELDS.contains(&(name, field));
                    assert!(is_known, "{name} has {field}: does it say who calls?");
                    continue;
                }
                let mut body: Value = serde_json::from_str(&body).expect("JSON");
                body[field] = other.into();
                let answered = stage.call(stream, &path, &[], &body.to_string());
                let told = answered.body;
                assert_eq!(answered.status, 400, "{name} {field} {other:?}: {told}");
                tried += 1;
            }
        }
        // Two names, of which one is right, and a session that is another's.
        let twice = [("Inbox-Agent", "lead\r\nInbox-Agent: human")];
        let answered = stage.call(stream, &path, &twice, &body);
        assert_eq!(answered.status, 400, "{name}: {}", answered.body);
        // What only says what it would do does not ask who calls.
        if *asks && !body.contains("dry_run") {
            let session = [("Inbox-Session", "ada-1")];
            let answered = stage.call(stream, &path, &session, &body);
            let is_refused = (400..500).contains(&answered.status);
            assert!(is_refused, "{name}: {}", answered.body);
        }
    }
    let own = OWN_FIELDS.len();
    assert_eq!(tried, (writing.0.len() * FIELDS.len() - own) * OTHERS.len());
    assert_eq!(stage.served.desk.ok("agent list"), known);
    // Without another's name the same succeeds, with the numbers that come first: nothing of all that was kept.
    stage.play();
    let all = "watch --after-event 0 --timeout-seconds 0";
    let events = stage.served.desk.ok(all)["events"].clone();
    for event in events.as_array().expect("events") {
        assert_eq!(event["source"], "lead", "{event}");
    }
    assert_eq!(stage.ada_seen(), seen);
    for name in ["human", "system", "runner", "all", "Human", "hum\u{0430}n"] {
        let words = ["token", "create", "--agent", name, "--json"];
        let outcome = stage.served.desk.run(words);
        assert_ne!(outcome.code, 0, "a token for {name}");
    }
}

#[test]
fn what_asks_nobody_is_done_in_nobodys_name() {
    let stage = Stage::new();
    let seen = stage.ada_seen();
    let stream = &mut connect(stage.served.address());
    let anothers = [("Inbox-Session", "ada-1")];
    let body = r#"{"agent":"ben"}"#;
    let made = stage.call(stream, "/v1/token-create", &anothers, body);
    assert_eq!(made.status, 200, "{}", made.body);
    let made: Value = serde_json::from_str(&made.body).expect("JSON");
    let body = json!({ "id": made["token"]["token_id"] }).to_string();
    let revoked = stage.call(stream, "/v1/token-revoke", &anothers, &body);
    assert_eq!(revoked.status, 200, "{}", revoked.body);
    assert_eq!(stage.ada_seen(), seen, "she was not there");
    // Nor does who waits beside her session keep it alive.
    let store = Store::open(&Location::File(stage.served.desk.store())).expect("it opens");
    let inbox = Inbox::new(store);
    let beside = |agent: &str| Caller {
        session: Some("ada-1".parse().expect("an id")),
        auth: Auth::Token,
        ..Caller::local(agent.parse().ok())
    };
    inbox.beat(&beside("lead")).expect("it is no error");
    assert_eq!(stage.ada_seen(), seen, "it is not his");
    inbox.beat(&beside("ada")).expect("it is her own");
    assert_ne!(stage.ada_seen(), seen);
}

#[test]
fn mail_that_is_taken_in_from_elsewhere_proves_nobody() {
    let stage = Stage::new();
    let stream = &mut connect(stage.served.address());
    let message = |number: usize, from: &str| {
        json!({ "place": "line 1", "uid": format!("0190c0de-0000-7000-8000-{number:012}"), "from": from, "to": ["lead"],
            "created_at": "2026-01-01T00:00:00.000Z", "subject": "believe me", "body": "b" })
    };
    let messages: Vec<_> = (OTHERS.iter().enumerate())
        .map(|(number, from)| message(number, from))
        .collect();
    let body = json!({ "batch": { "messages": messages } }).to_string();
    let answered = stage.call(stream, "/v1/import", &[], &body);
    assert_eq!(answered.status, 200, "{}", answered.body);
    let mail = stage.served.desk.ok("read --agent lead --limit 100");
    let mail = mail["messages"].as_array().expect("messages");
    assert!(!mail.is_empty());
    for message in mail {
        assert_eq!(message["verified"], false, "{message}");
    }
}

#[test]
fn a_message_shows_everywhere_how_its_sender_is_known() {
    let served = Served::start();
    let address = served.address();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", secret.as_str()),
    ];
    let body = r#"{"to":["bob"],"subject":"by token","kind":"question"}"#;
    let sent = exchange(address, &post("/v1/send", address, &headers, body));
    assert!(
        sent.body.contains(r#""verified":true,"auth":"token""#),
        "{}",
        sent.body
    );
    let local = "send --agent lead --to bob --subject local --kind question --json";
    served.desk.run(local.split_whitespace()).ok();
    let mail = served.desk.ok("read --agent bob");
    let messages = mail["messages"].as_array().unwrap();
    let known: Vec<_> = messages
        .iter()
        .map(|message| {
            (
                message["auth"].as_str().unwrap(),
                message["verified"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(known, [("token", true), ("local", false)]);
}

#[test]
fn a_claim_that_is_somebody_elses_needs_a_token_that_allows_it() {
    let served = Served::start();
    let address = served.address();
    let sent = "send --agent lead --to bob --subject work --json";
    let thread = served.desk.run(sent.split_whitespace()).ok()["thread"]["thread_id"].clone();
    let body = format!(r#"{{"thread":{thread}}}"#);
    for (more, status) in [("", 403), ("--scope write --scope override", 200)] {
        let secret = format!("Bearer {}", served.token("eve", more));
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", secret.as_str()),
        ];
        let answered = exchange(address, &post("/v1/claim", address, &headers, &body));
        assert_eq!(answered.status, status, "{more}: {}", answered.body);
    }
}

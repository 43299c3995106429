//! Over HTTP a sender is who its token says, whatever else it says.

use super::Served;
use super::raw::{exchange, post};

/// Whom one may want to pass for.
const OTHERS: [&str; 12] = [
    "lead",
    "human",
    "HUMAN",
    "Human",
    "system",
    "runner",
    "hum\u{0430}n",
    " human",
    "human ",
    "eve2",
    "all",
    "ev\u{0435}",
];

/// Where one may want to say it.
const FIELDS: [&str; 8] = [
    "from",
    "from_agent",
    "agent",
    "agent_id",
    "sender",
    "caller",
    "auth",
    "created_by",
];

#[test]
fn nobody_passes_for_another_or_for_the_person() {
    let served = Served::start();
    let address = served.address();
    let secret = format!(
        "Bearer {}",
        served.token("eve", "--scope read --scope write --scope override")
    );
    let mut accepted = 0;
    for other in OTHERS {
        let json = serde_json::to_string(other).unwrap();
        for field in FIELDS {
            let body = format!(r#"{{"to":["bob"],"subject":"x","{field}":{json}}}"#);
            let headers = [
                ("Content-Type", "application/json"),
                ("Authorization", secret.as_str()),
            ];
            let answered = exchange(address, &post("/v1/send", address, &headers, &body));
            assert_eq!(answered.status, 400, "{field} {other:?}: {}", answered.body);
        }
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", secret.as_str()),
            ("Inbox-Agent", other),
        ];
        let request = post(
            "/v1/send",
            address,
            &headers,
            r#"{"to":["bob"],"subject":"x"}"#,
        );
        let answered = exchange(address, &request);
        assert!(
            matches!(answered.status, 400 | 403),
            "{other:?}: {}",
            answered.body
        );
        accepted += u32::from(answered.status == 200);
    }
    assert_eq!(accepted, 0);
    let listed = served.desk.ok("list");
    assert_eq!(listed["threads"], serde_json::json!([]));
    for name in ["human", "system", "runner", "all", "Human", "hum\u{0430}n"] {
        let outcome = served
            .desk
            .run(["token", "create", "--agent", name, "--json"]);
        assert_ne!(outcome.code, 0, "a token for {name}");
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

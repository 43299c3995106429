//! One scenario by the command line, by the command line through a server, and by HTTP itself: one answer.

use inbox_testkit::sandbox::{Outcome, Sandbox};
use serde_json::{Value, json};

use super::raw::{exchange, post};
use super::{Served, token};
use crate::INBOX;

/// What a token needs to do everything.
const ALL: &str = "--scope read --scope write --scope override --scope admin";

/// A step: who takes it, the words of the command line, and the same as a path and a body.
type Step = (&'static str, &'static str, &'static str, &'static str);

/// `LEASE` and `THREAD` stand for what was given before.
const STORY: &[Step] = &[
    (
        "lead",
        "send --to worker --subject Review --body please --priority high",
        "send",
        r#"{"to":["worker"],"subject":"Review","body":"please","priority":"high"}"#,
    ),
    ("worker", "fetch", "fetch", "{}"),
    (
        "worker",
        "claim --lease-seconds 600",
        "claim",
        r#"{"lease_seconds":600}"#,
    ),
    ("worker", "claim", "claim", "{}"),
    (
        "lead",
        "claim --thread thr_1",
        "claim",
        r#"{"thread":"thr_1"}"#,
    ),
    (
        "worker",
        "update --thread thr_1 --lease LEASE --status blocked --summary which~branch",
        "update",
        r#"{"thread":"thr_1","status":"blocked","summary":"which branch"}"#,
    ),
    (
        "lead",
        "reply --thread thr_1 --summary main",
        "reply",
        r#"{"thread":"thr_1","summary":"main"}"#,
    ),
    (
        "worker",
        "wait-reply --thread thr_1 --timeout-seconds 0",
        "wait-reply",
        r#"{"thread":"thr_1","timeout_seconds":0}"#,
    ),
    (
        "worker",
        "done --thread thr_1 --lease LEASE --summary reviewed --payload-json {\"n\":1e2}",
        "done",
        r#"{"thread":"thr_1","summary":"reviewed","payload_json":{"n":1e2}}"#,
    ),
    (
        "worker",
        "done --thread thr_1 --lease LEASE --summary again",
        "done",
        r#"{"thread":"thr_1","summary":"again"}"#,
    ),
    ("lead", "read", "read", "{}"),
    ("lead", "read", "read", "{}"),
    (
        "lead",
        "ack --message msg_4",
        "ack",
        r#"{"message":["msg_4"]}"#,
    ),
    (
        "lead",
        "show --thread thr_1",
        "show",
        r#"{"thread":"thr_1"}"#,
    ),
    (
        "lead",
        "list --status done",
        "list",
        r#"{"status":["done"]}"#,
    ),
    (
        "lead",
        "watch --after-event 0 --timeout-seconds 0",
        "watch",
        r#"{"after_event":0,"timeout_seconds":0}"#,
    ),
    (
        "lead",
        "search reviewed",
        "search",
        r#"{"query":"reviewed"}"#,
    ),
    (
        "lead",
        "receipts --message msg_1",
        "receipts",
        r#"{"message":"msg_1"}"#,
    ),
    (
        "lead",
        "session start --session s-1 --role reviewer",
        "session-start",
        r#"{"role":["reviewer"]}"#,
    ),
    ("lead", "session list", "session-list", "{}"),
    (
        "lead",
        "note --ref-type task --ref-id T-1 --summary noted",
        "note",
        r#"{"ref_type":"task","ref_id":"T-1","summary":"noted"}"#,
    ),
    ("lead", "dead-letters", "dead-letters", "{}"),
    // What is wrong is wrong everywhere, by the same code.
    (
        "lead",
        "send --subject nobody",
        "send",
        r#"{"subject":"nobody"}"#,
    ),
    ("lead", "send --to worker", "send", r#"{"to":["worker"]}"#),
    (
        "lead",
        "send --to not/a/name --subject x",
        "send",
        r#"{"to":["not/a/name"],"subject":"x"}"#,
    ),
    (
        "lead",
        "send --to worker --subject x --priority soon",
        "send",
        r#"{"to":["worker"],"subject":"x","priority":"soon"}"#,
    ),
    (
        "lead",
        "show --thread thr_999",
        "show",
        r#"{"thread":"thr_999"}"#,
    ),
    (
        "lead",
        "show --thread nonsense",
        "show",
        r#"{"thread":"nonsense"}"#,
    ),
    (
        "lead",
        "ack --message msg_999",
        "ack",
        r#"{"message":["msg_999"]}"#,
    ),
    (
        "lead",
        "claim --lease-seconds 0",
        "claim",
        r#"{"lease_seconds":0}"#,
    ),
    (
        "lead",
        "update --thread thr_1 --summary late",
        "update",
        r#"{"thread":"thr_1","summary":"late"}"#,
    ),
    (
        "lead",
        "cancel --thread thr_1",
        "cancel",
        r#"{"thread":"thr_1"}"#,
    ),
    ("lead", "list --limit 0", "list", r#"{"limit":0}"#),
    (
        "lead",
        "agent show nobody",
        "agent-show",
        r#"{"slug":"nobody"}"#,
    ),
];

/// What differs from run to run, made the same: times, uids, secrets, and how a sender is known.
fn settled(value: &mut Value, key: &str) {
    match value {
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| settled(value, key)),
        Value::Array(list) => list.iter_mut().for_each(|value| settled(value, key)),
        Value::Null => {}
        value if key.ends_with("_at") || matches!(key, "uid" | "lease_token" | "at") => {
            *value = json!("…");
        }
        value if matches!(key, "auth" | "verified") => *value = json!("…"),
        _ => {}
    }
}

/// The answer, or of a refusal its code.
fn outcome(mut answer: Value) -> Value {
    if answer["ok"] == false {
        return answer["error"]["code"].clone();
    }
    settled(&mut answer, "");
    answer
}

fn words<'a>(step: &'a Step, lease: &'a str) -> Vec<String> {
    let fill = |word: &str| word.replace("LEASE", lease).replace('~', " ");
    step.1.split(' ').map(fill).collect()
}

fn by_command(desk: &Sandbox, agent: bool, step: &Step, lease: &str, more: &[&str]) -> Outcome {
    let mut words = words(step, lease);
    words.push("--json".to_owned());
    if agent && !step.1.starts_with("list") && !step.1.starts_with("watch") {
        words.extend(["--agent".to_owned(), step.0.to_owned()]);
    }
    words.extend(more.iter().map(|&word| word.to_owned()));
    desk.run(words)
}

/// The lease that an answer gives.
fn lease_of(answer: &Value) -> Option<String> {
    answer["lease"]["lease_token"].as_str().map(str::to_owned)
}

#[test]
fn one_scenario_gives_the_same_json_and_the_same_codes_on_every_way_in() {
    let near = Sandbox::new(INBOX);
    let through = Served::start();
    let plain = Served::start();
    let mut leases = [String::new(), String::new(), String::new()];
    for step in STORY {
        let local = by_command(&near, true, step, &leases[0], &[]);
        let mut client = Sandbox::empty(INBOX);
        client.set("INBOX_TOKEN", &token(&through.desk, step.0, ALL));
        let far = by_command(&client, true, step, &leases[1], &["--db", &through.url]);
        assert_eq!(far.code, local.code, "{}: {far}", step.1);
        let ways: [Value; 3] = [local.json(), far.json(), {
            let secret = token(&plain.desk, step.0, ALL);
            let secret = format!("Bearer {secret}");
            let mut headers = vec![
                ("Content-Type", "application/json"),
                ("Authorization", secret.as_str()),
            ];
            if step.1.contains("LEASE") {
                headers.push(("Inbox-Lease", leases[2].as_str()));
            }
            if step.1.contains("--session s-1") {
                headers.push(("Inbox-Session", "s-1"));
            }
            // As the command line does it, which names the agent wherever it is asked for.
            if !step.1.starts_with("list") && !step.1.starts_with("watch") {
                headers.push(("Inbox-Agent", step.0));
            }
            let address = plain.address();
            let answered = exchange(
                address,
                &post(&format!("/v1/{}", step.2), address, &headers, step.3),
            );
            serde_json::from_str(&answered.body).expect("JSON")
        }];
        for (lease, answer) in leases.iter_mut().zip(&ways) {
            if let Some(given) = lease_of(answer) {
                *lease = given;
            }
        }
        let [near, through, plain] = ways.map(outcome);
        assert_eq!(through, near, "{}", step.1);
        assert_eq!(plain, near, "{}", step.1);
    }
}

#[test]
fn malformed_input_is_refused_with_a_code_and_leaves_nothing() {
    let served = Served::start();
    let address = served.address();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let bodies = [
        "",
        " ",
        "null",
        "[]",
        "1",
        "\"x\"",
        "{",
        "{}}",
        "{\"to\":}",
        "{'to':1}",
        "\u{feff}{}",
        r#"{"to":["bob"],"to":["eve"],"subject":"x"}"#,
        r#"{"to":["bob"],"subject":"x","payload_json":{"a":1,"a":2}}"#,
        r#"{"to":"bob","subject":"x"}"#,
        r#"{"to":[null],"subject":"x"}"#,
        r#"{"to":["bob"],"subject":1}"#,
        r#"{"to":["bob"],"subject":"\ud800"}"#,
        r#"{"to":["bob"],"subject":"x","unknown":true}"#,
        deep.as_str(),
    ];
    for body in bodies {
        let headers = [
            ("Content-Type", "application/json"),
            ("Authorization", secret.as_str()),
        ];
        let answered = exchange(address, &post("/v1/send", address, &headers, body));
        assert_eq!(answered.status, 400, "{body:?}: {}", answered.body);
        let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
        assert_eq!(answer["error"]["code"], "invalid_input", "{body:?}");
    }
    let mut bytes = post(
        "/v1/send",
        address,
        &[
            ("Content-Type", "application/json"),
            ("Authorization", &secret),
        ],
        "{\"ab\":1}",
    );
    let end = bytes.len();
    bytes[end - 5] = 0xff;
    assert_eq!(exchange(address, &bytes).status, 400);
    assert_eq!(
        served.desk.run(["list", "--json"]).ok()["threads"],
        json!([])
    );
}

#[test]
fn a_client_says_when_there_is_no_server_or_another_one() {
    let mut client = Sandbox::empty(INBOX);
    client.set("INBOX_TOKEN", "inbox_x");
    let away = ["list", "--json", "--db", "http://127.0.0.1:9"];
    let refused = client.run(away).refused(50, "storage");
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("cannot reach the server")
    );
    for bad in [
        "http://",
        "http://user:secret@127.0.0.1:9",
        "http://127.0.0.1:9/path",
        "https://h:1?token=x",
    ] {
        let refused = client
            .run(["list", "--json", "--db", bad])
            .refused(30, "invalid_input");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
    for local in ["backup --to x.db", "init", "serve"] {
        let mut words: Vec<_> = local.split(' ').collect();
        words.extend(["--json", "--db", "http://127.0.0.1:9"]);
        let refused = client.run(words).refused(30, "invalid_input");
        assert!(
            refused["error"]["hint"]
                .as_str()
                .unwrap()
                .contains("where the server runs"),
            "{local}"
        );
    }
}

//! `/mcp`: the same tools over HTTP, as the agent of the token and as nobody else.

use serde_json::{Value, json};

use super::Served;
use super::load::metric;
use super::raw::{Answered, exchange, post};
use super::spoof::OTHERS;
use crate::security::canary::paths::TOOLS;

fn ask(
    served: &Served,
    secret: &str,
    more: &[(&str, &str)],
    method: &str,
    params: &Value,
) -> Answered {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let bearer = format!("Bearer {secret}");
    let mut headers = vec![
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Authorization", &bearer),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", method),
    ];
    let name = params["name"].as_str().unwrap_or_default().to_owned();
    if method == "tools/call" {
        headers.push(("Mcp-Name", &name));
    }
    headers.extend(more);
    exchange(
        served.address(),
        &post("/mcp", served.address(), &headers, &body),
    )
}

#[track_caller]
fn call(served: &Served, secret: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    let answered = ask(served, secret, &[], "tools/call", &params);
    assert_eq!(answered.status, 200, "{}", answered.body);
    let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].clone()
}

#[test]
fn the_sender_is_the_tokens_agent_and_verified() {
    let served = Served::start();
    let secret = served.token("quinn", "");
    let hello = json!({ "to_agent": "ada", "subject": "Hello" });
    let sent = call(&served, &secret, "send_message", &hello)["structuredContent"].clone();
    assert_eq!(sent["message"]["from_agent"], "quinn");
    assert_eq!(sent["message"]["auth"], "token");
    assert_eq!(sent["message"]["verified"], true);
    for name in ["ada", "human", "system"] {
        let mut spoofed = hello.clone();
        spoofed["from_agent"] = name.into();
        let refused = call(&served, &secret, "send_message", &spoofed);
        assert_eq!(refused["isError"], true);
        assert_eq!(
            refused["structuredContent"]["error"]["code"], "not_allowed",
            "{refused}"
        );
    }
    let threads = served.desk.ok("list")["threads"].clone();
    assert_eq!(threads.as_array().map(Vec::len), Some(1));
    // What it shows says so, and what came from a shell says the opposite.
    served.desk.ok("send --from bob --to quinn --subject Hi");
    let mail = call(&served, &secret, "check_inbox", &json!({}));
    assert!(
        mail["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("bob (unverified)")
    );
    let own = call(
        &served,
        &secret,
        "show_threads",
        &json!({ "thread_id": "thr_1" }),
    );
    assert!(
        own["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("quinn event:"),
        "{own}"
    );
}

#[test]
fn by_no_tool_anybody_passes_for_another() {
    let served = Served::start();
    served.desk.ok("session start --agent ada --session ada-1");
    served.desk.ok("send --from ada --to lead --subject Work");
    let before = served.desk.ok("watch --after-event 0 --timeout-seconds 0")["events"].clone();
    let secret = served.token("lead", "--scope read --scope write --scope override");
    for (tool, arguments) in TOOLS {
        let arguments = arguments.replace("HELD", "thr_1");
        let arguments: Value = serde_json::from_str(&arguments).unwrap();
        for other in OTHERS.into_iter().filter(|other| *other != "LEAD") {
            let mut spoofed = arguments.clone();
            spoofed["from_agent"] = other.into();
            let refused = call(&served, &secret, tool, &spoofed);
            assert_eq!(refused["isError"], true, "{tool} {other:?}: {refused}");
        }
        // What is shown to everybody asks for no name.
        if tool == "show_threads" {
            continue;
        }
        let params = json!({ "name": tool, "arguments": arguments });
        let anothers = [("Inbox-Session", "ada-1")];
        let answered = ask(&served, &secret, &anothers, "tools/call", &params);
        let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
    }
    assert_eq!(
        served.desk.ok("watch --after-event 0 --timeout-seconds 0")["events"].clone(),
        before
    );
}

#[test]
fn a_stranger_learns_nothing_and_another_page_does_nothing() {
    let served = Served::start();
    let secret = served.token("quinn", "");
    assert_eq!(
        ask(&served, "nonsense", &[], "tools/list", &json!({})).status,
        401
    );
    let listed = ask(
        &served,
        &secret,
        &[("Origin", "http://evil.example")],
        "tools/list",
        &json!({}),
    );
    assert_eq!(listed.status, 403);
    let listed = ask(&served, &secret, &[], "tools/list", &json!({}));
    assert_eq!(listed.status, 200, "{}", listed.body);
    assert!(
        listed
            .head
            .to_ascii_lowercase()
            .contains("cache-control: no-store"),
        "{}",
        listed.head
    );
    assert!(
        !listed.head.to_ascii_lowercase().contains("mcp-session-id"),
        "{}",
        listed.head
    );
}

#[test]
fn a_token_that_may_only_read_reads() {
    let served = Served::start();
    let secret = served.token("quinn", "--scope read");
    assert_eq!(
        call(&served, &secret, "show_threads", &json!({}))["isError"],
        false
    );
    for (tool, arguments) in [
        ("send_message", json!({ "to_agent": "ada", "subject": "x" })),
        ("claim_work", json!({})),
        (
            "post_note",
            json!({ "entity_id": "T4", "entity_type": "task", "note": "x" }),
        ),
    ] {
        let refused = call(&served, &secret, tool, &arguments);
        assert_eq!(
            refused["structuredContent"]["error"]["code"], "not_allowed",
            "{tool}: {refused}"
        );
    }
}

#[test]
fn two_who_share_a_token_do_not_share_their_leases() {
    let served = Served::start();
    let secret = served.token("quinn", "");
    served.desk.ok("send --from ada --to quinn --subject Build");
    // The name has claimed this thread before, so that it alone proves nothing.
    for command in ["claim", "release"] {
        served
            .desk
            .ok(&format!("{command} --agent quinn --thread thr_1"));
    }
    let claimed = call(&served, &secret, "claim_work", &json!({}));
    let token = claimed["structuredContent"]["lease"]["lease_token"]
        .as_str()
        .unwrap();
    // Nobody keeps it, so the model is told.
    assert!(
        claimed["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains(token)
    );
    let mut going_on = json!({ "thread_id": "thr_1", "summary": "Going on" });
    let refused = call(&served, &secret, "update_work", &going_on);
    assert_eq!(
        refused["structuredContent"]["error"]["code"], "lease_lost",
        "{refused}"
    );
    going_on["lease_token"] = token.into();
    let updated = call(&served, &secret, "update_work", &going_on);
    assert_eq!(
        updated["structuredContent"]["thread"]["status"],
        "in_progress"
    );
}

#[test]
fn calls_are_counted_by_their_operations() {
    let served = Served::start();
    let secret = served.token("quinn", "");
    call(
        &served,
        &secret,
        "send_message",
        &json!({ "to_agent": "ada", "subject": "Hi" }),
    );
    call(
        &served,
        &secret,
        "show_threads",
        &json!({ "thread_id": "thr_9" }),
    );
    call(
        &served,
        &secret,
        "ask",
        &json!({ "to_agent": "ada", "question": "Well?", "wait_seconds": 0 }),
    );
    let bearer = format!("Bearer {secret}");
    let count = |name: &str, outcome: &str| {
        let name = format!("inbox_operations_total{{operation=\"{name}\",outcome=\"{outcome}\"}}");
        metric(&served, &bearer, &name)
    };
    assert_eq!(count("send", "ok"), 2);
    assert_eq!(count("show", "refused"), 1);
    assert_eq!(count("wait-reply", "ok"), 1);
    assert_eq!(count("show", "ok"), 0);
}

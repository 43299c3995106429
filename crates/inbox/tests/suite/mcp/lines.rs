//! The protocol itself: what is not a message, sessions of both revisions, and the end of the input.

use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::{Client, meta};
use crate::INBOX;

#[test]
fn a_session_of_2025_11_25_begins_with_initialize() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut client = Client::raw(&sandbox, &["mcp", "--agent", "quinn"], &[]);
    let hello = client.greet("test");
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["serverInfo"]["name"], "inbox");
    assert_eq!(
        hello["result"]["capabilities"]["resources"]["subscribe"],
        true
    );
    let result = client.result("check_inbox", &json!({}));
    assert!(result.get("resultType").is_none(), "{result}");
    let (_, status) = client.close();
    assert_eq!(status, 0);
}

#[test]
fn requests_of_2026_07_28_stand_alone() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut client = Client::stateless(&sandbox, "quinn");
    let id = client.request("server/discover", &json!({}));
    let found = client.answer(id)["result"].clone();
    let versions = found["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&"2026-07-28".into()) && versions.contains(&"2025-11-25".into()));
    let id = client.request("tools/list", &json!({}));
    assert_eq!(client.answer(id)["result"]["resultType"], "complete");
    let result = client.result(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "Hello" }),
    );
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"]["message"]["kind"], "event");
    // Without its metadata a request of this revision is none.
    client.line(&json!({ "jsonrpc": "2.0", "id": 99, "method": "tools/list" }).to_string());
    assert_eq!(client.answer(99)["error"]["code"], -32602);
    // A method of the older revision is not there.
    let id = client.request("resources/subscribe", &json!({ "uri": "inbox://inbox" }));
    assert_eq!(client.answer(id)["error"]["code"], -32601);
}

#[test]
fn a_client_may_ask_for_the_new_revision_and_go_on_with_the_old_one() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut client = Client::raw(&sandbox, &["mcp", "--agent", "quinn"], &[]);
    let probe = json!({ "jsonrpc": "2.0", "id": 77, "method": "server/discover", "params": { "_meta": meta() } });
    client.line(&probe.to_string());
    assert!(client.answer(77).get("result").is_some());
    // A notice that means nothing yet is no reason to stop.
    client.line(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }).to_string());
    assert_eq!(
        client.greet("test")["result"]["protocolVersion"],
        "2025-11-25"
    );
}

#[test]
fn every_bad_line_gets_an_error_and_the_server_goes_on() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut client = Client::start(&sandbox, "quinn");
    for (line, code) in [
        ("not json", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":", -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}]",
            -32600,
        ),
        ("17", -32600),
        ("null", -32600),
        ("{}", -32600),
    ] {
        client.line(line);
        assert_eq!(client.complaint()["error"]["code"], code, "{line}");
    }
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    client.line(&deep);
    assert_eq!(client.complaint()["error"]["code"], -32700);
    for (method, params, code) in [
        ("tools/call", json!({ "name": 5 }), -32602),
        (
            "tools/call",
            json!({ "name": "check_inbox", "arguments": [1] }),
            -32602,
        ),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": "launch_missiles" }), -32602),
        ("resources/read", json!({ "uri": 1 }), -32602),
        ("prompts/launch", json!({}), -32601),
    ] {
        let id = client.request(method, &params);
        assert_eq!(
            client.answer(id)["error"]["code"],
            code,
            "{method} {params}"
        );
    }
    client.line("");
    let id = client.request("ping", &json!({}));
    assert_eq!(client.answer(id)["result"], json!({}));
}

#[test]
fn a_line_that_has_no_end_is_not_kept() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut client = Client::start(&sandbox, "quinn");
    client.line(&"x".repeat((16 << 20) + 10));
    assert_eq!(client.complaint()["error"]["code"], -32600);
    let id = client.request("ping", &json!({}));
    assert_eq!(client.answer(id)["result"], json!({}));
}

#[test]
fn the_end_of_the_input_ends_the_process_after_its_answers() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut client = Client::start(&sandbox, "quinn");
    let ids: Vec<i64> = (0..20)
        .map(|n| {
            client.begin(
                "send_message",
                &json!({ "to_agent": "ada", "subject": format!("{n}") }),
            )
        })
        .collect();
    let waiting = client.begin("check_inbox", &json!({ "wait_seconds": 600 }));
    let (said, status) = client.close();
    assert_eq!(status, 0);
    for id in ids {
        let answer = said.iter().find(|said| said["id"] == id);
        assert!(
            answer.is_some_and(|answer| answer["result"]["isError"] == false),
            "{id}"
        );
    }
    // The wait ends with what there is.
    let answer = said.iter().find(|said| said["id"] == waiting).unwrap();
    assert_eq!(answer["result"]["structuredContent"]["messages"], json!([]));
    let count = sandbox.ok("list")["threads"].as_array().map(Vec::len);
    assert_eq!(count, Some(20));
}

#[test]
fn nothing_said_at_all_is_a_good_end_too() {
    let sandbox = Sandbox::in_memory(INBOX);
    let client = Client::raw(&sandbox, &["mcp"], &[]);
    assert_eq!(client.close(), (Vec::<Value>::new(), 0));
}

#[test]
fn a_store_may_come_and_go_while_the_server_runs() {
    let sandbox = Sandbox::empty(INBOX);
    let mut client = Client::start(&sandbox, "quinn");
    for (tool, arguments) in [
        ("check_inbox", json!({})),
        ("check_inbox", json!({ "wait_seconds": 600 })),
        ("send_message", json!({ "to_agent": "ada", "subject": "x" })),
    ] {
        let result = client.result(tool, &arguments);
        assert_eq!(result["isError"], true);
        let error = &result["structuredContent"]["error"];
        assert_eq!(error["code"], "store_not_found");
        assert!(
            error["hint"].as_str().unwrap().starts_with("inbox init"),
            "{error}"
        );
    }
    sandbox.ok("init");
    let sent = client.call(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "first" }),
    );
    assert_eq!(sent["thread"]["subject"], "first");
    // A store that was deleted takes no writes that nobody sees.
    std::fs::remove_dir_all(sandbox.folder().join(".agents")).unwrap();
    let refused = client.call(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "lost" }),
    );
    assert_eq!(refused["error"]["code"], "store_not_found");
    sandbox.ok("init");
    client.call(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "second" }),
    );
    let threads = sandbox.ok("list")["threads"].clone();
    assert_eq!(threads[0]["subject"], "second");
    assert_eq!(threads.as_array().map(Vec::len), Some(1));
}

#[test]
fn a_patience_that_is_none_is_refused() {
    let sandbox = Sandbox::in_memory(INBOX);
    for patience in ["0", "601", "soon"] {
        sandbox
            .run(["mcp", "--patience", patience, "--json"])
            .refused(30, "invalid_input");
    }
}

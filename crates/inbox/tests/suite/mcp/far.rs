//! `inbox mcp` at a server: the same tools and answers, as the agent of the token.

use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::{Client, settled};
use crate::INBOX;
use crate::server::Served;

/// A program on another machine than the store, for the agent of a token.
struct Elsewhere {
    served: Served,
    here: Sandbox,
}

impl Elsewhere {
    fn on(desk: Sandbox) -> Self {
        let served = Served::on(desk);
        let mut here = Sandbox::empty(INBOX);
        here.set("INBOX_DB", &served.url);
        here.set("INBOX_TOKEN", &served.token("quinn", ""));
        Elsewhere { served, here }
    }

    fn start() -> Self {
        Elsewhere::on(Sandbox::new(INBOX))
    }

    /// Somebody beside the server.
    fn ada(&self, line: &str) -> Value {
        let words = line.split(' ').chain(["--from", "ada", "--json"]);
        self.served.desk.run(words).ok()
    }

    /// A client that names nobody: the token does.
    fn client(&self) -> Client {
        let mut client = Client::raw(&self.here, &["mcp"], &[]);
        client.greet("test");
        client
    }
}

/// Who is known by a token is shown as verified; in all else there is no difference.
fn unverified(mut answer: Value) -> Value {
    fn forget(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.shift_remove("verified");
                map.shift_remove("auth");
                map.values_mut().for_each(forget);
            }
            Value::Array(items) => items.iter_mut().for_each(forget),
            _ => {}
        }
    }
    forget(&mut answer);
    settled(answer)
}

#[test]
fn the_same_story_gives_the_same_answers_here_and_there() {
    let frozen = || {
        let mut desk = Sandbox::in_memory(INBOX);
        desk.set("INBOX_NOW", "2026-01-01T00:00:00Z");
        desk
    };
    let here = frozen();
    let there = Elsewhere::on(frozen());
    let mut near = Client::start(&here, "quinn");
    let mut far = there.client();
    for desk in [&here, &there.served.desk] {
        let line = "send --from ada --to quinn --subject Posts --json";
        desk.run(line.split(' ')).ok();
    }
    for (tool, arguments) in [
        ("check_inbox", json!({})),
        ("check_inbox", json!({ "ack": ["msg_1"] })),
        ("claim_work", json!({})),
        ("claim_work", json!({})),
        // Without a token: what was claimed here is proven here.
        (
            "update_work",
            json!({ "thread_id": "thr_1", "summary": "Going on" }),
        ),
        (
            "ask",
            json!({ "thread_id": "thr_1", "question": "Who?", "wait_seconds": 0 }),
        ),
        ("ask", json!({ "thread_id": "thr_1", "wait_seconds": 0 })),
        (
            "send_message",
            json!({ "to_agent": "ada", "subject": "Hello" }),
        ),
        ("reply", json!({ "thread_id": "thr_2", "summary": "More" })),
        (
            "post_note",
            json!({ "entity_id": "Fix T4", "entity_type": "task", "note": "Half" }),
        ),
        ("show_threads", json!({})),
        ("show_threads", json!({ "thread_id": "thr_1" })),
        ("show_threads", json!({ "query": "hello" })),
        ("show_threads", json!({ "thread_id": "thr_9" })),
        (
            "send_message",
            json!({ "to_agent": "ada", "subject": "Hi", "from_agent": "bob" }),
        ),
        (
            "send_message",
            json!({ "to_agent": "ada", "subject": "Hi", "nonsense": 1 }),
        ),
        (
            "update_work",
            json!({ "thread_id": "thr_1", "status": "done", "summary": "In" }),
        ),
        (
            "update_work",
            json!({ "thread_id": "thr_1", "summary": "More" }),
        ),
    ] {
        let (near, far) = (near.call(tool, &arguments), far.call(tool, &arguments));
        if arguments.get("from_agent").is_some() {
            // Both refuse, each with who is known to be calling.
            assert_eq!(near["error"]["code"], "not_allowed", "{near}");
            assert_eq!(far["error"]["code"], "not_allowed", "{far}");
            continue;
        }
        assert_eq!(unverified(far), unverified(near), "{tool} {arguments}");
    }
}

#[test]
fn what_waits_is_woken_by_what_happens_at_the_server() {
    let elsewhere = Elsewhere::start();
    let mut client = elsewhere.client();
    let wait = |tool: &str| {
        json!({
            "name": tool,
            "arguments": { "wait_seconds": 600 },
            "_meta": { "progressToken": 1 },
        })
    };
    let waiting = client.request("tools/call", &wait("check_inbox"));
    client.notice("notifications/progress");
    elsewhere.ada("send --to quinn --subject News --kind event");
    let mail = client.end(waiting)["structuredContent"].clone();
    assert_eq!(mail["messages"][0]["summary"], "News", "{mail}");
    let asking = client.begin(
        "ask",
        &json!({ "to_agent": "ada", "question": "Ready?", "wait_seconds": 600 }),
    );
    let asked = elsewhere.ada_hears();
    elsewhere.ada(&format!("reply --thread {asked} --summary Yes"));
    let answer = client.end(asking)["structuredContent"].clone();
    assert_eq!(answer["message"]["summary"], "Yes", "{answer}");
    // Nobody waits for a wait that is not over when the client goes.
    client.request("tools/call", &wait("claim_work"));
    client.notice("notifications/progress");
    assert_eq!(client.close().1, 0);
}

impl Elsewhere {
    /// Waits for a question to ada, and gives its thread.
    fn ada_hears(&self) -> String {
        loop {
            let mail = self.served.desk.run(["read", "--agent", "ada", "--json"]);
            if mail.code == 0 {
                let thread = mail.ok()["messages"][0]["thread_id"].clone();
                return thread.as_str().expect("a thread").to_owned();
            }
            let watch = [
                "watch",
                "--agent",
                "ada",
                "--timeout-seconds",
                "1",
                "--json",
            ];
            let _ = self.served.desk.run(watch);
        }
    }
}

#[test]
fn without_a_server_or_a_token_a_tool_says_what_to_do() {
    let mut nowhere = Sandbox::empty(INBOX);
    nowhere.set("INBOX_DB", "http://127.0.0.1:1");
    let mut client = Client::raw(&nowhere, &["mcp"], &[]);
    client.greet("test");
    let refused = client.call("check_inbox", &json!({}));
    assert_eq!(refused["error"]["code"], "unauthorized", "{refused}");
    let mut client = Client::raw(&nowhere, &["mcp"], &[("INBOX_TOKEN", "ibx_x")]);
    client.greet("test");
    let refused = client.call("check_inbox", &json!({}));
    assert_eq!(refused["error"]["code"], "storage", "{refused}");
    let served = Served::start();
    let mut stranger = Sandbox::empty(INBOX);
    stranger.set("INBOX_DB", &served.url);
    let token = stranger.folder().join("token");
    let write = |text: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&token, text).expect("a file");
        std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).expect("a mode");
    };
    write("ibx_nonsense");
    stranger.set("INBOX_TOKEN_FILE", &token.display().to_string());
    let mut client = Client::raw(&stranger, &["mcp"], &[]);
    client.greet("test");
    let refused = client.call("check_inbox", &json!({}));
    assert_eq!(refused["error"]["code"], "unauthorized", "{refused}");
    // A token that is made meanwhile is found.
    write(&served.token("quinn", ""));
    let mail = client.call("check_inbox", &json!({}));
    assert_eq!(mail["ok"], true, "{mail}");
}

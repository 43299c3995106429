//! The same question through the command line and through MCP: the same JSON, the same error codes.

use inbox_testkit::sandbox::{Sandbox, words};
use serde_json::{Value, json};

use super::client::{Client, settled};
use crate::INBOX;

/// Two stores at one moment: one for each surface.
struct Both {
    cli: Sandbox,
    mcp: Sandbox,
}

impl Both {
    fn new() -> Self {
        let store = || {
            let mut sandbox = Sandbox::in_memory(INBOX);
            sandbox.set("INBOX_NOW", "2026-01-01T00:00:00Z");
            sandbox
        };
        Both {
            cli: store(),
            mcp: store(),
        }
    }

    /// The other people of the story, on both stores.
    fn meanwhile(&self, line: &str) {
        for sandbox in [&self.cli, &self.mcp] {
            sandbox.run(words(line)).ok();
        }
    }

    /// What the command line answers.
    fn by_command(&self, agent: &str, line: &str) -> Value {
        let mut args = words(line);
        args.extend(["--agent".to_owned(), agent.to_owned()]);
        settled(self.cli.run(args).json())
    }
}

#[test]
fn a_story_told_through_both_surfaces_gives_the_same_json() {
    let both = Both::new();
    both.meanwhile("send --from ada --to quinn --subject Add~posts --body as~in~the~brief");
    both.meanwhile("send --from ada --to quinn --subject Hello --kind event --message-type fyi");
    let mut quinn = Client::start(&both.mcp, "quinn");
    let mut lease = String::new();
    let steps: [(&str, &str, Value); 13] = [
        ("read", "check_inbox", json!({})),
        ("read", "check_inbox", json!({})),
        ("claim", "claim_work", json!({})),
        ("claim", "claim_work", json!({})),
        (
            "renew --thread thr_1 --lease-seconds 60",
            "update_work",
            json!({"thread_id": "thr_1", "lease_seconds": 60}),
        ),
        (
            "update --thread thr_1 --summary Going~on",
            "update_work",
            json!({"thread_id": "thr_1", "summary": "Going on"}),
        ),
        (
            "note --ref task:T4 --note Half~done --notify ada",
            "post_note",
            json!({"entity_id": "T4", "entity_type": "task", "note": "Half done", "notify": ["ada"]}),
        ),
        (
            "reply --thread thr_2 --summary Hello~back",
            "reply",
            json!({"thread_id": "thr_2", "summary": "Hello back"}),
        ),
        (
            "done --thread thr_1 --summary Posts~are~in --payload-json {\"n\":1.50}",
            "update_work",
            json!({"thread_id": "thr_1", "status": "done", "summary": "Posts are in",
                   "payload": serde_json::from_str::<Value>("{\"n\":1.50}").unwrap()}),
        ),
        (
            "send --to role:architect --subject Review~this --kind event --message-type review.request --priority 2 --ref-type task --ref-id T4 --payload-json {\"a\":[1]}",
            "send_message",
            json!({"to_agent": "role:architect", "message_type": "review.request", "subject": "Review this",
                   "payload": {"a": [1]}, "ref_id": "T4", "ref_type": "task", "priority": 2}),
        ),
        (
            "show --thread thr_1",
            "show_threads",
            json!({"thread_id": "thr_1"}),
        ),
        (
            "list --status done,pending",
            "show_threads",
            json!({"status": "done,pending"}),
        ),
        ("search posts", "show_threads", json!({"query": "posts"})),
    ];
    for (line, tool, arguments) in steps {
        let is_held = ["renew", "update", "done"]
            .iter()
            .any(|verb| line.starts_with(verb));
        let line = if is_held {
            format!("{line} --lease {lease}")
        } else {
            line.to_owned()
        };
        let raw = {
            let mut args = words(&line);
            args.extend(["--agent".to_owned(), "quinn".to_owned()]);
            both.cli.run(args).json()
        };
        if let Some(token) = raw["lease"]["lease_token"].as_str() {
            token.clone_into(&mut lease);
        }
        // What the command line was not asked for: `list` and `search` know no caller.
        let by_tool = quinn.call(tool, &arguments);
        if line.starts_with("list") || line.starts_with("search") {
            let args = words(&line);
            assert_eq!(
                settled(by_tool),
                settled(both.cli.run(args).json()),
                "{line}"
            );
        } else {
            assert_eq!(settled(by_tool), settled(raw), "{line}");
        }
    }
}

#[test]
fn an_answer_that_was_waited_for_is_the_same_on_both_surfaces() {
    let both = Both::new();
    both.meanwhile("send --from ada --to quinn --subject Add~posts");
    let token = both.by_command("quinn", "claim --thread thr_1");
    assert_eq!(token["ok"], true);
    let mut quinn = Client::start(&both.mcp, "quinn");
    quinn.call("claim_work", &json!({ "thread_id": "thr_1" }));
    both.by_command(
        "quinn",
        "update --thread thr_1 --status blocked --summary Which~auth?",
    );
    let asking = quinn.request(
        "tools/call",
        &json!({
            "name": "ask",
            "arguments": { "thread_id": "thr_1", "question": "Which auth?", "wait_seconds": 600 },
            "_meta": { "progressToken": "p" },
        }),
    );
    quinn.notice("notifications/progress");
    both.meanwhile("reply --from ada --thread thr_1 --summary Email");
    let mut by_tool = quinn.end(asking)["structuredContent"].clone();
    let asked = by_tool
        .as_object_mut()
        .unwrap()
        .shift_remove("asked")
        .unwrap();
    assert_eq!(asked["thread_id"], "thr_1");
    assert!(
        asked["message_id"]
            .as_str()
            .is_some_and(|id| id.starts_with("msg_"))
    );
    let by_command = both.by_command("quinn", "wait-reply --thread thr_1 --timeout-seconds 0");
    assert_eq!(settled(by_tool), by_command);
}

#[test]
fn what_the_rules_refuse_is_refused_in_the_same_words() {
    let both = Both::new();
    both.meanwhile("send --from ada --to quinn --subject Add~posts");
    both.meanwhile("send --from ada --to quinn --subject Held");
    both.meanwhile("claim --agent bob --thread thr_2");
    let mut quinn = Client::start(&both.mcp, "quinn");
    let steps: [(&str, &str, Value, &str); 8] = [
        (
            "show --thread thr_zz",
            "show_threads",
            json!({"thread_id": "thr_zz"}),
            "thread_not_found",
        ),
        (
            "claim --thread thr_2",
            "claim_work",
            json!({"thread_id": "thr_2"}),
            "lease_conflict",
        ),
        (
            "done --thread thr_1 --summary x",
            "update_work",
            json!({"thread_id": "thr_1", "status": "done", "summary": "x"}),
            "invalid_transition",
        ),
        (
            "update --thread thr_2 --summary x",
            "update_work",
            json!({"thread_id": "thr_2", "summary": "x"}),
            "lease_conflict",
        ),
        (
            "ack msg_zz",
            "check_inbox",
            json!({"ack": ["msg_zz"]}),
            "message_not_found",
        ),
        (
            "done --thread thr_1 --summary x --lease lse_1_1_6cfqyrwe7qnde",
            "update_work",
            json!({"thread_id": "thr_1", "status": "done", "summary": "x", "lease_token": "lse_1_1_6cfqyrwe7qnde"}),
            "lease_lost",
        ),
        (
            "send --to ada --subject x --kind event --payload-json {\"wire\":\"9.9\",\"type\":\"brief\"}",
            "send_message",
            json!({"to_agent": "ada", "subject": "x", "payload": {"wire": "9.9", "type": "brief"}}),
            "unknown_version",
        ),
        (
            "reply --thread thr_1",
            "reply",
            json!({"thread_id": "thr_1"}),
            "invalid_input",
        ),
    ];
    for (line, tool, arguments, code) in steps {
        let by_command = both.by_command("quinn", line);
        assert_eq!(by_command["error"]["code"], code, "{line}: {by_command}");
        let result = quinn.result(tool, &arguments);
        assert_eq!(result["isError"], true, "{line}");
        assert_eq!(
            settled(result["structuredContent"].clone()),
            by_command,
            "{line}"
        );
    }
}

#[test]
fn malformed_arguments_are_refused_with_the_codes_of_the_command_line() {
    let both = Both::new();
    let mut quinn = Client::start(&both.mcp, "quinn");
    let long = "x".repeat(1_100_000);
    let steps: [(&str, &str, Value, &str); 12] = [
        (
            "show --thread nonsense",
            "show_threads",
            json!({"thread_id": "nonsense"}),
            "invalid_input",
        ),
        (
            "send --to ada",
            "send_message",
            json!({"to_agent": "ada"}),
            "invalid_input",
        ),
        (
            "send --subject x",
            "send_message",
            json!({"subject": "x"}),
            "invalid_input",
        ),
        (
            "send --to a~b --subject x",
            "send_message",
            json!({"to_agent": "a b", "subject": "x"}),
            "invalid_input",
        ),
        (
            "send --to ada --subject x --priority 9",
            "send_message",
            json!({"to_agent": "ada", "subject": "x", "priority": 9}),
            "invalid_input",
        ),
        (
            "send --to ada --subject x --kind wish",
            "send_message",
            json!({"to_agent": "ada", "subject": "x", "kind": "wish"}),
            "invalid_input",
        ),
        (
            "send --to ada --subject x --wish y",
            "send_message",
            json!({"to_agent": "ada", "subject": "x", "wish": "y"}),
            "invalid_input",
        ),
        (
            "update --thread thr_1 --status gone --summary x",
            "update_work",
            json!({"thread_id": "thr_1", "status": "gone", "summary": "x"}),
            "invalid_input",
        ),
        (
            "claim --lease-seconds 0",
            "claim_work",
            json!({"lease_seconds": 0}),
            "invalid_input",
        ),
        (
            "claim --lease-seconds many",
            "claim_work",
            json!({"lease_seconds": "many"}),
            "invalid_input",
        ),
        (
            "note --ref thing:1 --note x",
            "post_note",
            json!({"entity_type": "thing", "entity_id": "1", "note": "x"}),
            "invalid_input",
        ),
        (
            "read --limit 0",
            "check_inbox",
            json!({"limit": 0}),
            "invalid_input",
        ),
    ];
    for (line, tool, arguments, code) in steps {
        let by_command = both.by_command("quinn", line);
        assert_eq!(by_command["error"]["code"], code, "{line}: {by_command}");
        let by_tool = quinn.call(tool, &arguments);
        assert_eq!(by_tool["ok"], false, "{line}");
        assert_eq!(by_tool["error"]["code"], code, "{line}: {by_tool}");
        assert!(
            by_tool["error"]["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
    }
    let by_tool = quinn.call(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "x", "body": long }),
    );
    assert_eq!(by_tool["error"]["code"], "too_large", "{by_tool}");
    // Arguments that no command has.
    for (tool, arguments) in [
        ("check_inbox", json!({ "wait_seconds": 601 })),
        ("check_inbox", json!({ "wait_seconds": "soon" })),
        ("check_inbox", json!({ "ack": [7] })),
        ("ask", json!({})),
        ("ask", json!({ "to_agent": "ada" })),
        ("show_threads", json!({ "offset": -1 })),
        ("post_note", json!({ "entity_id": "T4", "note": "x" })),
        ("reply", json!({ "thread_id": 7, "summary": "x" })),
    ] {
        let refused = quinn.call(tool, &arguments);
        assert_eq!(
            refused["error"]["code"], "invalid_input",
            "{tool} {arguments}: {refused}"
        );
    }
}

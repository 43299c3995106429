//! Who calls, and what it holds.

use inbox_testkit::sandbox::Sandbox;
use serde_json::json;

use super::client::Client;
use crate::INBOX;
use crate::security::canary::paths::TOOLS;
use crate::server::spoof::OTHERS;

fn server(sandbox: &Sandbox, variables: &[(&str, &str)]) -> Client {
    let mut client = Client::raw(sandbox, &["mcp"], variables);
    client.greet("test");
    client
}

#[test]
fn the_sender_is_who_the_server_was_started_for() {
    let sandbox = Sandbox::in_memory(INBOX);
    let hello = json!({ "to_agent": "ada", "subject": "Hello" });
    let mut quinn = server(&sandbox, &[("INBOX_AGENT", "quinn")]);
    let sent = quinn.call("send_message", &hello);
    assert_eq!(sent["message"]["from_agent"], "quinn");
    assert_eq!(sent["message"]["verified"], false);
    assert_eq!(sent["message"]["auth"], "local");
    // Its own name may be said; another's may not, and leaves no trace.
    let mut named = hello.clone();
    named["from_agent"] = "Quinn".into();
    assert_eq!(quinn.call("send_message", &named)["ok"], true);
    for (tool, mut arguments) in [
        ("send_message", hello.clone()),
        (
            "post_note",
            json!({ "entity_id": "T4", "entity_type": "task", "note": "x" }),
        ),
        ("reply", json!({ "thread_id": "thr_1", "summary": "x" })),
        ("ask", json!({ "thread_id": "thr_1", "question": "x" })),
        ("claim_work", json!({})),
        ("check_inbox", json!({ "wait_seconds": 600 })),
        (
            "update_work",
            json!({ "thread_id": "thr_1", "status": "cancelled" }),
        ),
    ] {
        for name in ["human", "mindy"] {
            arguments["from_agent"] = name.into();
            let refused = quinn.call(tool, &arguments);
            assert_eq!(refused["error"]["code"], "not_allowed", "{tool}: {refused}");
        }
    }
    let threads = sandbox.ok("list")["threads"].clone();
    assert_eq!(threads.as_array().map(Vec::len), Some(2));
    assert_eq!(threads[0]["status"], "pending");
}

/// Where a caller may be named besides.
const FIELDS: [&str; 8] = [
    "from", "agent", "agent_id", "sender", "caller", "session", "auth", "verified",
];

#[test]
fn no_tool_takes_anothers_name_in_any_argument() {
    let sandbox = Sandbox::in_memory(INBOX);
    sandbox.ok("agent add pia --kind human");
    sandbox.ok("send --from ada --to quinn --subject Work");
    let before = sandbox.ok("watch --after-event 0 --timeout-seconds 0")["events"].clone();
    let mut quinn = Client::start(&sandbox, "quinn");
    let id = quinn.request("tools/list", &json!({}));
    let listed = quinn.end(id)["tools"].clone();
    let listed: Vec<_> = listed.as_array().expect("tools").iter().collect();
    assert_eq!(listed.len(), TOOLS.len());
    for tool in listed {
        let tool = tool["name"].as_str().expect("a name");
        let known = TOOLS.iter().find(|(known, _)| *known == tool);
        let (_, arguments) = known.unwrap_or_else(|| panic!("add {tool} to TOOLS"));
        let arguments = arguments.replace("HELD", "thr_1");
        let arguments: serde_json::Value = serde_json::from_str(&arguments).expect("JSON");
        for other in OTHERS {
            for field in FIELDS.into_iter().chain(["from_agent"]) {
                // There it says whose threads are wanted, and not who asks.
                if (tool, field) == ("show_threads", "agent") {
                    continue;
                }
                let mut spoofed = arguments.clone();
                spoofed[field] = other.into();
                let refused = quinn.call(tool, &spoofed);
                let code = refused["error"]["code"].as_str().unwrap_or_default();
                let is_refused = matches!(code, "not_allowed" | "invalid_input");
                assert!(is_refused, "{tool} {field} {other:?}: {refused}");
            }
        }
    }
    assert_eq!(
        sandbox.ok("watch --after-event 0 --timeout-seconds 0")["events"].clone(),
        before
    );
}

#[test]
fn a_server_without_an_identity_reads_and_does_not_write() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut nobody = server(&sandbox, &[]);
    assert_eq!(
        nobody.call("show_threads", &json!({}))["threads"],
        json!([])
    );
    for (tool, arguments) in [
        ("check_inbox", json!({})),
        ("claim_work", json!({})),
        ("send_message", json!({ "to_agent": "ada", "subject": "x" })),
        (
            "send_message",
            json!({ "to_agent": "ada", "subject": "x", "from_agent": "quinn" }),
        ),
    ] {
        let refused = nobody.call(tool, &arguments);
        assert_eq!(refused["ok"], false, "{tool}");
        let code = if arguments.get("from_agent").is_some() {
            "not_allowed"
        } else {
            "invalid_input"
        };
        assert_eq!(refused["error"]["code"], code, "{tool}: {refused}");
        assert_ne!(refused["error"]["hint"], "", "{tool}");
    }
}

#[test]
fn a_reserved_name_may_not_speak_through_it() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut human = server(&sandbox, &[("INBOX_AGENT", "human")]);
    let refused = human.call(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "x" }),
    );
    assert_eq!(refused["error"]["code"], "not_allowed");
}

#[test]
fn a_session_says_who_calls_whoever_named_it() {
    let sandbox = Sandbox::in_memory(INBOX);
    sandbox.ok("session start --agent quinn --session s-1");
    let hello = json!({ "to_agent": "ada", "subject": "Hello" });
    for variable in ["INBOX_SESSION", "CLAUDE_CODE_SESSION_ID"] {
        let mut quinn = server(&sandbox, &[(variable, "s-1")]);
        let sent = quinn.call("send_message", &hello);
        assert_eq!(sent["message"]["from_agent"], "quinn", "{variable}: {sent}");
        assert_eq!(sent["message"]["from_session"], "s-1", "{variable}");
    }
    // The client's own word is weaker than a name that was given.
    let mut mindy = server(
        &sandbox,
        &[("CLAUDE_CODE_SESSION_ID", "s-1"), ("INBOX_AGENT", "mindy")],
    );
    let sent = mindy.call("send_message", &hello);
    assert_eq!(sent["message"]["from_agent"], "mindy", "{sent}");
    assert_eq!(sent["message"]["from_session"], serde_json::Value::Null);
    // Two names that were both given contradict each other, as on the command line.
    let mut both = server(
        &sandbox,
        &[("INBOX_SESSION", "s-1"), ("INBOX_AGENT", "mindy")],
    );
    let refused = both.call("send_message", &hello);
    assert_eq!(refused["error"]["code"], "invalid_input", "{refused}");
}

#[test]
fn a_lease_is_kept_for_its_holder_and_nobody_else() {
    let sandbox = Sandbox::in_memory(INBOX);
    for subject in ["One", "Two"] {
        sandbox.ok(&format!("send --from ada --to quinn --subject {subject}"));
    }
    // The name alone no longer proves anything: it has claimed this thread twice.
    sandbox.ok("claim --agent quinn --thread thr_1");
    sandbox.ok("release --agent quinn --thread thr_1");
    let mut quinn = Client::start(&sandbox, "quinn");
    let mut other = Client::start(&sandbox, "quinn");
    let claimed = quinn.result("claim_work", &json!({ "thread_id": "thr_1" }));
    let token = claimed["structuredContent"]["lease"]["lease_token"]
        .as_str()
        .unwrap()
        .to_owned();
    // The token is for the server to keep, and not for the model to copy.
    assert!(!super::client::text(&claimed).contains(&token));
    let going_on = json!({ "thread_id": "thr_1", "summary": "Going on" });
    let refused = other.call("update_work", &going_on);
    assert_eq!(refused["error"]["code"], "lease_lost", "{refused}");
    assert_eq!(
        quinn.call("update_work", &going_on)["thread"]["status"],
        "in_progress"
    );
    // It may be given, by whoever has it.
    let mut proven = going_on.clone();
    proven["lease_token"] = token.into();
    assert_eq!(
        other.call("update_work", &proven)["thread"]["status"],
        "in_progress"
    );
    let released = quinn.call(
        "update_work",
        &json!({ "thread_id": "thr_1", "status": "released" }),
    );
    assert_eq!(released["thread"]["status"], "pending");
    let refused = quinn.call("update_work", &going_on);
    assert_eq!(refused["error"]["code"], "invalid_transition", "{refused}");
}

#[test]
fn a_question_in_work_that_is_held_blocks_it_and_elsewhere_does_not() {
    let sandbox = Sandbox::in_memory(INBOX);
    for subject in ["Mine", "Not~mine"] {
        sandbox.ok(&format!("send --from ada --to quinn --subject {subject}"));
    }
    let mut quinn = Client::start(&sandbox, "quinn");
    quinn.call("claim_work", &json!({ "thread_id": "thr_1" }));
    for (thread, status) in [("thr_1", "blocked"), ("thr_2", "pending")] {
        quinn.call(
            "ask",
            &json!({ "thread_id": thread, "question": "Which auth?", "wait_seconds": 0 }),
        );
        let shown = sandbox.ok(&format!("show --thread {thread}"));
        assert_eq!(shown["thread"]["status"], status);
        let messages = shown["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["kind"], "question");
    }
}

#[test]
fn a_key_makes_a_retry_have_one_effect() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let hello = json!({ "to_agent": "ada", "subject": "Hello", "key": "k1" });
    let first = quinn.call("send_message", &hello);
    assert_eq!(quinn.call("send_message", &hello), first);
    let other = json!({ "to_agent": "ada", "subject": "Other", "key": "k1" });
    assert_eq!(
        quinn.call("send_message", &other)["error"]["code"],
        "key_conflict"
    );
}

#[test]
fn what_was_handled_is_acknowledged_before_new_mail_is_read() {
    let sandbox = Sandbox::in_memory(INBOX);
    sandbox.ok("send --from ada --to quinn --subject One --kind event");
    let mut quinn = Client::start(&sandbox, "quinn");
    assert_eq!(
        quinn.call("check_inbox", &json!({ "peek": true }))["unread"],
        1
    );
    let read = quinn.call("check_inbox", &json!({}));
    let message = read["messages"][0]["message_id"].as_str().unwrap();
    let acked = quinn.call("check_inbox", &json!({ "ack": [message] }));
    assert_eq!(acked["acked"][0]["message_id"], message);
    assert_eq!(acked["messages"], json!([]));
    // A conversation ends by that.
    let shown = sandbox.ok("show --thread thr_1");
    assert_eq!(shown["thread"]["status"], "done");
}

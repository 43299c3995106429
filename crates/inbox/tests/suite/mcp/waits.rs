//! Tools that wait: for the client's patience, beside each other, until they are cancelled.

use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::client::Client;
use crate::INBOX;

/// A call that says that it waits, so that a test knows when it does.
fn begin_waiting(client: &mut Client, tool: &str, arguments: &Value, token: &str) -> i64 {
    let id = client.request(
        "tools/call",
        &json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } }),
    );
    let notice = client.next("progress", |said| {
        said["method"] == "notifications/progress" && said["params"]["progressToken"] == token
    });
    assert_eq!(notice["params"]["progress"].as_f64(), Some(0.0));
    id
}

#[test]
fn a_wait_for_mail_ends_with_mail() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let id = begin_waiting(
        &mut quinn,
        "check_inbox",
        &json!({ "wait_seconds": 600 }),
        "a",
    );
    sandbox.ok("send --from ada --to quinn --subject Hello");
    let mail = quinn.end(id)["structuredContent"].clone();
    assert_eq!(mail["messages"][0]["summary"], "Hello");
    assert_eq!(mail["unread"], 0);
    // It was read by that.
    assert_eq!(quinn.call("check_inbox", &json!({}))["messages"], json!([]));
}

#[test]
fn a_wait_for_work_takes_it() {
    let sandbox = Sandbox::in_memory(INBOX);
    sandbox.ok("session start --agent quinn --session s-1 --role builder");
    let mut quinn = Client::raw(&sandbox, &["mcp"], &[("INBOX_SESSION", "s-1")]);
    quinn.greet("test");
    let id = begin_waiting(
        &mut quinn,
        "claim_work",
        &json!({ "wait_seconds": 600 }),
        "a",
    );
    sandbox.ok("send --from ada --to role:builder --subject Build --body the~house");
    let result = quinn.end(id);
    let claimed = &result["structuredContent"];
    assert_eq!(claimed["command"], "claim");
    assert_eq!(claimed["thread"]["assigned_to"], "quinn");
    // What is to be done comes with it.
    assert!(super::client::text(&result).contains("the house"));
}

#[test]
fn two_waits_and_other_calls_do_not_hinder_each_other() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let first = quinn.call(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "One", "kind": "question" }),
    );
    let second = quinn.call(
        "send_message",
        &json!({ "to_agent": "ada", "subject": "Two", "kind": "question" }),
    );
    let id = |sent: &Value| sent["thread"]["thread_id"].as_str().unwrap().to_owned();
    let (first, second) = (id(&first), id(&second));
    let one = begin_waiting(
        &mut quinn,
        "ask",
        &json!({ "thread_id": first, "wait_seconds": 600 }),
        "a",
    );
    let two = begin_waiting(
        &mut quinn,
        "ask",
        &json!({ "thread_id": second, "wait_seconds": 600 }),
        "b",
    );
    let threads = quinn.call("show_threads", &json!({}));
    assert_eq!(threads["threads"].as_array().map(Vec::len), Some(2));
    sandbox.ok(&format!(
        "reply --from ada --thread {second} --summary second"
    ));
    assert_eq!(
        quinn.end(two)["structuredContent"]["message"]["summary"],
        "second"
    );
    assert!(!quinn.has_kept(|said| said["id"] == one));
    sandbox.ok(&format!(
        "reply --from ada --thread {first} --summary first"
    ));
    assert_eq!(
        quinn.end(one)["structuredContent"]["message"]["summary"],
        "first"
    );
}

#[test]
fn a_wait_in_vain_says_how_to_go_on_and_misses_nothing() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::raw(
        &sandbox,
        &["mcp", "--agent", "quinn", "--patience", "1"],
        &[],
    );
    quinn.greet("test");
    let result = quinn.result(
        "ask",
        &json!({ "to_agent": "ada", "question": "Which auth?" }),
    );
    assert_eq!(result["isError"], false);
    let asked = &result["structuredContent"];
    assert_eq!(asked["woke"], false);
    assert_eq!(asked["message"], Value::Null);
    let thread = asked["asked"]["thread_id"].as_str().unwrap();
    let cursor = asked["next_event_id"].as_i64().unwrap();
    let text = super::client::text(&result);
    assert!(
        text.contains(&format!(
            "ask {{\"thread_id\":\"{thread}\",\"after_event\":{cursor}}}"
        )),
        "{text}"
    );
    // Between two calls somebody answers.
    sandbox.ok(&format!(
        "reply --from ada --thread {thread} --summary Email"
    ));
    let went_on = quinn.call(
        "ask",
        &json!({ "thread_id": thread, "after_event": cursor, "wait_seconds": 600 }),
    );
    assert_eq!(went_on["message"]["summary"], "Email");
    assert!(went_on.get("asked").is_none());
}

#[test]
fn an_answer_that_was_handed_over_is_no_news_unless_it_was_cut() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let question = json!({ "to_agent": "ada", "question": "Which?", "wait_seconds": 0 });
    let mut asked = quinn.call("ask", &question);
    let thread = asked["asked"]["thread_id"].as_str().unwrap().to_owned();
    let long = "one more word ".repeat(3_000);
    for (body, is_news) in [("Email", false), (long.as_str(), true)] {
        let reply = ["reply", "--from", "ada", "--thread", &thread, "--json"];
        let text = ["--summary", "This one", "--body", body];
        sandbox.run(reply.iter().chain(&text)).ok();
        let go_on = json!({ "thread_id": thread, "wait_seconds": 600, "after_event": asked["next_event_id"] });
        asked = quinn.call("ask", &go_on);
        assert_eq!(asked["message"]["body"], body);
        let mail = quinn.call("check_inbox", &json!({}));
        let count = mail["messages"].as_array().map(Vec::len);
        assert_eq!(count, Some(usize::from(is_news)), "{mail}");
    }
}

#[test]
fn a_wait_of_no_seconds_looks_once() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    for (tool, arguments) in [
        ("check_inbox", json!({ "wait_seconds": 0 })),
        ("claim_work", json!({ "wait_seconds": 0 })),
        (
            "ask",
            json!({ "to_agent": "ada", "question": "Well?", "wait_seconds": 0 }),
        ),
    ] {
        let answer = quinn.call(tool, &arguments);
        assert_eq!(answer["ok"], true, "{tool}: {answer}");
    }
}

#[test]
fn a_cancelled_wait_takes_nothing_and_is_not_answered() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let waiting = begin_waiting(
        &mut quinn,
        "claim_work",
        &json!({ "wait_seconds": 600 }),
        "a",
    );
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": waiting } });
    quinn.line(&cancel.to_string());
    // Answered after the notice was taken in.
    let id = quinn.request("ping", &json!({}));
    quinn.answer(id);
    sandbox.ok("send --from ada --to quinn --subject Build");
    let claimed = quinn.call("claim_work", &json!({ "wait_seconds": 600 }));
    assert_eq!(claimed["thread"]["subject"], "Build");
    assert_eq!(claimed["lease"]["epoch"], 1);
    assert!(!quinn.has_kept(|said| said["id"] == waiting));
}

#[test]
fn the_holder_keeps_its_lease_while_it_asks() {
    let sandbox = Sandbox::in_memory(INBOX);
    sandbox.ok("send --from ada --to quinn --subject Build");
    let mut quinn = Client::start(&sandbox, "quinn");
    quinn.call("claim_work", &json!({ "lease_seconds": 2 }));
    let id = begin_waiting(
        &mut quinn,
        "ask",
        &json!({ "thread_id": "thr_1", "question": "Which?", "wait_seconds": 600 }),
        "a",
    );
    // The lease is renewed: somebody waits for that, and not for a time.
    let after = sandbox.ok("list")["next_event_id"].as_i64().unwrap();
    let shown = sandbox.ok("show --thread thr_1");
    assert_eq!(shown["thread"]["status"], "blocked");
    let until = |lease: &Value| lease["lease"]["expires_at"].as_str().unwrap().to_owned();
    let first = until(&shown);
    loop {
        let shown = sandbox.ok("show --thread thr_1");
        assert_eq!(shown["lease"]["epoch"], 1, "{shown}");
        if until(&shown) > first {
            break;
        }
        // Renewals wake nobody, so this returns at once with nothing and costs a process.
        let looked = sandbox.run([
            "watch",
            "--after-event",
            &after.to_string(),
            "--timeout-seconds",
            "0",
            "--json",
        ]);
        assert!([0, 10].contains(&looked.code), "{looked}");
    }
    sandbox.ok("reply --from ada --thread thr_1 --summary This");
    assert_eq!(
        quinn.end(id)["structuredContent"]["message"]["summary"],
        "This"
    );
    let done = quinn.call(
        "update_work",
        &json!({ "thread_id": "thr_1", "status": "done", "summary": "Built" }),
    );
    assert_eq!(done["thread"]["status"], "done");
}

#[test]
fn a_wait_on_postgresql_ends_as_well() {
    let sandbox = Sandbox::at(INBOX, inbox_testkit::cluster::shared().fresh_url());
    let mut quinn = Client::start(&sandbox, "quinn");
    let mail = begin_waiting(
        &mut quinn,
        "check_inbox",
        &json!({ "wait_seconds": 600 }),
        "a",
    );
    let work = begin_waiting(
        &mut quinn,
        "claim_work",
        &json!({ "wait_seconds": 600 }),
        "b",
    );
    sandbox.ok("send --from ada --to quinn --subject Build");
    assert_eq!(
        quinn.end(mail)["structuredContent"]["messages"][0]["summary"],
        "Build"
    );
    assert_eq!(
        quinn.end(work)["structuredContent"]["thread"]["status"],
        "claimed"
    );
    let done = quinn.call(
        "update_work",
        &json!({ "thread_id": "thr_1", "status": "done", "summary": "Built" }),
    );
    assert_eq!(done["thread"]["status"], "done");
}

//! `monitor`: one line for each wake, and an end with its client.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use inbox_testkit::sandbox::{Sandbox, finish};
use serde_json::Value;

use super::home::Home;
use crate::INBOX;
use crate::server::Served;

fn start(inbox: &Sandbox, session: &str) -> Child {
    inbox
        .command(["monitor", "claude"])
        .env("CLAUDE_CODE_SESSION_ID", session)
        .spawn()
        .unwrap()
}

#[track_caller]
fn line(child: &mut Child) -> String {
    let mut line = String::new();
    let out = child.stdout.as_mut().unwrap();
    // One byte at a time: what comes after the line is the next reader's.
    let mut byte = [0];
    while out.read(&mut byte).unwrap() > 0 && byte[0] != b'\n' {
        line.push(char::from(byte[0]));
    }
    line
}

fn stop(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn session(inbox: &Sandbox, agent: &str, id: &str) {
    inbox
        .run([
            "session",
            "start",
            "--agent",
            agent,
            "--session",
            id,
            "--json",
        ])
        .ok();
}

fn send(inbox: &Sandbox, from: &str, more: &[&str]) -> Value {
    let words = [
        "send",
        "--from",
        from,
        "--to",
        "luna",
        "--subject",
        "Hi",
        "--json",
    ];
    inbox.run(words.iter().chain(more)).ok()
}

/// How far a message has come, when somebody was told of it. It is printed first and written down then: who dies between
/// them wakes once more, and never not at all.
fn told(inbox: &Sandbox, sent: &Value) -> Value {
    let id = sent["message"]["message_id"].as_str().unwrap();
    loop {
        let receipts = inbox.run(["receipts", id, "--json"]).ok();
        if receipts["receipts"][0]["step"] != "queued" {
            return receipts["receipts"][0].clone();
        }
    }
}

#[test]
fn several_messages_are_one_wake_that_points_and_does_not_tell() {
    let inbox = Sandbox::new(INBOX);
    session(&inbox, "luna", "s-1");
    send(&inbox, "mindy", &["--priority", "urgent"]);
    send(&inbox, "quinn", &["--kind", "event", "--body", "the body"]);
    let mut child = start(&inbox, "s-1");
    assert_eq!(
        line(&mut child),
        "inbox: 2 new (1 urgent from mindy). Run inbox read."
    );
    stop(child);
}

#[test]
fn an_idle_session_is_woken_by_mail_that_comes() {
    let mut inbox = Sandbox::new(INBOX);
    inbox.set("INBOX_WAKE_AT_MOST_EVERY_SECONDS", "0");
    session(&inbox, "luna", "s-1");
    let mut child = start(&inbox, "s-1");
    send(&inbox, "mindy", &["--kind", "question"]);
    assert_eq!(
        line(&mut child),
        "inbox: 1 new (1 request from mindy). Run inbox read."
    );
    send(&inbox, "quinn", &["--kind", "event"]);
    assert_eq!(
        line(&mut child),
        "inbox: 1 new (from quinn). Run inbox read."
    );
    stop(child);
}

#[test]
fn a_session_and_a_store_that_come_later_are_waited_for() {
    let inbox = Sandbox::empty(INBOX);
    let mut child = start(&inbox, "s-1");
    inbox.run(["init", "--json"]).ok();
    send(&inbox, "mindy", &[]);
    session(&inbox, "luna", "s-1");
    assert_eq!(
        line(&mut child),
        "inbox: 1 new (1 request from mindy). Run inbox read."
    );
    stop(child);
}

#[test]
fn what_one_session_was_told_is_not_told_twice_and_is_on_the_receipt() {
    let mut inbox = Sandbox::new(INBOX);
    inbox.set("INBOX_WAKE_AT_MOST_EVERY_SECONDS", "0");
    session(&inbox, "luna", "s-1");
    let first = send(&inbox, "mindy", &[]);
    let mut child = start(&inbox, "s-1");
    line(&mut child);
    let rung = told(&inbox, &first);
    stop(child);
    assert_eq!(rung["step"], "offered", "{rung}");
    assert_eq!(rung["offered_by"], "monitor", "{rung}");
    assert_eq!(rung["session_id"], "s-1");
    send(&inbox, "quinn", &[]);
    let mut child = start(&inbox, "s-1");
    assert_eq!(
        line(&mut child),
        "inbox: 1 new (1 request from quinn). Run inbox read."
    );
    stop(child);
    // Another session has not been told of any.
    session(&inbox, "luna", "s-2");
    let mut child = start(&inbox, "s-2");
    assert_eq!(
        line(&mut child),
        "inbox: 2 new (2 requests). Run inbox read."
    );
    stop(child);
}

#[test]
fn it_ends_with_the_client_that_started_it() {
    let inbox = Sandbox::new(INBOX);
    session(&inbox, "luna", "s-1");
    send(&inbox, "mindy", &[]);
    // The shell is the client; it ends when its input does.
    let mut client = Command::new("sh")
        .args(["-c", "\"$0\" monitor claude & read end", INBOX])
        .current_dir(inbox.folder())
        .env("CLAUDE_CODE_SESSION_ID", "s-1")
        .env("INBOX_TEST_STORE", "1")
        .env("INBOX_WAKE_AT_MOST_EVERY_SECONDS", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The monitor has begun while its client was there.
    let first = line(&mut client);
    assert!(first.starts_with("inbox: 1 new"), "{first}");
    drop(client.stdin.take());
    client.wait().unwrap();
    // The monitor holds the other end; it closes when the monitor has ended.
    let mut rest = String::new();
    let mut out = client.stdout.take().unwrap();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn a_session_must_be_named() {
    let home = Home::new();
    let said = home.inbox.run(["monitor", "claude", "--json"]);
    let answer = said.refused(30, "invalid_input");
    assert_eq!(answer["error"]["hint"], "inbox monitor claude --session ID");
    home.inbox
        .run(["monitor", "emacs", "--json"])
        .refused(30, "invalid_input");
}

#[test]
fn a_session_is_woken_by_mail_at_a_server() {
    let served = Served::start();
    let secret = served.token("luna", "");
    let here = Sandbox::empty(INBOX);
    let far = |words: &[&str]| {
        let mut command = here.command(words);
        command.env("INBOX_DB", &served.url);
        command.env("INBOX_TOKEN", &secret);
        command.env("CLAUDE_CODE_SESSION_ID", "s-1");
        command.env("INBOX_WAKE_AT_MOST_EVERY_SECONDS", "0");
        command.spawn().unwrap()
    };
    finish(far(&["session", "start", "--session", "s-1", "--json"])).ok();
    let mut child = far(&["monitor", "claude"]);
    send(&served.desk, "mindy", &["--kind", "question"]);
    assert_eq!(
        line(&mut child),
        "inbox: 1 new (1 request from mindy). Run inbox read."
    );
    send(&served.desk, "quinn", &["--priority", "urgent"]);
    assert_eq!(
        line(&mut child),
        "inbox: 1 new (1 urgent from quinn). Run inbox read."
    );
    let doctor = finish(far(&["doctor", "--json"])).ok();
    let checks = doctor["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["session_id"] == "s-1");
    assert_eq!(found.unwrap()["agent_id"], "luna", "{doctor}");
    stop(child);
}

/// Claude Code's hook at a turn's end, which goes on behind the session.
fn rewake(inbox: &Sandbox, how: &str) -> Child {
    inbox
        .command(["monitor", "claude", "--door", "async_rewake"])
        .env("CLAUDE_CODE_SESSION_ID", "s-1")
        .env("CLAUDE_CODE_ENTRYPOINT", how)
        .spawn()
        .unwrap()
}

#[test]
fn a_hook_that_waits_ends_with_the_line_and_the_status_that_wakes() {
    let inbox = Sandbox::new(INBOX);
    session(&inbox, "luna", "s-1");
    let child = rewake(&inbox, "cli");
    let sent = send(&inbox, "mindy", &["--kind", "question"]);
    let outcome = finish(child);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (2, ""),
        "{outcome}"
    );
    assert_eq!(
        outcome.stderr,
        "inbox: 1 new (1 request from mindy). Run inbox read.\n"
    );
    let id = sent["message"]["message_id"].as_str().unwrap();
    let receipts = inbox.run(["receipts", id, "--json"]).ok();
    assert_eq!(receipts["receipts"][0]["offered_by"], "async_rewake");
}

#[test]
fn a_hook_that_waits_leaves_it_to_a_monitor_and_keeps_no_client_from_its_end() {
    let mut inbox = Sandbox::new(INBOX);
    inbox.set("INBOX_WAKE_AT_MOST_EVERY_SECONDS", "0");
    session(&inbox, "luna", "s-1");
    // Without a person the client waits for its hooks before it ends.
    let quiet = |child: Child| {
        let outcome = finish(child);
        let said = (outcome.stdout.as_str(), outcome.stderr.as_str());
        assert_eq!((outcome.code, said), (0, ("", "")), "{outcome}");
    };
    quiet(rewake(&inbox, "sdk-cli"));
    // It has begun to wait before the monitor comes, which shows in what the lock says.
    let waits = rewake(&inbox, "cli");
    let lock = inbox.folder().join(".local/state/inbox/sessions/s-1.lock");
    while !std::fs::read_to_string(&lock).is_ok_and(|text| text.contains("async_rewake")) {
        std::thread::yield_now();
    }
    let mut monitor = start(&inbox, "s-1");
    quiet(waits);
    quiet(rewake(&inbox, "cli"));
    let sent = send(&inbox, "mindy", &["--kind", "question"]);
    assert_eq!(
        line(&mut monitor),
        "inbox: 1 new (1 request from mindy). Run inbox read."
    );
    assert_eq!(told(&inbox, &sent)["offered_by"], "monitor");
    stop(monitor);
    let child = rewake(&inbox, "cli");
    inbox.run(["session", "end", "s-1", "--json"]).ok();
    quiet(child);
}

#[test]
fn the_door_of_opencode_is_its_plugin() {
    let inbox = Sandbox::new(INBOX);
    session(&inbox, "luna", "s-1");
    let sent = send(&inbox, "mindy", &[]);
    let mut child = inbox
        .command(["monitor", "opencode", "--session", "s-1"])
        .spawn()
        .unwrap();
    line(&mut child);
    let rung = told(&inbox, &sent);
    stop(child);
    assert_eq!(rung["offered_by"], "opencode_plugin", "{rung}");
}

//! A hook never stops an agent: whatever goes wrong, it exits 0, prints nothing and is soon over.

use std::process::Stdio;

use inbox_testkit::sandbox::{Outcome, finish};
use rustix::fs::{FlockOperation, flock};
use serde_json::json;

use super::{CLIENTS, EVENTS, Project, said};

/// A hook that failed: nothing for the client, and the reason for who asks for it.
#[track_caller]
fn failed(outcome: &Outcome, reason: &str) {
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (0, ""),
        "{outcome}"
    );
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
    assert!(outcome.stderr.contains(reason), "{outcome}");
}

#[test]
fn a_project_without_a_store_is_passed_over_without_a_trace() {
    let project = Project::without_store();
    for client in CLIENTS {
        for event in EVENTS {
            assert_eq!(project.hook(client, event), "", "{client} {event}");
        }
    }
    assert_eq!(std::fs::read_dir(project.folder()).unwrap().count(), 0);
}

#[test]
fn input_that_is_no_json_is_no_reason_to_stop() {
    let project = Project::new();
    for input in [
        &b"{"[..],
        b"[]",
        b"\xff\xfe",
        b"{\"session_id\": \"a\"} and more",
        b"{\"cwd\": 5}",
        b"null",
    ] {
        for event in EVENTS {
            let outcome = project.hook_with(&format!("claude {event}"), &[], input);
            failed(&outcome, "the client's input is no JSON object");
        }
    }
    // What is empty, or has a session of another shape, is as good as nothing.
    for input in [
        &b""[..],
        b" \n",
        b"{}",
        b"{\"session_id\": 5}",
        b"{\"session_id\": \"a b\"}",
    ] {
        let outcome = project.hook_with("claude prompt", &[], input);
        assert_eq!(
            (
                outcome.code,
                outcome.stdout.as_str(),
                outcome.stderr.as_str()
            ),
            (0, "", "")
        );
    }
}

#[test]
fn a_store_that_is_damaged_is_no_reason_to_stop() {
    let project = Project::new();
    let store = project.beside_store("coord.db");
    for damage in [&b""[..], b"This is no database.", &[0; 8192]] {
        std::fs::write(&store, damage).unwrap();
        for event in EVENTS {
            let outcome =
                project.hook_with(&format!("claude {event}"), &[], b"{\"session_id\":\"s\"}");
            failed(&outcome, "(store_corrupt)");
        }
    }
}

#[test]
fn wrong_words_and_wrong_settings_are_no_reason_to_stop() {
    let project = Project::new();
    for (line, variables, reason) in [
        ("claude nonsense", vec![], "invalid value 'nonsense'"),
        ("nobody prompt", vec![], "invalid value 'nobody'"),
        ("claude", vec![], "required"),
        ("claude prompt --unknown", vec![], "unexpected argument"),
        ("claude prompt --agent a/b", vec![], "not a name"),
        ("claude prompt", vec![("INBOX_AGENT", "a b")], "INBOX_AGENT"),
        (
            "claude prompt",
            vec![("INBOX_SESSION", "a b")],
            "INBOX_SESSION",
        ),
        (
            "claude prompt",
            vec![("INBOX_SESSION_TAGS", "[\"x\"]")],
            "is not a tag",
        ),
        ("claude prompt", vec![("INBOX_SESSION_AGENT", "/")], "name"),
        (
            "claude prompt",
            vec![("INBOX_DB", "postgres://nobody@127.0.0.1:1/none")],
            "(storage)",
        ),
    ] {
        let outcome = project.hook_with(line, &variables, b"{\"session_id\":\"s\"}");
        failed(&outcome, reason);
    }
    // Without the switch there is not even a word.
    let silent = finish(project.command("hook claude nonsense").spawn().unwrap());
    assert_eq!(
        (silent.code, silent.stdout.as_str(), silent.stderr.as_str()),
        (0, "", "")
    );
}

#[test]
fn a_store_that_is_locked_keeps_nobody_waiting() {
    let project = Project::new();
    project.hook("claude", "session-start");
    let lock = std::fs::File::create(project.beside_store("coord.db-lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    // A session that is known and has no mail needs no lock.
    for event in ["prompt", "after-tool", "stop", "session-start", "compact"] {
        assert_eq!(project.hook("claude", event), "", "{event}");
    }
    let outcome = project.hook_with("claude session-start", &[], b"{\"session_id\":\"new\"}");
    failed(&outcome, "there was no answer within 2 seconds (storage)");
    drop(lock);
    let doctor = project.run("doctor --json").ok();
    let checks = doctor["checks"].as_array().unwrap();
    let hooks = checks
        .iter()
        .find(|check| check["name"] == "hooks")
        .unwrap();
    assert_eq!(hooks["status"], "warning");
    let message = hooks["message"].as_str().unwrap();
    assert!(
        message.contains("claude session-start: there was no answer within 2 seconds (storage)"),
        "{message}"
    );
    // The next one that works takes it back.
    assert_eq!(project.hook("claude", "prompt"), "");
    assert!(!project.beside_store("hook-error").exists());
    let doctor = project.run("doctor --json").ok();
    assert!(!doctor.to_string().contains("\"hooks\""), "{doctor}");
}

#[test]
fn a_client_that_never_ends_its_input_keeps_nobody_waiting() {
    let project = Project::new();
    let mut command = project.command("hook claude prompt");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    let status = child.wait().unwrap();
    drop(open);
    assert!(status.success());
}

#[test]
fn much_input_is_listened_to_until_its_end() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.send("--from ada --to claude-blog --priority urgent --subject Now");
    let text = "x".repeat(4 << 20);
    let much = json!({ "tool_response": { "stdout": text } });
    assert!(
        project
            .hook_saying("claude", "after-tool", &much)
            .contains("Now")
    );
    // More than is looked at is an error, and still listened to.
    let mut input = said("claude", "prompt", &project.folder());
    input["tool_response"] = json!("x".repeat(17 << 20));
    let mut command = project.command("hook claude prompt");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, input.to_string().as_bytes()).unwrap();
    drop(stdin);
    let outcome = finish(child);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (0, ""),
        "{outcome}"
    );
}

#[test]
fn without_news_a_known_session_writes_nothing() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.send("--from ada --to claude-blog --subject Build~it");
    assert!(!project.hook("claude", "prompt").is_empty());
    let bytes = || {
        let read = |name: &str| std::fs::read(project.beside_store(name)).unwrap();
        (read("coord.db"), read("coord.db-wal"))
    };
    let before = bytes();
    for event in ["prompt", "after-tool", "stop", "compact"] {
        let _ = project.hook("claude", event);
    }
    assert!(bytes() == before, "something was written");
}

//! A known client is run by name: its result, its conversation and its cost are read from its own output.

use serde_json::json;

use super::{Ground, eventually};

/// A client that speaks as Claude Code does, and writes down how it was called.
const CLIENT: &str = r#"#!/bin/sh
printf '%s\n' "$*" >> calls; cat > input.$(wc -l < calls)
case "$*" in
  *--resume*) text='Used the blue one.'; cost=0.5 ;;
  *) cost=0.25; text='{\"wire\":\"1.0\",\"type\":\"blocked\",\"sender\":\"quinn\",\"ts\":\"2026-04-28T00:00:00Z\",\"payload\":{\"task_id\":\"x\",\"agent\":\"quinn\",\"reason\":\"Red or blue?\",\"blocker_type\":\"ambiguity\"}}' ;;
esac
echo '{"type":"system","subtype":"init","session_id":"conv-1"}'
echo '{"type":"assistant","message":{"content":[{"type":"text","text":"Looking."}]},"session_id":"conv-1"}'
echo '{"type":"result","is_error":false,"result":"'"$text"'","session_id":"conv-1","total_cost_usd":'"$cost"',"usage":{"input_tokens":10,"output_tokens":5}}'
"#;

#[test]
fn a_client_goes_on_with_its_conversation_and_its_costs_are_added_up() {
    use std::os::unix::fs::PermissionsExt;
    let mut ground = Ground::new();
    let bin = ground.folder().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("claude"), CLIENT).unwrap();
    std::fs::set_permissions(bin.join("claude"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    ground.inbox.set("PATH", &path);
    let thread = ground.send("Fill the table");
    let args = [
        "run", "--agent", "quinn", "--once", "--preset", "claude", "--", "--model", "x",
    ];
    let runner = super::Leashed(ground.inbox.spawn(args));
    eventually("it asks", || {
        (ground.status(&thread) == "blocked").then_some(())
    });
    ground.reply(&thread, "The blue one");
    assert_eq!(runner.ends(), 0);
    let last = ground.last(&thread);
    assert_eq!(last["summary"], "Used the blue one.");
    let complete = &last["payload_json"]["payload"];
    assert_eq!(complete["cost_usd"], json!(0.5));
    assert_eq!(complete["x_tokens"], json!({ "input": 20, "output": 10 }));
    assert_eq!(complete["x_session"], "conv-1");
    let calls = std::fs::read_to_string(ground.folder().join("calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(
        calls[0],
        "-p --output-format stream-json --verbose --model x"
    );
    assert_eq!(
        calls[1],
        "-p --resume conv-1 --output-format stream-json --verbose --model x"
    );
    let second = std::fs::read_to_string(ground.folder().join("input.2")).unwrap();
    assert!(
        second.contains("The blue one") && !second.contains("You are quinn."),
        "{second}"
    );
}

#[test]
fn a_preset_that_nobody_knows_is_refused_with_those_that_are() {
    let ground = Ground::new();
    let args = ["run", "--json", "--agent", "quinn", "--preset", "nobody"];
    let refused = ground.inbox.run(args).refused(30, "invalid_input");
    let hint = refused["error"]["hint"].as_str().unwrap();
    let known = "claude, claude-acp, codex, codex-acp, gemini, gemini-acp, opencode, opencode-acp";
    assert!(hint.contains(known), "{hint}");
}

//! What an agent is told and when: each message once, the pressing at a stop, everything anew after a compaction.

use serde_json::{Value, json};

use super::{Project, SESSION};

fn context(printed: &str) -> String {
    let answer: Value = serde_json::from_str(printed)
        .unwrap_or_else(|error| panic!("not JSON ({error}): {printed:?}"));
    let context = &answer["hookSpecificOutput"]["additionalContext"];
    context.as_str().expect("it has context").to_owned()
}

#[test]
fn a_message_is_shown_by_one_hook_and_not_by_the_next() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.send("--from ada --to claude-blog --kind question --subject Which~fields?");
    assert!(context(&project.hook("claude", "prompt")).contains("Which fields?"));
    for event in ["prompt", "after-tool", "stop"] {
        assert_eq!(project.hook("claude", event), "", "{event}");
    }
    let rung = &project.run("receipts msg_1 --json").ok()["receipts"][0];
    assert_eq!(rung["step"], "shown");
    assert_eq!(rung["session_id"], SESSION);
    // It is still unread, and a session that begins is told what is.
    assert!(context(&project.hook("claude", "session-start")).contains("Which fields?"));
    let in_client = [("CLAUDE_CODE_SESSION_ID", SESSION)];
    project.run_in(&in_client, "read --json").ok();
    assert_eq!(project.hook("claude", "session-start"), "");
}

#[test]
fn a_session_start_shows_five_and_says_how_many_more_there_are() {
    let project = Project::new();
    for n in 1..=8 {
        project.send(&format!(
            "--from ada --to claude-blog --kind event --subject News~{n}"
        ));
    }
    let told = context(&project.hook("claude", "session-start"));
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 7, "{told}");
    assert!(
        lines[0].starts_with("inbox: 8 unread for claude-blog."),
        "{told}"
    );
    assert_eq!(lines[6], "… 3 more");
    // All eight were mentioned: a prompt repeats none of them.
    assert_eq!(project.hook("claude", "prompt"), "");
    project.send("--from ada --to claude-blog --kind event --subject News~9");
    let told = context(&project.hook("claude", "prompt"));
    assert_eq!(told.lines().count(), 2, "{told}");
}

#[test]
fn in_the_midst_of_a_turn_only_the_urgent_is_told() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.send("--from ada --to claude-blog --priority high --subject Soon");
    assert_eq!(project.hook("claude", "after-tool"), "");
    project.send("--from ada --to claude-blog --priority urgent --kind event --subject Now");
    let told = context(&project.hook("claude", "after-tool"));
    assert!(told.contains("\"Now\"") && !told.contains("Soon"), "{told}");
    let told = context(&project.hook("claude", "prompt"));
    assert!(told.contains("\"Soon\"") && !told.contains("Now"), "{told}");
}

#[test]
fn a_client_that_is_told_nothing_with_a_prompt_is_told_all_after_a_tool() {
    let project = Project::new();
    project.hook("cursor", "session-start");
    project.send("--from ada --to cursor-blog --kind event --subject Some~news");
    assert_eq!(project.hook("cursor", "prompt"), "");
    assert!(project.hook("cursor", "after-tool").contains("Some news"));
}

#[test]
fn a_subagent_is_told_nothing_of_its_agents_mail() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.send("--from ada --to claude-blog --priority urgent --subject Now");
    let subagents = json!({ "agent_id": "a-1", "agent_type": "Explore" });
    assert_eq!(project.hook_saying("claude", "after-tool", &subagents), "");
    assert!(project.hook("claude", "after-tool").contains("Now"));
}

#[test]
fn a_stop_is_held_up_once_for_what_asks_for_something() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.send("--from ada --to claude-blog --kind event --subject Some~news");
    assert_eq!(project.hook("claude", "stop"), "");
    project.send("--from ada --to claude-blog --kind question --subject Which~fields?");
    project.send("--from ada --to claude-blog --subject Build~it");
    let stopped: Value = serde_json::from_str(&project.hook("claude", "stop")).unwrap();
    assert_eq!(stopped["decision"], "block");
    assert_eq!(
        stopped["reason"],
        "inbox: 2 new (2 requests from ada). Run inbox read."
    );
    assert_eq!(project.hook("claude", "stop"), "");
    let rung = &project.run("receipts msg_2 --json").ok()["receipts"][0];
    assert_eq!(rung["step"], "offered");
}

#[test]
fn an_agent_that_goes_on_because_of_a_hook_is_let_go() {
    for (client, sign) in [
        ("claude", json!({ "stop_hook_active": true })),
        ("codex", json!({ "stop_hook_active": true })),
        ("gemini", json!({ "stop_hook_active": true })),
        ("cursor", json!({ "loop_count": 1 })),
        ("cursor", json!({ "status": "aborted" })),
    ] {
        let project = Project::new();
        project.hook(client, "session-start");
        project.send(&format!(
            "--from ada --to {client}-blog --priority urgent --subject Now"
        ));
        assert_eq!(project.hook_saying(client, "stop", &sign), "", "{client}");
        // It was not told, so it is at the next stop.
        assert!(
            project.hook(client, "stop").contains("1 urgent from ada"),
            "{client}"
        );
    }
}

#[test]
fn a_compaction_keeps_what_the_agent_holds_and_what_is_unread() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.send("--from lead --to claude-blog --subject Add~tags");
    project.send("--from ada --to claude-blog --kind question --subject Which~fields?");
    let in_client = [("CLAUDE_CODE_SESSION_ID", SESSION)];
    project.run_in(&in_client, "claim --json").ok();
    assert!(!project.hook("claude", "prompt").is_empty());
    assert_eq!(
        project.hook("claude", "compact"),
        "Keep in the summary: claude-blog holds the inbox threads thr_1 (claimed); \
         2 messages are unread (inbox read).\n"
    );
    for client in ["claude", "codex"] {
        // The session goes on, whichever client it runs in.
        let after = json!({ "source": "compact" });
        let told = context(&project.hook_saying(client, "session-start", &after));
        assert!(
            told.contains("you hold thr_1 (claimed): \"Add tags\""),
            "{told}"
        );
        assert!(told.contains("Which fields?"), "{told}");
    }
    let told = context(&project.hook("claude", "session-start"));
    assert!(!told.contains("you hold"), "{told}");
}

#[test]
fn two_sessions_of_one_agent_are_both_told_until_one_has_read_it() {
    let project = Project::new();
    let other = json!({ "session_id": "another" });
    project.hook("claude", "session-start");
    project.hook_saying("claude", "session-start", &other);
    project.send("--from ada --to claude-blog --subject Build~it");
    project.send("--from ada --to claude-blog --subject Test~it");
    assert!(project.hook("claude", "prompt").contains("Build it"));
    assert!(
        project
            .hook_saying("claude", "prompt", &other)
            .contains("Build it")
    );
    project.send("--from ada --to claude-blog --subject Ship~it");
    let in_client = [("CLAUDE_CODE_SESSION_ID", SESSION)];
    project.run_in(&in_client, "read --json").ok();
    assert_eq!(project.hook_saying("claude", "prompt", &other), "");
}

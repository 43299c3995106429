//! The proof: a message that the hook of the very same wiring prints.

use super::home::Home;

#[test]
fn without_a_store_the_next_step_is_said() {
    let home = Home::new();
    let said = home.inbox.run(["setup", "claude", "--yes"]);
    assert_eq!(said.code, 0, "{said}");
    assert!(
        said.stdout.contains("hint: inbox init makes a store"),
        "{said}"
    );
    let answer = home.setup("claude --yes").ok();
    let proof = &answer["clients"][0]["proof"];
    assert_eq!(proof["ok"], false);
    assert!(proof["message_id"].is_null(), "{proof}");
}

#[test]
fn the_proof_is_what_the_hook_printed_and_nothing_else() {
    let home = Home::new();
    home.inbox.run(["init", "--json"]).ok();
    for client in ["claude", "codex", "gemini", "opencode", "cursor"] {
        let answer = home.setup(&format!("{client} --yes")).ok();
        let proof = &answer["clients"][0]["proof"];
        let command = proof["command"].as_str().unwrap();
        assert!(
            command.ends_with(&format!(" hook {client} session-start")),
            "{proof}"
        );
        let printed = proof["printed"].as_str().unwrap();
        assert!(printed.contains("Setup works"), "{proof}");
        assert_eq!(proof["ok"], true, "{proof}");
        assert!(proof["problem"].is_null(), "{proof}");
        let said = home.inbox.run(["setup", client]);
        assert!(said.stdout.contains("the hook printed it:\n  {"), "{said}");
        assert_eq!(said.stderr, "");
        let agent = proof["agent"].as_str().unwrap();
        assert!(
            agent.starts_with(&format!("{client}-inbox-test-")),
            "{agent}"
        );
        assert!(
            said.stdout
                .contains(&format!("mail to {agent} reaches {client}")),
            "{said}"
        );
    }
}

#[test]
fn the_proof_leaves_the_agents_mail_alone() {
    let home = Home::new();
    home.inbox.run(["init", "--json"]).ok();
    let sent = home
        .inbox
        .run([
            "send",
            "--from",
            "lead",
            "--to",
            "all",
            "--kind",
            "event",
            "--subject",
            "Hi",
            "--json",
        ])
        .ok();
    home.setup("claude codex --yes").ok();
    let id = sent["message"]["message_id"].as_str().unwrap();
    let receipts = home.inbox.run(["receipts", id, "--json"]).ok();
    for rung in receipts["receipts"].as_array().unwrap() {
        let who = rung["agent_id"].as_str().unwrap();
        assert!(who.starts_with("setup-"), "{receipts}");
    }
    // The test's own mail is handled, and its session is over.
    for agent in ["setup-claude", "setup-codex"] {
        let left = home
            .inbox
            .run(["read", "--agent", agent, "--peek", "--json"]);
        assert!(!left.stdout.contains("Setup works"), "{left}");
    }
    let agents = home.inbox.run(["agent", "list", "--json"]).ok();
    assert!(!agents.to_string().contains("setup"), "{agents}");
    let alive = home.inbox.run(["session", "list", "--json"]).ok();
    let alive = alive["sessions"].as_array().unwrap();
    let is_alive = |session: &serde_json::Value| session["state"] == "alive";
    assert!(!alive.iter().any(is_alive), "{alive:?}");
}

#[test]
fn a_proof_that_fails_is_said_and_the_wiring_stays() {
    let home = Home::new();
    home.inbox.run(["init", "--json"]).ok();
    // A shell that does nothing.
    let bin = home.inbox.folder().join("bin/sh");
    std::fs::remove_file(&bin).unwrap();
    std::os::unix::fs::symlink("/bin/true", &bin).unwrap();
    let said = home.inbox.run(["setup", "claude", "--yes"]);
    assert_eq!(said.code, 0, "{said}");
    assert!(
        said.stderr
            .contains("warning: claude: msg_1 was sent, but `"),
        "{said}"
    );
    assert!(said.stderr.contains("printed nothing"), "{said}");
    assert!(home.path(".claude/skills/inbox/SKILL.md").is_file());
}

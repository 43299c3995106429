//! Who a client is: what it says of its session, what is configured, and what its agent's commands know by it.

use serde_json::{Value, json};

use super::{CLIENTS, Project, SESSION};

/// The sessions on the roster: id, agent, state, roles, tags, client.
fn sessions(project: &Project) -> Vec<Value> {
    let listed = project.run("session list --state alive,frozen,dead --json");
    let answer = listed.ok();
    let sessions = answer["sessions"].as_array().unwrap();
    let told = |session: &Value| {
        json!([
            session["session_id"],
            session["agent_id"],
            session["state"],
            session["roles"],
            session["tags"],
            session["client"]
        ])
    };
    sessions.iter().map(told).collect()
}

#[test]
fn a_session_is_bound_to_an_agent_named_after_the_client_and_the_project() {
    for client in CLIENTS {
        let project = Project::new();
        project.hook(client, "session-start");
        let agent = format!("{client}-blog");
        assert_eq!(
            sessions(&project),
            [json!([SESSION, agent, "alive", [], [], client])]
        );
    }
}

#[test]
fn the_project_configures_the_agent_its_role_and_its_tags() {
    let project = Project::new();
    let config =
        "[session]\nagent = \"backend\"\nrole = [\"developer\"]\ntags = [\"project:blog\"]\n";
    std::fs::write(project.beside_store("inbox.toml"), config).unwrap();
    project.hook("codex", "session-start");
    let wanted = json!([
        SESSION,
        "backend",
        "alive",
        ["developer"],
        ["project:blog"],
        "codex"
    ]);
    assert_eq!(sessions(&project), [wanted]);
    project.send("--from ada --to role:developer --kind event --subject News");
    assert!(
        project
            .hook("codex", "prompt")
            .contains("1 new for backend")
    );
    // What a session became since, it stays when it begins again.
    project
        .run("session set --session 8e1f0c7a-53c2-4d1b-9c55-0a1b2c3d4e5f --add role:lead --json")
        .ok();
    project.hook("codex", "end");
    project.hook("codex", "session-start");
    let roles = &sessions(&project)[0][3];
    assert_eq!(*roles, json!(["developer", "lead"]));
}

#[test]
fn a_name_that_is_given_is_stronger_than_one_that_is_configured() {
    for (line, variables, wanted) in [
        (
            "claude prompt --agent flag",
            vec![("INBOX_AGENT", "variable")],
            "flag",
        ),
        (
            "claude prompt",
            vec![("INBOX_AGENT", "variable")],
            "variable",
        ),
        (
            "claude prompt",
            vec![("INBOX_SESSION_AGENT", "{project}.{client}")],
            "blog.claude",
        ),
        (
            "claude prompt",
            vec![("CLAUDE_CODE_SESSION_ID", "x")],
            "claude-blog",
        ),
    ] {
        let project = Project::new();
        let outcome = project.hook_with(
            line,
            &variables,
            format!("{{\"session_id\":\"{SESSION}\"}}").as_bytes(),
        );
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (0, ""),
            "{outcome}"
        );
        assert_eq!(sessions(&project)[0][0], SESSION);
        assert_eq!(sessions(&project)[0][1], wanted);
    }
}

#[test]
fn the_session_may_come_from_the_clients_variables() {
    for (client, variable) in [
        ("claude", "CLAUDE_CODE_SESSION_ID"),
        ("codex", "CODEX_THREAD_ID"),
        ("gemini", "GEMINI_SESSION_ID"),
    ] {
        let project = Project::new();
        let line = format!("{client} session-start");
        let outcome = project.hook_with(&line, &[(variable, "from-a-variable")], b"");
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (0, ""),
            "{outcome}"
        );
        assert_eq!(sessions(&project)[0][0], "from-a-variable");
    }
}

#[test]
fn without_a_session_the_agent_is_told_and_none_is_begun() {
    let project = Project::new();
    project.send("--from ada --to claude-blog --subject Build~it");
    let outcome = project.hook_with("claude session-start", &[], b"");
    assert!(outcome.stdout.contains("Build it"), "{outcome}");
    assert_eq!(sessions(&project), [json!(null); 0]);
}

#[test]
fn the_commands_of_a_clients_agent_know_who_they_are() {
    let project = Project::new();
    project.hook("claude", "session-start");
    let other = json!({ "session_id": "a-thread" });
    project.hook_saying("codex", "session-start", &other);
    for (variable, session, agent) in [
        ("CLAUDE_CODE_SESSION_ID", SESSION, "claude-blog"),
        ("CODEX_THREAD_ID", "a-thread", "codex-blog"),
    ] {
        let sent = project.run_in(
            &[(variable, session)],
            "send --to ada --subject Hello --json",
        );
        let message = &sent.ok()["message"];
        assert_eq!(message["from_agent"], agent);
        assert_eq!(message["from_session"], session);
    }
}

#[test]
fn a_name_that_is_said_is_stronger_than_the_clients_session() {
    let project = Project::new();
    project.hook("claude", "session-start");
    let client = ("CLAUDE_CODE_SESSION_ID", SESSION);
    let send = "send --to ada --subject Hello --json";
    for (variables, line, agent, session) in [
        (vec![client], format!("{send} --agent lead"), "lead", None),
        (vec![client], format!("{send} --from lead"), "lead", None),
        (
            vec![client, ("INBOX_AGENT", "lead")],
            send.to_owned(),
            "lead",
            None,
        ),
        (
            vec![client, ("INBOX_AGENT", "claude-blog")],
            send.to_owned(),
            "claude-blog",
            Some(SESSION),
        ),
    ] {
        let message = project.run_in(&variables, &line).ok()["message"].clone();
        assert_eq!(message["from_agent"], agent, "{line}");
        assert_eq!(message["from_session"].as_str(), session, "{line}");
    }
    project
        .run("session start --agent lead --session lead-1 --json")
        .ok();
    let sent = project
        .run_in(&[client, ("INBOX_SESSION", "lead-1")], send)
        .ok();
    assert_eq!(sent["message"]["from_agent"], "lead");
    // A session that nobody began says nothing of who calls.
    let unknown = [("CLAUDE_CODE_SESSION_ID", "unheard-of")];
    project.run_in(&unknown, send).refused(30, "invalid_input");
    let sent = project
        .run_in(&unknown, &format!("{send} --agent lead"))
        .ok();
    assert_eq!(sent["message"]["from_session"], json!(null));
}

#[test]
fn the_end_of_a_session_ends_it_and_a_prompt_begins_it_again() {
    let project = Project::new();
    project.hook("claude", "end");
    assert_eq!(sessions(&project), [json!(null); 0]);
    project.hook("claude", "session-start");
    project.hook("claude", "end");
    assert_eq!(sessions(&project)[0][2], "dead");
    project.hook("claude", "end");
    project.hook("claude", "prompt");
    assert_eq!(sessions(&project)[0][2], "alive");
    project
        .run(&format!("session freeze {SESSION} --json"))
        .ok();
    project.hook("claude", "after-tool");
    assert_eq!(sessions(&project)[0][2], "alive");
}

#[test]
fn a_hook_that_runs_elsewhere_finds_the_project_that_its_client_names() {
    let project = Project::new();
    let deep = project.folder().join("src/deep");
    std::fs::create_dir_all(&deep).unwrap();
    project.send("--from ada --to cursor-blog --subject Build~it");
    let input = json!({ "conversation_id": "c-1", "workspace_roots": [deep] }).to_string();
    for (variables, input) in [
        (vec![], input.as_str()),
        (
            vec![("CURSOR_PROJECT_DIR", deep.to_str().unwrap())],
            "{\"conversation_id\":\"c-2\",\"cwd\":\"/\"}",
        ),
    ] {
        let mut command = project.command("hook cursor session-start");
        command.current_dir("/").envs(variables);
        command.stdin(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let outcome = inbox_testkit::sandbox::finish(child);
        assert!(
            outcome.stdout.contains("1 unread for cursor-blog"),
            "{outcome}"
        );
    }
}

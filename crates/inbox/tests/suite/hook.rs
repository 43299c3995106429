//! Clients' hooks: what each client gets at each of its moments, and that no hook ever stops an agent.

mod budget;
mod far;
mod forms;
mod identity;
mod quiet;
mod told;
mod watch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use inbox_testkit::sandbox::{Outcome, Sandbox, finish};
use serde_json::{Value, json};

use crate::INBOX;

/// The session that the tests' clients name.
const SESSION: &str = "8e1f0c7a-53c2-4d1b-9c55-0a1b2c3d4e5f";

const CLIENTS: [&str; 6] = ["claude", "codex", "gemini", "opencode", "cursor", "agy"];
const EVENTS: [&str; 6] = [
    "session-start",
    "prompt",
    "after-tool",
    "stop",
    "end",
    "compact",
];

/// A project called `blog`, with a store, and clients that run in it.
struct Project {
    inbox: Sandbox,
}

impl Project {
    fn new() -> Self {
        let project = Project::without_store();
        project.run("init --json").ok();
        project
    }

    fn without_store() -> Self {
        let inbox = Sandbox::empty(INBOX);
        let project = Project { inbox };
        std::fs::create_dir_all(project.folder()).unwrap();
        project
    }

    fn folder(&self) -> PathBuf {
        self.inbox.folder().join("blog")
    }

    fn beside_store(&self, name: &str) -> PathBuf {
        self.folder().join(".agents").join(name)
    }

    /// A command in the project; `~` stands for a space within a word.
    fn command(&self, line: &str) -> Command {
        let words = line.split_whitespace().map(|word| word.replace('~', " "));
        let mut command = self.inbox.command(words);
        command.current_dir(self.folder());
        command
    }

    #[track_caller]
    fn run(&self, line: &str) -> Outcome {
        finish(self.command(line).spawn().expect("the binary starts"))
    }

    /// Runs a command as the agent of a client would in its shell.
    #[track_caller]
    fn run_in(&self, variables: &[(&str, &str)], line: &str) -> Outcome {
        let mut command = self.command(line);
        command.envs(variables.iter().copied());
        finish(command.spawn().expect("the binary starts"))
    }

    /// Runs a hook with this on its standard input.
    #[track_caller]
    fn hook_with(&self, line: &str, variables: &[(&str, &str)], input: &[u8]) -> Outcome {
        let mut command = self.command(&format!("hook {line}"));
        command
            .env("INBOX_HOOK_DEBUG", "1")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A hook that does not listen is no reason to fail here.
        let _ = stdin.write_all(input);
        drop(stdin);
        finish(child)
    }

    /// Runs a hook as its client does: what it prints. It must not have had any trouble.
    #[track_caller]
    fn hook(&self, client: &str, event: &str) -> String {
        self.hook_saying(client, event, &json!({}))
    }

    /// The same, where the client says something besides.
    #[track_caller]
    fn hook_saying(&self, client: &str, event: &str, more: &Value) -> String {
        let mut input = said(client, event, &self.folder());
        if let (Some(input), Some(more)) = (input.as_object_mut(), more.as_object()) {
            input.extend(more.clone());
        }
        let line = format!("{client} {event}");
        let outcome = self.hook_with(&line, &[], input.to_string().as_bytes());
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (0, ""),
            "{outcome}"
        );
        outcome.stdout
    }

    #[track_caller]
    fn send(&self, line: &str) -> Value {
        self.run(&format!("send --json {line}")).ok()
    }
}

/// What a client says to its hooks.
fn said(client: &str, event: &str, folder: &Path) -> Value {
    let tool = json!({ "command": "make test" });
    match client {
        "claude" | "codex" | "gemini" => {
            let name = match (client, event) {
                (_, "session-start") => "SessionStart",
                ("gemini", "prompt") => "BeforeAgent",
                ("gemini", "after-tool") => "AfterTool",
                ("gemini", "stop") => "AfterAgent",
                ("gemini", "compact") => "PreCompress",
                (_, "prompt") => "UserPromptSubmit",
                (_, "after-tool") => "PostToolUse",
                (_, "stop") => "Stop",
                (_, "end") => "SessionEnd",
                _ => "PreCompact",
            };
            let mut input = json!({
                "session_id": SESSION,
                "transcript_path": "transcript.jsonl",
                "cwd": folder,
                "hook_event_name": name,
            });
            let own = match event {
                "session-start" => json!({ "source": "startup", "model": "a-model" }),
                "prompt" => json!({ "prompt": "Go on, please.", "permission_mode": "default" }),
                "after-tool" => json!({
                    "tool_name": "Bash", "tool_input": tool, "tool_use_id": "toolu_1",
                    "tool_response": { "stdout": "ok\n".repeat(1000), "interrupted": false },
                }),
                "stop" => json!({ "stop_hook_active": false, "last_assistant_message": "Done." }),
                "end" => json!({ "reason": "prompt_input_exit" }),
                _ => json!({ "trigger": "auto", "custom_instructions": null }),
            };
            if let (Some(input), Some(own)) = (input.as_object_mut(), own.as_object()) {
                input.extend(own.clone());
            }
            input
        }
        "cursor" => json!({
            "conversation_id": SESSION, "generation_id": "g-1", "model": "a-model",
            "hook_event_name": event, "cursor_version": "3.1", "workspace_roots": [folder],
            "status": "completed", "loop_count": 0, "tool_name": "Shell", "tool_input": tool,
        }),
        "agy" => json!({
            "conversationId": SESSION, "workspacePaths": [folder],
            "transcriptPath": "transcript.jsonl", "invocationNum": 3,
        }),
        _ => json!({ "sessionID": SESSION, "cwd": folder }),
    }
}

//! The proof: a message is sent, and the hook that the client will run prints it.
//!
//! It goes to an agent of its own, so that the real one's mail is not marked as shown by a test of ours.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inbox_core::{Address, AgentName, Code, Kind, MessageId, Refusal};
use inbox_ops::{Ack, AgentRemove, Caller, Inbox, Operation, Send};
use serde_json::{Value, json};

use super::super::hook::project;
use super::client::{Client, Program};
use crate::cli::{Context, find, operation};

/// What the message says.
const SUBJECT: &str = "Setup works";

/// Who sends it.
const SENDER: &str = "setup";

/// How long the hook may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether the client's hook printed a message that was sent to it.
pub(super) struct Proof {
    pub(super) client: Client,
    /// The line that was run.
    command: String,
    /// The message that was sent.
    message: Option<MessageId>,
    /// Who the client's agent is in this project.
    agent: Option<AgentName>,
    /// What the hook printed.
    printed: String,
    /// Why there is no proof.
    pub(super) problem: Option<String>,
    pub(super) hint: Option<String>,
    /// Whether there was anything to prove.
    is_tried: bool,
}

impl Proof {
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let (Some(message), None) = (&self.message, &self.problem) {
            text.push_str(&format!(
                "proof  {}  {message} was sent, and the hook printed it:\n  {}\n",
                self.client,
                self.printed.trim_end().replace('\n', "\n  ")
            ));
        }
        if let Some(agent) = &self.agent {
            let client = self.client;
            text.push_str(&format!(
                "mail to {agent} reaches {client} in this project\n"
            ));
        }
        text
    }

    pub(super) fn value(&self) -> Value {
        json!({
            "ok": self.is_tried && self.problem.is_none(),
            "agent": self.agent,
            "command": self.command,
            "message_id": self.message,
            "printed": self.printed,
            "problem": self.problem,
        })
    }
}

/// Sends a message and runs the hook.
pub(super) fn prove(client: Client, program: &Program, context: &Context) -> Proof {
    let mut proof = Proof {
        client,
        command: String::new(),
        message: None,
        agent: None,
        printed: String::new(),
        problem: None,
        hint: None,
        is_tried: false,
    };
    // It has no hook to run.
    if client == Client::Agy {
        return proof;
    }
    proof.command = program.hook(client, "session-start");
    if find::server(context.db.as_deref()).is_some() {
        proof.hint = Some(
            "inbox send to yourself from another agent is the proof at a server, where a token is one agent's"
                .to_owned(),
        );
        return proof;
    }
    match attempt(&mut proof, program, context) {
        Ok(()) => proof.is_tried = true,
        Err(refusal) if refusal.code == Code::StoreNotFound => {
            proof.hint = Some(
                "inbox init makes a store for this project; inbox setup then proves itself with a message"
                    .to_owned(),
            );
        }
        Err(refusal) => proof.problem = Some(refusal.message),
    }
    proof
}

fn attempt(proof: &mut Proof, program: &Program, context: &Context) -> Result<(), Refusal> {
    let inbox = operation::open(context)?;
    let project = project(inbox.store().location()).unwrap_or_default();
    proof.agent = Some(
        inbox
            .config()
            .session
            .agent(proof.client.name(), &project)?,
    );
    let agent: AgentName = format!("setup-{}", proof.client).parse()?;
    let message = send(&inbox, &agent)?;
    proof.message = Some(message);
    let session = format!("setup-{}-{}", proof.client, std::process::id());
    let told = hook(&proof.command, &agent, &session, "SessionStart", context);
    // The message and its session have served, whatever the hook did.
    let caller = Caller::local(Some(agent.clone()));
    let acked = Ack {
        message: vec![message],
        ..Ack::default()
    }
    .run(&inbox, &caller);
    let end = program.hook(proof.client, "end");
    let ended = hook(&end, &agent, &session, "SessionEnd", context);
    proof.printed = told?;
    if !proof.printed.contains(SUBJECT) {
        proof.problem = Some(match proof.printed.trim() {
            "" => format!(
                "{message} was sent, but `{}` printed nothing",
                proof.command
            ),
            other => format!(
                "{message} was sent, but `{}` printed something else: {}",
                proof.command,
                other.chars().take(200).collect::<String>()
            ),
        });
        proof.hint = Some("inbox doctor checks the store and the wiring".to_owned());
    }
    acked?;
    ended?;
    // What is left of it is the history; nobody should write to it.
    for slug in [agent, SENDER.parse()?] {
        AgentRemove { slug }.run(&inbox, &Caller::local(None))?;
    }
    Ok(())
}

fn send(inbox: &Inbox, agent: &AgentName) -> Result<MessageId, Refusal> {
    let request = Send {
        to: vec![Address::from(agent)],
        subject: Some(SUBJECT.to_owned()),
        kind: Some(Kind::Event),
        ttl_hours: Some(1),
        ..Send::default()
    };
    let caller = Caller::local(Some(SENDER.parse()?));
    Ok(request.run(inbox, &caller)?.message.message_id)
}

/// Runs a hook as a client does: by a shell, with JSON on its standard input.
fn hook(
    line: &str,
    agent: &AgentName,
    session: &str,
    event: &str,
    context: &Context,
) -> Result<String, Refusal> {
    let cannot = |error: &dyn std::fmt::Display| {
        Refusal::new(Code::Internal, format!("`{line}` cannot be run: {error}"))
    };
    let here = std::env::current_dir().map_err(|error| cannot(&error))?;
    let input = json!({
        "session_id": session,
        "conversation_id": session,
        "hook_event_name": event,
        "source": "startup",
        "reason": "exit",
        "cwd": here.display().to_string(),
        "workspace_roots": [here.display().to_string()],
        "transcript_path": "",
    });
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env("INBOX_AGENT", agent.as_str())
        // `setup` may itself run in a session, which is not the one that is tried.
        .env_remove("INBOX_SESSION")
        .env_remove("INBOX_LEASE")
        .env_remove("CLAUDE_CODE_SESSION_ID")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    if let Some(db) = context.db.clone().or_else(|| find::variable("INBOX_DB")) {
        command.env("INBOX_DB", db);
    }
    let mut child = command.spawn().map_err(|error| cannot(&error))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read is no error of ours.
        let _ = stdin.write_all(input.to_string().as_bytes());
    }
    let deadline = Instant::now() + PATIENCE;
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(stdout) = stdout {
            let _ = stdout.take(64 << 10).read_to_string(&mut text);
        }
        text
    });
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => break,
            Ok(Some(status)) => return Err(cannot(&format!("it ended with {status}"))),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(cannot(&"it did not end"));
            }
            Err(error) => return Err(cannot(&error)),
        }
    }
    Ok(reader.join().unwrap_or_default())
}

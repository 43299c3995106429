//! `inbox run`: a scripted agent takes work, keeps its lease, is held to its contract, and leaves nothing behind.

mod acp;
mod basics;
mod contract;
mod elsewhere;
mod hostile;
mod injection;
mod kept;
mod many;
mod offline;
mod presets;
mod questions;

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use inbox_testkit::sandbox::{Outcome, Sandbox, words};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::INBOX;

/// How long anything may take before it counts as never. Not a measure of speed.
const NEVER: Duration = Duration::from_mins(1);

#[track_caller]
fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + NEVER;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it never came to pass: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A store with a runner's ground: what is written to `NAME.sh` in its folder is an agent.
struct Ground {
    inbox: Sandbox,
}

impl Ground {
    fn new() -> Self {
        Ground {
            inbox: Sandbox::in_memory(INBOX),
        }
    }

    /// The same, with these settings of `run`.
    fn with(settings: &[(&str, &str)]) -> Self {
        let mut ground = Ground::new();
        for (name, value) in settings {
            let name = format!("INBOX_RUN_{}", name.to_uppercase());
            ground.inbox.set(&name, value);
        }
        ground
    }

    fn folder(&self) -> &Path {
        self.inbox.folder()
    }

    /// Sends work to quinn; its thread.
    #[track_caller]
    fn send(&self, subject: &str) -> String {
        self.send_to("quinn", subject)
    }

    #[track_caller]
    fn send_to(&self, to: &str, subject: &str) -> String {
        let args = ["send", "--json", "--from", "lead", "--to", to];
        let sent = self
            .inbox
            .run(args.into_iter().chain(["--subject", subject]));
        text(&sent.ok()["thread"]["thread_id"])
    }

    /// Sends a brief to quinn with this contract and environment; its thread.
    #[track_caller]
    fn brief(&self, contract: Value, env: Value) -> String {
        let wire = json!({
            "wire": "1.0", "type": "brief", "sender": "lead", "ts": "2026-04-28T00:00:00Z",
            "payload": {
                "goal": "The report is written.",
                "acceptance_criteria": ["It is there"],
                "output_contract": contract,
                "env": env,
            },
        });
        let wire = wire.to_string();
        let args = [
            "send",
            "--json",
            "--from",
            "lead",
            "--to",
            "quinn",
            "--subject",
            "Report",
        ];
        let sent = self
            .inbox
            .run(args.into_iter().chain(["--payload-json", &wire]));
        text(&sent.ok()["thread"]["thread_id"])
    }

    /// The arguments of a runner for quinn whose agent is this script of the shell.
    fn args(&self, flags: &str, script: &str) -> Vec<String> {
        // The file's content is the agent; nothing of a message is ever near a shell.
        let path = self.folder().join("agent.sh");
        let script = script.replace("INBOX ", &format!("{INBOX} "));
        std::fs::write(&path, script).expect("the script can be written");
        let mut args = words(&format!("run --agent quinn {flags}"));
        args.extend(["--".into(), "sh".into(), path.display().to_string()]);
        args
    }

    /// Runs an agent until the runner ends.
    #[track_caller]
    fn run(&self, flags: &str, script: &str) -> Outcome {
        self.inbox.run(self.args(flags, script))
    }

    /// Starts a runner.
    fn start(&self, flags: &str, script: &str) -> Leashed {
        Leashed(self.inbox.spawn(self.args(flags, script)))
    }

    #[track_caller]
    fn show(&self, thread: &str) -> Value {
        self.inbox.ok(&format!("show --thread {thread}"))
    }

    #[track_caller]
    fn status(&self, thread: &str) -> String {
        text(&self.show(thread)["thread"]["status"])
    }

    /// The last message of a thread.
    #[track_caller]
    fn last(&self, thread: &str) -> Value {
        let shown = self.show(thread);
        let messages = shown["messages"].as_array().expect("messages");
        messages.last().expect("a message").clone()
    }

    /// Waits until the agent has written this file, and reads it.
    #[track_caller]
    fn written(&self, name: &str) -> String {
        let path = self.folder().join(name);
        eventually(name, || {
            let text = std::fs::read_to_string(&path).ok()?;
            text.ends_with('\n').then(|| text.trim().to_owned())
        })
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.folder().join(name), "").expect("a file can be written");
    }

    #[track_caller]
    fn reply(&self, thread: &str, answer: &str) {
        let args = ["reply", "--json", "--agent", "lead", "--thread", thread];
        let args = args.into_iter().chain(["--summary", answer]);
        self.inbox.run(args).ok();
    }
}

/// A runner that does not outlive its test.
struct Leashed(Child);

impl Leashed {
    fn signal(&self, signal: Signal) {
        kill_process(pid(self.0.id()), signal).expect("the runner is there");
    }

    #[track_caller]
    fn ends(mut self) -> i32 {
        eventually("the runner ends", || self.0.try_wait().ok().flatten())
            .code()
            .unwrap_or(-1)
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pid(number: u32) -> Pid {
    let number = i32::try_from(number).ok();
    number.and_then(Pid::from_raw).expect("a process")
}

/// Whether a process is there and has not ended.
fn is_alive(number: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

#[track_caller]
fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

//! A sandbox with short ways to say what is done in it.
//!
//! Commands are written as one line: words are separated by spaces, `~` stands for a space within a
//! word, and `--json` is added.

use std::process::Child;

pub(super) use inbox_testkit::sandbox::words;
use inbox_testkit::sandbox::{Outcome, Sandbox, finish};
use serde_json::{Value, json};

use crate::INBOX;

/// The keys of a thread.
pub(super) const THREAD: &[&str] = &[
    "assigned_to",
    "attempts",
    "created_at",
    "created_by",
    "latest_message_id",
    "priority",
    "ref_id",
    "ref_type",
    "run_id",
    "status",
    "subject",
    "task_id",
    "thread_id",
    "to",
    "updated_at",
];

/// The keys of a message.
pub(super) const MESSAGE: &[&str] = &[
    "auth",
    "body",
    "context",
    "created_at",
    "expires_at",
    "from_agent",
    "from_session",
    "hops",
    "kind",
    "message_id",
    "message_type",
    "parent_message_id",
    "payload_json",
    "priority",
    "summary",
    "thread_id",
    "to",
    "to_agent",
    "uid",
    "verified",
];

/// The keys of an event.
pub(super) const EVENT: &[&str] = &[
    "created_at",
    "event_id",
    "event_type",
    "message_id",
    "payload_json",
    "run_id",
    "source",
    "summary",
    "task_id",
    "thread_id",
];

/// A store and the commands on it.
pub(super) struct Desk {
    pub(super) inbox: Sandbox,
}

/// Everything that can be seen to change.
#[derive(Debug, PartialEq)]
pub(super) struct Snapshot(String, String);

impl Desk {
    pub(super) fn new() -> Self {
        Desk {
            inbox: Sandbox::new(INBOX),
        }
    }

    /// Runs a line.
    #[track_caller]
    pub(super) fn run(&self, line: &str) -> Outcome {
        self.inbox.run(words(line))
    }

    /// Starts a line.
    pub(super) fn spawn(&self, line: &str) -> Child {
        self.inbox.spawn(words(line))
    }

    /// Runs a line with variables.
    #[track_caller]
    pub(super) fn with(&self, variables: &[(&str, &str)], line: &str) -> Outcome {
        let mut command = self.inbox.command(words(line));
        command.envs(variables.iter().copied());
        finish(command.spawn().expect("the binary starts"))
    }

    /// Writes a file into the folder, with the folders above it.
    #[track_caller]
    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.inbox.folder().join(name);
        let folder = path.parent().expect("a file is in a folder");
        std::fs::create_dir_all(folder).expect("the folder can be made");
        std::fs::write(path, content).expect("the file can be written");
    }

    /// What is in a file of the folder.
    #[track_caller]
    pub(super) fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.inbox.folder().join(name)).expect("the file can be read")
    }

    /// Runs a line so many seconds after a fixed moment, by the store's clock.
    #[track_caller]
    pub(super) fn at(&self, seconds: u32, line: &str) -> Outcome {
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        let (hours, minutes) = (minutes / 60, minutes % 60);
        let (days, hours) = (hours / 24, hours % 24);
        let now = format!(
            "2030-01-{:02}T{hours:02}:{minutes:02}:{seconds:02}Z",
            days + 1
        );
        self.with(&[("INBOX_NOW", &now)], line)
    }

    /// Runs a line that succeeds.
    #[track_caller]
    pub(super) fn ok(&self, line: &str) -> Value {
        self.run(line).ok()
    }

    /// Runs a line that finds nothing: an outcome, and not an error.
    #[track_caller]
    pub(super) fn nothing(&self, line: &str) -> Value {
        nothing(&self.run(line))
    }

    /// Runs a line that is refused, and makes sure that it changed nothing.
    #[track_caller]
    pub(super) fn refused(&self, exit: i32, code: &str, line: &str) -> Value {
        self.refused_args(exit, code, &words(line))
    }

    /// The same with the arguments as they are.
    #[track_caller]
    pub(super) fn refused_args(&self, exit: i32, code: &str, args: &[String]) -> Value {
        let before = self.snapshot();
        let outcome = self.inbox.run(args);
        let error = outcome.refused(exit, code)["error"].clone();
        assert!(
            !error["message"].as_str().unwrap_or_default().is_empty(),
            "{outcome}"
        );
        assert!(outcome.stderr.is_empty(), "{outcome}");
        assert_eq!(before, self.snapshot(), "{args:?} left a trace");
        error
    }

    /// Everything that can be seen of the store: its threads and its log.
    pub(super) fn snapshot(&self) -> Snapshot {
        let log = self.run("watch --after-event 0 --timeout-seconds 0");
        Snapshot(log.stdout, self.run("list --limit 10000").stdout)
    }

    /// Opens a thread from `lead` with these further arguments, and gives its id.
    #[track_caller]
    pub(super) fn send(&self, rest: &str) -> String {
        let sent = self.ok(&format!("send --from lead --subject Work {rest}"));
        text(&sent["thread"]["thread_id"])
    }

    /// Claims a thread, and gives its token.
    #[track_caller]
    pub(super) fn claim(&self, agent: &str, thread: &str) -> String {
        let claimed = self.ok(&format!("claim --agent {agent} --thread {thread}"));
        text(&claimed["lease"]["lease_token"])
    }

    /// Every event after `after`.
    #[track_caller]
    pub(super) fn events(&self, after: u64) -> Vec<Value> {
        let line = format!("watch --after-event {after} --timeout-seconds 0");
        let answer = self.run(&line).json();
        answer["events"].as_array().cloned().unwrap_or_default()
    }

    /// What has happened so far, by the events' types.
    pub(super) fn event_types(&self) -> Vec<String> {
        let events = self.events(0);
        let types = events.iter().map(|event| text(&event["event_type"]));
        types.collect()
    }

    /// The thread as `show` gives it.
    #[track_caller]
    pub(super) fn show(&self, thread: &str) -> Value {
        self.ok(&format!("show --thread {thread}"))
    }
}

/// The words of a line, and `--json`.
/// The arguments as they are, and `--json`.
pub(super) fn args(args: &[&str]) -> Vec<String> {
    args.iter()
        .map(|&arg| arg.to_owned())
        .chain(["--json".to_owned()])
        .collect()
}

/// The answer of an outcome that found nothing.
#[track_caller]
pub(super) fn nothing(outcome: &Outcome) -> Value {
    assert_eq!(outcome.code, 10, "{outcome}");
    let answer = outcome.json();
    assert_eq!(answer["ok"], true, "{outcome}");
    answer
}

/// The keys of an object, sorted.
#[track_caller]
pub(super) fn keys(value: &Value) -> Vec<&str> {
    let object = value.as_object().unwrap_or_else(|| panic!("{value}"));
    let mut keys: Vec<_> = object.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

/// A text.
#[track_caller]
pub(super) fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value}"))
        .to_owned()
}

/// What an error says, with its hint.
#[track_caller]
pub(super) fn said(error: &Value) -> String {
    let hint = error["hint"].as_str().unwrap_or_default();
    format!("{} ({hint})", text(&error["message"]))
}

/// The id of a letter in a mailbox.
pub(super) fn letter_id(n: usize) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

/// A line of an agent mailbox: letter `n`, with what it has beside the usual.
pub(super) fn letter(n: usize, more: &Value) -> String {
    let mut line = json!({
        "id": letter_id(n), "sender": "lead", "recipient": "w", "timestamp": "2026-09-01T09:00:00Z",
        "content": format!("letter {n}"), "thread": null, "ttl_hours": null, "read_by": [],
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        line[name] = value.clone();
    }
    format!("{line}\n")
}

/// The summaries of an answer's messages.
#[track_caller]
pub(super) fn summaries(answer: &Value) -> Vec<String> {
    let messages = answer["messages"].as_array().expect("messages");
    messages
        .iter()
        .map(|message| text(&message["summary"]))
        .collect()
}

/// The ids of an answer's threads.
#[track_caller]
pub(super) fn ids(answer: &Value) -> Vec<String> {
    let threads = answer["threads"].as_array().expect("threads");
    threads
        .iter()
        .map(|thread| text(&thread["thread_id"]))
        .collect()
}

//! A stage on which a client plays: its home and project, its terminal, and the stand-in for its model.

use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_testkit::sandbox::Sandbox;
use serde_json::{Map, Value, json};

use super::offline;
use crate::INBOX;

/// How long anything may take that is waited for: these are large programs, and the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(90);

/// How large the client's window is; `stage.py` makes it so.
const ROWS: NonZeroU16 = NonZeroU16::new(50).unwrap();
const COLUMNS: NonZeroU16 = NonZeroU16::new(160).unwrap();

/// Where the stand-in listens, in the client's own network.
pub(super) const MODEL: &str = "http://127.0.0.1:8765";

/// A user's home, a project called `blog` with a store, and `inbox` on the path.
pub(super) struct Place {
    pub(super) inbox: Sandbox,
}

impl Place {
    pub(super) fn new() -> Self {
        let mut inbox = Sandbox::empty(INBOX);
        let root = inbox.folder().to_owned();
        for name in ["home", "bin", "blog", "tmp"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink(INBOX, root.join("bin/inbox")).unwrap();
        inbox.set("HOME", &root.join("home").display().to_string());
        inbox.set("PATH", &path(&inbox));
        inbox.set("INBOX_WAKE_AT_MOST_EVERY_SECONDS", "0");
        let place = Place { inbox };
        place.run("init --json");
        place
    }

    pub(super) fn home(&self, name: &str) -> PathBuf {
        self.inbox.folder().join("home").join(name)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.inbox.folder().join("blog")
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.home(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Runs a command in the project, from outside the client: its answer.
    #[track_caller]
    pub(super) fn run(&self, line: &str) -> Value {
        let words = line.split_whitespace().map(|word| word.replace('~', " "));
        let mut command = self.inbox.command(words);
        let child = command.current_dir(self.project()).spawn().unwrap();
        inbox_testkit::sandbox::finish(child).ok()
    }

    /// Sends mail to an agent: the message's id.
    #[track_caller]
    pub(super) fn send(&self, from: &str, to: &str, kind: &str, subject: &str) -> String {
        let sent = self.run(&format!(
            "send --json --from {from} --to {to} --kind {kind} --subject {subject}"
        ));
        sent["message"]["message_id"].as_str().unwrap().to_owned()
    }

    /// Waits until somebody was told of a message: how far it has come.
    #[track_caller]
    pub(super) fn told(&self, message: &str) -> Value {
        within(&format!("{message} is told"), || {
            let answer = self.run(&format!("receipts {message} --json"));
            let rung = &answer["receipts"][0];
            (!rung.is_null() && rung["step"] != "queued").then(|| rung.clone())
        })
    }

    /// Waits for a living session that is meant: its id.
    #[track_caller]
    pub(super) fn session(&self, mut is_meant: impl FnMut(&str) -> bool) -> String {
        within("a session", || {
            let answer = self.run("session list --json");
            let sessions = answer["sessions"].as_array().unwrap().clone();
            let mut ids = sessions
                .iter()
                .map(|found| found["session_id"].as_str().unwrap());
            ids.find(|id| is_meant(id)).map(str::to_owned)
        })
    }

    /// Waits until this is the first of the session's doors.
    #[track_caller]
    pub(super) fn watched_by(&self, door: &str) {
        within(&format!("{door} is its first door"), || {
            let answer = self.run("doctor --json");
            let checks = answer["checks"].as_array().unwrap().clone();
            let mut firsts = checks.iter().map(|check| &check["doors"][0]);
            firsts.any(|first| first == door).then_some(())
        });
    }

    /// Waits until the hooks have said that the session waits for its user.
    #[track_caller]
    pub(super) fn idle(&self) {
        let folder = self.home(".local/state/inbox/sessions");
        within("the session is idle", || {
            let files = std::fs::read_dir(&folder).ok()?.flatten();
            let states =
                files.filter(|file| file.path().extension().is_some_and(|kind| kind == "state"));
            let mut texts = states.filter_map(|file| std::fs::read_to_string(file.path()).ok());
            texts.any(|text| text.starts_with("idle")).then_some(())
        });
    }
}

fn path(inbox: &Sandbox) -> String {
    let own = inbox.folder().join("bin");
    format!("{}:{}", own.display(), std::env::var("PATH").unwrap())
}

/// Looks until there is something.
#[track_caller]
fn within<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// A client that plays.
pub(super) struct Stage {
    child: Child,
    input: Option<ChildStdin>,
    events: Receiver<Value>,
    screen: vt100::Parser,
}

impl Stage {
    /// Starts a client in a place, with these variables besides the usual ones.
    pub(super) fn start(
        place: &Place,
        program: &PathBuf,
        args: &[&str],
        more: &[(&str, &str)],
    ) -> Self {
        let root = place.inbox.folder();
        let text = |path: PathBuf| path.display().to_string();
        let mut environment = json!({
            "HOME": text(place.home("")),
            "PATH": path(&place.inbox),
            "TMPDIR": text(root.join("tmp")),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "INBOX_TEST_STORE": "1",
            "INBOX_WAKE_AT_MOST_EVERY_SECONDS": "0",
        });
        let variables = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
        environment
            .as_object_mut()
            .unwrap()
            .extend(variables.collect::<Map<_, _>>());
        let mut child = offline("stage.py")
            .arg(environment.to_string())
            .arg(program)
            .args(args)
            .current_dir(place.project())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare is needed to give the client a network of its own");
        let (send, events) = channel();
        let output = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(serde_json::from_str(&line).unwrap()).is_err() {
                    break;
                }
            }
        });
        Stage {
            input: child.stdin.take(),
            child,
            events,
            screen: vt100::Parser::new(ROWS, COLUMNS, 0),
        }
    }

    fn tell(&mut self, order: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{order}").unwrap();
    }

    pub(super) fn types(&mut self, text: &str) {
        self.tell(&json!({ "do": "type", "text": text }));
    }

    /// The model keeps its answers back, until it is let go.
    pub(super) fn hold(&mut self) {
        self.tell(&json!({ "do": "hold" }));
    }

    pub(super) fn go(&mut self) {
        self.tell(&json!({ "do": "go" }));
    }

    /// Waits for an event.
    #[track_caller]
    fn until<T>(
        &mut self,
        what: &str,
        mut pick: impl FnMut(&Value, &vt100::Screen) -> Option<T>,
    ) -> T {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(event) = self.events.recv_timeout(left) else {
                let screen = self.screen.screen().contents();
                panic!("in vain: {what}; on the screen:\n{screen}");
            };
            if event["event"] == "output" {
                let drawn = STANDARD.decode(event["bytes"].as_str().unwrap());
                self.screen.process(&drawn.unwrap());
            }
            if let Some(found) = pick(&event, self.screen.screen()) {
                return found;
            }
        }
    }

    /// Waits for a turn in which somebody says this: everything that is said in it, each thing apart. A turn is a call of the model with tools:
    /// clients also ask it for a title of what was said, at the same time and without any.
    #[track_caller]
    pub(super) fn asked(&mut self, words: &str) -> Vec<String> {
        self.until(&format!("a turn with {words:?}"), |event, _| {
            let has_tools = event["body"]["tools"]
                .as_array()
                .is_some_and(|tools| !tools.is_empty());
            if event["event"] != "request" || !has_tools {
                return None;
            }
            let mut said = Vec::new();
            for key in ["messages", "input"] {
                gather(&event["body"][key], &mut said);
            }
            said.iter().any(|text| text.contains(words)).then_some(said)
        })
    }

    /// Waits until this is on the client's screen.
    #[track_caller]
    pub(super) fn shows(&mut self, words: &str) {
        self.until(&format!("{words:?} on the screen"), |_, screen| {
            screen.contents().contains(words).then_some(())
        });
    }

    /// Waits until a sign is on the screen after what was said last, and not only somewhere above it.
    #[track_caller]
    pub(super) fn shows_after(&mut self, said: &str, sign: &str) {
        self.until(&format!("{sign:?} after {said:?}"), |_, screen| {
            let contents = screen.contents();
            let said = contents.rfind(said)?;
            contents[said..].contains(sign).then_some(())
        });
    }

    /// Waits until the client has ended by itself.
    #[track_caller]
    pub(super) fn exits(&mut self) {
        self.until("its end", |event, _| {
            (event["event"] == "exit").then_some(())
        });
    }
}

/// Every text in a request.
fn gather(value: &Value, said: &mut Vec<String>) {
    match value {
        Value::String(text) => said.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| gather(value, said)),
        Value::Object(fields) => fields.values().for_each(|value| gather(value, said)),
        _ => {}
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The first process of a namespace takes all the others with it.
        drop(self.input.take());
        let until = Instant::now() + Duration::from_secs(15);
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

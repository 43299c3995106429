//! Runs commands as somebody who has every secret at hand, and keeps all that they say.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use inbox_testkit::sandbox::{Outcome, Sandbox, finish};
use serde_json::Value;

use super::ears::Ears;
use crate::security::modes::under;

/// What has been tried of a command.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tried {
    pub(super) good: bool,
    pub(super) bad: bool,
    pub(super) json: bool,
    pub(super) plain: bool,
}

pub(super) struct Player<'a> {
    pub(super) desk: &'a Sandbox,
    pub(super) ears: &'a Ears,
    /// Every command of the program that does something by itself.
    pub(super) leaves: BTreeSet<String>,
    tried: Mutex<BTreeMap<String, Tried>>,
    environment: Mutex<BTreeMap<String, String>>,
    /// What ended otherwise than it was to end: told at once at the end.
    surprises: Mutex<Vec<String>>,
}

/// The commands that do something by themselves, as the parser knows them.
fn leaves(command: &clap::Command, above: &str, found: &mut BTreeSet<String>) {
    for inner in command.get_subcommands() {
        if inner.get_name() == "help" {
            continue;
        }
        let name = format!("{above} {}", inner.get_name()).trim().to_owned();
        leaves(inner, &name, found);
        if !inner.has_subcommands() || !inner.is_subcommand_required_set() {
            found.insert(name);
        }
    }
}

/// A command in one line: `~` stands for a space within a word.
pub(super) fn words(line: &str) -> Vec<String> {
    let words = line.split_whitespace();
    words.map(|word| word.replace('~', " ")).collect()
}

impl<'a> Player<'a> {
    pub(super) fn new(desk: &'a Sandbox, ears: &'a Ears) -> Self {
        let mut found = BTreeSet::new();
        leaves(&inbox_surfaces::cli::command(), "", &mut found);
        Player {
            desk,
            ears,
            leaves: found,
            tried: Mutex::new(BTreeMap::new()),
            environment: Mutex::new(BTreeMap::new()),
            surprises: Mutex::new(Vec::new()),
        }
    }

    /// Has a variable in the environment of every command that follows.
    pub(super) fn has(&self, name: &str, value: &str) {
        let mut all = self.environment.lock().unwrap();
        all.insert(name.to_owned(), value.to_owned());
    }

    /// What a variable is.
    pub(super) fn variable(&self, name: &str) -> String {
        self.environment.lock().unwrap()[name].clone()
    }

    /// The command that these words call.
    fn leaf(&self, words: &[String]) -> String {
        let mut found = String::new();
        for count in 1..=words.len().min(3) {
            let name = words[..count].join(" ");
            if self.leaves.contains(&name) {
                found = name;
            }
        }
        assert!(!found.is_empty(), "no command begins {words:?}");
        found
    }

    pub(super) fn command(&self, words: &[String], more: &[(&str, &str)]) -> Command {
        let mut command = under("000", self.desk, words.iter().map(String::as_str));
        command.envs(self.environment.lock().unwrap().iter());
        command.envs(more.iter().copied());
        command
    }

    /// Notes what came of a command, and keeps what it said.
    pub(super) fn note(&self, words: &[String], code: i32, said: &[u8]) {
        let leaf = self.leaf(words);
        self.ears.hears(&leaf, said);
        let mut tried = self.tried.lock().unwrap();
        let tried = tried.entry(leaf).or_default();
        let is_json = words.iter().any(|word| word == "--json");
        tried.json |= is_json;
        tried.plain |= !is_json;
        tried.good |= matches!(code, 0 | 10);
        tried.bad |= !matches!(code, 0 | 10);
    }

    /// Runs a command with more in its environment and this on its standard input.
    pub(super) fn with(&self, line: &str, more: &[(&str, &str)], input: &str) -> Outcome {
        let words = words(line);
        let mut command = self.command(&words, more);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
        if let Some(mut pipe) = child.stdin.take() {
            // Who does not read is no failure.
            let _ = pipe.write_all(input.as_bytes());
        }
        let outcome = finish(child);
        let said = format!("{}\n{}", outcome.stdout, outcome.stderr);
        self.note(&words, outcome.code, said.as_bytes());
        outcome
    }

    /// Runs a command that is to succeed, as JSON and then again in words, when it may be too late.
    pub(super) fn ok(&self, line: &str) -> Value {
        self.ok_with(line, &[])
    }

    /// The same, with more in its environment.
    pub(super) fn ok_with(&self, line: &str, more: &[(&str, &str)]) -> Value {
        let outcome = self.with(&format!("{line} --json"), more, "");
        if !matches!(outcome.code, 0 | 10) {
            self.surprise(format!("{line}: {outcome}"));
        }
        drop(self.with(line, more, ""));
        let first = outcome.stdout.lines().next().unwrap_or_default();
        serde_json::from_str(first).unwrap_or_default()
    }

    /// Runs a command that is to fail, in both ways.
    pub(super) fn fails(&self, line: &str, more: &[(&str, &str)]) {
        for line in [line.to_owned(), format!("{line} --json")] {
            let outcome = self.with(&line, more, "");
            if matches!(outcome.code, 0 | 10) {
                self.surprise(format!("{line} did not fail: {outcome}"));
            }
        }
    }

    fn surprise(&self, what: String) {
        self.surprises.lock().unwrap().push(what);
    }

    /// What ended otherwise than it was to end.
    pub(super) fn surprises(&self) -> Vec<String> {
        self.surprises.lock().unwrap().clone()
    }

    /// Starts a command that stays, and waits for the first line that it says. What it says goes where all is kept.
    pub(super) fn stays(&self, line: &str, more: &[(&str, &str)]) -> (Staying, Value) {
        let words = words(line);
        let leaf = self.leaf(&words);
        let path = |what: &str| -> PathBuf {
            self.ears
                .folder()
                .join(format!("{leaf} {what} {}", self.ears.heard()))
        };
        let (out, err) = (path("output"), path("log"));
        let mut command = self.command(&words, more);
        let child = command
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn()
            .expect("it starts");
        let staying = Staying(child);
        let said = inbox_torture::child::eventually("it says something", || {
            let text = std::fs::read_to_string(&out).unwrap_or_default();
            std::thread::sleep(Duration::from_millis(3));
            text.split_once('\n').map(|(line, _)| line.to_owned())
        });
        let said = said.unwrap_or_else(|_| {
            panic!(
                "{line}: {}",
                std::fs::read_to_string(&err).unwrap_or_default()
            )
        });
        self.note(&words, 0, b"");
        (staying, serde_json::from_str(&said).unwrap_or_default())
    }

    /// The commands of which something was not tried, with what was.
    pub(super) fn untried(&self) -> Vec<(String, Tried)> {
        let tried = self.tried.lock().unwrap();
        let all = self.leaves.iter().map(|leaf| {
            let tried = tried.get(leaf).copied().unwrap_or_default();
            (leaf.clone(), tried)
        });
        all.filter(|(_, it)| !(it.good && it.bad && it.json && it.plain))
            .collect()
    }
}

/// A command that stays until this is dropped.
pub(super) struct Staying(Child);

impl Drop for Staying {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

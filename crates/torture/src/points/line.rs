//! The lines of cases, with what the lines before them gave.

use std::process::Command;

use serde_json::{Value, json};

use super::cases::Case;
use crate::Broken;
use crate::child::{Leashed, Outcome, ends, words};
use crate::ground::Ground;

/// A line with what is known filled in, and the time that it is there.
#[derive(Debug, Default)]
pub(super) struct Line {
    words: String,
    now: Option<&'static str>,
    /// The thread that it is about.
    pub(super) thread: String,
}

impl Line {
    fn new(text: &str, known: &[(&str, String)]) -> Self {
        let fill = |line: String, (name, value): &(&str, String)| line.replace(name, value);
        let line = known.iter().fold(text.to_owned(), fill);
        let (now, words) = match line.split_once(' ') {
            Some(("then", words)) => (Some("2020-01-01T00:00:00Z"), words),
            Some(("later", words)) => (Some("2020-01-01T00:50:00Z"), words),
            _ => (None, line.as_str()),
        };
        let thread = known.iter().find(|(name, _)| *name == "{T}");
        Line {
            words: words.to_owned(),
            now,
            thread: thread.map(|(_, value)| value.clone()).unwrap_or_default(),
        }
    }

    /// The command.
    pub(super) fn command(&self, ground: &Ground<'_>) -> Command {
        let mut command = ground.command(words(&self.words));
        command.envs(self.now.map(|now| ("INBOX_NOW", now)));
        command
    }

    /// What another command does with the same thread at the same time, as its holder.
    pub(super) fn instead(&self, command: &str) -> Line {
        let rest = self.words.split_once(' ').map_or("", |(_, rest)| rest);
        Line {
            words: format!("{command} {rest}"),
            now: self.now,
            thread: self.thread.clone(),
        }
    }

    /// Runs it to its end.
    pub(super) fn run(&self, ground: &Ground<'_>) -> Result<Outcome, Broken> {
        ends(Leashed(self.command(ground).spawn()?))
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words)
    }
}

/// Runs what comes before a case, and gives its line, with a key where it takes one.
pub(super) fn fill(ground: &Ground<'_>, case: &Case, n: u32) -> Result<Line, Broken> {
    let mut known: Vec<(&str, String)> = vec![("{n}", n.to_string())];
    for text in case.before {
        let line = Line::new(text, &known);
        if let Some(file) = line.words.strip_prefix("file ") {
            std::fs::write(ground.folder().join(file), mailbox(n))?;
            continue;
        }
        let answer = line.run(ground)?.ok()?;
        for (name, pointer) in [
            ("{T}", "/thread/thread_id"),
            ("{M}", "/message/message_id"),
            ("{R}", "/memory/memory_id"),
            ("{K}", "/token/token_id"),
        ] {
            known.extend(text_at(&answer, pointer).map(|value| (name, value)));
        }
        let token = text_at(&answer, "/lease/lease_token");
        known.extend(token.map(|token| ("{L}", format!("--lease {token}"))));
    }
    let mut line = Line::new(case.line, &known);
    if case.is_keyed {
        line.words.push_str(&format!(" --key key-{n}"));
    }
    Ok(line)
}

/// What a field of an answer says, as text.
fn text_at(answer: &Value, pointer: &str) -> Option<String> {
    answer.pointer(pointer)?.as_str().map(str::to_owned)
}

/// A mailbox of another program, with one message.
fn mailbox(n: u32) -> String {
    let line = json!({
        "id": format!("0198f000-0000-7000-8000-{n:012}"),
        "sender": "far", "recipient": "near", "timestamp": "2026-01-01T00:00:00Z",
        "content": format!("words {n}"),
    });
    format!("{line}\n")
}

//! `prompt`: what an agent is told before it works on a thread.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inbox_core::{Code, EventId, Kind, Message, MessageId, Refusal, Thread, ThreadId};
use inbox_wire::{Mail, PromptParts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::details;
use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, thread};
use crate::page::Page;
use crate::read::unread;
use crate::typed::brief_of;

/// How much mail a prompt has room for.
const MAIL: i64 = 50;

/// How much of what was said in its thread a prompt has room for: the newest.
const SAID: usize = 30;

/// How long a command may take to remember.
const REMEMBER_WITHIN: Duration = Duration::from_secs(20);

/// How long the output of a command may stay open after its end.
const SAY_WITHIN: Duration = Duration::from_secs(1);

/// The most that is remembered, in bytes.
const MEMORY: usize = 64 << 10;

/// Skills that every agent gets. A file of the same name in the folder of skills takes their place.
const SHARED: [(&str, &str); 2] = [
    (
        "platform-env",
        include_str!("../../../skills/platform-env.md"),
    ),
    (
        "inbox-protocol",
        include_str!("../../../skills/inbox-protocol.md"),
    ),
];

/// Print the system prompt of the caller for a thread
///
/// It has the agent's card or persona, its skills, what it remembers, its unread mail, what was said in the thread,
/// and the brief, in this order. Nothing is marked as read.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Take the brief from this thread
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
}

/// A prompt.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Prompted {
    /// The text.
    pub prompt: String,
    /// The unread messages that are in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageId>,
    /// What could not be put into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Prompt {
    const NAME: &'static str = "prompt";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Prompted;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Prompted, Refusal> {
        let agent = caller.agent()?;
        let (details, mail, said, brief, next_event_id) = inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let details = details(tx, agent)?.agent;
            let reader = tx.reader(agent, caller.session.as_ref())?;
            let (found, _) = unread(tx, &reader, EventId(0), MAIL)?;
            let mut mail: Vec<(Message, Thread)> = Vec::with_capacity(found.len());
            for (_, message) in found {
                let row = thread(tx, message.thread_id)?;
                // What is said in the thread stands by itself, and work that is in hand is no news.
                let is_held = message.kind == Kind::Task && row.holder.as_ref() == Some(agent);
                if is_held && Some(message.thread_id) != self.thread {
                    continue;
                }
                mail.push((message, row.thread));
            }
            let mut said: Vec<(Message, Thread)> = Vec::new();
            let brief = match self.thread {
                Some(id) => {
                    let row = thread(tx, id)?;
                    let brief = brief_of(tx, &row)?;
                    let of_thread = |message| (message, row.thread.clone());
                    said.extend(tx.messages(id)?.into_iter().map(of_thread));
                    brief
                }
                None => None,
            };
            Ok((details, mail, said, brief, next_event_id))
        })?;
        let mut warnings = Vec::new();
        let card = match details.card.as_ref().map(inbox_wire::parse_card) {
            Some(Ok(card)) => Some(card),
            Some(Err(_)) => {
                warnings.push(format!(
                    "the card of {agent} breaks its rules and is left out"
                ));
                None
            }
            None => None,
        };
        let skills = skills(inbox, agent.as_str());
        let memory = match inbox.config().prompt.memory.split_first() {
            None => None,
            Some((program, args)) => {
                let goal = brief
                    .as_ref()
                    .map(|brief| brief.goal.as_str())
                    .unwrap_or_default();
                match remember(program, args, goal) {
                    Ok(text) => Some(text).filter(|text| !text.trim().is_empty()),
                    Err(problem) => {
                        warnings.push(format!("{program} did not remember: {problem}"));
                        None
                    }
                }
            }
        };
        let messages = mail.iter().map(|(message, _)| message.message_id).collect();
        let is_elsewhere = |mail: &Mail<'_>| Some(mail.thread.thread_id) != self.thread;
        let mail: Vec<Mail<'_>> = mail.iter().map(as_mail).filter(is_elsewhere).collect();
        let mut said = said.iter().map(as_mail);
        let work = said.next();
        // How far the work was is no news to the one who does it, and notices repeat what others said.
        let is_news = |said: &Mail<'_>| {
            said.message.kind != Kind::Progress && said.message.from_agent.as_str() != "system"
        };
        let mut history: Vec<Mail<'_>> = said.filter(is_news).collect();
        let before = history.len().saturating_sub(SAID);
        history.drain(..before);
        let prompt = inbox_wire::prompt(&PromptParts {
            agent: agent.as_str(),
            card: card.as_ref(),
            persona: details.persona.as_deref(),
            skills: &skills,
            memory: memory.as_deref(),
            mail: &mail,
            history: &history,
            brief: brief.as_ref(),
            work,
        });
        Ok(Prompted {
            prompt,
            messages,
            warnings,
            next_event_id,
        })
    }
}

fn as_mail((message, thread): &(Message, Thread)) -> Mail<'_> {
    Mail { message, thread }
}

/// The agent's own skills by name, then the shared ones. A skill is `NAME.md` or `NAME/SKILL.md`; an agent's own
/// begin with its name and a dash, or stand in a folder of its name.
fn skills(inbox: &Inbox, agent: &str) -> Vec<(String, String)> {
    let config = inbox.config();
    let folder = match &config.prompt.skills {
        // A path that is not absolute is meant from the folder of the store.
        Some(path) => Some(match &config.folder {
            Some(folder) => folder.join(path),
            None => Path::new(path).to_owned(),
        }),
        None => config.beside("skills", ""),
    };
    let mut own = Vec::new();
    if let Some(folder) = &folder {
        own = named(folder, |name| {
            name.strip_prefix(agent)
                .is_some_and(|rest| rest.starts_with('-'))
        });
        own.extend(named(&folder.join(agent), |_| true));
    }
    for (name, shipped) in SHARED {
        let text = folder.as_ref().and_then(|folder| read(folder, name));
        let text = text.unwrap_or_else(|| without_front_matter(shipped).to_owned());
        own.push((name.to_owned(), text));
    }
    own
}

fn named(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            match name.strip_suffix(".md") {
                Some("SKILL") => None,
                Some(name) => Some(name.to_owned()),
                None => entry.path().join("SKILL.md").exists().then_some(name),
            }
        })
        .filter(|name| is_wanted(name))
        .collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| read(folder, &name).map(|text| (name, text)))
        .collect()
}

fn read(folder: &Path, name: &str) -> Option<String> {
    let file = folder.join(format!("{name}.md"));
    let text = std::fs::read_to_string(file)
        .or_else(|_| std::fs::read_to_string(folder.join(name).join("SKILL.md")))
        .ok()?;
    Some(without_front_matter(&text).to_owned())
}

/// A skill's text without the header that clients read.
fn without_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else {
        return text;
    };
    rest.split_once("\n---\n")
        .map_or(text, |(_, body)| body.trim_start())
}

/// Runs the configured command, with the goal on its standard input. No shell, and not for ever.
fn remember(program: &str, args: &[String], goal: &str) -> Result<String, Refusal> {
    let failed = |problem: String| Refusal::new(Code::Storage, problem);
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let (mut input, mut output) = (child.stdin.take(), child.stdout.take());
    let goal = goal.to_owned();
    // Both ends at once: a command that writes before it reads must not stop here.
    std::thread::spawn(move || {
        if let Some(input) = input.as_mut() {
            let _ = input.write_all(goal.as_bytes());
        }
    });
    let (ended, end) = std::sync::mpsc::channel();
    let text = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&text);
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        // What is too much is read and forgotten: a command that is cut off would look as if it failed.
        while let Some(Ok(length @ 1..)) = output.as_mut().map(|output| output.read(&mut buffer)) {
            if let Ok(mut kept) = kept.lock() {
                let room = MEMORY.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..length.min(room)]);
            }
        }
        let _ = ended.send(());
    });
    let deadline = Instant::now() + REMEMBER_WITHIN;
    let status = loop {
        match child
            .try_wait()
            .map_err(|error| failed(error.to_string()))?
        {
            Some(status) => break status,
            None if Instant::now() >= deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed("it took too long".to_owned()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    // What it started may hold its output open for ever; what it said itself is there.
    let _ = end.recv_timeout(SAY_WITHIN);
    let text = text.lock().map_or_else(|_| Vec::new(), |text| text.clone());
    Ok(String::from_utf8_lossy(&text).into_owned())
}

impl Answer for Prompted {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        Page::default().text(self.prompt.clone())
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

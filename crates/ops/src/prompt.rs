//! `prompt`: what an agent is told before it works on a thread.

use std::path::Path;

use inbox_core::{AgentName, EventId, Kind, Message, MessageId, Refusal, Thread, ThreadId};
use inbox_store::private;
use inbox_wire::{Mail, PromptParts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::details;
use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::helper;
use crate::memory::recall;
use crate::page::Page;
use crate::read::unread;
use crate::step::thread;
use crate::typed::brief_of;

/// How much mail a prompt has room for.
const MAIL: i64 = 50;

/// The most that a command may remember, in bytes.
const MEMORY: usize = 64 << 10;

/// How much of what an agent remembers a prompt has room for.
const REMEMBERED: usize = 8;

/// How much of what was said in its thread a prompt has room for: the newest.
const SAID: usize = 30;

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
        let goal = brief.as_ref().map(|brief| brief.goal.clone());
        let subject = || said.first().map(|(_, thread)| thread.subject.clone());
        let goal = goal.or_else(subject).unwrap_or_default();
        let memory = match inbox.config().prompt.memory.as_slice() {
            [] => recalled(inbox, agent, &goal, &mut warnings)?,
            command => match helper::ask(command, &goal, MEMORY) {
                Ok(text) => Some(text).filter(|text| !text.trim().is_empty()),
                Err(problem) => {
                    let program = command.first().map_or("it", String::as_str);
                    warnings.push(format!("{program} did not remember: {problem}"));
                    None
                }
            },
        };
        let messages = mail.iter().map(|(message, _)| message.message_id).collect();
        let is_elsewhere = |mail: &Mail<'_>| Some(mail.thread.thread_id) != self.thread;
        let mail: Vec<Mail<'_>> = mail.iter().map(as_mail).filter(is_elsewhere).collect();
        let mut said = said.iter().map(as_mail);
        let work = said.next();
        // How far the work was is no news to the one who does it, and notices repeat what others said.
        let is_news = |said: &Mail<'_>| {
            said.message.kind != Kind::Progress && !said.message.from_agent.is_system()
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

/// What the agent remembers about its work, as a list.
fn recalled(
    inbox: &Inbox,
    agent: &AgentName,
    goal: &str,
    warnings: &mut Vec<String>,
) -> Result<Option<String>, Refusal> {
    let found = recall(inbox, agent, goal, REMEMBERED)?;
    warnings.extend(found.warnings);
    let lines = found.memories.iter().map(|memory| {
        // Each stands on lines of its own, behind one mark.
        format!("- {}", memory.text.trim().replace('\n', "\n  "))
    });
    let lines: Vec<String> = lines.collect();
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
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

/// The longest skill, in bytes.
const SKILL: u64 = 1 << 20;

fn read(folder: &Path, name: &str) -> Option<String> {
    let file = folder.join(format!("{name}.md"));
    let bytes = private::read_any(&file, SKILL)
        .or_else(|_| private::read_any(&folder.join(name).join("SKILL.md"), SKILL))
        .ok()?;
    let text = String::from_utf8(bytes).ok()?;
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

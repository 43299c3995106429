//! `memory …`: what an agent remembers, found by its words and, where a command says where texts lie, by nearness.
//!
//! Remembering costs no more than writing a text: where it lies is asked for by those who look for something, behind a watermark, as the search
//! index is made.

use std::time::{Duration, Instant};

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, EventId, MemoryId, Refusal, ThreadId, limit};
use inbox_store::{Abort, MemoryRow, Recalled, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::fetch::page_limit;
use crate::helper;
use crate::page::{Cell, Page};
use crate::step::thread;

/// The longest memory, in bytes.
const LONGEST: usize = 16 << 10;

/// How many are given unless told otherwise.
const USUAL: i64 = 20;

/// How many are looked at by each way of finding.
const CANDIDATES: usize = 100;

/// How many texts are placed by one search at the most, and for how long.
const PLACED: i64 = 64;
const PATIENCE: Duration = Duration::from_secs(5);

/// The most that is read of what the command prints, in bytes.
const PRINTED: usize = 256 << 10;

/// The longest place: what no model has is no place.
const DIMENSIONS: usize = 8_192;

/// Remember something for the caller
///
/// What is remembered of a thread takes the place of what was remembered of it before.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryAdd {
    /// Say what to remember
    pub text: String,
    /// Say of which thread it is
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
}

/// Find what the caller remembers about something, the best first
///
/// What has one of the words is found, and what has more of them and rarer ones is better. With memory.embed set, what means the same is found, too.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearch {
    /// Say what about
    pub query: String,
    /// Give at most so many; 20 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// List what the caller remembers, the newest first
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryList {
    /// Give at most so many; 20 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Give what is older than this
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MemoryId>,
}

/// Forget something for good
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryForget {
    /// Its id, such as mem_7
    pub id: MemoryId,
}

/// Something that an agent remembers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Its id.
    pub memory_id: MemoryId,
    /// What it says.
    pub text: String,
    /// The thread that it is of; null where it is of none.
    pub thread_id: Option<ThreadId>,
    /// Since when.
    pub created_at: Millis,
}

/// One memory.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OneMemory {
    /// The memory.
    pub memory: Memory,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// Memories.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Memories {
    /// What was found.
    pub memories: Vec<Memory>,
    /// What should be known besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl From<MemoryRow> for Memory {
    fn from(row: MemoryRow) -> Self {
        Memory {
            memory_id: row.id,
            text: row.text,
            thread_id: row.thread,
            created_at: row.created_at,
        }
    }
}

impl Operation for MemoryAdd {
    const NAME: &'static str = "memory add";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = OneMemory;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneMemory, Refusal> {
        let text = self.text.trim();
        if text.is_empty() {
            return Err(
                Refusal::input("there is nothing to remember: --text is empty")
                    .hint("inbox memory add --text \"what to remember\""),
            );
        }
        limit::bytes("--text", text, LONGEST)?;
        inbox.write(self, caller, |tx, agent| {
            if let Some(id) = self.thread {
                thread(tx, id)?;
            }
            let agent_no = tx.ensure_agent(agent)?;
            let id = tx.keep_memory(agent_no, text, self.thread)?;
            let memory = found(tx, agent_no, id)?;
            Ok(OneMemory {
                memory,
                next_event_id: EventId(0),
            })
        })
    }
}

impl Operation for MemorySearch {
    const NAME: &'static str = "memory search";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Memories;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Memories, Refusal> {
        let most = page_limit(self.limit.or(Some(USUAL)))?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        recall(inbox, caller.agent()?, &self.query, most)
    }
}

impl Operation for MemoryList {
    const NAME: &'static str = "memory list";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Memories;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Memories, Refusal> {
        let most = page_limit(self.limit.or(Some(USUAL)))?;
        let agent = caller.agent()?;
        inbox.read(|tx| {
            let rows = match tx.find_agent(agent)? {
                Some(agent_no) => tx.memories(agent_no, self.before, most)?,
                None => Vec::new(),
            };
            Ok(Memories {
                memories: rows.into_iter().map(Memory::from).collect(),
                warnings: Vec::new(),
                next_event_id: tx.newest_event()?,
            })
        })
    }
}

impl Operation for MemoryForget {
    const NAME: &'static str = "memory forget";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    type Answer = OneMemory;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneMemory, Refusal> {
        inbox.write(self, caller, |tx, agent| {
            let agent_no = tx.ensure_agent(agent)?;
            let memory = found(tx, agent_no, self.id)?;
            tx.forget_memory(self.id)?;
            Ok(OneMemory {
                memory,
                next_event_id: EventId(0),
            })
        })
    }
}

fn found(tx: &mut Tx<'_>, agent_no: i64, id: MemoryId) -> Result<Memory, Abort> {
    let row = tx.memory(agent_no, id)?;
    let row = row.ok_or_else(|| {
        Refusal::new(
            Code::MemoryNotFound,
            format!("the caller has no memory {id}"),
        )
        .hint("inbox memory list shows what there is")
        .detail("memory_id", id.to_string())
    })?;
    Ok(row.into())
}

/// What an agent remembers about something, the best first.
pub(crate) fn recall(
    inbox: &Inbox,
    agent: &AgentName,
    about: &str,
    most: usize,
) -> Result<Memories, Refusal> {
    let mut warnings = Vec::new();
    let (agent_no, by_words, next_event_id) = inbox.read(|tx| {
        let agent_no = tx.find_agent(agent)?;
        let by_words = match agent_no {
            Some(agent_no) => tx.recall_words(agent_no, about, CANDIDATES.max(most))?,
            None => Vec::new(),
        };
        Ok((agent_no, by_words, tx.newest_event()?))
    })?;
    let near = match (agent_no, inbox.config().memory.embed.as_slice()) {
        (None, _) | (_, []) => Vec::new(),
        (Some(agent_no), command) => match near(inbox, agent_no, command, about, most) {
            Ok(near) => near,
            Err(problem) => {
                let program = command.first().map_or("it", String::as_str);
                warnings.push(format!(
                    "found by words alone: {program} did not say where the text lies: {}",
                    problem.message
                ));
                Vec::new()
            }
        },
    };
    let best = together(&[by_words, near], most);
    let memories = inbox.read(|tx| {
        let mut memories = Vec::new();
        for &id in &best {
            // What was forgotten meanwhile is gone.
            if let Some(agent_no) = agent_no
                && let Some(row) = tx.memory(agent_no, id)?
            {
                memories.push(Memory::from(row));
            }
        }
        Ok(memories)
    })?;
    Ok(Memories {
        memories,
        warnings,
        next_event_id,
    })
}

/// The memories that mean what is asked. Texts that have no place yet get one, as many as there is time for.
fn near(
    inbox: &Inbox,
    agent_no: i64,
    command: &[String],
    about: &str,
    most: usize,
) -> Result<Vec<Recalled>, Refusal> {
    let begun = Instant::now();
    let model = command.join(" ");
    let place = placed(command, about)?;
    let unplaced = inbox.read(|tx| Ok(tx.unplaced(agent_no, &model, PLACED)?))?;
    for (id, text) in unplaced {
        if begun.elapsed() > PATIENCE {
            break;
        }
        let place = placed(command, &text)?;
        let kept = inbox
            .store()
            .write(|tx| Ok(tx.place_memory(id, &model, &place)?));
        // A store that cannot be written to is searched all the same.
        if kept.is_err() {
            break;
        }
    }
    inbox.read(|tx| Ok(tx.recall_near(agent_no, &model, &place, CANDIDATES.max(most))?))
}

/// Where a text lies, as the command says.
fn placed(command: &[String], text: &str) -> Result<Vec<f32>, Refusal> {
    let said = helper::ask(command, text, PRINTED)?;
    let place: Vec<f32> = serde_json::from_str(said.trim()).map_err(|error| {
        Refusal::input(format!("its output is no list of numbers in JSON: {error}"))
    })?;
    let is_place = !place.is_empty() && place.len() <= DIMENSIONS;
    if !is_place || place.iter().any(|one| !one.is_finite()) {
        return Err(Refusal::input(format!(
            "its list of {} numbers is no place",
            place.len()
        )));
    }
    Ok(place)
}

/// Puts lists together by the places that each gives, so that different measures count the same.
fn together(lists: &[Vec<Recalled>], most: usize) -> Vec<MemoryId> {
    const SMOOTH: f64 = 60.0;
    let mut scores: std::collections::BTreeMap<MemoryId, f64> = std::collections::BTreeMap::new();
    for list in lists {
        for (rank, (id, _)) in (1_u32..).zip(list) {
            *scores.entry(*id).or_default() += 1.0 / (SMOOTH + f64::from(rank));
        }
    }
    let mut all: Vec<(MemoryId, f64)> = scores.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    all.into_iter().take(most).map(|(id, _)| id).collect()
}

fn row(memory: &Memory) -> Vec<Cell> {
    let thread = memory.thread_id.map(|id| id.to_string());
    vec![
        Cell::Text(memory.memory_id.to_string()),
        Cell::Time(memory.created_at),
        Cell::Text(thread.unwrap_or_default()),
        Cell::Text(memory.text.clone()),
    ]
}

impl Answer for OneMemory {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        Page::default().table(
            vec!["MEMORY", "SINCE", "THREAD", "TEXT"],
            vec![row(&self.memory)],
        )
    }
}

impl Answer for Memories {
    fn is_something(&self) -> bool {
        !self.memories.is_empty()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let rows = self.memories.iter().map(row).collect();
        Page::default().table(vec!["MEMORY", "SINCE", "THREAD", "TEXT"], rows)
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_ways_find_comes_before_what_one_finds() {
        let id = MemoryId::new;
        let words = vec![(id(1), 9.0), (id(2), 8.0)];
        let near = vec![(id(3), 0.9), (id(2), 0.8)];
        assert_eq!(together(&[words, near], 9), [id(2), id(3), id(1)]);
    }
}

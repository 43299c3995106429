//! `archive`: old threads move to monthly files, where they stay searchable and are polled no more.

mod index;
mod shelf;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inbox_core::record::Millis;
use inbox_core::{Code, EventId, Refusal, Scope, ThreadId};
use inbox_store::{Abort, FailPoint, ThreadRow, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use shelf::{EVENTS, LETTERS, Piece, Shelf};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::exchange::mailbox::{self, Outgoing};
use crate::export::{attached, seen};
use crate::page::Page;

/// How many threads move at a time.
const BATCH: i64 = 200;

/// When a file of a month is full, in bytes. Well below what is read of one at once, and what a search that has not seen it yet has in
/// memory.
const FULL: u64 = 64 << 20;

/// Threads that changed less than so many days ago stay, unless told otherwise.
const DAYS: i64 = 30;

/// Move old closed and expired threads to monthly files
///
/// The files are in the folder archive beside the store: lines of an agent mailbox, which import and search read,
/// and the events in a file beside. Ids are never used again.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// Move threads that have not changed for so many days; 30 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older_than_days: Option<i64>,
    /// Move the oldest until so many messages are left, however old they are
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<i64>,
    /// Say what would move, and move nothing
    #[serde(default)]
    pub dry_run: bool,
}

/// What was moved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Archived {
    /// How many threads.
    pub threads: i64,
    /// How many messages.
    pub messages: i64,
    /// The files that they are in now.
    pub files: Vec<String>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for Archive {
    const NAME: &'static str = "archive";
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    const FOR_RESERVED: bool = true;
    const IS_LONG: bool = true;
    type Answer = Archived;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Archived, Refusal> {
        self.with_files_of(FULL, inbox)
    }
}

impl Archive {
    fn with_files_of(&self, full: u64, inbox: &Inbox) -> Result<Archived, Refusal> {
        let days = inbox_core::limit::in_range(
            "--older-than-days",
            self.older_than_days
                .unwrap_or(if self.keep.is_some() { 0 } else { DAYS }),
            0,
            36_500,
        )?;
        let keep = match self.keep {
            Some(keep) => Some(inbox_core::limit::in_range("--keep", keep, 0, i64::MAX)?),
            None => None,
        };
        let folder = folder(inbox).ok_or_else(|| {
            Refusal::input("there is no folder for archives beside this store")
                .hint("make a folder .agents above the working directory")
        })?;
        let mut moved = Archived {
            threads: 0,
            messages: 0,
            files: Vec::new(),
            next_event_id: inbox.store().newest_event()?,
        };
        if self.dry_run {
            let (threads, messages) = inbox.read(|tx| would_move(tx, days, keep))?;
            return Ok(Archived {
                threads,
                messages,
                ..moved
            });
        }
        // Counted once: to look through all messages for each batch would take longer than all the rest.
        let mut left = match keep {
            Some(_) => inbox.read(|tx| Ok(tx.count_messages()?))?,
            None => 0,
        };
        let settled = inbox.store().settle_keys()?;
        let (mut shelf, mut after) = (None, None);
        loop {
            let excess = keep.map(|keep| left - keep);
            let batch = inbox.read(|tx| pack(tx, days, settled, excess, after))?;
            if batch.threads.is_empty() {
                break;
            }
            // There is no folder before there is something for it.
            let shelf = match &mut shelf {
                Some(shelf) => shelf,
                none => none.insert(Shelf::open(&folder, full)?),
            };
            for (month, pieces) in &batch.lines {
                for path in shelf.append(month, &LETTERS, pieces)? {
                    note(&mut moved.files, &path);
                }
                inbox.store().reach(FailPoint::ArchiveMidst);
            }
            for (month, pieces) in &batch.events {
                shelf.append(month, &EVENTS, pieces)?;
                inbox.store().reach(FailPoint::ArchiveMidst);
            }
            // On disk there before it is gone here: who dies in between has it twice, and never not at all.
            let gone = inbox
                .store()
                .write(|tx| Ok(tx.remove_threads(batch.threads.iter().map(|(row, _)| row))?))?
                .value;
            let messages = batch.messages_of(&gone);
            left -= messages;
            moved.threads += count(gone.len());
            moved.messages += messages;
            after = batch.threads.last().map(|(row, _)| row.thread.thread_id);
        }
        Ok(moved)
    }
}

/// The folder of a store's archives.
pub(crate) fn folder(inbox: &Inbox) -> Option<PathBuf> {
    inbox.config().beside("archive", "")
}

#[derive(Default)]
struct Packed {
    /// Each with how many messages it has.
    threads: Vec<(ThreadRow, i64)>,
    /// Of each month.
    lines: BTreeMap<String, Vec<Piece>>,
    events: BTreeMap<String, Vec<Piece>>,
}

impl Packed {
    fn messages_of(&self, threads: &[ThreadId]) -> i64 {
        let of = |(row, messages): &(ThreadRow, i64)| {
            let is_one = threads.binary_search(&row.thread.thread_id).is_ok();
            is_one.then_some(*messages)
        };
        self.threads.iter().filter_map(of).sum()
    }
}

/// How many threads and messages would move.
fn would_move(tx: &mut Tx<'_>, days: i64, keep: Option<i64>) -> Result<(i64, i64), Abort> {
    let mut left = tx.count_messages()?;
    let (mut threads, mut messages) = (0, 0);
    let newest = tx.newest_event()?;
    for row in tx.archivable(before(tx, days), newest, None, i64::from(i32::MAX))? {
        if keep.is_some_and(|keep| left <= keep) {
            break;
        }
        let found = count(tx.messages(row.thread.thread_id)?.len());
        left -= found;
        messages += found;
        threads += 1;
    }
    Ok((threads, messages))
}

/// What changed before this is old.
fn before(tx: &Tx<'_>, days: i64) -> Millis {
    Millis(tx.now().0 - days * 86_400_000 + 1)
}

/// What moves next, after a thread, until there are not too many messages any more.
fn pack(
    tx: &mut Tx<'_>,
    days: i64,
    settled: EventId,
    mut excess: Option<i64>,
    after: Option<ThreadId>,
) -> Result<Packed, Abort> {
    let before = before(tx, days);
    let mut packed = Packed::default();
    if excess.is_some_and(|excess| excess <= 0) {
        return Ok(packed);
    }
    for row in tx.archivable(before, settled, after, BATCH)? {
        if excess.is_some_and(|excess| excess <= 0) {
            break;
        }
        let month: String = row.thread.updated_at.to_string().chars().take(7).collect();
        let messages = tx.messages(row.thread.thread_id)?;
        excess = excess.map(|excess| excess - count(messages.len()));
        let mut lines = Piece::new();
        for message in &messages {
            let (reads, acks) = seen(tx, message.message_id)?;
            let parent = match message.parent_message_id {
                Some(parent) => tx.load_message(parent)?.map(|(_, parent)| parent.uid),
                None => None,
            };
            lines.push(mailbox::encode(&Outgoing {
                message,
                thread: Some(&row.thread),
                parent_uid: parent.as_deref(),
                reads: &reads,
                acks: &acks,
                artifacts: &attached(tx, message)?,
            }));
        }
        let mut events = Piece::new();
        for event in tx.events_of(row.thread.thread_id)? {
            events.push(serde_json::to_string(&event).map_err(internal)?);
        }
        for artifact in tx.artifacts(row.thread.thread_id)? {
            events.push(serde_json::to_string(&artifact).map_err(internal)?);
        }
        packed.lines.entry(month.clone()).or_default().push(lines);
        packed.events.entry(month).or_default().push(events);
        packed.threads.push((row, count(messages.len())));
    }
    Ok(packed)
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn note(files: &mut Vec<String>, path: &Path) {
    let path = path.display().to_string();
    if !files.contains(&path) {
        files.push(path);
    }
}

fn internal(error: serde_json::Error) -> Refusal {
    Refusal::new(Code::Internal, error.to_string())
}

fn plural(count: i64, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}

impl Answer for Archived {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let page = Page::default().line(format!(
            "{}, {}",
            plural(self.threads, "thread"),
            plural(self.messages, "message")
        ));
        self.files
            .iter()
            .fold(page, |page, file| page.line(file.clone()))
    }
}

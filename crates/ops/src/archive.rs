//! `archive`: old threads move to monthly files, where they stay searchable and are polled no more.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use inbox_core::record::Millis;
use inbox_core::{Code, EventId, Refusal, Scope};
use inbox_store::{Abort, ThreadRow, Tx, private};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::exchange::mailbox::{self, Original, Outgoing};
use crate::export::{attached, seen};
use crate::page::Page;

/// How many threads move at a time.
const BATCH: i64 = 200;

/// The largest file of a month, in bytes.
const MOST: u64 = 1 << 30;

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
    type Answer = Archived;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Archived, Refusal> {
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
        loop {
            let batch = inbox.read(|tx| pack(tx, days, keep))?;
            if batch.threads.is_empty() {
                break;
            }
            moved.threads += count(batch.threads.len());
            moved.messages += batch.messages;
            for (month, lines) in &batch.lines {
                let path = folder.join(format!("{month}.jsonl"));
                append(&path, lines, uid_of)?;
                note(&mut moved.files, &path);
            }
            for (month, lines) in &batch.events {
                append(
                    &folder.join(format!("{month}-events.jsonl")),
                    lines,
                    event_of,
                )?;
            }
            // On disk there before it is gone here: who dies in between has it twice, and never not at all.
            inbox.store().write(|tx| {
                for row in &batch.threads {
                    // What has changed meanwhile stays.
                    let now = tx.load_thread(row.thread.thread_id)?;
                    if now.is_some_and(|now| now.version == row.version) {
                        tx.remove_thread(row)?;
                    }
                }
                Ok(())
            })?;
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
    threads: Vec<ThreadRow>,
    messages: i64,
    lines: BTreeMap<String, Vec<String>>,
    events: BTreeMap<String, Vec<String>>,
}

/// How many threads and messages would move.
fn would_move(tx: &mut Tx<'_>, days: i64, keep: Option<i64>) -> Result<(i64, i64), Abort> {
    let mut left = tx.count_messages()?;
    let (mut threads, mut messages) = (0, 0);
    for row in tx.archivable(before(tx, days), i64::from(i32::MAX))? {
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

fn pack(tx: &mut Tx<'_>, days: i64, keep: Option<i64>) -> Result<Packed, Abort> {
    let before = before(tx, days);
    let mut left = tx.count_messages()?;
    let mut packed = Packed::default();
    for row in tx.archivable(before, BATCH)? {
        if keep.is_some_and(|keep| left <= keep) {
            break;
        }
        let month: String = row.thread.updated_at.to_string().chars().take(7).collect();
        let messages = tx.messages(row.thread.thread_id)?;
        left -= count(messages.len());
        packed.messages += count(messages.len());
        let lines = packed.lines.entry(month.clone()).or_default();
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
        let events = packed.events.entry(month).or_default();
        for event in tx.events_of(row.thread.thread_id)? {
            events.push(serde_json::to_string(&event).map_err(internal)?);
        }
        for artifact in tx.artifacts(row.thread.thread_id)? {
            events.push(serde_json::to_string(&artifact).map_err(internal)?);
        }
        packed.threads.push(row);
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

/// What tells a line apart, so that it is not written twice.
fn uid_of(line: &Value) -> String {
    line["id"].as_str().unwrap_or_default().to_owned()
}

fn event_of(line: &Value) -> String {
    format!("{}{}", line["event_id"], line["artifact_id"])
}

/// Appends lines that are not there yet, and makes sure that they are on disk.
fn append(path: &Path, lines: &[String], id: fn(&Value) -> String) -> Result<(), Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::new(
            Code::Storage,
            format!("{} cannot be written: {error}", path.display()),
        )
    };
    if let Some(folder) = path.parent() {
        private::make_folder(folder).map_err(cannot)?;
        if folder.is_symlink() {
            return Err(Refusal::new(
                Code::Storage,
                format!(
                    "{} is a symbolic link, and mail is not put where it leads",
                    folder.display()
                ),
            )
            .hint("ls -l shows where it leads; make a folder in its place, and try again"));
        }
    }
    let parse = |line: &str| serde_json::from_str::<Value>(line).ok();
    let before = match private::read(path, MOST) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(cannot(error)),
    };
    let known: BTreeSet<String> = before
        .lines()
        .filter_map(parse)
        .map(|line| id(&line))
        .collect();
    let mut file =
        private::open(private::file().create(true).append(true), path).map_err(cannot)?;
    let mut text = String::new();
    if !before.is_empty() && !before.ends_with('\n') {
        // A line that a crash cut short is ended, and reported by whoever reads it.
        text.push('\n');
    }
    for line in lines {
        if parse(line).is_some_and(|value| !known.contains(&id(&value))) {
            text.push_str(line);
            text.push('\n');
        }
    }
    file.write_all(text.as_bytes()).map_err(cannot)?;
    file.sync_all().map_err(cannot)?;
    // Rows are taken away once this returns: neither the file's name nor its folder's may be lost with the power.
    path.ancestors()
        .skip(1)
        .take(2)
        .filter(|folder| !folder.as_os_str().is_empty())
        .try_for_each(|folder| File::open(folder)?.sync_all())
        .map_err(cannot)
}

impl Inbox {
    /// Lets searches find what is in archives that are new or have changed.
    pub(crate) fn index_archives(&self) -> Result<(), Refusal> {
        let Some(folder) = folder(self) else {
            return Ok(());
        };
        let Ok(entries) = std::fs::read_dir(&folder) else {
            return Ok(());
        };
        let known = self.store().indexed_archives()?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let month = name.strip_suffix(".jsonl").filter(|month| month.len() == 7);
            let (Some(month), Ok(found)) = (month, entry.metadata()) else {
                continue;
            };
            let changed = found.modified().ok().and_then(|time| {
                time.duration_since(std::time::UNIX_EPOCH)
                    .ok()
                    .map(|age| age.as_millis())
            });
            let stamp = format!("{} {}", found.len(), changed.unwrap_or(0));
            if known
                .iter()
                .any(|(other, indexed)| other == month && *indexed == stamp)
            {
                continue;
            }
            let Ok(bytes) = private::read(&entry.path(), MOST) else {
                continue;
            };
            let mut lines = Vec::new();
            for mut incoming in mailbox::decode(&bytes, b"").messages {
                if let Some(Original {
                    message,
                    thread: Some(thread),
                    ..
                }) = Original::take(&mut incoming)
                {
                    lines.push(inbox_store::Store::archive_line(&message, &thread));
                }
            }
            self.store().index_archive(month, &stamp, &lines)?;
        }
        Ok(())
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

//! The store before each fault, always the same: copies of two, of which one has a log that is nearly long enough to be moved.

use std::path::{Path, PathBuf};
use std::process::Command;

use inbox_core::{LeaseToken, ThreadId};
use inbox_ops::{Caller, Claim, Done, Operation, Send};
use inbox_store::{Location, Store};
use serde_json::{Value, json};

use crate::child::{Leashed, Outcome, ends, words};
use crate::ground::{Ground, caller, inbox};
use crate::{Broken, must};

/// What is done on a failing disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    Send,
    Claim,
    Done,
    /// The same, and the log is moved into the database.
    SendAndMove,
    Init,
    Backup,
    /// Threads that are over move to files beside the store.
    Archive,
    /// Mail of another program comes from a file on the same disk.
    Import,
}

impl Deed {
    pub(super) const ALL: [Deed; 8] = [
        Deed::Send,
        Deed::Claim,
        Deed::Done,
        Deed::SendAndMove,
        Deed::Init,
        Deed::Backup,
        Deed::Archive,
        Deed::Import,
    ];

    /// Whether it is several commits, each of which may be the last one: what it moves is looked for in both places.
    pub(super) fn is_in_parts(self) -> bool {
        self == Deed::Archive
    }
}

/// A log this long is moved by whoever makes it longer.
const LONG: u64 = 64 * 4120 - 3 * 4120;

pub(super) struct Scene<'a> {
    ground: &'a Ground<'a>,
    folder: PathBuf,
    /// A store with a short log, and one with a long one.
    short: PathBuf,
    long: PathBuf,
    claimable: ThreadId,
    finishable: ThreadId,
    /// The lease on that.
    lease: LeaseToken,
    rows: Vec<(String, usize)>,
    rows_long: Vec<(String, usize)>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(ground: &'a Ground<'a>) -> Result<Self, Broken> {
        let made = ground.another("short")?;
        let store = inbox(made.store()?);
        let send = |subject: &str| -> Result<ThreadId, Broken> {
            let send = Send {
                to: vec!["worker".parse()?],
                subject: Some(subject.to_owned()),
                ..Send::default()
            };
            Ok(send.run(&store, &caller("lead")?)?.thread.thread_id)
        };
        let claim = |thread: ThreadId| -> Result<LeaseToken, Broken> {
            let claim = Claim {
                thread: Some(thread),
                lease_seconds: Some(90_000),
                ..Claim::default()
            };
            let lease = claim.run(&store, &caller("worker")?)?.lease;
            let token = lease.and_then(|lease| lease.lease_token);
            token.ok_or_else(|| Broken::new("a claim gave no token"))
        };
        for n in OVER {
            let thread = send(&format!("to be archived {n}"))?;
            let done = Done {
                thread,
                summary: Some(format!("over {n}")),
                body: None,
                payload_json: None,
                artifacts: Vec::new(),
            };
            let holder = Caller {
                lease: Some(claim(thread)?),
                ..caller("worker")?
            };
            done.run(&store, &holder)?;
        }
        let (claimable, finishable) = (send("to be claimed")?, send("to be done")?);
        let lease = claim(finishable)?;
        let rows = rows_of(store.store())?;
        let short = ground.folder().join("short.db");
        let long = ground.folder().join("long.db");
        copy(&made, &short)?;
        let file = made.file().unwrap_or(Path::new("")).to_owned();
        let log = beside(&file, "-wal");
        let length = || std::fs::metadata(&log).map_or(0, |found| found.len());
        for n in 0..1000 {
            if (LONG..LONG + 4120 * 3).contains(&length()) {
                break;
            }
            send(&format!("filler {n}"))?;
        }
        must(length() >= LONG, || "the log never grew".into())?;
        let rows_long = rows_of(store.store())?;
        copy(&made, &long)?;
        drop(store);
        made.remove();
        let folder = ground.folder().join("faulty");
        std::fs::create_dir_all(&folder)?;
        Ok(Scene {
            ground,
            folder: folder.canonicalize()?,
            short,
            long,
            claimable,
            finishable,
            lease,
            rows,
            rows_long,
        })
    }

    /// The folder on the failing disk.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn store(&self) -> PathBuf {
        self.folder.join("store.db")
    }

    fn backup(&self) -> PathBuf {
        self.folder.join("copy.db")
    }

    fn mailbox(&self) -> PathBuf {
        self.folder.join("mail.jsonl")
    }

    /// Puts everything as it is before a deed.
    pub(super) fn set(&self, deed: Deed) -> Result<(), Broken> {
        for entry in std::fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.is_dir() {
                std::fs::remove_dir_all(path)?;
            } else {
                std::fs::remove_file(path)?;
            }
        }
        if deed == Deed::Import {
            std::fs::write(self.mailbox(), mailbox())?;
        }
        let from = match deed {
            Deed::Init => return Ok(()),
            Deed::SendAndMove => &self.long,
            _ => &self.short,
        };
        for suffix in ["", "-wal"] {
            std::fs::copy(beside(from, suffix), beside(&self.store(), suffix))?;
        }
        Ok(())
    }

    /// How many rows each table has before a deed.
    pub(super) fn before(&self, deed: Deed) -> Vec<(String, usize)> {
        match deed {
            Deed::SendAndMove => self.rows_long.clone(),
            Deed::Init | Deed::Backup => Vec::new(),
            _ => self.rows.clone(),
        }
    }

    pub(super) fn command(&self, deed: Deed) -> Command {
        let (claimable, finishable, lease) = (self.claimable, self.finishable, self.lease);
        let line = match deed {
            Deed::Send | Deed::SendAndMove => {
                "send --from lead --to worker --subject mark --key mark".to_owned()
            }
            Deed::Claim => format!("claim --agent worker --thread {claimable} --key mark"),
            Deed::Done => {
                format!("done --lease {lease} --thread {finishable} --summary mark --key mark")
            }
            Deed::Init => "init".to_owned(),
            Deed::Backup => format!("backup --to {}", word(&self.backup())),
            Deed::Archive => "archive --keep 0".to_owned(),
            Deed::Import => format!("import {}", word(&self.mailbox())),
        };
        let mut command = self.ground.command(words(&line));
        command.env("INBOX_DB", self.store());
        command
    }

    /// Does it once more, without a fault. A copy that is there is not written over, so that a retry takes it away first.
    pub(super) fn again(&self, deed: Deed) -> Result<Outcome, Broken> {
        if deed == Deed::Backup {
            let _ = std::fs::remove_file(self.backup());
        }
        ends(Leashed(self.command(deed).spawn()?))
    }

    /// The file that a deed is about: the store, or the copy that is made of it.
    fn target(&self, deed: Deed) -> PathBuf {
        match deed {
            Deed::Backup => self.backup(),
            _ => self.store(),
        }
    }

    /// How many rows each table has of what a deed is about, which is sound, and so is the store that is copied; none where nothing is there,
    /// because it was still to be made.
    pub(super) fn sound_rows(&self, deed: Deed) -> Result<Vec<(String, usize)>, Broken> {
        if deed == Deed::Backup {
            open_sound(self.store())?;
        }
        let target = self.target(deed);
        let is_made = matches!(deed, Deed::Init | Deed::Backup);
        if is_made && !target.exists() {
            return Ok(Vec::new());
        }
        rows_of(&open_sound(target)?)
    }

    /// The whole lines of an archive.
    pub(super) fn lines(&self) -> Result<Vec<String>, Broken> {
        let folder = self.folder.join("archive");
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let mut lines = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let text = match path.extension() {
                Some(ending) if ending == "jsonl" => std::fs::read_to_string(path)?,
                _ => continue,
            };
            let whole = |line: &&str| serde_json::from_str::<Value>(line).is_ok();
            lines.extend(text.lines().filter(whole).map(str::to_owned));
        }
        Ok(lines)
    }

    /// That what moves out of the store is in it or in the files, or in both.
    pub(super) fn is_somewhere(&self) -> Result<(), Broken> {
        let mut all = Store::open(&Location::File(self.store()))?.dump()?;
        all.extend(self.lines()?);
        for n in OVER {
            for text in [format!("to be archived {n}"), format!("over {n}")] {
                must(all.iter().any(|row| row.contains(&text)), || {
                    format!("{text:?} is neither in the store nor in the archive")
                })?;
            }
        }
        Ok(())
    }
}

/// How many threads are over.
const OVER: [u8; 2] = [1, 2];

/// What there is to import.
const MAIL: u8 = 3;

/// A mailbox of another program.
fn mailbox() -> String {
    let line = |n| {
        let line = json!({
            "id": format!("0198f000-0000-7000-8000-{n:012}"),
            "sender": "far", "recipient": "near", "timestamp": "2026-01-01T00:00:00Z",
            "content": format!("words {n}"),
        });
        format!("{line}\n")
    };
    (0..MAIL).map(line).collect()
}

/// A path as [`words`] reads one.
fn word(path: &Path) -> String {
    path.display().to_string().replace(' ', "~")
}

/// A store in which nothing is damaged.
fn open_sound(file: PathBuf) -> Result<Store, Broken> {
    let store = Store::open(&Location::File(file))?;
    let problems = store.check()?;
    must(problems.is_empty(), || format!("damaged: {problems:?}"))?;
    Ok(store)
}

fn rows_of(store: &Store) -> Result<Vec<(String, usize)>, Broken> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for row in store.dump()? {
        let table = row.split(':').next().unwrap_or_default();
        match counts.last_mut().filter(|(name, _)| name == table) {
            Some((_, count)) => *count += 1,
            None => counts.push((table.to_owned(), 1)),
        }
    }
    Ok(counts)
}

/// Copies a store that nobody writes to, with its log.
fn copy(made: &Ground<'_>, to: &Path) -> Result<(), Broken> {
    let file = made.file().unwrap_or(Path::new(""));
    for suffix in ["", "-wal"] {
        std::fs::copy(beside(file, suffix), beside(to, suffix))?;
    }
    Ok(())
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

//! The store before each fault, always the same: copies of two, of which one has a log that is nearly long enough to be moved.

use std::path::{Path, PathBuf};
use std::process::Command;

use inbox_core::ThreadId;
use inbox_ops::{Claim, Operation, Send};
use inbox_store::{Location, Store};

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
}

impl Deed {
    pub(super) const ALL: [Deed; 6] = [
        Deed::Send,
        Deed::Claim,
        Deed::Done,
        Deed::SendAndMove,
        Deed::Init,
        Deed::Backup,
    ];
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
    token: String,
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
        let (claimable, finishable) = (send("to be claimed")?, send("to be done")?);
        let claim = Claim {
            thread: Some(finishable),
            lease_seconds: Some(90_000),
            ..Claim::default()
        };
        let lease = claim.run(&store, &caller("worker")?)?.lease;
        let token = lease.and_then(|lease| lease.lease_token);
        let token = token.ok_or_else(|| Broken::new("a claim gave no token"))?;
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
            token: token.to_string(),
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

    /// Puts everything as it is before a deed.
    pub(super) fn set(&self, deed: Deed) -> Result<(), Broken> {
        for entry in std::fs::read_dir(&self.folder)? {
            std::fs::remove_file(entry?.path())?;
        }
        let from = match deed {
            Deed::Init => return Ok(()),
            Deed::SendAndMove => &self.long,
            Deed::Send | Deed::Claim | Deed::Done | Deed::Backup => &self.short,
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
            Deed::Send | Deed::Claim | Deed::Done => self.rows.clone(),
        }
    }

    pub(super) fn command(&self, deed: Deed) -> Command {
        let (claimable, finishable, token) = (self.claimable, self.finishable, &self.token);
        let line = match deed {
            Deed::Send | Deed::SendAndMove => {
                "send --from lead --to worker --subject mark --key mark".to_owned()
            }
            Deed::Claim => format!("claim --agent worker --thread {claimable} --key mark"),
            Deed::Done => {
                format!("done --lease {token} --thread {finishable} --summary mark --key mark")
            }
            Deed::Init => "init".to_owned(),
            Deed::Backup => {
                let copy = self.backup().display().to_string().replace(' ', "~");
                format!("backup --to {copy}")
            }
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

    /// That the store is sound, and a store or a copy that was being made is whole or not there.
    pub(super) fn is_sound(&self, deed: Deed) -> Result<(), Broken> {
        for file in [self.store(), self.target(deed)] {
            let is_made = matches!(deed, Deed::Init | Deed::Backup);
            if file.exists() || !is_made {
                let problems = Store::open(&Location::File(file))?.check()?;
                must(problems.is_empty(), || format!("damaged: {problems:?}"))?;
            }
        }
        Ok(())
    }

    /// How many rows each table has; none where nothing is there.
    pub(super) fn rows(&self, deed: Deed) -> Result<Vec<(String, usize)>, Broken> {
        let file = self.target(deed);
        if !file.exists() {
            return Ok(Vec::new());
        }
        rows_of(&Store::open(&Location::File(file))?)
    }
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

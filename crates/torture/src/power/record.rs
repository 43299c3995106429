//! What a disk was asked for, in order: recorded from real processes, with the moments at which they answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::Outcome;
use crate::trace::{Call, Inode, Watcher, follow};
use crate::{Broken, must};

/// A file, by the order in which files came; names come and go.
pub(super) type FileNo = usize;

/// Something that the disk was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// A file has this name from now on.
    Name(PathBuf, FileNo),
    /// Nothing has this name any more.
    Unname(PathBuf),
    /// There is this folder.
    Folder(PathBuf),
    /// Bytes at a place.
    Write(FileNo, u64, Vec<u8>),
    /// A length.
    Resize(FileNo, u64),
    /// All that was asked for this file is on disk before anything else happens.
    Sync(FileNo),
    /// The same for the names in this folder.
    SyncFolder(PathBuf),
    /// From now on it is written to unseen.
    Mapped(FileNo),
    /// Somebody was told something.
    Said,
}

/// All that was asked of the disk below a folder while some commands ran, one after another.
#[derive(Debug)]
pub struct Record {
    pub(super) root: PathBuf,
    /// What was on disk before, by file.
    pub(super) before: Vec<Vec<u8>>,
    pub(super) names_before: BTreeMap<PathBuf, FileNo>,
    pub(super) folders_before: BTreeSet<PathBuf>,
    pub(super) acts: Vec<Act>,
    /// After which act each command that succeeded had told so, and what had to be true from then on.
    pub(super) told: Vec<(usize, Promise)>,
    inodes: HashMap<Inode, FileNo>,
    names: BTreeMap<PathBuf, FileNo>,
    strange: Option<String>,
}

/// What a command that succeeded has promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promise {
    /// That the store is there.
    Store,
    /// That this text is in the store.
    Text(String),
    /// That a copy of the store is here.
    Copy(PathBuf),
    /// Nothing more than those before it.
    Nothing,
}

impl Record {
    /// Of a folder in which nothing is.
    pub(super) fn empty(root: &Path) -> Self {
        Record {
            root: root.to_owned(),
            before: Vec::new(),
            names_before: BTreeMap::new(),
            folders_before: BTreeSet::new(),
            acts: Vec::new(),
            told: Vec::new(),
            inodes: HashMap::new(),
            names: BTreeMap::new(),
            strange: None,
        }
    }

    /// Begins with what is in a folder now, which is taken to be on disk.
    pub fn of(root: &Path) -> Result<Self, Broken> {
        let root = root.canonicalize()?;
        let mut record = Record::empty(&root);
        record.begin_with(&root)?;
        record.names = record.names_before.clone();
        Ok(record)
    }

    fn begin_with(&mut self, folder: &Path) -> Result<(), Broken> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let found = path.symlink_metadata()?;
            if found.is_dir() {
                self.begin_with(&path)?;
                self.folders_before.insert(path);
            } else if found.is_file() {
                let file = self.before.len();
                self.before.push(std::fs::read(&path)?);
                self.inodes.insert(Inode(found.dev(), found.ino()), file);
                self.names_before.insert(path, file);
            }
        }
        Ok(())
    }

    /// Runs a command to its end, and records what it asks of the disk. When it succeeds, its promise holds from the moment
    /// at which it said so.
    pub fn run(&mut self, command: &Command, promise: Promise) -> Result<Outcome, Broken> {
        let root = self.root.clone();
        let outcome = follow(command, &root, self)?;
        if let Some(strange) = &self.strange {
            return Err(Broken::new(format!("what it did is not known: {strange}")));
        }
        if outcome.code == 0 {
            let said = self.acts.iter().rposition(|act| *act == Act::Said);
            let said = said.ok_or_else(|| Broken::new("a command succeeded without a word"))?;
            let is_own = self.told.last().is_none_or(|(last, _)| *last < said);
            must(is_own, || "a command succeeded without a word".into())?;
            self.told.push((said, promise));
        }
        Ok(outcome)
    }

    /// How many things the disk was asked for.
    pub fn len(&self) -> usize {
        self.acts.len()
    }

    /// Whether the disk was asked for nothing.
    pub fn is_empty(&self) -> bool {
        self.acts.is_empty()
    }

    /// How many files there ever were.
    pub(super) fn files(&self) -> usize {
        let highest = self.inodes.values().max().map_or(0, |file| file + 1);
        let named = self.acts.iter().filter_map(|act| match act {
            Act::Name(_, file) => Some(file + 1),
            _ => None,
        });
        named.max().unwrap_or(0).max(highest).max(self.before.len())
    }

    fn file(&mut self, inode: Inode) -> FileNo {
        let next = self.files();
        *self.inodes.entry(inode).or_insert(next)
    }

    fn name(&mut self, path: PathBuf, file: FileNo) {
        self.names.insert(path.clone(), file);
        self.acts.push(Act::Name(path, file));
    }

    pub(super) fn sync_folder(&mut self, folder: &Path) {
        self.acts.push(Act::SyncFolder(folder.to_owned()));
    }

    fn unname(&mut self, path: PathBuf) {
        self.names.remove(&path);
        self.acts.push(Act::Unname(path));
    }
}

impl Watcher for Record {
    fn after(&mut self, call: Call, made: Option<Inode>) {
        match call {
            Call::Open {
                path,
                makes,
                empties,
                was_there,
            } => {
                let Some(inode) = made else { return };
                if makes && !was_there {
                    // A number may come again after its file is gone.
                    let file = self.files();
                    self.inodes.insert(inode, file);
                    self.name(path, file);
                } else if empties {
                    let file = self.file(inode);
                    self.acts.push(Act::Resize(file, 0));
                }
            }
            Call::Write {
                inode,
                offset,
                bytes,
                ..
            } => {
                let file = self.file(inode);
                self.acts.push(Act::Write(file, offset, bytes));
            }
            Call::Resize { inode, length } => {
                let file = self.file(inode);
                self.acts.push(Act::Resize(file, length));
            }
            Call::Sync { inode, path } => {
                if path.is_dir() {
                    self.sync_folder(&path);
                } else {
                    let file = self.file(inode);
                    self.acts.push(Act::Sync(file));
                }
            }
            Call::Rename(from, to) => {
                if let Some(file) = self.names.get(&from).copied() {
                    self.name(to, file);
                    self.unname(from);
                }
            }
            Call::Link(from, to) => {
                if let Some(file) = self.names.get(&from).copied() {
                    self.name(to, file);
                }
            }
            Call::Unlink(path) => self.unname(path),
            Call::MakeFolder(path) => self.acts.push(Act::Folder(path)),
            Call::Map(inode) => {
                let file = self.file(inode);
                self.acts.push(Act::Mapped(file));
            }
            // A disk is not changed by them.
            Call::Read { .. } | Call::Lock(_) => {}
            Call::Say(_) => self.acts.push(Act::Said),
            Call::Strange(what) => self.strange = Some(what),
        }
    }
}

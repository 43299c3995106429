//! Disks as a loss of power may leave them: of what was asked for since the last sync, each piece may be there or not.
//!
//! What a file system may do is taken as widely as its rules allow: a sync of a file keeps its bytes and not its name, which
//! needs a sync of its folder; sectors of 512 bytes are written in any order; what is not written in a file that has
//! become longer is zeros, or whatever was on the disk before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::record::{Act, FileNo, Record};
use crate::Broken;
use crate::dice::Dice;

/// What a disk writes at once.
const SECTOR: usize = 512;

/// What is kept of all that was asked for since the last sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Everything.
    All,
    /// Nothing.
    Nothing,
    /// Everything of some files, nothing of others.
    Files,
    /// Of each file the first pieces, and a part of the one after them.
    Beginning,
    /// Any of the pieces.
    Pieces,
    /// Any of the sectors.
    Sectors,
}

impl Kept {
    /// Every way.
    pub const ALL: [Kept; 6] = [
        Kept::All,
        Kept::Nothing,
        Kept::Files,
        Kept::Beginning,
        Kept::Pieces,
        Kept::Sectors,
    ];
}

/// What is on a disk: files by name, and folders.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Image {
    files: BTreeMap<PathBuf, Vec<u8>>,
    folders: BTreeSet<PathBuf>,
}

impl Image {
    /// What a file of this name has.
    pub fn file(&self, path: &Path) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Whether one of the files of lines has this text.
    pub fn has_line_with(&self, text: &str) -> bool {
        let is_lines = |path: &Path| path.extension().is_some_and(|end| end == "jsonl");
        let files = self.files.iter().filter(|(path, _)| is_lines(path));
        let text = text.as_bytes();
        files
            .into_iter()
            .any(|(_, bytes)| bytes.windows(text.len()).any(|part| part == text))
    }

    /// Every file by its name.
    pub fn into_files(self) -> BTreeMap<PathBuf, Vec<u8>> {
        self.files
    }

    /// Puts it on a disk, in another folder than it was.
    pub fn write(&self, root: &Path, to: &Path) -> Result<(), Broken> {
        std::fs::create_dir_all(to)?;
        let place = |path: &Path| path.strip_prefix(root).map(|path| to.join(path)).ok();
        for folder in self.folders.iter().filter_map(|folder| place(folder)) {
            std::fs::create_dir_all(folder)?;
        }
        for (path, bytes) in &self.files {
            if let Some(path) = place(path) {
                // The folder of a file that was there before is there without a word.
                path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                std::fs::write(path, bytes)?;
            }
        }
        Ok(())
    }
}

/// One file's bytes: those on disk, and what was asked for since.
#[derive(Default)]
struct Bytes<'a> {
    kept: Vec<u8>,
    asked: Vec<&'a Act>,
    is_mapped: bool,
}

/// The disk, if the power is lost after so many acts.
pub(super) fn image(record: &Record, acts: usize, how: Kept, dice: &mut Dice) -> Image {
    let mut files: Vec<Bytes<'_>> = (0..record.files()).map(|_| Bytes::default()).collect();
    for (file, bytes) in record.before.iter().enumerate() {
        files[file].kept.clone_from(bytes);
    }
    let mut names = Names {
        files: record.names_before.clone(),
        folders: record.folders_before.clone(),
    };
    let mut asked: Vec<&Act> = Vec::new();
    for act in &record.acts[..acts] {
        match act {
            Act::Write(file, ..) | Act::Resize(file, _) => files[*file].asked.push(act),
            Act::Mapped(file) => files[*file].is_mapped = true,
            Act::Sync(file) => {
                let file = &mut files[*file];
                for act in std::mem::take(&mut file.asked) {
                    apply(&mut file.kept, act);
                }
            }
            Act::Name(..) | Act::Unname(_) | Act::Folder(_) => asked.push(act),
            Act::SyncFolder(folder) => {
                asked.retain(|act| {
                    let is_here = folder_of(act) == Some(folder.as_path());
                    if is_here {
                        names.apply(act);
                    }
                    !is_here
                });
            }
            Act::Said => {}
        }
    }
    for act in asked {
        let is_kept = match how {
            Kept::All => true,
            Kept::Nothing => false,
            _ => dice.below(2) == 0,
        };
        if is_kept {
            names.apply(act);
        }
    }
    let contents: Vec<Vec<u8>> = files
        .into_iter()
        .map(|file| left(file, how, dice))
        .collect();
    names.with(&contents, &record.root)
}

/// The names that are on disk.
struct Names {
    files: BTreeMap<PathBuf, FileNo>,
    folders: BTreeSet<PathBuf>,
}

impl Names {
    fn apply(&mut self, act: &Act) {
        match act {
            Act::Name(path, file) => {
                self.files.insert(path.clone(), *file);
            }
            Act::Unname(path) => {
                self.files.remove(path);
                self.folders.remove(path);
            }
            Act::Folder(path) => {
                self.folders.insert(path.clone());
            }
            _ => {}
        }
    }

    /// The files that can be found: those in folders that are there too.
    fn with(self, contents: &[Vec<u8>], root: &Path) -> Image {
        let is_found = |path: &Path| {
            path.ancestors()
                .skip(1)
                .take_while(|folder| *folder != root)
                .all(|folder| self.folders.contains(folder))
        };
        let files = self.files.iter().filter(|(path, _)| is_found(path));
        Image {
            files: files
                .map(|(path, file)| (path.clone(), contents[*file].clone()))
                .collect(),
            folders: self
                .folders
                .iter()
                .filter(|path| is_found(path))
                .cloned()
                .collect(),
        }
    }
}

/// The folder in which a name is.
fn folder_of(act: &Act) -> Option<&Path> {
    match act {
        Act::Name(path, _) | Act::Unname(path) | Act::Folder(path) => path.parent(),
        _ => None,
    }
}

/// What a file has after a loss of power.
fn left(file: Bytes<'_>, how: Kept, dice: &mut Dice) -> Vec<u8> {
    let mut kept = file.kept;
    if file.is_mapped {
        // What was written to memory may be on disk or not; nobody may rely on a byte of it.
        let longest = file.asked.iter().map(|act| end(act)).max().unwrap_or(0);
        return vec![0; longest.max(kept.len())];
    }
    // What was on the disk before where a file has become longer.
    let rest = if dice.below(8) == 0 { dice.next() } else { 0 };
    let whole = dice.below(2) == 0;
    let first = dice.below(u64::try_from(file.asked.len()).unwrap_or(0) + 1);
    for (place, act) in (0_u64..).zip(file.asked) {
        match how {
            Kept::All => apply(&mut kept, act),
            Kept::Nothing => {}
            Kept::Files if whole => apply(&mut kept, act),
            Kept::Files => {}
            Kept::Beginning if place < first => apply(&mut kept, act),
            Kept::Beginning if place == first => tear(&mut kept, act, rest, dice),
            Kept::Beginning => {}
            Kept::Pieces if dice.below(2) == 0 => apply(&mut kept, act),
            Kept::Pieces => {}
            Kept::Sectors => tear(&mut kept, act, rest, dice),
        }
    }
    kept
}

fn apply(bytes: &mut Vec<u8>, act: &Act) {
    match act {
        Act::Write(_, offset, written) => {
            let start = place(*offset);
            let end = start + written.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[start..end].copy_from_slice(written);
        }
        Act::Resize(_, length) => bytes.resize(place(*length), 0),
        _ => {}
    }
}

/// Lets any of a piece's sectors happen.
fn tear(bytes: &mut Vec<u8>, act: &Act, rest: u64, dice: &mut Dice) {
    let Act::Write(_, offset, written) = act else {
        if dice.below(2) == 0 {
            apply(bytes, act);
        }
        return;
    };
    let start = place(*offset);
    let before = bytes.len();
    let mut done = 0;
    while done < written.len() {
        // A sector lies on the disk's own grid.
        let until = ((start + done) / SECTOR + 1) * SECTOR - start;
        let until = until.min(written.len());
        if dice.below(2) == 0 {
            if bytes.len() < start + until {
                bytes.resize(start + until, 0);
            }
            bytes[start + done..start + until].copy_from_slice(&written[done..until]);
        } else if bytes.len() < start + until && dice.below(2) == 0 {
            // The new length got there, and the bytes did not.
            bytes.resize(start + until, 0);
            if rest != 0 {
                for (byte, place) in bytes[before.max(start + done)..].iter_mut().zip(0_u32..) {
                    *byte = rest.rotate_left(place % 61).to_le_bytes()[0];
                }
            }
        }
        done = until;
    }
}

/// Where a file's act ends.
fn end(act: &Act) -> usize {
    match act {
        Act::Write(_, offset, written) => place(*offset) + written.len(),
        Act::Resize(_, length) => place(*length),
        _ => 0,
    }
}

fn place(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

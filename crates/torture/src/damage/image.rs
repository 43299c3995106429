//! A store's files, and the ways in which they can be damaged.

use std::path::Path;

use crate::Broken;
use crate::dice::Dice;

/// How long a page is, the header of a log, and that of a page in it.
const PAGE: usize = 4096;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A store's files: the database and its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    /// What it is, and what was done to it.
    pub(super) name: String,
    db: Vec<u8>,
    log: Vec<u8>,
}

impl Image {
    /// The files of a store as they are.
    pub(super) fn of(store: &Path, name: &str) -> Result<Self, Broken> {
        Ok(Image {
            name: name.to_owned(),
            db: std::fs::read(store)?,
            log: std::fs::read(beside(store, "-wal")).unwrap_or_default(),
        })
    }

    /// Lays it down as a store's files.
    pub(super) fn write(&self, store: &Path) -> Result<(), Broken> {
        std::fs::write(store, &self.db)?;
        Ok(std::fs::write(beside(store, "-wal"), &self.log)?)
    }

    /// One that is damaged in a way that the dice choose. It may happen that nothing changes.
    pub(super) fn damaged(&self, dice: &mut Dice) -> Self {
        let mut image = self.clone();
        let how = match self.first_commit() {
            None => image.damage_file(dice),
            Some(kept) => image.damage_log(kept, dice),
        };
        image.name = format!("{}: {how}", self.name);
        image
    }

    fn damage_file(&mut self, dice: &mut Dice) -> String {
        let (size, pages) = (self.db.len(), self.db.len() / PAGE);
        match dice.below(9) {
            0 => {
                let length = 1 + dice.place(size - 1);
                self.db.truncate(length);
                format!("cut to {length}")
            }
            1 | 2 => flip(&mut self.db, dice.place(100), dice),
            3 | 4 => {
                // The head of a page, and the list of where its cells are.
                let at = dice.place(pages) * PAGE + dice.place(108);
                self.db[at] = dice.byte();
                format!("byte {at} becomes {}", self.db[at])
            }
            5 => {
                let page = dice.place(pages);
                self.db[page * PAGE..][..PAGE].fill(0);
                format!("page {page} is zeros")
            }
            6 => {
                let (to, from) = (dice.place(pages), dice.place(pages));
                self.db
                    .copy_within(from * PAGE..(from + 1) * PAGE, to * PAGE);
                format!("page {to} is page {from}")
            }
            _ => flip(&mut self.db, dice.place(size), dice),
        }
    }

    fn damage_log(&mut self, kept: usize, dice: &mut Dice) -> String {
        let size = self.log.len();
        match dice.below(4) {
            // Cut before its first commit, a log is what a crash leaves of a store without threads.
            0 => {
                let length = kept + dice.place(size - kept);
                self.log.truncate(length);
                format!("log cut to {length}")
            }
            1 => format!("log: {}", flip(&mut self.log, dice.place(LOG_HEADER), dice)),
            _ => format!("log: {}", flip(&mut self.log, dice.place(size), dice)),
        }
    }

    /// Where the first commit of the log ends: bytes 4 to 8 of a page's header are not zero when it ends a commit.
    pub(super) fn first_commit(&self) -> Option<usize> {
        let frame = FRAME_HEADER + PAGE;
        let frames = self.log.get(LOG_HEADER..)?.chunks_exact(frame);
        let before = frames.take_while(|frame| frame[4..8] == [0; 4]).count();
        let end = LOG_HEADER + (before + 1) * frame;
        (end < self.log.len()).then_some(end)
    }

    /// Whether it has the same bytes.
    pub(super) fn is_same(&self, other: &Image) -> bool {
        self.db == other.db && self.log == other.log
    }
}

fn flip(bytes: &mut [u8], at: usize, dice: &mut Dice) -> String {
    let bit = dice.place(8);
    bytes[at] ^= 1 << bit;
    format!("bit {bit} of byte {at}")
}

fn beside(store: &Path, suffix: &str) -> std::path::PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Takes a store's files away.
pub(super) fn remove(store: &Path) {
    for suffix in ["", "-wal", "-shm", "-lock", "-bell"] {
        let _ = std::fs::remove_file(beside(store, suffix));
    }
}

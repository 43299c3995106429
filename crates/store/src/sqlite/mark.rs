//! How far a store had come: noted beside it by whoever commits, so that a log that was cut or taken away is told of.
//!
//! What was written last is in SQLite's log alone. Without the log, or without its end, the database is a sound one of an earlier
//! moment, and nothing in it says that there was more. So each commit leaves the number of the newest event in the file of the
//! lock, which every writer has open anyway.
//!
//! The note is written when the commit is on disk, and is not synced itself: it may say too little, and never too much. It names
//! the file that it is about, because another one may be put in its place.

use std::fs::{Metadata, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;

use inbox_core::sabotage::planted;

use super::lock::WriteLock;
use super::{Sqlite, beside};
use crate::error::{GO_BACK, StoreError};
use crate::private;
use crate::sql::{self, Sql};

/// A file's number and its birth: the numbers of files that are gone are given again.
type Identity = [[u8; 8]; 2];

/// What "this is a note" looks like.
const MAGIC: [u8; 8] = *b"INBXMARK";

/// What is noted of a store, and what will be.
#[derive(Default)]
pub(super) struct Mark {
    /// Which file it is. Nothing is noted where the file system does not say when a file was made.
    identity: Option<Identity>,
    /// The newest event of the open transaction.
    newest: Option<i64>,
    /// What that was before the open part of it.
    before_part: Option<i64>,
}

impl Mark {
    pub(super) fn of(found: &Metadata) -> Self {
        let born = || found.created().ok()?.duration_since(UNIX_EPOCH).ok();
        let nanoseconds = || u64::try_from(born()?.as_nanos()).ok();
        Mark {
            identity: nanoseconds().map(|born| [found.ino().to_le_bytes(), born.to_le_bytes()]),
            ..Mark::default()
        }
    }

    /// Takes note of a row that was inserted.
    pub(super) fn inserted(&mut self, sql: &'static Sql, key: i64) {
        if std::ptr::eq(sql, &raw const sql::INSERT_ENTRY) {
            self.newest = Some(key);
        }
    }

    pub(super) fn part_begins(&mut self) {
        self.before_part = self.newest;
    }

    pub(super) fn part_is_undone(&mut self) {
        self.newest = self.before_part;
    }

    pub(super) fn forget(&mut self) {
        self.newest = None;
    }

    /// Notes what is on disk now, by who has the lock. What cannot be noted is not.
    pub(super) fn committed(&mut self, lock: &WriteLock) {
        let noted = (self.identity, self.newest.take(), lock.file());
        if let (Some(identity), Some(newest), Some(file)) = noted
            && !planted("log_unmarked")
        {
            let _ = file.write_all_at(&note(identity, newest), 0);
        }
    }

    /// The newest event that was noted of the store at `path`.
    pub(super) fn noted(&self, path: &Path, owner: u32) -> Option<i64> {
        let (identity, newest) = read(path, owner)?;
        // Another file's note says nothing about this one.
        (self.identity? == identity).then_some(newest)
    }
}

/// The newest event that is noted beside a store, whichever file it was noted of: for who looks at a disk on which files have moved.
pub fn noted_event(store: &Path) -> Option<i64> {
    read(store, private::user()).map(|(_, newest)| newest)
}

/// The note beside a store. Half of one has another sum, and is none.
fn read(store: &Path, owner: u32) -> Option<(Identity, i64)> {
    let mut how = OpenOptions::new();
    let file = private::open_of(how.read(true), &beside(store, "-lock"), owner).ok()?;
    let mut bytes = [0; 40];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let field = |at: usize| bytes[at..at + 8].try_into().ok();
    let (identity, newest) = ([field(8)?, field(16)?], i64::from_le_bytes(field(24)?));
    (note(identity, newest) == bytes).then_some((identity, newest))
}

fn note([number, born]: Identity, newest: i64) -> [u8; 40] {
    let said = [MAGIC, number, born, newest.to_le_bytes()];
    let sum = said.as_flattened().iter().fold(0, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let [a, b, c, d] = said;
    let mut bytes = [0; 40];
    bytes.copy_from_slice([a, b, c, d, sum.to_le_bytes()].as_flattened());
    bytes
}

impl Sqlite {
    /// Whether everything is there that was noted as committed.
    pub(super) fn must_have_come_to(&mut self, noted: Option<i64>) -> Result<(), StoreError> {
        let Some(noted) = noted else { return Ok(()) };
        let newest = self.newest_event()?;
        if newest >= noted {
            return Ok(());
        }
        let (log, lock) = (self.log.display(), beside(&self.path, "-lock"));
        Err(StoreError::Behind {
            problem: format!(
                "{} has lost what was written last: event {noted} was on disk, and the newest that is left is {newest}; its log \
                 {log} was cut or taken away, or an older copy was put in its place",
                self.path.display()
            ),
            hint: format!(
                "put {log} back; or, to go back to a copy, {GO_BACK}; or, once nobody uses the store, rm {} goes on with what is left",
                lock.display()
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back_unless_it_is_anothers_or_half_of_one() {
        let folder = std::env::temp_dir().join(format!("inbox-mark-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let store = folder.join("coord.db");
        let lock = folder.join("coord.db-lock");
        let of = |identity| Mark {
            identity,
            ..Mark::default()
        };
        let this = of(Some([[1; 8], [2; 8]]));
        let noted = |mark: &Mark| mark.noted(&store, private::user());
        assert_eq!(noted(&this), None);
        let whole = note([[1; 8], [2; 8]], 41);
        std::fs::write(&lock, whole).unwrap();
        assert_eq!(noted(&this), Some(41));
        assert_eq!(noted(&of(Some([[1; 8], [3; 8]]))), None);
        assert_eq!(noted(&of(None)), None);
        let newer = note([[1; 8], [2; 8]], 0x0102_0304);
        for cut in 0..40 {
            let torn = [&newer[..cut], &whole[cut..]].concat();
            std::fs::write(&lock, &torn).unwrap();
            let is_whole = torn == whole;
            assert_eq!(noted(&this), is_whole.then_some(41), "{cut}");
        }
        std::fs::write(&lock, &whole[..39]).unwrap();
        assert_eq!(noted(&this), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

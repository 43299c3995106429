//! The file that a store is, and what lies beside it before SQLite gets to see it.
//!
//! A store with two names would have two logs, two locks and two bells, and lose what is in one of them.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file::folder_of;
use super::mark::Mark;
use crate::error::StoreError;
use crate::private;

/// The file of a store.
pub(super) struct Place {
    /// Where it is, whatever links led to it: everything beside a store is beside its file.
    pub(super) path: PathBuf,
    /// Whose it is: what lies beside it may be theirs too.
    pub(super) owner: u32,
    pub(super) is_empty: bool,
    pub(super) mark: Mark,
}

impl Place {
    /// The file that a path names, once it is sure that SQLite may open it.
    pub(super) fn of(named: &Path) -> Result<Self, StoreError> {
        let cannot = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => StoreError::NotFound(named.display().to_string()),
            _ => StoreError::of_file(format!("cannot open {}", named.display()), &error),
        };
        let mut found = std::fs::symlink_metadata(named).map_err(cannot)?;
        let mut path = named.to_owned();
        if found.is_symlink() {
            path = named.canonicalize().map_err(cannot)?;
            found = std::fs::metadata(&path).map_err(cannot)?;
        }
        if !found.is_file() {
            return Err(not_a_file(&path));
        }
        if found.nlink() > 1 && !is_alone_without_drafts(&path, &found) {
            let shown = path.display();
            return Err(StoreError::NotOurs {
                problem: format!(
                    "the store {shown} has a second name elsewhere, and under each it would have other logs"
                ),
                hint: format!(
                    "cp {shown} {shown}.own && mv {shown}.own {shown} makes it a file of its own, once nobody uses it"
                ),
            });
        }
        let place = Place {
            owner: found.uid(),
            is_empty: found.len() == 0,
            mark: Mark::of(&found),
            path,
        };
        must_be_alone(&place.path, place.owner)?;
        Ok(place)
    }
}

/// A folder has no damage, and is most often the one that has the store in it.
fn not_a_file(path: &Path) -> StoreError {
    let usual = [".agents/coord.db", "coord.db"].map(|name| path.join(name));
    let there = usual.iter().find(|store| store.is_file());
    let meant = match there.or(usual.last()).filter(|_| path.is_dir()) {
        Some(store) => store.display().to_string(),
        None => "PATH".to_owned(),
    };
    StoreError::NotAFile {
        place: path.display().to_string(),
        meant,
    }
}

/// Whether what SQLite opens beside a database is its own.
pub(super) fn must_be_alone(path: &Path, owner: u32) -> Result<(), StoreError> {
    private::may_sqlite_open(path, owner)
        .map_err(|error| StoreError::of_file(format!("cannot open {}", path.display()), &error))
}

/// Takes away the names under which a store was made by one who died before it could: whether the store then has one name.
fn is_alone_without_drafts(path: &Path, found: &Metadata) -> bool {
    let Some(name) = path.file_name() else {
        return false;
    };
    let draft = [name.as_bytes(), b".new-"].concat();
    for entry in std::fs::read_dir(folder_of(path))
        .into_iter()
        .flatten()
        .flatten()
    {
        let other = entry.file_name();
        let number = other.as_bytes().strip_prefix(draft.as_slice());
        let is_draft = number.is_some_and(|number| number.iter().all(u8::is_ascii_digit));
        let is_same = |other: Metadata| (other.dev(), other.ino()) == (found.dev(), found.ino());
        if is_draft && entry.metadata().is_ok_and(is_same) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    std::fs::metadata(path).is_ok_and(|found| found.nlink() == 1)
}

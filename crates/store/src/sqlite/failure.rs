//! What SQLite's errors mean for a store.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::StoreError;

pub(super) fn corrupt(path: &Path, problem: &str) -> StoreError {
    StoreError::Corrupt {
        place: path.display().to_string(),
        problem: problem.to_owned(),
    }
}

pub(super) fn database(path: &Path, error: &rusqlite::Error) -> StoreError {
    let place = path.display();
    match error {
        rusqlite::Error::SqliteFailure(failure, text) => {
            let text = text.clone().unwrap_or_else(|| failure.to_string());
            match failure.code {
                ErrorCode::NotADatabase => corrupt(path, "it is not an SQLite database"),
                ErrorCode::DatabaseCorrupt => corrupt(path, &text),
                ErrorCode::DiskFull => {
                    StoreError::Full(format!("the disk that holds {place} is full"))
                }
                ErrorCode::ReadOnly | ErrorCode::PermissionDenied => {
                    StoreError::ReadOnly(format!("{place} cannot be written: {text}"))
                }
                ErrorCode::CannotOpen => {
                    StoreError::ReadOnly(format!("cannot open {place}: {text}"))
                }
                ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                    StoreError::Busy(format!("another program keeps {place} locked"))
                }
                // The statements are fixed and prepared in tests: what they do not find was there.
                ErrorCode::Unknown => corrupt(path, &text),
                _ => StoreError::Database(format!("{place}: {text}")),
            }
        }
        rusqlite::Error::SqlInputError { msg, .. } => corrupt(path, msg),
        rusqlite::Error::Utf8Error(..) | rusqlite::Error::InvalidColumnType(..) => {
            corrupt(path, "a value is not what was written")
        }
        other => StoreError::Database(format!("{place}: {other}")),
    }
}

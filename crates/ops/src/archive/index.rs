//! Archives that are new or have changed go into the index of searches. What cannot be read is told by every search, because it may be
//! what was looked for.

use std::fs::DirEntry;
use std::io::ErrorKind;

use inbox_core::Refusal;
use inbox_store::{ARCHIVE_PARTS, Store, private};

use super::folder;
use super::shelf::part_of;
use crate::call::Inbox;
use crate::exchange::mailbox::{self, Original};

/// The largest file that is read, in bytes. `archive` begins another one long before.
const MOST: u64 = 1 << 30;

impl Inbox {
    /// Lets searches find what is in archives that are new or have changed. What of them cannot be found, and why.
    pub(crate) fn index_archives(&self) -> Result<Vec<String>, Refusal> {
        self.index_files_of(MOST)
    }

    pub(super) fn index_files_of(&self, most: u64) -> Result<Vec<String>, Refusal> {
        let Some(folder) = folder(self) else {
            return Ok(Vec::new());
        };
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Ok(vec![unread(&folder.display(), &error)]),
        };
        let known = self.store().indexed_archives()?;
        let mut warnings = Vec::new();
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    warnings.push(unread(&folder.display(), &error));
                    continue;
                }
            };
            let name = entry.file_name();
            let Some(name) = name.to_str().and_then(letters) else {
                continue;
            };
            let found = stamp(&entry).and_then(|stamp| {
                let is_known = known
                    .iter()
                    .any(|(other, indexed)| other == name && *indexed == stamp);
                let bytes = if is_known {
                    None
                } else {
                    Some(private::read(&entry.path(), most)?)
                };
                Ok((stamp, bytes))
            });
            let path = entry.path();
            match found {
                Ok((_, None)) => {}
                Ok((stamp, Some(bytes))) => {
                    let bad = self.index_file(name, &stamp, &bytes)?;
                    if bad > 0 {
                        let lines = super::plural(bad, "line");
                        warnings.push(format!(
                            "{lines} of {} cannot be read, and what is there is not found; inbox import says which",
                            path.display()
                        ));
                    }
                }
                Err(error) => warnings.push(unread(&path.display(), &error)),
            }
        }
        Ok(warnings)
    }

    /// How many lines of it are none.
    fn index_file(&self, name: &str, stamp: &str, bytes: &[u8]) -> Result<i64, Refusal> {
        // What is behind the last line's end is being written, or was when somebody died: it is still in the store.
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole = &bytes[..end.map_or(0, |end| end + 1)];
        let found = mailbox::decode(whole, b"");
        let mut lines = Vec::new();
        for mut incoming in found.messages {
            if let Some(Original {
                message,
                thread: Some(thread),
                ..
            }) = Original::take(&mut incoming)
            {
                lines.push(Store::archive_line(&message, &thread));
            }
        }
        let indexed = self.store().index_archive(name, stamp, &lines)?;
        Ok(super::count(found.bad.len()) + indexed.unreadable)
    }
}

/// What a file of letters is known by: `2029-09`, or `2029-09.2`.
fn letters(name: &str) -> Option<&str> {
    let (month, number) = part_of(name)?;
    let (year, of_year) = month.split_once('-')?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_month = year.len() == 4 && is_digits(year) && of_year.len() == 2 && is_digits(of_year);
    let is_one = is_month && ("01"..="12").contains(&of_year) && number <= ARCHIVE_PARTS;
    is_one.then(|| name.trim_end_matches(".jsonl"))
}

/// What changes with a file.
fn stamp(entry: &DirEntry) -> std::io::Result<String> {
    let found = entry.metadata()?;
    let changed = found.modified().ok().and_then(|time| {
        let age = time.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(age.as_millis())
    });
    Ok(format!("{} {}", found.len(), changed.unwrap_or(0)))
}

fn unread(path: &dyn std::fmt::Display, error: &std::io::Error) -> String {
    format!("{path} cannot be read, and what is there is not found: {error}")
}

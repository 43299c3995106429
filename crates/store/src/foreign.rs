//! Reads the tables of another program's SQLite file, without touching it and without trusting it.
//!
//! The file and its logs are copied to a private folder and the copy is opened: so nothing is created
//! beside the original, nothing locks it, and what its log holds is seen. The schema may come from
//! anybody: views, virtual tables and generated columns are not read, and no trigger runs.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Number, Value};

use crate::error::StoreError;
use crate::private;
use crate::sqlite::beside;

/// The most rows that are read from one file, over all tables.
pub const ROWS: usize = 1_000_000;
/// The most bytes: of the file with its logs, and of what is read from it.
pub const BYTES: u64 = 512 << 20;
/// How often a file that changes while it is copied is copied again.
const COPIES: u32 = 50;
/// How long after.
const PAUSE: Duration = Duration::from_millis(3);

/// Rows by table, each row by column. Blobs are left out.
pub type Tables = BTreeMap<String, Vec<Map<String, Value>>>;

/// Reads whole tables of the SQLite file at `path`.
pub fn read(path: &Path, tables: &[&str]) -> Result<Tables, StoreError> {
    Foreign::open(path)?.rows(tables)
}

/// A private copy of another program's SQLite file.
pub struct Foreign {
    connection: Connection,
    /// The original, for messages.
    place: String,
    /// Dropped after the connection, which has files in it.
    _folder: Folder,
}

impl Foreign {
    /// Copies the file at `path` and opens the copy.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let place = path.display().to_string();
        let cannot =
            |error: std::io::Error| StoreError::of_file(format!("cannot read {place}"), &error);
        // SQLite keeps the logs beside the file that a link points to.
        let original = path.canonicalize().map_err(cannot)?;
        if !original.metadata().map_err(cannot)?.is_file() {
            return Err(StoreError::Database(format!(
                "{place} is not a regular file"
            )));
        }
        let folder = Folder::new()?;
        let copy = folder.0.join("copy.db");
        copy_at_rest(&original, &copy, &place)?;
        let connection = connect(&copy).map_err(|error| failure(&place, &error))?;
        // No quick_check: it would run the schema's own expressions. Damage shows when rows are read.
        Ok(Foreign {
            connection,
            place,
            _folder: folder,
        })
    }

    /// The names of the ordinary tables.
    pub fn tables(&self) -> Result<Vec<String>, StoreError> {
        let list = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare("PRAGMA table_list")?;
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (schema, name, kind): (String, String, String) =
                    (row.get(0)?, row.get(1)?, row.get(2)?);
                if schema == "main" && kind == "table" && !name.starts_with("sqlite_") {
                    found.push(name);
                }
            }
            found.sort_unstable();
            Ok(found)
        };
        list().map_err(|error| failure(&self.place, &error))
    }

    /// The rows of `tables`, each of which must be an ordinary table.
    pub fn rows(&self, tables: &[&str]) -> Result<Tables, StoreError> {
        let present = self.tables()?;
        let mut budget = Budget {
            rows: ROWS,
            bytes: BYTES,
        };
        let mut found = Tables::new();
        for &table in tables {
            let Some(name) = present.iter().find(|name| name.eq_ignore_ascii_case(table)) else {
                return Err(StoreError::Database(format!(
                    "{} has no table {table}",
                    self.place
                )));
            };
            let rows = self.table(name, &mut budget)?;
            found.insert(table.to_owned(), rows);
        }
        Ok(found)
    }

    fn table(
        &self,
        name: &str,
        budget: &mut Budget,
    ) -> Result<Vec<Map<String, Value>>, StoreError> {
        let failed = |error: rusqlite::Error| failure(&self.place, &error);
        let columns = self.columns(name).map_err(failed)?;
        let list: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
        // An index may be on an expression, and is not needed to read everything.
        let text = format!(
            "SELECT {} FROM main.{} NOT INDEXED",
            list.join(", "),
            quoted(name)
        );
        let mut statement = self.connection.prepare(&text).map_err(failed)?;
        let mut rows = statement.query([]).map_err(failed)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let mut read = Map::new();
            for (index, column) in columns.iter().enumerate() {
                let cell = row.get_ref(index).map_err(failed)?;
                budget.spend(cell).ok_or_else(|| self.too_large())?;
                if let Some(value) = json(cell) {
                    read.insert(column.clone(), value);
                }
            }
            budget.rows = budget.rows.checked_sub(1).ok_or_else(|| self.too_large())?;
            found.push(read);
        }
        Ok(found)
    }

    /// The columns that are stored; a generated one would run an expression of the file's author.
    fn columns(&self, table: &str) -> rusqlite::Result<Vec<String>> {
        let mut statement = self
            .connection
            .prepare(&format!("PRAGMA main.table_xinfo({})", quoted(table)))?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if row.get::<_, i64>("hidden")? == 0 {
                found.push(row.get("name")?);
            }
        }
        Ok(found)
    }

    fn too_large(&self) -> StoreError {
        too_large(&self.place)
    }
}

fn too_large(place: &str) -> StoreError {
    StoreError::Database(format!(
        "{place} is too large to read at once: the most is {ROWS} rows and {} MiB",
        BYTES >> 20
    ))
}

/// What may still be read.
struct Budget {
    rows: usize,
    bytes: u64,
}

impl Budget {
    fn spend(&mut self, cell: ValueRef<'_>) -> Option<()> {
        let size = match cell {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() as u64,
            ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => 8,
        };
        self.bytes = self.bytes.checked_sub(size)?;
        Some(())
    }
}

/// A cell as JSON; nothing for a blob.
fn json(cell: ValueRef<'_>) -> Option<Value> {
    match cell {
        ValueRef::Null => Some(Value::Null),
        ValueRef::Integer(value) => Some(value.into()),
        ValueRef::Real(value) => Some(Number::from_f64(value).map_or(Value::Null, Value::Number)),
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned().into()),
        ValueRef::Blob(_) => None,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The copy may be written, because a log has to be recovered into it; by statements it is not.
fn connect(copy: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(copy, flags)?;
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(config, on)?;
    }
    connection.execute_batch(
        "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA query_only = ON; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(connection)
}

fn failure(place: &str, error: &rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    StoreError::Database(match error.sqlite_error_code() {
        Some(NotADatabase) => format!("{place} is not an SQLite database"),
        Some(DatabaseCorrupt) => format!("{place} is damaged: {error}"),
        _ => format!("{place}: {error}"),
    })
}

/// The files that a database is made of, with the length of the head that tells one state from another.
/// The log of changes comes after the file that they go into: see [`copy_at_rest`].
const PARTS: [(&str, u64); 3] = [("", 100), ("-wal", 32), ("-journal", 28)];

/// Copies the database with the logs that belong to it, so that they fit together.
///
/// With a write-ahead log, the file may be written meanwhile, because all that goes into it is in the
/// log, which is copied later; only when the log is begun anew, which changes its head, is that lost.
/// With a rollback journal, what is undone is in the journal, and a commit changes the file's head.
fn copy_at_rest(original: &Path, copy: &Path, place: &str) -> Result<(), StoreError> {
    let cannot =
        |error: std::io::Error| StoreError::of_file(format!("cannot copy {place}"), &error);
    for _ in 0..COPIES {
        let before = heads(original).map_err(cannot)?;
        let mut size = 0;
        for (part, _) in PARTS {
            let (from, to) = (beside(original, part), beside(copy, part));
            size += copy_file(&from, &to, part.is_empty()).map_err(cannot)?;
        }
        if size > BYTES {
            return Err(too_large(place));
        }
        if heads(original).map_err(cannot)? == before {
            return names_no_other(copy, place);
        }
        std::thread::sleep(PAUSE);
    }
    Err(StoreError::Busy(format!(
        "another program writes to {place} all the time"
    )))
}

/// Refuses a journal of a transaction over several databases: it ends with the path of a file that they share, which SQLite reads, and deletes once
/// it has undone the transaction. What file that is, is the word of whoever wrote the journal.
fn names_no_other(copy: &Path, place: &str) -> Result<(), StoreError> {
    const END: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let tail = || -> std::io::Result<[u8; 8]> {
        let mut journal = File::open(beside(copy, "-journal"))?;
        let mut tail = [0; 8];
        journal.seek(SeekFrom::End(-8))?;
        journal.read_exact(&mut tail)?;
        Ok(tail)
    };
    // Without a journal, or with one that is shorter, there is no name in it.
    if tail().is_ok_and(|tail| tail == END) {
        return Err(StoreError::Database(format!(
            "the journal of {place} is of a transaction over several databases, and leads to another file"
        )));
    }
    Ok(())
}

/// The heads of the files that are there.
fn heads(original: &Path) -> std::io::Result<Vec<Option<Vec<u8>>>> {
    let head = |(part, length): (&str, u64)| {
        let mut head = Vec::new();
        match private::open_any(&beside(original, part)) {
            Ok(file) => file.take(length).read_to_end(&mut head).map(|_| Some(head)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    };
    PARTS.into_iter().map(head).collect()
}

/// Copies a file, up to one byte more than may be read, and says how much that was. One that is not
/// there and need not be is not there in the copy either.
fn copy_file(from: &Path, to: &Path, required: bool) -> std::io::Result<u64> {
    let source = match private::open_any(from) {
        Ok(source) => source,
        Err(error) if !required && error.kind() == std::io::ErrorKind::NotFound => {
            return match std::fs::remove_file(to) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(0),
            };
        }
        Err(error) => return Err(error),
    };
    // Not with the original's permissions: a file that may only be read could not be recovered.
    let mut target = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(to)?;
    std::io::copy(&mut source.take(BYTES + 1), &mut target)
}

/// A private folder that is removed again.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, StoreError> {
        let nonce = getrandom::u64()
            .map_err(|error| StoreError::Database(format!("no random number: {error}")))?;
        let folder = std::env::temp_dir().join(format!("inbox-foreign-{nonce:016x}"));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| {
                StoreError::of_file(format!("cannot make {}", folder.display()), &error)
            })?;
        Ok(Folder(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;

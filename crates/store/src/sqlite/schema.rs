//! Whether the schema of a file is ours.
//!
//! A file may come from anybody, with a trigger that deletes mail when some is sent, a column that is computed from others, or an index whose
//! expression never ends: each would run with our own writes. So every table, index, view and trigger of ours is, to the letter, what
//! the migrations make. Tables and views that somebody has added beside them do nothing that nobody asks of them, and may stay.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use super::failure::{corrupt, database};
use crate::error::StoreError;
use crate::sql::{MIGRATIONS, SCHEMA_VERSION};

/// The sum of the newest schema. Whoever adds a migration is told the new one by the test below.
const SUM: [u8; 32] = [
    0x48, 0xdb, 0x14, 0x5c, 0xbb, 0xd7, 0x74, 0xa8, 0x88, 0x54, 0xb4, 0x1b, 0xab, 0xe9, 0x76, 0x93,
    0x92, 0x6f, 0xb6, 0xc8, 0x14, 0x10, 0xca, 0xfe, 0xe7, 0xe7, 0xe2, 0x78, 0x69, 0xc4, 0x4a, 0x79,
];

/// What SQLite itself keeps about tables, once somebody has asked it to.
const STATISTICS: &str = "create table sqlite_stat1(tbl,idx,stat)";

/// A row of `sqlite_schema`: what it is, its name, whose it is, and how it was made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    kind: Vec<u8>,
    name: Vec<u8>,
    table: Vec<u8>,
    text: Option<Vec<u8>>,
}

/// Refuses a schema that is not the one of its version.
pub(super) fn must_be_ours(
    connection: &Connection,
    path: &Path,
    version: i64,
) -> Result<(), StoreError> {
    // A copy that is not finished has its version with a minus.
    let version = version.abs();
    // What is newer is refused for that.
    if version > SCHEMA_VERSION {
        return Ok(());
    }
    let found = items(connection).map_err(|error| database(path, &error))?;
    if version == SCHEMA_VERSION && sum(&found) == SUM {
        return Ok(());
    }
    let ours = made(version).map_err(|error| database(path, &error))?;
    match difference(&found, &ours) {
        None => Ok(()),
        Some(problem) => Err(corrupt(path, &problem)),
    }
}

fn items(connection: &Connection) -> rusqlite::Result<Vec<Item>> {
    let bytes = |value: ValueRef<'_>| match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        _ => None,
    };
    let mut statement =
        connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::with_capacity(128);
    while let Some(row) = rows.next()? {
        found.push(Item {
            kind: bytes(row.get_ref(0)?).unwrap_or_default(),
            name: bytes(row.get_ref(1)?).unwrap_or_default(),
            table: bytes(row.get_ref(2)?).unwrap_or_default(),
            text: bytes(row.get_ref(3)?),
        });
    }
    // They stand in another order once the file has been vacuumed.
    found.sort_unstable();
    Ok(found)
}

fn sum(items: &[Item]) -> [u8; 32] {
    let mut sum = Sha256::new();
    for item in items {
        for part in [
            Some(&item.kind),
            Some(&item.name),
            Some(&item.table),
            item.text.as_ref(),
        ] {
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            sum.update(length.to_le_bytes());
            sum.update(part.map_or(&[][..], Vec::as_slice));
        }
    }
    sum.finalize().into()
}

/// What the migrations up to a version make.
fn made(version: i64) -> rusqlite::Result<Vec<Item>> {
    let memory = Connection::open_in_memory()?;
    for step in MIGRATIONS.iter().filter(|step| step.version <= version) {
        memory.execute_batch(step.sqlite)?;
    }
    items(&memory)
}

/// What is wrong with a schema, if something is.
fn difference(found: &[Item], ours: &[Item]) -> Option<String> {
    let shown = |item: &Item| {
        let [kind, name] = [&item.kind, &item.name].map(|part| String::from_utf8_lossy(part));
        format!("the {kind} {name}")
    };
    if let Some(item) = ours.iter().find(|item| !found.contains(item)) {
        let is_there = found
            .iter()
            .any(|other| (&item.kind, &item.name) == (&other.kind, &other.name));
        let what = if is_there {
            "is not as inbox makes it"
        } else {
            "is missing"
        };
        return Some(format!("{} {what}", shown(item)));
    }
    // Each of ours is there; what is there twice, or by another name, is somebody else's.
    let added: Vec<&Item> = found.iter().filter(|item| !ours.contains(item)).collect();
    if found.len() != ours.len() + added.len() {
        return Some("it has something twice".to_owned());
    }
    let own_tables: Vec<&[u8]> = added
        .iter()
        .filter(|item| is_table(item))
        .map(|item| item.name.as_slice())
        .collect();
    let foreign = added.iter().find(|item| match item.kind.as_slice() {
        b"table" => !is_table(item),
        b"index" => !own_tables.contains(&item.table.as_slice()),
        kind => kind != b"view",
    });
    foreign.map(|item| format!("{} is not inbox's", shown(item)))
}

/// Whether it is a table that nothing happens to unless it is named.
fn is_table(item: &Item) -> bool {
    let text = String::from_utf8_lossy(item.text.as_deref().unwrap_or_default()).to_lowercase();
    let is_own = item.kind == b"table"
        && item.name == item.table
        && text.starts_with("create table")
        // A row that refers to one of ours would have its say when that one goes.
        && !text.contains("references");
    is_own && (!item.name.starts_with(b"sqlite_") || text == STATISTICS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_the_newest_schema() {
        let found = sum(&made(SCHEMA_VERSION).unwrap());
        assert_eq!(found, SUM, "SUM is {found:?} now");
    }

    #[test]
    fn what_would_run_with_our_writes_is_refused_and_what_does_nothing_may_stay() {
        let problem = |change: &str| {
            let memory = Connection::open_in_memory().unwrap();
            for step in MIGRATIONS {
                memory.execute_batch(step.sqlite).unwrap();
            }
            memory.execute_batch(change).unwrap();
            difference(&items(&memory).unwrap(), &made(SCHEMA_VERSION).unwrap())
        };
        for change in [
            "CREATE TRIGGER evil AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
            "CREATE VIEW v AS SELECT 1; CREATE TRIGGER evil INSTEAD OF INSERT ON v BEGIN SELECT 1; END",
            "CREATE INDEX evil ON entries (entry_no + 1)",
            "CREATE VIRTUAL TABLE evil USING fts5(a)",
            "CREATE TABLE evil (a INTEGER REFERENCES entries (entry_no))",
            "ALTER TABLE entries ADD COLUMN evil AS (1)",
            "DROP VIEW inbox; CREATE VIEW inbox AS SELECT 1",
            "DROP TABLE memories",
        ] {
            assert!(problem(change).is_some(), "{change}");
        }
        for change in [
            "SELECT 1",
            "VACUUM",
            "ANALYZE",
            "CREATE TABLE theirs (a TEXT UNIQUE, b); CREATE INDEX i ON theirs (b)",
            "CREATE VIEW theirs AS SELECT * FROM entries",
        ] {
            assert_eq!(problem(change), None, "{change}");
        }
    }
}

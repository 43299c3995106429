//! Readers of a file beside its upgrade: programs of the time before it, and of this one. Each sees what was there, or is told that it
//! cannot; none is given anything else.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use inbox_store::sql;
use inbox_testkit::old::older;
use rusqlite::Connection;

use super::killed::{is_changed, laid_down, tables};
use crate::fire::{ends, reader, rows, start, words};

const OLD: usize = 3;
const NEW: usize = 3;

/// A table with the columns that an upgrade leaves as they are.
type Known = (String, Vec<String>);

fn known(file: &Connection, version: i64) -> Vec<Known> {
    let all = tables(file).into_iter();
    all.map(|(table, columns)| {
        let is_kept = |column: &String| !is_changed(version, &table, column);
        let columns = columns.into_iter().filter(is_kept).collect();
        (table, columns)
    })
    .collect()
}

/// The rows of a query that was written for a store of another time, or what its reader is told.
fn read(file: &Connection, (table, columns): &Known) -> rusqlite::Result<Vec<String>> {
    let quoted: Vec<_> = columns
        .iter()
        .map(|column| format!("quote(\"{table}\".\"{column}\")"))
        .collect();
    let text = format!(
        "SELECT '|' || {} || '|' FROM {table}",
        quoted.join(" || '|' || ")
    );
    let mut statement = file.prepare(&text)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

fn version(file: &Connection) -> i64 {
    let version = file.query_row("PRAGMA user_version", [], |row| row.get(0));
    version.unwrap()
}

/// Reads everything in one transaction, as somebody of that time did. How many of the tables it was told that it cannot read.
fn looks(file: &Connection, all: &[(Known, Vec<String>)]) -> usize {
    file.execute_batch("BEGIN").unwrap();
    let before = version(file);
    let mut told = 0;
    for (table, expected) in all {
        match read(file, table) {
            Ok(found) => {
                let lost: Vec<_> = expected.iter().filter(|row| !found.contains(row)).collect();
                assert!(lost.is_empty(), "{} at {before} lost {lost:#?}", table.0);
                assert_eq!(read(file, table).unwrap(), found, "in one transaction");
            }
            Err(error) => {
                told += 1;
                assert!(error.to_string().contains("no such"), "{error}");
            }
        }
    }
    assert_eq!(version(file), before, "in one transaction");
    file.execute_batch("COMMIT").unwrap();
    told
}

#[test]
fn who_reads_a_file_while_it_is_brought_up_to_date_sees_what_was_there_or_is_told() {
    for &old in older() {
        let laid = laid_down(old);
        let file = reader(&laid.db);
        let all: Vec<_> = known(&file, old)
            .into_iter()
            .map(|table| {
                let rows = read(&file, &table).unwrap();
                (table, rows)
            })
            .collect();
        assert_eq!(looks(&file, &all), 0);
        // Somebody began to read before, and goes on until long after.
        let long = reader(&laid.db);
        long.execute_batch("BEGIN").unwrap();
        assert_eq!(version(&long), old);
        let (is_over, looked) = (AtomicBool::new(false), AtomicUsize::new(0));
        let begun = Barrier::new(OLD + 1);
        std::thread::scope(|scope| {
            for _ in 0..OLD {
                scope.spawn(|| {
                    let file = reader(&laid.db);
                    looks(&file, &all);
                    begun.wait();
                    while !is_over.load(Ordering::SeqCst) {
                        looks(&file, &all);
                        looked.fetch_add(1, Ordering::SeqCst);
                    }
                    assert_eq!(version(&file), sql::SCHEMA_VERSION);
                    looks(&file, &all);
                });
            }
            begun.wait();
            // One of these upgrades it, and all of them read it.
            let readers: Vec<_> = (0..NEW)
                .map(|_| start(&laid.inbox, &words("list")))
                .collect();
            let seen: Vec<_> = readers.into_iter().map(ends).collect();
            is_over.store(true, Ordering::SeqCst);
            for outcome in &seen {
                assert_eq!(outcome.ok()["threads"].as_array().map(Vec::len), Some(3));
                assert_eq!(outcome.stdout, seen[0].stdout, "from schema {old}");
            }
        });
        assert!(looked.load(Ordering::SeqCst) > 0, "from schema {old}");
        for (table, expected) in &all {
            assert_eq!(
                &read(&long, table).unwrap(),
                expected,
                "{} of {old}",
                table.0
            );
        }
        assert_eq!(version(&long), old);
        long.execute_batch("COMMIT").unwrap();
        assert_eq!(version(&long), sql::SCHEMA_VERSION);
        assert_eq!(rows(&file, "PRAGMA integrity_check"), ["|ok|"]);
    }
}

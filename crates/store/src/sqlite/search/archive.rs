//! Archived messages in the index file: whole, because the store no longer has them.

use rusqlite::{Connection, params};

use super::insert;
use crate::search::{Archive, Entry};

/// The archives that are indexed, with their stamps.
pub(super) fn list(index: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    index
        .prepare_cached("SELECT month, stamp FROM archives ORDER BY month")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Puts these messages in the place of all that an archive had.
pub(super) fn replace(
    index: &Connection,
    archive: &Archive<'_>,
    entries: &mut dyn Iterator<Item = (Entry, String)>,
) -> rusqlite::Result<()> {
    let keys = [*archive.numbers.start(), *archive.numbers.end()];
    index.execute(
        "DELETE FROM archived_words WHERE rowid IN (SELECT archived_no FROM archived WHERE archived_no BETWEEN ?1 AND ?2)",
        keys,
    )?;
    index.execute(
        "DELETE FROM archived WHERE archived_no BETWEEN ?1 AND ?2",
        keys,
    )?;
    let mut words = index.prepare_cached(
        "INSERT INTO archived_words (rowid, subject, summary, body, payload, facets) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut lines = index.prepare_cached("INSERT INTO archived VALUES (?1, ?2)")?;
    for (entry, line) in entries {
        insert(&mut words, &entry)?;
        lines.execute(params![entry.number, line])?;
    }
    index
        .execute(
            "INSERT INTO archives VALUES (?1, ?2) ON CONFLICT (month) DO UPDATE SET stamp = excluded.stamp",
            [archive.month, archive.stamp],
        )
        .map(drop)
}

/// At most `limit` archived messages that may match, up to and including `last`, newest first.
pub(super) fn newest(
    index: &Connection,
    query: &str,
    last: i64,
    limit: i64,
) -> rusqlite::Result<Vec<(i64, String)>> {
    index
        .prepare_cached(
            "SELECT archived_no, line FROM archived WHERE archived_no IN
               (SELECT rowid FROM archived_words WHERE archived_words MATCH ?1 AND rowid <= ?2 ORDER BY rowid DESC LIMIT ?3)
              ORDER BY archived_no DESC",
        )?
        .query_map(params![query, last, limit], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

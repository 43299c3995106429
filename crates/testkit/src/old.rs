//! Stores of every schema that landed, with something in every table.
//!
//! `fixtures/schema-N/coord.db` was written by a program of that time. It wrote a few threads; what it could hold besides stands in
//! `fixtures/rows/NN.sql`, by the schema that first had a place for it, and is put into the copies that tests get.

use std::path::{Path, PathBuf};

use inbox_store::sql;
use rusqlite::Connection;

/// The schemas that landed, this one last. The first and the third never stood alone.
pub const LANDED: [i64; 12] = [2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

/// What is put into a store of this schema or a later one.
const ROWS: [(i64, &str); 8] = [
    (4, include_str!("../fixtures/rows/04.sql")),
    (7, include_str!("../fixtures/rows/07.sql")),
    (8, include_str!("../fixtures/rows/08.sql")),
    (9, include_str!("../fixtures/rows/09.sql")),
    (10, include_str!("../fixtures/rows/10.sql")),
    (11, include_str!("../fixtures/rows/11.sql")),
    (12, include_str!("../fixtures/rows/12.sql")),
    (14, include_str!("../fixtures/rows/14.sql")),
];

/// The schemas that landed before this one.
pub fn older() -> &'static [i64] {
    let [older @ .., newest] = &LANDED;
    assert_eq!(
        *newest,
        sql::SCHEMA_VERSION,
        "this schema has no fixture yet"
    );
    older
}

/// The folder of the store of this schema.
pub fn fixture(version: i64) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/schema-{version}"))
}

/// What programs of that time saw of it.
pub fn seen(version: i64) -> serde_json::Value {
    let text = std::fs::read_to_string(fixture(version).join("seen.json")).expect("it is kept");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Puts a store of this schema there, marked as those of tests are, so that the numbered points count in it.
pub fn lay_down(version: i64, path: &Path) {
    std::fs::copy(fixture(version).join("coord.db"), path).expect("a copy");
    let database = Connection::open(path).expect("the copy opens");
    let mark = "INSERT OR REPLACE INTO meta (name, value) VALUES ('purpose', 'test')";
    let rows = ROWS.iter().filter(|(since, _)| *since <= version);
    for text in std::iter::once(mark).chain(rows.map(|(_, text)| *text)) {
        database
            .execute_batch(text)
            .unwrap_or_else(|error| panic!("schema {version}: {error} in {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::TempDir;

    #[test]
    fn no_table_of_any_schema_that_landed_is_empty() {
        for version in LANDED {
            let folder = TempDir::new();
            let path = folder.path().join("coord.db");
            lay_down(version, &path);
            let database = Connection::open(&path).unwrap();
            let count = |text: &str| database.query_row(text, [], |row| row.get::<_, i64>(0));
            let mut tables = database
                .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
                .unwrap();
            let names = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
            for name in names.map(Result::unwrap) {
                // Schema 2 made a place for receipts, and nothing that landed wrote any there.
                let is_known = (version, &*name) == (2, "receipts");
                let rows = count(&format!("SELECT count(*) FROM {name}")).unwrap();
                assert_eq!(rows == 0, is_known, "schema {version}: {name}");
            }
            let kept = count("SELECT count(*) FROM pragma_foreign_key_check").unwrap();
            assert_eq!(
                kept, 0,
                "schema {version}: a row names one that is not there"
            );
        }
    }
}

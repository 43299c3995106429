//! Tables, indexes and views, read from a store that was just made.

use inbox_testkit::sandbox::Sandbox;
use rusqlite::{Connection, OpenFlags};

use super::{page, table};
use crate::INBOX;

const ABOUT: &str = "\
What a SQLite store of this version holds. PostgreSQL has the same tables; where a migration
must differ, it says why at its top. Programs use the [commands](commands.md) and
[their answers](json.md): tables and columns change with the schema, answers do not.

Keys are integers. The public id of a row is its key in Crockford's base32 behind a prefix: thread 7
is `thr_7`. Times are milliseconds since 1970. Words such as a status are numbers of fixed
vocabularies.";

pub(super) fn document() -> String {
    let sandbox = Sandbox::new(INBOX);
    let store = Connection::open_with_flags(sandbox.store(), OpenFlags::SQLITE_OPEN_READ_ONLY)
        .expect("a store can be read");
    let version: i64 = store
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .expect("a store has a version");
    let mut body = format!("Schema version {version}.\n");
    for (name, kind) in objects(&store) {
        match kind.as_str() {
            "table" => {
                body.push_str(&format!("\n## {name}\n\n{}", columns(&store, &name)));
                body.push_str(&indexes(&store, &name));
            }
            _ => body.push_str(&format!(
                "\n## {name} (view)\n\n{}\n",
                column_names(&store, &name).join(", ")
            )),
        }
    }
    page("Schema", ABOUT, &body)
}

fn objects(store: &Connection) -> Vec<(String, String)> {
    let sql = "SELECT name, type FROM sqlite_schema
                WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'
                ORDER BY type, name";
    let mut statement = store.prepare(sql).expect("a catalogue");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).expect("rows")
}

fn columns(store: &Connection, name: &str) -> String {
    let sql = "SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1) ORDER BY cid";
    let mut statement = store.prepare(sql).expect("a catalogue");
    let rows = statement.query_map([name], |row| {
        let (column, kind): (String, String) = (row.get(0)?, row.get(1)?);
        let (is_set, key): (bool, i64) = (row.get(2)?, row.get(3)?);
        Ok(vec![
            format!("`{column}`"),
            kind.to_lowercase(),
            if is_set { "no" } else { "yes" }.to_owned(),
            if key > 0 {
                key.to_string()
            } else {
                String::new()
            },
        ])
    });
    let rows: Vec<_> = rows.and_then(Iterator::collect).expect("rows");
    table(&["column", "type", "null", "key"], rows)
}

fn column_names(store: &Connection, name: &str) -> Vec<String> {
    let sql = "SELECT '`' || name || '`' FROM pragma_table_info(?1) ORDER BY cid";
    let mut statement = store.prepare(sql).expect("a catalogue");
    let rows = statement.query_map([name], |row| row.get(0));
    rows.and_then(Iterator::collect).expect("rows")
}

fn indexes(store: &Connection, name: &str) -> String {
    let sql = "SELECT sql FROM sqlite_schema
                WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL ORDER BY name";
    let mut statement = store.prepare(sql).expect("a catalogue");
    let rows = statement.query_map([name], |row| row.get::<_, String>(0));
    let rows: Vec<String> = rows.and_then(Iterator::collect).expect("rows");
    if rows.is_empty() {
        return String::new();
    }
    format!("\n```sql\n{};\n```\n", rows.join(";\n"))
}

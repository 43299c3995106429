//! Values between Rust and SQLite.

use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::value::{Param, Value};

/// A parameter as SQLite takes it.
pub(super) struct Bound<'a>(pub(super) Param<'a>);

impl rusqlite::ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Param::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Param::Int(value) => ToSqlOutput::Borrowed(ValueRef::Integer(value)),
            Param::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
        })
    }
}

/// A cell as both databases give it.
pub(super) fn value(cell: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Text(bytes) => Value::Text(
            std::str::from_utf8(bytes)
                .map_err(|error| rusqlite::Error::Utf8Error(0, error))?
                .to_owned(),
        ),
        ValueRef::Real(_) | ValueRef::Blob(_) => {
            return Err(rusqlite::Error::InvalidColumnType(
                0,
                String::new(),
                cell.data_type(),
            ));
        }
    })
}

/// The rows of a query, each cell as text.
pub(super) fn look(
    connection: &rusqlite::Connection,
    query: &str,
) -> rusqlite::Result<crate::proof::Rows> {
    let mut statement = connection.prepare(query)?;
    let columns = statement.column_count();
    let shown = |row: &rusqlite::Row<'_>| {
        let cell = |index| {
            Ok(match row.get_ref(index)? {
                ValueRef::Null => None,
                ValueRef::Integer(value) => Some(value.to_string()),
                ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
                other => Some(format!("{other:?}")),
            })
        };
        (0..columns).map(cell).collect()
    };
    statement.query_map([], shown)?.collect()
}

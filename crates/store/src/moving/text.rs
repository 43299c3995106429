//! The statements of a copy, made of the list of tables: the same for each, so they are no files.

use super::tables::{EVENT, Entry, NUMBER, TABLES, Table};
use crate::location::Location;
use crate::sql::{SCHEMA_VERSION, Sql};

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub(super) fn of(location: &Location) -> Self {
        match location {
            Location::File(_) => Engine::Sqlite,
            Location::Postgres(_) => Engine::Postgres,
        }
    }
}

/// A statement for the rest of the process: a driver keeps what it has prepared by name.
pub(super) fn statement(name: &str, text: String) -> &'static Sql {
    let text: &'static str = text.leak();
    Box::leak(Box::new(Sql {
        name: format!("move_{name}").leak(),
        sqlite: text,
        postgres: text,
        reads_log: false,
        is_shared: false,
    }))
}

/// The statements for one table in one database.
pub(super) struct Texts {
    /// Rows after a key, in their order.
    pub(super) select: &'static Sql,
    /// Adds a row in SQLite, and a JSON list of them in PostgreSQL.
    pub(super) insert: &'static Sql,
    /// How many rows there are.
    pub(super) count: &'static Sql,
    /// A row, if there is one.
    pub(super) any: &'static Sql,
    /// The greatest number that was given, where numbers are given.
    pub(super) floor: Option<&'static Sql>,
}

impl Texts {
    pub(super) fn of(table: &Table, engine: Engine) -> Texts {
        let name = table.name;
        let only = table
            .only
            .map_or(String::new(), |only| format!(" WHERE {only}"));
        Texts {
            select: statement(&format!("select_{name}"), select(table, engine)),
            insert: statement(&format!("insert_{name}"), insert(table, engine)),
            count: statement(
                &format!("count_{name}"),
                format!("SELECT COUNT(*) FROM {name} t{only}"),
            ),
            any: statement(
                &format!("any_{name}"),
                format!("SELECT 1 FROM {name} t{only} LIMIT 1"),
            ),
            floor: table
                .identity
                .map(|key| statement(&format!("floor_{name}"), floor(name, key, engine))),
        }
    }
}

fn select(table: &Table, engine: Engine) -> String {
    let may_be_gone = table.entry == Entry::NamedOrGone;
    let expression = |column: &&str| match (*column, engine) {
        (EVENT, Engine::Sqlite) if may_be_gone => "t.entry_no".to_owned(),
        (NUMBER, Engine::Sqlite) if may_be_gone => {
            "COALESCE(e.message_no, e.entry_no, -t.entry_no)".to_owned()
        }
        (EVENT, Engine::Postgres) if may_be_gone => {
            "COALESCE(e.event_id, GREATEST(-t.entry_no, 0))".to_owned()
        }
        (NUMBER, Engine::Postgres) if may_be_gone => {
            "COALESCE(e.entry_no, n.entry_no, LEAST(t.entry_no, 0))".to_owned()
        }
        (EVENT, Engine::Sqlite) => "e.entry_no".to_owned(),
        (EVENT, Engine::Postgres) => "e.event_id".to_owned(),
        (NUMBER, Engine::Sqlite) => "COALESCE(e.message_no, e.entry_no)".to_owned(),
        (NUMBER, Engine::Postgres) => "e.entry_no".to_owned(),
        (column, _) if table.entry == Entry::Own => format!("e.{column}"),
        (column, _) => format!("t.{column}"),
    };
    let listed = |columns: &[&str]| {
        columns
            .iter()
            .map(expression)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let name = table.name;
    let first = expression(&table.key[0]);
    let is_by_event = table.key[0] == EVENT;
    // SQLite joins in the order in which a cross join is written: what gives the order comes first.
    let (from, joined) = match table.entry {
        Entry::None => (format!("{name} t"), ""),
        Entry::Own => (format!("{name} e"), ""),
        Entry::NamedOrGone => {
            let by_key = format!("{name} t LEFT JOIN entries e ON e.entry_no = t.entry_no");
            // Whether one that is named by its event is still there: SQLite does not tell the two apart.
            let by_event = match engine {
                Engine::Sqlite => "",
                Engine::Postgres => " LEFT JOIN entries n ON n.event_id = -t.entry_no",
            };
            (by_key + by_event, "")
        }
        _ if is_by_event => (
            format!("entries e CROSS JOIN {name} t"),
            "t.entry_no = e.entry_no AND ",
        ),
        _ => (
            format!("{name} t CROSS JOIN entries e"),
            "e.entry_no = t.entry_no AND ",
        ),
    };
    let params = |from: usize| {
        let list = (from..=table.key.len()).map(|number| format!("${number}"));
        list.collect::<Vec<_>>().join(", ")
    };
    let after = match table.key {
        [_] => format!("{first} > $1"),
        [_, rest @ ..] if is_by_event => format!(
            "{first} >= $1 AND ({first} > $1 OR ({}) > ({}))",
            listed(rest),
            params(2)
        ),
        all => format!("({}) > ({})", listed(all), params(1)),
    };
    let only = table
        .only
        .map_or(String::new(), |only| format!(" AND {only}"));
    format!(
        "SELECT {} FROM {from} WHERE {joined}{after}{only} ORDER BY {} LIMIT ${}",
        listed(&table.names()),
        listed(table.key),
        table.key.len() + 1
    )
}

/// The columns of a row as one database keeps it.
pub(super) fn kept(table: &Table, engine: Engine) -> Vec<&'static str> {
    let numbers: &[&'static str] = match (table.entry, engine) {
        (Entry::None, _) => &[],
        (Entry::Own, Engine::Sqlite) => &["entry_no", "message_no"],
        (Entry::Own | Entry::NamedWithEvent, Engine::Postgres) => &["entry_no", "event_id"],
        _ => &["entry_no"],
    };
    [numbers, table.columns].concat()
}

fn insert(table: &Table, engine: Engine) -> String {
    let name = table.name;
    match engine {
        // One statement for many rows, because each is a round trip. JSON has neither more nor less than
        // numbers, texts and nothing.
        Engine::Postgres => {
            let columns = kept(table, engine).join(", ");
            format!(
                "INSERT INTO {name} ({columns}) SELECT {columns} \
                 FROM json_populate_recordset(CAST(NULL AS {name}), CAST(CAST($1 AS TEXT) AS JSON))"
            )
        }
        Engine::Sqlite => {
            let columns = kept(table, engine);
            let params: Vec<_> = (1..=columns.len()).map(|n| format!("${n}")).collect();
            format!(
                "INSERT INTO {name} ({}) VALUES ({})",
                columns.join(", "),
                params.join(", ")
            )
        }
    }
}

fn floor(name: &str, key: &str, engine: Engine) -> String {
    match (name, engine) {
        (_, Engine::Postgres) => format!(
            "SELECT GREATEST((SELECT COALESCE(MAX({key}), 0) FROM {name}), \
             COALESCE(pg_sequence_last_value(CAST(pg_get_serial_sequence('{name}', '{key}') AS regclass)), 0))"
        ),
        ("entries", Engine::Sqlite) => {
            "SELECT MAX(COALESCE(MAX(entry_no), 0), COALESCE((SELECT MAX(message_no) FROM entries WHERE message_no IS NOT NULL), 0)) \
             FROM entries"
                .to_owned()
        }
        (_, Engine::Sqlite) => format!("SELECT COALESCE(MAX({key}), 0) FROM {name}"),
    }
}

/// Lets a sequence go on after a number.
pub(super) fn continue_after(table: &Table) -> Option<&'static Sql> {
    let (name, key) = (table.name, table.identity?);
    let text = format!("SELECT setval(pg_get_serial_sequence('{name}', '{key}'), $1)");
    Some(statement(&format!("continue_{name}"), text))
}

/// Tells the planner what a table holds now.
pub(super) fn analyze(table: &Table) -> &'static Sql {
    let name = table.name;
    statement(&format!("analyze_{name}"), format!("ANALYZE {name}"))
}

/// Empties the tables: what others refer to comes last.
pub(super) fn clear(engine: Engine) -> Vec<&'static Sql> {
    let delete = |table: &Table| match table.only {
        None => format!("DELETE FROM {}", table.name),
        Some(only) => format!("DELETE FROM {} AS t WHERE {only}", table.name),
    };
    let whole: Vec<_> = TABLES.iter().filter(|table| table.only.is_none()).collect();
    let texts: Vec<String> = match engine {
        Engine::Sqlite => TABLES.iter().rev().map(delete).collect(),
        Engine::Postgres => {
            let names: Vec<_> = whole.iter().map(|table| table.name).collect();
            let truncate = format!("TRUNCATE {}", names.join(", "));
            let rest = TABLES.iter().filter(|table| table.only.is_some());
            std::iter::once(truncate).chain(rest.map(delete)).collect()
        }
    };
    let named = |(n, text)| statement(&format!("clear_{n}"), text);
    texts.into_iter().enumerate().map(named).collect()
}

/// Sets the version of the schema: a negative one keeps everybody else out.
pub(super) fn set_version(engine: Engine, is_moving: bool) -> &'static Sql {
    let version = if is_moving {
        -SCHEMA_VERSION
    } else {
        SCHEMA_VERSION
    };
    let text = match engine {
        Engine::Sqlite => format!("PRAGMA user_version = {version}"),
        Engine::Postgres => {
            format!("UPDATE meta SET value = '{version}' WHERE name = 'schema_version'")
        }
    };
    statement(&format!("version_{is_moving}"), text)
}

/// Puts a row of `meta` in place of one that says something known. Whether it did.
pub(super) fn advance() -> &'static Sql {
    let text =
        "UPDATE meta SET value = $1 WHERE name = 'moving' AND value = $2 RETURNING name".to_owned();
    statement("advance", text)
}

/// Removes the note of a copy that says something known. Whether it did.
pub(super) fn close() -> &'static Sql {
    let text = "DELETE FROM meta WHERE name = 'moving' AND value = $1 RETURNING name".to_owned();
    statement("close", text)
}

/// Pages are read along an index, also before PostgreSQL has looked at tables that were just filled.
pub(super) fn along_indexes() -> &'static Sql {
    let off: Vec<_> = ["seqscan", "hashjoin", "mergejoin", "bitmapscan"]
        .iter()
        .map(|what| format!("set_config('enable_{what}', 'off', true)"))
        .collect();
    statement("settings", format!("SELECT {}", off.join(", ")))
}

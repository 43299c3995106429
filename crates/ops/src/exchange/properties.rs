//! Databases of other programs that are damaged in any way: every message is taken or refused by its place, and nothing panics.

use std::path::PathBuf;

use inbox_store::foreign::Foreign;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{PROBLEM, Source, Tables, decode_tables};
use crate::damage::{cases, damaged, damaged_text};

/// The database that the real program wrote.
fn path(source: Source) -> PathBuf {
    let file = match source {
        Source::Hcom => "hcom/hcom.db",
        _ => "agent_mail/storage.sqlite3",
    };
    [env!("CARGO_MANIFEST_DIR"), "../testkit/foreign", file]
        .iter()
        .collect()
}

fn sources() -> impl Strategy<Value = Source> {
    prop_oneof![Just(Source::Hcom), Just(Source::AgentMail)]
}

fn rows(source: Source) -> Tables {
    let foreign = Foreign::open(&path(source)).expect("it opens");
    foreign.rows(source.tables()).expect("it is read")
}

/// Whether a row is a message, for all that can be known of it.
fn is_message(source: Source, table: &str, row: &serde_json::Map<String, Value>) -> bool {
    match source {
        Source::Hcom => table == "events" && row.get("type") == Some(&json!("message")),
        _ => table == "messages",
    }
}

/// What a cell may hold in the place of what it held.
fn cell() -> impl Strategy<Value = Value> {
    let texts = vec![
        r#"{"from":"dove","text":"hello","scope":"mentions","mentions":["silo"],"intent":"ack","reply_to":"7"}"#,
        "2026-11-15T11:23:56.031Z",
        "2026-11-15 11:23:56.031",
        "thread-1",
    ];
    prop_oneof![
        2 => Just(Value::Null),
        2 => any::<i64>().prop_map(Value::from),
        2 => (-3_i64..20).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        4 => damaged_text(texts).prop_map(Value::from),
    ]
}

/// A change of a table: a cell is another, a column or a row is gone, a row is there twice.
type Change = (u8, Index, Index, Index, Value);

fn changed(mut tables: Tables, (kind, table, row, column, value): Change) -> Tables {
    let names: Vec<String> = tables.keys().cloned().collect();
    let Some(rows) = tables.get_mut(table.get(&names)) else {
        return tables;
    };
    if rows.is_empty() {
        return tables;
    }
    let at = row.index(rows.len());
    let columns: Vec<String> = rows[at].keys().cloned().collect();
    match kind % 8 {
        0 => drop(rows.remove(at)),
        1 => rows.push(rows[at].clone()),
        2 if !columns.is_empty() => drop(rows[at].remove(column.get(&columns))),
        _ if !columns.is_empty() => {
            rows[at].insert(column.get(&columns).clone(), value);
        }
        _ => {}
    }
    tables
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn every_message_of_a_damaged_database_is_taken_or_named_by_its_place(
        source in sources(),
        changes in prop::collection::vec(
            (any::<u8>(), any::<Index>(), any::<Index>(), any::<Index>(), cell()), 0..8,
        ),
    ) {
        let tables = changes.into_iter().fold(rows(source), changed);
        let batch = decode_tables(source, &tables);
        prop_assert_eq!(&batch, &decode_tables(source, &tables));
        let count: usize = tables
            .iter()
            .map(|(table, rows)| rows.iter().filter(|row| is_message(source, table, row)).count())
            .sum();
        prop_assert_eq!(batch.messages.len() + batch.bad.len(), count, "{:?}", batch.bad);
        for bad in &batch.bad {
            prop_assert!(!bad.place.is_empty() && !bad.problem.is_empty(), "{:?}", bad);
            prop_assert!(bad.problem.chars().count() <= PROBLEM + 1, "{:?}", bad);
        }
        for message in &batch.messages {
            prop_assert!(!message.place.is_empty() && !message.uid.is_empty(), "{:?}", message);
        }
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_file_of_another_program_that_is_damaged_is_read_as_far_as_it_can_or_refused(
        (source, bytes) in sources().prop_flat_map(|source| {
            let whole = std::fs::read(path(source)).expect("it is read");
            (Just(source), damaged(vec![whole]))
        }),
    ) {
        let folder = std::env::temp_dir().join(format!("inbox-foreign-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("damaged.db");
        std::fs::write(&file, &bytes).expect("it is written");
        let found = Foreign::open(&file).and_then(|foreign| foreign.rows(source.tables()));
        std::fs::remove_dir_all(&folder).expect("it is removed");
        match found {
            Ok(tables) => {
                let batch = decode_tables(source, &tables);
                prop_assert!(batch.bad.iter().all(|bad| !bad.place.is_empty()));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

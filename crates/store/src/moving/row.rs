//! Rows on their way: read with numbers that mean the same in both databases, kept as each of them keeps them.

use inbox_core::record::{Millis, message_uid};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::tables::{Entry, Table};
use super::text::{Engine, Texts, kept};
use crate::driver::Driver;
use crate::error::StoreError;
use crate::value::{Param, Value};

/// How large a batch grows, in bytes and in rows.
const BYTES: usize = 4 << 20;
const ROWS: i64 = 4096;

/// A row whose first two columns are the numbers of its event and of its message, where it has to do with one.
pub(super) type Line = Vec<Value>;

/// What a hash of a row is.
pub(super) type Sum = [u8; 32];

/// A part of a key, as the note of a copy keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Part {
    Int(i64),
    Text(String),
}

/// Before the first row: numbers begin at 0, and no text of a key is empty.
pub(super) fn start(table: &Table) -> Vec<Part> {
    let part = |column: &&str| match *column {
        "name" | "key" => Part::Text(String::new()),
        _ => Part::Int(-1),
    };
    table.key.iter().map(part).collect()
}

/// The key of a row.
pub(super) fn key(table: &Table, line: &[Value]) -> Vec<Part> {
    let part = |column: &&str| match table.place(column).and_then(|place| line.get(place)) {
        Some(Value::Int(number)) => Part::Int(*number),
        Some(Value::Text(text)) => Part::Text(text.clone()),
        Some(Value::Null) | None => Part::Int(-1),
    };
    table.key.iter().map(part).collect()
}

/// Rows after a key, in their order.
pub(super) fn page(
    driver: &mut dyn Driver,
    table: &Table,
    texts: &Texts,
    after: &[Part],
    limit: i64,
) -> Result<Vec<Line>, StoreError> {
    let mut params: Vec<Param<'_>> = after
        .iter()
        .map(|part| match part {
            Part::Int(number) => Param::Int(*number),
            Part::Text(text) => Param::Text(text),
        })
        .collect();
    params.push(limit.into());
    let rows = driver.query(texts.select, &params)?;
    let mut lines: Vec<Line> = rows
        .into_iter()
        .map(crate::value::Row::into_values)
        .collect();
    if table.entry == Entry::Own {
        for line in &mut lines {
            if let Some(made) = made_uid(table, line)
                && let Some(uid) = uid_place(table, line)
                && *uid == Value::Text(made)
            {
                *uid = Value::Null;
            }
        }
    }
    Ok(lines)
}

fn uid_place<'a>(table: &Table, line: &'a mut Line) -> Option<&'a mut Value> {
    line.get_mut(table.place("uid")?)
}

/// The UUID that an entry has by its number, unless it came with one: nothing where it is no message.
fn made_uid(table: &Table, line: &[Value]) -> Option<String> {
    let number = |column: &str| match line.get(table.place(column)?) {
        Some(Value::Int(number)) => Some(*number),
        _ => None,
    };
    number("kind")?;
    let created_at = Millis(number("created_at")?);
    Some(message_uid(
        created_at,
        number(super::tables::NUMBER)?,
        number("uid_random")?,
    ))
}

/// A row as a database keeps it.
fn placed(table: &Table, engine: Engine, mut line: Line) -> Line {
    if table.entry == Entry::None {
        return line;
    }
    let made = (table.entry == Entry::Own).then(|| made_uid(table, &line));
    if let Some(Some(made)) = made
        && engine == Engine::Sqlite
        && line[0] != line[1]
        && let Some(uid @ Value::Null) = uid_place(table, &mut line)
    {
        // Its key is not what its UUID is made of.
        *uid = Value::Text(made);
    }
    let (event, number) = (line[0].clone(), line[1].clone());
    let rest = line.split_off(2);
    let mut numbers = match (table.entry, engine) {
        (Entry::Own, Engine::Sqlite) if event == number => vec![event, Value::Null],
        (Entry::Own, Engine::Sqlite) => vec![event, number],
        (_, Engine::Sqlite) => vec![event],
        (Entry::Own | Entry::NamedWithEvent, Engine::Postgres) => vec![number, event],
        (_, Engine::Postgres) => vec![number],
    };
    numbers.extend(rest);
    numbers
}

/// Adds rows, within the transaction that has begun.
pub(super) fn add(
    driver: &mut dyn Driver,
    table: &Table,
    engine: Engine,
    texts: &Texts,
    lines: Vec<Line>,
) -> Result<(), StoreError> {
    let lines = lines.into_iter().map(|line| placed(table, engine, line));
    match engine {
        Engine::Sqlite => {
            for line in lines {
                let params: Vec<Param<'_>> = line.iter().map(param).collect();
                driver.query(texts.insert, &params)?;
            }
        }
        Engine::Postgres => {
            let columns = kept(table, engine);
            let object = |line: Line| -> serde_json::Map<String, serde_json::Value> {
                let cells = columns.iter().zip(line);
                cells
                    .filter_map(|(column, value)| Some(((*column).to_owned(), json(value)?)))
                    .collect()
            };
            let list: Vec<_> = lines.map(object).collect();
            let text = serde_json::to_string(&list)
                .map_err(|error| StoreError::Database(error.to_string()))?;
            driver.query(texts.insert, &[text.as_str().into()])?;
        }
    }
    Ok(())
}

fn param(value: &Value) -> Param<'_> {
    match value {
        Value::Null => Param::Null,
        Value::Int(number) => Param::Int(*number),
        Value::Text(text) => Param::Text(text),
    }
}

fn json(value: Value) -> Option<serde_json::Value> {
    match value {
        Value::Null => None,
        Value::Int(number) => Some(number.into()),
        Value::Text(text) => Some(text.into()),
    }
}

/// The hash of a row: of each column its sort, its length and its content, so that no two rows read alike.
pub(super) fn sum(line: &[Value]) -> Sum {
    let mut hash = Sha256::new();
    for value in line {
        match value {
            Value::Null => hash.update([0]),
            Value::Int(number) => {
                hash.update([1]);
                hash.update(number.to_be_bytes());
            }
            Value::Text(text) => {
                hash.update([2]);
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text.as_bytes());
            }
        }
    }
    hash.finalize().into()
}

/// How many rows to take next: few at first, then as many as make a good batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace(pub(super) i64);

impl Pace {
    pub(super) fn new() -> Self {
        Pace(64)
    }

    pub(super) fn learn(&mut self, lines: &[Line]) {
        let size = |value: &Value| match value {
            Value::Text(text) => text.len() + 8,
            _ => 8,
        };
        let bytes: usize = lines.iter().flatten().map(size).sum();
        self.0 = if bytes > BYTES {
            (self.0 / 2).max(1)
        } else if bytes < BYTES / 4 {
            (self.0 * 2).min(ROWS)
        } else {
            self.0
        };
    }
}

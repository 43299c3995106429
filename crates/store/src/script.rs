//! The migrations as plain SQL, for those who apply them themselves.

use crate::error::StoreError;
use crate::location::Location;
use crate::sql::{MIGRATIONS, Migration};
use crate::{postgres, sqlite};

/// One migration as a program that knows nothing of inbox can run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The schema's version once it has been applied.
    pub version: i64,
    /// The name of its file.
    pub name: String,
    /// The statements. They end in what tells inbox that they were applied.
    pub sql: String,
}

/// Every migration of a store at this place, which is neither looked for nor made.
pub fn scripts(location: &Location) -> Result<Vec<Script>, StoreError> {
    let schema = match location {
        Location::File(_) => None,
        Location::Postgres(url) => Some(postgres::schema_of(url)?),
    };
    let script = |step: &Migration| Script {
        version: step.version,
        name: format!("{}.sql", step.name),
        sql: match &schema {
            None => for_sqlite(step),
            Some(schema) => for_postgres(step, schema),
        },
    };
    Ok(MIGRATIONS.iter().map(script).collect())
}

/// In one transaction. Only the first is preceded by what SQLite does outside of one.
fn for_sqlite(step: &Migration) -> String {
    let first = match step.version {
        1 => format!(
            "PRAGMA journal_mode = WAL;\nPRAGMA application_id = {};\n",
            sqlite::APPLICATION_ID
        ),
        _ => String::new(),
    };
    format!(
        "{first}BEGIN IMMEDIATE;\n{}\nPRAGMA user_version = {};\nCOMMIT;\n",
        step.sqlite.trim_end(),
        step.version
    )
}

/// Without a transaction of its own, because programs that apply migrations begin one.
fn for_postgres(step: &Migration, schema: &str) -> String {
    let first = match step.version {
        1 => format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\";\n"),
        _ => String::new(),
    };
    format!(
        "{first}SET search_path = \"{schema}\", pg_temp;\n{}\n{};\nRESET search_path;\n",
        step.postgres.trim_end(),
        step.recorded()
    )
}

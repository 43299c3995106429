//! A plain SQL client of either database, which knows nothing of inbox but the view.

use inbox_testkit::cluster::{Cluster, shared};
use inbox_testkit::sandbox::Sandbox;
use rusqlite::Connection;
use serde_json::Value;

use super::desk::Desk;
use crate::INBOX;

/// A store and a client of its database that knows nothing of inbox.
pub(super) enum Client {
    File(Connection),
    Server(&'static Cluster, String),
}

pub(super) struct Table {
    pub(super) desk: Desk,
    pub(super) client: Client,
}

impl Table {
    pub(super) fn of_sqlite() -> Self {
        let desk = Desk::new();
        let client = Connection::open(desk.inbox.store()).unwrap();
        client
            .busy_timeout(std::time::Duration::from_secs(20))
            .unwrap();
        Table {
            desk,
            client: Client::File(client),
        }
    }

    pub(super) fn of_postgres() -> Self {
        let cluster = shared();
        let url = cluster.fresh_url();
        let schema = url.rsplit('=').next().unwrap().to_owned();
        let inbox = Sandbox::at(INBOX, url);
        Table {
            desk: Desk { inbox },
            client: Client::Server(cluster, schema),
        }
    }

    /// Runs a statement; rows have their columns divided by `|`. What is refused is an error.
    pub(super) fn sql(&self, sql: &str) -> Result<String, String> {
        match &self.client {
            Client::File(client) => rows(client, sql).map_err(|error| error.to_string()),
            Client::Server(cluster, schema) => {
                let sql = format!("SET search_path TO {schema}; {sql}");
                // The harness of the cluster panics where psql refuses.
                std::panic::catch_unwind(|| cluster.psql(&sql)).map_err(|panic| {
                    panic
                        .downcast_ref::<String>()
                        .cloned()
                        .unwrap_or_else(|| "refused".to_owned())
                })
            }
        }
    }

    #[track_caller]
    pub(super) fn get(&self, sql: &str) -> String {
        self.sql(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Inserts a message with these columns over the plain ones.
    #[track_caller]
    pub(super) fn insert(&self, subject: &str, columns: &str, values: &str) {
        self.get(&format!(
            "INSERT INTO inbox (to_agent, from_agent, message_type, subject{columns}) \
             VALUES ('backend', 'reviewer', 'fyi', '{subject}'{values})"
        ));
    }

    #[track_caller]
    pub(super) fn letters(&self) -> Vec<Value> {
        let dead = self.desk.ok("dead-letters");
        dead["letters"].as_array().unwrap().clone()
    }
}

/// The rows of a statement, their columns divided by `|`.
pub(super) fn rows(client: &Connection, sql: &str) -> rusqlite::Result<String> {
    let mut statement = client.prepare(sql)?;
    let width = statement.column_count();
    let mut rows = statement.query([])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Vec::new();
        for n in 0..width {
            cells.push(match row.get_ref(n)? {
                rusqlite::types::ValueRef::Null => String::new(),
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                rusqlite::types::ValueRef::Real(number) => number.to_string(),
                rusqlite::types::ValueRef::Text(text) | rusqlite::types::ValueRef::Blob(text) => {
                    String::from_utf8_lossy(text).into_owned()
                }
            });
        }
        lines.push(cells.join("|"));
    }
    Ok(lines.join("\n"))
}

/// What holds on both.
pub(super) fn both(check: impl Fn(&Table)) {
    check(&Table::of_sqlite());
    check(&Table::of_postgres());
}

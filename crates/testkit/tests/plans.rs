//! No statement reads a whole table that grows with every message, but for those that are named here and say why: what a page or
//! a command costs may not grow with how much was ever said. It goes by the plans of both databases, and needs no large store.

use std::collections::{BTreeMap, BTreeSet};

use inbox_store::{Location, sql};
use inbox_testkit::cluster;
use inbox_testkit::crowd::{self, Size};
use inbox_testkit::world::World;

/// The tables that grow with messages.
const LARGE: [&str; 5] = ["threads", "entries", "deliveries", "receipts", "recipients"];

/// Statements that go through one of them, each with the reason why it may.
const MAY: &[(&str, &str)] = &[
    ("newest_event", "the last of them alone"),
    ("newest_entry", "the last of them alone"),
    ("insert_entry", "the last of them alone"),
    ("entry_by_made_uid", "the last of them, and one in 1,024"),
    ("conclude", "the last of them alone"),
    (
        "insert_agent",
        "what refers to it, where a check was put off",
    ),
    (
        "insert_address",
        "what refers to it, where a check was put off",
    ),
    (
        "steps_of_run",
        "a person asks for one run, and threads are few beside messages",
    ),
    (
        "work_of_run",
        "a person asks for one run, and threads are few beside messages",
    ),
    ("receipts_since", "a copy of all"),
    ("archivable", "what is put away now and then"),
    ("count_messages", "what is put away now and then"),
    ("settle_replays", "what is put away now and then"),
    ("counts", "doctor counts all"),
];

/// Indexes that have a small part of their table, and may be gone through.
const SMALL: [&str; 6] = [
    "recipients_queued",
    "recipients_held",
    "entries_unnumbered",
    "deliveries_unprocessed",
    "deliveries_by_expiry",
    "threads_by_ref",
];

fn may(name: &str) -> bool {
    MAY.iter().any(|(known, _)| *known == name)
}

/// The tables and indexes that a statement goes through from one end, by SQLite's program for it.
fn scanned(database: &rusqlite::Connection, text: &str) -> rusqlite::Result<BTreeSet<String>> {
    let mut names = BTreeMap::new();
    let mut schema = database.prepare("SELECT rootpage, tbl_name, name FROM sqlite_schema")?;
    let mut rows = schema.query([])?;
    while let Some(row) = rows.next()? {
        let (root, table, name): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        names.insert(root, (table, name));
    }
    let mut program = database.prepare(&format!("EXPLAIN {text}"))?;
    let mut cursors: BTreeMap<i64, (String, String)> = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut steps = program.raw_query();
    while let Some(step) = steps.next()? {
        let (code, p1, p2): (String, i64, i64) = (step.get(1)?, step.get(2)?, step.get(3)?);
        match code.as_str() {
            "OpenRead" | "OpenWrite" => {
                if let Some(of) = names.get(&p2) {
                    cursors.insert(p1, of.clone());
                }
            }
            "Rewind" | "Last" => {
                if let Some((table, name)) = cursors.get(&p1)
                    && LARGE.contains(&table.as_str())
                    && !SMALL.contains(&name.as_str())
                {
                    found.insert(name.clone());
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

#[test]
fn no_statement_reads_a_large_table_whole_in_sqlite() {
    let world = World::sqlite();
    let Location::File(path) = world.location() else {
        panic!("a file")
    };
    let database = rusqlite::Connection::open(path).expect("it opens");
    let mut wrong = Vec::new();
    for statement in sql::ALL.iter().filter(|it| !it.sqlite.is_empty()) {
        let found = scanned(&database, statement.sqlite).expect("it has a plan");
        if !found.is_empty() && !may(statement.name) {
            wrong.push(format!("{}: {found:?}", statement.name));
        }
        assert!(
            !found.is_empty() || !may(statement.name),
            "{} reads no table whole any more: take it off the list",
            statement.name
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The large table that a line of a plan goes through, if nothing in the next line says for what.
fn walked(line: &str) -> Option<&'static str> {
    let (how, table) = line.split_once(" on ")?;
    let table = table.split_whitespace().next()?;
    let small = SMALL.iter().any(|index| how.ends_with(index));
    let is_walk =
        how.contains("Seq Scan") || (how.contains("Scan") && how.contains(" using ") && !small);
    LARGE.into_iter().find(|large| is_walk && *large == table)
}

#[test]
fn no_statement_reads_a_large_table_whole_in_postgres() {
    // Where a join begins depends on how large the tables are.
    let source = World::sqlite();
    crowd::fill(source.location(), Size::SMALL).expect("a busy store");
    let url = cluster::shared().fresh_url();
    let schema = url.split("schema=").nth(1).expect("a schema");
    let there = Location::parse(&url);
    inbox_store::move_store(source.location(), &there, &mut |_| (), &mut || Ok(()))
        .expect("it moves");
    cluster::shared().psql("ANALYZE");
    let mut wrong = Vec::new();
    let plans = |statements: &[&sql::Sql]| {
        // Small tables are read whole because they are small; so it has to be forbidden, and only what has no index does it then.
        let mut script = format!(
            "SET search_path = \"{schema}\"; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
             SET random_page_cost = 1.1; SET plan_cache_mode = force_generic_plan;"
        );
        for statement in statements {
            let text = statement.postgres.trim().trim_end_matches(';');
            let count = (1..100)
                .rev()
                .find(|number| text.contains(&format!("${number}")))
                .unwrap_or(0);
            let nothing = vec!["NULL"; count].join(", ");
            let arguments = if count == 0 {
                String::new()
            } else {
                format!("({nothing})")
            };
            let name = statement.name;
            script.push_str(&format!(
                "\nPREPARE \"{name}\" AS {text}\n; SELECT '== {name}'; EXPLAIN EXECUTE \"{name}\"{arguments};"
            ));
        }
        cluster::shared().psql(&script)
    };
    let is_query = |statement: &&&sql::Sql| {
        let mut lines = statement.postgres.lines();
        let first = lines.find(|line| !line.starts_with("--"));
        let first = first.unwrap_or_default().trim();
        ["WITH", "SELECT", "UPDATE", "INSERT", "DELETE"]
            .iter()
            .any(|word| first.starts_with(word))
    };
    let all: Vec<&sql::Sql> = sql::ALL.iter().filter(is_query).copied().collect();
    for some in all.chunks(30) {
        let mut name = String::new();
        let text = plans(some);
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(next) = line.strip_prefix("== ") {
                next.clone_into(&mut name);
            }
            // What an index is asked for follows its line; without that, it is walked from end to end.
            let is_asked = lines.peek().is_some_and(|next| next.contains("Cond: "));
            if let Some(table) = walked(line).filter(|_| !is_asked && !may(&name)) {
                wrong.push(format!("{name}: {table}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

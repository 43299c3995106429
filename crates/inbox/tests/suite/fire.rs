//! Correct under fire: races, stopped workers, kills, load, wakes and readers, with real processes.

mod clock;
mod crash;
mod fail_point;
mod gate;
mod migrate;
mod order;
mod pooler;
mod postgres;
mod race;
mod readers;
mod upgrade;
mod wake;
mod wake_postgres;
mod zombie;

use std::fs::File;
use std::path::Path;
use std::process::Child;

use inbox_core::AgentName;
use inbox_ops::{Caller, Inbox};
use inbox_store::{Location, Store};
use inbox_testkit::sandbox::{Outcome, Sandbox, words};
use inbox_torture::child::{self, Leashed};
use inbox_torture::{Broken, Dice};
use rustix::process::Signal;

/// Held by a test that needs the machine for itself: the others wait. A file and not a mutex, because
/// some runners give each test a process of its own.
pub(crate) struct Alone(#[expect(dead_code, reason = "it is held for its lock")] File);

pub(crate) fn alone() -> Alone {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fire.lock");
    let file = File::create(path).expect("the folder for tests can be written");
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).expect("flock works");
    Alone(file)
}

/// Looks until there is something, and says what was expected when there never is.
#[track_caller]
fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    held(child::eventually(what, look))
}

/// What must not be broken.
#[track_caller]
fn held<T>(outcome: Result<T, Broken>) -> T {
    outcome.unwrap_or_else(|broken| panic!("{broken}"))
}

/// Starts a command.
#[track_caller]
fn start(inbox: &Sandbox, args: &[String]) -> Leashed {
    Leashed(inbox.spawn(args))
}

/// The outcome of a process that must end.
#[track_caller]
fn ends(child: Leashed) -> Outcome {
    let ended = held(child::ends(child));
    Outcome {
        code: ended.code,
        stdout: ended.stdout,
        stderr: ended.stderr,
    }
}

/// Opens a thread and gives its id.
#[track_caller]
fn open(inbox: &Sandbox, to: &str, subject: &str) -> String {
    let line = format!("send --from lead --to {to} --subject {subject}");
    let sent = inbox.run(words(&line)).ok();
    text(&sent["thread"]["thread_id"])
}

/// Claims a thread and gives the token.
#[track_caller]
fn claim(inbox: &Sandbox, agent: &str, thread: &str, seconds: u32) -> String {
    let line = format!("claim --agent {agent} --thread {thread} --lease-seconds {seconds}");
    let claimed = inbox.run(words(&line)).ok();
    text(&claimed["lease"]["lease_token"])
}

/// Waits until the lease of a thread has run out and anybody may take it.
#[track_caller]
fn lapses(inbox: &Sandbox, agent: &str, thread: &str) {
    eventually("the lease runs out", || {
        let found = inbox.run(words(&format!("fetch --agent {agent}")));
        (found.code == 0 && found.stdout.contains(&format!("{thread:?}"))).then_some(())
    });
}

#[track_caller]
fn text(value: &serde_json::Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The store of a sandbox, opened in this process.
fn in_process(location: &Location) -> Inbox {
    Inbox::new(Store::open(location).expect("the store opens"))
}

fn caller(name: &str) -> Caller {
    Caller::local(Some(name.parse::<AgentName>().expect("a name")))
}

/// Every row of every table.
fn dump(store: &Path) -> Vec<String> {
    let reader = reader(store);
    let tables = rows(
        &reader,
        "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
    );
    tables
        .iter()
        .flat_map(|row| {
            let table = row.trim_matches('|');
            rows(&reader, &format!("SELECT * FROM {table}"))
                .into_iter()
                .map(move |row| format!("{table}: {row}"))
        })
        .collect()
}

fn reader(store: &Path) -> rusqlite::Connection {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    rusqlite::Connection::open_with_flags(store, flags).expect("the file opens")
}

/// The rows of a query, columns divided by bars.
fn rows(reader: &rusqlite::Connection, sql: &str) -> Vec<String> {
    let mut statement = reader.prepare(sql).expect("the statement is SQL");
    let columns = statement.column_count();
    let shown = |row: &rusqlite::Row<'_>| {
        (0..columns)
            .map(|index| {
                Ok(match row.get_ref(index)? {
                    rusqlite::types::ValueRef::Text(bytes) => {
                        String::from_utf8_lossy(bytes).into_owned()
                    }
                    other => format!("{other:?}"),
                })
            })
            .collect::<rusqlite::Result<Vec<_>>>()
            .map(|cells| format!("|{}|", cells.join("|")))
    };
    let found = statement.query_map([], shown).expect("the query runs");
    found
        .collect::<rusqlite::Result<_>>()
        .expect("the rows are read")
}

/// A number from the file.
fn count(store: &Path, sql: &str) -> i64 {
    reader(store)
        .query_row(sql, [], |row| row.get(0))
        .expect("the query gives a number")
}

/// Sends a signal to a child.
#[track_caller]
fn signal(child: &Child, signal: Signal) {
    held(child::signal(child, signal));
}

/// Stops a child as Ctrl-Z does, and waits until it stands still.
#[track_caller]
fn stop(child: &Child) {
    held(child::stop(child));
}

#[track_caller]
fn go_on(child: &Child) {
    held(child::go_on(child));
}

/// Dice whose seed is told. `INBOX_TEST_SEED` makes a failed run come again.
fn thrown() -> Dice {
    let seed = std::env::var("INBOX_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| {
            let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
            since.map_or(1, |since| since.as_secs() ^ u64::from(since.subsec_nanos()))
        });
    println!("INBOX_TEST_SEED={seed}");
    Dice::new(seed)
}

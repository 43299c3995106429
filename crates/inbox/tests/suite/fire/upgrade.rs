//! Stores of older schemas in PostgreSQL: they are brought up to date while others read, and whoever is
//! killed on the way leaves a step done or not begun.

mod beside;
mod killed;

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use inbox_core::EventId;
use inbox_ops::{Caller, Inbox, List, Operation, Show, Watch};
use inbox_store::{Location, sql};
use inbox_testkit::cluster::shared;
use inbox_testkit::old;
use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::{ends, eventually, in_process, reader, rows, signal, start, words};
use crate::INBOX;

/// A store of an older schema, made from the rows of a file of that schema.
struct Old {
    url: String,
    schema: String,
    version: i64,
    /// What programs saw of it then.
    seen: Value,
    /// What puts its rows there.
    rows: String,
}

impl Old {
    /// The store of this schema that is kept.
    fn of(version: i64) -> Self {
        let mut old = Old::empty(version);
        let database = std::env::temp_dir().join(format!("{}.db", old.schema));
        old::lay_down(version, &database);
        old.rows = old.rows_of(&database);
        std::fs::remove_file(&database).unwrap();
        old.psql(&old.rows);
        old
    }

    /// The same once more.
    fn again(&self) -> Self {
        let mut old = Old::empty(self.version);
        old.rows.clone_from(&self.rows);
        old.psql(&old.rows);
        old
    }

    fn empty(version: i64) -> Self {
        let url = shared().fresh_url();
        let schema = url.rsplit('=').next().unwrap().to_owned();
        let old = Old {
            url,
            schema,
            version,
            seen: old::seen(version),
            rows: String::new(),
        };
        shared().psql(&format!("CREATE SCHEMA {}", old.schema));
        let steps = sql::MIGRATIONS.iter();
        let steps = steps.take_while(|step| step.version <= version);
        let made: Vec<_> = steps.map(|step| step.postgres).collect();
        old.psql(&made.join(";\n"));
        old
    }

    fn psql(&self, sql: &str) -> String {
        shared().psql(&format!(
            "SET search_path = {}, pg_temp;\n{sql}",
            self.schema
        ))
    }

    /// What copies the rows, table by table, and gives events the numbers that a file has by itself.
    fn rows_of(&self, database: &Path) -> String {
        let file = reader(database);
        let tables =
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
        let columns = self.psql(&format!(
            "SELECT table_name || '.' || column_name FROM information_schema.columns
              WHERE table_schema = '{}' ORDER BY table_name, ordinal_position",
            self.schema
        ));
        let mut copy = "SET session_replication_role = replica;\n".to_owned();
        for row in rows(&file, tables) {
            let table = row.trim_matches('|');
            let known = rows(
                &file,
                &format!("SELECT name FROM pragma_table_info('{table}')"),
            );
            let shared: Vec<_> = columns
                .lines()
                .filter_map(|line| line.split_once('.').filter(|(of, _)| *of == table))
                .map(|(_, column)| column)
                .filter(|column| known.contains(&format!("|{column}|")))
                .collect();
            if shared.is_empty() || table == "meta" {
                continue;
            }
            let quoted: Vec<_> = shared
                .iter()
                .map(|column| format!("quote({column})"))
                .collect();
            let values = format!("SELECT {} FROM {table}", quoted.join(" || ', ' || "));
            for row in rows(&file, &values) {
                let values = row.strip_prefix('|').and_then(|row| row.strip_suffix('|'));
                copy += &format!(
                    "INSERT INTO {table} ({}) VALUES ({});\n",
                    shared.join(", "),
                    values.unwrap()
                );
            }
            // Where the key comes from no sequence, nothing is set.
            if let Some(key) = shared.first().filter(|key| key.ends_with("_no")) {
                copy += &format!(
                    "SELECT setval(pg_get_serial_sequence('{table}', '{key}'), COALESCE(max({key}), 0) + 1) FROM {table};\n"
                );
            }
        }
        // The last writer died before it could number its event.
        copy += "UPDATE entries SET event_id = entry_no WHERE entry_no < (SELECT max(entry_no) FROM entries);\n";
        if self.version > 2 {
            copy += "UPDATE deliveries d SET event_id = e.event_id FROM entries e WHERE e.entry_no = d.entry_no;\n";
        }
        copy += &format!(
            "INSERT INTO meta (name, value) VALUES ('schema_version', '{}');\n",
            self.version
        );
        // As those that tests make, so that the program takes it for one of them.
        copy += "INSERT INTO meta (name, value) VALUES ('purpose', 'test');\n";
        copy
    }

    fn location(&self) -> Location {
        Location::parse(&self.url)
    }

    fn version_now(&self) -> i64 {
        let value = self.psql("SELECT value FROM meta WHERE name = 'schema_version'");
        value.parse().expect("a number")
    }

    /// A folder in which the program finds the store.
    fn sandbox(&self) -> Sandbox {
        let mut inbox = Sandbox::empty(INBOX);
        inbox.set("INBOX_DB", &self.url);
        inbox
    }

    /// Whether it is up to date, sound, and shows what it held.
    #[track_caller]
    fn is_whole(&self) {
        let inbox = in_process(&self.location());
        assert_eq!(self.version_now(), sql::SCHEMA_VERSION);
        assert_eq!(like(&seen(&inbox), &self.seen), self.seen);
        assert_eq!(inbox.store().check().unwrap(), Vec::<String>::new());
        inbox.store().prepare_all().unwrap();
        let sent = self
            .sandbox()
            .run(words("send --from lead --to backend --subject after"));
        assert_eq!(sent.ok()["thread"]["status"], "pending");
    }
}

/// Everything that programs can see of a store.
fn seen(inbox: &Inbox) -> Value {
    let anybody = Caller::local(None);
    let listed = List::default().run(inbox, &anybody).unwrap();
    let shown: Vec<_> = listed
        .threads
        .iter()
        .map(|thread| Show::of(thread.thread_id).run(inbox, &anybody).unwrap())
        .collect();
    let watch = Watch {
        after_event: Some(EventId(0)),
        ..Watch::default()
    };
    json!({ "shown": shown, "events": watch.run(inbox, &anybody).unwrap() })
}

/// What is found, without keys that a later version added.
fn like(found: &Value, expected: &Value) -> Value {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => expected
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), like(found.get(key)?, value))))
            .collect(),
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => found
            .iter()
            .zip(expected)
            .map(|(one, other)| like(one, other))
            .collect(),
        _ => found.clone(),
    }
}

#[test]
fn on_postgresql_a_store_of_every_schema_that_landed_opens_and_shows_what_it_held() {
    for version in old::LANDED {
        Old::of(version).is_whole();
    }
}

#[test]
fn on_postgresql_the_first_schema_is_brought_up_to_date_while_others_read() {
    const READERS: usize = 6;
    const MORE: usize = 20_000;
    let old = Old::of(2);
    // Enough that it takes a moment.
    old.psql(&format!(
        "INSERT INTO entries (entry_no, thread_no, event_type, status, source_no, created_at, event_id)
         SELECT n, 1, 8, 5, 1, 1800000000000, n FROM generate_series(1000, 999 + {MORE}) n"
    ));
    let count = old.psql("SELECT count(*) FROM entries");
    let location = old.location();
    let over = AtomicBool::new(false);
    let start = Barrier::new(READERS);
    std::thread::scope(|scope| {
        // Those who read by themselves, as reports do: through all of it, in transactions of their own.
        let reports: Vec<_> = (0..3)
            .map(|_| {
                let (old, over, count) = (&old, &over, &count);
                scope.spawn(move || {
                    while !over.load(Ordering::SeqCst) {
                        let read = "BEGIN ISOLATION LEVEL REPEATABLE READ;
                                    SELECT count(*) FROM entries; SELECT count(*) FROM entries; COMMIT";
                        assert_eq!(old.psql(read), format!("{count}\n{count}"));
                    }
                })
            })
            .collect();
        // And those who open it at once: one of them upgrades, and all of them read.
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                let (location, start) = (&location, &start);
                scope.spawn(move || {
                    start.wait();
                    let inbox = in_process(location);
                    let listed = List::default().run(&inbox, &Caller::local(None)).unwrap();
                    (listed.threads.len(), inbox.store().newest_event().unwrap())
                })
            })
            .collect();
        let found: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        over.store(true, Ordering::SeqCst);
        for report in reports {
            report.join().expect("a report reads on");
        }
        let newest = EventId(i64::try_from(MORE).unwrap() + 1_000);
        for one in found {
            assert_eq!(one.expect("a reader opens it"), (3, newest));
        }
    });
    assert_eq!(old.version_now(), sql::SCHEMA_VERSION);
    assert_eq!(old.psql("SELECT count(*) FROM entries"), count);
}

/// Somebody else's transaction, which stands in the way until it is ended.
pub(super) struct InTheWay {
    child: Child,
    mark: String,
}

impl InTheWay {
    pub(super) fn new(schema: &str, what: &str) -> Self {
        let mark = format!("in the way of {schema}");
        let text = format!(
            "SET application_name = '{mark}'; BEGIN; SET search_path = {schema}; {what}; SELECT pg_sleep(600)"
        );
        let child = shared()
            .psql_command(&text)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("psql starts");
        let there = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{mark}' AND wait_event = 'PgSleep'"
        );
        eventually("somebody is in the way", || {
            (shared().psql(&there) == "1").then_some(())
        });
        InTheWay { child, mark }
    }

    /// Waits until another one waits for it.
    pub(super) fn stops_somebody(&self) {
        let blocked = format!(
            "SELECT count(*) FROM pg_stat_activity a JOIN pg_stat_activity b ON b.pid = ANY (pg_blocking_pids(a.pid))
              WHERE b.application_name = '{}'",
            self.mark
        );
        eventually("the upgrade meets what is in its way", || {
            (shared().psql(&blocked) != "0").then_some(())
        });
    }
}

impl Drop for InTheWay {
    fn drop(&mut self) {
        shared().psql(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
            self.mark
        ));
        let _ = self.child.wait();
    }
}

#[test]
fn on_postgresql_an_upgrade_that_is_killed_half_way_is_taken_up_by_the_next_who_comes() {
    let obstacles = [
        // A reader of a table that the first step changes: it dies before anything is committed.
        ("LOCK TABLE recipients IN ACCESS SHARE MODE", 2),
        // A name that the second step wants: it dies behind the first.
        ("CREATE TABLE search_days (n BIGINT)", 3),
    ];
    for (what, reached) in obstacles {
        let old = Old::of(2);
        let in_the_way = InTheWay::new(&old.schema, what);
        let inbox = old.sandbox();
        let upgrade = start(&inbox, &words("list"));
        in_the_way.stops_somebody();
        assert_eq!(old.version_now(), reached, "{what}");
        signal(&upgrade, rustix::process::Signal::KILL);
        assert_eq!(ends(upgrade).code, -1);
        drop(in_the_way);
        let listed = inbox.run(words("list")).ok();
        assert_eq!(listed["threads"].as_array().map(Vec::len), Some(3));
        old.is_whole();
    }
}

#[test]
fn on_postgresql_a_newer_schema_is_refused_by_an_older_program() {
    let newer = Old::of(2);
    in_process(&newer.location());
    newer.psql("UPDATE meta SET value = '99' WHERE name = 'schema_version'");
    let inbox = newer.sandbox();
    for line in [
        "list",
        "init",
        "send --from lead --to backend --subject no",
        "doctor",
    ] {
        let refused = inbox.run(words(line)).refused(50, "store_newer");
        let message = refused["error"]["message"].as_str().unwrap();
        let known = sql::SCHEMA_VERSION.to_string();
        assert!(
            message.contains("99") && message.contains(&known),
            "{message}"
        );
        assert!(
            refused["error"]["hint"]
                .as_str()
                .unwrap()
                .contains("version"),
            "{refused}"
        );
    }
    assert_eq!(newer.version_now(), 99);
    assert_eq!(newer.psql("SELECT count(*) FROM threads"), "3");
}

//! A database that was handed over, with things in its schema that would run when we write.

use inbox_testkit::sandbox::Sandbox;

use super::{run, send};
use crate::INBOX;

/// What somebody has put into a store.
const PLANTED: [&str; 7] = [
    "CREATE TRIGGER planted AFTER INSERT ON entries BEGIN DELETE FROM entries WHERE entry_no < new.entry_no; END",
    "CREATE TRIGGER planted BEFORE INSERT ON threads BEGIN UPDATE threads SET subject = 'theirs'; END",
    "CREATE INDEX planted ON entries (entry_no * 2) WHERE entry_no IN (1, 2)",
    "CREATE VIRTUAL TABLE planted USING fts5(a)",
    "CREATE TABLE planted (a INTEGER REFERENCES threads (thread_no) ON DELETE RESTRICT)",
    "ALTER TABLE threads ADD COLUMN planted AS (abs(thread_no))",
    "DROP VIEW inbox; CREATE VIEW inbox AS SELECT 'theirs' AS body",
];

fn change(inbox: &Sandbox, sql: &str) {
    let database = rusqlite::Connection::open(inbox.store()).unwrap();
    database.execute_batch(sql).unwrap();
}

#[test]
fn what_somebody_put_into_a_schema_never_runs() {
    for planted in PLANTED {
        let inbox = Sandbox::new(INBOX);
        send(&inbox).ok();
        let count = || -> i64 {
            let database = rusqlite::Connection::open(inbox.store()).unwrap();
            let count = database.query_row("SELECT count(*) FROM entries", [], |row| row.get(0));
            count.unwrap()
        };
        let before = count();
        change(&inbox, planted);
        for words in [
            "send --from a --to w --subject Two",
            "list",
            "claim --agent w",
        ] {
            let refused = run(&inbox, words);
            assert!(
                refused.stdout.contains("store_corrupt"),
                "{planted}: {refused}"
            );
            refused.refused(50, "store_corrupt");
        }
        assert_eq!(count(), before, "{planted}");
    }
}

#[test]
fn what_does_nothing_by_itself_may_stay() {
    let inbox = Sandbox::new(INBOX);
    send(&inbox).ok();
    change(
        &inbox,
        "CREATE TABLE theirs (a TEXT UNIQUE); CREATE INDEX of_theirs ON theirs (a); CREATE VIEW seen AS SELECT * FROM inbox; ANALYZE",
    );
    send(&inbox).ok();
    run(&inbox, "doctor").ok();
}

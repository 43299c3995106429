//! Stores of every older schema, brought up to date by processes that are killed on the way: at every point that has a number, and at
//! any moment. What comes out is what an upgrade gives that nobody disturbs, table by table.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inbox_store::{FailPoint, sql};
use inbox_testkit::cluster::shared;
use inbox_testkit::old::{lay_down, older};
use inbox_testkit::sandbox::{Sandbox, TempDir};

use super::Old;
use crate::INBOX;
use crate::fire::{reader, rows, words};

/// How often an upgrade of each schema is killed at a moment that nobody chose. In PostgreSQL, where a store takes long to make, more often
/// that of the first one, which has all the steps.
const MOMENTS: u32 = 20;
const MOMENTS_ON_POSTGRES: u32 = 1;
const MOMENTS_OF_ALL_STEPS: u32 = 8;

/// A store of this schema in a file.
pub(super) struct Laid {
    pub(super) inbox: Sandbox,
    pub(super) db: PathBuf,
    _folder: TempDir,
}

pub(super) fn laid_down(version: i64) -> Laid {
    let folder = TempDir::in_memory();
    let db = folder.path().join("coord.db");
    lay_down(version, &db);
    let mut inbox = Sandbox::empty(INBOX);
    inbox.set("INBOX_DB", db.to_str().unwrap());
    Laid {
        inbox,
        db,
        _folder: folder,
    }
}

/// A store of this schema that nobody disturbed while it was brought up to date, and how long that took.
fn undisturbed(version: i64) -> (Vec<String>, Duration) {
    let laid = laid_down(version);
    let start = Instant::now();
    laid.inbox.run(words("list")).ok();
    let whole = start.elapsed();
    (dump(&laid.db), whole)
}

/// All of a file: how it is made, and every row.
fn dump(path: &Path) -> Vec<String> {
    let file = reader(path);
    let mut all = rows(&file, "PRAGMA user_version");
    let made = "SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master ORDER BY 1, 2";
    all.extend(rows(&file, made));
    for (table, columns) in tables(&file) {
        let mut found = content(&file, &table, &columns);
        found.sort();
        all.extend(found.into_iter().map(|row| format!("{table}: {row}")));
    }
    all
}

/// Every table with its columns.
pub(super) fn tables(file: &rusqlite::Connection) -> Vec<(String, Vec<String>)> {
    let bare = |row: String| row.trim_matches('|').to_owned();
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1";
    rows(file, names)
        .into_iter()
        .map(|row| {
            let table = bare(row);
            let columns = format!("SELECT name FROM pragma_table_info('{table}')");
            let columns = rows(file, &columns).into_iter().map(bare).collect();
            (table, columns)
        })
        .collect()
}

/// The rows of these columns.
fn content(file: &rusqlite::Connection, table: &str, columns: &[String]) -> Vec<String> {
    let quoted: Vec<_> = columns
        .iter()
        .map(|column| format!("quote(\"{column}\")"))
        .collect();
    rows(file, &format!("SELECT {} FROM {table}", quoted.join(", ")))
}

/// What an upgrade changes on purpose: these columns say something else afterwards, or the same elsewhere.
pub(super) fn is_changed(version: i64, table: &str, column: &str) -> bool {
    match table {
        // A name that was nobody's yet stays open, and what says how a queue stands has another form.
        "addresses" => version == 2 && column == "mode",
        "recipients" => column == "is_queued" || column == "held_until",
        "topics" => version == 9 && column == "taken",
        _ => false,
    }
}

#[test]
fn an_upgrade_keeps_every_row_of_every_table() {
    for &version in older() {
        let laid = laid_down(version);
        let before: Vec<_> = {
            let file = reader(&laid.db);
            let kept = |table: &str, columns: Vec<String>| -> Vec<String> {
                let is_kept = |column: &String| !is_changed(version, table, column);
                columns.into_iter().filter(is_kept).collect()
            };
            tables(&file)
                .into_iter()
                .map(|(table, columns)| {
                    let columns = kept(&table, columns);
                    let rows = content(&file, &table, &columns);
                    (table, columns, rows)
                })
                .collect()
        };
        laid.inbox.run(words("list")).ok();
        let file = reader(&laid.db);
        for (table, columns, rows) in before {
            let now = content(&file, &table, &columns);
            let lost: Vec<_> = rows.iter().filter(|row| !now.contains(row)).collect();
            assert!(lost.is_empty(), "schema {version}: {table} lost {lost:#?}");
        }
        if version == 9 {
            let taken = rows(&file, "SELECT topic_no, taken FROM topics ORDER BY 1");
            assert_eq!(
                taken,
                ["|Integer(1)|Integer(3)|", "|Integer(2)|Integer(0)|"]
            );
        }
    }
}

/// Without a word when they are equal, and with what differs when not.
#[track_caller]
fn are_equal(found: &[String], clean: &[String], what: &str) {
    let lost: Vec<_> = clean.iter().filter(|line| !found.contains(line)).collect();
    let more: Vec<_> = found.iter().filter(|line| !clean.contains(line)).collect();
    assert!(
        found == clean,
        "{what}: without {lost:#?}\nand with {more:#?}"
    );
}

/// Whether the process that upgrades died at a point.
fn dies(inbox: &Sandbox, point: FailPoint) -> bool {
    let output = inbox
        .command(words("list"))
        .env("INBOX_FAIL_POINT", (point as u32).to_string())
        .output()
        .unwrap();
    let is_killed = output.status.signal() == Some(9);
    assert!(is_killed || output.status.success(), "{output:?}");
    is_killed
}

/// Kills the process that upgrades after a while, unless it is done.
fn ends_after(inbox: &Sandbox, moment: Duration) {
    let mut child = inbox.spawn(words("list"));
    let end = Instant::now() + moment;
    while Instant::now() < end && child.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
    let _ = child.kill();
    child.wait().unwrap();
}

/// A part of a time, by a number that is the same each time.
fn part(whole: Duration, number: u32, seed: u32) -> Duration {
    let scattered = (number + 1)
        .wrapping_mul(2_654_435_761)
        .wrapping_add(seed * 97);
    whole.mul_f64(f64::from(scattered) / f64::from(u32::MAX))
}

#[test]
fn a_store_that_was_upgraded_is_made_as_a_new_one_is() {
    let made = |path: &Path| {
        let text =
            "SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master ORDER BY 1, 2";
        rows(&reader(path), text)
    };
    let new = made(&Sandbox::new(INBOX).store());
    for &version in older() {
        let laid = laid_down(version);
        laid.inbox.run(words("list")).ok();
        are_equal(&made(&laid.db), &new, &format!("schema {version}"));
    }
}

/// The points before the commit of a step, and those behind it.
const BEFORE: [FailPoint; 4] = [
    FailPoint::BeforeLock,
    FailPoint::AfterBegin,
    FailPoint::BeforeCommit,
    FailPoint::BeforeMigration,
];
const BEHIND: [FailPoint; 2] = [FailPoint::AfterCommit, FailPoint::AfterMigration];

#[test]
fn an_upgrade_that_dies_at_every_point_of_every_step_ends_as_one_that_nobody_disturbs() {
    for &version in older() {
        let (clean, _) = undisturbed(version);
        let laid = laid_down(version);
        let is = |reached: i64, what: &str| {
            let found = rows(&reader(&laid.db), "PRAGMA user_version");
            assert_eq!(
                found,
                [format!("|Integer({reached})|")],
                "schema {version}, {what}"
            );
        };
        for (reached, behind) in (version..sql::SCHEMA_VERSION).zip(BEHIND.iter().cycle()) {
            for point in BEFORE {
                assert!(dies(&laid.inbox, point), "{version}: {point:?}");
                is(reached, &format!("{point:?}"));
            }
            assert!(dies(&laid.inbox, *behind), "{version}: {behind:?}");
            is(reached + 1, &format!("{behind:?}"));
        }
        laid.inbox.run(words("list")).ok();
        are_equal(&dump(&laid.db), &clean, &format!("schema {version}"));
    }
}

#[test]
fn an_upgrade_that_is_killed_at_any_moment_ends_as_one_that_nobody_disturbs() {
    for (seed, version) in (0..).zip(older().iter().copied()) {
        let (clean, whole) = undisturbed(version);
        for number in 0..MOMENTS {
            let laid = laid_down(version);
            ends_after(&laid.inbox, part(whole, number, seed));
            laid.inbox.run(words("list")).ok();
            let what = format!("schema {version}, moment {number}");
            are_equal(&dump(&laid.db), &clean, &what);
        }
    }
}

/// How a store in PostgreSQL is made, and who may do what with it.
fn made_on_postgres(schema: &str) -> Vec<String> {
    let text = format!(
        "SELECT 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || COALESCE(column_default, '')
           FROM information_schema.columns WHERE table_schema = '{schema}'
         UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = '{schema}'
         UNION ALL SELECT 'constraint ' || c.conrelid::regclass::text || ' ' || c.conname || ' ' || pg_get_constraintdef(c.oid)
           FROM pg_constraint c WHERE c.connamespace = '{schema}'::regnamespace
         UNION ALL SELECT 'function ' || replace(pg_get_functiondef(p.oid), E'\\n', ' ') || ' ' || COALESCE(p.proacl::text, '')
           FROM pg_proc p WHERE p.pronamespace = '{schema}'::regnamespace
         UNION ALL SELECT 'view ' || viewname || ' ' || replace(definition, E'\\n', ' ') FROM pg_views WHERE schemaname = '{schema}'
         UNION ALL SELECT 'trigger ' || replace(pg_get_triggerdef(t.oid), E'\\n', ' ') FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
           WHERE c.relnamespace = '{schema}'::regnamespace AND NOT t.tgisinternal
         UNION ALL SELECT 'relation ' || relname || ' ' || relkind::text || ' ' || relrowsecurity::text || ' ' || COALESCE(relacl::text, '')
           FROM pg_class WHERE relnamespace = '{schema}'::regnamespace
         ORDER BY 1"
    );
    let found = shared().psql(&text).replace(schema, "SCHEMA");
    found.lines().map(str::to_owned).collect()
}

/// All of a store in PostgreSQL.
fn dump_on_postgres(old: &Old) -> Vec<String> {
    let mut all = made_on_postgres(&old.schema);
    let tables = shared().psql(&format!(
        "SELECT tablename FROM pg_tables WHERE schemaname = '{}' ORDER BY 1",
        old.schema
    ));
    let script: Vec<_> = tables
        .lines()
        .map(|table| format!("SELECT '{table}: ' || t::text FROM {table} t ORDER BY 1"))
        .collect();
    let rows = old.psql(&script.join(";\n")).replace(&old.schema, "SCHEMA");
    all.extend(rows.lines().map(str::to_owned));
    all
}

fn undisturbed_on_postgres(old: &Old) -> (Vec<String>, Duration) {
    let start = Instant::now();
    old.sandbox().run(words("list")).ok();
    let whole = start.elapsed();
    (dump_on_postgres(old), whole)
}

/// The rows of every table of a store in PostgreSQL, with the columns that an upgrade leaves as they are.
fn content_on_postgres(old: &Old, columns: &[(String, String)]) -> Vec<(String, Vec<String>)> {
    let texts = columns.iter().map(|(table, columns)| {
        format!("SELECT '{table}: ' || ROW({columns})::text FROM {table} ORDER BY 1")
    });
    let texts: Vec<_> = texts.collect();
    let found = old.psql(&texts.join(";\n"));
    let of = |table: &str| {
        let start = format!("{table}: ");
        let rows = found.lines().filter(|line| line.starts_with(&start));
        rows.map(str::to_owned).collect()
    };
    columns
        .iter()
        .map(|(table, _)| (table.clone(), of(table)))
        .collect()
}

#[test]
fn on_postgresql_an_upgrade_keeps_every_row_of_every_table() {
    for &version in older() {
        let old = Old::of(version);
        let named = old.psql(&format!(
            "SELECT c.table_name || '.' || c.column_name FROM information_schema.columns c JOIN pg_tables t
                 ON t.schemaname = c.table_schema AND t.tablename = c.table_name
              WHERE c.table_schema = '{}' AND t.tablename <> 'meta' ORDER BY c.table_name, c.ordinal_position",
            old.schema
        ));
        let mut columns: Vec<(String, String)> = Vec::new();
        for (table, column) in named.lines().filter_map(|line| line.split_once('.')) {
            // Events get their numbers from whoever comes next.
            if is_changed(version, table, column) || column == "event_id" {
                continue;
            }
            match columns.last_mut() {
                Some((last, list)) if last == table => *list += &format!(", {column}"),
                _ => columns.push((table.to_owned(), column.to_owned())),
            }
        }
        let before = content_on_postgres(&old, &columns);
        assert!(before.iter().any(|(_, rows)| rows.len() > 3), "{before:?}");
        old.sandbox().run(words("list")).ok();
        for ((table, before), (_, now)) in before.iter().zip(content_on_postgres(&old, &columns)) {
            let lost: Vec<_> = before.iter().filter(|row| !now.contains(row)).collect();
            assert!(lost.is_empty(), "schema {version}: {table} lost {lost:#?}");
        }
    }
}

#[test]
fn on_postgresql_an_upgrade_that_dies_at_every_step_ends_as_one_that_nobody_disturbs() {
    let url = shared().fresh_url();
    let schema = url.rsplit('=').next().unwrap().to_owned();
    Sandbox::at(INBOX, url.as_str()).run(words("list")).ok();
    let new = made_on_postgres(&schema);
    assert!(new.len() > 200, "{}", new.len());
    for &version in older() {
        let old = Old::of(version);
        let (clean, _) = undisturbed_on_postgres(&old);
        are_equal(&clean[..new.len()], &new, &format!("schema {version}"));
        let old = old.again();
        let inbox = old.sandbox();
        for reached in version..sql::SCHEMA_VERSION {
            // Before the commit of the next step, and behind it.
            assert!(dies(&inbox, FailPoint::BeforeMigration), "{version}");
            assert_eq!(old.version_now(), reached, "from schema {version}");
            assert!(dies(&inbox, FailPoint::AfterMigration), "{version}");
            assert_eq!(old.version_now(), reached + 1, "from schema {version}");
        }
        assert!(!dies(&inbox, FailPoint::BeforeMigration), "{version}");
        are_equal(
            &dump_on_postgres(&old),
            &clean,
            &format!("schema {version}"),
        );
    }
}

#[test]
fn on_postgresql_an_upgrade_that_is_killed_at_any_moment_ends_as_one_that_nobody_disturbs() {
    for (seed, version) in (0..).zip(older().iter().copied()) {
        let old = Old::of(version);
        let (clean, whole) = undisturbed_on_postgres(&old);
        let has_all_steps = seed == 0;
        let moments = if has_all_steps {
            MOMENTS_OF_ALL_STEPS
        } else {
            MOMENTS_ON_POSTGRES
        };
        for number in 0..moments {
            let old = old.again();
            let inbox = old.sandbox();
            ends_after(&inbox, part(whole, number, seed));
            inbox.run(words("list")).ok();
            let what = format!("schema {version}, moment {number}");
            are_equal(&dump_on_postgres(&old), &clean, &what);
        }
    }
}

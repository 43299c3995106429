//! Stores of every older schema, brought up to date by processes that are killed on the way: at every point that has a number, and at
//! any moment. What comes out is what an upgrade gives that nobody disturbs, table by table.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inbox_store::{FailPoint, sql};
use inbox_testkit::cluster::shared;
use inbox_testkit::sandbox::{Sandbox, TempDir};

use super::Old;
use crate::fire::{reader, rows, words};
use crate::{INBOX, root};

/// The schemas that landed and are older than this one. The first, the third and their likes never stood alone.
const LANDED: [i64; 11] = [2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/// How often an upgrade of each schema is killed at a moment that nobody chose.
const MOMENTS: u32 = 20;
const MOMENTS_ON_POSTGRES: u32 = 3;

fn fixture(version: i64) -> PathBuf {
    root().join(format!("crates/testkit/fixtures/schema-{version}/coord.db"))
}

#[test]
fn every_schema_that_landed_is_kept() {
    for version in LANDED.into_iter().chain([sql::SCHEMA_VERSION]) {
        assert!(fixture(version).exists(), "schema {version}");
    }
    assert_eq!(LANDED.last(), Some(&(sql::SCHEMA_VERSION - 1)));
}

/// A store of this schema in a file, marked as those of tests are, so that the points count.
struct Laid {
    inbox: Sandbox,
    db: PathBuf,
    _folder: TempDir,
}

fn laid_down(version: i64) -> Laid {
    let folder = TempDir::in_memory();
    let db = folder.path().join("coord.db");
    std::fs::copy(fixture(version), &db).unwrap();
    let database = rusqlite::Connection::open(&db).unwrap();
    let mark = "INSERT OR REPLACE INTO meta (name, value) VALUES ('purpose', 'test')";
    database.execute_batch(mark).unwrap();
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
    (dump(&laid.db), start.elapsed())
}

/// All of a file: how it is made, and every row.
fn dump(path: &Path) -> Vec<String> {
    let file = reader(path);
    let mut all = rows(&file, "PRAGMA user_version");
    let made = "SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master ORDER BY 1, 2";
    all.extend(rows(&file, made));
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1";
    for table in rows(&file, tables) {
        let table = table.trim_matches('|');
        let columns = rows(
            &file,
            &format!("SELECT name FROM pragma_table_info('{table}')"),
        );
        let quoted: Vec<_> = columns
            .iter()
            .map(|column| format!("quote(\"{}\")", column.trim_matches('|')))
            .collect();
        let mut found = rows(&file, &format!("SELECT {} FROM {table}", quoted.join(", ")));
        found.sort();
        all.extend(found.into_iter().map(|row| format!("{table}: {row}")));
    }
    all
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
    for version in LANDED {
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
    for version in LANDED {
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
    for (seed, version) in (0..).zip(LANDED) {
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

fn undisturbed_on_postgres(version: i64) -> (Vec<String>, Duration) {
    let old = Old::of(version);
    let start = Instant::now();
    old.sandbox().run(words("list")).ok();
    (dump_on_postgres(&old), start.elapsed())
}

#[test]
fn on_postgresql_an_upgrade_that_dies_at_every_step_ends_as_one_that_nobody_disturbs() {
    let url = shared().fresh_url();
    let schema = url.rsplit('=').next().unwrap().to_owned();
    Sandbox::at(INBOX, url.as_str()).run(words("list")).ok();
    let new = made_on_postgres(&schema);
    assert!(new.len() > 200, "{}", new.len());
    for version in LANDED {
        let (clean, _) = undisturbed_on_postgres(version);
        are_equal(&clean[..new.len()], &new, &format!("schema {version}"));
        let old = Old::of(version);
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
    for (seed, version) in (0..).zip(LANDED) {
        let (clean, whole) = undisturbed_on_postgres(version);
        let old = Old::of(version);
        let inbox = old.sandbox();
        for number in 0..MOMENTS_ON_POSTGRES {
            ends_after(&inbox, part(whole, number, seed));
        }
        inbox.run(words("list")).ok();
        are_equal(
            &dump_on_postgres(&old),
            &clean,
            &format!("schema {version}"),
        );
    }
}

//! Files of other programs, sound, busy, damaged and hostile.

use super::*;

fn made(statements: &str) -> (Folder, PathBuf) {
    let folder = Folder::new().unwrap();
    let path = folder.0.join("foreign.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch(statements)
        .unwrap();
    (folder, path)
}

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn rows_are_read_by_column_and_blobs_are_left_out() {
    let (_folder, path) = made(
        "CREATE TABLE t (a INTEGER, b TEXT, c REAL, d BLOB, e);
         INSERT INTO t VALUES (1, 'Größe', 1.5, x'00ff', NULL);",
    );
    let rows = read(&path, &["t"]).unwrap().remove("t").unwrap();
    let expected = serde_json::json!({"a": 1, "b": "Größe", "c": 1.5, "e": null});
    assert_eq!(Value::Object(rows[0].clone()), expected);
}

#[test]
fn a_log_that_is_not_yet_moved_is_read_and_nothing_appears_beside_the_file() {
    let (folder, path) = made("PRAGMA journal_mode = WAL; CREATE TABLE t (a);");
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("INSERT INTO t VALUES (7);").unwrap();
    let before = names(&folder);
    assert!(before.contains(&"foreign.db-wal".to_owned()));
    assert_eq!(read(&path, &["t"]).unwrap()["t"].len(), 1);
    assert_eq!(names(&folder), before);
    // The other program is not held up by a reader that is still open.
    let reader = Foreign::open(&path).unwrap();
    writer
        .execute_batch("BEGIN EXCLUSIVE; INSERT INTO t VALUES (8); COMMIT;")
        .unwrap();
    assert_eq!(reader.rows(&["t"]).unwrap()["t"].len(), 1);
}

#[test]
fn a_file_and_folder_that_may_only_be_read_are_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = made("PRAGMA journal_mode = WAL; CREATE TABLE t (a);");
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&path, 0o400);
    set(&folder.0, 0o500);
    let found = read(&path, &["t"]);
    set(&folder.0, 0o700);
    assert!(found.unwrap()["t"].is_empty());
    assert_eq!(names(&folder), ["foreign.db"]);
}

#[test]
fn the_copy_is_removed() {
    let (_folder, path) = made("CREATE TABLE t (a);");
    let reader = Foreign::open(&path).unwrap();
    let copy = PathBuf::from(reader.connection.path().unwrap());
    assert!(copy.exists());
    drop(reader);
    assert!(!copy.exists());
}

#[test]
fn what_is_not_an_ordinary_table_is_not_read() {
    let (_folder, path) = made(
        "CREATE TABLE t (a, g AS (a + 1), h AS (a + 2) STORED);
         INSERT INTO t (a) VALUES (1);
         CREATE VIEW v AS SELECT 1 AS a;
         CREATE VIEW bomb AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS a FROM n;
         CREATE VIRTUAL TABLE f USING fts5(a);
         CREATE TRIGGER boom AFTER INSERT ON t BEGIN DELETE FROM t; END;",
    );
    let foreign = Foreign::open(&path).unwrap();
    assert_eq!(foreign.tables().unwrap(), ["t"]);
    assert_eq!(
        Value::Object(foreign.rows(&["t"]).unwrap()["t"][0].clone()),
        serde_json::json!({"a": 1})
    );
    for name in [
        "v",
        "bomb",
        "f",
        "f_data",
        "sqlite_schema",
        "absent",
        "t\"; DROP TABLE t; --",
    ] {
        let refused = foreign.rows(&[name]).unwrap_err().to_string();
        assert!(refused.contains("has no table"), "{name}: {refused}");
    }
}

#[test]
fn names_that_need_quotes_are_read() {
    let (_folder, path) =
        made(r#"CREATE TABLE "a ""b" ("c ""d" TEXT); INSERT INTO "a ""b" VALUES ('x');"#);
    let rows = read(&path, &["a \"b"]).unwrap();
    assert_eq!(rows["a \"b"][0]["c \"d"], "x");
}

#[test]
fn what_is_no_database_is_refused_in_words() {
    let folder = Folder::new().unwrap();
    let path = folder.0.join("foreign.db");
    let words = |path: &Path| read(path, &["t"]).unwrap_err().to_string();
    assert!(words(&path).contains("cannot read"));
    std::fs::write(&path, "this is no database at all, but long enough to look").unwrap();
    assert!(words(&path).contains("is not an SQLite database"));
    std::fs::write(&path, "").unwrap();
    assert!(words(&path).contains("has no table t"));
    assert!(words(&folder.0).contains("is not a regular file"));
}

#[test]
fn damage_is_reported() {
    let (_folder, path) = made(
        "CREATE TABLE t (a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO t SELECT 'row ' || i FROM n;",
    );
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length - 4096].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let refused = read(&path, &["t"]).unwrap_err().to_string();
    assert!(refused.contains("damaged"), "{refused}");
}

/// Reads while another connection writes as fast as it can, and answers how often that went well.
fn read_beside_a_writer(mode: &str) -> usize {
    use std::sync::atomic::{AtomicBool, Ordering};
    let (_folder, path) = made(&format!(
        "PRAGMA journal_mode = {mode}; CREATE TABLE one (a, b); CREATE TABLE two (a, b);"
    ));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let writer = Connection::open(&path).unwrap();
            writer
                .execute_batch("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 40;")
                .unwrap();
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let text = "x".repeat(number % 3000);
                let both = format!(
                    "BEGIN IMMEDIATE; INSERT INTO one VALUES ({number}, '{text}'); INSERT INTO two VALUES ({number}, '{text}');
                     DELETE FROM one WHERE a < {number} - 50; DELETE FROM two WHERE a < {number} - 50; COMMIT;"
                );
                writer.execute_batch(&both).unwrap();
            }
        });
        let mut well = 0;
        for _ in 0..30 {
            match read(&path, &["one", "two"]) {
                Ok(tables) => {
                    assert_eq!(tables["one"], tables["two"]);
                    well += 1;
                }
                Err(StoreError::Busy(_)) => {}
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    panic!("{error}");
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        well
    })
}

#[test]
fn a_file_that_is_written_all_the_time_is_read_as_it_was_at_one_moment() {
    assert!(read_beside_a_writer("WAL") > 0);
    read_beside_a_writer("DELETE");
}

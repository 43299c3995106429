//! Files that are no stores of ours, or not of this version.

use super::{bounded, filled, sqlite};

const COMMANDS: [&[&str]; 9] = [
    &["list"],
    &["fetch", "--agent", "w"],
    &["show", "--thread", "thr_1"],
    &["claim", "--agent", "w"],
    &["send", "--from", "a", "--to", "w", "--subject", "s"],
    &["watch", "--after-event", "0", "--timeout-seconds", "0"],
    &["doctor"],
    &["init"],
    &["backup", "--to", "copy.db"],
];

/// Files that are no stores, and a folder.
const NOT_STORES: usize = 7;

#[test]
fn what_is_no_store_is_refused_and_left_as_it_is() {
    let inbox = filled();
    let path = inbox.folder().join("other.db");
    let noise: Vec<u8> = (0..20_000_u32)
        .map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2])
        .collect();
    sqlite(
        &inbox.folder().join("theirs.db"),
        "CREATE TABLE notes (text); INSERT INTO notes VALUES ('theirs');",
    );
    let theirs = std::fs::read(inbox.folder().join("theirs.db")).unwrap();
    let header_only = std::fs::read(inbox.store()).unwrap()[..100].to_vec();
    let not_stores: [(&str, Vec<u8>); NOT_STORES - 1] = [
        ("random", noise),
        ("text", b"just a text file\n".repeat(500)),
        ("short", b"x".to_vec()),
        ("empty", Vec::new()),
        ("another program's", theirs),
        ("a header", header_only),
    ];
    for (name, bytes) in not_stores {
        std::fs::write(&path, &bytes).unwrap();
        for args in COMMANDS {
            let outcome = bounded(&inbox, &path, args);
            let refused = outcome.refused(50, "store_corrupt");
            let message = refused["error"]["message"].as_str().unwrap();
            assert!(message.contains("other.db"), "{name}: {message}");
            assert!(!outcome.stderr.contains("panicked"), "{name}: {outcome}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name} was changed");
        assert!(!inbox.folder().join("copy.db").exists());
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    for args in COMMANDS {
        bounded(&inbox, &path, args).refused(50, "store_corrupt");
    }
}

#[test]
fn a_store_of_a_newer_schema_is_refused_and_left_as_it_is() {
    let inbox = filled();
    sqlite(&inbox.store(), "PRAGMA user_version = 99;");
    for args in COMMANDS {
        let refused = bounded(&inbox, &inbox.store(), args).refused(50, "store_newer");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("99"), "{message}");
    }
    let known = format!(
        "PRAGMA user_version = {};",
        inbox_store::sql::SCHEMA_VERSION
    );
    sqlite(&inbox.store(), &known);
    let listed = inbox.run(["list", "--json"]).ok();
    assert_eq!(listed["threads"].as_array().unwrap().len(), 3);
}

const TABLES: [&str; 4] = ["threads", "entries", "recipients", "agents"];

#[test]
fn a_store_that_lost_a_table_is_corrupt() {
    for table in TABLES {
        let inbox = filled();
        sqlite(
            &inbox.store(),
            &format!("PRAGMA foreign_keys = OFF; DROP TABLE {table};"),
        );
        for args in [
            &["list"][..],
            &["fetch", "--agent", "w"],
            &["show", "--thread", "thr_1"],
            &["doctor"],
        ] {
            let outcome = bounded(&inbox, &inbox.store(), args);
            if table == "recipients" && (args[0] == "show") {
                continue;
            }
            outcome.refused(50, "store_corrupt");
        }
    }
}

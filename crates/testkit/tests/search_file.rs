//! The index file beside a SQLite store is a cache: whatever happens to it, a search finds what is there.
//! And random messages and queries give the same on SQLite, on PostgreSQL and in a plain model.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};

use inbox_ops::{Inbox, Operation, Search, Searched, Send};
use inbox_store::{Location, Store};
use inbox_testkit::contract::search::{run, search};
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by, task};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn index_of(store: &Path) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push("-search");
    name.into()
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn store_of(world: &World) -> PathBuf {
    world.folder().unwrap().join("coord.db")
}

/// A connection of its own, as another process would have.
fn fresh(path: &Path) -> Inbox {
    Inbox::new(Store::open(&Location::File(path.to_owned())).unwrap())
}

fn summaries(searched: &Searched) -> Vec<&str> {
    searched
        .hits
        .iter()
        .map(|hit| hit.message.summary.as_str())
        .collect()
}

fn furnished(messages: usize) -> World {
    let world = World::sqlite();
    for n in 0..messages {
        world.send("lead", "backend", &format!("common {n}"));
    }
    world
}

#[track_caller]
fn finds_all(inbox: &Inbox, messages: usize) {
    let request = Search {
        limit: Some(1_000),
        ..search("common")
    };
    let searched = run(inbox, &request);
    let expected: Vec<_> = (0..messages).rev().map(|n| format!("common {n}")).collect();
    assert_eq!(summaries(&searched), expected);
    assert_eq!(searched.warnings, Vec::<String>::new());
    assert_eq!(searched.indexed.total, i64::try_from(messages).unwrap());
}

#[test]
fn a_send_does_not_touch_the_index() {
    let world = furnished(3);
    let store = store_of(&world);
    let files = || {
        let mut names: Vec<_> = std::fs::read_dir(world.folder().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("search"))
            .collect();
        names.sort();
        names
    };
    assert_eq!(files(), Vec::<String>::new());
    finds_all(&fresh(&store), 3);
    let before = std::fs::read(index_of(&store)).unwrap();
    assert!(files().contains(&"coord.db-search".to_owned()));
    world.send("lead", "backend", "common 3");
    assert_eq!(std::fs::read(index_of(&store)).unwrap(), before);
    finds_all(&fresh(&store), 4);
}

#[test]
fn a_deleted_index_is_made_again() {
    let world = furnished(5);
    let store = store_of(&world);
    finds_all(world.inbox(), 5);
    for suffix in ["", "-wal", "-shm", "-lock"] {
        let _ = std::fs::remove_file(with(&index_of(&store), suffix));
    }
    finds_all(&fresh(&store), 5);
    // Who has the old one open goes on with it.
    world.send("lead", "backend", "common 5");
    finds_all(world.inbox(), 6);
    finds_all(&fresh(&store), 6);
}

#[test]
fn a_damaged_index_is_made_again() {
    let world = furnished(40);
    let store = store_of(&world);
    let index = index_of(&store);
    finds_all(&fresh(&store), 40);
    let connection = rusqlite::Connection::open(&index).unwrap();
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    drop(connection);
    let sound = std::fs::read(&index).unwrap();
    assert!(sound.len() > 8_192);
    let half = sound.len() / 2;
    let damages: Vec<(&str, Vec<u8>)> = vec![
        ("garbage", b"this is no database at all".repeat(500)),
        ("cut short", sound[..half].to_vec()),
        ("cut to a page", sound[..4_096].to_vec()),
        ("zeroes", vec![0; sound.len()]),
        ("empty", Vec::new()),
        (
            "a half of zeroes",
            [&sound[..half], &vec![0; sound.len() - half]].concat(),
        ),
        (
            "no schema",
            [&sound[..100], &vec![0; 3_996], &sound[4_096..]].concat(),
        ),
    ];
    for (_what, bytes) in damages {
        std::fs::write(&index, bytes).unwrap();
        for suffix in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(with(&index, suffix));
        }
        finds_all(&fresh(&store), 40);
        finds_all(&fresh(&store), 40);
    }
}

#[test]
fn an_index_that_is_damaged_under_an_open_search_is_made_again() {
    let world = furnished(20);
    let store = store_of(&world);
    let (first, second) = (fresh(&store), fresh(&store));
    finds_all(&first, 20);
    finds_all(&second, 20);
    drop(second);
    std::fs::write(index_of(&store), vec![7; 20_000]).unwrap();
    world.send("lead", "backend", "common 20");
    finds_all(&first, 21);
    finds_all(&fresh(&store), 21);
}

#[test]
fn an_index_of_another_store_is_made_again() {
    let (world, other) = (furnished(6), furnished(9));
    finds_all(&fresh(&store_of(&other)), 9);
    let store = store_of(&world);
    finds_all(&fresh(&store), 6);
    for suffix in ["", "-wal", "-shm"] {
        let (from, to) = (
            with(&index_of(&store_of(&other)), suffix),
            with(&index_of(&store), suffix),
        );
        let _ = std::fs::remove_file(&to);
        let _ = std::fs::copy(from, to);
    }
    finds_all(&fresh(&store), 6);
}

#[test]
fn an_index_that_is_ahead_of_a_restored_store_is_made_again() {
    let world = furnished(4);
    let folder = TempDir::new();
    let copy = folder.path().join("coord.db");
    world.inbox().store().backup(&copy).unwrap();
    for n in 4..8 {
        world.send("lead", "backend", &format!("lost {n}"));
    }
    let store = store_of(&world);
    assert_eq!(summaries(&run(&fresh(&store), &search("lost"))).len(), 4);
    // The backup comes back, and goes another way from there.
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::copy(
            with(&index_of(&store), suffix),
            with(&index_of(&copy), suffix),
        );
    }
    finds_all(&fresh(&copy), 4);
    let restored = fresh(&copy);
    for n in 4..9 {
        task("backend", &format!("common {n}"))
            .run(&restored, &by("lead"))
            .unwrap();
        finds_all(&fresh(&copy), n + 1);
    }
    assert!(run(&restored, &search("lost")).hits.is_empty());
}

#[test]
fn an_index_of_other_rules_is_made_again() {
    let world = furnished(4);
    let store = store_of(&world);
    finds_all(&fresh(&store), 4);
    let connection = rusqlite::Connection::open(index_of(&store)).unwrap();
    connection
        .execute_batch("DROP TABLE progress; CREATE TABLE future (x); PRAGMA user_version = 999")
        .unwrap();
    drop(connection);
    finds_all(&fresh(&store), 4);
}

#[test]
fn without_a_place_for_the_index_every_message_is_read_and_that_is_said() {
    let world = furnished(300);
    std::fs::create_dir(index_of(&store_of(&world))).unwrap();
    let request = Search {
        limit: Some(1_000),
        ..search("common")
    };
    let searched = run(world.inbox(), &request);
    assert_eq!(searched.hits.len(), 300);
    assert_eq!(searched.warnings.len(), 1);
    assert!(
        searched.warnings[0].contains("coord.db-search"),
        "{:?}",
        searched.warnings
    );
    assert_eq!(searched.indexed.total, 0);
    std::fs::remove_dir(index_of(&store_of(&world))).unwrap();
    finds_all(world.inbox(), 300);
}

#[test]
fn more_than_one_batch_is_indexed() {
    let world = furnished(0);
    let database = rusqlite::Connection::open(store_of(&world)).unwrap();
    world.send("lead", "backend", "first");
    database
        .execute_batch(
            "WITH RECURSIVE c(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM c WHERE n < 2500)
             INSERT INTO entries (entry_no, thread_no, event_type, status, source_no, created_at, kind, to_no, auth, uid_random, summary)
             SELECT n, 1, 2, 1, 1, n, 1, 1, 1, n, 'word' || n || ' even' || (n % 2) FROM c",
        )
        .unwrap();
    let searched = run(world.inbox(), &search("even1"));
    assert_eq!(searched.indexed.total, 2_500);
    assert_eq!(summaries(&searched)[0], "word2499 even1");
    let request = Search {
        limit: Some(10_000),
        ..search("even0")
    };
    assert_eq!(run(world.inbox(), &request).hits.len(), 1_250);
    assert_eq!(run(world.inbox(), &search("word2")).hits.len(), 1);
}

/// Words as they are written, and as they are compared.
const VOCABULARY: &[(&str, &str)] = &[
    ("alpha", "alpha"),
    ("Alpha", "alpha"),
    ("ALPHABET", "alphabet"),
    ("beta", "beta"),
    ("Bêta", "beta"),
    ("be\u{301}ta", "beta"),
    ("or", "or"),
    ("NOT", "not"),
    ("near", "near"),
    ("x1", "x1"),
    ("42", "42"),
    ("Straße", "strasse"),
];

const SEPARATORS: &[&str] = &[" ", "-", ", ", "\n", ". (", "'", " \\ ", "_", ":"];

fn text() -> impl Strategy<Value = Vec<(usize, usize)>> {
    proptest::collection::vec((0..VOCABULARY.len(), 0..SEPARATORS.len()), 0..6)
}

fn written(text: &[(usize, usize)]) -> String {
    text.iter()
        .map(|&(word, separator)| format!("{}{}", VOCABULARY[word].0, SEPARATORS[separator]))
        .collect()
}

fn compared(text: &[(usize, usize)]) -> Vec<&'static str> {
    text.iter().map(|&(word, _)| VOCABULARY[word].1).collect()
}

#[derive(Debug, Clone)]
struct Part {
    words: Vec<usize>,
    is_prefix: bool,
    is_unwanted: bool,
}

fn part() -> impl Strategy<Value = Part> {
    let words = proptest::collection::vec(0..VOCABULARY.len(), 1..3);
    (words, any::<bool>(), proptest::bool::weighted(0.25)).prop_map(
        |(words, is_prefix, is_unwanted)| Part {
            words,
            is_prefix,
            is_unwanted,
        },
    )
}

impl Part {
    fn written(&self) -> String {
        let words: Vec<_> = self.words.iter().map(|&word| VOCABULARY[word].0).collect();
        let dash = if self.is_unwanted { "-" } else { "" };
        let star = if self.is_prefix { "*" } else { "" };
        format!("{dash}\"{}\"{star}", words.join(" "))
    }

    /// The plain model: the words stand somewhere in a field, one after the other.
    fn is_in(&self, fields: &[Vec<&str>]) -> bool {
        let wanted: Vec<_> = self.words.iter().map(|&word| VOCABULARY[word].1).collect();
        let fits = |window: &[&str]| {
            let last = wanted.len() - 1;
            window[..last] == wanted[..last]
                && (window[last] == wanted[last]
                    || (self.is_prefix && window[last].starts_with(wanted[last])))
        };
        fields
            .iter()
            .any(|field| field.windows(wanted.len()).any(fits))
    }
}

#[test]
fn sqlite_postgres_and_a_plain_model_find_the_same() {
    let case = (
        proptest::collection::vec((text(), text(), text()), 1..6),
        proptest::collection::vec(proptest::collection::vec(part(), 1..4), 4),
    );
    let config = Config {
        cases: 60,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let worlds = [World::sqlite(), World::postgres()];
    let count = std::cell::Cell::new(0_u32);
    let outcome = runner.run(&case, |(messages, queries)| {
        // A run of its own tells the messages of this case from all before it.
        count.set(count.get() + 1);
        let label = format!("case-{}", count.get());
        for (summary, body, payload) in &messages {
            let request = Send {
                summary: Some(format!("s {}", written(summary))),
                body: Some(written(body)),
                payload_json: Some(serde_json::json!({ "k": written(payload) })),
                run: label.parse().ok(),
                ..task("backend", "subject")
            };
            for world in &worlds {
                world.call("lead", &request).unwrap();
            }
        }
        for query in &queries {
            let text: Vec<_> = query.iter().map(Part::written).collect();
            let request = Search {
                run: label.parse().ok(),
                ..search(&text.join(" "))
            };
            let has_wanted = query.iter().any(|part| !part.is_unwanted);
            let expected: Vec<_> = messages
                .iter()
                .rev()
                .filter(|(summary, body, payload)| {
                    let of = |first: &'static str, text: &[(usize, usize)]| {
                        [vec![first], compared(text)].concat()
                    };
                    let fields = [
                        vec!["subject"],
                        of("s", summary),
                        compared(body),
                        of("k", payload),
                    ];
                    query
                        .iter()
                        .all(|part| part.is_in(&fields) != part.is_unwanted)
                })
                .map(|(summary, body, _)| (format!("s {}", written(summary)), written(body)))
                .collect();
            for world in &worlds {
                let found = world.call("x", &request);
                if !has_wanted {
                    prop_assert!(found.is_err());
                    continue;
                }
                let found: Vec<_> = found
                    .unwrap()
                    .hits
                    .into_iter()
                    .map(|hit| (hit.message.summary, hit.message.body))
                    .collect();
                prop_assert_eq!(&found, &expected, "{:?} on {:?}", text, world.location());
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

//! `scripts/promises`: the figures of several runs become the rows of a page.

use std::path::Path;
use std::process::Command;

use inbox_testkit::sandbox::{Sandbox, TempDir, words};
use serde_json::{Value, json};

use crate::INBOX;

fn report(database: &str, row: &Value) -> String {
    json!({ "place": { "database": database }, "parts": [row] }).to_string()
}

fn row(kills: u64, log: u64, verdict: &str) -> Value {
    json!({
        "part": "kills", "verdict": verdict, "rounds": 2, "seconds": 30.4,
        "counts": { "kills": kills, "bytes_of_log": log }, "peaks": ["bytes_of_log"],
    })
}

/// What the script writes into a row of a page for these reports.
fn written(reports: &[String]) -> String {
    written_over("a <!-- torture:kills -->old<!-- / --> b", reports)
}

fn written_over(before: &str, reports: &[String]) -> String {
    let folder = TempDir::new();
    let page = folder.path().join("page.md");
    std::fs::write(&page, before).expect("a page");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/promises");
    let mut command = Command::new(script);
    command.arg("--page").arg(&page);
    for (n, report) in reports.iter().enumerate() {
        let file = folder.path().join(format!("{n}.json"));
        std::fs::write(&file, report).expect("a report");
        command.arg(file);
    }
    let done = command.output().expect("it runs");
    assert!(done.status.success(), "{done:?}");
    std::fs::read_to_string(page).expect("the page")
}

#[test]
fn the_figures_of_several_runs_of_a_part_are_added_up() {
    let once = written(&[report("SQLite", &row(1000, 7, "held"))]);
    let told = "a <!-- torture:kills -->2 rounds, 1,000 kills, 7 bytes of log: held (SQLite, 30 s)<!-- / --> b";
    assert_eq!(once, told);
    let added = written(&[
        report("SQLite", &row(1000, 7, "held")),
        report("SQLite", &row(200, 9, "held")),
        report("PostgreSQL", &row(5, 0, "stopped")),
        report("SQLite", &row(0, 0, "skipped")),
    ]);
    let told = "4 rounds, 1,200 kills, 9 bytes of log: held (SQLite, 61 s, 2 runs)<br>\
                2 rounds, 5 kills, 0 bytes of log: stopped (PostgreSQL, 30 s)";
    assert!(added.contains(told), "{added}");
    let broken = written(&[
        report("SQLite", &row(1, 1, "broken")),
        report("SQLite", &row(1, 1, "held")),
    ]);
    assert!(
        broken.contains(": broken (SQLite, 61 s, 2 runs)"),
        "{broken}"
    );
}

#[test]
fn a_database_of_which_nothing_new_is_told_keeps_its_figures() {
    let served = "PostgreSQL 15.18 (Debian 15.18-0+deb12u1)";
    let first = written(&[report(served, &row(5, 0, "held"))]);
    let both = written_over(&first, &[report("SQLite 3.54.1", &row(1000, 7, "held"))]);
    let told = "-->2 rounds, 1,000 kills, 7 bytes of log: held (SQLite 3.54.1, 30 s)<br>\
                2 rounds, 5 kills, 0 bytes of log: held (PostgreSQL 15.18 (Debian 15.18-0+deb12u1), 30 s)<!--";
    assert!(both.contains(told), "{both}");
    let newer = written_over(&both, &[report("SQLite 3.55.0", &row(9, 1, "held"))]);
    let told =
        "-->2 rounds, 9 kills, 1 bytes of log: held (SQLite 3.55.0, 30 s)<br>2 rounds, 5 kills, ";
    assert!(newer.contains(told), "{newer}");
}

#[test]
fn what_a_run_says_is_what_the_page_takes() {
    let sandbox = Sandbox::empty(INBOX);
    let outcome = sandbox.run(words("torture --only kills --rounds 2"));
    let page = written(&[outcome.stdout.clone(), outcome.stdout]);
    assert!(page.contains("16 kills, "), "{page}");
    assert!(page.contains("2 runs)"), "{page}");
}

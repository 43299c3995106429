//! What `inbox torture` does around its parts: it leaves the store alone, cleans up after itself, and says how to see a round again.

use inbox_testkit::sandbox::{Sandbox, words};
use rustix::process::{Pid, Signal, kill_process};

use crate::INBOX;

/// The names in a folder that begin as scratch folders do.
pub(super) fn scratch(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.folder().join(".agents");
    let names = std::fs::read_dir(folder).expect("the folder").flatten();
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".inbox-torture-"))
        .collect()
}

#[test]
fn the_store_is_left_as_it_was_and_nothing_stays_beside_it() {
    let sandbox = Sandbox::new(INBOX);
    sandbox.ok("send --from lead --to bob --subject live");
    let before = std::fs::read(sandbox.store()).expect("the store");
    let report = sandbox.ok("torture --only kills,clock --rounds 2 --seed 9");
    assert_eq!(std::fs::read(sandbox.store()).expect("the store"), before);
    assert_eq!(scratch(&sandbox), [""; 0]);
    assert_eq!(report["seed"], 9);
    let names: Vec<_> = report["parts"]
        .as_array()
        .expect("parts")
        .iter()
        .map(|row| row["part"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["kills", "clock"]);
    assert_eq!(report["verdict"], "2 of 2 promises held");
    assert_eq!(report["place"]["schema"], inbox_store::sql::SCHEMA_VERSION);
}

#[test]
fn what_is_to_be_kept_is_named_and_stays() {
    let sandbox = Sandbox::new(INBOX);
    let report = sandbox.ok("torture --only clock --round 3 --seed 1 --keep");
    let kept = report["kept"][0].as_str().expect("a place");
    assert!(std::path::Path::new(kept).join("clock/store.db").exists());
    // With those before it that share its store.
    assert_eq!(report["parts"][0]["rounds"], 4);
    assert_eq!(scratch(&sandbox).len(), 1);
}

#[test]
fn a_part_that_is_not_there_is_refused_with_those_that_are() {
    let sandbox = Sandbox::empty(INBOX);
    let outcome = sandbox.run(words("torture --only kills,earthquakes"));
    let refused = outcome.refused(30, "invalid_input");
    let hint = refused["error"]["hint"].as_str().expect("a hint");
    assert!(hint.starts_with("inbox torture --only"), "{hint}");
    for part in inbox_torture::PARTS {
        assert!(hint.contains(part.name()), "{hint}");
    }
}

#[test]
fn one_that_is_interrupted_says_so_and_cleans_up() {
    let sandbox = Sandbox::new(INBOX);
    let child = sandbox.spawn(words("torture --only kills,clock --seconds 600"));
    while scratch(&sandbox).is_empty() {
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let outcome = inbox_testkit::sandbox::finish(child);
    assert_eq!(outcome.code, 10, "{outcome}");
    let report = outcome.json();
    assert_eq!(report["parts"][0]["verdict"], "stopped");
    assert_eq!(
        report["verdict"],
        "no promise was tried to its end, 2 stopped"
    );
    assert_eq!(scratch(&sandbox), [""; 0]);
}

#[test]
fn one_that_is_told_to_stop_before_its_time_does_not_succeed() {
    for stop in [Signal::TERM, Signal::HUP] {
        let sandbox = Sandbox::new(INBOX);
        let child = sandbox.spawn(words("torture --only clock --seconds 600"));
        while scratch(&sandbox).is_empty() {
            std::thread::yield_now();
        }
        // As `timeout` does it: once to the process, and once to its group.
        for _ in 0..2 {
            kill_process(Pid::from_child(&child), stop).expect("it runs");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let outcome = inbox_testkit::sandbox::finish(child);
        assert_eq!(outcome.code, 10, "{outcome}");
        assert_eq!(outcome.json()["parts"][0]["verdict"], "stopped");
        assert_eq!(scratch(&sandbox), [""; 0]);
    }
}

#[test]
fn no_rounds_and_no_time_are_refused() {
    let sandbox = Sandbox::empty(INBOX);
    for none in ["--rounds 0", "--seconds 0", "--rounds -1"] {
        let outcome = sandbox.run(words(&format!("torture --only clock {none}")));
        outcome.refused(30, "invalid_input");
    }
}

#[test]
fn how_long_and_how_often_are_asked_for_one_at_a_time() {
    let sandbox = Sandbox::empty(INBOX);
    for both in [
        "--rounds 1 --round 1",
        "--seconds 5 --rounds 1",
        "--seconds 5 --round 1",
    ] {
        let outcome = sandbox.run(words(&format!("torture --only clock {both}")));
        outcome.refused(30, "invalid_input");
    }
}

#[test]
fn make_torture_tries_every_part_at_the_place_that_is_named_and_goes_on_after_those_that_are_skipped()
 {
    let sandbox = Sandbox::empty(INBOX);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = sandbox.folder().join("target/release");
    std::fs::create_dir_all(&folder).expect("a folder");
    // In the program's place: each call is a line, with a tab before each word.
    let stub = "printf '#!/bin/sh\\n%s\\n' \"$1\" >inbox && chmod +x inbox";
    let said = "printf '\\t%s' \"$@\" && echo";
    let made = std::process::Command::new("/bin/sh")
        .args(["-c", stub, "sh", said])
        .current_dir(&folder)
        .status();
    assert!(made.expect("a shell").success());
    let url = "postgres://me@h/d?sslmode=require&schema=mine";
    let output = std::process::Command::new("make")
        .args(["--silent", "--old-file=release", "torture"])
        .current_dir(root)
        .env("CARGO_TARGET_DIR", sandbox.folder().join("target"))
        .env("TORTURE_DB", url)
        .env_remove("MAKEFLAGS")
        .output()
        .expect("make");
    assert!(output.status.success(), "{output:?}");
    let calls = String::from_utf8_lossy(&output.stdout).into_owned();
    let calls: Vec<Vec<&str>> = calls
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let mut tried: Vec<&str> = Vec::new();
    for call in &calls {
        assert_eq!(call[1..5], ["torture", "--skip-ok", "--db", url]);
        assert_eq!(call[5], "--only");
        tried.extend(call[6].split(','));
    }
    let mut parts: Vec<_> = inbox_torture::PARTS
        .iter()
        .map(|part| part.name())
        .collect();
    parts.sort_unstable();
    tried.sort_unstable();
    assert_eq!(tried, parts);
}

#[test]
fn the_last_round_that_there_is_can_be_seen() {
    let sandbox = Sandbox::empty(INBOX);
    let round = u64::MAX.to_string();
    let report = sandbox.ok(&format!(
        "torture --only points,damage,disk,clock,kills --seed {round} --round {round}"
    ));
    assert_eq!(report["verdict"], "5 of 5 promises held");
}

#[test]
fn a_place_where_no_folder_can_be_made_is_refused_by_its_name() {
    let sandbox = Sandbox::empty(INBOX);
    let outcome = sandbox.run(words("torture --db nowhere/at/all.db --only clock"));
    let refused = outcome.refused(50, "storage");
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(message.contains("nowhere/at/.inbox-torture-"), "{message}");
    let hint = refused["error"]["hint"].as_str().expect("a hint");
    assert!(hint.starts_with("inbox torture --db"), "{hint}");
}

/// A run that stands in the midst of its first part, and its scratch folder.
fn begun(sandbox: &Sandbox, line: &str) -> (std::process::Child, std::path::PathBuf) {
    let child = sandbox.spawn(words(line));
    // The folder alone is there before the run has made itself at home.
    let folder = inbox_torture::child::eventually("the first part has a store", || {
        let name = scratch(sandbox).pop()?;
        let folder = sandbox.folder().join(".agents").join(name);
        let mut parts = std::fs::read_dir(&folder).ok()?.flatten();
        let has_store = parts.any(|part| part.path().join("store.db").exists());
        has_store.then_some(folder)
    });
    (child, folder.expect("it begins"))
}

#[test]
fn a_part_that_cannot_be_set_up_is_a_row_and_those_before_it_are_told() {
    let sandbox = Sandbox::new(INBOX);
    let (child, folder) = begun(&sandbox, "torture --only kills,clock --rounds 5");
    // Where the second part's folder would be.
    std::fs::write(folder.join("clock"), "").expect("a file");
    let outcome = inbox_testkit::sandbox::finish(child);
    assert_eq!(outcome.code, 10, "{outcome}");
    let report = outcome.json();
    assert_eq!(report["parts"][0]["verdict"], "held");
    assert_eq!(report["parts"][0]["counts"]["kills"], 20);
    assert_eq!(report["parts"][1]["verdict"], "unable");
    let why = report["parts"][1]["why"].as_str().expect("why");
    assert!(why.contains("cannot be made"), "{why}");
    assert_eq!(report["verdict"], "1 of 2 promises held, 1 unable");
}

#[test]
fn a_scratch_folder_that_somebody_takes_away_is_no_broken_promise() {
    let sandbox = Sandbox::new(INBOX);
    let (mut child, folder) = begun(&sandbox, "torture --only clock --seconds 600");
    // Again and again: a store that is just being made brings its folder back.
    while child.try_wait().expect("it is ours").is_none() {
        let _ = std::fs::remove_dir_all(&folder);
        std::thread::yield_now();
    }
    let outcome = inbox_testkit::sandbox::finish(child);
    assert_eq!(outcome.code, 10, "{outcome}");
    let report = outcome.json();
    assert_eq!(report["parts"][0]["verdict"], "unable", "{report}");
}

#[test]
fn too_few_files_are_no_broken_promise() {
    let sandbox = Sandbox::new(INBOX);
    let limited =
        format!("ulimit -n 60 && exec {INBOX} torture --only races,clock --rounds 1 --json");
    let mut command = std::process::Command::new("/bin/sh");
    command
        .args(["-c", &limited])
        .current_dir(sandbox.folder())
        .env("HOME", sandbox.folder())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let outcome = inbox_testkit::sandbox::finish(command.spawn().expect("it starts"));
    assert_eq!(outcome.code, 10, "{outcome}");
    let report = outcome.json();
    assert_eq!(report["parts"][0]["verdict"], "unable", "{report}");
    let why = report["parts"][0]["why"].as_str().expect("why");
    assert!(why.contains("ulimit -n"), "{why}");
    // Whoever doubts that it was the limit can look.
    let kept = report["kept"][0].as_str().expect("a place");
    assert!(std::path::Path::new(kept).exists(), "{report}");
    assert!(report["parts"][0]["replay"].is_string(), "{report}");
    assert_eq!(report["parts"][1]["verdict"], "held", "{report}");
}

#[test]
fn a_worker_of_the_torture_works_on_no_other_store() {
    let sandbox = Sandbox::empty(INBOX);
    let mut init = sandbox.command(words("init"));
    assert!(
        init.env_remove("INBOX_TEST_STORE")
            .status()
            .expect("it runs")
            .success()
    );
    let worker = inbox_torture::worker::WORKER;
    let db = sandbox.store();
    let tried = sandbox
        .command([worker, "work", "p", "thr_1", "1", "0"])
        .env("INBOX_DB", db)
        .output()
        .expect("it runs");
    assert_eq!(tried.status.code(), Some(30), "{tried:?}");
}

#[test]
fn a_server_that_is_not_there_is_told_in_words() {
    let sandbox = Sandbox::empty(INBOX);
    let outcome = sandbox.run([
        "torture",
        "--db",
        "postgres://nobody@127.0.0.1:1/none",
        "--only",
        "clock",
    ]);
    assert_eq!(outcome.code, 10, "{outcome}");
    let page = &outcome.stdout;
    for part in [
        ", no database, schema ",
        "clock  unable  0s  its scratch store cannot be made: cannot reach PostgreSQL at ",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains('{'), "{page}");
}

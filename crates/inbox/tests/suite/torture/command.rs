//! What `inbox torture` does around its parts: it leaves the store alone, cleans up after itself, and says how to see a round again.

use inbox_testkit::sandbox::{Sandbox, words};
use rustix::process::{Pid, Signal, kill_process};

use crate::INBOX;

/// The names in a folder that begin as scratch folders do.
fn scratch(sandbox: &Sandbox) -> Vec<String> {
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
    assert_eq!(report["parts"][0]["rounds"], 1);
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
    let report = inbox_testkit::sandbox::finish(child).ok();
    assert_eq!(report["parts"][0]["verdict"], "stopped");
    assert_eq!(report["verdict"], "0 of 2 promises held, 2 stopped");
    assert_eq!(scratch(&sandbox), [""; 0]);
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
        .command([worker, "work", "p", "thr_1", "1"])
        .env("INBOX_DB", db)
        .output()
        .expect("it runs");
    assert_eq!(tried.status.code(), Some(30), "{tried:?}");
}

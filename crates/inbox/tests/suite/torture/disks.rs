//! Disks that lose power, fail or are damaged, and histories that are judged: the figures.

use inbox_testkit::cluster::shared;
use inbox_testkit::old::{LANDED, lay_down};
use inbox_testkit::sandbox::{Sandbox, TempDir, words};
use inbox_torture::Dice;
use inbox_torture::power::{Judge, Promise, Record, judge_some};

use super::{count, holds};
use crate::INBOX;

/// A part beside a store in memory: what a disk may do is the part's own matter.
#[track_caller]
fn in_memory(part: &str, rounds: usize) -> serde_json::Value {
    let folder = TempDir::in_memory();
    let store = folder.path().join("coord.db");
    holds(store.to_str().expect("a plain path"), part, rounds)
}

#[test]
fn of_5_000_disks_after_a_loss_of_power_each_has_what_was_acknowledged() {
    let counts = in_memory("power", 20);
    assert!(count(&counts, "images") >= 5_000, "{counts}");
}

#[test]
fn a_disk_that_fails_at_any_call_loses_nothing_1_500_times() {
    let counts = in_memory("disk", 1_500);
    assert_eq!(count(&counts, "faults"), 1_500);
    assert!(count(&counts, "calls there are") <= 1_500, "{counts}");
    assert!(count(&counts, "refused") > 500, "{counts}");
    assert!(count(&counts, "of reads") > 300, "{counts}");
    assert!(count(&counts, "of locks") > 150, "{counts}");
}

#[test]
fn of_500_histories_of_8_workers_each_has_an_order_that_explains_it() {
    let counts = in_memory("histories", 500);
    assert_eq!(count(&counts, "histories"), 500);
    assert!(count(&counts, "steps") > 790_000, "{counts}");
    assert!(
        count(&counts, "claims after the first") > 20_000,
        "{counts}"
    );
    assert!(count(&counts, "finished") > 3_000, "{counts}");
    assert!(count(&counts, "killed") > 600, "{counts}");
}

#[test]
fn on_postgresql_of_100_histories_of_8_workers_each_has_an_order_that_explains_it() {
    let counts = holds(&shared().fresh_url(), "histories", 100);
    assert_eq!(count(&counts, "histories"), 100);
    assert!(count(&counts, "steps") > 158_000, "{counts}");
    assert!(count(&counts, "claims after the first") > 4_000, "{counts}");
    assert!(count(&counts, "finished") > 500, "{counts}");
    assert!(count(&counts, "killed") > 100, "{counts}");
}

/// How many damaged images there are, of which a tenth are asked by the program itself.
const DAMAGED: usize = 2200;

#[test]
fn of_2_200_damaged_images_none_panics_hangs_or_looks_empty() {
    // 22 in a round, and some of them twice.
    let counts = in_memory("damage", DAMAGED / 18);
    assert!(count(&counts, "images") >= DAMAGED as u64, "{counts}");
    assert!(count(&counts, "of them told of") > 1_000, "{counts}");
    assert!(count(&counts, "asked by the program") >= 200, "{counts}");
}

#[test]
fn an_upgrade_that_loses_power_goes_on_from_every_schema_that_landed() {
    let mut images = 0;
    for version in LANDED {
        let sandbox = Sandbox::empty(INBOX);
        let folder = sandbox.folder().join("old");
        std::fs::create_dir(&folder).expect("a folder");
        let folder = folder.canonicalize().expect("it is there");
        let store = folder.join("coord.db");
        lay_down(version, &store);
        let mut record = Record::of(&folder).expect("what is there is read");
        let line = "send --from lead --to backend --subject after-the-upgrade";
        let mut command = sandbox.command(words(line));
        command.env("INBOX_DB", &store);
        let promise = Promise::Text("after-the-upgrade".into());
        let outcome = record.run(&command, promise).expect("it can be watched");
        assert_eq!(outcome.code, 0, "schema {version}: {outcome}");
        let bench = sandbox.folder().join("disk");
        let judged = Judge::new(&record, &store, &bench).and_then(|mut judge| {
            judge_some(&mut judge, &record, 60, &mut Dice::new(7), &|| false)
        });
        images += judged.unwrap_or_else(|broken| panic!("schema {version}: {broken}"));
    }
    assert!(images > 300, "{images}");
}

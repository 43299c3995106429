//! The figures on SQLite.

use inbox_testkit::sandbox::TempDir;
use inbox_torture::Part;
use inbox_torture::crowd::{Crowd, Size};
use inbox_torture::points::Turn;
use inbox_torture::recovery::Load;

use super::{count, holds, holds_small};
use crate::fire::alone;

/// A part beside a store on the disk.
#[track_caller]
fn on_disk(part: &str, rounds: usize) -> serde_json::Value {
    beside(&TempDir::new(), part, rounds)
}

/// A part beside a store in memory, where the disk would be what is measured.
#[track_caller]
fn in_memory(part: &str, rounds: usize) -> serde_json::Value {
    beside(&TempDir::in_memory(), part, rounds)
}

#[track_caller]
fn beside(folder: &TempDir, part: &str, rounds: usize) -> serde_json::Value {
    let store = folder.path().join("coord.db");
    holds(store.to_str().expect("a plain path"), part, rounds)
}

#[test]
fn after_4_000_kills_every_acknowledged_write_is_there_once_and_none_by_half() {
    let counts = on_disk("kills", 1_000);
    assert_eq!(count(&counts, "kills"), 4_000);
}

#[test]
fn every_operation_that_writes_dies_at_every_point_and_has_one_effect() {
    let turns = Turn::all(false);
    let deaths: usize = turns.iter().map(|turn| turn.deaths(false).len()).sum();
    let counts = in_memory("points", turns.len());
    assert_eq!(count(&counts, "cases there are"), turns.len() as u64);
    assert_eq!(count(&counts, "deaths"), deaths as u64);
}

#[test]
fn of_8_who_race_for_one_thread_one_wins_10_000_times_and_300_times_as_processes() {
    let counts = in_memory("races", 300);
    assert_eq!(count(&counts, "races of processes"), 300);
    assert_eq!(count(&counts, "of 64 processes"), 6);
    assert_eq!(count(&counts, "stood before one gate"), 64);
    // In each round one of 2 and one of 64 beside them.
    assert!(count(&counts, "races in one process") - 2 * 300 >= 10_000);
    assert_eq!(count(&counts, "wanted one thread"), 64);
}

#[test]
fn of_200_stopped_holders_and_2_000_simulated_ones_none_writes_or_leaves_a_trace() {
    let counts = in_memory("zombies", 10);
    assert_eq!(count(&counts, "stopped processes"), 200);
    assert_eq!(count(&counts, "simulated"), 2_000);
}

#[test]
fn a_clock_that_jumps_3_000_times_shortens_no_lease() {
    let counts = in_memory("clock", 50);
    assert_eq!(count(&counts, "jumps"), 3_000);
}

#[test]
fn readers_among_8_writers_see_30_000_events_once_and_in_one_order() {
    let counts = in_memory("cursor", 10);
    assert_eq!(count(&counts, "events"), 30_000);
}

#[test]
fn of_10_000_waits_around_the_commit_none_misses_its_wake() {
    let _alone = alone();
    let counts = in_memory("wakes", 100);
    assert_eq!(count(&counts, "waits"), 10_000);
    assert_eq!(count(&counts, "without a bell"), 10);
}

#[test]
fn of_64_processes_that_write_at_once_none_fails_and_nothing_grows_without_bound() {
    let _alone = alone();
    let counts = on_disk("crowd", 2);
    assert_eq!(count(&counts, "processes"), 128);
}

#[test]
fn of_a_throng_all_are_served_while_the_store_is_checked_and_nothing_grows_without_bound() {
    let _alone = alone();
    let folder = TempDir::new();
    let store = folder.path().join("coord.db");
    let few = Crowd(Size::Few {
        processes: 48,
        steps: 20,
    });
    let store = store.to_str().expect("a plain path");
    let counts = holds_small(store, few.name(), 2, |bout| few.run(bout));
    assert_eq!(count(&counts, "processes"), 2 * 48);
    assert!(count(&counts, "acknowledged") >= 2 * 48 * 20, "{counts}");
    assert!(count(&counts, "checks") > 0, "{counts}");
}

#[test]
fn after_a_kill_of_all_with_a_long_log_the_next_command_answers_within_a_second() {
    let _alone = alone();
    let folder = TempDir::new();
    let store = folder.path().join("coord.db");
    let load = Load {
        messages: 20_000,
        log: 8 << 20,
    };
    let store = store.to_str().expect("a plain path");
    let counts = holds_small(store, "recovery", 3, |bout| load.recover(bout));
    assert_eq!(count(&counts, "messages"), load.messages);
    assert_eq!(count(&counts, "kills"), 3 * 4);
    assert!(count(&counts, "bytes of log") >= load.log, "{counts}");
    assert!(count(&counts, "acknowledged") > 100, "{counts}");
}

#[test]
fn what_a_server_answered_is_there_after_60_stops_kills_and_deaths_at_points() {
    let counts = on_disk("server", 60);
    for end in ["stops", "kills", "deaths"] {
        assert_eq!(count(&counts, end), 20, "{end}");
    }
}

#[test]
fn under_a_mixed_load_with_kills_nothing_is_lost() {
    let _alone = alone();
    let counts = on_disk("soak", 3);
    // One of the 32 and one more in each round, and all at the end.
    assert_eq!(count(&counts, "kills"), 3 * 2 + 32);
    assert_eq!(count(&counts, "checks"), 1);
    assert!(count(&counts, "events in order") > 500, "{counts}");
}

#[test]
fn bridges_that_die_on_a_hostile_network_put_every_message_on_its_topic_once() {
    let counts = on_disk("ledger", 100);
    assert!(count(&counts, "deaths") >= 50, "{counts}");
}

//! The figures on PostgreSQL.

use std::sync::Barrier;

use inbox_ops::{Operation, Reply};
use inbox_store::{Location, Store};
use inbox_testkit::cluster::{Cluster, Setup, shared};
use inbox_testkit::sandbox::{Sandbox, words};
use inbox_torture::Part;
use inbox_torture::crowd::{Crowd, Size};
use inbox_torture::ground::{caller, inbox};
use inbox_torture::points::Turn;

use super::{count, holds, holds_small};
use crate::INBOX;
use crate::fire::alone;

/// A part in schemas of its own beside one that is not there.
#[track_caller]
fn tried(part: &str, rounds: usize) -> serde_json::Value {
    holds(&shared().fresh_url(), part, rounds)
}

#[test]
fn on_postgresql_after_1_600_kills_every_acknowledged_write_is_there_once_and_none_by_half() {
    let counts = tried("kills", 400);
    assert_eq!(count(&counts, "kills"), 1_600);
}

#[test]
fn on_postgresql_every_operation_that_writes_dies_at_every_point_and_has_one_effect() {
    let turns = Turn::all(true);
    let deaths: usize = turns.iter().map(|turn| turn.deaths(true).len()).sum();
    let counts = tried("points", turns.len());
    assert_eq!(count(&counts, "cases there are"), turns.len() as u64);
    assert_eq!(count(&counts, "deaths"), deaths as u64);
}

#[test]
fn on_postgresql_of_8_who_race_for_one_thread_one_wins_10_000_times_and_300_times_as_processes() {
    let counts = tried("races", 300);
    assert_eq!(count(&counts, "races of processes"), 300);
    assert!(count(&counts, "races in one process") - 2 * 300 >= 10_000);
    assert_eq!(count(&counts, "wanted one thread"), 64);
    assert_eq!(count(&counts, "stood before one gate"), 8);
}

#[test]
fn on_postgresql_of_200_stopped_holders_and_2_000_simulated_ones_none_writes_or_leaves_a_trace() {
    let counts = tried("zombies", 10);
    assert_eq!(count(&counts, "stopped processes"), 200);
    assert_eq!(count(&counts, "simulated"), 2_000);
}

#[test]
fn on_postgresql_a_clock_that_jumps_600_times_shortens_no_lease() {
    let counts = tried("clock", 10);
    assert_eq!(count(&counts, "jumps"), 600);
}

#[test]
fn on_postgresql_readers_among_8_writers_see_15_000_events_once_and_in_one_order() {
    let counts = tried("cursor", 5);
    assert_eq!(count(&counts, "events"), 15_000);
}

#[test]
fn on_postgresql_of_10_000_waits_around_the_commit_none_misses_its_wake() {
    let _alone = alone();
    let counts = tried("wakes", 100);
    assert_eq!(count(&counts, "waits"), 10_000);
    assert_eq!(count(&counts, "without a bell"), 10);
}

#[test]
fn on_postgresql_of_64_processes_that_write_at_once_none_fails() {
    let _alone = alone();
    let counts = tried("crowd", 1);
    assert_eq!(count(&counts, "processes"), 64);
}

#[test]
fn on_postgresql_of_a_throng_all_are_served_while_the_store_is_checked() {
    let _alone = alone();
    let few = Crowd(Size::Few {
        processes: 32,
        steps: 20,
    });
    let counts = holds_small(&shared().fresh_url(), few.name(), 1, |bout| few.run(bout));
    assert_eq!(count(&counts, "processes"), 32);
    assert!(count(&counts, "acknowledged") >= 32 * 20, "{counts}");
    assert!(count(&counts, "checks") > 0, "{counts}");
}

#[test]
fn on_postgresql_what_a_server_answered_is_there_after_18_stops_kills_and_deaths_at_points() {
    let counts = tried("server", 18);
    for end in ["stops", "kills", "deaths"] {
        assert_eq!(count(&counts, end), 6, "{end}");
    }
}

#[test]
fn on_postgresql_bridges_that_die_on_a_hostile_network_put_every_message_on_its_topic_once() {
    let counts = tried("ledger", 30);
    assert!(count(&counts, "deaths") >= 10, "{counts}");
}

#[test]
fn on_postgresql_under_a_mixed_load_with_kills_nothing_is_lost() {
    let _alone = alone();
    let counts = tried("soak", 3);
    assert_eq!(count(&counts, "kills"), 3 * 2 + 32);
    assert_eq!(count(&counts, "checks"), 1);
}

#[test]
fn on_postgresql_a_server_that_takes_few_connections_breaks_no_promise() {
    let few = Cluster::start_with(Setup {
        settings: vec!["max_connections = 16".to_owned()],
        ..Setup::default()
    });
    let sandbox = Sandbox::empty(INBOX);
    let line = format!(
        "torture --db {} --only kills,races,crowd --rounds 1",
        few.fresh_url()
    );
    let outcome = sandbox.run(words(&line));
    assert_eq!(outcome.code, 10, "{outcome}");
    let report = outcome.json();
    let verdict = |part: usize| report["parts"][part]["verdict"].clone();
    assert_eq!(verdict(0), "held", "{report}");
    assert_eq!(verdict(1), "unable", "{report}");
    let why = report["parts"][1]["why"].as_str().expect("why");
    assert!(why.contains("max_connections"), "{why}");
    assert_eq!(verdict(2), "skipped", "{report}");
}

#[test]
fn on_postgresql_of_96_who_write_to_one_thread_at_once_all_are_served() {
    const WRITERS: usize = 96;
    let _alone = alone();
    let many = Cluster::start_with(Setup {
        settings: vec!["max_connections = 120".to_owned()],
        ..Setup::default()
    });
    let url = many.fresh_url();
    let sandbox = Sandbox::at(INBOX, &url);
    sandbox.ok("send --from lead --to crew --subject shared");
    let start = Barrier::new(WRITERS);
    let refused: Vec<String> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (start, url) = (&start, &url);
                scope.spawn(move || {
                    let store = Store::open(&Location::parse(url)).expect("it opens");
                    let me = caller(&format!("w{writer}")).expect("a name");
                    let inbox = inbox(store);
                    start.wait();
                    let reply = Reply {
                        summary: Some("so".to_owned()),
                        ..Reply::to("thr_1".parse().expect("an id"))
                    };
                    let mut replies = (0..3).map(|_| reply.run(&inbox, &me));
                    replies.find_map(|reply| Some(reply.err()?.message))
                })
            })
            .collect();
        let join = writers.into_iter().map(|writer| writer.join());
        join.filter_map(|said| said.expect("no panic")).collect()
    });
    assert_eq!(refused, [""; 0]);
}

#[test]
fn on_postgresql_nothing_is_left_behind() {
    let url = shared().fresh_url();
    let schema = url.rsplit('=').next().expect("it names one");
    let mine = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'inbox_torture_%clock%'";
    holds(&url, "clock", 1);
    assert_eq!(shared().psql(mine), "0");
    let named = format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{schema}'");
    assert_eq!(shared().psql(&named), "0", "the named one was not made");
}

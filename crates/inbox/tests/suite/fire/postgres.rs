//! The same on PostgreSQL.

use inbox_store::Location;
use inbox_testkit::cluster::shared;
use inbox_testkit::sandbox::Sandbox;

use super::readers::{see_the_same, see_the_same_in_process};
use super::zombie::cannot_write;
use super::{alone, claim, ends, lapses, open, start, words};
use crate::INBOX;
use crate::fire::race::{claims, one_winner};

/// Every row of every table of a store.
fn dump(url: &str) -> Vec<String> {
    let schema = url.rsplit('=').next().expect("the URL names a schema");
    let tables = shared().psql(&format!(
        "SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' ORDER BY 1"
    ));
    assert!(tables.contains("entries"), "{tables}");
    tables
        .lines()
        .map(|table| {
            shared().psql(&format!(
                "SELECT t::text FROM {schema}.{table} t ORDER BY 1"
            ))
        })
        .collect()
}

#[test]
fn on_postgresql_of_8_processes_racing_for_one_thread_exactly_one_wins_20_times() {
    let _alone = alone();
    let inbox = Sandbox::at(INBOX, shared().fresh_url());
    for round in 0..20 {
        let thread = open(&inbox, "w0", &format!("race-{round}"));
        let racers: Vec<_> = claims(&thread)
            .iter()
            .map(|args| start(&inbox, args))
            .collect();
        let outcomes: Vec<_> = racers.into_iter().map(ends).collect();
        one_winner(&inbox, &thread, &outcomes);
    }
}

#[test]
fn on_postgresql_a_worker_without_a_live_lease_cannot_write() {
    let url = shared().fresh_url();
    let inbox = Sandbox::at(INBOX, &url);
    let rows = || dump(&url);
    let thread = open(&inbox, "late", "work");
    let old = claim(&inbox, "late", &thread, 1);
    lapses(&inbox, "late", &thread);
    cannot_write(&inbox, &thread, &format!("--lease {old}"), rows);
    let new = claim(&inbox, "late", &thread, 900);
    cannot_write(&inbox, &thread, &format!("--lease {old}"), rows);
    let before = rows();
    let by_name = format!("done --agent late --thread {thread} --summary late");
    inbox.run(words(&by_name)).refused(20, "lease_lost");
    assert_eq!(rows(), before);
    let done = format!("done --lease {new} --thread {thread} --summary ready");
    inbox.run(words(&done)).ok();
}

#[test]
fn on_postgresql_readers_that_follow_from_different_starts_see_the_same_events_once_and_in_order() {
    let _alone = alone();
    let url = shared().fresh_url();
    let inbox = Sandbox::at(INBOX, &url);
    see_the_same(&inbox, &Location::parse(&url), 15);
}

#[test]
fn on_postgresql_readers_among_8_writers_of_one_process_see_every_event_once_and_in_order() {
    let _alone = alone();
    let url = shared().fresh_url();
    let _inbox = Sandbox::at(INBOX, &url);
    see_the_same_in_process(&Location::parse(&url), 60);
}

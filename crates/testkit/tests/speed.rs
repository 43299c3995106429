//! What an inbox costs as it grows: times of one run, side by side. Nothing is asserted; run it with
//! `cargo test --release -p inbox-testkit --test speed -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::time::Instant;

use inbox_core::EventId;
use inbox_ops::{AgentShow, Caller, Claim, Operation, Read};
use inbox_store::Location;
use inbox_testkit::desk::{letter, work};
use inbox_testkit::world::{World, by};

/// What lies before what is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Before {
    /// Nobody has read any of it.
    Unread,
    /// The reader has read all of it, and the bookmark stands behind it.
    Read,
    /// As read, but the oldest piece of work is held by somebody else.
    ReadAndHeld,
}

/// A store with so many messages to an address, and a reader of it.
fn furnished(address: &str, count: i64, before: Before) -> (World, Caller) {
    let world = World::sqlite();
    let reader = world.start("backend", "b-1", &["critic"], &["project:x"]);
    let other = world.start("other", "o-1", &["critic"], &["project:x"]);
    if before == Before::ReadAndHeld {
        world.post(&by("lead"), &work(&[address], "held"));
        world
            .call_as(
                &other,
                &Claim {
                    lease_seconds: Some(600_000),
                    ..Claim::default()
                },
            )
            .unwrap();
    }
    let first = world
        .post(&by("lead"), &letter(&[address], "the first"))
        .message
        .message_id
        .key();
    let Location::File(path) = world.location() else {
        panic!("a file")
    };
    let database = rusqlite::Connection::open(path).unwrap();
    let mut columns: Vec<String> = database
        .prepare("SELECT name FROM pragma_table_info('entries')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    columns.retain(|name| name != "entry_no" && name != "event_type");
    let list = columns.join(", ");
    database
        .execute(
            &format!(
                "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
                 INSERT INTO entries (event_type, {list}) SELECT 2, {list} FROM entries, n WHERE entry_no = {first}"
            ),
            [],
        )
        .unwrap();
    database
        .execute(
            &format!(
                "INSERT INTO deliveries (address_no, is_acked, entry_no, expires_at)
                 SELECT d.address_no, 0, e.entry_no, d.expires_at FROM entries e, deliveries d
                  WHERE d.entry_no = {first} AND e.entry_no > {first}"
            ),
            [],
        )
        .unwrap();
    if before != Before::Unread {
        database
            .execute(
                &format!(
                    "INSERT INTO receipts (entry_no, step, address_no, agent_no, session_no, created_at, session)
                     SELECT e.entry_no, 3, 0, s.agent_no, s.session_no, 1, s.session_id FROM entries e, sessions s
                      WHERE e.entry_no >= {first} AND s.session_id = 'b-1'"
                ),
                [],
            )
            .unwrap();
    }
    drop(database);
    if before != Before::Unread {
        Read::default().run(world.inbox(), &reader).unwrap();
        for number in 0..20 {
            world.post(&by("lead"), &letter(&[address], &format!("new {number}")));
        }
    }
    (world, reader)
}

/// The middle of many times, in microseconds.
fn middle(mut once: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..41)
        .map(|_| {
            let begun = Instant::now();
            once();
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[test]
#[ignore = "it measures, and takes a while"]
fn an_inbox_costs_the_same_when_it_has_grown() {
    println!(
        "{:<16} {:<12} {:>12} {:>12} {:>7}",
        "address", "before", "1,000", "100,000", "factor"
    );
    for address in ["backend", "role:critic", "project:x"] {
        for before in [Before::Unread, Before::Read, Before::ReadAndHeld] {
            if before == Before::ReadAndHeld && address != "role:critic" {
                continue;
            }
            let stores = [
                furnished(address, 1_000, before),
                furnished(address, 100_000, before),
            ];
            let look = Read {
                peek: true,
                limit: Some(20),
                after_event: Some(EventId(0)),
                ..Read::default()
            };
            let show = AgentShow {
                slug: "backend".parse().unwrap(),
            };
            let print = |what: &str, times: Vec<f64>| {
                let (small, large) = (times[0], times[1]);
                println!(
                    "{address:<16} {before:<12?} {small:>9.0} µs {large:>9.0} µs {:>7.2}  {what}",
                    large / small
                );
            };
            let times = |request: &dyn Fn(&World, &Caller)| {
                stores
                    .iter()
                    .map(|(world, reader)| middle(|| request(world, reader)))
                    .collect::<Vec<_>>()
            };
            print(
                "first 20 and count",
                times(&|world, reader| {
                    let mail = world.call_as(reader, &look).unwrap();
                    assert_eq!(mail.messages.len(), 20);
                }),
            );
            print(
                "count, no session",
                times(&|world, reader| {
                    world.call_as(reader, &show).unwrap();
                }),
            );
        }
    }
}

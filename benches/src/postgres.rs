//! A team's store: `inbox` on PostgreSQL beside plain SQL on the same server, in turns.

mod client;

use std::time::Duration;

use inbox_store::{Location, Store};
use inbox_testkit::cluster::Cluster;

use self::client::{Ours, Plain, tables};
use crate::Outcome;
use crate::cycle::{Job, Side, median, turn};
use crate::lab::Lab;
use crate::report::{Report, say};
use crate::wake::wake_between;

const CLIENTS: [usize; 3] = [1, 8, 64];

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) rounds: usize,
    pub(crate) each: Duration,
}

/// What the page is written from.
pub(crate) const WHOLE: Extent = Extent {
    rounds: 7,
    each: Duration::from_secs(1),
};

/// A first look: rougher, and over in half a minute.
pub(crate) const QUICK: Extent = Extent {
    rounds: 3,
    each: Duration::from_millis(400),
};

/// Every job at every number of clients, both sides in turns.
pub(crate) fn measure(lab: &Lab, extent: Extent, report: &mut Report) -> Outcome<()> {
    let cluster = Cluster::durable(&lab.folder("postgres")?);
    for count in CLIENTS {
        let plain = format!("plain_{count}");
        // Cycles begin with an empty queue on both sides. What claims hold would be in their way in
        // plain SQL, which looks past it each time; `inbox` has another name for them.
        let empty = format!("DELETE FROM {plain}.queue");
        let url = cluster.url(&format!("inbox_{count}"));
        cluster.psql(&tables(&plain));
        let mut ours = Side::new(Ours::crew(&url, count)?);
        let mut theirs = Side::new(Plain::crew(&cluster.url("none"), &plain, count)?);
        for round in 0..=extent.rounds {
            // Neither side works against what the other left lying about.
            cluster.psql("VACUUM ANALYZE");
            // Fresh statistics make every connection plan its statements anew: not what is measured.
            for side in [&mut ours, &mut theirs] {
                side.warm()?;
            }
            cluster.psql(&empty);
            let sides = [&mut ours, &mut theirs];
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            let tidy = || {
                cluster.psql(&empty);
                cluster.psql(&format!("VACUUM ANALYZE {plain}.queue"));
            };
            turn(sides, order, extent.each, round > 0, tidy)?;
            cluster.psql(&empty);
        }
        tell(count, &ours, &theirs, report);
    }
    Ok(())
}

/// Commit on one host → the waiter on another has its message, which only the server can tell it of.
pub(crate) fn measure_wakes(lab: &Lab, report: &mut Report) -> Outcome<()> {
    let cluster = Cluster::durable(&lab.folder("postgres-wake")?);
    for count in [1, 20] {
        let here = cluster.url(&format!("wakes_{count}"));
        // A host's bell is for a server by its name: with another one this is another host.
        let there = here.replace("127.0.0.1", "localhost");
        let (here, there) = (Location::parse(&here), Location::parse(&there));
        Store::init(&here)?;
        let (samples, missed) = wake_between(&here, &there, count)?;
        let who = if count == 1 { "waiter" } else { "waiters" };
        let what = format!(
            "PostgreSQL: commit on one connection → `wait-reply` on another host, {count} {who}"
        );
        let measured = format!("{}, {missed} missed", samples.words());
        let is_met = missed == 0 && samples.percentile(99) < Duration::from_millis(50);
        let goal = "p99 under 50 ms, none missed";
        report.goal(&what, measured, String::new(), goal, is_met);
    }
    Ok(())
}

fn tell(count: usize, ours: &Side, theirs: &Side, report: &mut Report) {
    let who = if count == 1 { "client" } else { "clients" };
    for (place, job) in Job::ALL.into_iter().enumerate() {
        let (our, their) = (&ours.figures[place], &theirs.figures[place]);
        let what = format!("PostgreSQL, {count} {who}: {}", job.words());
        if our.rates.is_empty() {
            report.fact(&what, their.words(), String::new());
            continue;
        }
        // Of each round by itself, so that what else the machine did falls on both alike.
        let pairs = our.rates.iter().zip(&their.rates);
        let times = median(&pairs.map(|(our, their)| our / their).collect::<Vec<_>>());
        let measured = format!("{}; plain SQL {}", our.words(), their.words());
        let ratio = format!("{times:.2}× the rate of plain SQL");
        if job == Job::Cycle {
            report.goal(&what, measured, ratio, "at least 1.0×", times >= 1.0);
        } else {
            report.fact(&what, measured, ratio);
        }
    }
    say("");
}

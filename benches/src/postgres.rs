//! A team's store: `inbox` on PostgreSQL beside plain SQL on the same server, in turns.

mod client;

use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use inbox_store::{Location, Store};
use inbox_testkit::cluster::Cluster;

use self::client::{Client, Job, Ours, Plain, tables};
use crate::Outcome;
use crate::lab::Lab;
use crate::report::{Report, say};
use crate::stats::Samples;
use crate::wake::wake_between;

const CLIENTS: [usize; 3] = [1, 8, 64];

/// Long enough for each of 64 clients to have done a few cycles.
const WARM: Duration = Duration::from_millis(1500);

/// A claim that finds nothing although there is something is tried again; this often is never.
const EMPTY: u32 = 10_000;

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    rounds: usize,
    each: Duration,
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

/// What one side did of one job, over all rounds.
#[derive(Default)]
struct Figures {
    rates: Vec<f64>,
    samples: Samples,
}

impl Figures {
    fn rate(&self) -> f64 {
        median(&self.rates)
    }

    fn words(&self) -> String {
        format!("{:.0}/s, {}", self.rate(), self.samples.words())
    }
}

fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

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

/// One side, and what it did.
struct Side {
    clients: Vec<Box<dyn Client>>,
    /// In the order of [`Job::ALL`].
    figures: [Figures; Job::ALL.len()],
}

impl Side {
    fn new(clients: Vec<Box<dyn Client>>) -> Self {
        Side {
            clients,
            figures: Default::default(),
        }
    }

    /// Every client does some of everything.
    fn warm(&mut self) -> Outcome<()> {
        for client in &mut self.clients {
            client.prepare(Job::Cycle)?;
        }
        slice(&mut self.clients, Job::Cycle, i64::MAX, WARM).map(drop)
    }
}

/// One round. What is sent in it is what there is to claim.
fn turn(
    sides: [&mut Side; 2],
    order: [usize; 2],
    each: Duration,
    counts: bool,
    tidy: impl Fn(),
) -> Outcome<()> {
    let mut sent = [0, 0];
    for (place, job) in Job::ALL.into_iter().enumerate() {
        if job == Job::Cycle {
            tidy();
        }
        for side in order {
            let budget = match job {
                Job::Claim => sent[side],
                _ => i64::MAX,
            };
            let crew = &mut *sides[side];
            if !crew.clients.iter().all(|client| client.can(job)) {
                continue;
            }
            for client in &mut crew.clients {
                client.prepare(job)?;
            }
            let (rate, samples) = slice(&mut crew.clients, job, budget, each)?;
            if job == Job::Send {
                sent[side] = i64::try_from(samples.len())?;
            }
            // The first round prepares statements and warms the caches.
            if counts {
                crew.figures[place].rates.push(rate);
                crew.figures[place].samples.extend(samples);
            }
        }
    }
    Ok(())
}

/// All clients do the job at once for so long, or until the budget is used: how many a second.
fn slice(
    clients: &mut [Box<dyn Client>],
    job: Job,
    budget: i64,
    each: Duration,
) -> Outcome<(f64, Samples)> {
    let left = AtomicI64::new(budget);
    let start = Barrier::new(clients.len() + 1);
    let (took, done) = std::thread::scope(|scope| {
        let crew: Vec<_> = clients
            .iter_mut()
            .map(|client| {
                let (left, start) = (&left, &start);
                scope.spawn(move || {
                    start.wait();
                    work(client.as_mut(), job, left, each).map_err(|error| error.to_string())
                })
            })
            .collect();
        start.wait();
        let begun = Instant::now();
        let done: Vec<_> = crew
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        (begun.elapsed(), done)
    });
    let mut samples = Samples::default();
    for one in done {
        samples.extend(one.map_err(|_| "a client panicked")??);
    }
    let count = u32::try_from(samples.len())?;
    Ok((f64::from(count) / took.as_secs_f64(), samples))
}

fn work(client: &mut dyn Client, job: Job, left: &AtomicI64, each: Duration) -> Outcome<Samples> {
    let mut samples = Samples::default();
    let begun = Instant::now();
    while begun.elapsed() < each && left.fetch_sub(1, Ordering::Relaxed) > 0 {
        let start = Instant::now();
        match job {
            Job::Floor => client.floor()?,
            Job::Send => client.send()?,
            Job::Claim => claim(client)?,
            Job::Cycle => {
                client.send()?;
                claim(client)?;
                client.done()?;
            }
        }
        samples.push(start.elapsed());
    }
    Ok(samples)
}

/// There is always something: at least what this client sent. But two who look at the same moment
/// may see the same one first, and the second of them nothing else.
fn claim(client: &mut dyn Client) -> Outcome<()> {
    for _ in 0..EMPTY {
        if client.claim()? {
            return Ok(());
        }
    }
    Err("claims find nothing in a queue that is not empty".into())
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

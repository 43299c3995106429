//! The life of one piece of work, again and again, by many clients at once: two sides in turns.

use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::stats::Samples;

/// Long enough for each of 64 clients to have done a few cycles.
const WARM: Duration = Duration::from_millis(1500);

/// A claim that finds nothing although there is something is tried again; this often is never.
const EMPTY: u32 = 10_000;

/// What is done again and again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Job {
    Floor,
    Send,
    Claim,
    Cycle,
}

impl Job {
    pub(crate) const ALL: [Job; 4] = [Job::Floor, Job::Send, Job::Claim, Job::Cycle];

    pub(crate) fn words(self) -> &'static str {
        match self {
            Job::Floor => "one row inserted, committed",
            Job::Send => "send",
            Job::Claim => "claim",
            Job::Cycle => "send + claim + done",
        }
    }
}

/// One client with a connection of its own.
pub(crate) trait Client: Send {
    fn can(&self, job: Job) -> bool;
    /// Is told what comes next.
    fn prepare(&mut self, _job: Job) -> Outcome<()> {
        Ok(())
    }
    fn floor(&mut self) -> Outcome<()>;
    fn send(&mut self) -> Outcome<()>;
    /// Whether there was something.
    fn claim(&mut self) -> Outcome<bool>;
    /// Finishes what was claimed last.
    fn done(&mut self) -> Outcome<()>;
}

/// What one side did of one job, over all rounds.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) rates: Vec<f64>,
    pub(crate) samples: Samples,
}

impl Figures {
    pub(crate) fn rate(&self) -> f64 {
        median(&self.rates)
    }

    pub(crate) fn words(&self) -> String {
        format!("{:.0}/s, {}", self.rate(), self.samples.words())
    }
}

pub(crate) fn median(of: &[f64]) -> f64 {
    let mut sorted = of.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// One side, and what it did.
pub(crate) struct Side {
    clients: Vec<Box<dyn Client>>,
    /// In the order of [`Job::ALL`].
    pub(crate) figures: [Figures; Job::ALL.len()],
}

impl Side {
    pub(crate) fn new(clients: Vec<Box<dyn Client>>) -> Self {
        Side {
            clients,
            figures: Default::default(),
        }
    }

    /// Every client does some of everything.
    pub(crate) fn warm(&mut self) -> Outcome<()> {
        for client in &mut self.clients {
            client.prepare(Job::Cycle)?;
        }
        slice(&mut self.clients, Job::Cycle, i64::MAX, WARM).map(drop)
    }
}

/// One round. What is sent in it is what there is to claim.
pub(crate) fn turn(
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

//! Random histories of workers who claim, renew, write, finish and give back the same threads at once, some of them killed on
//! the way, and a judge who looks for an order that explains what each was told.

mod worker;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use inbox_core::ThreadId;
use inbox_core::record::Millis;
use inbox_ops::Inbox;
use inbox_store::Clock;

use worker::Worker;

use crate::bout::Bout;
use crate::dice::Dice;
use crate::ground::{Ground, inbox};
use crate::history::{Deed, judge};
use crate::races::open;
use crate::{Broken, Part};

/// How many workers there are.
const WORKERS: usize = 8;

/// How many steps each takes in a history.
const STEPS: usize = 200;

/// How many threads they work on at a time. One that has ended is followed by another, and each is judged by itself.
const THREADS: usize = 6;

/// How many histories share a store.
const ACT: u64 = 100;

/// How many real processes die in a history.
const DEATHS: usize = 2;

/// Where the histories' clock begins.
const START: i64 = 1_800_000_000_000;

/// The part.
pub struct Histories;

impl Part for Histories {
    fn name(&self) -> &'static str {
        "histories"
    }

    fn promise(&self) -> &'static str {
        "claims, renewals and writes happen in one order, one after another, whoever asks at once"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        bout.in_acts(ACT, act)
    }
}

/// Histories on one store.
fn act(bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<(), Broken> {
    let clock = Arc::new(AtomicI64::new(START));
    let open = || -> Result<Inbox, Broken> {
        let clock = Clock::Manual(Arc::clone(&clock));
        Ok(inbox(ground.store()?.with_clock(clock)))
    };
    let inboxes = (0..WORKERS).map(|_| open());
    let inboxes = inboxes.collect::<Result<Vec<_>, _>>()?;
    while let Some(round) = bout.next() {
        // Whatever time it was at the end of the one before.
        clock.store(START, Ordering::SeqCst);
        let field = Field::new(ground, &clock, &inboxes[0], round.number, &round.dice)?;
        let deeds = field.play(&inboxes, &round.dice)?;
        bout.count("histories", 1);
        for (thread, deeds) in field.threads().all.iter().zip(&deeds) {
            let order =
                judge(deeds).map_err(|wrong| Broken::new(format!("thread {thread}: {wrong}")))?;
            bout.count("steps", u64::try_from(order.len()).unwrap_or(0));
            let of = |is: fn(&Deed) -> bool| {
                u64::try_from(deeds.iter().filter(|deed| is(deed)).count()).unwrap_or(0)
            };
            bout.count("claims after the first", of(worker::is_steal));
            bout.count("finished", of(worker::is_end));
            bout.count("killed", of(|deed| deed.answered.is_none()));
        }
    }
    Ok(())
}

/// The threads of a history, in the order in which they were opened.
struct Threads {
    all: Vec<ThreadId>,
    /// Which of them are worked on.
    places: [usize; THREADS],
}

/// What the workers of one history share.
struct Field<'a> {
    ground: &'a Ground<'a>,
    clock: &'a AtomicI64,
    begun: Instant,
    /// Which history it is, as its threads say.
    subject: String,
    threads: Mutex<Threads>,
    /// Before which of its steps a worker's process dies, by worker.
    deaths: Vec<(usize, usize)>,
}

impl<'a> Field<'a> {
    fn new(
        ground: &'a Ground<'a>,
        clock: &'a AtomicI64,
        inbox: &Inbox,
        number: u64,
        dice: &Dice,
    ) -> Result<Self, Broken> {
        let mut dice = dice.nth(1000);
        let subject = format!("history {number}");
        let all = (0..THREADS).map(|_| open(inbox, &subject));
        let threads = Threads {
            all: all.collect::<Result<_, _>>()?,
            places: std::array::from_fn(|place| place),
        };
        Ok(Field {
            ground,
            clock,
            begun: Instant::now(),
            subject,
            threads: Mutex::new(threads),
            deaths: (0..DEATHS)
                .map(|_| (dice.place(WORKERS), dice.place(STEPS)))
                .collect(),
        })
    }

    /// Lets all workers go at once; what each thread has seen, in no order.
    fn play(&self, inboxes: &[Inbox], dice: &Dice) -> Result<Vec<Vec<Deed>>, Broken> {
        let start = Barrier::new(inboxes.len());
        let played = std::thread::scope(|scope| {
            let workers: Vec<_> = inboxes
                .iter()
                .zip(0..)
                .map(|(inbox, number)| {
                    let mut worker = Worker::new(self, inbox, number, dice);
                    let start = &start;
                    scope.spawn(move || {
                        start.wait();
                        (0..STEPS).try_for_each(|step| worker.go_on(step))?;
                        Ok(worker.deeds)
                    })
                })
                .collect();
            let join = workers.into_iter().map(|worker| worker.join());
            join.map(crate::joined).collect::<Result<Vec<_>, Broken>>()
        })?;
        let mut by_thread = vec![Vec::new(); self.threads().all.len()];
        for (thread, deed) in played.into_iter().flatten() {
            by_thread[thread].push(deed);
        }
        Ok(by_thread)
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which thread of its history is worked on in a place.
    fn at(&self, place: usize) -> usize {
        self.threads().places[place]
    }

    fn id(&self, thread: usize) -> ThreadId {
        self.threads().all[thread]
    }

    /// Opens another thread in the place of one that has ended, unless somebody else has.
    fn follow(&self, inbox: &Inbox, ended: usize) -> Result<(), Broken> {
        let mut threads = self.threads();
        if let Some(place) = threads.places.iter().position(|at| *at == ended) {
            let next = open(inbox, &self.subject)?;
            threads.places[place] = threads.all.len();
            threads.all.push(next);
        }
        Ok(())
    }

    /// Real time, which never goes back.
    fn moment(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The store's time.
    fn now(&self) -> Millis {
        Millis(self.clock.load(Ordering::SeqCst))
    }
}

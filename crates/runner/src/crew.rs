//! The runner: waits for work, takes as much as it has places for, and ends when it is told or has nothing left.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use inbox_core::{Refusal, Status};
use inbox_ops::{Caller, Claim, Config, Fetch, SessionBeat, SessionEnd, SessionStart};

use crate::clock;
use crate::hand::{Claimed, Hand};
use crate::house::{End, House, News, Plan, Slots, Stop};
use crate::leash::Leash;
use crate::line::{About, Line};

/// How often the runner says that it is there.
const BEAT: Duration = Duration::from_mins(5);

/// How many threads may wait for answers at once, beside those that are worked on.
const WAITING: usize = 100;

/// How long to wait for a place before it is looked whether the runner has to end.
const LOOK: Duration = Duration::from_millis(250);

/// What a runner has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Threads that were finished.
    pub done: u64,
    /// Threads that were given up.
    pub failed: u64,
    /// Threads that ended otherwise: given back, lost, cancelled, waiting.
    pub other: u64,
}

impl Tally {
    fn add(&mut self, end: End) {
        match end {
            End::Final(Status::Done) => self.done += 1,
            End::Final(Status::Failed) => self.failed += 1,
            _ => self.other += 1,
        }
    }
}

/// Runs until it is told to end, or has done what the plan says.
pub fn run<L: Line>(
    open: Box<dyn Fn() -> Result<L, Refusal> + Send + Sync>,
    config: Config,
    plan: Plan,
    caller: Caller,
    stop: Arc<Stop>,
    tell: Box<dyn Fn(News) + Send + Sync>,
) -> Result<Tally, Refusal> {
    let line = open()?;
    let start = SessionStart {
        role: plan.role.clone(),
        tag: plan.tag.clone(),
        client: "run".parse().ok(),
    };
    let session = line.call(&start, &caller)?.session.session_id;
    let house = Arc::new(House {
        slots: Slots::new(plan.concurrency.max(1)),
        caller: Caller {
            session: Some(session),
            ..caller
        },
        open,
        config,
        plan,
        stop,
        tell,
        broken: Mutex::new(None),
    });
    let crew = Crew {
        tally: Arc::default(),
        beat_at: clock::now() + BEAT,
        house: Arc::clone(&house),
        line,
    };
    let (line, outcome) = crew.until_over();
    // A session that cannot be ended is dead soon by itself.
    let _ = line.call(&SessionEnd::default(), &house.caller);
    let broken = house
        .broken
        .lock()
        .ok()
        .and_then(|mut broken| broken.take());
    match broken {
        Some(refusal) => Err(refusal),
        None => outcome,
    }
}

struct Crew<L: Line> {
    house: Arc<House<L>>,
    line: L,
    tally: Arc<Mutex<Tally>>,
    beat_at: Duration,
}

impl<L: Line> Crew<L> {
    fn until_over(mut self) -> (L, Result<Tally, Refusal>) {
        let outcome = self.take_all();
        // What runs is finished, or ended when the runner has to.
        while self.house.slots.in_hand() > 0 {
            self.house.slots.wait(LOOK);
            self.beat();
        }
        let tally = self.tally.lock().map(|tally| *tally).unwrap_or_default();
        (self.line, outcome.map(|()| tally))
    }

    fn take_all(&mut self) -> Result<(), Refusal> {
        let house = Arc::clone(&self.house);
        let mut is_idle = false;
        while !house.stop.is_asked() {
            self.beat();
            if !house.slots.has_free() || house.slots.in_hand() > house.plan.concurrency + WAITING {
                house.slots.wait(LOOK);
                continue;
            }
            let found = self.claim()?;
            if let Some(claimed) = found {
                is_idle = false;
                self.hand_out(claimed);
                if house.plan.once {
                    return Ok(());
                }
                continue;
            }
            if house.plan.drain {
                // What is worked on may leave more to do.
                if !house.slots.is_busy() {
                    return Ok(());
                }
                house.slots.wait(LOOK);
                continue;
            }
            if !is_idle && house.slots.in_hand() == 0 {
                (house.tell)(News::Idle);
                is_idle = true;
            }
            self.wait()?;
        }
        Ok(())
    }

    /// Waits until there is something to claim, or it is time to look after the session.
    fn wait(&mut self) -> Result<(), Refusal> {
        let house = &self.house;
        let fetch = Fetch {
            limit: Some(1),
            run: house.plan.run.clone(),
            task: house.plan.task.clone(),
            ..Fetch::default()
        };
        let mut look = |line: &L| {
            let found = line.call(&fetch, &house.caller)?;
            Ok((!found.threads.is_empty()).then_some(()))
        };
        let is_over = || house.stop.is_asked() || clock::now() >= self.beat_at;
        self.line
            .until(About::Caller, &house.caller, &mut look, &is_over)
            .map(drop)
    }

    fn beat(&mut self) {
        let now = clock::now();
        if now >= self.beat_at {
            let _ = self.line.call(&SessionBeat::default(), &self.house.caller);
            self.beat_at = now + BEAT;
        }
    }

    fn claim(&self) -> Result<Option<Claimed>, Refusal> {
        let house = &self.house;
        if !house.slots.take() {
            return Ok(None);
        }
        let seconds = house.config.run.lease_seconds;
        let claim = Claim {
            lease_seconds: Some(seconds),
            run: house.plan.run.clone(),
            task: house.plan.task.clone(),
            ..Claim::default()
        };
        let asked = clock::now();
        let claimed = self.line.call(&claim, &house.caller);
        let claimed = claimed.map(|leased| {
            let lease = leased.lease?;
            let length = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
            Some(Claimed {
                thread: leased.thread?,
                caller: Caller {
                    lease: lease.lease_token,
                    ..house.caller.clone()
                },
                epoch: lease.epoch,
                leash: Leash::new(length, asked),
                next_event_id: leased.next_event_id,
            })
        });
        if !matches!(claimed, Ok(Some(_))) {
            house.slots.give();
        }
        claimed
    }

    /// Works on a thread beside others. It has its place already.
    fn hand_out(&self, claimed: Claimed) {
        let (house, tally) = (Arc::clone(&self.house), Arc::clone(&self.tally));
        house.slots.begin();
        (house.tell)(News::Took {
            thread: claimed.thread.thread_id,
            subject: claimed.thread.subject.clone(),
        });
        std::thread::spawn(move || {
            // Whatever goes wrong, the place is free again.
            let _in_hand = InHand(Arc::clone(&house));
            let thread = claimed.thread.thread_id;
            let line = match (house.open)() {
                Ok(line) => line,
                Err(refusal) => return house.give_up(refusal),
            };
            let mut hand = Hand::new(Arc::clone(&house), line, claimed);
            let (end, summary) = hand.work();
            if let Ok(mut tally) = tally.lock() {
                tally.add(end);
            }
            (house.tell)(News::Ended {
                thread,
                end,
                summary,
                took: hand.took(),
            });
        });
    }
}

/// A thread in hand, until it is dropped.
struct InHand<L: Line>(Arc<House<L>>);

impl<L: Line> Drop for InHand<L> {
    fn drop(&mut self) {
        self.0.slots.give();
        self.0.slots.end();
    }
}

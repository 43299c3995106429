//! The world: what there is, what can happen next, and what is promised of it.

use crate::Broken;

const WORKERS: usize = 3;
pub(crate) const THREADS: usize = 2;
/// A lease's length, in ticks of the clock.
const LENGTH: u8 = 2;
/// What a thread's epoch is called in every world: tokens are compared with it and with nothing else, so that only this is kept of
/// them, and a thread may be claimed and given back without end.
const NOW: u8 = 1;
/// What all tokens are called whose epoch has passed: none comes again.
const PAST: u8 = 0;
/// How often the bridge may die.
const DEATHS: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Stage {
    #[default]
    Pending,
    Held,
    Done,
}

/// A row of the store, with what is to be told to the ledger about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Thread {
    stage: Stage,
    epoch: u8,
    /// For how many ticks it is still held.
    left: u8,
    /// Whether somebody was told that it is done.
    told: bool,
    in_outbox: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Step {
    Claim,
    Renew,
    Done,
    Release,
}

/// A worker between two of its steps. `epoch` is the claim that it has the token of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) enum Worker {
    #[default]
    Idle,
    /// It holds the thread, as far as it knows for so many ticks.
    Holds { thread: u8, epoch: u8, left: u8 },
    /// Its step is decided and not committed. `is_fresh` while nobody has written to the thread since it was read.
    Asks {
        thread: u8,
        epoch: u8,
        left: u8,
        step: Step,
        seen: u8,
        is_fresh: bool,
    },
    /// Its step is committed, and it does not know yet.
    Waits { thread: u8, step: Step, epoch: u8 },
    /// Its result is promised to be written later.
    Owes { thread: u8 },
    /// Its result is written, and the ledger's note is not.
    Notes { thread: u8 },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) enum Bridge {
    #[default]
    Idle,
    Carries(u8),
    Sent(u8),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct World {
    threads: [Thread; THREADS],
    pub(crate) workers: [Worker; WORKERS],
    bridge: Bridge,
    deaths: u8,
    /// Which thread each message of the topic is about.
    topic: [u8; THREADS + DEATHS as usize],
    length: u8,
    /// How far the listener has come, and how often each result is in the mirror.
    place: u8,
    pub(crate) mirror: [u8; THREADS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Ask(usize, u8, Step),
    Commit(usize),
    Hear(usize),
    Die(usize),
    Tick,
    Take(u8),
    Submit,
    Mark,
    BridgeDies,
    Listen,
    ListenerDiesHalfway,
}

/// What is after an act, or the promise that it breaks; nothing when it cannot happen.
pub(crate) type After = Option<Result<World, &'static str>>;

impl World {
    pub(crate) fn acts() -> Vec<Act> {
        let mut acts = vec![
            Act::Tick,
            Act::Submit,
            Act::Mark,
            Act::BridgeDies,
            Act::Listen,
            Act::ListenerDiesHalfway,
        ];
        for worker in 0..WORKERS {
            acts.extend([Act::Commit(worker), Act::Hear(worker), Act::Die(worker)]);
            for thread in 0..2 {
                let steps = [Step::Claim, Step::Renew, Step::Done, Step::Release];
                acts.extend(steps.map(|step| Act::Ask(worker, thread, step)));
            }
        }
        acts.extend((0..2).map(Act::Take));
        acts
    }

    pub(crate) fn after(mut self, act: Act, broken: Broken) -> After {
        match act {
            Act::Ask(worker, thread, step) => return self.ask(worker, thread, step, broken),
            Act::Commit(worker) => return self.commit(worker, broken),
            Act::Hear(worker) => self.hear(worker, broken)?,
            Act::Die(worker) => {
                (self.workers[worker] != Worker::Idle).then_some(())?;
                self.workers[worker] = Worker::Idle;
            }
            Act::Tick if broken.leases_never_end => return None,
            Act::Tick => self.tick()?,
            Act::Take(thread) => {
                let is_due =
                    self.bridge == Bridge::Idle && self.threads[usize::from(thread)].in_outbox;
                is_due.then_some(())?;
                self.bridge = Bridge::Carries(thread);
                if broken.marked_before_sent {
                    self.threads[usize::from(thread)].in_outbox = false;
                }
            }
            Act::Submit => {
                let Bridge::Carries(thread) = self.bridge else {
                    return None;
                };
                self.topic[usize::from(self.length)] = thread;
                self.length += 1;
                self.bridge = Bridge::Sent(thread);
            }
            Act::Mark => {
                let Bridge::Sent(thread) = self.bridge else {
                    return None;
                };
                self.threads[usize::from(thread)].in_outbox = false;
                self.bridge = Bridge::Idle;
            }
            Act::BridgeDies => {
                (self.bridge != Bridge::Idle && self.deaths < DEATHS).then_some(())?;
                self.deaths += 1;
                self.bridge = Bridge::Idle;
            }
            Act::Listen => self.listen(true, true, broken)?,
            // What is one commit is whole or not at all, and a listener that dies is as if it had not begun.
            Act::ListenerDiesHalfway if broken.place_before_rows => {
                self.listen(true, false, broken)?;
            }
            Act::ListenerDiesHalfway if broken.rows_without_uid => {
                self.listen(false, true, broken)?;
            }
            Act::ListenerDiesHalfway => return None,
        }
        Some(self.promises().map(|()| self))
    }

    /// Reads a thread and decides, as the store's rules do.
    fn ask(mut self, worker: usize, number: u8, step: Step, broken: Broken) -> After {
        let thread = self.threads[usize::from(number)];
        let is_live = thread.stage == Stage::Held && thread.left > 0;
        let (epoch, left) = match (self.workers[worker], step) {
            (Worker::Idle, Step::Claim) => {
                let is_free = thread.stage == Stage::Pending
                    || thread.stage == Stage::Held
                        && (thread.left == 0 || broken.live_lease_ignored);
                is_free.then_some((PAST, 0))?
            }
            (
                Worker::Holds {
                    thread: own,
                    epoch,
                    left,
                },
                _,
            ) if own == number && step != Step::Claim => (epoch, left),
            _ => return None,
        };
        if step != Step::Claim && !(is_live && (epoch == thread.epoch || broken.epoch_unchecked)) {
            // It is told that it has lost its lease.
            self.workers[worker] = Worker::Idle;
            return Some(Ok(self));
        }
        self.workers[worker] = Worker::Asks {
            thread: number,
            epoch,
            left,
            step,
            seen: thread.epoch,
            is_fresh: true,
        };
        if broken.told_before_commit && step == Step::Done {
            self.workers[worker] = Worker::Owes { thread: number };
            self.threads[usize::from(number)].told = true;
        }
        Some(self.promises().map(|()| self))
    }

    fn commit(mut self, worker: usize, broken: Broken) -> After {
        let (number, epoch, step) = match self.workers[worker] {
            Worker::Asks {
                thread,
                epoch,
                step,
                seen,
                is_fresh,
                left,
            } => {
                let now = self.threads[usize::from(thread)];
                let is_same = if broken.commit_compares_epochs_alone {
                    seen == now.epoch
                } else {
                    is_fresh
                };
                if !is_same {
                    // It is read and decided again.
                    self.workers[worker] = match step {
                        Step::Claim => Worker::Idle,
                        _ => Worker::Holds {
                            thread,
                            epoch,
                            left,
                        },
                    };
                    return Some(Ok(self));
                }
                (thread, epoch, step)
            }
            Worker::Owes { thread } => {
                (thread, self.threads[usize::from(thread)].epoch, Step::Done)
            }
            Worker::Notes { thread } => {
                self.threads[usize::from(thread)].in_outbox = true;
                self.workers[worker] = Worker::Waits {
                    thread,
                    step: Step::Done,
                    epoch: 0,
                };
                return Some(self.promises().map(|()| self));
            }
            _ => return None,
        };
        let thread = &mut self.threads[usize::from(number)];
        if step != Step::Claim && epoch != thread.epoch {
            return Some(Err("a worker that lost its lease cannot write"));
        }
        if thread.stage == Stage::Done {
            return Some(Err("what is done is done once"));
        }
        let mut token = epoch;
        match step {
            Step::Claim => {
                (thread.stage, thread.epoch, thread.left) = (Stage::Held, thread.epoch + 1, LENGTH);
                token = thread.epoch;
            }
            Step::Renew => thread.left = LENGTH,
            Step::Release => {
                (thread.stage, thread.epoch, thread.left) = (Stage::Pending, thread.epoch + 1, 0);
            }
            Step::Done => {
                (thread.stage, thread.left) = (Stage::Done, 0);
                thread.in_outbox = !broken.outbox_after_commit;
            }
        }
        self.workers[worker] = match step {
            Step::Done if broken.outbox_after_commit => Worker::Notes { thread: number },
            _ => Worker::Waits {
                thread: number,
                step,
                epoch: token,
            },
        };
        for other in &mut self.workers {
            if let Worker::Asks {
                thread, is_fresh, ..
            } = other
                && *thread == number
            {
                *is_fresh = false;
            }
        }
        Some(self.promises().map(|()| self))
    }

    fn hear(&mut self, worker: usize, broken: Broken) -> Option<()> {
        let Worker::Waits {
            thread,
            step,
            epoch,
        } = self.workers[worker]
        else {
            return None;
        };
        let row = &mut self.threads[usize::from(thread)];
        row.told |= step == Step::Done;
        // It is told when its lease ends: what is left of it now, if it still has it.
        let left = if broken.counted_from_the_answer {
            LENGTH
        } else if row.epoch == epoch && row.stage == Stage::Held {
            row.left
        } else {
            0
        };
        self.workers[worker] = match step {
            Step::Claim | Step::Renew => Worker::Holds {
                thread,
                epoch,
                left,
            },
            Step::Done | Step::Release => Worker::Idle,
        };
        Some(())
    }

    fn tick(&mut self) -> Option<()> {
        let threads = self.threads.iter_mut().map(|thread| &mut thread.left);
        let workers = self.workers.iter_mut().filter_map(|worker| match worker {
            Worker::Holds { left, .. } | Worker::Asks { left, .. } => Some(left),
            _ => None,
        });
        let mut has_passed = false;
        for left in threads.chain(workers).filter(|left| **left > 0) {
            *left -= 1;
            has_passed = true;
        }
        has_passed.then_some(())
    }

    /// Takes the next message of the topic in: its row, and that it was read.
    fn listen(&mut self, moves: bool, writes: bool, broken: Broken) -> Option<()> {
        (self.place < self.length).then_some(())?;
        let rows = &mut self.mirror[usize::from(self.topic[usize::from(self.place)])];
        if writes && (*rows == 0 || broken.rows_without_uid) {
            *rows += 1;
        }
        self.place += u8::from(moves);
        Some(())
    }

    fn promises(&self) -> Result<(), &'static str> {
        for number in 0..THREADS {
            let believes = |worker: &&Worker| match worker {
                Worker::Holds { thread, left, .. } => usize::from(*thread) == number && *left > 0,
                Worker::Asks {
                    thread, left, step, ..
                } => usize::from(*thread) == number && *left > 0 && *step == Step::Renew,
                _ => false,
            };
            if self.workers.iter().filter(believes).count() > 1 {
                return Err("one worker holds a thread at a time");
            }
            let thread = self.threads[number];
            if thread.told && thread.stage != Stage::Done && !self.is_owed(number) {
                return Err("what somebody was told is written stays written");
            }
            let read = &self.topic[..usize::from(self.place)];
            let is_read = read.iter().any(|about| usize::from(*about) == number);
            if self.mirror[number] != u8::from(is_read) {
                return Err("the mirror has every message of the topic once");
            }
        }
        Ok(())
    }

    fn is_owed(&self, number: usize) -> bool {
        let owes = |worker: &Worker| matches!(worker, Worker::Owes { thread } if usize::from(*thread) == number);
        self.workers.iter().any(owes)
    }

    pub(crate) fn is_delivered(&self) -> bool {
        let delivered = |(thread, rows): (&Thread, &u8)| thread.stage != Stage::Done || *rows == 1;
        self.threads.iter().zip(&self.mirror).all(delivered)
    }

    /// Whether all work is done.
    pub(crate) fn is_finished(&self) -> bool {
        self.threads
            .iter()
            .all(|thread| thread.stage == Stage::Done)
    }

    /// The same world as every other that differs from it in names alone: of workers, who are alike, and of epochs.
    pub(crate) fn normal(mut self) -> Self {
        let epochs = self.threads.map(|thread| thread.epoch);
        let named = |thread: u8, epoch: &mut u8| {
            *epoch = if *epoch == epochs[usize::from(thread)] {
                NOW
            } else {
                PAST
            };
        };
        for worker in &mut self.workers {
            match worker {
                Worker::Holds { thread, epoch, .. } | Worker::Waits { thread, epoch, .. } => {
                    named(*thread, epoch);
                }
                Worker::Asks {
                    thread,
                    epoch,
                    seen,
                    ..
                } => {
                    named(*thread, epoch);
                    named(*thread, seen);
                }
                Worker::Idle | Worker::Owes { .. } | Worker::Notes { .. } => {}
            }
        }
        for thread in &mut self.threads {
            thread.epoch = NOW;
        }
        self.workers.sort_unstable();
        self
    }
}

//! Many speak at once: what one sender says on one topic keeps its order, and nobody waits for another's.
//!
//! On a public network each message takes seconds. Each sender's part of a topic is a chain, and a few threads take chains until none is left.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::ledger::Leaving;
use inbox_store::TopicRow;

use super::{Bridge, RENEWAL, Turn};

/// How many of one sender are said on one topic before others have their turn.
const MOST: i64 = 25;

/// How long one sender speaks on one topic before others have their turn.
const WHILE: Duration = Duration::from_secs(10);

/// How many speak at once.
const VOICES: usize = 8;

/// How long to wait before the second try, in milliseconds; twice as long before each after it, up to the longest.
const PAUSE_MS: i64 = 1_000;
const LONGEST_PAUSE_MS: i64 = 300_000;

/// What one sender has to say on one topic, the oldest first.
struct Chain<'t> {
    topic: &'t TopicRow,
    leaving: Vec<Leaving>,
}

/// What was said so far, and what ended it.
#[derive(Default)]
struct Outcome {
    turn: Turn,
    failure: Option<Refusal>,
}

impl Bridge<'_> {
    /// Says what waits on these topics.
    pub(super) fn speak(&self, topics: &[TopicRow], turn: &mut Turn) -> Result<(), Refusal> {
        let due: HashSet<_> = self.inbox.due_topics(&self.name)?.into_iter().collect();
        let mut chains = VecDeque::new();
        for topic in topics {
            if due.contains(&(topic.topic_no, true)) {
                chains.extend(self.chains(topic)?);
            }
        }
        let voices = chains.len().min(VOICES);
        let chains = Mutex::new(chains);
        let outcome = Mutex::new(Outcome::default());
        if voices > 0 {
            std::thread::scope(|scope| {
                let (done, ended) = channel::<()>();
                for _ in 0..voices {
                    let done = done.clone();
                    let (chains, outcome) = (&chains, &outcome);
                    scope.spawn(move || {
                        self.say_chains(chains, outcome);
                        drop(done);
                    });
                }
                drop(done);
                while ended.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                    if let Err(refusal) = self.renew() {
                        locked(&outcome).failure.get_or_insert(refusal);
                    }
                }
            });
        }
        let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        turn.sent += outcome.turn.sent;
        turn.problems += outcome.turn.problems;
        outcome.failure.map_or(Ok(()), Err)
    }

    fn chains<'t>(&self, topic: &'t TopicRow) -> Result<Vec<Chain<'t>>, Refusal> {
        let mut of: BTreeMap<AgentName, Vec<Leaving>> = BTreeMap::new();
        for leaving in self.inbox.leaving(topic.topic_no, MOST)? {
            let sender = leaving.outgoing.agent.clone();
            of.entry(sender).or_default().push(leaving);
        }
        let chains = of.into_values().map(|leaving| Chain { topic, leaving });
        Ok(chains.collect())
    }

    /// Takes chains until there is none, or the store does not do what it should.
    fn say_chains(&self, chains: &Mutex<VecDeque<Chain<'_>>>, outcome: &Mutex<Outcome>) {
        loop {
            let next = locked(chains).pop_front();
            let Some(chain) = next.filter(|_| locked(outcome).failure.is_none()) else {
                return;
            };
            let mut turn = Turn::default();
            let said = self.say_chain(&chain, &mut turn);
            let mut outcome = locked(outcome);
            outcome.turn.sent += turn.sent;
            outcome.turn.problems += turn.problems;
            if let Err(refusal) = said {
                outcome.failure.get_or_insert(refusal);
            }
        }
    }

    /// Says what one sender has to say. What it says later does not overtake what it said before.
    fn say_chain(&self, chain: &Chain<'_>, turn: &mut Turn) -> Result<(), Refusal> {
        let begun = Instant::now();
        let Some(topic) = self.made(chain.topic, &chain.leaving, turn)? else {
            return Ok(());
        };
        for leaving in &chain.leaving {
            let now = self.inbox.now()?;
            if leaving.outgoing.sequence.is_some() {
                continue;
            }
            if leaving.outgoing.next_at > now || begun.elapsed() > WHILE {
                return Ok(());
            }
            let mut outgoing = leaving.outgoing.clone();
            match self.say(&topic, leaving, &mut outgoing) {
                Ok(true) => {
                    turn.sent += 1;
                    self.alarm.look_at(topic.topic_no);
                }
                // Another bridge has the topic.
                Ok(false) => return Ok(()),
                Err(refusal) if refusal.code == Code::Storage => return Err(refusal),
                Err(refusal) => {
                    turn.problems += 1;
                    let next = Millis(now.0 + pause(outgoing.tries));
                    return self.inbox.delay_outgoing(&outgoing, next, &refusal.message);
                }
            }
        }
        Ok(())
    }
}

/// How long to wait after so many tries, in milliseconds.
pub(super) fn pause(tries: i64) -> i64 {
    (PAUSE_MS << tries.clamp(0, 20)).min(LONGEST_PAUSE_MS)
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A bout: one part at work, for as long or as often as it was asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::ground::Ground;

/// How much is asked of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Rounds until the time has passed, and at least one.
    Within(Duration),
    /// So many rounds.
    Rounds(u64),
    /// This round alone, to see it again.
    Only(u64),
}

/// One round of a part.
#[derive(Debug)]
pub struct Round {
    /// Its number, from 0 on.
    pub number: u64,
    /// Dice that depend on the seed, the part and the number alone.
    pub dice: Dice,
}

/// What a part is given: a scratch store of its own, dice, and how much is asked.
pub struct Bout<'a> {
    ground: &'a Ground<'a>,
    part: &'static str,
    seed: u64,
    amount: Amount,
    stop: &'a AtomicBool,
    told: &'a mut dyn FnMut(&str),
    begun: Instant,
    rounds: u64,
    current: u64,
    counts: Vec<(&'static str, u64)>,
}

impl<'a> Bout<'a> {
    /// A part's bout; `stop` ends it early, and `told` hears how far it is.
    pub fn new(
        ground: &'a Ground<'a>,
        part: &'static str,
        seed: u64,
        amount: Amount,
        stop: &'a AtomicBool,
        told: &'a mut dyn FnMut(&str),
    ) -> Self {
        Bout {
            ground,
            part,
            seed,
            amount,
            stop,
            told,
            begun: Instant::now(),
            rounds: 0,
            current: 0,
            counts: Vec::new(),
        }
    }

    /// The next round, while there is time or rounds are left.
    #[expect(
        clippy::should_implement_trait,
        reason = "a part also counts between rounds, which an iterator would not let it"
    )]
    pub fn next(&mut self) -> Option<Round> {
        if self.is_stopped() {
            return None;
        }
        let number = match self.amount {
            Amount::Within(_) if self.rounds > 0 && self.is_late() => return None,
            Amount::Rounds(rounds) if self.rounds >= rounds => return None,
            Amount::Only(_) if self.rounds > 0 => return None,
            Amount::Only(round) => round,
            Amount::Within(_) | Amount::Rounds(_) => self.rounds,
        };
        self.rounds += 1;
        self.current = number;
        let line = format!("{}: round {number}, {}", self.part, self.counted());
        (self.told)(&line);
        Some(Round {
            number,
            dice: Dice::of_round(self.seed, self.part, number),
        })
    }

    /// Counts something that stands on the page, such as "kills".
    pub fn count(&mut self, what: &'static str, n: u64) {
        match self.counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += n,
            None => self.counts.push((what, n)),
        }
    }

    /// Notes the largest that was seen of something, such as a log's length.
    pub fn peak(&mut self, what: &'static str, n: u64) {
        match self.counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count = n.max(*count),
            None => self.counts.push((what, n)),
        }
    }

    /// Where it all happens.
    pub fn ground(&self) -> &'a Ground<'a> {
        self.ground
    }

    /// How many rounds are asked for, where it is by rounds: some parts prepare for all of them.
    pub fn amount(&self) -> Amount {
        self.amount
    }

    /// Whether somebody asked for an end: what happens then to children is no proof of anything.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Whether the time is over that was asked for: a long round ends early then.
    pub fn is_late(&self) -> bool {
        matches!(self.amount, Amount::Within(time) if self.begun.elapsed() >= time)
    }

    /// The number of the round that is on.
    pub fn round(&self) -> u64 {
        self.current
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// What was counted.
    pub fn counts(&self) -> &[(&'static str, u64)] {
        &self.counts
    }

    /// How long it has been on.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn counted(&self) -> String {
        let counts = self.counts.iter().map(|(what, n)| format!("{n} {what}"));
        counts.collect::<Vec<_>>().join(", ")
    }
}

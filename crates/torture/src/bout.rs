//! A bout: one part at work, for as long or as often as it was asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::Broken;
use crate::dice::Dice;
use crate::ground::Ground;

/// How much is asked of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Rounds until the time has passed, and at least one.
    Within(Duration),
    /// So many rounds.
    Rounds(u64),
    /// This round, to see it again, after those of its act that came before it.
    Only(u64),
}

/// One round of a part.
#[derive(Debug)]
pub struct Round {
    /// Its number, from 0 on.
    pub number: u64,
    /// Dice that depend on the seed, the part and the number alone.
    pub dice: Dice,
    /// Where the rounds of this seed and this part begin among things that are tried in turn.
    first: u64,
}

impl Round {
    /// Which of so many things it is the turn of: one after the other, so that as many rounds try each of them once, and from another one on
    /// with each seed, so that short runs do not try the same few for ever.
    pub fn turn(&self, of: u64) -> u64 {
        let of = of.max(1);
        let (first, number) = (u128::from(self.first), u128::from(self.number));
        u64::try_from((first + number) % u128::from(of)).unwrap_or(0)
    }
}

/// Which round comes next.
#[derive(Debug, Clone, Copy)]
struct Course {
    amount: Amount,
    /// How many rounds make an act: they share a store, so that one of them comes again only after those before it.
    act: u64,
    /// The last round of the act.
    last: Option<u64>,
    /// How many rounds there were.
    rounds: u64,
}

impl Course {
    fn new(amount: Amount) -> Self {
        Course {
            amount,
            act: 1,
            last: None,
            rounds: 0,
        }
    }

    /// The number of the next round, in this act or the one after it.
    fn upcoming(&self, is_late: bool) -> Option<u64> {
        match self.amount {
            Amount::Within(_) => (self.rounds == 0 || !is_late).then_some(self.rounds),
            Amount::Rounds(rounds) => (self.rounds < rounds).then_some(self.rounds),
            Amount::Only(round) => {
                let number = (round - round % self.act).checked_add(self.rounds)?;
                (number <= round).then_some(number)
            }
        }
    }

    /// Begins the act of the next round, if there is one. Which act it is.
    fn act(&mut self, rounds: u64, is_late: bool) -> Option<u64> {
        self.act = rounds.max(1);
        let number = self.upcoming(is_late)?;
        let act = number / self.act;
        self.last = Some((act * self.act).saturating_add(self.act - 1));
        Some(act)
    }

    /// The next round of this act.
    fn next(&mut self, is_late: bool) -> Option<u64> {
        let number = self.upcoming(is_late)?;
        if self.last.is_some_and(|last| number > last) {
            return None;
        }
        self.rounds += 1;
        Some(number)
    }
}

/// What a part is given: a scratch store of its own, dice, and how much is asked.
pub struct Bout<'a> {
    ground: &'a Ground<'a>,
    part: &'static str,
    seed: u64,
    course: Course,
    stop: &'a AtomicBool,
    told: &'a mut dyn FnMut(&str),
    begun: Instant,
    current: u64,
    counts: Vec<(&'static str, u64)>,
    peaks: Vec<&'static str>,
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
            course: Course::new(amount),
            stop,
            told,
            begun: Instant::now(),
            current: 0,
            counts: Vec::new(),
            peaks: Vec::new(),
        }
    }

    /// The ground of the next act, while there is time or rounds are left: so many rounds on a fresh store, from the same
    /// round on whether they are seen the first time or again. [`Bout::next`] gives them.
    pub fn act(&mut self, rounds: u64) -> Result<Option<Ground<'a>>, Broken> {
        if self.is_stopped() {
            return Ok(None);
        }
        let is_late = self.is_late();
        let act = self.course.act(rounds, is_late);
        act.map(|act| self.ground.another(&act.to_string()))
            .transpose()
    }

    /// Plays act after act, each to its end on a store of its own that must be sound then.
    pub fn in_acts(
        &mut self,
        rounds: u64,
        act: fn(&mut Bout<'a>, &Ground<'a>) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        while let Some(ground) = self.act(rounds)? {
            act(self, &ground)?;
            ground.is_sound()?;
            ground.remove();
        }
        Ok(())
    }

    /// The next round, while there is time or rounds are left, and the act is not over.
    #[expect(
        clippy::should_implement_trait,
        reason = "a part also counts between rounds, which an iterator would not let it"
    )]
    pub fn next(&mut self) -> Option<Round> {
        if self.is_stopped() {
            return None;
        }
        let number = self.course.next(self.is_late())?;
        self.current = number;
        let line = format!("{}: round {number}, {}", self.part, self.counted());
        (self.told)(&line);
        Some(Round {
            number,
            dice: Dice::of_round(self.seed, self.part, number),
            first: Dice::of_part(self.seed, self.part).next(),
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
        if !self.peaks.contains(&what) {
            self.peaks.push(what);
        }
        match self.counts.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count = n.max(*count),
            None => self.counts.push((what, n)),
        }
    }

    /// The part's own ground, beside which those of its acts are.
    pub fn ground(&self) -> &'a Ground<'a> {
        self.ground
    }

    /// Whether somebody asked for an end: what happens then to children is no proof of anything.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Whether the time is over that was asked for: a long round ends early then.
    pub fn is_late(&self) -> bool {
        matches!(self.course.amount, Amount::Within(time) if self.begun.elapsed() >= time)
    }

    /// The number of the round that is on.
    pub fn round(&self) -> u64 {
        self.current
    }

    /// How many rounds there were.
    pub fn rounds(&self) -> u64 {
        self.course.rounds
    }

    /// What was counted.
    pub fn counts(&self) -> &[(&'static str, u64)] {
        &self.counts
    }

    /// Which of it is the largest that was seen, and no sum.
    pub fn peaks(&self) -> &[&'static str] {
        &self.peaks
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds of each act.
    fn acts(amount: Amount, act: u64) -> Vec<Vec<u64>> {
        let mut course = Course::new(amount);
        let mut acts = Vec::new();
        while course.act(act, false).is_some() {
            let rounds: Vec<u64> = std::iter::from_fn(|| course.next(false)).collect();
            assert!(!rounds.is_empty(), "an act without a round has no end");
            acts.push(rounds);
        }
        acts
    }

    #[test]
    fn a_round_that_is_seen_again_comes_after_those_of_its_act_that_came_before_it() {
        let all = acts(Amount::Rounds(25), 10);
        assert_eq!(all.len(), 3);
        assert_eq!(all[2], [20, 21, 22, 23, 24]);
        for round in 0..25 {
            let again = acts(Amount::Only(round), 10);
            let within = all.iter().find(|act| act.contains(&round)).unwrap();
            assert_eq!(again.len(), 1);
            assert!(within.starts_with(&again[0]), "{again:?}");
            assert_eq!(again[0].last(), Some(&round));
        }
        assert_eq!(acts(Amount::Only(7), u64::MAX)[0].len(), 8);
        assert_eq!(acts(Amount::Only(u64::MAX), 1), [[u64::MAX]]);
        let last = acts(Amount::Only(u64::MAX), 10);
        assert_eq!(last.len(), 1);
        assert_eq!(last[0].last(), Some(&u64::MAX));
    }

    #[test]
    fn without_acts_a_round_that_is_seen_again_is_alone() {
        let mut course = Course::new(Amount::Only(212));
        assert_eq!(course.next(false), Some(212));
        assert_eq!(course.next(false), None);
    }

    #[test]
    fn things_are_tried_in_turn_from_another_one_on_with_each_seed() {
        const THINGS: u64 = 34;
        let turn = |seed, number| {
            let round = Round {
                number,
                dice: Dice::of_round(seed, "points", number),
                first: Dice::of_part(seed, "points").next(),
            };
            round.turn(THINGS)
        };
        let in_turn: Vec<_> = (0..THINGS).map(|number| turn(7, number)).collect();
        let each: std::collections::BTreeSet<_> = in_turn.iter().copied().collect();
        assert_eq!(each.len() as u64, THINGS);
        assert_eq!(in_turn[3], turn(7, 3), "a round comes again by its number");
        let begun: std::collections::BTreeSet<_> = (0..100).map(|seed| turn(seed, 0)).collect();
        assert!(begun.len() > 25, "{begun:?}");
        assert!(turn(u64::MAX, u64::MAX) < THINGS);
    }

    #[test]
    fn who_is_late_from_the_beginning_goes_one_round() {
        let mut course = Course::new(Amount::Within(Duration::ZERO));
        assert_eq!(course.next(true), Some(0));
        assert_eq!(course.next(true), None);
    }
}

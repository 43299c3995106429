//! Numbers that look random and come again with their seed.

/// Dice whose throws depend on nothing but where they came from.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a seed.
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    /// The dice of a round of a part, whatever else was thrown before.
    pub fn of_round(seed: u64, part: &str, round: u64) -> Self {
        Dice::of_part(seed, part).nth(round)
    }

    /// The dice of all rounds of a part.
    pub fn of_part(seed: u64, part: &str) -> Self {
        let mut dice = Dice(seed);
        for byte in part.bytes() {
            dice = Dice(dice.next() ^ u64::from(byte));
        }
        dice
    }

    /// Dice of their own for the `n`th thing, whatever order the things happen in.
    pub fn nth(&self, n: u64) -> Self {
        Dice(self.0 ^ n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number.
    #[expect(
        clippy::should_implement_trait,
        reason = "they never end, so they are no iterator"
    )]
    pub fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// A place among so many, which are not none.
    pub fn place(&mut self, among: usize) -> usize {
        let place = self.below(u64::try_from(among).unwrap_or(u64::MAX));
        usize::try_from(place).unwrap_or_default()
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.place(of.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_the_same_dice_alone_and_among_others() {
        let among: Vec<u64> = (0..5)
            .map(|round| Dice::of_round(7, "kills", round).next())
            .collect();
        assert_eq!(Dice::of_round(7, "kills", 3).next(), among[3]);
        assert_ne!(Dice::of_round(7, "races", 3).next(), among[3]);
        assert_ne!(Dice::of_round(8, "kills", 3).next(), among[3]);
        let distinct: std::collections::BTreeSet<_> = among.iter().collect();
        assert_eq!(distinct.len(), among.len());
    }
}

//! How long a command may live without another word from the store.
//!
//! A lease is counted from the moment before it was asked for, so that it ends here before it ends in the store. Whatever
//! was started under it is gone a margin before that.

use std::time::Duration;

/// The longest margin before a lease's end.
const MARGIN: Duration = Duration::from_secs(5);

/// A lease as the one who holds it may count on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leash {
    length: Duration,
    /// When it was last asked for.
    asked: Duration,
}

impl Leash {
    /// A lease of this length, which was asked for at this time and granted.
    pub fn new(length: Duration, asked: Duration) -> Self {
        Leash { length, asked }
    }

    /// It was renewed, as was asked for at this time.
    pub fn renewed(&mut self, asked: Duration) {
        self.asked = asked;
    }

    /// When to renew it.
    pub fn renew_at(&self) -> Duration {
        self.asked + self.length / 3
    }

    /// When to ask again after a renewal that could not be confirmed.
    pub fn again_at(&self, now: Duration) -> Duration {
        now + (self.length / 12).min(Duration::from_secs(1))
    }

    /// When nothing that was started may be alive any more.
    pub fn over_at(&self) -> Duration {
        (self.asked + self.length).saturating_sub(self.margin())
    }

    /// How long something may take to end by itself before that.
    pub fn grace(&self) -> Duration {
        self.margin()
    }

    fn margin(&self) -> Duration {
        (self.length / 6).min(MARGIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_command_is_asked_to_end_and_is_gone_before_the_lease_ends() {
        for length in [1, 3, 30, 900, 604_800] {
            let leash = Leash::new(seconds(length), seconds(1000));
            let end = seconds(1000 + length);
            assert!(leash.over_at() < end, "{length}");
            let asked_to_end = leash.over_at().saturating_sub(leash.grace());
            assert!(asked_to_end > leash.renew_at(), "{length}");
            // A renewal that fails once can be tried again before anything is stopped.
            let again = leash.again_at(leash.renew_at());
            assert!(again < asked_to_end, "{length}");
        }
    }

    #[test]
    fn a_renewal_counts_from_when_it_was_asked_for() {
        let mut leash = Leash::new(seconds(900), seconds(0));
        assert_eq!(leash.renew_at(), seconds(300));
        leash.renewed(seconds(310));
        assert_eq!(leash.renew_at(), seconds(610));
        assert_eq!(leash.over_at(), seconds(310 + 900 - 5));
    }
}

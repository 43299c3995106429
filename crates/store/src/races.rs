//! How often something is decided again that met another write, and when it takes turns with others or pauses.

use std::time::{Duration, Instant};

/// From so many on it takes turns with those who lost as many: of a hundred who write to one thread, each would meet the others more
/// often than a count could say.
const MANY: u32 = 3;

/// From so many on it pauses before it is tried again. Whoever takes turns meets only those who have just come.
const TOO_MANY: u32 = 20;

/// How long it is tried again.
const PATIENCE: Duration = Duration::from_mins(1);

/// The longest pause.
const LONGEST: Duration = Duration::from_secs(2);

/// The races that something has lost.
pub(crate) struct Races {
    lost: u32,
    begun: Instant,
}

impl Races {
    /// None so far.
    pub(crate) fn new() -> Self {
        Races {
            lost: 0,
            begun: Instant::now(),
        }
    }

    /// Whether it is time to take turns.
    pub(crate) fn are_many(&self) -> bool {
        self.lost >= MANY
    }

    /// Whether it is to be tried again after another race was lost.
    pub(crate) fn again(&mut self) -> bool {
        self.lost = self.lost.saturating_add(1);
        if self.lost < TOO_MANY {
            return true;
        }
        if self.begun.elapsed() >= PATIENCE {
            return false;
        }
        // Each for another while, so that they do not meet again: as long as one try takes, and then twice, four times, eight times as
        // long, because on a busy machine a try takes long.
        let one = self.begun.elapsed() / self.lost;
        let most = one.saturating_mul(1 << (self.lost - TOO_MANY).min(16));
        let most = u64::try_from(most.min(LONGEST).as_micros()).unwrap_or(u64::MAX);
        let pause = getrandom::u64().unwrap_or(most) % most.max(1);
        std::thread::sleep(Duration::from_micros(pause));
        true
    }
}

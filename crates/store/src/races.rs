//! How often, and after what pause, something is decided again that met another write.

use std::time::{Duration, Instant};

/// So often it is tried again at once: two who meet are over in no time.
const AT_ONCE: u32 = 5;

/// How long it is tried again. Of a hundred who write to one thread each meets the others more often than a count could say, and
/// all of them are served by then.
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

    /// Whether it is to be tried again after another race was lost. It waits for a while before, where many want the same: each
    /// for another one, so that they do not meet again.
    pub(crate) fn again(&mut self) -> bool {
        self.lost = self.lost.saturating_add(1);
        if self.lost <= AT_ONCE {
            return true;
        }
        if self.begun.elapsed() >= PATIENCE {
            return false;
        }
        // As long as one try takes, and then twice, four times, eight times as long: on a busy machine a try takes long.
        let one = self.begun.elapsed() / self.lost;
        let most = one.saturating_mul(1 << (self.lost - AT_ONCE).min(16));
        let most = u64::try_from(most.min(LONGEST).as_micros()).unwrap_or(u64::MAX);
        let pause = getrandom::u64().unwrap_or(most) % most.max(1);
        std::thread::sleep(Duration::from_micros(pause));
        true
    }
}

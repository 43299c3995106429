//! The time by which leases are kept: it counts on while the machine sleeps, and nobody sets it back.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The time since the machine started, the same in every process of it.
pub fn now() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

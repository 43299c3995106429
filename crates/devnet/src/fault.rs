//! Trouble on request, for the tests of those who must live with a network: a node that is busy, answers that are lost, receipts that are
//! late, a mirror that lags.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What goes wrong from now on.
#[derive(Debug, Default)]
pub struct Faults {
    busy: AtomicU32,
    lost: AtomicU32,
    late: AtomicU32,
    latency_ms: AtomicU64,
    lag_ms: AtomicI64,
}

/// Takes one of so many.
fn take(left: &AtomicU32) -> bool {
    left.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        left.checked_sub(1)
    })
    .is_ok()
}

impl Faults {
    /// The next so many transactions find the node busy, and do not happen.
    pub fn busy(&self, count: u32) {
        self.busy.store(count, Ordering::SeqCst);
    }

    /// The next so many transactions happen, and the answer is lost.
    pub fn lose(&self, count: u32) {
        self.lost.store(count, Ordering::SeqCst);
    }

    /// The next so many questions for a receipt find none.
    pub fn delay_receipts(&self, count: u32) {
        self.late.store(count, Ordering::SeqCst);
    }

    /// Every call takes so much longer.
    pub fn slow(&self, by: Duration) {
        let millis = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.latency_ms.store(millis, Ordering::SeqCst);
    }

    /// The mirror does not have what is younger than this.
    pub fn lag(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        self.lag_ms.store(millis, Ordering::SeqCst);
    }

    pub(crate) fn is_busy(&self) -> bool {
        take(&self.busy)
    }

    pub(crate) fn is_lost(&self) -> bool {
        take(&self.lost)
    }

    pub(crate) fn is_late(&self) -> bool {
        take(&self.late)
    }

    pub(crate) async fn wait(&self) {
        let millis = self.latency_ms.load(Ordering::SeqCst);
        if millis > 0 {
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
    }

    /// How far the mirror is behind, in nanoseconds.
    pub(crate) fn behind(&self) -> i64 {
        self.lag_ms.load(Ordering::SeqCst).saturating_mul(1_000_000)
    }
}

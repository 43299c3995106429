//! Trouble on request, for the tests of those who must live with a network: a node that is busy, answers that are lost, receipts that are
//! late, a mirror that lags or does not say what there is.

mod twist;

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use thiserror::Error;

pub use twist::Twist;
use twist::Twists;

/// What goes wrong from now on.
#[derive(Debug, Default)]
pub struct Faults {
    busy: AtomicU32,
    lost: AtomicU32,
    late: AtomicU32,
    latency_ms: AtomicU64,
    lag_ms: AtomicI64,
    pub(crate) twists: Twists,
}

/// One thing that is to go wrong, as `busy=3` or `lag=2s` asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The next so many transactions find the node busy, and do not happen.
    Busy(u32),
    /// The next so many transactions happen, and the answer is lost.
    Lose(u32),
    /// The next so many questions for a receipt find none.
    Late(u32),
    /// Every call takes so much longer.
    Slow(Duration),
    /// The mirror does not have what is younger than this.
    Lag(Duration),
    /// The next so many answers of the mirror are wrong in this way.
    Mirror(Twist, u32),
}

/// A text that asks for no trouble.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{0:?} is no fault: there are busy=N, lose=N and late=N, slow=TIME and lag=TIME as in 200ms, 2s or 1m, and of the mirror drop=N, repeat=N, reorder=N, other=N, cut=N, limit=N, fail=N, html=N, bare=N and pieces=N"
)]
pub struct NoTrouble(pub String);

impl FromStr for Trouble {
    type Err = NoTrouble;

    fn from_str(text: &str) -> Result<Self, NoTrouble> {
        let no = || NoTrouble(text.to_owned());
        let (name, value) = text.split_once('=').ok_or_else(no)?;
        let count = || value.parse().map_err(|_| no());
        let time = || duration(value).ok_or_else(no);
        Ok(match name {
            "busy" => Trouble::Busy(count()?),
            "lose" => Trouble::Lose(count()?),
            "late" => Trouble::Late(count()?),
            "slow" => Trouble::Slow(time()?),
            "lag" => Trouble::Lag(time()?),
            _ => {
                let twist = Twist::ALL.into_iter().find(|twist| twist.name() == name);
                Trouble::Mirror(twist.ok_or_else(no)?, count()?)
            }
        })
    }
}

/// A time of at most a day: `200ms`, `2s`, `1m`.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    };
    let millis = number.checked_mul(unit)?;
    (millis <= 24 * 60 * 60 * 1_000).then(|| Duration::from_millis(millis))
}

impl fmt::Display for Faults {
    /// What is set, as it is asked for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |left: &AtomicU32| left.load(Ordering::SeqCst);
        write!(
            f,
            "busy={} lose={} late={} slow={}ms lag={}ms",
            count(&self.busy),
            count(&self.lost),
            count(&self.late),
            self.latency_ms.load(Ordering::SeqCst),
            self.lag_ms.load(Ordering::SeqCst)
        )?;
        for twist in Twist::ALL {
            write!(f, " {}={}", twist.name(), self.twists.left(twist))?;
        }
        Ok(())
    }
}

/// Takes one of so many.
fn take(left: &AtomicU32) -> bool {
    left.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        left.checked_sub(1)
    })
    .is_ok()
}

impl Faults {
    /// Asks for trouble, in place of what was asked for of its kind.
    pub fn set(&self, trouble: Trouble) {
        match trouble {
            Trouble::Busy(count) => self.busy(count),
            Trouble::Lose(count) => self.lose(count),
            Trouble::Late(count) => self.delay_receipts(count),
            Trouble::Slow(by) => self.slow(by),
            Trouble::Lag(by) => self.lag(by),
            Trouble::Mirror(twist, count) => self.twist(twist, count),
        }
    }

    /// The next so many answers of the mirror are wrong in this way.
    pub fn twist(&self, twist: Twist, count: u32) {
        self.twists.set(twist, count);
    }

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

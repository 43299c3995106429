//! What several workers did to one thread, as they saw it: when each asked, when it was answered, and what it was told.
//!
//! A history is right when its steps can be put in one order that a thread could have taken ([`Standing`]) and in which
//! no step comes before another that was answered before it was asked ([`judge()`]). Threads do not touch each other, so
//! each is judged by itself.

mod judge;
mod standing;

use inbox_core::record::Millis;
use inbox_core::{Code, Status};

pub use judge::{Unexplained, judge};
pub use standing::Standing;

/// One step that a worker asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// Who asked.
    pub worker: usize,
    /// For what.
    pub step: Step,
    /// When it was asked for, by a clock that never goes back.
    pub asked: u64,
    /// When it was answered; nothing for a worker that was killed before.
    pub answered: Option<u64>,
    /// The store's time when it was asked for.
    pub earliest: Millis,
    /// The store's time when it was answered. A worker that is killed has a clock that stands still.
    pub latest: Millis,
    /// What it was told.
    pub told: Told,
}

/// What is asked for. Whoever writes names the claim that lets it, by its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Take the thread for so many milliseconds.
    Claim(i64),
    /// Hold it for so many milliseconds from now.
    Renew(i64, i64),
    /// Report progress.
    Update(i64),
    /// Finish.
    Done(i64),
    /// Give up.
    Fail(i64),
    /// Give it back.
    Release(i64),
    /// Look at it.
    Look,
}

/// What a worker was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It holds the thread under this epoch until then.
    Held {
        /// Which claim of the thread it is.
        epoch: i64,
        /// When it ends.
        until: Millis,
    },
    /// It is written.
    Written,
    /// This is how the thread stands.
    Seen(Sight),
    /// It may not.
    Refused(Code),
    /// Nothing: the worker was killed, and nobody knows whether it got so far.
    Nothing,
}

/// A thread as a reader sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// Where it stands.
    pub status: Status,
    /// How often it was claimed.
    pub attempts: i64,
    /// The claim under which it is held, and its end.
    pub lease: Option<(i64, Millis)>,
    /// How many messages are in it.
    pub messages: usize,
}

#[cfg(test)]
mod tests;

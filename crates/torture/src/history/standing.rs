//! How one thread stands, and what may come next: the promises about leases in a page, written without the store and
//! without its rules, so that no fault is in both.

use inbox_core::record::Millis;
use inbox_core::{Code, Status};

use super::{Deed, Sight, Step, Told};

/// How a thread stands between two steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Standing {
    status: Status,
    attempts: i64,
    epoch: i64,
    until: Millis,
    messages: usize,
}

impl Standing {
    /// A thread that was just opened by one message.
    pub fn opened() -> Self {
        Standing {
            status: Status::Pending,
            attempts: 0,
            epoch: 0,
            until: Millis(0),
            messages: 1,
        }
    }

    /// How the thread stands after a step; nothing where the step cannot have been told what it was told.
    pub fn after(&self, deed: &Deed) -> Option<Standing> {
        match (deed.step, deed.told) {
            (step, Told::Nothing) => Some(self.perhaps(step, deed.earliest)),
            (Step::Look, Told::Seen(sight)) => (self.sight() == sight).then(|| self.clone()),
            (step, Told::Refused(code)) => self.refuses(step, code, deed).then(|| self.clone()),
            (Step::Claim(length), Told::Held { epoch, until }) => {
                let now = in_time(deed, until.0 - length)?;
                let next = self.claimed(now, length)?;
                (next.epoch == epoch).then_some(next)
            }
            (Step::Renew(epoch, length), Told::Held { epoch: told, until }) => {
                let now = in_time(deed, until.0 - length)?;
                let next = self.written(Step::Renew(epoch, length), now)?;
                (epoch == told).then_some(next)
            }
            (step, Told::Written) => self.written(step, deed.earliest),
            (_, Told::Held { .. } | Told::Seen(_)) => None,
        }
    }

    /// After a step of a worker that was killed: it had its effect if it could.
    fn perhaps(&self, step: Step, now: Millis) -> Standing {
        let next = match step {
            Step::Claim(length) => self.claimed(now, length),
            _ => self.written(step, now),
        };
        next.unwrap_or_else(|| self.clone())
    }

    fn claimed(&self, now: Millis, length: i64) -> Option<Standing> {
        let is_free = !self.status.is_final() && !self.is_live(now);
        is_free.then(|| Standing {
            status: Status::Claimed,
            attempts: self.attempts + 1,
            epoch: self.epoch + 1,
            until: Millis(now.0 + length),
            messages: self.messages,
        })
    }

    /// After a write by who holds the thread under the epoch that it names.
    fn written(&self, step: Step, now: Millis) -> Option<Standing> {
        let mut next = self.clone();
        let epoch = match step {
            Step::Renew(epoch, length) => {
                next.until = Millis(now.0 + length);
                epoch
            }
            Step::Update(epoch) => {
                next.status = Status::InProgress;
                next.messages += 1;
                epoch
            }
            Step::Done(epoch) => {
                next.status = Status::Done;
                next.messages += 1;
                epoch
            }
            Step::Fail(epoch) => {
                next.status = Status::Failed;
                next.messages += 1;
                epoch
            }
            Step::Release(epoch) => {
                next.status = Status::Pending;
                // Its token is worth nothing from here on.
                next.epoch += 1;
                epoch
            }
            Step::Claim(_) | Step::Look => return None,
        };
        (self.is_live(now) && self.epoch == epoch).then_some(next)
    }

    /// Whether a step can have been refused with this code at a moment between its question and its answer.
    fn refuses(&self, step: Step, code: Code, deed: &Deed) -> bool {
        if self.status.is_final() {
            return code == Code::InvalidTransition && step != Step::Look;
        }
        match step {
            Step::Look => false,
            Step::Claim(_) => code == Code::LeaseConflict && self.is_live(deed.earliest),
            Step::Renew(epoch, _)
            | Step::Update(epoch)
            | Step::Done(epoch)
            | Step::Fail(epoch)
            | Step::Release(epoch) => {
                code == Code::LeaseLost && (epoch != self.epoch || !self.is_live(deed.latest))
            }
        }
    }

    fn is_live(&self, now: Millis) -> bool {
        self.status.is_held() && now < self.until
    }

    fn sight(&self) -> Sight {
        Sight {
            status: self.status,
            attempts: self.attempts,
            lease: self.status.is_held().then_some((self.epoch, self.until)),
            messages: self.messages,
        }
    }
}

/// The store's time of a step, if the step can have been at it.
fn in_time(deed: &Deed, now: i64) -> Option<Millis> {
    (deed.earliest.0..=deed.latest.0)
        .contains(&now)
        .then_some(Millis(now))
}

impl std::fmt::Display for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}, claimed {} times, epoch {}, until {}, {} messages",
            self.status, self.attempts, self.epoch, self.until.0, self.messages
        )
    }
}

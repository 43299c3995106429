//! One worker of a history: what it does next, and what it is told.

use std::sync::atomic::Ordering;

use inbox_core::record::Millis;
use inbox_core::{Code, LeaseToken, Refusal, ThreadId};
use inbox_ops::{
    Caller, Claim, Done, Fail, Inbox, Leased, Operation, Release, Renew, Show, Update,
};
use inbox_store::FailPoint;

use super::{Field, STEPS, THREADS};
use crate::child::{Leashed, ends, words};
use crate::dice::Dice;
use crate::history::{Deed, Sight, Step, Told};
use crate::points::WRITES;
use crate::{Broken, must};

/// How long a lease is: the shortest that there is, in seconds.
const SECONDS: i64 = 1;
const LENGTH: i64 = 1000 * SECONDS;

/// A worker.
pub(super) struct Worker<'a> {
    field: &'a Field<'a>,
    inbox: &'a Inbox,
    number: usize,
    name: String,
    dice: Dice,
    /// The leases that it got, the newest last. It goes on with them whether they have ended or not.
    leases: Vec<(usize, i64, LeaseToken)>,
    /// What it did, with the thread's place in the field.
    pub(super) deeds: Vec<(usize, Deed)>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(field: &'a Field<'a>, inbox: &'a Inbox, number: usize, dice: &Dice) -> Self {
        Worker {
            field,
            inbox,
            number,
            name: format!("w{number}"),
            dice: dice.nth(u64::try_from(number).unwrap_or_default()),
            leases: Vec::new(),
            deeds: Vec::new(),
        }
    }

    /// Takes a step.
    pub(super) fn go_on(&mut self, step: usize) -> Result<(), Broken> {
        if self.dice.below(12) == 0 {
            // Time passes for everybody.
            let millis = i64::try_from(self.dice.below(400)).unwrap_or_default();
            self.field.clock.fetch_add(millis, Ordering::SeqCst);
        }
        let (thread, what, token) = self.choose(step);
        let id = self.field.id(thread);
        if self.field.deaths.contains(&(self.number, step)) && what != Step::Look {
            return self.die(thread, what, token);
        }
        let caller = Caller {
            lease: token,
            ..Caller::local(self.name.parse().ok())
        };
        let (asked, earliest) = (self.field.moment(), self.field.now());
        let told = self.ask(&caller, id, what);
        let (answered, latest) = (Some(self.field.moment()), self.field.now());
        let (told, lease) = told?;
        if let (Told::Held { epoch, .. }, Some(token)) = (told, lease) {
            self.leases.push((thread, epoch, token));
        }
        self.note(thread, what, (asked, answered), (earliest, latest), told);
        if has_ended(what, told) {
            self.field.follow(self.inbox, thread)?;
            // What its token is worth now is tried for a while, and not for ever.
            if self.dice.below(2) == 0 {
                self.leases.retain(|(held, ..)| *held != thread);
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        thread: usize,
        step: Step,
        (asked, answered): (u64, Option<u64>),
        (earliest, latest): (Millis, Millis),
        told: Told,
    ) {
        let worker = self.number;
        let deed = Deed {
            worker,
            step,
            asked,
            answered,
            earliest,
            latest,
            told,
        };
        self.deeds.push((thread, deed));
    }

    /// What to do next: mostly with a lease that it has, now and then with an old one.
    fn choose(&mut self, step: usize) -> (usize, Step, Option<LeaseToken>) {
        let any = self.field.at(self.dice.place(THREADS));
        let choice = self.dice.below(100);
        let back = match self.dice.below(4) {
            0 => self.dice.place(4),
            _ => 0,
        };
        let lease = self
            .leases
            .len()
            .checked_sub(1 + back)
            .map(|place| self.leases[place]);
        match (choice, lease) {
            (0..=24, _) => (any, Step::Look, None),
            (25..=49, _) | (_, None) => (any, Step::Claim(LENGTH), None),
            (choice, Some((thread, epoch, token))) => {
                let step = match choice {
                    50..=65 => Step::Renew(epoch, LENGTH),
                    66..=82 => Step::Update(epoch),
                    83..=93 => Step::Release(epoch),
                    // Late, or all threads would be over before they are fought for.
                    94..=97 if step > STEPS / 2 => Step::Done(epoch),
                    98..=99 if step > STEPS / 2 => Step::Fail(epoch),
                    _ => Step::Renew(epoch, LENGTH),
                };
                (thread, step, Some(token))
            }
        }
    }

    /// Asks the store, and gives what it told.
    fn ask(
        &self,
        caller: &Caller,
        thread: ThreadId,
        step: Step,
    ) -> Result<(Told, Option<LeaseToken>), Broken> {
        let summary = Some("so".to_owned());
        let written = |outcome: Result<(), Refusal>| outcome.map(|()| (Told::Written, None));
        let told = match step {
            Step::Claim(_) => {
                let claim = Claim {
                    thread: Some(thread),
                    lease_seconds: Some(SECONDS),
                    ..Claim::default()
                };
                claim.run(self.inbox, caller).and_then(held)
            }
            Step::Renew(..) => {
                let renew = Renew {
                    thread,
                    lease_seconds: Some(SECONDS),
                };
                let renewed = renew.run(self.inbox, caller).and_then(held);
                renewed.map(|(told, _)| (told, None))
            }
            Step::Update(_) => {
                let update = Update {
                    thread,
                    status: None,
                    summary,
                    body: None,
                    payload_json: None,
                    artifacts: Vec::new(),
                };
                written(update.run(self.inbox, caller).map(drop))
            }
            Step::Done(_) => {
                let done = Done {
                    thread,
                    summary,
                    body: None,
                    payload_json: None,
                    artifacts: Vec::new(),
                };
                written(done.run(self.inbox, caller).map(drop))
            }
            Step::Fail(_) => {
                let fail = Fail {
                    thread,
                    summary,
                    body: None,
                    payload_json: None,
                    artifacts: Vec::new(),
                };
                written(fail.run(self.inbox, caller).map(drop))
            }
            Step::Release(_) => written(Release { thread }.run(self.inbox, caller).map(drop)),
            Step::Look => Show::of(thread).run(self.inbox, caller).map(|shown| {
                let sight = Sight {
                    status: shown.thread.status,
                    attempts: shown.thread.attempts,
                    lease: shown.lease.map(|lease| (lease.epoch, lease.expires_at)),
                    messages: shown.messages.len(),
                };
                (Told::Seen(sight), None)
            }),
        };
        match told {
            Ok(told) => Ok(told),
            Err(refusal) => {
                let is_rule = matches!(
                    refusal.code,
                    Code::LeaseConflict | Code::LeaseLost | Code::InvalidTransition
                );
                must(is_rule, || {
                    format!(
                        "{step:?} was refused: {} ({})",
                        refusal.message, refusal.code
                    )
                })?;
                Ok((Told::Refused(refusal.code), None))
            }
        }
    }

    /// Takes the step in a process of its own, which dies at a point of its way, so that nobody is told what became of it.
    fn die(&mut self, thread: usize, step: Step, token: Option<LeaseToken>) -> Result<(), Broken> {
        let id = self.field.id(thread);
        let token = token.map(|token| token.to_string()).unwrap_or_default();
        let name = &self.name;
        let line = match step {
            Step::Claim(_) => {
                format!("claim --agent {name} --thread {id} --lease-seconds {SECONDS}")
            }
            Step::Renew(..) => {
                format!("renew --lease {token} --thread {id} --lease-seconds {SECONDS}")
            }
            Step::Update(_) => format!("update --lease {token} --thread {id} --summary so"),
            Step::Done(_) => format!("done --lease {token} --thread {id} --summary so"),
            Step::Fail(_) => format!("fail --lease {token} --thread {id} --summary so"),
            Step::Release(_) => format!("release --lease {token} --thread {id}"),
            Step::Look => return Ok(()),
        };
        let point = self.dice.pick(&WRITES).copied();
        let point = point.unwrap_or(FailPoint::AfterCommit) as u32;
        let now = self.field.now();
        let mut command = self.field.ground.command(words(&line));
        command
            .env("INBOX_FAIL_POINT", point.to_string())
            // Its clock stands still, so that it is known when it acted, if it did.
            .env("INBOX_NOW", now.to_string());
        let asked = self.field.moment();
        let outcome = ends(Leashed(command.spawn()?))?;
        // A refusal does not come by the later points, and says nothing more than that.
        if !matches!(outcome.code, -1 | 20 | 30) {
            let what = format!("a process that was to die at point {point} did not: {outcome}");
            return Err(outcome.broken(what));
        }
        self.note(thread, step, (asked, None), (now, now), Told::Nothing);
        Ok(())
    }
}

fn held(leased: Leased) -> Result<(Told, Option<LeaseToken>), Refusal> {
    let lease = leased
        .lease
        .ok_or_else(|| Refusal::input("no lease came"))?;
    let told = Told::Held {
        epoch: lease.epoch,
        until: lease.expires_at,
    };
    Ok((told, lease.lease_token))
}

/// Whether it can be seen from an answer that a thread has ended, whoever ended it.
fn has_ended(step: Step, told: Told) -> bool {
    match (step, told) {
        (Step::Done(_) | Step::Fail(_), Told::Written)
        | (_, Told::Refused(Code::InvalidTransition)) => true,
        (_, Told::Seen(sight)) => sight.status.is_final(),
        _ => false,
    }
}

/// Whether somebody ended a thread and was told so.
pub(super) fn is_end(deed: &Deed) -> bool {
    matches!(
        (deed.step, deed.told),
        (Step::Done(_) | Step::Fail(_), Told::Written)
    )
}

/// Whether a thread was claimed that somebody had claimed before.
pub(super) fn is_steal(deed: &Deed) -> bool {
    matches!((deed.step, deed.told), (Step::Claim(_), Told::Held { epoch, .. }) if epoch > 1)
}

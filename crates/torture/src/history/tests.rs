use inbox_core::record::Millis;
use inbox_core::{Code, Status};

use super::{Deed, Sight, Step, Told, judge};

/// A history that is written down step by step; each step takes ten ticks of the clock, one after another.
#[derive(Default)]
struct Script {
    deeds: Vec<Deed>,
    clock: u64,
    now: i64,
}

impl Script {
    /// The next step, after all before it.
    fn then(self, worker: usize, step: Step, told: Told) -> Self {
        let asked = self.clock;
        self.between(worker, step, told, asked, asked + 10)
    }

    /// A step that lasts from one tick to another.
    fn between(mut self, worker: usize, step: Step, told: Told, from: u64, to: u64) -> Self {
        let is_known = told != Told::Nothing;
        self.deeds.push(Deed {
            worker,
            step,
            asked: from,
            answered: is_known.then_some(to),
            earliest: Millis(self.now),
            latest: Millis(self.now),
            told,
        });
        self.clock = self.clock.max(to + 1);
        self
    }

    fn killed(self, worker: usize, step: Step) -> Self {
        self.then(worker, step, Told::Nothing)
    }

    fn pass(mut self, millis: i64) -> Self {
        self.now += millis;
        self
    }

    fn held(self, worker: usize, step: Step, epoch: i64, until: i64) -> Self {
        let until = Millis(until);
        self.then(worker, step, Told::Held { epoch, until })
    }

    fn written(self, worker: usize, step: Step) -> Self {
        self.then(worker, step, Told::Written)
    }

    fn refused(self, worker: usize, step: Step, code: Code) -> Self {
        self.then(worker, step, Told::Refused(code))
    }

    fn seen(
        self,
        status: Status,
        epoch: Option<(i64, i64)>,
        attempts: i64,
        messages: usize,
    ) -> Self {
        let lease = epoch.map(|(epoch, until)| (epoch, Millis(until)));
        let sight = Sight {
            status,
            attempts,
            lease,
            messages,
        };
        self.then(9, Step::Look, Told::Seen(sight))
    }

    #[track_caller]
    fn explained(self) -> Vec<usize> {
        judge(&self.deeds).unwrap_or_else(|wrong| panic!("{wrong}"))
    }

    /// That no order explains it, because of the step of this number.
    #[track_caller]
    fn unexplained_at(self, number: usize) {
        let wrong = judge(&self.deeds).expect_err("nothing can explain this");
        assert_eq!(wrong.deed, self.deeds[number], "{wrong}");
    }
}

const LENGTH: i64 = 1000;

#[test]
fn one_worker_after_another_is_explained() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .refused(1, Step::Claim(LENGTH), Code::LeaseConflict)
        .pass(500)
        .held(0, Step::Renew(1, LENGTH), 1, 1500)
        .written(0, Step::Update(1))
        .seen(Status::InProgress, Some((1, 1500)), 1, 2)
        .written(0, Step::Release(1))
        .refused(0, Step::Update(1), Code::LeaseLost)
        .held(1, Step::Claim(LENGTH), 3, 1500)
        .written(1, Step::Done(3))
        .refused(1, Step::Done(3), Code::InvalidTransition)
        .refused(0, Step::Claim(LENGTH), Code::InvalidTransition)
        .seen(Status::Done, None, 2, 3)
        .explained();
}

#[test]
fn of_steps_at_once_any_order_will_do() {
    let found = Script::default()
        .between(
            0,
            Step::Claim(LENGTH),
            Told::Refused(Code::LeaseConflict),
            0,
            50,
        )
        .between(
            1,
            Step::Claim(LENGTH),
            Told::Refused(Code::LeaseConflict),
            5,
            40,
        )
        .between(
            2,
            Step::Claim(LENGTH),
            Told::Held {
                epoch: 1,
                until: Millis(1000),
            },
            10,
            60,
        )
        .explained();
    assert_eq!(found[0], 2, "the winner comes first: {found:?}");
}

#[test]
fn two_winners_are_found() {
    Script::default()
        .between(
            0,
            Step::Claim(LENGTH),
            Told::Held {
                epoch: 1,
                until: Millis(1000),
            },
            0,
            50,
        )
        .between(
            1,
            Step::Claim(LENGTH),
            Told::Held {
                epoch: 2,
                until: Millis(1000),
            },
            5,
            40,
        )
        .unexplained_at(1);
}

#[test]
fn two_claims_of_one_epoch_are_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .pass(1000)
        .held(1, Step::Claim(LENGTH), 1, 2000)
        .unexplained_at(1);
}

#[test]
fn a_claim_that_nobody_could_have_refused_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .written(0, Step::Release(1))
        .refused(1, Step::Claim(LENGTH), Code::LeaseConflict)
        .unexplained_at(2);
}

#[test]
fn a_stale_renewal_that_was_taken_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .pass(1000)
        .held(1, Step::Claim(LENGTH), 2, 2000)
        .held(0, Step::Renew(1, LENGTH), 1, 2000)
        .unexplained_at(2);
}

#[test]
fn a_write_after_the_end_of_a_lease_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .pass(1000)
        .written(0, Step::Update(1))
        .unexplained_at(1);
}

#[test]
fn a_lease_that_is_shorter_than_promised_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .pass(999)
        .refused(0, Step::Update(1), Code::LeaseLost)
        .unexplained_at(1);
}

#[test]
fn work_that_is_done_twice_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .written(0, Step::Done(1))
        .written(0, Step::Done(1))
        .unexplained_at(2);
}

#[test]
fn a_lost_update_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .written(0, Step::Update(1))
        .written(0, Step::Update(1))
        .seen(Status::InProgress, Some((1, 1000)), 1, 2)
        .unexplained_at(3);
}

#[test]
fn a_read_that_goes_back_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .between(0, Step::Update(1), Told::Written, 20, 90)
        .between(1, Step::Look, sight(Status::InProgress, 2), 30, 40)
        .between(2, Step::Look, sight(Status::Claimed, 1), 50, 60)
        .unexplained_at(3);
}

fn sight(status: Status, messages: usize) -> Told {
    Told::Seen(Sight {
        status,
        attempts: 1,
        lease: Some((1, Millis(1000))),
        messages,
    })
}

#[test]
fn who_was_killed_may_have_got_so_far_or_not() {
    let begun = || Script::default().killed(0, Step::Claim(LENGTH));
    begun().held(1, Step::Claim(LENGTH), 1, 1000).explained();
    begun()
        .refused(1, Step::Claim(LENGTH), Code::LeaseConflict)
        .explained();
    // It happens once if it happens, and not back and forth.
    begun()
        .refused(1, Step::Claim(LENGTH), Code::LeaseConflict)
        .seen(Status::Pending, None, 0, 1)
        .unexplained_at(2);
    begun()
        .pass(1000)
        .held(1, Step::Claim(LENGTH), 3, 2000)
        .unexplained_at(1);
}

#[test]
fn who_was_killed_may_have_got_so_far_long_after() {
    // A connection's last commit can come to pass after its client is gone.
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .killed(0, Step::Done(1))
        .seen(Status::Claimed, Some((1, 1000)), 1, 1)
        .seen(Status::Done, None, 1, 2)
        .explained();
}

#[test]
fn what_was_acknowledged_and_is_gone_is_found() {
    Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .written(0, Step::Done(1))
        .seen(Status::Claimed, Some((1, 1000)), 1, 1)
        .unexplained_at(2);
}

#[test]
fn the_clock_may_stand_anywhere_between_question_and_answer() {
    let mut script = Script::default()
        .held(0, Step::Claim(LENGTH), 1, 1000)
        .pass(999);
    script = script.refused(0, Step::Update(1), Code::LeaseLost);
    script.deeds[1].latest = Millis(1000);
    script.explained();
}

#[test]
fn many_at_once_are_judged_in_no_time() {
    // Every update overlaps every other, and only one count fits each reader.
    let mut script = Script::default().held(0, Step::Claim(LENGTH), 1, 1000);
    for turn in 0..100 {
        let from = 100 * (turn + 1);
        for worker in 0..7 {
            script = script.between(worker, Step::Update(1), Told::Written, from, from + 50);
        }
        let messages = 1 + 7 * (usize::try_from(turn).unwrap()) + 3;
        script = script.between(
            8,
            Step::Look,
            sight(Status::InProgress, messages),
            from,
            from + 50,
        );
    }
    assert_eq!(script.explained().len(), 801);
}

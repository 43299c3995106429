//! Of many that want one thread, one gets it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Barrier, Mutex};

use inbox_core::{Code, ThreadId};
use inbox_ops::{Claim, Operation, Send};
use inbox_store::{Location, Store};
use inbox_testkit::sandbox::{Outcome, Sandbox, TempDir};

use super::gate::race;
use super::{alone, caller, in_process, open, text, words};
use crate::INBOX;

pub(super) const RACERS: usize = 8;

/// What holds for one race for one thread, whatever the store.
#[track_caller]
pub(super) fn one_winner(inbox: &Sandbox, thread: &str, outcomes: &[Outcome]) {
    let (won, lost): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.code == 0);
    assert_eq!(won.len(), 1, "{outcomes:?}");
    for outcome in lost {
        outcome.refused(20, "lease_conflict");
    }
    let winner = won[0].ok();
    let shown = inbox.run(words(&format!("show --thread {thread}"))).ok();
    assert_eq!(shown["thread"]["attempts"], 1, "{shown}");
    assert_eq!(
        shown["thread"]["assigned_to"], winner["lease"]["agent_id"],
        "{shown}"
    );
}

/// The command lines of a race for one thread.
pub(super) fn claims(thread: &str) -> Vec<Vec<String>> {
    (0..RACERS)
        .map(|racer| words(&format!("claim --agent w{racer} --thread {thread}")))
        .collect()
}

#[test]
fn of_8_processes_racing_for_one_thread_exactly_one_wins_100_times() {
    let _alone = alone();
    let inbox = Sandbox::in_memory(INBOX);
    for round in 0..100 {
        let thread = open(&inbox, "w0", &format!("race-{round}"));
        let outcomes = race(&inbox, &claims(&thread));
        one_winner(&inbox, &thread, &outcomes);
    }
}

#[test]
fn of_8_processes_that_claim_what_comes_next_each_gets_another_thread() {
    let _alone = alone();
    let inbox = Sandbox::in_memory(INBOX);
    each_gets_another(&inbox, 10, |commands| race(&inbox, commands));
}

/// As many pieces of work as there are racers, for all of whom there is one: `race` runs their commands at
/// once.
pub(super) fn each_gets_another(
    inbox: &Sandbox,
    rounds: u32,
    race: impl Fn(&[Vec<String>]) -> Vec<Outcome>,
) {
    for round in 0..rounds {
        let sent: BTreeSet<_> = (0..RACERS)
            .map(|n| open(inbox, "crew", &format!("next-{round}-{n}")))
            .collect();
        let commands = vec![words("claim --agent crew"); RACERS];
        let outcomes = race(&commands);
        let taken: BTreeSet<_> = outcomes
            .iter()
            .map(|outcome| text(&outcome.ok()["thread"]["thread_id"]))
            .collect();
        assert_eq!(taken, sent, "each thread is taken once");
        let none_left = inbox.run(words("claim --agent crew"));
        assert_eq!(none_left.code, 10, "{none_left}");
    }
}

/// What the racers of one process share.
struct Track {
    meet: Barrier,
    thread: AtomicI64,
    won: AtomicU32,
    lost: AtomicU32,
    over: AtomicBool,
    broken: Mutex<Vec<String>>,
}

impl Track {
    fn run(&self, location: &Location, racer: usize) {
        let inbox = in_process(location);
        let me = caller(&format!("w{racer}"));
        loop {
            self.meet.wait();
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            let thread = ThreadId::new(self.thread.load(Ordering::SeqCst));
            let claim = Claim {
                thread: Some(thread),
                ..Claim::default()
            };
            match claim.run(&inbox, &me) {
                Ok(_) => self.won.fetch_add(1, Ordering::SeqCst),
                Err(refusal) if refusal.code == Code::LeaseConflict => {
                    self.lost.fetch_add(1, Ordering::SeqCst)
                }
                Err(refusal) => {
                    // No panic here: the others would wait for this one for ever.
                    self.broken.lock().unwrap().push(refusal.to_string());
                    0
                }
            };
            self.meet.wait();
        }
    }
}

#[test]
fn of_8_threads_racing_for_one_thread_exactly_one_wins_10_000_times() {
    let _alone = alone();
    let folder = TempDir::in_memory();
    let location = Location::File(folder.path().join("store.db"));
    one_wins_each(&location, 10_000);
    let claims = super::count(
        &folder.path().join("store.db"),
        "SELECT count(*) FROM threads WHERE attempts = 1",
    );
    assert_eq!(claims, 10_000);
}

/// Races so often between threads of this process, on a store that is made here.
pub(super) fn one_wins_each(location: &Location, rounds: u32) {
    Store::init(location).unwrap();
    let track = Track {
        meet: Barrier::new(RACERS + 1),
        thread: AtomicI64::new(0),
        won: AtomicU32::new(0),
        lost: AtomicU32::new(0),
        over: AtomicBool::new(false),
        broken: Mutex::default(),
    };
    let mut unfair = Vec::new();
    std::thread::scope(|scope| {
        for racer in 0..RACERS {
            let track = &track;
            scope.spawn(move || track.run(location, racer));
        }
        let inbox = in_process(location);
        let lead = caller("lead");
        for round in 0..rounds {
            let send = Send {
                to: vec!["w0".parse().unwrap()],
                subject: Some(format!("race {round}")),
                ..Send::default()
            };
            let thread = match send.run(&inbox, &lead) {
                Ok(opened) => opened.thread.thread_id.key(),
                Err(refusal) => {
                    track.broken.lock().unwrap().push(refusal.to_string());
                    break;
                }
            };
            track.thread.store(thread, Ordering::SeqCst);
            track.meet.wait();
            track.meet.wait();
            let won = track.won.swap(0, Ordering::SeqCst);
            let lost = track.lost.swap(0, Ordering::SeqCst);
            if (won, lost) != (1, 7) {
                unfair.push((round, won, lost));
                break;
            }
        }
        track.over.store(true, Ordering::SeqCst);
        track.meet.wait();
    });
    assert_eq!(*track.broken.lock().unwrap(), Vec::<String>::new());
    assert_eq!(unfair, [], "(round, winners, losers)");
}

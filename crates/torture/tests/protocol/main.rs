//! The protocol of leases and of the record on a ledger, explored whole (the doorbell in `bell.rs`): 3 workers, 2 threads that may be claimed and given back without
//! end, a bridge and a listener, each of which may die between any two of its steps, in every order there is.
//!
//! What is modelled is what the stores do: a step is decided on what was read, and committed only if nobody has written to
//! the thread since; a result and the note to tell the ledger of it are one commit; a listener's rows and its place in the topic are
//! one commit. The tests below break these one by one, and see the promise that falls.

mod bell;
mod explorer;
mod world;

use explorer::explore;
use world::{THREADS, World};

/// How many worlds there are; the page of promises names them.
const WORLDS: usize = 2_096_034;

/// What the program does otherwise than it should.
#[derive(Clone, Copy, Default)]
pub(crate) struct Broken {
    live_lease_ignored: bool,
    counted_from_the_answer: bool,
    leases_never_end: bool,
    epoch_unchecked: bool,
    commit_compares_epochs_alone: bool,
    told_before_commit: bool,
    outbox_after_commit: bool,
    marked_before_sent: bool,
    place_before_rows: bool,
    rows_without_uid: bool,
}

#[test]
fn every_promise_holds_in_every_world_that_can_be() {
    let all =
        explore(Broken::default()).unwrap_or_else(|(promise, way)| panic!("{promise}: {way:?}"));
    println!(
        "{} worlds, {} steps between them",
        all.worlds.len(),
        all.leads.len()
    );
    // One fewer, and something that can happen is not tried any more.
    assert_eq!(all.worlds.len(), WORLDS);
    let both_done = |world: &World| world.mirror == [1; THREADS] && world.is_finished();
    assert!(
        all.worlds.iter().any(both_done),
        "the story has its happy end"
    );
}

#[test]
fn the_page_of_promises_names_as_many_worlds_as_there_are() {
    let page = include_str!("../../../../docs/reference/promises.md");
    let (millions, rest) = (WORLDS / 1_000_000, WORLDS % 1_000_000);
    let number = format!("{millions},{:03},{:03} worlds", rest / 1000, rest % 1000);
    assert!(page.contains(&number), "{number}");
}

/// That a planted bug breaks this promise, within so many acts.
#[track_caller]
fn breaks(promise: &str, most: usize, broken: Broken) {
    let (found, way) = explore(broken).err().expect("the bug is found");
    assert_eq!(found, promise, "{way:?}");
    assert!(way.len() <= most, "{way:?}");
}

#[test]
fn a_claim_that_ignores_a_live_lease_gives_a_thread_to_two() {
    breaks(
        "one worker holds a thread at a time",
        6,
        Broken {
            live_lease_ignored: true,
            ..Broken::default()
        },
    );
}

#[test]
fn a_lease_that_is_counted_from_its_answer_on_outlasts_itself() {
    breaks(
        "one worker holds a thread at a time",
        8,
        Broken {
            counted_from_the_answer: true,
            ..Broken::default()
        },
    );
}

#[test]
fn a_lease_that_never_ends_leaves_the_work_of_a_dead_worker_undone() {
    breaks(
        "all work can be done",
        3,
        Broken {
            leases_never_end: true,
            ..Broken::default()
        },
    );
}

#[test]
fn a_token_that_is_not_compared_lets_a_stale_worker_write() {
    breaks(
        "a worker that lost its lease cannot write",
        12,
        Broken {
            epoch_unchecked: true,
            ..Broken::default()
        },
    );
}

#[test]
fn a_commit_that_compares_epochs_alone_takes_what_is_done() {
    // A result that was decided in time is committed after the lease has ended and another has decided to claim.
    breaks(
        "what is done is done once",
        12,
        Broken {
            commit_compares_epochs_alone: true,
            ..Broken::default()
        },
    );
}

#[test]
fn an_answer_before_the_commit_is_forgotten() {
    breaks(
        "what somebody was told is written stays written",
        6,
        Broken {
            told_before_commit: true,
            ..Broken::default()
        },
    );
}

#[test]
fn a_note_for_the_ledger_after_the_commit_is_lost() {
    breaks(
        "every result that was accepted can reach the mirror",
        8,
        Broken {
            outbox_after_commit: true,
            ..Broken::default()
        },
    );
}

#[test]
fn an_outbox_that_is_marked_before_it_is_sent_loses_mail() {
    breaks(
        "every result that was accepted can reach the mirror",
        9,
        Broken {
            marked_before_sent: true,
            ..Broken::default()
        },
    );
}

#[test]
fn a_listener_that_notes_its_place_first_loses_a_message() {
    breaks(
        "the mirror has every message of the topic once",
        9,
        Broken {
            place_before_rows: true,
            ..Broken::default()
        },
    );
}

#[test]
fn a_listener_that_knows_no_message_again_has_it_twice() {
    breaks(
        "the mirror has every message of the topic once",
        9,
        Broken {
            rows_without_uid: true,
            ..Broken::default()
        },
    );
}

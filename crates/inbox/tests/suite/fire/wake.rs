//! No wait misses its wake: replies around the moment it starts, and a bell that is gone.

use std::time::{Duration, Instant};

use inbox_core::{EventId, ThreadId};
use inbox_ops::{Inbox, Operation, Reply, WaitReply};
use inbox_store::Location;
use inbox_surfaces::cli::wait::{Woken, until_over};
use inbox_testkit::sandbox::Sandbox;

use super::zombie::listens;
use super::{alone, caller, ends, in_process, open, start, thrown, words};
use crate::INBOX;

pub(super) fn reply(inbox: &Inbox, thread: ThreadId, summary: &str) {
    let reply = Reply {
        thread,
        to: Vec::new(),
        kind: None,
        summary: Some(summary.to_owned()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    reply
        .run(inbox, &caller("worker"))
        .expect("the reply is written");
}

/// Waits as the command does: what woke it, the reply's summary and the cursor behind it.
pub(super) fn wait(inbox: &Inbox, thread: ThreadId, after: EventId) -> (Woken, String, EventId) {
    let request = WaitReply {
        thread,
        after_message: None,
        after_event: Some(after),
        kinds: Vec::new(),
        timeout_seconds: Some(30),
    };
    let mut heard = (String::new(), after);
    let woken = until_over(&request, inbox, &caller("lead"), |answer, _| {
        if let Some(message) = &answer.message {
            heard = (message.summary.clone(), answer.next_event_id);
        }
        Ok(true)
    });
    (woken.expect("the wait is not refused"), heard.0, heard.1)
}

fn spin_until(moment: Instant) {
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

#[test]
fn of_60_replies_fired_as_a_process_starts_to_wait_none_is_missed() {
    let _alone = alone();
    let dice = thrown();
    let inbox = Sandbox::new(INBOX);
    let thread = open(&inbox, "worker", "questions");
    let replier = in_process(&Location::File(inbox.store()));
    let wait = format!("wait-reply --agent lead --thread {thread} --timeout-seconds 30");
    let started = Instant::now();
    let shown = inbox.run(words(&format!("show --thread {thread}"))).ok();
    let life = u64::try_from(started.elapsed().as_micros()).unwrap();
    let mut after = shown["next_event_id"].clone();
    for n in 0..60 {
        let started = Instant::now();
        let waiter = start(&inbox, &words(&format!("{wait} --after-event {after}")));
        spin_until(started + Duration::from_micros(dice.nth(n).below(life * 2)));
        reply(&replier, thread.parse().unwrap(), &format!("reply-{n}"));
        let woke = ends(waiter).ok();
        assert_eq!(woke["message"]["summary"], format!("reply-{n}"));
        after = woke["next_event_id"].clone();
    }
}

fn bell(inbox: &Sandbox) -> String {
    format!("{}-bell", inbox.store().display())
}

#[test]
fn a_waiter_whose_bell_is_removed_finds_its_reply_by_looking() {
    let _alone = alone();
    let inbox = Sandbox::new(INBOX);
    let location = Location::File(inbox.store());
    let id = open(&inbox, "worker", "questions");
    let thread: ThreadId = id.parse().unwrap();
    let mut after = EventId::default();
    for n in 0..4 {
        let line = words(&format!("reply --from worker --thread {id} --summary r{n}"));
        after = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| wait(&in_process(&location), thread, after));
            listens(&inbox);
            // A writer that starts from now on makes a new bell, and the waiter hears the old one.
            std::fs::remove_file(bell(&inbox)).unwrap();
            inbox.run(&line).ok();
            let committed = Instant::now();
            let (woken, heard, next) = waiter.join().unwrap();
            assert_eq!((woken, heard), (Woken::ByLook, format!("r{n}")));
            // It looks every 900 ms; what is above that is this machine's slowness.
            assert!(committed.elapsed() < Duration::from_secs(3));
            next
        });
        // A fresh waiter and a fresh writer meet at the new bell.
        std::fs::remove_file(bell(&inbox)).unwrap();
        after = std::thread::scope(|scope| {
            let waiter = scope.spawn(|| wait(&in_process(&location), thread, after));
            listens(&inbox);
            inbox.run(&line).ok();
            let (woken, heard, next) = waiter.join().unwrap();
            assert_eq!((woken, heard), (Woken::ByBell, format!("r{n}")));
            next
        });
    }
}

#[test]
fn a_process_that_waits_without_a_bell_misses_no_reply() {
    let inbox = Sandbox::new(INBOX);
    let thread = open(&inbox, "worker", "questions");
    let wait = format!("wait-reply --agent lead --thread {thread} --timeout-seconds 30");
    let reply = |n: u32| {
        let line = format!("reply --from worker --thread {thread} --summary r{n}");
        inbox.run(words(&line)).ok()
    };
    let waiter = start(&inbox, &words(&wait));
    listens(&inbox);
    std::fs::remove_file(bell(&inbox)).unwrap();
    let first = reply(1);
    assert_eq!(ends(waiter).ok()["message"]["summary"], "r1");
    // A folder in its place: no bell can be had at all.
    std::fs::remove_file(bell(&inbox)).unwrap();
    std::fs::create_dir(bell(&inbox)).unwrap();
    let mut after = first["next_event_id"].clone();
    for n in 2..6 {
        let waiter = start(&inbox, &words(&format!("{wait} --after-event {after}")));
        after = reply(n)["next_event_id"].clone();
        assert_eq!(ends(waiter).ok()["message"]["summary"], format!("r{n}"));
    }
}

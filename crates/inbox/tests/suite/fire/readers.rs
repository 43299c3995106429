//! Every reader sees every event once, in one order.

use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use inbox_core::{Event, EventId};
use inbox_ops::{Inbox, Waiting, Watch};
use inbox_store::Location;
use inbox_testkit::sandbox::Sandbox;

use inbox_torture::child::NEVER;

use super::{alone, ends, in_process, open, start, words};
use crate::INBOX;

/// The events after a cursor, by one poll after the other until `is_enough`.
fn follow(inbox: &Inbox, after: i64, is_enough: impl Fn(&[Event]) -> bool) -> Vec<Event> {
    let watch = Watch {
        after_event: Some(EventId(after)),
        ..Watch::default()
    };
    let anybody = inbox_ops::Caller::local(None);
    let mut cursor = None;
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let enough = is_enough(&seen);
        let answer = watch.poll(&mut cursor, inbox, &anybody).unwrap();
        // What was enough before the poll, and nothing came with it.
        if answer.events.is_empty() && enough {
            return seen;
        }
        // Also what keeps a cursor that gives its own event again from being followed for ever.
        for event in answer.events {
            let last = seen.last().map_or(after, |event| event.event_id.0);
            assert!(event.event_id.0 > last, "{} after {last}", event.event_id.0);
            seen.push(event);
        }
    }
}

/// What the readers must all have seen: the log from its beginning.
fn log(location: &Location) -> Vec<Event> {
    follow(&in_process(location), 0, |_| true)
}

#[track_caller]
fn is_the_log_from(log: &[Event], after: i64, seen: &[Event], who: &str) {
    let numbers =
        |events: &[Event]| -> Vec<i64> { events.iter().map(|event| event.event_id.0).collect() };
    let expected: Vec<_> = log
        .iter()
        .filter(|event| event.event_id.0 > after)
        .cloned()
        .collect();
    assert_eq!(numbers(seen), numbers(&expected), "{who} from {after}");
    assert_eq!(seen, expected, "{who} from {after}");
}

/// Three processes write, and readers follow from different starts: two processes and two threads.
pub(super) fn see_the_same(inbox: &Sandbox, location: &Location, each: u32) {
    let thread = open(inbox, "crew", "first");
    open(inbox, "crew", "second");
    let now = log(location).last().map_or(0, |event| event.event_id.0);
    let starts = [0, 1, now, now + 5];
    let over = AtomicBool::new(false);
    let mut followers = Vec::new();
    for after in [starts[1], starts[3]] {
        let mut child = start(
            inbox,
            &words(&format!("watch --follow --after-event {after}")),
        );
        let stdout = child.stdout.take().expect("its output is a pipe");
        let (lines, read) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = lines.send(line);
            }
        });
        followers.push((after, child, read));
    }
    std::thread::scope(|scope| {
        let readers: Vec<_> = [starts[0], starts[2]]
            .into_iter()
            .map(|after| {
                let over = &over;
                scope.spawn(move || {
                    let inbox = in_process(location);
                    (
                        after,
                        follow(&inbox, after, |_| over.load(Ordering::SeqCst)),
                    )
                })
            })
            .collect();
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let thread = &thread;
                scope.spawn(move || {
                    for n in 0..each {
                        let line = if n % 3 == 0 {
                            format!("send --from w{writer} --to crew --subject s-{writer}-{n}")
                        } else {
                            format!(
                                "reply --from w{writer} --thread {thread} --summary r-{writer}-{n}"
                            )
                        };
                        inbox.run(words(&line)).ok();
                    }
                })
            })
            .collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        over.store(true, Ordering::SeqCst);
        for outcome in written {
            outcome.expect("every write succeeds");
        }
        let log = log(location);
        assert_eq!(log.len(), 2 + 3 * usize::try_from(each).unwrap());
        for reader in readers {
            let (after, seen) = reader.join().unwrap();
            is_the_log_from(&log, after, &seen, "a thread");
        }
        let last = log.last().map_or(0, |event| event.event_id.0);
        for (after, _, read) in &followers {
            let mut seen: Vec<Event> = Vec::new();
            while seen.last().is_none_or(|event| event.event_id.0 < last) {
                let line = read.recv_timeout(NEVER).expect("the follower goes on");
                seen.push(serde_json::from_str(&line).unwrap());
            }
            is_the_log_from(&log, *after, &seen, "a process");
        }
    });
}

#[test]
fn a_follower_whose_reader_has_gone_ends_with_the_next_event() {
    let inbox = Sandbox::new(INBOX);
    open(&inbox, "crew", "first");
    let mut follower = start(&inbox, &words("watch --follow --after-event 0"));
    let mut reader = BufReader::new(follower.stdout.take().expect("its output is a pipe"));
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    open(&inbox, "crew", "second");
    let outcome = ends(follower);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
}

#[test]
fn readers_that_follow_from_different_starts_see_the_same_events_once_and_in_order() {
    let _alone = alone();
    let inbox = Sandbox::new(INBOX);
    see_the_same(&inbox, &Location::File(inbox.store()), 40);
}

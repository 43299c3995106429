//! Many writers at once: all are served, none has to know about the others.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use inbox_testkit::sandbox::Sandbox;

use super::{alone, text, words};
use crate::INBOX;

const WRITERS: u64 = 64;
const EACH: u64 = 10;
/// A busy log is moved past 1000 frames; what a reader held up may come on top.
const LOG: u64 = 16 << 20;

#[test]
fn of_64_processes_that_write_at_once_none_fails_and_none_starves() {
    let _alone = alone();
    let inbox = Sandbox::new(INBOX);
    let log = format!("{}-wal", inbox.store().display());
    let longest_log = AtomicU64::new(0);
    all_are_served(&inbox, EACH, || {
        let bytes = std::fs::metadata(&log).map_or(0, |found| found.len());
        longest_log.fetch_max(bytes, Ordering::SeqCst);
    });
    let longest_log = longest_log.into_inner();
    println!("the longest log was {longest_log} bytes");
    assert!(longest_log < LOG, "the log grew to {longest_log} bytes");
}

/// As many processes as there are writers send so often each, and all of it is there. `look` is called after
/// each send.
pub(super) fn all_are_served(inbox: &Sandbox, each: u64, look: impl Fn() + Sync) {
    let slowest = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (look, slowest) = (&look, &slowest);
            scope.spawn(move || {
                for n in 0..each {
                    let started = Instant::now();
                    let subject = format!("load-{writer}-{n}");
                    let line = format!("send --from w{writer} --to crew --subject {subject}");
                    let outcome = inbox.run(words(&line));
                    outcome.ok();
                    assert_eq!(outcome.stderr, "", "{outcome}");
                    look();
                    let millis = u64::try_from(started.elapsed().as_millis()).unwrap();
                    slowest.fetch_max(millis, Ordering::SeqCst);
                }
            });
        }
    });
    let listed = inbox.run(words("list --limit 10000")).ok();
    let subjects: BTreeSet<_> = listed["threads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|thread| text(&thread["subject"]))
        .collect();
    let sent: BTreeSet<_> = (0..WRITERS)
        .flat_map(|writer| (0..each).map(move |n| format!("load-{writer}-{n}")))
        .collect();
    assert_eq!(subjects, sent);
    println!("the slowest send took {slowest:?} ms");
    inbox.run(["doctor", "--json"]).ok();
}

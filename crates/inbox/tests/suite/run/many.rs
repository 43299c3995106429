//! Fifty runners on one store, killed at random: each of a thousand threads is finished exactly once.

use std::process::Child;
use std::time::{Duration, Instant};

use inbox_core::{Kind, Status, ThreadId};
use inbox_ops::{Caller, Inbox, List, Operation, Send, Show};
use inbox_store::{Location, Store};
use inbox_torture::Dice;
use serde_json::json;

use super::{Ground, eventually};

const RUNNERS: usize = 50;
const THREADS: usize = 1000;

/// How many runners are killed.
const KILLS: usize = 100;

/// How many threads are done when the last of them is killed. The others may be done between one look and the next.
const KILLED_UNTIL: usize = THREADS / 2;

/// How long it may be that nothing more is done. Not a measure of speed.
const STUCK: Duration = Duration::from_mins(2);

#[test]
fn each_thread_is_finished_exactly_once_while_runners_are_killed() {
    let ground = Ground::with(&[("lease_seconds", "6"), ("progress_seconds", "0")]);
    // What is asked here is asked in this process: a thousand more would take longer than the work.
    let inbox = Inbox::new(Store::open(&Location::File(ground.inbox.store())).expect("a store"));
    let lead = Caller::local(Some("lead".parse().expect("a name")));
    let send = |n: usize| -> ThreadId {
        let fields = json!({ "to": ["quinn"], "subject": format!("Work {n}") });
        let send: Send = serde_json::from_value(fields).expect("a request");
        send.run(&inbox, &lead)
            .expect("it is sent")
            .thread
            .thread_id
    };
    let ids: Vec<ThreadId> = (0..THREADS).map(send).collect();
    let args = ground.args("", "cat > /dev/null; echo \"$INBOX_THREAD\"\n");
    let begin = || -> Child { ground.inbox.spawn(&args) };
    let mut crew: Vec<Child> = (0..RUNNERS).map(|_| begin()).collect();
    let mut dice = Dice::new(7);
    let listed = |status: Vec<Status>| {
        let list = List {
            status,
            limit: Some(10_000),
            ..List::default()
        };
        list.run(&inbox, &lead).expect("a list").threads
    };
    // A kill for so many threads, wherever the victim just is.
    let (mut kills, mut last, mut since) = (0, 0, Instant::now());
    loop {
        let now = listed(vec![Status::Done]).len();
        if now == THREADS {
            break;
        }
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if since.elapsed() > STUCK {
            let mut left = listed(Vec::new());
            left.retain(|thread| thread.status != Status::Done);
            panic!("{now} of {THREADS} were done, and no more: {left:#?}");
        }
        while kills < KILLS && now * KILLS >= kills * KILLED_UNTIL {
            let victim = dice.place(crew.len());
            let _ = crew[victim].kill();
            let _ = crew[victim].wait();
            crew[victim] = begin();
            kills += 1;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    for child in &mut crew {
        let _ = child.kill();
    }
    for child in &mut crew {
        let _ = child.wait();
    }
    assert_eq!(kills, KILLS, "runners killed before the work was done");
    for id in ids {
        let shown = Show::of(id).run(&inbox, &lead).expect("it is shown");
        assert_eq!(shown.thread.status, Status::Done);
        let results = shown.messages.iter();
        let results: Vec<_> = results
            .filter(|message| message.kind == Kind::Result)
            .collect();
        assert_eq!(results.len(), 1, "{shown:#?}");
        assert_eq!(results[0].summary, id.to_string(), "{shown:#?}");
    }
    eventually("nothing is left of the killed", || {
        let here = ground.folder().display().to_string();
        let mut all = std::fs::read_dir("/proc").ok()?.flatten();
        let is_left = all.any(|entry| {
            std::fs::read_link(entry.path().join("cwd"))
                .is_ok_and(|folder| folder.display().to_string() == here)
        });
        (!is_left).then_some(())
    });
}

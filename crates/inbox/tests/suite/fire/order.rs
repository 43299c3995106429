//! One order of events for everybody on PostgreSQL, where a transaction may be open for long while
//! others commit.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use inbox_core::{Auth, Event, EventId, Kind, Priority, ThreadId};
use inbox_ops::{Caller, Inbox, Operation, Send, Waiting, Watch};
use inbox_store::{Location, NewMessage, NewThread, Store, Tx};
use inbox_testkit::cluster::shared;

use inbox_torture::child::NEVER;

use super::{alone, caller, in_process};

const WRITERS: usize = 8;
const READERS: usize = 5;
/// What each writer does so often: one event by an operation, and more in one transaction.
const TURNS: usize = 250;
const AT_ONCE: usize = 14;
const EVENTS: usize = WRITERS * TURNS * (1 + AT_ONCE);
const HELD: Duration = Duration::from_secs(5);

/// Tells readers that there is something new, so that they need not look all the time.
#[derive(Default)]
struct News {
    count: Mutex<(u64, bool)>,
    changed: Condvar,
}

impl News {
    fn tell(&self, is_over: bool) {
        let mut count = self.count.lock().unwrap();
        count.0 += 1;
        count.1 |= is_over;
        self.changed.notify_all();
    }

    fn seen(&self) -> (u64, bool) {
        *self.count.lock().unwrap()
    }

    fn wait_for_more_than(&self, seen: u64) {
        let count = self.count.lock().unwrap();
        let waited = self
            .changed
            .wait_timeout_while(count, NEVER, |count| count.0 == seen);
        assert!(!waited.unwrap().1.timed_out(), "nothing was ever written");
    }
}

/// Opens a thread inside a transaction that does more than that.
fn open_in(tx: &mut Tx<'_>, name: &str) -> Result<ThreadId, inbox_store::StoreError> {
    let new = NewThread {
        subject: "order".to_owned(),
        priority: Priority::Normal,
        run: None,
        task: None,
        entity: None,
        own: None,
    };
    let mut message = NewMessage::saying(Kind::Task, "order", Auth::Local);
    message.to = vec![format!("{name}-crew").parse().unwrap()];
    let opened = tx.open_thread(&name.parse().unwrap(), None, new, message)?;
    Ok(opened.row.thread.thread_id)
}

/// One writer: the threads that it opened.
fn write(location: &Location, writer: usize, news: &News) -> Vec<ThreadId> {
    let inbox = in_process(location);
    let name = format!("w{writer}");
    let me = caller(&name);
    let mut opened = Vec::new();
    for turn in 0..TURNS {
        let send = Send {
            to: vec!["crew".parse().unwrap()],
            subject: Some(format!("{writer} {turn}")),
            ..Send::default()
        };
        opened.push(send.run(&inbox, &me).unwrap().thread.thread_id);
        news.tell(false);
        let several = inbox.store().write(|tx| {
            let opened = (0..AT_ONCE).map(|_| open_in(tx, &name));
            Ok(opened.collect::<Result<Vec<_>, _>>()?)
        });
        opened.extend(several.unwrap().value);
        news.tell(false);
    }
    opened
}

/// Writes first and commits late: its thread, and the newest event just before its commit.
fn hold(location: &Location, begun: mpsc::Sender<()>) -> (ThreadId, EventId) {
    let store = Store::open(location).unwrap();
    let other = Store::open(location).unwrap();
    let held = store.write(|tx| {
        let thread = open_in(tx, "slow")?;
        let _ = begun.send(());
        std::thread::sleep(HELD);
        Ok((thread, other.newest_event()?))
    });
    held.unwrap().value
}

/// Follows from a start until everything is written and nothing new comes.
fn follow(inbox: &Inbox, after: i64, news: &News) -> Vec<Event> {
    let watch = Watch {
        after_event: Some(EventId(after)),
        ..Watch::default()
    };
    let mut cursor = None;
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let (count, is_over) = news.seen();
        let answer = watch
            .poll(&mut cursor, inbox, &Caller::local(None))
            .unwrap();
        if answer.events.is_empty() {
            if is_over {
                return seen;
            }
            news.wait_for_more_than(count);
        }
        for event in answer.events {
            let last = seen.last().map_or(after, |event| event.event_id.0);
            assert!(event.event_id.0 > last, "{} after {last}", event.event_id.0);
            seen.push(event);
        }
    }
}

#[test]
fn on_postgresql_5_readers_among_8_writers_see_30_000_events_once_in_one_order_past_a_slow_commit()
{
    let _alone = alone();
    let location = Location::parse(&shared().fresh_url());
    Store::init(&location).unwrap();
    let news = News::default();
    let (mut written, mut seen, mut held) = (Vec::new(), Vec::new(), None);
    std::thread::scope(|scope| {
        let (location, news) = (&location, &news);
        let (begun, has_begun) = mpsc::channel();
        let slow = scope.spawn(move || hold(location, begun));
        // Its entry is there, and is the first, before anybody else has written one.
        has_begun.recv_timeout(NEVER).unwrap();
        let readers: Vec<_> = (0..READERS)
            .map(|reader| {
                let after = i64::try_from(reader).unwrap() * 100;
                scope.spawn(move || (after, follow(&in_process(location), after, news)))
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(location, writer, news)))
            .collect();
        let outcomes: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        let slow = slow.join();
        // Before anything can fail here: the readers would wait for it for ever.
        news.tell(true);
        for outcome in outcomes {
            written.extend(outcome.expect("every write succeeds"));
        }
        held = Some(slow.expect("the slow write succeeds"));
        seen.extend(readers.into_iter().map(|reader| reader.join().unwrap()));
    });
    let (slow, newest) = held.unwrap();
    written.push(slow);
    assert_eq!(written.len(), EVENTS + 1);
    let log = follow(&in_process(&location), 0, &news);
    let numbers: Vec<_> = log.iter().map(|event| event.event_id.0).collect();
    let all: Vec<_> = (1..=i64::try_from(EVENTS).unwrap() + 1).collect();
    assert_eq!(numbers, all, "numbers without a gap");
    let threads: BTreeSet<_> = log.iter().map(|event| event.thread_id).collect();
    assert_eq!(threads, written.into_iter().collect(), "each write once");
    for (after, seen) in &seen {
        let from = usize::try_from(*after).unwrap();
        assert!(
            *seen == log[from..],
            "the reader from {after} saw another log"
        );
    }
    // Others went on while it was open, and were not made to wait for its number.
    let late = log.iter().find(|event| event.thread_id == slow).unwrap();
    assert!(
        newest.0 > 0 && late.event_id > newest,
        "{late:?} {newest:?}"
    );
}

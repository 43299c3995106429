//! Readers among writers: each sees every event once, in one order that all share.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};

use inbox_core::{Auth, Event, EventId, Kind, Priority, ThreadId};
use inbox_ops::{Caller, Inbox, Operation, Send, Waiting, Watch};
use inbox_store::{NewMessage, NewThread, StoreError, Tx};

use crate::bout::Bout;
use crate::child::{BREATH, NEVER, Patience};
use crate::dice::Dice;
use crate::ground::{Ground, caller};
use crate::{Broken, Part, must};

const WRITERS: usize = 8;
const READERS: usize = 5;

/// What each writer does so often in a round: one event by an operation, and more in one transaction.
const TURNS: usize = 25;
const AT_ONCE: usize = 14;

/// How many rounds share a log, which readers may begin anywhere in.
const ACT: u64 = 10;

/// How many events there are in a round.
pub const EVENTS: usize = WRITERS * TURNS * (1 + AT_ONCE);

/// The part.
pub struct Cursors;

impl Part for Cursors {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn promise(&self) -> &'static str {
        "every reader sees every event once, in one order"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        while let Some(ground) = bout.act(ACT)? {
            let mut newest = 0;
            while let Some(mut round) = bout.next() {
                newest = among(&ground, &mut round.dice, newest)?;
                bout.count("events", u64::try_from(EVENTS).unwrap_or(0));
                bout.count("readers", u64::try_from(READERS).unwrap_or(0));
            }
            ground.is_sound()?;
            ground.remove();
        }
        Ok(())
    }
}

/// Tells readers that there is something new, so that they need not look all the time.
#[derive(Default)]
struct News {
    count: Mutex<(u64, bool)>,
    changed: Condvar,
}

impl News {
    fn tell(&self, is_over: bool) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        count.0 += 1;
        count.1 |= is_over;
        self.changed.notify_all();
    }

    fn seen(&self) -> (u64, bool) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_more_than(&self, seen: u64) -> Result<(), Broken> {
        let mut patience = Patience::of(NEVER);
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        while count.0 == seen {
            let waited = self.changed.wait_timeout(count, BREATH);
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
            must(count.0 != seen || patience.lasts(), || {
                "nothing was ever written".to_owned()
            })?;
        }
        Ok(())
    }
}

/// Readers who begin anywhere in the log, while writers add to it. The newest event afterwards.
fn among(ground: &Ground<'_>, dice: &mut Dice, newest: i64) -> Result<i64, Broken> {
    let news = News::default();
    let starts: Vec<i64> = (0..READERS)
        .map(|reader| match reader {
            0 => newest,
            _ => i64::try_from(dice.below(u64::try_from(newest).unwrap_or(0) + 100)).unwrap_or(0),
        })
        .collect();
    let (written, seen) = std::thread::scope(|scope| {
        let news = &news;
        let readers: Vec<_> = starts
            .iter()
            .map(|&after| scope.spawn(move || follow(&ground.inbox()?, after, news)))
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(&ground.inbox()?, writer, news)))
            .collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        // Before anything can fail here: the readers would wait for it for ever.
        news.tell(true);
        let seen: Vec<_> = readers.into_iter().map(|reader| reader.join()).collect();
        (written, seen)
    });
    let mut all = BTreeSet::new();
    for threads in written {
        all.extend(crate::joined(threads)?);
    }
    must(all.len() == EVENTS, || {
        format!(
            "{EVENTS} threads were opened, and {} have an id of their own",
            all.len()
        )
    })?;
    let log = follow(&ground.inbox()?, newest, &news)?;
    let first = newest + 1;
    for (number, event) in (first..).zip(&log) {
        must(event.event_id.0 == number, || {
            format!("event {number} must be next, and {} is", event.event_id.0)
        })?;
    }
    let threads: BTreeSet<_> = log.iter().map(|event| event.thread_id).collect();
    must(log.len() == EVENTS && threads == all, || {
        format!(
            "{EVENTS} events were written, and {} are in the log",
            log.len()
        )
    })?;
    let last = log.last().map_or(newest, |event| event.event_id.0);
    let whole = follow(&ground.inbox()?, 0, &news)?;
    for (after, seen) in starts.iter().zip(seen) {
        let seen = crate::joined(seen)?;
        let from = usize::try_from((*after).min(last)).unwrap_or(0);
        must(seen == whole[from..], || {
            format!(
                "the reader from {after} saw {} events, and there are {}",
                seen.len(),
                whole.len() - from
            )
        })?;
    }
    Ok(last)
}

/// One writer: the threads that it opened.
fn write(inbox: &Inbox, writer: usize, news: &News) -> Result<Vec<ThreadId>, Broken> {
    let name = format!("w{writer}");
    let me = caller(&name)?;
    let mut opened = Vec::new();
    for turn in 0..TURNS {
        let send = Send {
            to: vec!["crew".parse()?],
            subject: Some(format!("{writer} {turn}")),
            ..Send::default()
        };
        opened.push(send.run(inbox, &me)?.thread.thread_id);
        news.tell(false);
        let several = inbox.store().write(|tx| {
            let opened = (0..AT_ONCE).map(|_| open_in(tx, &name));
            Ok(opened.collect::<Result<Vec<_>, _>>()?)
        })?;
        opened.extend(several.value);
        news.tell(false);
    }
    Ok(opened)
}

/// Opens a thread inside a transaction that does more than that.
fn open_in(tx: &mut Tx<'_>, name: &str) -> Result<ThreadId, StoreError> {
    let unreadable = |_| StoreError::Unreadable(name.to_owned());
    let new = NewThread {
        subject: "order".to_owned(),
        priority: Priority::Normal,
        run: None,
        task: None,
        entity: None,
        own: None,
    };
    let mut message = NewMessage::saying(Kind::Task, "order", Auth::Local);
    message.to = vec![format!("{name}-crew").parse().map_err(unreadable)?];
    let from = name.parse().map_err(unreadable)?;
    let opened = tx.open_thread(&from, None, new, message)?;
    Ok(opened.row.thread.thread_id)
}

/// Follows from a start until everything is written and nothing new comes.
fn follow(inbox: &Inbox, after: i64, news: &News) -> Result<Vec<Event>, Broken> {
    let watch = Watch {
        after_event: Some(EventId(after)),
        ..Watch::default()
    };
    let mut cursor = None;
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let (count, is_over) = news.seen();
        let answer = watch.poll(&mut cursor, inbox, &Caller::local(None))?;
        if answer.events.is_empty() {
            if is_over {
                return Ok(seen);
            }
            news.wait_for_more_than(count)?;
        }
        for event in answer.events {
            let last = seen.last().map_or(after, |event| event.event_id.0);
            must(event.event_id.0 > last, || {
                format!("event {} came after {last}", event.event_id.0)
            })?;
            seen.push(event);
        }
    }
}

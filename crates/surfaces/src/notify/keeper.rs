//! Who goes on telling people: one thread for each way, so that one that is slow or broken holds up no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_core::record::Millis;
use inbox_ops::{Inbox, Notice};
use inbox_store::Location;
use inbox_store::bell::{Key, PATIENCE};

use super::Reach;
use crate::cli::{operation, wait};

/// How long to leave a store alone that cannot be used.
const AGAIN: Duration = Duration::from_secs(2);

/// What is rung within so long is one look: a person does not see the difference, and a busy store does.
const BREATH: Duration = Duration::from_millis(100);

/// How much longer than a notice may take it is left to whoever took it.
const MARGIN: Duration = Duration::from_secs(20);

/// How long those who tell have for ending.
const END: Duration = Duration::from_secs(2);

/// What happened: by what, what was told, and what was wrong if it did not work.
pub(crate) type Told = Arc<dyn Fn(&Reach, Event<'_>) + Send + Sync>;

/// One thing that happened.
pub(crate) enum Event<'a> {
    /// Somebody was told, or not.
    Notice(&'a Notice, &'a Result<(), String>),
    /// The store could not be used.
    Store(&'a Refusal),
}

/// How many were told, and how many could not be.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) sent: usize,
    pub(crate) failed: usize,
}

/// Those who tell people, until the value ends.
pub(crate) struct Keeper {
    over: Arc<AtomicBool>,
    ended: mpsc::Receiver<()>,
    count: usize,
}

impl Keeper {
    /// Starts them; nothing when nobody is to be told.
    pub(crate) fn start(location: &Location, told: Told) -> Result<Option<Keeper>, Refusal> {
        let config = crate::cli::config::load(location)?;
        let reaches = Reach::all(&config)?;
        if reaches.is_empty() {
            return Ok(None);
        }
        let over: Arc<AtomicBool> = Arc::default();
        let (end, ended) = mpsc::channel();
        let count = reaches.len();
        for reach in reaches {
            let (over, told, end) = (Arc::clone(&over), Arc::clone(&told), end.clone());
            let location = location.clone();
            std::thread::spawn(move || {
                wait::be_woken_with_others();
                while !over.load(Ordering::SeqCst) {
                    if let Err(refusal) = follow(&location, &reach, &over, &told) {
                        told(&reach, Event::Store(&refusal));
                        pause(AGAIN, &over);
                    }
                }
                let _ = end.send(());
            });
        }
        Ok(Some(Keeper { over, ended, count }))
    }

    /// What ends them.
    pub(crate) fn over(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.over)
    }

    /// Waits until they have ended.
    pub(crate) fn until_over(mut self) {
        while self.count > 0 && self.ended.recv().is_ok() {
            self.count -= 1;
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let until = Instant::now() + END;
        while self.count > 0 {
            let left = until.saturating_duration_since(Instant::now());
            // A post that nobody answers is not waited for: whoever comes next sends it again.
            if self.ended.recv_timeout(left).is_err() {
                return;
            }
            self.count -= 1;
        }
    }
}

fn pause(so_long: Duration, over: &AtomicBool) {
    let until = Instant::now() + so_long;
    while !over.load(Ordering::SeqCst) && Instant::now() < until {
        std::thread::sleep(BREATH);
    }
}

/// Tells by one way until it is over.
fn follow(
    location: &Location,
    reach: &Reach,
    over: &AtomicBool,
    told: &Told,
) -> Result<(), Refusal> {
    let inbox = operation::open_at(location)?;
    let store = inbox.store();
    let mut listener = store.listen(&Key::Any);
    while !over.load(Ordering::SeqCst) {
        listener.rearm();
        let mark = store.change_mark();
        turn(&inbox, reach, over, told)?;
        let due = next(&inbox, reach)?;
        let until = due.map(|left| Instant::now() + left);
        while !over.load(Ordering::SeqCst) {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                break;
            }
            let rang = listener.wait(left.unwrap_or(PATIENCE).min(PATIENCE));
            if rang {
                pause(BREATH, over);
            }
            if rang || mark.is_none() || store.change_mark() != mark {
                break;
            }
        }
    }
    Ok(())
}

/// How long until something is due, unless something comes before.
fn next(inbox: &Inbox, reach: &Reach) -> Result<Option<Duration>, Refusal> {
    let name = reach.name();
    let mut first: Option<Millis> = None;
    for person in inbox.people_told()? {
        let next = inbox.next_notice_at(&person, &name)?;
        first = first.into_iter().chain(next).min();
    }
    let Some(first) = first else { return Ok(None) };
    let left = first.0.saturating_sub(inbox.now()?.0).max(0);
    Ok(Some(Duration::from_millis(left.unsigned_abs())))
}

/// Tells everybody what is due.
fn turn(inbox: &Inbox, reach: &Reach, over: &AtomicBool, told: &Told) -> Result<Counts, Refusal> {
    let name = reach.name();
    let mut counts = Counts::default();
    let mine = reach.patience() + MARGIN;
    let mine = i64::try_from(mine.as_millis()).unwrap_or(i64::MAX);
    let is_whole = inbox.config().notify.with_body;
    for person in inbox.people_told()? {
        inbox.gather_notices(&person, &name)?;
        while !over.load(Ordering::SeqCst) {
            let Some(notice) = inbox.take_notice(&person, &name, mine)? else {
                break;
            };
            let outcome = reach.send(&notice, is_whole, over);
            match &outcome {
                Ok(()) => {
                    inbox.notice_sent(&notice)?;
                    counts.sent += 1;
                }
                // It was this process that ended it: that says nothing of the way.
                Err(_) if over.load(Ordering::SeqCst) => {
                    inbox.notice_left(&notice)?;
                    continue;
                }
                Err(problem) => {
                    inbox.notice_failed(&notice, problem)?;
                    counts.failed += 1;
                }
            }
            told(reach, Event::Notice(&notice, &outcome));
        }
    }
    Ok(counts)
}

/// Tells everybody what is due now, by every way.
pub(crate) fn once(inbox: &Inbox, told: &Told) -> Result<Counts, Refusal> {
    let over = AtomicBool::new(false);
    let mut all = Counts::default();
    for reach in Reach::all(inbox.config())? {
        let counts = turn(inbox, &reach, &over, told)?;
        all.sent += counts.sent;
        all.failed += counts.failed;
    }
    Ok(all)
}

//! What a running bridge is woken by: mail for the ledger, news of a topic, and being told to stop.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What has happened since it was looked at.
#[derive(Default)]
struct News {
    is_over: bool,
    /// Whether there may be something to say.
    has_mail: bool,
    /// Whether there may be topics that nobody has.
    has_topics: bool,
    /// Of which topics there is news, and up to which message.
    knocks: BTreeMap<i64, u64>,
    /// Which topics have a stream now, and whether something came by it.
    streams: BTreeMap<i64, bool>,
}

/// Wakes the parts of a bridge.
#[derive(Default)]
pub(super) struct Alarm {
    news: Mutex<News>,
    rang: Condvar,
}

impl Alarm {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.news());
        self.rang.notify_all();
    }

    /// Ends the run.
    pub(super) fn stop(&self) {
        self.ring(|news| news.is_over = true);
    }

    pub(super) fn is_over(&self) -> bool {
        self.news().is_over
    }

    /// There may be something to say.
    pub(super) fn mail(&self) {
        self.ring(|news| news.has_mail = true);
    }

    /// There may be topics that nobody has.
    pub(super) fn topics(&self) {
        self.ring(|news| news.has_topics = true);
    }

    /// A topic has this message, as its stream tells.
    pub(super) fn knock(&self, topic_no: i64, sequence: u64) {
        self.ring(|news| {
            news.streams.insert(topic_no, true);
            let newest = news.knocks.entry(topic_no).or_default();
            *newest = sequence.max(*newest);
        });
    }

    /// A topic has something new, which no stream tells of.
    pub(super) fn look_at(&self, topic_no: i64) {
        let mut news = self.news();
        if news.streams.get(&topic_no) != Some(&true) {
            news.knocks.entry(topic_no).or_default();
            drop(news);
            self.rang.notify_all();
        }
    }

    /// A topic's stream was asked for, or is gone.
    pub(super) fn set_stream(&self, topic_no: i64, is_there: bool) {
        self.ring(|news| {
            if is_there {
                news.streams.insert(topic_no, false);
            } else {
                news.streams.remove(&topic_no);
            }
            // What came before it is looked at, and what comes without it.
            news.knocks.entry(topic_no).or_default();
        });
    }

    /// Whether a topic has a stream that works, as one knows when something has come by it: by another one, where the topic has nothing.
    pub(super) fn has_stream(&self, topic_no: i64, is_empty: bool) -> bool {
        let news = self.news();
        match news.streams.get(&topic_no) {
            Some(false) => is_empty && news.streams.values().any(|works| *works),
            Some(true) => true,
            None => false,
        }
    }

    /// Waits until there may be something to say, at most so long.
    pub(super) fn wait_for_mail(&self, at_most: Duration) {
        let mut news = self.wait(Instant::now() + at_most, |news| news.has_mail);
        news.has_mail = false;
    }

    /// Waits for news of topics until then: of which there are, and whether there may be more of them.
    pub(super) fn wait_for_news(&self, until: Instant) -> (BTreeMap<i64, u64>, bool) {
        let has_any = |news: &News| news.has_topics || !news.knocks.is_empty();
        let mut news = self.wait(until, has_any);
        let knocks = std::mem::take(&mut news.knocks);
        (knocks, std::mem::take(&mut news.has_topics))
    }

    /// Waits so long, or until the run ends.
    pub(super) fn pause(&self, so_long: Duration) {
        drop(self.wait(Instant::now() + so_long, |_| false));
    }

    fn wait(&self, until: Instant, is_there: impl Fn(&News) -> bool) -> MutexGuard<'_, News> {
        let mut news = self.news();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if news.is_over || is_there(&news) || left.is_zero() {
                return news;
            }
            let waited = self.rang.wait_timeout(news, left);
            news = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

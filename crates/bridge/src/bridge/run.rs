//! A bridge that runs: it says what there is to say when the store's bell rings, and takes in what a topic's stream tells of.
//!
//! Four threads, whatever there is to do: one waits for the bell, one speaks, one tends connections, and one listens and keeps the leases; beside them those who
//! speak at once, and the one that all streams share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_store::TopicRow;
use inbox_store::bell::{Key, PATIENCE};

use super::alarm::Alarm;
use super::listen::Look;
use super::streams::Streams;
use super::{Bridge, RENEWAL, Readings, Turn};

/// How long until a topic is looked at again that has no stream; twice as long after each look that found nothing, up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How many topics without a stream may be looked at in a second: a mirror has other guests.
const LOOKS: u32 = 10;

/// How long until a topic is looked at that has a stream, which does not tell of itself that it tells nothing.
const WITH_STREAM: Duration = Duration::from_mins(1);

/// How long until a mirror is asked again that did not do what it should, at most.
const LONGEST_TROUBLE: Duration = Duration::from_secs(30);

/// How long it is trusted that the bell tells of what is to be said.
const LOOK_FOR_MAIL: Duration = Duration::from_secs(2);

/// How often it is looked whether something is to be done for a connection.
const TENDING: Duration = Duration::from_millis(500);

/// Tells a running bridge to stop.
#[derive(Clone)]
pub struct Stopper(Arc<Alarm>);

impl Stopper {
    /// Has it end what it is doing, and stop.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// A topic, and when it is looked at next.
struct Watched {
    topic: TopicRow,
    at: Instant,
    pause: Duration,
    /// The newest message that its stream told of.
    newest: u64,
}

impl Watched {
    fn new(topic: TopicRow) -> Self {
        Watched {
            topic,
            at: Instant::now(),
            pause: PAUSE,
            newest: 0,
        }
    }

    /// What a look at it means for the next.
    fn saw(&mut self, look: Look, has_stream: bool, longest: Duration) {
        let now = Instant::now();
        let is_behind = look.seen.unsigned_abs() < self.newest;
        let longest = match &look.problem {
            Some(_) => LONGEST_TROUBLE,
            None => longest,
        };
        self.at = if look.has_more() {
            now
        } else if has_stream && !is_behind && look.problem.is_none() {
            self.pause = PAUSE;
            now + WITH_STREAM
        } else {
            self.pause = if look.read > 0 {
                PAUSE
            } else {
                (self.pause * 2).min(longest)
            };
            now + self.pause
        };
        self.topic = look.topic;
    }
}

impl Bridge<'_> {
    /// Whoever may tell it to stop.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.alarm))
    }

    /// Moves messages until it is told to stop, and says what it did each time that it did something. What the store does not do ends it.
    pub fn run(&mut self, see: &(dyn Fn(Turn) + Sync)) -> Result<(), Refusal> {
        let mut readings = std::mem::take(&mut self.readings);
        let bridge = &*self;
        let held = Mutex::new(Vec::new());
        let (said, heard) = std::thread::scope(|scope| {
            scope.spawn(|| bridge.wait_for_bell());
            let tending = scope.spawn(|| {
                let tended = bridge.keep_tending(&held, see);
                bridge.alarm.stop();
                tended
            });
            let speaking = scope.spawn(|| {
                let said = bridge.keep_speaking(&held, see);
                bridge.alarm.stop();
                said
            });
            let heard = bridge.keep_listening(&held, &mut readings, see);
            bridge.alarm.stop();
            bridge.inbox.store().bell().ring(&[Key::Ledger]);
            let said = speaking
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            let tended = tending
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (said.and(tended), heard)
        });
        said.and(heard)
    }

    fn wait_for_bell(&self) {
        let mut bell = self.inbox.store().listen(&Key::Ledger);
        self.alarm.mail();
        while !self.alarm.is_over() {
            bell.rearm();
            if bell.wait(PATIENCE) {
                self.alarm.mail();
            }
        }
    }

    fn keep_speaking(
        &self,
        held: &Mutex<Vec<TopicRow>>,
        see: &(dyn Fn(Turn) + Sync),
    ) -> Result<(), Refusal> {
        let mut pause = Duration::ZERO;
        loop {
            self.alarm.wait_for_mail(pause);
            if self.alarm.is_over() {
                return Ok(());
            }
            let topics = held.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let due = self.inbox.due_topics(&self.name)?;
            if due.iter().any(|(_, is_held)| !is_held) {
                self.alarm.topics();
            }
            let mut turn = Turn::default();
            self.speak(&topics, &mut turn)?;
            if turn != Turn::default() {
                see(turn);
            }
            let next = self.inbox.next_outgoing(&self.name)?;
            let next = next.map(|millis| Duration::from_millis(millis.unsigned_abs()));
            pause = match next {
                Some(next) if turn.sent > 0 => next,
                // What could not be said now is not tried in a loop.
                Some(next) => next.max(PAUSE),
                None => LOOK_FOR_MAIL,
            };
            pause = pause.min(LOOK_FOR_MAIL);
        }
    }

    /// Goes on with connections and with what others want signed.
    fn keep_tending(
        &self,
        held: &Mutex<Vec<TopicRow>>,
        see: &(dyn Fn(Turn) + Sync),
    ) -> Result<(), Refusal> {
        while !self.alarm.is_over() {
            let topics = held.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let mut turn = Turn::default();
            self.tend(&topics, &mut turn)?;
            if turn != Turn::default() {
                see(turn);
            }
            if turn.sent > 0 {
                // A connection that is there now has a topic to be followed.
                self.alarm.topics();
            } else {
                self.alarm.pause(TENDING);
            }
        }
        Ok(())
    }

    fn keep_listening(
        &self,
        held: &Mutex<Vec<TopicRow>>,
        readings: &mut Readings,
        see: &(dyn Fn(Turn) + Sync),
    ) -> Result<(), Refusal> {
        let mut streams = Streams::new(&self.runtime, &self.network, &self.alarm);
        let mut watched: BTreeMap<i64, Watched> = BTreeMap::new();
        let mut renew_at = Instant::now();
        loop {
            if Instant::now() >= renew_at {
                let topics = self.hold()?;
                watched.retain(|no, _| topics.iter().any(|topic| topic.topic_no == *no));
                for topic in &topics {
                    let known = watched.get(&topic.topic_no).map(|one| &one.topic);
                    // A topic that was begun anew: what was read of the one before is nothing here, nor who spoke there.
                    if known.is_some_and(|known| {
                        known.topic != topic.topic || known.sequence > topic.sequence
                    }) {
                        watched.remove(&topic.topic_no);
                        let speakers = self.speakers.lock();
                        speakers.unwrap_or_else(PoisonError::into_inner).clear();
                    }
                }
                readings.retain(|no, _| watched.contains_key(no));
                streams.keep(|no| watched.contains_key(&no));
                for topic in topics.iter().filter(|topic| topic.topic.is_some()) {
                    let one = watched.entry(topic.topic_no);
                    one.or_insert_with(|| Watched::new(topic.clone()));
                }
                *held.lock().unwrap_or_else(PoisonError::into_inner) = topics;
                self.alarm.mail();
                renew_at = Instant::now() + RENEWAL;
            }
            let next = watched.values().map(|one| one.at).min();
            let until = next.map_or(renew_at, |next| next.min(renew_at));
            let (knocks, has_topics) = self.alarm.wait_for_news(until);
            if self.alarm.is_over() {
                return Ok(());
            }
            if has_topics {
                renew_at = Instant::now();
            }
            let now = Instant::now();
            for (topic_no, newest) in knocks {
                if let Some(one) = watched.get_mut(&topic_no) {
                    one.newest = one.newest.max(newest);
                    one.pause = PAUSE;
                    // What a stream tells of may have been taken in before.
                    let seen = readings
                        .get(&topic_no)
                        .map_or(0, super::reading::Reading::seen);
                    if newest == 0 || seen.unsigned_abs() < newest {
                        one.at = now;
                    }
                }
            }
            let due = watched.values().filter(|one| one.at <= now);
            let due: Vec<TopicRow> = due.map(|one| one.topic.clone()).collect();
            let mut turn = Turn::default();
            let looks = self.look(&due, readings, &mut turn)?;
            let count = u32::try_from(watched.len()).unwrap_or(u32::MAX);
            let longest = LONGEST_PAUSE.max(Duration::from_secs(1) * count / LOOKS);
            for look in looks {
                let topic_no = look.topic.topic_no;
                if look.is_lost {
                    // Where it stands is read again with the leases.
                    watched.remove(&topic_no);
                    renew_at = Instant::now();
                } else if let Some(one) = watched.get_mut(&topic_no) {
                    if !look.has_more() && look.problem.is_none() {
                        streams.follow(&look.topic)?;
                    }
                    let has_stream = self.alarm.has_stream(topic_no, look.topic.sequence == 0);
                    one.saw(look, has_stream, longest);
                }
            }
            if turn != Turn::default() {
                see(turn);
            }
        }
    }
}

//! A topic as it is written: a mirror's stream, which goes on where it was when it broke, gives no message twice and leaves none out.
//!
//! Who paid for a message is not in the stream. Whoever has to know asks [`crate::mirror::Mirror::message`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use inbox_hcs::{Piece, Sequence, Timestamp, TopicId};
use prost::Message;
use thiserror::Error;

use crate::grpc::{CallError, Channel, Streamed, framed};
use crate::proto::{self, ChunkInfo, TopicQuery, TopicResponse};

const SUBSCRIBE: &str = "/com.hedera.mirror.api.proto.ConsensusService/subscribeTopic";

/// How long to wait before the second attempt, twice as long before each after it, and the longest.
const PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How long it is tried before it is said that something is wrong.
const PATIENCE: Duration = Duration::from_mins(1);

/// A stream that lasted so long was no failure when it ends.
const LASTED: Duration = Duration::from_secs(30);

/// How often a stream may leave a message out at the same place.
const MOST_GAPS: u32 = 5;

/// How many messages that were given already a stream may give again.
const MOST_REPEATS: u32 = 1000;

/// Where a subscription begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// With the first message.
    Beginning,
    /// With the first message at or after this moment.
    Time(Timestamp),
    /// With the one after this message, which came at that moment.
    After(Sequence, Timestamp),
}

/// A message as a mirror streams it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub sequence: Sequence,
    /// When it came.
    pub time: Timestamp,
    /// Its bytes.
    pub message: Vec<u8>,
    /// The topic's hash with it.
    pub running_hash: Vec<u8>,
    /// Which piece of a larger one it is.
    pub piece: Option<Piece>,
}

/// A stream that does not come, or is not to be believed. Whoever asks for the next message again goes on at the same place.
#[derive(Debug, Error)]
pub enum StreamError {
    /// The mirror does not know the topic.
    #[error("the mirror knows no topic {0}")]
    NoTopic(TopicId),
    /// Nothing has been heard for a while.
    #[error("the stream of the topic {topic} does not come: {last}")]
    Away {
        /// Which topic.
        topic: TopicId,
        /// What the last attempt met.
        last: CallError,
    },
    /// The mirror refuses.
    #[error("the mirror refuses to stream the topic {topic}: {error}")]
    Refused {
        /// Which topic.
        topic: TopicId,
        /// Why.
        error: CallError,
    },
    /// It leaves messages out, again and again.
    #[error("the stream of the topic {topic} goes from message {after} to {found}")]
    Gap {
        /// Which topic.
        topic: TopicId,
        /// The last message before.
        after: u64,
        /// The first one after.
        found: Sequence,
    },
    /// What it says cannot be.
    #[error("a message in the stream of the topic {topic} has no good {field}")]
    Form {
        /// Which topic.
        topic: TopicId,
        /// What is wrong.
        field: &'static str,
    },
}

/// The messages of a topic, as they come.
pub struct Subscription {
    channel: Arc<Channel>,
    topic: TopicId,
    since: Since,
    /// The last message that was given.
    last: Option<(Sequence, Timestamp)>,
    stream: Option<(Streamed, Instant)>,
    patience: Duration,
    trouble: Trouble,
    repeats: u32,
}

/// What has gone wrong since the last message.
#[derive(Debug, Default, Clone, Copy)]
struct Trouble {
    since: Option<Instant>,
    failures: u32,
    gaps: u32,
}

/// What one look at the stream gave.
enum Step {
    Came(Arrival),
    /// The stream broke, or ended.
    Broke(CallError),
    /// It left something out, up to this one.
    Gap(Sequence),
}

impl Subscription {
    /// The messages of a topic from a mirror that streams at `host:port`.
    pub fn new(address: &str, topic: TopicId, since: Since) -> Self {
        Subscription::over(Subscription::channel(address), topic, since)
    }

    /// A connection to a mirror that streams at `host:port`, which several subscriptions may share.
    pub fn channel(address: &str) -> Arc<Channel> {
        // Calls have no time of their own here: a stream is as long as it is.
        Arc::new(Channel::to(address, None, PATIENCE))
    }

    /// The messages of a topic over a connection that others share.
    pub fn over(channel: Arc<Channel>, topic: TopicId, since: Since) -> Self {
        Subscription {
            channel,
            topic,
            since,
            last: None,
            stream: None,
            patience: PATIENCE,
            trouble: Trouble::default(),
            repeats: 0,
        }
    }

    /// The same, which says so when nothing could be heard for so long.
    pub fn patient_for(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Where to go on another time: after the last message that was given, or where this began.
    pub fn place(&self) -> Since {
        self.last
            .map_or(self.since, |(sequence, time)| Since::After(sequence, time))
    }

    /// Has the stream opened if it is not: whether it is there now.
    pub async fn is_open(&mut self) -> bool {
        if self.stream.is_none()
            && let Ok(opened) = self.open().await
        {
            self.stream = Some((opened, Instant::now()));
        }
        self.stream.is_some()
    }

    /// The next message, as soon as there is one. It may be given up at any time, and nothing is lost.
    pub async fn next(&mut self) -> Result<Arrival, StreamError> {
        loop {
            let outcome = self.step().await;
            if !matches!(outcome, Ok(Step::Came(_))) {
                let lasted = self.stream.take().map(|(_, begun)| begun.elapsed());
                if lasted.is_some_and(|lasted| lasted >= LASTED) {
                    self.trouble = Trouble::default();
                }
            }
            let (error, is_final) = match outcome? {
                Step::Came(arrival) => {
                    self.trouble = Trouble::default();
                    return Ok(arrival);
                }
                Step::Gap(found) => {
                    self.trouble.gaps += 1;
                    let after = self.expected().map_or(0, |next| next - 1);
                    let topic = self.topic;
                    let gap = StreamError::Gap {
                        topic,
                        after,
                        found,
                    };
                    (gap, self.trouble.gaps >= MOST_GAPS)
                }
                Step::Broke(error) => self.broke(error),
            };
            let now = Instant::now();
            let since = *self.trouble.since.get_or_insert(now);
            if is_final || now.duration_since(since) >= self.patience {
                self.trouble = Trouble::default();
                return Err(error);
            }
            let pause = PAUSE.saturating_mul(1 << self.trouble.failures.min(10));
            self.trouble.failures += 1;
            tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
        }
    }

    /// What a stream that broke means, and whether there is no use in another attempt.
    fn broke(&self, error: CallError) -> (StreamError, bool) {
        let topic = self.topic;
        match &error {
            CallError::Status { code: 5, .. } => (StreamError::NoTopic(topic), false),
            // The question is wrong, or not allowed, or not known.
            CallError::Status {
                code: 3 | 7 | 12 | 16,
                ..
            } => (StreamError::Refused { topic, error }, true),
            _ => (StreamError::Away { topic, last: error }, false),
        }
    }

    /// The number that comes next, where it is known.
    fn expected(&self) -> Option<u64> {
        match self.place() {
            Since::Beginning => Some(Sequence::FIRST.get()),
            Since::Time(_) => None,
            Since::After(sequence, _) => Some(sequence.get().saturating_add(1)),
        }
    }

    /// The moment that a stream has to begin with.
    fn start(&self) -> proto::Timestamp {
        match self.place() {
            Since::Beginning => proto::Timestamp::default(),
            Since::Time(time) => time.into(),
            Since::After(_, time) => proto::Timestamp::from(time).later(1),
        }
    }

    async fn step(&mut self) -> Result<Step, StreamError> {
        loop {
            let stream = match &mut self.stream {
                Some((stream, _)) => stream,
                None => match self.open().await {
                    Ok(opened) => &mut self.stream.insert((opened, Instant::now())).0,
                    Err(error) => return Ok(Step::Broke(error)),
                },
            };
            let bytes = match stream.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(Step::Broke(self.ended("it ended"))),
                Err(error) => return Ok(Step::Broke(error)),
            };
            let response = TopicResponse::decode(bytes).map_err(|_| self.wrong("form"))?;
            let arrival = self.arrival(response)?;
            match self.expected() {
                Some(next) if arrival.sequence.get() < next => {
                    self.repeats += 1;
                    if self.repeats > MOST_REPEATS {
                        return Ok(Step::Broke(self.ended("it repeats itself")));
                    }
                    continue;
                }
                Some(next) if arrival.sequence.get() > next => {
                    return Ok(Step::Gap(arrival.sequence));
                }
                _ => {}
            }
            // A mirror that goes back is not to be followed.
            if proto::Timestamp::from(arrival.time) < self.start() {
                return Err(self.wrong("time"));
            }
            self.last = Some((arrival.sequence, arrival.time));
            return Ok(Step::Came(arrival));
        }
    }

    async fn open(&mut self) -> Result<Streamed, CallError> {
        self.repeats = 0;
        let query = TopicQuery {
            topic_id: Some(self.topic.into()),
            consensus_start_time: Some(self.start()),
            consensus_end_time: None,
            limit: 0,
        };
        self.channel.stream(SUBSCRIBE, framed(&query)).await
    }

    fn arrival(&self, response: TopicResponse) -> Result<Arrival, StreamError> {
        let sequence = Sequence::new(response.sequence_number);
        let time = response.consensus_timestamp.and_then(|time| time.time());
        Ok(Arrival {
            sequence: sequence.ok_or_else(|| self.wrong("number"))?,
            time: time.ok_or_else(|| self.wrong("time"))?,
            message: response.message,
            running_hash: response.running_hash,
            piece: response.chunk_info.as_ref().and_then(piece),
        })
    }

    fn ended(&self, why: &str) -> CallError {
        CallError::Unreachable(self.channel.address().to_owned(), why.to_owned())
    }

    fn wrong(&self, field: &'static str) -> StreamError {
        StreamError::Form {
            topic: self.topic,
            field,
        }
    }
}

/// Which piece of which message. The network lets anybody write what says neither, and that is a message by itself: it must not stop
/// the stream for everybody.
fn piece(chunk: &ChunkInfo) -> Option<Piece> {
    let first = chunk.initial_transaction_id.as_ref()?;
    Some(Piece {
        payer: first.account_id.as_ref()?.id()?,
        valid_start: first.valid_start?.time()?,
        number: chunk.number.try_into().ok()?,
        total: chunk.total.try_into().ok()?,
    })
}

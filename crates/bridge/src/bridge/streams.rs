//! The streams of the topics that a bridge has: each tells when its topic has something new.
//!
//! Who paid for a message is not in the stream, so a stream only knocks: what is taken in is what the mirror says when it is asked. A
//! stream that breaks, leaves something out or never comes delays a look and loses nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use inbox_core::Refusal;
use inbox_hcs::TopicId;
use inbox_hedera::grpc::Channel;
use inbox_hedera::network::Network;
use inbox_hedera::stream::{Since, Subscription};
use inbox_store::TopicRow;
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::alarm::Alarm;
use super::id_of;

/// How many streams there are at most; the other topics are looked at from time to time.
const MOST: usize = 500;

/// How many streams share a connection, as servers commonly allow.
const TOGETHER: usize = 100;

/// How long a mirror may take to be reached.
const OPENING: Duration = Duration::from_secs(10);

/// How long to wait after a stream broke; twice as long each time that nothing came by the next, up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// The streams.
pub(super) struct Streams {
    runtime: Arc<Runtime>,
    network: Network,
    alarm: Arc<Alarm>,
    /// By topic: the task, and which connection it is on.
    tasks: HashMap<i64, (AbortHandle, usize)>,
    channels: Vec<Arc<Channel>>,
}

impl Streams {
    pub(super) fn new(runtime: &Arc<Runtime>, network: &Network, alarm: &Arc<Alarm>) -> Self {
        Streams {
            runtime: Arc::clone(runtime),
            network: network.clone(),
            alarm: Arc::clone(alarm),
            tasks: HashMap::new(),
            channels: Vec::new(),
        }
    }

    /// Follows a topic from where it was read to, unless it is followed.
    pub(super) fn follow(&mut self, topic: &TopicRow) -> Result<(), Refusal> {
        if self.tasks.contains_key(&topic.topic_no) || self.tasks.len() >= MOST {
            return Ok(());
        }
        let channel = self.channel();
        let id = id_of(topic)?;
        let time = topic.time.as_deref().and_then(|time| time.parse().ok());
        let since = time.map_or(Since::Beginning, Since::Time);
        let shared = Arc::clone(&self.channels[channel]);
        let stream = follow(shared, (topic.topic_no, id), since, Arc::clone(&self.alarm));
        let task = self.runtime.spawn(stream);
        self.tasks
            .insert(topic.topic_no, (task.abort_handle(), channel));
        Ok(())
    }

    /// A connection with room for one more.
    fn channel(&mut self) -> usize {
        let count = |place| self.tasks.values().filter(|(_, at)| *at == place).count();
        let free = (0..self.channels.len()).find(|place| count(*place) < TOGETHER);
        free.unwrap_or_else(|| {
            self.channels.push(self.network.stream_channel());
            self.channels.len() - 1
        })
    }

    /// Follows no others than these.
    pub(super) fn keep(&mut self, is_held: impl Fn(i64) -> bool) {
        let alarm = &self.alarm;
        self.tasks.retain(|topic_no, (task, _)| {
            let is_kept = is_held(*topic_no);
            if !is_kept {
                task.abort();
                alarm.set_stream(*topic_no, false);
            }
            is_kept
        });
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.keep(|_| false);
    }
}

async fn follow(
    channel: Arc<Channel>,
    (topic_no, id): (i64, TopicId),
    mut since: Since,
    alarm: Arc<Alarm>,
) {
    let mut pause = PAUSE;
    loop {
        // It begins with what was seen last, so that one sees that it works; and says at once that it broke, so that the topic is
        // looked at meanwhile.
        let stream = Subscription::over(Arc::clone(&channel), id, since);
        let mut stream = stream.patient_for(Duration::ZERO);
        let opened = tokio::time::timeout(OPENING, stream.is_open()).await;
        if matches!(opened, Ok(true)) {
            alarm.set_stream(topic_no, true);
            while let Ok(arrival) = stream.next().await {
                pause = PAUSE;
                since = Since::Time(arrival.time);
                alarm.knock(topic_no, arrival.sequence.get());
            }
            alarm.set_stream(topic_no, false);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

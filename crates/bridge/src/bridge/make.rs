//! Topics that are made when they are first needed, once each.

use inbox_core::record::Millis;
use inbox_core::{AgentName, Code, Refusal};
use inbox_hcs::MAX_MEMO;
use inbox_hedera::client::Asking;
use inbox_hedera::proto::CreateTopicBody;
use inbox_ops::ledger::Leaving;
use inbox_store::{TopicPlace, TopicRow};

use super::crew::pause;
use super::once::once;
use super::speak::taken_over;
use super::{Bridge, Turn};
use crate::net::topic_of;
use crate::told::named;

impl Bridge<'_> {
    /// The topic with its id, for one who has something to say there. It is made if it is not there, and whoever is first to say something
    /// pays for it. None while it is not there.
    pub(super) fn made(
        &self,
        topic: &TopicRow,
        leaving: &[Leaving],
        turn: &mut Turn,
    ) -> Result<Option<TopicRow>, Refusal> {
        if topic.topic.is_some() {
            return Ok(Some(topic.clone()));
        }
        let now = self.inbox.now()?;
        let first = leaving.first().map(|first| &first.outgoing);
        let Some(first) = first.filter(|first| first.next_at <= now) else {
            return Ok(None);
        };
        if !matches!(topic.place, TopicPlace::Entity | TopicPlace::Role) {
            return Ok(None);
        }
        match self.make(topic, &first.agent) {
            Ok(id) => {
                self.inbox.made_topic(topic.topic_no, &id)?;
                // It is followed as soon as there is something on it.
                self.alarm.topics();
                let mut made = topic.clone();
                made.topic = Some(id);
                Ok(Some(made))
            }
            Err(refusal) if refusal.code == Code::Storage => Err(refusal),
            // Another makes it.
            Err(refusal) if refusal.code == Code::LeaseLost => Ok(None),
            Err(refusal) => {
                turn.problems += 1;
                let problem = &refusal.message;
                let next = Millis(now.0 + pause(first.tries));
                self.inbox.delay_outgoing(first, next, problem)?;
                self.inbox.set_topic_problem(topic.topic_no, problem)?;
                Ok(None)
            }
        }
    }

    fn make(&self, topic: &TopicRow, agent: &AgentName) -> Result<String, Refusal> {
        let speaker = self.speaker(agent)?;
        // Anybody may write there: who paid for a message says whose it is.
        let asking = Asking::of(topic_of(CreateTopicBody {
            memo: memo(topic),
            ..CreateTopicBody::default()
        }));
        let mut row = topic.clone();
        let reach = |point| self.inbox.store().reach(point);
        let known = topic.step_id.as_deref();
        let done = once(&speaker.net, known, &asking, &reach, |id| {
            if !self.inbox.begin_topic(&row, id, &self.name)? {
                return Err(taken_over());
            }
            row.step_id = id.map(str::to_owned);
            Ok(())
        })?;
        Ok(named(done.topic, "a topic")?.to_string())
    }
}

/// What a topic is for, for those who come across it.
fn memo(topic: &TopicRow) -> String {
    let text = format!("inbox:{}:{}", topic.place.name(), topic.name);
    text[..text.floor_char_boundary(MAX_MEMO)].to_owned()
}

//! Topics that are made when they are first needed, once each.

use inbox_core::record::Millis;
use inbox_core::{Code, Refusal};
use inbox_hcs::MAX_MEMO;
use inbox_hedera::client::Asking;
use inbox_hedera::proto::CreateTopicBody;
use inbox_store::{TopicPlace, TopicRow};

use super::once::once;
use super::speak::pause;
use super::{Bridge, Turn};
use crate::net::topic_of;
use crate::told::named;

impl Bridge<'_> {
    /// The topic with its id: it is made if there is something to say on it, and whoever is first to say something pays for it. None while
    /// it is not there.
    pub(super) fn made(
        &mut self,
        mut topic: TopicRow,
        turn: &mut Turn,
    ) -> Result<Option<TopicRow>, Refusal> {
        if topic.topic.is_some() {
            return Ok(Some(topic));
        }
        if !matches!(topic.place, TopicPlace::Entity | TopicPlace::Role) {
            return Ok(None);
        }
        let leaving = self.inbox.leaving(topic.topic_no, 1)?;
        let now = self.inbox.now()?;
        let Some(first) = leaving
            .first()
            .filter(|first| first.outgoing.next_at <= now)
        else {
            return Ok(None);
        };
        match self.make(&topic, &first.outgoing.agent) {
            Ok(id) => {
                self.inbox.made_topic(topic.topic_no, &id)?;
                topic.topic = Some(id);
                Ok(Some(topic))
            }
            Err(refusal) if refusal.code == Code::Storage => Err(refusal),
            Err(refusal) => {
                turn.problems += 1;
                let problem = &refusal.message;
                let next = Millis(now.0 + pause(first.outgoing.tries));
                self.inbox.delay_outgoing(&first.outgoing, next, problem)?;
                self.inbox.set_topic_problem(topic.topic_no, problem)?;
                Ok(None)
            }
        }
    }

    fn make(&mut self, topic: &TopicRow, agent: &inbox_core::AgentName) -> Result<String, Refusal> {
        let inbox = self.inbox;
        let speaker = self.speaker(agent)?;
        // Anybody may write there: who paid for a message says whose it is.
        let asking = Asking::of(topic_of(CreateTopicBody {
            memo: memo(topic),
            ..CreateTopicBody::default()
        }));
        let mut row = topic.clone();
        let known = topic.step_id.clone();
        let done = once(&speaker.net, known.as_deref(), &asking, |id| {
            if !inbox.begin_topic(&row, id)? {
                return Err(Refusal::new(
                    Code::Ledger,
                    format!("another bridge makes the topic of {}", row.name),
                ));
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

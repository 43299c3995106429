//! What is said on a topic: rows that carry their own text, how far each has come, and topics that are made for it.

use inbox_core::record::{Millis, message_uid};
use inbox_core::{AgentName, Message};

use super::{Outgoing, Place, TopicRow, read_topic};
use crate::apply::random;
use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::shown;

/// Something that is to be said on a topic and is not a message's own Wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saying {
    /// What its topic is for.
    pub place: Place,
    /// Whose or which.
    pub name: String,
    /// The topic's id, where there is one already.
    pub topic: Option<String>,
    /// What.
    pub content: String,
    /// What it is known by when it is found there; nothing where that is the message's own UUID.
    pub uid: Option<String>,
}

/// Something that waits to be found on its topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    outbox_no: i64,
    /// Who says it.
    pub agent: AgentName,
}

impl Tx<'_> {
    /// The topic with this id on the ledger.
    pub fn topic_of_id(&mut self, topic: &str) -> Result<Option<TopicRow>, StoreError> {
        let row = self.first(&sql::FIND_TOPIC_OF_ID, &[topic.into()])?;
        row.map(|mut row| read_topic(&mut row)).transpose()
    }

    /// A UUID for something that is no message.
    pub fn new_uid(&mut self) -> Result<String, StoreError> {
        let random = random()?.cast_signed();
        Ok(message_uid(self.now(), random >> 7, random))
    }

    /// Has something said that belongs to what was written last in this transaction.
    pub fn say(&mut self, agent: &AgentName, saying: &Saying) -> Result<(), StoreError> {
        let Some(entry_no) = self.entries.last().copied() else {
            return Err(StoreError::Unreadable("the entry of a saying".into()));
        };
        let topic = saying.topic.as_deref();
        let topic_no = self.ensure_topic(saying.place, &saying.name, None, topic)?;
        let agent_no = self.ensure_agent(agent)?;
        self.ring_for_ledger();
        let params = [
            topic_no.into(),
            entry_no.into(),
            agent_no.into(),
            saying.content.as_str().into(),
            saying.uid.as_deref().into(),
            self.now().0.into(),
        ];
        self.put(&sql::INSERT_SAYING, &params)
    }

    /// Goes on with what is to be said, from where it was. Whether it was still there, and its topic still the bridge's.
    pub fn move_outgoing(
        &mut self,
        from: &Outgoing,
        to: &Outgoing,
        bridge: &str,
    ) -> Result<bool, StoreError> {
        let params = [
            to.step_id.as_deref().into(),
            to.file.as_deref().into(),
            to.content.as_deref().into(),
            from.outbox_no.into(),
            from.step_id.as_deref().unwrap_or_default().into(),
            from.file.as_deref().unwrap_or_default().into(),
            bridge.into(),
            from.message.key().into(),
        ];
        Ok(self.one_int(&sql::MOVE_OUTBOX, &params)?.is_some())
    }

    /// Leaves what cannot be said now for later.
    pub fn delay_outgoing(
        &mut self,
        outgoing: &Outgoing,
        next_at: Millis,
        problem: &str,
    ) -> Result<(), StoreError> {
        let problem = shown(problem);
        let params = [
            (outgoing.tries + 1).into(),
            next_at.0.into(),
            problem.as_ref().into(),
            outgoing.outbox_no.into(),
            outgoing.message.key().into(),
        ];
        self.put(&sql::DELAY_OUTBOX, &params)
    }

    /// Writes down the transaction that makes a topic, in the place of the one before. Whether that one was still there.
    pub fn begin_topic(
        &mut self,
        topic: &TopicRow,
        step_id: Option<&str>,
        bridge: &str,
    ) -> Result<bool, StoreError> {
        let params = [
            step_id.into(),
            topic.topic_no.into(),
            topic.step_id.as_deref().unwrap_or_default().into(),
            bridge.into(),
        ];
        Ok(self.one_int(&sql::BEGIN_TOPIC, &params)?.is_some())
    }

    /// Writes down that a topic is there.
    pub fn made_topic(&mut self, topic_no: i64, topic: &str) -> Result<(), StoreError> {
        self.put(&sql::MADE_TOPIC, &[topic.into(), topic_no.into()])
    }

    /// What waits to be found on a topic by this UUID, which is no message's.
    pub fn spoken_by_uid(
        &mut self,
        topic_no: i64,
        uid: &str,
    ) -> Result<Option<Spoken>, StoreError> {
        let params = [uid.into(), topic_no.into()];
        let Some(mut row) = self.first(&sql::OUTBOX_OF_UID, &params)? else {
            return Ok(None);
        };
        Ok(Some(Spoken {
            outbox_no: row.int()?,
            agent: row.parsed::<AgentName>()?,
        }))
    }

    /// Forgets what was to be said, because its topic has it.
    pub fn forget_spoken(&mut self, spoken: &Spoken) -> Result<(), StoreError> {
        self.put(&sql::DELETE_OUTBOX, &[spoken.outbox_no.into()])
    }

    /// Whether what has this UUID was found on a topic before, and believed.
    pub fn was_heard(&mut self, uid: &str) -> Result<bool, StoreError> {
        let count = self.one_int(&sql::RECORD_OF_UID, &[uid.into()])?;
        Ok(count.unwrap_or_default() > 0)
    }

    /// The message with this UUID.
    pub fn message_of_uid(&mut self, uid: &str) -> Result<Option<Message>, StoreError> {
        let Some(id) = self.message_by_uid(uid)? else {
            return Ok(None);
        };
        Ok(self.load_message(id)?.map(|(_, message)| message))
    }
}

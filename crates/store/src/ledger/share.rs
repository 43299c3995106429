//! How bridges divide the topics between them, and how much is kept of what payers write for nothing.

use inbox_core::AgentName;

use super::{TopicRow, read_topic};
use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;

/// How many messages of one payer that count for nothing are kept of each topic; the others are counted.
pub const FLOOD: i64 = 100;

/// How many are kept of each topic, whoever paid for them: ten payers' measure. Agents of the roster and those who are connected have their own
/// beside it.
pub const TOPIC_FLOOD: i64 = 10 * FLOOD;

/// In whose place those are counted for which a topic had no room: one row for all of them, which is no account's.
const ALL_OTHERS: &str = "*";

impl Tx<'_> {
    /// Gives a bridge its share of the topics for a while, and takes from it what is more: as many as there are for each bridge
    /// that is here. Those that it has now.
    pub fn share_topics(&mut self, bridge: &str, for_ms: i64) -> Result<Vec<TopicRow>, StoreError> {
        let now = self.now().0;
        let until = now + for_ms;
        self.put(&sql::FORGET_BRIDGES, &[now.into(), bridge.into()])?;
        self.renew_topics(bridge, for_ms)?;
        let mut rows = self.rows(&sql::TOPICS_OF_BRIDGE, &[bridge.into()])?;
        let mut held: Vec<TopicRow> = rows.iter_mut().map(read_topic).collect::<Result<_, _>>()?;
        let share = self.share(now)?;
        while held.len() > share
            && let Some(more) = held.pop()
        {
            self.put(&sql::LEAVE_TOPIC, &[more.topic_no.into(), bridge.into()])?;
        }
        if held.len() == share {
            return Ok(held);
        }
        let has = |held: &[TopicRow], topic: &TopicRow| {
            held.iter().any(|one| one.topic_no == topic.topic_no)
        };
        for topic in self.topics(Some(bridge))? {
            if held.len() == share {
                break;
            }
            let params = [
                bridge.into(),
                until.into(),
                topic.topic_no.into(),
                now.into(),
            ];
            if !has(&held, &topic) && self.one_int(&sql::TAKE_TOPIC, &params)?.is_some() {
                held.push(topic);
            }
        }
        Ok(held)
    }

    /// Keeps for a bridge what it has, for a while.
    pub fn renew_topics(&mut self, bridge: &str, for_ms: i64) -> Result<(), StoreError> {
        let until = self.now().0 + for_ms;
        self.put(&sql::KEEP_BRIDGE, &[bridge.into(), until.into()])?;
        self.put(&sql::RENEW_TOPICS, &[until.into(), bridge.into()])
    }

    /// How many topics there are for each bridge.
    fn share(&mut self, now: i64) -> Result<usize, StoreError> {
        let row = self.first(&sql::COUNT_SHARES, &[now.into()])?;
        let mut row = row.ok_or_else(|| StoreError::Unreadable("the shares".into()))?;
        let (topics, bridges) = (row.int()?, row.int()?.max(1));
        let share = (topics + bridges - 1) / bridges;
        Ok(usize::try_from(share).unwrap_or_default())
    }

    /// Leaves every topic of a bridge to others.
    pub fn leave_topics(&mut self, bridge: &str) -> Result<(), StoreError> {
        let now = self.now().0;
        self.put(&sql::FORGET_BRIDGES, &[now.into(), bridge.into()])?;
        self.put(&sql::LEAVE_TOPICS, &[bridge.into()])
    }

    /// On which topics there is something to say now, of those that a bridge has or that nobody has, and whether it has them.
    pub fn due_topics(&mut self, bridge: &str) -> Result<Vec<(i64, bool)>, StoreError> {
        let now = self.now().0;
        let mut rows = self.rows(&sql::DUE_TOPICS, &[bridge.into(), now.into()])?;
        rows.iter_mut()
            .map(|row| Ok((row.int()?, row.int()? == 1)))
            .collect()
    }

    /// When the first of what a bridge has to say may be tried.
    pub fn next_outgoing(&mut self, bridge: &str) -> Result<Option<i64>, StoreError> {
        self.one_int(&sql::NEXT_OUTBOX, &[bridge.into()])
    }

    /// The agent whose account this is, and where it hears.
    pub fn agent_of_account(
        &mut self,
        account: &str,
    ) -> Result<Option<(AgentName, Option<String>)>, StoreError> {
        let row = self.first(&sql::AGENT_OF_ACCOUNT, &[account.into()])?;
        row.map(|mut row| Ok((row.parsed::<AgentName>()?, row.maybe_text()?)))
            .transpose()
    }

    /// How many messages of a payer on a topic counted for nothing, without those for which the topic had no room.
    pub fn flood_of(&mut self, topic_no: i64, payer: &str) -> Result<i64, StoreError> {
        let found = self.one_int(&sql::FIND_FLOOD, &[topic_no.into(), payer.into()])?;
        Ok(found.unwrap_or_default())
    }

    /// How many messages of a topic that count for nothing are kept.
    pub fn kept_of_floods(&mut self, topic_no: i64) -> Result<i64, StoreError> {
        let params = [FLOOD.into(), topic_no.into(), ALL_OTHERS.into()];
        let found = self.one_int(&sql::KEPT_OF_FLOODS, &params)?;
        Ok(found.unwrap_or_default())
    }

    /// Counts so many more: of a payer, or of all for whom the topic had no room.
    pub fn add_flood(
        &mut self,
        topic_no: i64,
        payer: Option<&str>,
        more: i64,
    ) -> Result<(), StoreError> {
        let payer = payer.unwrap_or(ALL_OTHERS);
        let params = [topic_no.into(), payer.into(), more.into()];
        self.put(&sql::ADD_FLOOD, &params)
    }

    /// Of which payers messages on a topic were counted and not kept, and how many; without a payer those for which the topic had no room. A
    /// topic has so many more messages than there are records of it.
    pub fn floods(&mut self, topic_no: i64) -> Result<Vec<(Option<String>, i64)>, StoreError> {
        let params = [ALL_OTHERS.into(), FLOOD.into(), topic_no.into()];
        let mut rows = self.rows(&sql::FLOODS_OF_TOPIC, &params)?;
        rows.iter_mut()
            .map(|row| {
                let payer = Some(row.text()?).filter(|payer| payer != ALL_OTHERS);
                Ok((payer, row.int()?))
            })
            .collect()
    }

    /// How many messages were counted and not kept.
    pub fn count_floods(&mut self) -> Result<i64, StoreError> {
        let params = [ALL_OTHERS.into(), FLOOD.into()];
        let found = self.one_int(&sql::COUNT_FLOODS, &params)?;
        Ok(found.unwrap_or_default())
    }
}

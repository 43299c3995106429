//! How much is kept of what counts for nothing: so much of each payer, and so much of a topic.
//!
//! A public topic is anybody's, and an account costs little: what is kept of one payer alone would grow with how many there are. What a topic
//! has no room for is counted in one place, so that neither its records nor its counts grow with it. Agents of the roster and those who are
//! connected are few, and have their own measure however full a topic is: what of theirs was put aside is what somebody will look for.

use std::collections::BTreeMap;

use inbox_store::{
    Abort, ConnectionRow, ConnectionState, FLOOD, LedgerRecord, TOPIC_FLOOD, TopicPlace, TopicRow,
    Tx,
};

/// What counts for nothing among the messages that are taken in together.
pub(super) struct Flood<'t> {
    topic: &'t TopicRow,
    payers: BTreeMap<String, Measure>,
    /// How many are kept of the topic, once that was asked.
    kept: Option<i64>,
    /// How many the topic had no room for.
    beyond: i64,
}

/// What there is of one payer.
#[derive(Debug, Clone, Copy)]
struct Measure {
    before: i64,
    more: i64,
    /// Whether it is somebody's here, once that was asked.
    is_known: Option<bool>,
}

/// What becomes of one more.
enum Place {
    Kept,
    /// Its payer has written too many.
    OverPayer,
    /// Too many have been written.
    OverTopic,
}

impl<'t> Flood<'t> {
    pub(super) fn on(topic: &'t TopicRow) -> Self {
        Flood {
            topic,
            payers: BTreeMap::new(),
            kept: None,
            beyond: 0,
        }
    }

    /// Keeps one more, or counts it. What stands before others that were judged already is counted once, however often its topic is read.
    pub(super) fn add(
        &mut self,
        tx: &mut Tx<'_>,
        record: &LedgerRecord,
        is_late: bool,
    ) -> Result<(), Abort> {
        let place = self.place(tx, &record.payer)?;
        let is_counted = match place {
            Place::Kept if is_late => tx.keep_late_record(self.topic.topic_no, record)?,
            _ if is_late => false,
            Place::Kept => {
                tx.keep_record(self.topic.topic_no, record)?;
                true
            }
            Place::OverPayer | Place::OverTopic => true,
        };
        if !is_counted {
            return Ok(());
        }
        match place {
            Place::OverTopic => self.beyond += 1,
            Place::OverPayer => self.count(&record.payer),
            Place::Kept => {
                self.count(&record.payer);
                self.kept = self.kept.map(|kept| kept + 1);
            }
        }
        Ok(())
    }

    /// Writes down what was counted.
    pub(super) fn finish(self, tx: &mut Tx<'_>) -> Result<(), Abort> {
        let topic_no = self.topic.topic_no;
        for (payer, measure) in &self.payers {
            if measure.more > 0 {
                tx.add_flood(topic_no, Some(payer), measure.more)?;
            }
        }
        if self.beyond > 0 {
            tx.add_flood(topic_no, None, self.beyond)?;
        }
        Ok(())
    }

    fn count(&mut self, payer: &str) {
        if let Some(measure) = self.payers.get_mut(payer) {
            measure.more += 1;
        }
    }

    fn place(&mut self, tx: &mut Tx<'_>, payer: &str) -> Result<Place, Abort> {
        let topic_no = self.topic.topic_no;
        let mut measure = match self.payers.get(payer) {
            Some(measure) => *measure,
            None => Measure {
                before: tx.flood_of(topic_no, payer)?,
                more: 0,
                is_known: None,
            },
        };
        let kept = match self.kept {
            Some(kept) => kept,
            None => tx.kept_of_floods(topic_no)?,
        };
        self.kept = Some(kept);
        let is_over = measure.before + measure.more >= FLOOD;
        let is_full = !is_over && kept >= TOPIC_FLOOD;
        if is_full && measure.is_known.is_none() {
            measure.is_known = Some(is_known(tx, self.topic, payer)?);
        }
        self.payers.insert(payer.to_owned(), measure);
        Ok(if is_over {
            Place::OverPayer
        } else if is_full && measure.is_known != Some(true) {
            Place::OverTopic
        } else {
            Place::Kept
        })
    }
}

/// Whether an account is an agent's of the roster, or connected with whose topic it is.
fn is_known(tx: &mut Tx<'_>, topic: &TopicRow, payer: &str) -> Result<bool, Abort> {
    if tx.agent_of_account(payer)?.is_some() {
        return Ok(true);
    }
    let rows = match (topic.place, &topic.topic) {
        (TopicPlace::Inbound | TopicPlace::Outbound, _) => {
            tx.connections_with(&topic.name, payer)?
        }
        (TopicPlace::Connection, Some(id)) => tx.connections_on(id)?,
        (TopicPlace::Connection | TopicPlace::Entity | TopicPlace::Role, _) => Vec::new(),
    };
    let is_there = |row: &ConnectionRow| {
        let is_ours = matches!(
            row.state,
            ConnectionState::Accepting
                | ConnectionState::Requested
                | ConnectionState::Recording
                | ConnectionState::Open
        );
        is_ours && row.other == payer
    };
    Ok(rows.iter().any(is_there))
}

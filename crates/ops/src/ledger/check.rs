//! What is known of messages on the ledger: where each stands, and what the last comparison found.

use inbox_core::record::Millis;
use inbox_core::{MessageId, Refusal};
use inbox_store::{Abort, RecordState, StoreError};
use serde::{Deserialize, Serialize};

use crate::call::Inbox;

/// Under which name the store keeps it.
const NAME: &str = "ledger_check";

/// How many mismatches are kept by name.
const MOST: usize = 100;

/// How many places of one message are looked at.
const PLACES: i64 = 8;

/// A comparison of the store with its topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// When it was begun.
    pub begun_at: Millis,
    /// When it ended; nothing while it runs, and when whoever ran it died.
    pub ended_at: Option<Millis>,
    /// How many topics were compared.
    pub topics: u64,
    /// How many messages of the network they have.
    pub messages: u64,
    /// How many messages of the store were compared with what stands there.
    pub mail: u64,
    /// How much does not fit.
    pub mismatches: u64,
    /// What does not fit, as far as it is kept.
    pub named: Vec<Named>,
    /// Why it did not come to an end.
    pub refused: Option<String>,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The message in the store.
    pub message: Option<MessageId>,
    /// The topic.
    pub topic: Option<String>,
    /// What it is, for people.
    pub what: String,
}

/// Where a message stands on the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// It is not meant for it.
    Nowhere,
    /// It waits to be said.
    Waits,
    /// It is there.
    There {
        /// The topic.
        topic: String,
        /// Its number there.
        sequence: i64,
        /// The network's time.
        time: String,
        /// Who paid for it.
        payer: String,
    },
}

impl Inbox {
    /// What the last comparison with the ledger found.
    pub fn last_check(&self) -> Result<Option<Check>, Refusal> {
        let kept = self.store().read(|tx| Ok(tx.noted(NAME)?))?;
        // What another version wrote, and this one cannot read, is as if there were none.
        Ok(kept.and_then(|text| serde_json::from_str(&text).ok()))
    }

    /// Writes down that a comparison begins.
    pub fn begin_check(&self) -> Result<Check, Refusal> {
        let check = Check {
            begun_at: self.now()?,
            ended_at: None,
            topics: 0,
            messages: 0,
            mail: 0,
            mismatches: 0,
            named: Vec::new(),
            refused: None,
        };
        self.note_check(&check)?;
        Ok(check)
    }

    /// Writes down what a comparison found.
    pub fn note_check(&self, check: &Check) -> Result<(), Refusal> {
        let mut kept = check.clone();
        kept.named.truncate(MOST);
        let written = self.store().write(|tx| {
            let text = serde_json::to_string(&kept)
                .map_err(|error| Abort::from(StoreError::Unreadable(error.to_string())))?;
            Ok(tx.note(NAME, &text)?)
        });
        written.map(drop)
    }

    /// Where each of these messages stands on the ledger.
    pub fn spots(&self, messages: &[(MessageId, &str)]) -> Result<Vec<Spot>, Refusal> {
        self.store().read(|tx| {
            let mut spots = Vec::with_capacity(messages.len());
            for (id, uid) in messages {
                let records = tx.records_of(uid, PLACES)?;
                let found = records.into_iter().find(|(_, record)| {
                    matches!(record.state, RecordState::Confirmed | RecordState::Taken)
                });
                spots.push(match found {
                    Some((row, record)) => Spot::There {
                        topic: row.topic.unwrap_or_default(),
                        sequence: record.sequence,
                        time: record.time,
                        payer: record.payer,
                    },
                    None if tx.waits_for_ledger(*id)? => Spot::Waits,
                    None => Spot::Nowhere,
                });
            }
            Ok(spots)
        })
    }
}

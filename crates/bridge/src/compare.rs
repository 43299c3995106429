//! Whether the store has what its topics have: every message of a topic, with the same content and in the same order, and nothing else.
//!
//! A topic is read from its first message on, and its hashes are computed again. What was kept of each message is compared with what stands
//! there, and the message in the store with the Wire on the topic. Both are gone through side by side, so that a long history needs no
//! more memory than a short one.

mod chain;
mod content;
mod pager;
mod swap;
mod walk;

use std::collections::HashSet;

use inbox_core::{Code, MessageId, Refusal};
use inbox_hcs::{RunningHash, Sequence};
use inbox_hedera::mirror::Mirror;
use inbox_ops::Inbox;
use inbox_store::TopicRow;

use crate::told::Told;
use walk::{Lost, Walk};

/// The most mismatches that are named one by one.
const MOST: usize = 1_000;

/// How something in the store differs from the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// It is other than it should be.
    Changed,
    /// The topic has it, and the store has not.
    Missing,
    /// The store has it, and the topic has not.
    Added,
    /// It stands where something else should.
    Reordered,
}

impl Difference {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Difference::Changed => "changed",
            Difference::Missing => "missing",
            Difference::Added => "added",
            Difference::Reordered => "reordered",
        }
    }
}

/// One thing in which the store differs from the ledger, or a mirror from itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// How.
    pub difference: Difference,
    /// What: `record` or `message` as a whole, or a field of one.
    pub field: &'static str,
    /// The topic's id.
    pub topic: Option<String>,
    /// The number of the message there.
    pub sequence: Option<u64>,
    /// The message in the store.
    pub message: Option<MessageId>,
    /// Its UUID.
    pub uid: Option<String>,
    /// The same for people.
    pub what: String,
}

/// A topic that was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Which.
    pub topic: TopicRow,
    /// How many messages of the network it has.
    pub messages: u64,
    /// How many of them, put together, were compared with what was kept of them.
    pub records: u64,
    /// How many messages of the store were compared with what stands there.
    pub mail: u64,
    /// How many the store has not taken in yet.
    pub ahead: u64,
    /// The last one and the hash up to it, as it follows from all before.
    pub last: Option<(Sequence, RunningHash)>,
}

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The topics.
    pub topics: Vec<Compared>,
    /// What does not fit.
    pub mismatches: Vec<Mismatch>,
    /// How much more does not fit than is named.
    pub more: u64,
}

impl Report {
    fn add(&mut self, mismatch: Mismatch) {
        if self.mismatches.len() < MOST {
            self.mismatches.push(mismatch);
        } else {
            self.more += 1;
        }
    }

    /// How much does not fit.
    pub fn count(&self) -> u64 {
        self.more + u64::try_from(self.mismatches.len()).unwrap_or(u64::MAX)
    }
}

/// Compares the store with one topic, or with every topic that it knows.
pub fn compare(inbox: &Inbox, mirror: &Mirror, only: Option<&str>) -> Result<Report, Refusal> {
    let known = inbox.ledger_standing()?.topics;
    let wanted: Vec<TopicRow> = known
        .into_iter()
        .filter(|row| row.topic.is_some() && only.is_none_or(|id| row.topic.as_deref() == Some(id)))
        .collect();
    if let Some(id) = only
        && wanted.is_empty()
    {
        return Err(Refusal::new(
            Code::TopicNotFound,
            format!("this store has nothing of the topic {id}"),
        )
        .hint(format!(
            "inbox bridge status lists its topics; inbox hcs verify {id} checks a topic alone"
        )));
    }
    let mut report = Report::default();
    let (mut lost, mut unnamed) = (Vec::new(), HashSet::new());
    for row in wanted {
        let id = crate::bridge::id_of(&row)?;
        if mirror.topic(id).told()?.is_none() {
            report.add(Mismatch {
                difference: Difference::Added,
                field: "topic",
                topic: row.topic.clone(),
                sequence: None,
                message: None,
                uid: None,
                what: format!(
                    "the store follows {id} ({} {}), and the network has no such topic",
                    row.place.name(),
                    row.name
                ),
            });
            continue;
        }
        let mut walked = Walk::new(inbox, mirror, &row, id, &mut report).run()?;
        lost.append(&mut walked.lost);
        unnamed.extend(walked.unnamed);
        report.topics.push(walked.compared);
    }
    strays(inbox, only, &unnamed, &mut lost, &mut report)?;
    for lost in lost {
        report.add(lost.missing());
    }
    Ok(report)
}

/// What is in the store and should be on a topic. Where the topic has the same under another UUID, that is what was changed.
fn strays(
    inbox: &Inbox,
    only: Option<&str>,
    unnamed: &HashSet<String>,
    lost: &mut Vec<Lost>,
    report: &mut Report,
) -> Result<(), Refusal> {
    inbox.strays(|stray| {
        let topic = stray.topic.and_then(|row| row.topic);
        let message = &stray.kept.message;
        // What was kept of it was changed, and that is named already.
        if unnamed.contains(&message.uid) {
            return;
        }
        let digest = content::unnamed(&stray.kept.wire);
        let found = lost.iter().position(|lost| lost.digest == digest);
        if let Some(place) = found {
            let lost = lost.remove(place);
            report.add(Mismatch {
                difference: Difference::Changed,
                field: "uid",
                message: Some(message.message_id),
                what: format!(
                    "the topic has it as {}, and the store as {}",
                    lost.uid, message.uid
                ),
                ..lost.missing()
            });
            return;
        }
        if only.is_some() && topic.as_deref() != only {
            return;
        }
        let what = match &topic {
            Some(topic) => format!(
                "{} wrote it to one who hears on {topic}, which has no such message, and it does not wait for it",
                message.from_agent
            ),
            None => "it says that it came from the ledger, and no topic has it".to_owned(),
        };
        report.add(Mismatch {
            difference: Difference::Added,
            field: "message",
            topic,
            sequence: None,
            message: Some(message.message_id),
            uid: Some(message.uid.clone()),
            what,
        });
    })
}

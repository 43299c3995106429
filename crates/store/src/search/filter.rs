//! Which of the messages that match are given, and how an index narrows them down.

use inbox_core::record::Millis;
use inbox_core::{Address, AgentName, Kind, Message, Status, Thread};

use crate::query::Labels;

/// Which messages `search` gives; what is not set matches all.
#[derive(Debug, Clone, Default)]
pub struct SearchFilter {
    /// Sent by or to this agent.
    pub agent: Option<AgentName>,
    /// Sent to this address.
    pub address: Option<Address>,
    /// Of one of these kinds; none means every one.
    pub kind: Vec<Kind>,
    /// In threads with one of these statuses; none means every one.
    pub status: Vec<Status>,
    /// In threads with these labels.
    pub labels: Labels,
    /// Sent then or later.
    pub since: Option<Millis>,
    /// Sent before.
    pub until: Option<Millis>,
}

impl SearchFilter {
    /// Whether a message in a thread is one of them.
    pub fn matches(&self, message: &Message, thread: &Thread) -> bool {
        let is_to = |name: &str| message.to.iter().any(|to| to.as_str() == name);
        let is_label = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        self.agent
            .as_ref()
            .is_none_or(|agent| message.from_agent == *agent || is_to(agent.as_str()))
            && self
                .address
                .as_ref()
                .is_none_or(|address| is_to(address.as_str()))
            && (self.kind.is_empty() || self.kind.contains(&message.kind))
            && (self.status.is_empty() || self.status.contains(&thread.status))
            && is_label(&self.labels.run, &thread.run_id)
            && is_label(&self.labels.task, &thread.task_id)
            && self.since.is_none_or(|since| message.created_at >= since)
            && self.until.is_none_or(|until| message.created_at < until)
    }

    /// What an index must find beside the words: one of each group. The status is not among them,
    /// because it changes.
    pub(crate) fn facets(&self) -> Vec<Vec<String>> {
        let mut groups = Vec::new();
        if let Some(agent) = &self.agent {
            groups.push(vec![from(agent.as_str()), to(agent.as_str())]);
        }
        if let Some(address) = &self.address {
            groups.push(vec![to(address.as_str())]);
        }
        if !self.kind.is_empty() {
            groups.push(self.kind.iter().map(|&of| kind(of)).collect());
        }
        groups.extend(self.labels.run.iter().map(|run| vec![facet('r', run)]));
        groups.extend(self.labels.task.iter().map(|task| vec![facet('j', task)]));
        groups
    }

    /// The days on which such a message was sent, the last one included.
    pub(crate) fn days(&self) -> Option<(i64, i64)> {
        let first = self.since.map_or(i64::MIN, day);
        let last = self.until.map_or(i64::MAX, day);
        (self.since.is_some() || self.until.is_some()).then_some((first, last))
    }
}

/// The day of a time.
pub(crate) fn day(time: Millis) -> i64 {
    time.0.div_euclid(24 * 3_600_000)
}

/// What stands in the index for a sender.
pub(crate) fn from(agent: &str) -> String {
    facet('f', agent)
}

/// What stands in the index for an address.
pub(crate) fn to(address: &str) -> String {
    facet('t', address)
}

/// What stands in the index for a kind.
pub(crate) fn kind(kind: Kind) -> String {
    facet('k', kind.name())
}

/// What stands in the index for a run.
pub(crate) fn run(run: &str) -> String {
    facet('r', run)
}

/// What stands in the index for a task.
pub(crate) fn task(task: &str) -> String {
    facet('j', task)
}

/// A word that no text contains: it begins with a character that has no meaning. The value is hashed,
/// because it may hold anything; that two values share a hash is found out with the message itself.
fn facet(name: char, value: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in value.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("\u{e000}{name}{hash:016x}")
}

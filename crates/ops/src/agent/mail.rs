//! What was sent to an agent, by every address that reaches it.

use inbox_core::{AgentName, EventId, Message, Refusal};

use crate::call::Inbox;
use crate::read::unread;

/// What was sent to an agent, the newest first.
#[derive(Debug, Clone)]
pub struct Received {
    /// Each message, and whether the agent has not read it.
    pub messages: Vec<(Message, bool)>,
    /// The event before which there is more.
    pub before: Option<EventId>,
}

impl Inbox {
    /// What was sent to an agent before an event, the newest first.
    pub fn received(
        &self,
        agent: &AgentName,
        before: Option<EventId>,
        limit: i64,
    ) -> Result<Received, Refusal> {
        self.read(|tx| {
            let reader = tx.reader(agent, None)?;
            let before = before.unwrap_or(EventId(i64::MAX));
            let mut found: Vec<(EventId, Message)> = Vec::new();
            for reached in &reader.addresses {
                for (event, message) in tx.posted_at(reached.address_no, before, limit + 1)? {
                    // Its own words to a channel, and what came by several addresses.
                    let is_known = found.iter().any(|(other, _)| *other == event);
                    if !is_known && message.from_agent != *agent {
                        found.push((event, message));
                    }
                }
            }
            found.sort_by_key(|(event, _)| std::cmp::Reverse(*event));
            let most = usize::try_from(limit).unwrap_or(usize::MAX);
            let is_cut = found.len() > most;
            found.truncate(most);
            let oldest = found.last().map(|(event, _)| *event);
            let new = match oldest {
                Some(oldest) => unread(tx, &reader, EventId(oldest.0 - 1), limit)?.0,
                None => Vec::new(),
            };
            let messages = found.into_iter().map(|(event, message)| {
                let is_unread = new.iter().any(|(other, _)| *other == event);
                (message, is_unread)
            });
            Ok(Received {
                messages: messages.collect(),
                before: oldest.filter(|_| is_cut),
            })
        })
    }
}

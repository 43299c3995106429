//! Profiles follow the roster: when an agent's card or entry there changes, its profile is published anew.
//!
//! What is published is known by its hash in the file of keys, so that only who has the key does it, and nobody does it twice; a step that
//! was begun is gone on with.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use inbox_core::{Agent, AgentName, Refusal, SessionState};
use inbox_hcs::Hash;

use super::Bridge;
use crate::keys::Keys;
use crate::provision;

/// How often the roster is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// How long a profile is left alone after it was published, or could not be: each costs a topic.
const REST: Duration = Duration::from_mins(1);

/// What was seen of the roster.
#[derive(Default)]
pub(super) struct Profiles {
    looked: Option<Instant>,
    seen: HashMap<AgentName, Seen>,
}

struct Seen {
    /// What it was made of when it was published or found to be.
    stamp: Option<Hash>,
    /// When it may be looked at again.
    next: Instant,
}

impl Bridge<'_> {
    /// Publishes what changed since the last look, if it is time to look. What cannot be published now is told with the agent's topic, and
    /// holds up no mail.
    pub(super) fn follow_roster(&self) -> Result<(), Refusal> {
        let mut profiles = self.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if profiles.looked.is_some_and(|last| now < last + LOOK) {
            return Ok(());
        }
        profiles.looked = Some(now);
        for agent in self.inbox.on_ledger()? {
            let stamp = stamp(&agent);
            let seen = profiles.seen.get(&agent.agent_id);
            if seen.is_some_and(|seen| seen.stamp == Some(stamp) || now < seen.next) {
                continue;
            }
            let (stamp, next) = match self.publish(&agent) {
                Ok(true) => (Some(stamp), now + REST),
                Ok(false) => (Some(stamp), now),
                Err(refusal) => {
                    let what = format!("its profile waits: {}", refusal.message);
                    self.inbox.set_problem_of(&agent.agent_id, &what)?;
                    (None, now + REST)
                }
            };
            profiles.seen.insert(agent.agent_id, Seen { stamp, next });
        }
        Ok(())
    }

    /// Publishes the profile of an agent if it is another than the one that is published. Whether it was.
    fn publish(&self, agent: &Agent) -> Result<bool, Refusal> {
        let mut keys = Keys::open(&self.keys, &self.network.name)?;
        let name = agent.agent_id.as_str();
        let account = keys.find(name)?.map(|holder| holder.account.to_string());
        // One whose key is elsewhere, or who was published by hand, is left alone.
        if account.is_none() || account != agent.account_id || keys.work(name).published.is_none() {
            return Ok(false);
        }
        let file = provision::refresh(&self.network, &mut keys, agent)?;
        Ok(file.is_some())
    }
}

/// What a profile is made of.
fn stamp(agent: &Agent) -> Hash {
    let is_there = agent.state.is_some_and(|state| state != SessionState::Dead);
    let parts = serde_json::json!([
        agent.kind,
        agent.name,
        agent.persona,
        agent.card,
        agent.account_id,
        is_there.then_some((&agent.roles, &agent.tags)),
    ]);
    Hash::of(parts.to_string().as_bytes())
}

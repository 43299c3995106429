//! What agents do: what they hold, where they run, what they have not read.

use std::collections::HashMap;

use inbox_core::record::Millis;
use inbox_core::{Agent, AgentName, Session, SessionState, Thread};
use inbox_store::{Abort, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::page::{Cell, Page};

/// How many held threads are looked at.
pub(super) const HELD: i64 = 10_000;

/// Unread messages are counted up to this: who has more needs no number.
const UNREAD: i64 = 100;

/// What an agent does.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Work {
    /// Who.
    pub agent_id: AgentName,
    /// What it holds, and until when; the lease that ends first is first.
    pub holds: Vec<Holding>,
    /// How much it has not read, counted up to 100.
    pub unread: i64,
    /// The programs that its living and frozen sessions run in.
    pub clients: Vec<String>,
    /// Those sessions, for who asks within the process; others have `session list`.
    #[serde(skip)]
    pub sessions: Vec<Session>,
}

/// A thread that an agent holds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Holding {
    /// The thread.
    pub thread: Thread,
    /// When its lease ends.
    pub expires_at: Millis,
}

/// How many of the threads that an agent holds are named in a line.
const NAMED: usize = 3;

/// Agents and what they do, as a table.
pub(super) fn page(agents: &[Agent], work: &[Work]) -> Page {
    let rows = agents.iter().zip(work).map(|(agent, work)| {
        let mut holds: Vec<String> = work
            .holds
            .iter()
            .take(NAMED)
            .map(|held| format!("{} {}", held.thread.thread_id, held.thread.status))
            .collect();
        if let Some(more) = work.holds.len().checked_sub(NAMED).filter(|more| *more > 0) {
            holds.push(format!("{more} more"));
        }
        let unread = match work.unread {
            UNREAD => format!("{UNREAD}+ unread"),
            unread => format!("{unread} unread"),
        };
        let roles = agent.roles.iter().map(|role| format!("role:{role}"));
        let labels: Vec<String> = roles.chain(agent.tags.iter().cloned()).collect();
        vec![
            Cell::Text(agent.agent_id.to_string()),
            Cell::Text(agent.state.map_or("-", SessionState::name).to_owned()),
            agent
                .seen_at
                .map_or(Cell::Text("never".to_owned()), Cell::Time),
            Cell::Text(unread),
            Cell::Text(if holds.is_empty() {
                "holds nothing".to_owned()
            } else {
                holds.join(", ")
            }),
            Cell::Text(work.clients.join(" ")),
            Cell::Text(labels.join(" ")),
        ]
    });
    let headings = vec![
        "AGENT",
        "STATE",
        "SEEN",
        "UNREAD",
        "HOLDS",
        "RUNS IN",
        "ROLES AND TAGS",
    ];
    Page::default().table(headings, rows.collect())
}

/// What each of these agents does.
pub(super) fn work(
    tx: &mut Tx<'_>,
    agents: &[Agent],
    sessions: Vec<Session>,
) -> Result<Vec<Work>, Abort> {
    let held = tx.held_threads(HELD)?;
    let mut living: HashMap<AgentName, Vec<Session>> = HashMap::new();
    for session in sessions {
        if session.state != SessionState::Dead {
            let of = living.entry(session.agent_id.clone()).or_default();
            of.push(session);
        }
    }
    let names: Vec<AgentName> = agents.iter().map(|it| it.agent_id.clone()).collect();
    let unread = tx.unread_of(&names, UNREAD)?;
    let mut all = Vec::with_capacity(agents.len());
    for agent in agents {
        let mine = held
            .iter()
            .filter(|row| row.holder.as_ref() == Some(&agent.agent_id));
        let holds = mine.filter_map(|row| {
            Some(Holding {
                thread: row.thread.clone(),
                expires_at: row.lease_until?,
            })
        });
        let sessions = living.remove(&agent.agent_id).unwrap_or_default();
        let mut clients: Vec<String> = sessions.iter().filter_map(|it| it.client.clone()).collect();
        clients.sort();
        clients.dedup();
        all.push(Work {
            agent_id: agent.agent_id.clone(),
            holds: holds.collect(),
            unread: unread.get(&agent.agent_id).copied().unwrap_or(0),
            clients,
            sessions,
        });
    }
    Ok(all)
}

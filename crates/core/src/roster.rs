//! Who there is: agents and their sessions, in the shape that programs get.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::{AgentName, SessionId};
use crate::record::Millis;
use crate::word::{AgentKind, Scope, SessionState};

/// A durable name with an inbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Its name, which is its address.
    pub agent_id: AgentName,
    /// A program, a person, or inbox itself.
    pub kind: AgentKind,
    /// What people call it.
    pub name: String,
    /// The best of its sessions' states; null when it never began one.
    pub state: Option<SessionState>,
    /// The roles that its living sessions hold.
    pub roles: Vec<String>,
    /// The tags that its living sessions have.
    pub tags: Vec<String>,
    /// Its account on the ledger.
    pub account_id: Option<String>,
    /// The topic that it receives on.
    pub inbound_topic_id: Option<String>,
    /// The topic that it writes on.
    pub outbound_topic_id: Option<String>,
    /// Whether it has a card.
    pub has_card: bool,
    /// Its identity in prose, where it has no card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Its card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Value>,
    /// When its name first appeared.
    pub created_at: Millis,
    /// When it last wrote or read something.
    pub seen_at: Option<Millis>,
    /// When it was taken off the roster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<Millis>,
}

/// What lets a program in over the network, as one agent. The secret itself is kept nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Its id, which is no secret.
    pub token_id: String,
    /// Whose calls it makes.
    pub agent_id: AgentName,
    /// What it allows.
    pub scopes: Vec<Scope>,
    /// What it is for, in its maker's words.
    pub label: String,
    /// When it was made.
    pub created_at: Millis,
    /// When it ends by itself.
    pub expires_at: Option<Millis>,
    /// When it was revoked.
    pub revoked_at: Option<Millis>,
    /// When it was last used, to the minute.
    pub seen_at: Option<Millis>,
}

/// One living instance of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Its id, as its client names it.
    pub session_id: SessionId,
    /// Whose it is.
    pub agent_id: AgentName,
    /// Alive, frozen or dead.
    pub state: SessionState,
    /// The roles it holds.
    pub roles: Vec<String>,
    /// The tags it has.
    pub tags: Vec<String>,
    /// The program it runs in.
    pub client: Option<String>,
    /// When it began.
    pub started_at: Millis,
    /// When it was last seen.
    pub seen_at: Millis,
}

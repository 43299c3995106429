//! What is to be written: a message, what is attached to it, a thread.

use inbox_core::record::{ArtifactMetadata, Millis};
use inbox_core::{Address, Auth, Kind, MessageId, Priority, RefType};
use serde_json::Value;

use crate::ledger::Passage;

/// A message to be written.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// What it is.
    pub kind: Kind,
    /// Who it is for; empty means the thread's own addresses.
    pub to: Vec<Address>,
    /// One line.
    pub summary: String,
    /// The text.
    pub body: String,
    /// Structured content.
    pub payload_json: Value,
    /// Structured context beside the payload.
    pub context: Value,
    /// An open, dotted word.
    pub message_type: Option<String>,
    /// The message that it follows from.
    pub parent: Option<MessageId>,
    /// When it expires: at the latest, where its addresses differ.
    pub expires_at: Option<Millis>,
    /// When it expires at each address; for those that are not there, as above.
    pub deadlines: Vec<Option<Millis>>,
    /// How many messages of agents it follows from since a person spoke.
    pub hops: i64,
    /// How urgent it is, where it is not as urgent as its thread.
    pub priority: Option<Priority>,
    /// Its UUID, where it came with one.
    pub uid: Option<String>,
    /// When it was sent, where that was not now.
    pub created_at: Option<Millis>,
    /// How its sender was established.
    pub auth: Auth,
    /// What is attached.
    pub artifacts: Vec<NewArtifact>,
    /// Where it goes on the ledger.
    pub passages: Vec<Passage>,
}

/// A file reference to be attached.
#[derive(Debug, Clone)]
pub struct NewArtifact {
    /// The path as it was given.
    pub path: String,
    /// `file` or `reference`.
    pub kind: String,
    /// What was found there.
    pub metadata: ArtifactMetadata,
}

impl NewMessage {
    /// A message of this kind that says this, and nothing else.
    pub fn saying(kind: Kind, summary: impl Into<String>, auth: Auth) -> Self {
        let nothing = || Value::Object(serde_json::Map::new());
        NewMessage {
            kind,
            to: Vec::new(),
            summary: summary.into(),
            body: String::new(),
            payload_json: nothing(),
            context: nothing(),
            message_type: None,
            parent: None,
            expires_at: None,
            deadlines: Vec::new(),
            hops: 0,
            priority: None,
            uid: None,
            created_at: None,
            auth,
            artifacts: Vec::new(),
            passages: Vec::new(),
        }
    }

    /// Whether it waits for the ledger before it is delivered at the address with this index.
    pub(crate) fn is_held_at(&self, index: usize) -> bool {
        let held = |passage: &Passage| passage.address == index && passage.is_held;
        self.passages.iter().any(held)
    }

    /// When it expires at the address with this index.
    pub(crate) fn deadline(&self, index: usize) -> Option<Millis> {
        self.deadlines
            .get(index)
            .copied()
            .unwrap_or(self.expires_at)
    }
}

/// A thread to be opened.
#[derive(Debug, Clone)]
pub struct NewThread {
    /// What it is about.
    pub subject: String,
    /// How urgent it is.
    pub priority: Priority,
    /// A scheduler's run.
    pub run: Option<String>,
    /// A scheduler's task.
    pub task: Option<String>,
    /// The entity that it is about.
    pub entity: Option<(RefType, String)>,
    /// Its address, where that is not whom its first message is for.
    pub own: Option<Address>,
}

//! A file that proves one message of a topic: to whoever trusts the topic's running hash at a later number, and to nobody else.
//!
//! It has the message, the hash before it, and every link from there to the later hash. A link between has no more than the hash of its
//! bytes, so that a proof shows nobody else's messages.

mod check;
mod form;

use serde_json::Value;
use thiserror::Error;

use crate::assemble::Piece;
use crate::id::{AccountId, Sequence, Timestamp, TopicId};
use crate::running_hash::RunningHash;

/// The version of the file.
const VERSION: u64 = 1;

/// The most links of a topic in one file.
const MOST_LINKS: usize = 100_000;

/// A hash of a topic's history, up to a number; up to 0 there is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The number of the last message.
    pub sequence: u64,
    /// The hash with it.
    pub hash: RunningHash,
}

/// One message of the network between the hash before and the hash after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number.
    pub sequence: Sequence,
    /// When.
    pub time: Timestamp,
    /// Who paid.
    pub payer: AccountId,
    /// The SHA-384 of its bytes.
    pub digest: [u8; 48],
    /// Its bytes, where it is a part of what is proven.
    pub bytes: Option<Vec<u8>>,
    /// Which piece it is.
    pub piece: Option<Piece>,
    /// The topic's hash with it.
    pub hash: RunningHash,
}

/// The message that is proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its number; that of its last piece, if it came in several.
    pub sequence: Sequence,
    /// The number of its first piece.
    pub first: Sequence,
    /// When.
    pub time: Timestamp,
    /// Who paid for it.
    pub payer: AccountId,
    /// The transaction that said it, where the mirror names it.
    pub transaction: Option<String>,
    /// All of it.
    pub content: Vec<u8>,
}

/// The file that the message leads to, because it was too large: all of its topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProof {
    /// The file's topic.
    pub topic: TopicId,
    /// The topic's memo, which has the hash of the content.
    pub memo: String,
    /// Every message of it, from the first.
    pub links: Vec<Link>,
}

/// A proof of one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// Which network.
    pub network: String,
    /// Which topic.
    pub topic: TopicId,
    /// The message.
    pub said: Said,
    /// The hash before its first piece.
    pub before: Anchor,
    /// Every message from there on.
    pub links: Vec<Link>,
    /// Its file, if it is in one.
    pub file: Option<FileProof>,
    /// What it was in the store.
    pub stored: Value,
}

/// What a proof proves.
#[derive(Debug, Clone, PartialEq)]
pub struct Proven {
    /// Whoever trusts this hash of the topic can trust the message.
    pub anchor: Anchor,
    /// The same of the file's topic, if it is in one.
    pub file_anchor: Option<Anchor>,
    /// What the message says: its Wire, if it is one.
    pub wire: Option<Value>,
}

/// Why a proof proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unproven {
    /// It is no such file.
    #[error("{field} is {found}, and should be {expected}")]
    Form {
        /// Which field.
        field: String,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// What it says does not fit together.
    #[error("{field} does not fit: {why}")]
    Unfit {
        /// Which field.
        field: String,
        /// Why.
        why: String,
    },
}

impl Unproven {
    /// The field at which it fails.
    pub fn field(&self) -> &str {
        match self {
            Unproven::Form { field, .. } | Unproven::Unfit { field, .. } => field,
        }
    }
}

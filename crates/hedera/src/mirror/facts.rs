//! What a mirror says of topics, messages, accounts, schedules, transactions and nodes.

use inbox_hcs::{AccountId, Sequence, Timestamp};

use crate::proto::{FixedCustomFee, Key, SchedulableBody};

/// A topic as a mirror has it.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicFacts {
    /// Its memo.
    pub memo: String,
    /// Who may change it.
    pub admin_key: Option<Key>,
    /// Who may write to it.
    pub submit_key: Option<Key>,
    /// Who may change its fees.
    pub fee_schedule_key: Option<Key>,
    /// Who pays none.
    pub fee_exempt_keys: Vec<Key>,
    /// What a message costs beside the network's fee.
    pub custom_fees: Vec<FixedCustomFee>,
    /// Whether it is no more.
    pub is_deleted: bool,
}

/// A message as a mirror has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFacts {
    /// Its number.
    pub sequence: Sequence,
    /// When.
    pub time: Timestamp,
    /// Who paid.
    pub payer: AccountId,
    /// Its bytes.
    pub message: Vec<u8>,
    /// The topic's hash with it.
    pub running_hash: Vec<u8>,
    /// Which piece of a larger one it is: number, how many, and the transaction of the first.
    pub piece: Option<(u32, u32, String)>,
}

/// An account as a mirror has it.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountFacts {
    /// Its id.
    pub id: AccountId,
    /// What guards it.
    pub key: Option<Key>,
    /// Its memo.
    pub memo: String,
    /// What it has, in tinybars.
    pub balance: i64,
}

/// A schedule as a mirror has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleFacts {
    /// What is to be done, by the bytes that were signed.
    pub body: SchedulableBody,
    /// Its memo.
    pub memo: String,
    /// Who made it.
    pub creator: AccountId,
    /// Who pays for it.
    pub payer: AccountId,
    /// When it was carried out.
    pub executed_at: Option<Timestamp>,
    /// Whether it was deleted.
    pub is_deleted: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When its time is over, where it says so.
    pub expires_at: Option<Timestamp>,
}

/// A transaction as a mirror has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionFacts {
    /// Its id, as `payer@seconds.nanos`, where the mirror says it.
    pub id: Option<String>,
    /// When it was carried out.
    pub time: Timestamp,
    /// How it ended: `SUCCESS`, or why not.
    pub result: String,
    /// What it was: `CONSENSUSSUBMITMESSAGE` and the like.
    pub name: String,
    /// What it made or changed.
    pub entity: Option<String>,
    /// What the network took, in tinybars.
    pub fee: i64,
    /// Its memo.
    pub memo: Vec<u8>,
    /// Who got and who gave, in tinybars.
    pub transfers: Vec<(AccountId, i64)>,
}

impl TransactionFacts {
    /// Whether it did what it was to do.
    pub fn is_done(&self) -> bool {
        self.result == "SUCCESS"
    }
}

/// A node as a mirror's address book has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its account.
    pub account: AccountId,
    /// Where it takes transactions: hosts and ports.
    pub endpoints: Vec<(String, u16)>,
    /// The SHA-384 of its certificate in PEM; nothing when the book has none.
    pub cert_hash: Option<[u8; 48]>,
}

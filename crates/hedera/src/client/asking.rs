//! What a client is asked to do, and how it ends.

use thiserror::Error;

use crate::fee;
use crate::key::{KeyError, PrivateKey};
use crate::proto::{Code, CustomFeeLimit, Data, TransactionId, TransactionReceipt};

/// A node of the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAt {
    /// Its account.
    pub account: i64,
    /// Where it is: `host:port`.
    pub address: String,
}

/// Who pays.
#[derive(Debug, Clone)]
pub struct Operator {
    /// The account.
    pub account: i64,
    /// Its key.
    pub key: PrivateKey,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Asking<'a> {
    /// The transaction.
    pub data: Data,
    /// Its memo.
    pub memo: String,
    /// The most that the network may take, in tinybars.
    pub fee: u64,
    /// The most that a topic may take.
    pub limits: Vec<CustomFeeLimit>,
    /// Who signs beside the payer.
    pub signers: Vec<&'a PrivateKey>,
}

impl<'a> Asking<'a> {
    /// A transaction that the payer alone signs, for as much as one of its kind may sensibly cost.
    pub fn of(data: Data) -> Self {
        let fee = fee::most(&data);
        Asking::new(data, fee)
    }

    /// A transaction that the payer alone signs.
    pub fn new(data: Data, fee: u64) -> Self {
        Asking {
            data,
            memo: String::new(),
            fee,
            limits: Vec::new(),
            signers: Vec::new(),
        }
    }

    /// The same with a memo.
    pub fn memo(mut self, memo: impl Into<String>) -> Self {
        self.memo = memo.into();
        self
    }

    /// The same, signed by this key, too.
    pub fn signed_by(mut self, key: &'a PrivateKey) -> Self {
        self.signers.push(key);
        self
    }

    /// The same, for which a topic may take so much.
    pub fn limited(mut self, limits: Vec<CustomFeeLimit>) -> Self {
        self.limits = limits;
        self
    }
}

/// A transaction that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Its id.
    pub id: TransactionId,
    /// What came of it.
    pub receipt: TransactionReceipt,
}

/// A transaction that did not happen, or of which nobody knows.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// A node did not let it in: it did not happen.
    #[error("the network did not take the transaction {0}: {1}")]
    Refused(TransactionId, Code),
    /// It was carried out and refused: its fee is gone, and nothing else happened.
    #[error("the transaction {} was refused: {}", .0.id, Code::from(.0.receipt.status))]
    Failed(Box<Happened>),
    /// No node took it while there was time: it did not happen, and never will.
    #[error("no node took the transaction {id}: {last}")]
    NotTaken {
        /// Its id.
        id: TransactionId,
        /// What the last attempt met.
        last: String,
    },
    /// It may have happened: ask for its receipt before doing it again.
    #[error("whether the transaction {id} happened is not known: {last}")]
    Unknown {
        /// Its id.
        id: TransactionId,
        /// What the last attempt met.
        last: String,
    },
    /// A key cannot sign.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl ExecuteError {
    /// The transaction that it is about, where there was one.
    pub fn id(&self) -> Option<&TransactionId> {
        match self {
            ExecuteError::Refused(id, _)
            | ExecuteError::NotTaken { id, .. }
            | ExecuteError::Unknown { id, .. } => Some(id),
            ExecuteError::Failed(happened) => Some(&happened.id),
            ExecuteError::Key(_) => None,
        }
    }
}

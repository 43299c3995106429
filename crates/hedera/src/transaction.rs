//! Transactions: named, signed, written, and read again over the very bytes that were signed.

use std::fmt;
use std::str::FromStr;

use prost::Message;
use sha2::{Digest, Sha384};
use thiserror::Error;

use crate::key::{KeyError, PrivateKey, PublicKey};
use crate::proto::{
    AccountId, AccountIdKind, Data, Duration, SignatureMap, SignedTransaction, Timestamp,
    Transaction, TransactionBody, TransactionId,
};
use crate::wire::{loses, louder};

/// The longest transaction, in bytes.
pub const MAX_BYTES: usize = 6 * 1024;

/// How long a transaction may wait to be handled after it becomes valid, in seconds.
pub const VALID_SECONDS: i64 = 120;

/// The longest that one may be asked to be valid, in seconds.
pub const MAX_VALID_SECONDS: i64 = 180;

/// The longest memo, in bytes.
pub const MAX_MEMO: usize = 100;

/// Bytes that are no transaction, or more than what is known of one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// They are longer than any.
    #[error("a transaction of {0} bytes is longer than any may be")]
    Oversize(usize),
    /// They are not a transaction.
    #[error("the bytes are no transaction: {0}")]
    Malformed(String),
    /// They have a field that is not known here: to read on would be to lose it.
    #[error("the transaction has a field that is not known here: {}", numbers(.0))]
    Unknown(Vec<u32>),
}

fn numbers(path: &[u32]) -> String {
    let path: Vec<String> = path.iter().map(u32::to_string).collect();
    path.join(".")
}

/// A transaction that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// What it says.
    pub body: TransactionBody,
    /// The bytes that were signed.
    pub body_bytes: Vec<u8>,
    /// Who signed.
    pub signatures: SignatureMap,
    /// Its hash, by which explorers name it.
    pub hash: [u8; 48],
}

impl Signed {
    /// Reads a transaction as it comes to a node.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        if bytes.len() > MAX_BYTES {
            return Err(Unreadable::Oversize(bytes.len()));
        }
        let outer: Transaction = whole(bytes)?;
        let (signed, hashed) = if outer.signed_transaction_bytes.is_empty() {
            let signed = SignedTransaction {
                body_bytes: outer.body_bytes,
                sig_map: outer.sig_map,
            };
            (signed, bytes)
        } else {
            let inner = outer.signed_transaction_bytes.as_slice();
            (whole::<SignedTransaction>(inner)?, inner)
        };
        let hash = Sha384::digest(hashed).into();
        Ok(Signed {
            body: whole(&signed.body_bytes)?,
            signatures: signed.sig_map.unwrap_or_default(),
            body_bytes: signed.body_bytes,
            hash,
        })
    }

    /// Whether a key has signed it.
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        self.signatures.has(key, &self.body_bytes)
    }
}

/// Reads a message of which every field is known.
pub fn whole<M: Message + Default>(bytes: &[u8]) -> Result<M, Unreadable> {
    let decode =
        |bytes: &[u8]| M::decode(bytes).map_err(|error| Unreadable::Malformed(error.to_string()));
    let read = decode(bytes)?;
    let again = read.encode_to_vec();
    if let Some(path) = loses(bytes, &again) {
        return Err(Unreadable::Unknown(path));
    }
    if let Some(loud) = louder(bytes, &again)
        && let Some(path) = loses(&loud, &decode(&loud)?.encode_to_vec())
    {
        return Err(Unreadable::Unknown(path));
    }
    Ok(read)
}

impl TransactionBody {
    /// What a payer asks a node to do.
    pub fn new(id: TransactionId, node: AccountId, fee: u64, data: Data) -> Self {
        TransactionBody {
            transaction_id: Some(id),
            node_account_id: Some(node),
            transaction_fee: fee,
            valid_duration: Some(Duration {
                seconds: VALID_SECONDS,
            }),
            data: Some(data),
            ..TransactionBody::default()
        }
    }

    /// The transaction with the signatures of these keys.
    pub fn sign<'a>(
        &self,
        keys: impl IntoIterator<Item = &'a PrivateKey>,
    ) -> Result<Transaction, KeyError> {
        let body_bytes = self.encode_to_vec();
        let signed = SignedTransaction {
            sig_map: Some(SignatureMap::of(keys, &body_bytes)?),
            body_bytes,
        };
        Ok(Transaction {
            signed_transaction_bytes: signed.encode_to_vec(),
            ..Transaction::default()
        })
    }
}

impl TransactionId {
    /// The id of a transaction that an account pays for, valid from this moment. No two have one id.
    pub fn new(payer: AccountId, valid_start: Timestamp) -> Self {
        TransactionId {
            valid_start: Some(valid_start),
            account_id: Some(payer),
            scheduled: false,
            nonce: 0,
        }
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payer = self.account_id.clone().unwrap_or_default();
        let start = self.valid_start.unwrap_or_default();
        write!(f, "{payer}@{start}")?;
        if self.scheduled {
            f.write_str("?scheduled")?;
        }
        if self.nonce != 0 {
            write!(f, "/{}", self.nonce)?;
        }
        Ok(())
    }
}

/// The most letters of a text that a refusal repeats.
const SHOWN: usize = 100;

/// A text that is no id of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is no id of a transaction, such as 0.0.1234@1700000000.000000001")]
pub struct NoTransactionId(String);

impl FromStr for TransactionId {
    type Err = NoTransactionId;

    /// Reads what it is shown as, of an ordinary transaction.
    fn from_str(text: &str) -> Result<Self, NoTransactionId> {
        let read = || {
            let (payer, start) = text.split_once('@')?;
            let payer: inbox_hcs::AccountId = payer.parse().ok()?;
            let start: inbox_hcs::Timestamp = start.parse().ok()?;
            Some(TransactionId::new(payer.into(), start.into()))
        };
        read().ok_or_else(|| NoTransactionId(text.chars().take(SHOWN).collect()))
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.", self.shard, self.realm)?;
        match &self.account {
            Some(AccountIdKind::Num(num)) => write!(f, "{num}"),
            Some(AccountIdKind::Alias(alias)) => f.write_str(&crate::key::hex(alias)),
            None => f.write_str("0"),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.seconds, self.nanos)
    }
}

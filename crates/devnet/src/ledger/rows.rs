//! What the ledger keeps, read and written.

mod schedule;
mod topic;

use inbox_hedera::key::hex;
use inbox_hedera::proto::{AccountId, AccountIdKind, Key};
use prost::Message;
use rusqlite::{Connection, OptionalExtension, Row, params};

pub use self::schedule::Schedule;
pub use self::topic::{Topic, TopicMessage};

/// An account.
#[derive(Debug, Clone)]
pub struct Account {
    /// Its number.
    pub num: i64,
    /// What guards it.
    pub key: Key,
    /// What it has, in tinybars.
    pub balance: i64,
    /// Its memo.
    pub memo: String,
    /// Whether it must agree to what it is given.
    pub is_receiver_sig_required: bool,
    /// Its other name, or nothing.
    pub alias: Vec<u8>,
    /// When it was made, in nanoseconds.
    pub created_at: i64,
    /// For how long it is renewed, in seconds.
    pub auto_renew: i64,
    /// How many tokens it takes without being asked.
    pub max_associations: i32,
    /// Whether it wants no reward.
    pub is_reward_declined: bool,
}

type Found<T> = rusqlite::Result<Option<T>>;

fn unreadable(error: prost::DecodeError) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Blob, Box::new(error))
}

/// A message that is kept as it is on the wire.
fn message<M: Message + Default>(row: &Row<'_>, column: &str) -> rusqlite::Result<M> {
    let bytes = row.get_ref(column)?.as_blob()?;
    M::decode(bytes).map_err(unreadable)
}

fn key(row: &Row<'_>, column: &str) -> Found<Key> {
    match row.get_ref(column)?.as_blob_or_null()? {
        None => Ok(None),
        Some(bytes) => Key::decode(bytes).map(Some).map_err(unreadable),
    }
}

fn bytes(key: Option<&Key>) -> Option<Vec<u8>> {
    key.map(Message::encode_to_vec)
}

impl Account {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Account {
            num: row.get("num")?,
            key: message(row, "key")?,
            balance: row.get("balance")?,
            memo: row.get("memo")?,
            is_receiver_sig_required: row.get("is_receiver_sig_required")?,
            alias: row.get("alias")?,
            created_at: row.get("created_at")?,
            auto_renew: row.get("auto_renew")?,
            max_associations: row.get("max_associations")?,
            is_reward_declined: row.get("is_reward_declined")?,
        })
    }

    /// The account with this number.
    pub fn find(db: &Connection, num: i64) -> Found<Self> {
        db.prepare_cached("SELECT * FROM accounts WHERE num = ?1")?
            .query_row([num], Self::read)
            .optional()
    }

    /// The account that an id names, by its number, its alias or its address on the EVM.
    pub fn named(db: &Connection, id: &AccountId) -> Found<Self> {
        match &id.account {
            _ if (id.shard, id.realm) != (0, 0) => Ok(None),
            Some(AccountIdKind::Num(num)) => Self::find(db, *num),
            Some(AccountIdKind::Alias(alias)) => Self::find_alias(db, alias),
            None => Ok(None),
        }
    }

    /// The account with this alias. An address that is twelve zeros and a number names the account with this number.
    pub fn find_alias(db: &Connection, alias: &[u8]) -> Found<Self> {
        match alias {
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, num @ ..] => match num.try_into() {
                Ok(num) => Self::find(db, i64::from_be_bytes(num)),
                Err(_) => Ok(None),
            },
            _ => Self::with_alias(db, alias),
        }
    }

    /// Its address on the EVM, in hexadecimal: its alias, or its number.
    pub fn evm_address(&self) -> String {
        if self.alias.len() == 20 {
            hex(&self.alias)
        } else {
            format!("{:040x}", self.num)
        }
    }

    fn with_alias(db: &Connection, alias: &[u8]) -> Found<Self> {
        db.prepare_cached("SELECT * FROM accounts WHERE alias = ?1 AND alias <> x''")?
            .query_row([alias], Self::read)
            .optional()
    }

    pub(super) fn save(&self, db: &Connection) -> rusqlite::Result<()> {
        db.prepare_cached(
            "INSERT OR REPLACE INTO accounts (num, key, balance, memo, is_receiver_sig_required, alias, created_at, auto_renew,
                 max_associations, is_reward_declined)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            self.num,
            self.key.encode_to_vec(),
            self.balance,
            self.memo,
            self.is_receiver_sig_required,
            self.alias,
            self.created_at,
            self.auto_renew,
            self.max_associations,
            self.is_reward_declined,
        ])
        .map(drop)
    }
}

//! What the ledger keeps, read and written.

use inbox_hedera::key::hex;
use inbox_hedera::proto::{
    AccountId, AccountIdKind, FeeExemptKeyList, FixedCustomFee, FixedCustomFeeList, Key,
    SchedulableBody, TransactionId,
};
use prost::Message;
use rusqlite::{Connection, OptionalExtension, Row, params};

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

/// A topic.
#[derive(Debug, Clone)]
pub struct Topic {
    /// Its number.
    pub num: i64,
    /// Its memo.
    pub memo: String,
    /// Who may change and delete it.
    pub admin_key: Option<Key>,
    /// Who may write to it.
    pub submit_key: Option<Key>,
    /// Who may change its fees.
    pub fee_schedule_key: Option<Key>,
    /// Who pays no fee.
    pub exempt: Vec<Key>,
    /// What a message costs beside the network's fee.
    pub fees: Vec<FixedCustomFee>,
    /// The number of its newest message.
    pub sequence: i64,
    /// The hash of all its messages.
    pub running_hash: Vec<u8>,
    /// When it was made, in nanoseconds.
    pub created_at: i64,
    /// For how long it is renewed, in seconds.
    pub auto_renew: i64,
    /// Who pays for that.
    pub auto_renew_account: Option<i64>,
    /// When it ends, in nanoseconds.
    pub expires_at: i64,
    /// Whether it is no more.
    pub is_deleted: bool,
}

/// A transaction that waits for signatures.
#[derive(Debug, Clone)]
pub struct Schedule {
    /// Its number.
    pub num: i64,
    /// What is to be done.
    pub body: SchedulableBody,
    /// Its memo.
    pub memo: String,
    /// Who may delete it.
    pub admin_key: Option<Key>,
    /// Who made it.
    pub creator: i64,
    /// Who pays for what is to be done.
    pub payer: i64,
    /// The id that what is done will have.
    pub transaction_id: TransactionId,
    /// When it was made, in nanoseconds.
    pub created_at: i64,
    /// When it ends, in nanoseconds.
    pub expires_at: i64,
    /// Whether it waits until it ends, even when all have signed.
    pub waits: bool,
    /// When it was carried out.
    pub executed_at: Option<i64>,
    /// When it was deleted.
    pub deleted_at: Option<i64>,
}

/// One message of a topic.
#[derive(Debug, Clone)]
pub struct TopicMessage {
    /// Its number.
    pub sequence: i64,
    /// When, in nanoseconds.
    pub consensus_at: i64,
    /// Who paid.
    pub payer: i64,
    /// Its bytes.
    pub message: Vec<u8>,
    /// The topic's hash with it.
    pub running_hash: Vec<u8>,
    /// Which piece of a larger one it is, as Hedera's message.
    pub chunk: Option<Vec<u8>>,
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

impl Topic {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Topic {
            num: row.get("num")?,
            memo: row.get("memo")?,
            admin_key: key(row, "admin_key")?,
            submit_key: key(row, "submit_key")?,
            fee_schedule_key: key(row, "fee_schedule_key")?,
            exempt: message::<FeeExemptKeyList>(row, "exempt")?.keys,
            fees: message::<FixedCustomFeeList>(row, "fees")?.fees,
            sequence: row.get("sequence")?,
            running_hash: row.get("running_hash")?,
            created_at: row.get("created_at")?,
            auto_renew: row.get("auto_renew")?,
            auto_renew_account: row.get("auto_renew_account")?,
            expires_at: row.get("expires_at")?,
            is_deleted: row.get("is_deleted")?,
        })
    }

    /// The topic with this number, deleted or not.
    pub fn find(db: &Connection, num: i64) -> Found<Self> {
        db.prepare_cached("SELECT * FROM topics WHERE num = ?1")?
            .query_row([num], Self::read)
            .optional()
    }

    /// Whether a message of this topic costs more than the network's fee.
    pub(super) fn has_fees(db: &Connection, num: i64) -> rusqlite::Result<bool> {
        db.prepare_cached("SELECT 1 FROM topics WHERE num = ?1 AND fees <> x''")?
            .exists([num])
    }

    /// Notes the number of its newest message, and its hash with it.
    pub(super) fn advance(&self, db: &Connection) -> rusqlite::Result<()> {
        db.prepare_cached("UPDATE topics SET sequence = ?1, running_hash = ?2 WHERE num = ?3")?
            .execute(params![self.sequence, self.running_hash, self.num])
            .map(drop)
    }

    pub(super) fn save(&self, db: &Connection) -> rusqlite::Result<()> {
        let exempt = FeeExemptKeyList {
            keys: self.exempt.clone(),
        };
        let fees = FixedCustomFeeList {
            fees: self.fees.clone(),
        };
        db.prepare_cached(
            "INSERT OR REPLACE INTO topics (num, memo, admin_key, submit_key, fee_schedule_key, exempt, fees, sequence,
                 running_hash, created_at, auto_renew, auto_renew_account, expires_at, is_deleted)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            self.num,
            self.memo,
            bytes(self.admin_key.as_ref()),
            bytes(self.submit_key.as_ref()),
            bytes(self.fee_schedule_key.as_ref()),
            exempt.encode_to_vec(),
            fees.encode_to_vec(),
            self.sequence,
            self.running_hash,
            self.created_at,
            self.auto_renew,
            self.auto_renew_account,
            self.expires_at,
            self.is_deleted,
        ])
        .map(drop)
    }
}

impl TopicMessage {
    /// Reads a row of its columns, by their names.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(TopicMessage {
            sequence: row.get("sequence")?,
            consensus_at: row.get("consensus_at")?,
            payer: row.get("payer")?,
            message: row.get("message")?,
            running_hash: row.get("running_hash")?,
            chunk: row.get("chunk")?,
        })
    }

    pub(super) fn insert(&self, db: &Connection, topic: i64) -> rusqlite::Result<()> {
        db.prepare_cached(
            "INSERT INTO messages (topic, sequence, consensus_at, payer, message, running_hash, chunk)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            topic,
            self.sequence,
            self.consensus_at,
            self.payer,
            self.message,
            self.running_hash,
            self.chunk,
        ])
        .map(drop)
    }

    /// The number of a topic's last message before this time; none is before its first.
    pub fn before(db: &Connection, topic: i64, time: i64) -> rusqlite::Result<i64> {
        let found = db
            .prepare_cached(
                "SELECT sequence FROM messages WHERE topic = ?1 AND consensus_at < ?2
                  ORDER BY consensus_at DESC LIMIT 1",
            )?
            .query_row([topic, time], |row| row.get(0))
            .optional()?;
        Ok(found.unwrap_or(0))
    }

    /// Up to `limit` messages of a topic after this number and until this time, oldest first.
    pub fn after(
        db: &Connection,
        topic: i64,
        sequence: i64,
        until: i64,
        limit: u32,
    ) -> rusqlite::Result<Vec<Self>> {
        db.prepare_cached(
            "SELECT sequence, consensus_at, payer, message, running_hash, chunk FROM messages
              WHERE topic = ?1 AND sequence > ?2 AND consensus_at <= ?3 ORDER BY sequence LIMIT ?4",
        )?
        .query_map(params![topic, sequence, until, limit], Self::read)?
        .collect()
    }
}

impl Schedule {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Schedule {
            num: row.get("num")?,
            body: message(row, "body")?,
            memo: row.get("memo")?,
            admin_key: key(row, "admin_key")?,
            creator: row.get("creator")?,
            payer: row.get("payer")?,
            transaction_id: message(row, "transaction_id")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            waits: row.get("waits")?,
            executed_at: row.get("executed_at")?,
            deleted_at: row.get("deleted_at")?,
        })
    }

    /// The schedule with this number.
    pub fn find(db: &Connection, num: i64) -> Found<Self> {
        db.prepare_cached("SELECT * FROM schedules WHERE num = ?1")?
            .query_row([num], Self::read)
            .optional()
    }

    /// An open one that says the same, from the same maker or not.
    pub(super) fn find_same(&self, db: &Connection) -> Found<Self> {
        db.prepare_cached(
            "SELECT * FROM schedules WHERE executed_at IS NULL AND deleted_at IS NULL AND is_over = 0 AND body = ?1 AND memo = ?2
                 AND admin_key IS ?3 AND payer = ?4 AND waits = ?5 AND expires_at > ?6 LIMIT 1",
        )?
        .query_row(
            params![
                self.body.encode_to_vec(),
                self.memo,
                bytes(self.admin_key.as_ref()),
                self.payer,
                self.waits,
                self.created_at,
            ],
            Self::read,
        )
        .optional()
    }

    /// Whether there is an open one whose time is over.
    pub(super) fn is_any_over(db: &Connection, now: i64) -> rusqlite::Result<bool> {
        db.prepare_cached(
            "SELECT 1 FROM schedules
              WHERE executed_at IS NULL AND deleted_at IS NULL AND is_over = 0 AND expires_at <= ?1 LIMIT 1",
        )?
        .exists([now])
    }

    /// Open ones whose time is over, the first first.
    pub(super) fn over(db: &Connection, now: i64) -> rusqlite::Result<Vec<Self>> {
        db.prepare_cached(
            "SELECT * FROM schedules
              WHERE executed_at IS NULL AND deleted_at IS NULL AND is_over = 0 AND expires_at <= ?1
              ORDER BY expires_at, num LIMIT 100",
        )?
        .query_map([now], Self::read)?
        .collect()
    }

    /// Notes that its time is over.
    pub(super) fn end(&self, db: &Connection) -> rusqlite::Result<()> {
        db.prepare_cached("UPDATE schedules SET is_over = 1 WHERE num = ?1")?
            .execute([self.num])
            .map(drop)
    }

    /// Who has signed, as keys on the wire, with the signature and when.
    pub fn signers(&self, db: &Connection) -> rusqlite::Result<Vec<(Key, Vec<u8>, i64)>> {
        db.prepare_cached(
            "SELECT key, signature, signed_at FROM signers WHERE schedule = ?1 ORDER BY signed_at, key",
        )?
        .query_map([self.num], |row| {
            Ok((message(row, "key")?, row.get(1)?, row.get(2)?))
        })?
        .collect()
    }

    pub(super) fn add_signer(
        &self,
        db: &Connection,
        key: &Key,
        signature: &[u8],
        at: i64,
    ) -> rusqlite::Result<bool> {
        let added = db
            .prepare_cached(
                "INSERT OR IGNORE INTO signers (schedule, key, signature, signed_at) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![self.num, key.encode_to_vec(), signature, at])?;
        Ok(added > 0)
    }

    pub(super) fn save(&self, db: &Connection) -> rusqlite::Result<()> {
        db.prepare_cached(
            "INSERT OR REPLACE INTO schedules (num, body, memo, admin_key, creator, payer, transaction_id, created_at,
                 expires_at, waits, executed_at, deleted_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(params![
            self.num,
            self.body.encode_to_vec(),
            self.memo,
            bytes(self.admin_key.as_ref()),
            self.creator,
            self.payer,
            self.transaction_id.encode_to_vec(),
            self.created_at,
            self.expires_at,
            self.waits,
            self.executed_at,
            self.deleted_at,
        ])
        .map(drop)
    }
}

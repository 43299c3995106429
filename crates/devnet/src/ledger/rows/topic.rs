//! Topics and their messages, read and written.

use inbox_hedera::proto::{FeeExemptKeyList, FixedCustomFee, FixedCustomFeeList, Key};
use prost::Message;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Found, bytes, key, message};

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
    pub(in crate::ledger) fn has_fees(db: &Connection, num: i64) -> rusqlite::Result<bool> {
        db.prepare_cached("SELECT 1 FROM topics WHERE num = ?1 AND fees <> x''")?
            .exists([num])
    }

    /// Notes the number of its newest message, and its hash with it.
    pub(in crate::ledger) fn advance(&self, db: &Connection) -> rusqlite::Result<()> {
        db.prepare_cached("UPDATE topics SET sequence = ?1, running_hash = ?2 WHERE num = ?3")?
            .execute(params![self.sequence, self.running_hash, self.num])
            .map(drop)
    }

    pub(in crate::ledger) fn save(&self, db: &Connection) -> rusqlite::Result<()> {
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

    pub(in crate::ledger) fn insert(&self, db: &Connection, topic: i64) -> rusqlite::Result<()> {
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

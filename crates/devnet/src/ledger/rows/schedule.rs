//! Schedules and who has signed them, read and written.

use inbox_hedera::proto::{Key, SchedulableBody, TransactionId};
use prost::Message;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Found, bytes, key, message};

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
    pub(in crate::ledger) fn find_same(&self, db: &Connection) -> Found<Self> {
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
    pub(in crate::ledger) fn is_any_over(db: &Connection, now: i64) -> rusqlite::Result<bool> {
        db.prepare_cached(
            "SELECT 1 FROM schedules
              WHERE executed_at IS NULL AND deleted_at IS NULL AND is_over = 0 AND expires_at <= ?1 LIMIT 1",
        )?
        .exists([now])
    }

    /// Open ones whose time is over, the first first.
    pub(in crate::ledger) fn over(db: &Connection, now: i64) -> rusqlite::Result<Vec<Self>> {
        db.prepare_cached(
            "SELECT * FROM schedules
              WHERE executed_at IS NULL AND deleted_at IS NULL AND is_over = 0 AND expires_at <= ?1
              ORDER BY expires_at, num LIMIT 100",
        )?
        .query_map([now], Self::read)?
        .collect()
    }

    /// Notes that its time is over.
    pub(in crate::ledger) fn end(&self, db: &Connection) -> rusqlite::Result<()> {
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

    pub(in crate::ledger) fn add_signer(
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

    pub(in crate::ledger) fn save(&self, db: &Connection) -> rusqlite::Result<()> {
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

//! What is there in the beginning: the treasury, the node, and accounts to try things with.

use std::ops::RangeInclusive;

use inbox_hedera::key::{Algorithm, KeyError, PrivateKey};
use inbox_hedera::proto::Key;
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use super::LedgerError;
use super::rows::Account;

/// The account that has everything that nobody else has.
pub const TREASURY: i64 = 2;

/// The key of the treasury, which other programs that imitate Hedera have too, so that examples run as they are.
pub const TREASURY_KEY: &str = "302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137";

/// The account of the only node.
pub const NODE: i64 = 3;

/// The accounts of nodes that it answers as: those of the public test network, so that a program which knows no other network runs
/// here as it is when the addresses lead here.
pub(super) const NODES: RangeInclusive<i64> = NODE..=9;

/// The account that fees are paid to.
pub(super) const FEES: i64 = 98;

/// Everything there is, in tinybars: 50 billion hbars.
pub(super) const SUPPLY: i64 = 50_000_000_000 * HBAR;

/// One hbar in tinybars.
const HBAR: i64 = 100_000_000;

/// What each account to try things with has, in tinybars.
const GIFT: i64 = 10_000 * HBAR;

/// The number of the first of them. Whatever is made later comes after the last.
const FIRST: i64 = 1001;

/// How many of them there are: half with Ed25519, half with ECDSA.
const COUNT: i64 = 10;

/// The renewal period of everything, in seconds.
pub(super) const RENEWAL: i64 = 7_776_000;

/// An account to try things with.
#[derive(Debug)]
pub struct Funded {
    /// Its number.
    pub num: i64,
    /// Its key, which is no secret.
    pub key: PrivateKey,
}

/// The accounts to try things with. Their keys are the same on every devnet.
pub fn funded() -> Result<Vec<Funded>, KeyError> {
    (0..COUNT)
        .map(|place| {
            let algorithm = if place < COUNT / 2 {
                Algorithm::Ed25519
            } else {
                Algorithm::Ecdsa
            };
            let num = FIRST + place;
            let seed = Sha256::digest(format!("inbox devnet account {num}"));
            Ok(Funded {
                num,
                key: PrivateKey::from_bytes(algorithm, &seed)?,
            })
        })
        .collect()
}

/// Founds the ledger.
pub(super) fn found(db: &Connection, now: i64) -> Result<(), LedgerError> {
    let genesis: PrivateKey = TREASURY_KEY.parse()?;
    let genesis = Key::from(&genesis.public()?);
    let account = |num: i64, key: Key, balance: i64, memo: &str| Account {
        num,
        key,
        balance,
        memo: memo.to_owned(),
        is_receiver_sig_required: false,
        alias: Vec::new(),
        created_at: now,
        auto_renew: RENEWAL,
        max_associations: 0,
        is_reward_declined: false,
    };
    account(TREASURY, genesis.clone(), SUPPLY - COUNT * GIFT, "treasury").save(db)?;
    for node in NODES {
        account(node, genesis.clone(), 0, "node").save(db)?;
    }
    account(FEES, genesis, 0, "fees").save(db)?;
    for one in funded()? {
        account(one.num, Key::from(&one.key.public()?), GIFT, "").save(db)?;
    }
    let mut insert = db.prepare("INSERT INTO meta (key, value) VALUES (?1, ?2)")?;
    insert.execute(("next_entity", FIRST + COUNT))?;
    insert.execute(("last_consensus", now))?;
    Ok(())
}

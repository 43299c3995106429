//! Transactions that wait for signatures.

use inbox_hedera::key::Algorithm;
use prost::Message;
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::{Answer, Refused};
use crate::house::House;
use crate::ledger::Schedule;

pub(super) fn show(house: &House, name: &str) -> Answer {
    let num = form::number(name)
        .ok_or_else(|| Refused::Invalid("Invalid parameter: schedule.id".into()))?;
    let ledger = house.ledger();
    let schedule = Schedule::find(ledger.db(), num)?.ok_or(Refused::NotFound)?;
    let signatures: Vec<Value> = schedule
        .signers(ledger.db())?
        .iter()
        .filter_map(|(key, signature, at)| {
            let leaf = key.leaf()?;
            Some(json!({
                "consensus_timestamp": time(*at),
                "public_key_prefix": form::base64(leaf.bytes()),
                "signature": form::base64(signature),
                "type": match leaf.algorithm() {
                    Algorithm::Ed25519 => "ED25519",
                    Algorithm::Ecdsa => "ECDSA_SECP256K1",
                },
            }))
        })
        .collect();
    Ok(json!({
        "admin_key": form::key(schedule.admin_key.as_ref()),
        "consensus_timestamp": time(schedule.created_at),
        "creator_account_id": id(schedule.creator),
        "deleted": schedule.deleted_at.is_some(),
        "executed_timestamp": schedule.executed_at.map(time),
        "expiration_time": time(schedule.expires_at),
        "memo": schedule.memo,
        "payer_account_id": id(schedule.payer),
        "schedule_id": id(schedule.num),
        "signatures": signatures,
        "transaction_body": form::base64(&schedule.body.encode_to_vec()),
        "wait_for_expiry": schedule.waits,
    }))
}

//! Transactions that wait for signatures.

use inbox_hedera::key::Algorithm;
use prost::Message;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::query::{Query, Select, invalid};
use super::{Answer, Refused};
use crate::house::House;
use crate::ledger::Schedule;

pub(super) fn show(house: &House, name: &str) -> Answer {
    let num = form::number(name).ok_or_else(|| invalid("scheduleId"))?;
    let until = house.mirrored();
    let ledger = house.ledger();
    let found = Schedule::find(ledger.db(), num)?.filter(|one| one.created_at <= until);
    shown(ledger.db(), &found.ok_or(Refused::NotFound)?, until)
}

/// Schedules: all, or those of an account, or those that were carried out or not.
pub(super) fn list(house: &House, query: &str) -> Answer {
    let known = ["account.id", "limit", "order", "schedule.id"];
    let query = Query::read(query, &known)?;
    let wanted = query.page(false)?;
    let until = house.mirrored();
    let mut select = Select::new("SELECT num FROM schedules WHERE created_at <= ?", [until]);
    query.narrow(&mut select, "account.id", "creator", form::number)?;
    query.narrow(&mut select, "schedule.id", "num", form::number)?;
    select.text.push_str(&wanted.sql("num"));
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&select.text)?;
    let numbers: Vec<i64> = statement
        .query_map(params_from_iter(select.values), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut schedules = Vec::with_capacity(numbers.len());
    for num in &numbers {
        if let Some(found) = Schedule::find(ledger.db(), *num)? {
            schedules.push(shown(ledger.db(), &found, until)?);
        }
    }
    let last = numbers.last().filter(|_| wanted.is_full(numbers.len()));
    let next = last.map(|num| query.next("schedules", wanted, "schedule.id", &id(*num)));
    Ok(json!({ "schedules": schedules, "links": { "next": next } }))
}

fn shown(db: &Connection, schedule: &Schedule, until: i64) -> Answer {
    let signatures: Vec<Value> = schedule
        .signers(db)?
        .iter()
        .filter(|(_, _, at)| *at <= until)
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
        "deleted": schedule.deleted_at.is_some_and(|at| at <= until),
        "executed_timestamp": schedule.executed_at.filter(|at| *at <= until).map(time),
        "expiration_time": time(schedule.expires_at),
        "memo": schedule.memo,
        "payer_account_id": id(schedule.payer),
        "schedule_id": id(schedule.num),
        "signatures": signatures,
        "transaction_body": form::base64(&schedule.body.encode_to_vec()),
        "wait_for_expiry": schedule.waits,
    }))
}

//! Transactions and what came of them.

use inbox_hedera::proto::{AccountId, Code, TransactionId, TransactionRecord};
use prost::Message;
use rusqlite::Row;
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::{Answer, Query, Refused};
use crate::house::House;

const COLUMNS: &str = "consensus_at, payer, kind, status, record, entity, max_fee, valid_start, valid_seconds, node, is_scheduled";

fn read(row: &Row<'_>) -> rusqlite::Result<Value> {
    let bytes: Vec<u8> = row.get("record")?;
    let record = TransactionRecord::decode(bytes.as_slice()).unwrap_or_default();
    let start: i64 = row.get("valid_start")?;
    let named = record.transaction_id.unwrap_or_default().account_id;
    let named = named.as_ref().and_then(AccountId::num).unwrap_or_default();
    let transfers: Vec<Value> = record
        .transfer_list
        .unwrap_or_default()
        .amounts
        .iter()
        .map(|one| {
            let account = one.account_id.as_ref().and_then(AccountId::num);
            json!({ "account": account.map(id), "amount": one.amount, "is_approval": false })
        })
        .collect();
    let assessed: Vec<Value> = record
        .assessed_custom_fees
        .iter()
        .map(|fee| {
            let collector = fee
                .fee_collector_account_id
                .as_ref()
                .and_then(AccountId::num);
            let payers = fee
                .effective_payer_account_id
                .iter()
                .filter_map(AccountId::num);
            json!({
                "amount": fee.amount,
                "collector_account_id": collector.map(id),
                "effective_payer_account_ids": payers.map(id).collect::<Vec<_>>(),
                "token_id": null,
            })
        })
        .collect();
    let seconds = start / 1_000_000_000;
    let nanos = start % 1_000_000_000;
    Ok(json!({
        "assessed_custom_fees": assessed,
        "bytes": null,
        "charged_tx_fee": record.transaction_fee,
        "consensus_timestamp": time(row.get("consensus_at")?),
        "entity_id": row.get::<_, Option<i64>>("entity")?.map(id),
        "max_fee": row.get::<_, i64>("max_fee")?.to_string(),
        "memo_base64": form::base64(record.memo.as_bytes()),
        "name": row.get::<_, String>("kind")?,
        "nft_transfers": [],
        "node": id(row.get("node")?),
        "nonce": 0,
        "parent_consensus_timestamp": null,
        "result": Code::from(row.get::<_, i32>("status")?).to_string(),
        "scheduled": row.get::<_, bool>("is_scheduled")?,
        "staking_reward_transfers": [],
        "token_transfers": [],
        "transaction_hash": form::base64(&record.transaction_hash),
        "transaction_id": format!("{}-{seconds}-{nanos:09}", id(named)),
        "transfers": transfers,
        "valid_duration_seconds": row.get::<_, i64>("valid_seconds")?.to_string(),
        "valid_start_timestamp": time(start),
    }))
}

/// The transaction with this id, and what it scheduled.
pub(super) fn show(house: &House, name: &str, query: &Query) -> Answer {
    let invalid = || Refused::Invalid("Invalid parameter: transactionId".into());
    let (payer, start) = name.split_once('-').ok_or_else(invalid)?;
    let payer = form::number(payer).ok_or_else(invalid)?;
    let start = form::nanos(&start.replacen('-', ".", 1)).ok_or_else(invalid)?;
    // What is scheduled has the id of who scheduled it, whoever pays for it.
    let mut id = TransactionId::new(AccountId::of(payer), form::timestamp(start));
    let plain = id.encode_to_vec();
    id.scheduled = true;
    let scheduled = id.encode_to_vec();
    let (first, second) = match query.get("scheduled") {
        Some("true") => (scheduled.clone(), scheduled),
        Some(_) => (plain.clone(), plain),
        None => (plain, scheduled),
    };
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&format!(
        "SELECT {COLUMNS} FROM transactions WHERE id IN (?1, ?2) ORDER BY consensus_at"
    ))?;
    let found: Vec<Value> = statement
        .query_map((first, second), read)?
        .collect::<rusqlite::Result<_>>()?;
    if found.is_empty() {
        return Err(Refused::NotFound);
    }
    Ok(json!({ "transactions": found }))
}

/// The newest transactions, of one payer or of all.
pub(super) fn list(house: &House, query: &Query) -> Answer {
    let payer = match query.get("account.id") {
        None => None,
        Some(text) => Some(
            form::number(text.strip_prefix("eq:").unwrap_or(text))
                .ok_or_else(|| Refused::Invalid("Invalid parameter: account.id".into()))?,
        ),
    };
    let order = if query.is_descending(true)? {
        "DESC"
    } else {
        "ASC"
    };
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&format!(
        "SELECT {COLUMNS} FROM transactions WHERE ?1 IS NULL OR payer = ?1 ORDER BY consensus_at {order} LIMIT ?2"
    ))?;
    let found: Vec<Value> = statement
        .query_map((payer, query.limit()?), read)?
        .collect::<rusqlite::Result<_>>()?;
    Ok(json!({ "transactions": found, "links": { "next": null } }))
}

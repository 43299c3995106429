//! Transactions and what came of them.

use inbox_hedera::proto::{AccountId, Code, TransactionId, TransactionRecord};
use prost::Message;
use rusqlite::types::Value as Sql;
use rusqlite::{Row, params_from_iter};
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::query::{Query, Select, invalid};
use super::{Answer, Refused};
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

/// An id as mirrors write it, `0.0.2-1700000000-000000001`, or as SDKs do, `0.0.2@1700000000.000000001`.
fn named(name: &str) -> Option<TransactionId> {
    let (payer, start) = name.split_once(['-', '@'])?;
    let start = form::nanos(&start.replacen('-', ".", 1))?;
    let payer = AccountId::of(form::number(payer)?);
    Some(TransactionId::new(payer, form::timestamp(start)))
}

/// The transaction with this id, and what it scheduled.
pub(super) fn show(house: &House, name: &str, query: &str) -> Answer {
    let query = Query::read(query, &["nonce", "scheduled"])?;
    // What is scheduled has the id of who scheduled it, whoever pays for it.
    let mut id = named(name).ok_or_else(|| invalid("transactionId"))?;
    let plain = id.encode_to_vec();
    id.scheduled = true;
    let scheduled = id.encode_to_vec();
    let (first, second) = match query.flag("scheduled")? {
        Some(true) => (scheduled.clone(), scheduled),
        Some(false) => (plain.clone(), plain),
        None => (plain, scheduled),
    };
    match query.get("nonce").map(str::parse::<i32>) {
        None | Some(Ok(0)) => {}
        Some(Ok(1..)) => return Err(Refused::NotFound),
        Some(_) => return Err(invalid("nonce")),
    }
    let until = house.mirrored();
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&format!(
        "SELECT {COLUMNS} FROM transactions WHERE id IN (?1, ?2) AND consensus_at <= ?3 ORDER BY consensus_at"
    ))?;
    let found: Vec<Value> = statement
        .query_map((first, second, until), read)?
        .collect::<rusqlite::Result<_>>()?;
    if found.is_empty() {
        return Err(Refused::NotFound);
    }
    Ok(json!({ "transactions": found }))
}

/// The transactions that an account paid for, gave or got something by, or all; and where the next page is.
pub(super) fn of_account(
    house: &House,
    query: &Query,
    account: Option<i64>,
    path: &str,
) -> Result<(Value, Value), Refused> {
    let wanted = query.page(true)?;
    let text = format!("SELECT {COLUMNS} FROM transactions t WHERE consensus_at <= ?");
    let mut select = Select::new(&text, [house.mirrored()]);
    if let Some(account) = account {
        select.and("(payer = ?", account);
        select.text.push_str(
            " OR EXISTS (SELECT 1 FROM parties p WHERE p.account = ? AND p.consensus_at = t.consensus_at))",
        );
        select.values.push(Sql::from(account));
    }
    query.narrow(&mut select, "timestamp", "consensus_at", form::nanos)?;
    if let Some(kind) = query.get("transactiontype") {
        select.and("kind = ?", kind.to_ascii_uppercase());
    }
    let success = i64::from(Code::Success.number());
    match query.get("result") {
        None => {}
        Some("success") => select.and("status = ?", success),
        Some("fail") => select.and("status <> ?", success),
        Some(_) => return Err(invalid("result")),
    }
    select.text.push_str(&wanted.sql("consensus_at"));
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&select.text)?;
    let found: Vec<Value> = statement
        .query_map(params_from_iter(select.values), read)?
        .collect::<rusqlite::Result<_>>()?;
    let last = found.last().filter(|_| wanted.is_full(found.len()));
    let next = last.and_then(|last| {
        let at = last["consensus_timestamp"].as_str()?;
        Some(query.next(path, wanted, "timestamp", at))
    });
    Ok((json!(found), json!(next)))
}

/// The newest transactions, of one account or of all.
pub(super) fn list(house: &House, query: &str) -> Answer {
    let known = [
        "account.id",
        "limit",
        "order",
        "result",
        "timestamp",
        "transactiontype",
    ];
    let query = Query::read(query, &known)?;
    let account = match query.get("account.id") {
        None => None,
        Some(text) => {
            let text = text.strip_prefix("eq:").unwrap_or(text);
            Some(form::number(text).ok_or_else(|| invalid("account.id"))?)
        }
    };
    let (found, next) = of_account(house, &query, account, "transactions")?;
    Ok(json!({ "transactions": found, "links": { "next": next } }))
}

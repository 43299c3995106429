//! Accounts.

use inbox_hedera::key::{PublicKey, hex, unhex};
use inbox_hedera::proto::Key;
use prost::Message;
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::{Answer, Query, Refused};
use crate::house::House;
use crate::ledger::Account;

const SECOND: i64 = 1_000_000_000;

fn found(house: &House, name: &str) -> Result<Account, Refused> {
    let until = house.mirrored();
    let ledger = house.ledger();
    let alias = name.strip_prefix("0x").unwrap_or(name);
    let found = match form::number(name) {
        Some(num) if num < i64::from(u32::MAX) => Account::find(ledger.db(), num)?,
        _ if alias.len() == 40 => {
            let alias = unhex(alias)
                .map_err(|_| Refused::Invalid("Invalid parameter: idOrAliasOrEvmAddress".into()))?;
            Account::find_alias(ledger.db(), &alias)?
        }
        _ => {
            return Err(Refused::Invalid(
                "Invalid parameter: idOrAliasOrEvmAddress".into(),
            ));
        }
    };
    found
        .filter(|account| account.created_at <= until)
        .ok_or(Refused::NotFound)
}

fn shown(account: &Account, now: i64) -> Value {
    let evm = if account.alias.len() == 20 {
        hex(&account.alias)
    } else {
        format!("{:040x}", account.num)
    };
    json!({
        "account": id(account.num),
        "alias": null,
        "auto_renew_period": account.auto_renew,
        "balance": { "balance": account.balance, "timestamp": time(now), "tokens": [] },
        "created_timestamp": time(account.created_at),
        "decline_reward": account.is_reward_declined,
        "deleted": false,
        "ethereum_nonce": 0,
        "evm_address": format!("0x{evm}"),
        "expiry_timestamp": time(account.created_at + account.auto_renew * SECOND),
        "key": form::key(Some(&account.key)),
        "max_automatic_token_associations": account.max_associations,
        "memo": account.memo,
        "pending_reward": 0,
        "receiver_sig_required": account.is_receiver_sig_required,
        "staked_account_id": null,
        "staked_node_id": null,
        "stake_period_start": null,
    })
}

pub(super) fn show(house: &House, name: &str) -> Answer {
    let account = found(house, name)?;
    let mut shown = shown(&account, house.now());
    shown["transactions"] = json!([]);
    shown["links"] = json!({ "next": null });
    Ok(shown)
}

/// The accounts with an id or a public key, which is how a key's owner is found.
pub(super) fn list(house: &House, query: &Query) -> Answer {
    let now = house.now();
    let mut accounts = Vec::new();
    if let Some(name) = query.get("account.id") {
        match found(house, name.strip_prefix("eq:").unwrap_or(name)) {
            Ok(account) => accounts.push(shown(&account, now)),
            Err(Refused::NotFound) => {}
            Err(refused) => return Err(refused),
        }
    } else if let Some(text) = query.get("account.publickey") {
        let invalid = |_| Refused::Invalid("Invalid parameter: account.publickey".into());
        let key: PublicKey = text.parse().map_err(invalid)?;
        let bytes = Key::from(&key).encode_to_vec();
        let ledger = house.ledger();
        let mut statement = ledger
            .db()
            .prepare_cached("SELECT num FROM accounts WHERE key = ?1 ORDER BY num LIMIT ?2")?;
        let numbers: Vec<i64> = statement
            .query_map((bytes, query.limit()?), |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for num in numbers {
            accounts.extend(Account::find(ledger.db(), num)?.map(|account| shown(&account, now)));
        }
    } else {
        return Err(Refused::Invalid(
            "Invalid parameter: account.id or account.publickey is needed".into(),
        ));
    }
    Ok(json!({ "accounts": accounts, "links": { "next": null } }))
}

pub(super) fn balances(house: &House, query: &Query) -> Answer {
    let name = query
        .get("account.id")
        .ok_or_else(|| Refused::Invalid("Invalid parameter: account.id is needed".into()))?;
    let account = found(house, name.strip_prefix("eq:").unwrap_or(name))?;
    Ok(json!({
        "timestamp": time(house.now()),
        "balances": [{ "account": id(account.num), "balance": account.balance, "tokens": [] }],
        "links": { "next": null },
    }))
}

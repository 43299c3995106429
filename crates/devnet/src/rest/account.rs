//! Accounts.

use inbox_hedera::key::{PublicKey, unhex};
use inbox_hedera::proto::Key;
use prost::Message;
use rusqlite::params_from_iter;
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::query::{Query, Select, invalid};
use super::{Answer, Refused, transaction};
use crate::house::House;
use crate::ledger::Account;

const SECOND: i64 = 1_000_000_000;

/// How the name of an account is called where it is wrong.
const NAME: &str = "idOrAliasOrEvmAddress";

/// The account with this number, alias in base32, or address on the EVM in hexadecimal.
fn found(house: &House, name: &str) -> Result<Account, Refused> {
    let until = house.mirrored();
    let ledger = house.ledger();
    let bare = name.strip_prefix("0.0.").unwrap_or(name);
    let address = bare.strip_prefix("0x").unwrap_or(bare);
    let found = match form::number(name) {
        Some(num) if num < i64::from(u32::MAX) => Account::find(ledger.db(), num)?,
        _ if address.len() == 40 && unhex(address).is_ok() => {
            let address = unhex(address).map_err(|_| invalid(NAME))?;
            Account::find_alias(ledger.db(), &address)?
        }
        _ => {
            let alias = form::base32(bare).ok_or_else(|| invalid(NAME))?;
            if Key::decode(alias.as_slice()).map_or(true, |key| key.leaf().is_none()) {
                return Err(invalid(NAME));
            }
            Account::find_alias(ledger.db(), &alias)?
        }
    };
    found
        .filter(|account| account.created_at <= until)
        .ok_or(Refused::NotFound)
}

fn shown(account: &Account, now: i64) -> Value {
    let is_key = !matches!(account.alias.len(), 0 | 20);
    json!({
        "account": id(account.num),
        "alias": is_key.then(|| form::to_base32(&account.alias)),
        "auto_renew_period": account.auto_renew,
        "balance": { "balance": account.balance, "timestamp": time(now), "tokens": [] },
        "created_timestamp": time(account.created_at),
        "decline_reward": account.is_reward_declined,
        "deleted": false,
        "ethereum_nonce": 0,
        "evm_address": format!("0x{}", account.evm_address()),
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

/// One account, and its newest transactions.
pub(super) fn show(house: &House, name: &str, query: &str) -> Answer {
    let known = [
        "limit",
        "order",
        "timestamp",
        "transactions",
        "transactiontype",
    ];
    let query = Query::read(query, &known)?;
    let account = found(house, name)?;
    let mut shown = shown(&account, house.now());
    let (list, next) = if query.flag("transactions")? == Some(false) {
        (json!([]), Value::Null)
    } else {
        let path = format!("accounts/{}", id(account.num));
        transaction::of_account(house, &query, Some(account.num), &path)?
    };
    shown["transactions"] = list;
    shown["links"] = json!({ "next": next });
    Ok(shown)
}

/// What an account has of tokens: nothing, as there are none.
pub(super) fn tokens(house: &House, name: &str, query: &str) -> Answer {
    let query = Query::read(query, &["limit", "order", "token.id"])?;
    query.page(false)?;
    found(house, name)?;
    Ok(json!({ "tokens": [], "links": { "next": null } }))
}

/// Accounts by what a question says of them, and where the next page is.
fn page(house: &House, query: &Query, path: &str) -> Result<(Vec<Account>, Value), Refused> {
    let wanted = query.page(false)?;
    let until = house.mirrored();
    let mut select = Select::new("SELECT num FROM accounts WHERE created_at <= ?", [until]);
    let number = |text: &str| match form::number(text) {
        Some(num) => Some(num),
        None => found(house, text).ok().map(|account| account.num),
    };
    query.narrow(&mut select, "account.id", "num", number)?;
    let balance = |text: &str| text.parse().ok().filter(|balance: &i64| *balance >= 0);
    query.narrow(&mut select, "account.balance", "balance", balance)?;
    if let Some(text) = query.get("account.publickey") {
        let text = text.strip_prefix("eq:").unwrap_or(text);
        let key: PublicKey = text.parse().map_err(|_| invalid("account.publickey"))?;
        select.and("key = ?", Key::from(&key).encode_to_vec());
    }
    select.text.push_str(&wanted.sql("num"));
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&select.text)?;
    let numbers: Vec<i64> = statement
        .query_map(params_from_iter(select.values), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut accounts = Vec::with_capacity(numbers.len());
    for num in numbers {
        accounts.extend(Account::find(ledger.db(), num)?);
    }
    let next = accounts
        .last()
        .filter(|_| wanted.is_full(accounts.len()))
        .map(|last| query.next(path, wanted, "account.id", &id(last.num)));
    Ok((accounts, json!(next)))
}

const KNOWN: [&str; 6] = [
    "account.balance",
    "account.id",
    "account.publickey",
    "balance",
    "limit",
    "order",
];

/// Accounts: all, or those with an id, a balance or a public key, which is how a key's owner is found.
pub(super) fn list(house: &House, query: &str) -> Answer {
    let query = Query::read(query, &KNOWN)?;
    query.flag("balance")?;
    let now = house.now();
    let (accounts, next) = page(house, &query, "accounts")?;
    let accounts: Vec<Value> = accounts.iter().map(|one| shown(one, now)).collect();
    Ok(json!({ "accounts": accounts, "links": { "next": next } }))
}

/// What accounts have. It is what they have now: there is no history of it.
pub(super) fn balances(house: &House, query: &str) -> Answer {
    let query = Query::read(query, &KNOWN)?;
    let (accounts, next) = page(house, &query, "balances")?;
    let balances: Vec<Value> = accounts
        .iter()
        .map(|one| json!({ "account": id(one.num), "balance": one.balance, "tokens": [] }))
        .collect();
    Ok(json!({
        "timestamp": time(house.now()),
        "balances": balances,
        "links": { "next": next },
    }))
}

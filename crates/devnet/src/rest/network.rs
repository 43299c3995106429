//! The network itself: its node, its rate, what there is.

use serde_json::{Value, json};

use super::form::{id, time};
use super::query::Query;
use super::{Answer, Refused};
use crate::house::House;
use crate::ledger::{NODE, rates};

pub(super) fn show(house: &House, what: &str, query: &str) -> Answer {
    let now = house.now();
    let known: &[&str] = match what {
        "nodes" => &["file.id", "limit", "node.id", "order"],
        "fees" => &["order", "timestamp"],
        _ => &["timestamp"],
    };
    let query = Query::read(query, known)?;
    query.page(false)?;
    match what {
        "exchangerate" => {
            let rates = rates(now / 1_000_000_000);
            let shown = |rate: Option<inbox_hedera::proto::ExchangeRate>| -> Value {
                let rate = rate.unwrap_or_default();
                json!({
                    "cent_equivalent": rate.cent_equiv,
                    "expiration_time": rate.expiration_time.map_or(0, |time| time.seconds),
                    "hbar_equivalent": rate.hbar_equiv,
                })
            };
            Ok(json!({
                "current_rate": shown(rates.current_rate),
                "next_rate": shown(rates.next_rate),
                "timestamp": time(now),
            }))
        }
        "nodes" => Ok(json!({
            "nodes": [{
                "description": "inbox devnet",
                "file_id": "0.0.102",
                "memo": id(NODE),
                "node_account_id": id(NODE),
                "node_id": 0,
                "node_cert_hash": "0x",
                "decline_reward": false,
                "grpc_proxy_endpoint": null,
                "reward_rate_start": 0,
                "stake_not_rewarded": 0,
                "stake_rewarded": 0,
                "staking_period": null,
                "public_key": "0x",
                "service_endpoints": [{
                    "domain_name": "",
                    "ip_address_v4": house.node.ip().to_string(),
                    "port": house.node.port(),
                }],
                "max_stake": 0,
                "min_stake": 0,
                "stake": 0,
                "timestamp": { "from": time(now), "to": null },
            }],
            "links": { "next": null },
        })),
        // These are the prices of gas, which there is none of.
        "fees" => Ok(json!({ "fees": [], "timestamp": time(now) })),
        "supply" => {
            let total: i64 =
                house
                    .ledger()
                    .db()
                    .query_row("SELECT SUM(balance) FROM accounts", [], |row| row.get(0))?;
            Ok(json!({
                "released_supply": total.to_string(),
                "timestamp": time(now),
                "total_supply": total.to_string(),
            }))
        }
        _ => Err(Refused::NotFound),
    }
}

//! A transaction that somebody wants signed: how much, between whom, until when, by the network's own bytes.

use askama::Template;
use inbox_core::record::Millis;
use inbox_core::{Message, Refusal};
use inbox_ops::config::Tinybars;
use serde_json::Value;

use super::house::network;
use super::html::{Html, left, line};
use super::mail::agent;
use super::{Visit, written};
use crate::person;

struct Side {
    account: String,
    name: Option<Html>,
    verb: &'static str,
    amount: String,
}

#[derive(Template)]
#[template(path = "approval.html")]
struct Card {
    most: Option<String>,
    of: Html,
    by: String,
    sides: Vec<Side>,
    does: Vec<String>,
    expires: Option<Html>,
    schedule: String,
    network: String,
    said: String,
    is_readable: bool,
}

/// What would be signed, where a message asks for that.
pub(super) fn card(visit: &Visit<'_>, message: &Message) -> Result<Option<Html>, Refusal> {
    if !person::is_transaction(message) {
        return Ok(None);
    }
    let told = &message.payload_json;
    let text = |name: &str| line(told[name].as_str().unwrap_or_default());
    let list = |name: &str| told[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let known = visit.inbox.on_ledger()?;
    let sides: Vec<Side> = list("parties")
        .iter()
        .map(|party| {
            let account = line(party["account_id"].as_str().unwrap_or_default());
            let amount = party["tinybars"].as_i64().unwrap_or_default();
            let named = known
                .iter()
                .find(|agent| agent.account_id.as_ref() == Some(&account));
            Side {
                name: named.map(|named| agent(named.agent_id.as_str())),
                verb: if amount < 0 { "gives" } else { "gets" },
                amount: Tinybars(amount.saturating_abs()).to_string(),
                account,
            }
        })
        .collect();
    let rest = list("does").iter().skip(sides.len());
    let ends = told["expires_at"].as_str();
    let ends = ends.and_then(|ends| ends.parse::<Millis>().ok());
    written(&Card {
        most: told["max_tinybars"]
            .as_i64()
            .map(|most| Tinybars(most).to_string()),
        of: agent(told["agent_id"].as_str().unwrap_or_default()),
        by: text("account_id"),
        does: rest.filter_map(Value::as_str).map(line).collect(),
        sides,
        expires: ends.map(|ends| left(ends, visit.now)),
        schedule: text("schedule_id"),
        network: network(visit).unwrap_or_default(),
        said: text("proposer_says"),
        is_readable: !list("does").is_empty(),
    })
    .map(Some)
}

//! How things of the network look in answers.

use inbox_bridge::Hbar;
use inbox_hcs::{Deviation, Profile};
use inbox_hedera::key::PublicKey;
use inbox_hedera::mirror::{AccountFacts, TopicFacts};
use inbox_hedera::proto::{Key, KeyKind};
use serde_json::{Value, json};

/// A key, as people compare it.
pub(super) fn key(key: Option<&Key>) -> Value {
    match key {
        None => Value::Null,
        Some(key) => Value::from(key_text(key)),
    }
}

/// A key on one line: a single one by its DER form, several by how many of them must sign.
pub(super) fn key_text(key: &Key) -> String {
    if let Some(leaf) = key.leaf() {
        return leaf.to_der();
    }
    let leaves: Vec<String> = key.leaves().iter().map(PublicKey::to_der).collect();
    match &key.key {
        Some(KeyKind::Threshold(threshold)) => {
            let needed = threshold.threshold;
            format!("{needed} of {}: {}", leaves.len(), leaves.join(", "))
        }
        Some(KeyKind::List(_)) => format!("all of {}: {}", leaves.len(), leaves.join(", ")),
        _ => "a key of another sort".to_owned(),
    }
}

pub(super) fn account(facts: &AccountFacts) -> Value {
    json!({
        "account_id": facts.id.to_string(),
        "public_key": key(facts.key.as_ref()),
        "memo": facts.memo,
        "balance_tinybars": facts.balance,
    })
}

pub(super) fn balance(facts: &AccountFacts) -> String {
    Hbar::from_tinybars(facts.balance).to_string()
}

pub(super) fn topic(id: inbox_hcs::TopicId, facts: &TopicFacts) -> Value {
    let fees: Vec<Value> = facts
        .custom_fees
        .iter()
        .map(|fee| {
            let fixed = fee.fixed_fee.unwrap_or_default();
            let collector = fee.fee_collector_account_id.clone().unwrap_or_default();
            let token = fixed
                .denominating_token_id
                .map(|token| format!("{}.{}.{}", token.shard, token.realm, token.num));
            json!({
                "amount": fixed.amount,
                "token_id": token,
                "collector_account_id": collector.to_string(),
            })
        })
        .collect();
    let exempt: Vec<Value> = facts
        .fee_exempt_keys
        .iter()
        .map(|one| key(Some(one)))
        .collect();
    json!({
        "topic_id": id.to_string(),
        "memo": facts.memo,
        "admin_key": key(facts.admin_key.as_ref()),
        "submit_key": key(facts.submit_key.as_ref()),
        "fee_schedule_key": key(facts.fee_schedule_key.as_ref()),
        "fee_exempt_keys": exempt,
        "custom_fees": fees,
        "deleted": facts.is_deleted,
    })
}

pub(super) fn deviations(deviations: &[Deviation]) -> Vec<Value> {
    deviations
        .iter()
        .map(|deviation| {
            json!({
                "kind": deviation.kind.name(),
                "pointer": deviation.pointer,
                "expected": deviation.expected,
                "found": deviation.found,
            })
        })
        .collect()
}

pub(super) fn deviation_text(deviation: &Deviation) -> String {
    let Deviation {
        kind,
        pointer,
        expected,
        found,
    } = deviation;
    let at = if pointer.is_empty() { "" } else { " at " };
    format!(
        "{}{at}{pointer}: expected {expected}, found {found}",
        kind.name()
    )
}

/// The profile as its document.
pub(super) fn profile(profile: &Profile) -> Value {
    let text = profile.write().unwrap_or_default();
    serde_json::from_str(&text).unwrap_or(Value::Null)
}

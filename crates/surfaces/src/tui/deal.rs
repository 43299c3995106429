//! What a message carries, for people: a transaction that is to be signed as what it would do, anything else as its fields.

use inbox_core::Message;
use inbox_core::record::Millis;
use inbox_ops::config::Tinybars;
use serde_json::{Value, json};

use super::payload::{Entry, sections};
use super::rows::left;
use crate::person;

/// The lines of what a message carries.
pub(super) fn carried(message: &Message, now: Millis, width: usize) -> Vec<Entry> {
    if person::is_transaction(message) {
        sections(&deal(&message.payload_json, now), width)
    } else {
        sections(&message.payload_json, width)
    }
}

/// How much, between whom, until when, by the network's own bytes; and last what the proposer says.
fn deal(told: &Value, now: Millis) -> Value {
    let text = |name: &str| told[name].as_str().unwrap_or_default();
    let list = |name: &str| told[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut deal = serde_json::Map::new();
    let mut add = |name: &str, value: Value| drop(deal.insert(name.to_owned(), value));
    if list("does").is_empty() {
        let unread = "cannot be read, and so it cannot be signed here";
        add("what it would do", unread.into());
    }
    if let Some(most) = told["max_tinybars"].as_i64() {
        let most = format!("{} ℏ of {}", Tinybars(most), text("agent_id"));
        add("it takes at most", most.into());
    }
    let sides = list("parties").iter().map(|party| {
        let amount = party["tinybars"].as_i64().unwrap_or_default();
        let verb = if amount < 0 { "gives" } else { "gets" };
        let account = party["account_id"].as_str().unwrap_or_default();
        let amount = Tinybars(amount.saturating_abs());
        Value::from(format!("{account} {verb} {amount} ℏ"))
    });
    let sides: Vec<Value> = sides.collect();
    let rest: Vec<&Value> = list("does").iter().skip(sides.len()).collect();
    if !rest.is_empty() {
        let name = if sides.is_empty() { "it would" } else { "and" };
        add(name, json!(rest));
    }
    if !sides.is_empty() {
        add("between", sides.into());
    }
    let ends = text("expires_at").parse::<Millis>();
    if let Ok(ends) = ends {
        add("time left", left(ends, now).into());
    }
    let schedule = format!(
        "{}, proposed by {}",
        text("schedule_id"),
        text("account_id")
    );
    add("schedule", schedule.into());
    if !text("proposer_says").is_empty() {
        add(
            "the proposer says, which nobody has checked",
            text("proposer_says").into(),
        );
    }
    Value::Object(deal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(told: &Value) -> Vec<String> {
        let entries = sections(&deal(told, Millis(0)), 70).into_iter();
        entries.map(|entry| entry.text).collect()
    }

    #[test]
    fn a_transaction_is_what_it_would_do() {
        let told = json!({
            "max_tinybars": 500_000_000, "agent_id": "backend", "schedule_id": "0.0.55", "account_id": "0.0.77",
            "parties": [{"account_id": "0.0.12", "tinybars": -500_000_000}, {"account_id": "0.0.77", "tinybars": 500_000_000}],
            "does": ["a", "b"], "expires_at": "1970-01-01T00:04:31Z", "proposer_says": "trust me",
        });
        assert_eq!(
            lines(&told),
            [
                "it takes at most: 5 ℏ of backend",
                "between:",
                "  - 0.0.12 gives 5 ℏ",
                "  - 0.0.77 gets 5 ℏ",
                "time left: 4:31",
                "schedule: 0.0.55, proposed by 0.0.77",
                "the proposer says, which nobody has checked: trust me",
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_says_so_first() {
        let told = json!({"schedule_id": "0.0.55", "account_id": "0.0.77", "does": []});
        assert_eq!(
            lines(&told)[0],
            "what it would do: cannot be read, and so it cannot be signed here".to_owned()
        );
    }
}

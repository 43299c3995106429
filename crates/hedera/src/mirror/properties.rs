//! What holds of a mirror's answers, whatever they are: each is read, or refused by its place.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::answer::{Answer, fee, key};
use crate::damage::{cases, damaged_text};

fn answers() -> Vec<String> {
    let key = json!({ "_type": "ED25519", "key": "6b".repeat(32) });
    let message = json!({
        "sequence_number": 7, "consensus_timestamp": "1700000000.000000001", "payer_account_id": "0.0.2",
        "topic_id": "0.0.5", "message": "aGVsbG8=", "running_hash": "AAAA",
        "chunk_info": { "number": 1, "total": 2, "initial_transaction_id":
            { "account_id": "0.0.2", "transaction_valid_start": "1700000000.000000001" } },
    });
    let transaction = json!({
        "transaction_id": "0.0.2-1700000000-000000001", "consensus_timestamp": "1700000000.000000001",
        "result": "SUCCESS", "name": "CONSENSUSSUBMITMESSAGE", "entity_id": "0.0.5", "charged_tx_fee": 9,
        "memo_base64": "", "transfers": [{ "account": "0.0.2", "amount": -9 }],
    });
    let node = json!({
        "node_account_id": "0.0.3", "node_cert_hash": format!("0x{}", "ab".repeat(48)),
        "service_endpoints": [{ "domain_name": "", "ip_address_v4": "10.0.0.1", "port": 50211 }],
    });
    let fee =
        json!({ "amount": 5, "denominating_token_id": "0.0.9", "collector_account_id": "0.0.7" });
    [key, message, transaction, node, fee]
        .map(|value| value.to_string())
        .to_vec()
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn whatever_a_mirror_answers_it_is_read_or_named_by_its_place(text in damaged_text(answers())) {
        let Ok(value) = serde_json::from_str::<Value>(&text) else { return Ok(()); };
        let answer = Answer { path: "/api/v1/x", value: &value };
        let _ = (answer.message(), answer.transaction(), answer.node(), key(&value), answer.key("/key"));
        if let Some(fee) = fee(&value) {
            let token = fee.fixed_fee.and_then(|fee| fee.denominating_token_id);
            prop_assert!(token.is_none_or(|token| token.num > 0));
            prop_assert_eq!(token.is_some(), value["denominating_token_id"].is_string());
        }
    }
}

#[test]
fn a_fee_in_what_is_no_token_is_no_fee_in_hbars() {
    let plain = json!({ "amount": 5, "collector_account_id": "0.0.7" });
    assert!(fee(&plain).is_some());
    for token in [
        json!(9),
        json!("9"),
        json!("0.0.-9"),
        json!("0.0.+9"),
        json!({}),
        json!("1.0.9"),
    ] {
        let mut value = plain.clone();
        value["denominating_token_id"] = token;
        assert_eq!(fee(&value), None, "{value}");
    }
}

#[test]
fn a_message_is_read_before_it_is_damaged() {
    let message: Value = serde_json::from_str(&answers()[1]).expect("it is JSON");
    let read = Answer {
        path: "",
        value: &message,
    }
    .message()
    .expect("a message");
    assert_eq!(read.sequence.get(), 7);
}

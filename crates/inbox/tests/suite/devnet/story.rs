//! The story that every SDK tells on a devnet of its own, and what it must have seen.

use std::process::Command;

use inbox_hcs::{RunningHash, Submission};
use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::INBOX;
use crate::packages::run;

/// Runs a client beside a devnet of its own, and gives what it saw.
pub(crate) fn play(client: &[&str]) -> Value {
    let sandbox = Sandbox::new(INBOX);
    let devnet = [INBOX, "devnet", "--json"];
    let mut command = Command::new("unshare");
    command
        .args(["-rn", "python3", "-c", include_str!("alone.py")])
        .arg(json!(devnet).to_string())
        .arg(json!(client).to_string())
        .current_dir(sandbox.folder());
    let out = run(&mut command);
    let last = out.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("not JSON ({error}): {out}"))
}

/// What every client must have seen.
#[track_caller]
pub(crate) fn check(seen: &Value) {
    assert_eq!(seen["sequence"], "1");
    assert_eq!(seen["hash_bytes"], 48);
    assert_eq!(seen["stranger"], "INVALID_SIGNATURE");
    assert_eq!(seen["heard"], json!([5, 2500]));
    assert_eq!(seen["removed"], "INVALID_SIGNATURE");
    assert_eq!(seen["again"], "SCHEDULE_ALREADY_EXECUTED");
    assert_eq!(seen["deleted"], "INVALID_TOPIC_ID");
    verify(&seen["topic"], &seen["messages"]);
}

/// Recomputes the running hashes of a topic from what the mirror says of it.
#[track_caller]
fn verify(topic: &Value, messages: &Value) {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let bytes = |value: &Value| {
        use base64::Engine;
        let engine = base64::engine::general_purpose::STANDARD;
        engine.decode(text(value)).expect("base64")
    };
    let messages = messages.as_array().expect("messages");
    assert_eq!(messages.len(), 4);
    let mut hash = RunningHash::EMPTY;
    for message in messages {
        hash = hash.next(&Submission {
            payer: text(&message["payer_account_id"]).parse().expect("an id"),
            topic: text(topic).parse().expect("an id"),
            time: text(&message["consensus_timestamp"])
                .parse()
                .expect("a time"),
            sequence: message["sequence_number"]
                .to_string()
                .parse()
                .expect("a number"),
            message: &bytes(&message["message"]),
        });
        assert_eq!(bytes(&message["running_hash"]), hash.as_bytes());
    }
}

/// What a client must have seen of all that the devnet does.
#[track_caller]
pub(crate) fn check_all(seen: &Value) {
    check(seen);
    assert_eq!(seen["info"], json!({ "memo": "", "sequence": "4" }));
    assert_eq!(seen["executed"], true);
    assert_eq!(seen["limited"], "MAX_CUSTOM_FEE_LIMIT_EXCEEDED");
    assert_eq!(seen["token"], "NOT_SUPPORTED");
    // 100 in the beginning, 1 by the schedule, 2 by the topic's fee.
    assert_eq!(seen["balance"], "10300000000");
    assert_eq!(seen["paid"], json!(["SUCCESS"]));
    assert_eq!(seen["account"]["key"]["_type"], "ECDSA_SECP256K1");
}

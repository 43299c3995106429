//! A store whose record is on the ledger, end to end: two agents and a person of ours write to each other and to an agent outside,
//! which is the HCS-10 client of npm; the record is checked, and a letter of it forged. `interop/hcs10/mail.mjs` is the story.

use serde_json::{Value, json};

use crate::hcs10::{HBAR, play};

#[test]
fn two_agents_and_the_client_of_npm_exchange_mail_and_verify_finds_one_changed_byte() {
    let seen = play("mail.mjs", &[]);
    wrote(&seen);
    connected(&seen);
    talked(&seen);
    approved(&seen);
    verified(&seen);
}

/// What stands in a thread: who says so, whether the ledger proves it, and the two texts.
fn line(from: &str, verified: bool, kind: Value, summary: &str, body: &str) -> Value {
    json!({ "from": from, "verified": verified, "type": kind, "summary": summary, "body": body })
}

#[track_caller]
fn wrote(seen: &Value) {
    assert_eq!(seen["provisioned"], json!(["mindy", "operator", "quinn"]));
    let sent = line(
        "mindy",
        false,
        Value::Null,
        "Count the invoices",
        "All of May.",
    );
    assert_eq!(seen["quinn_read"], json!([sent]));
    let answered = line("quinn", false, Value::Null, "Forty-two of them.", "");
    assert_eq!(seen["mindy_read"], json!([answered]));
}

#[track_caller]
fn connected(seen: &Value) {
    // The client knows ours by the profile that provisioning made.
    assert_eq!(seen["known"], "quinn");
    let question = &seen["question"];
    let account = seen["visitor"].as_str().expect("an account");
    assert_eq!(question["sort"], "connection");
    assert_eq!(
        question["subject"],
        format!("visitor ({account}) asks quinn for a connection")
    );
    assert_eq!(question["payload"]["account_id"], account);
    assert_eq!(question["payload"]["memo"], "let us talk");
    assert_eq!(seen["open"], "established");
    assert_eq!(seen["closed"], "closed");
}

#[track_caller]
fn talked(seen: &Value) {
    let (visitor, quinn) = (&seen["visitor"], &seen["quinn"]);
    let read = json!([
        { "from": visitor, "text": "What does a widget cost?" },
        { "from": visitor, "text": "LARGE" },
        { "from": quinn, "text": "Four HBAR each." },
        { "from": quinn, "text": "LARGE" },
    ]);
    assert_eq!(seen["visitor_read"], read);
    let account = visitor.as_str().expect("an account");
    let outside = format!("account-{account}");
    let thread = json!([
        line(
            &outside,
            true,
            json!("connection.opened"),
            &format!("visitor ({account}) is connected with quinn"),
            "let us talk",
        ),
        line(&outside, true, Value::Null, "What does a widget cost?", ""),
        line(&outside, true, Value::Null, "START", "LARGE"),
        line("quinn", false, Value::Null, "Four HBAR each.", ""),
        line("quinn", false, Value::Null, "All prices", "LARGE"),
        line(
            "system",
            false,
            json!("connection.closed"),
            &format!("{outside} closed the connection"),
            "done",
        ),
    ]);
    assert_eq!(seen["thread"], thread);
}

#[track_caller]
fn approved(seen: &Value) {
    let (visitor, quinn) = (&seen["visitor"], &seen["quinn"]);
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    let (account, schedule) = (word(visitor), word(&seen["schedule"]));
    let approval = &seen["approval"];
    assert_eq!(approval["sort"], "approval");
    let payload = &approval["payload"];
    assert_eq!(payload["schedule_id"], seen["schedule"]);
    assert_eq!(payload["kind"], "transfer");
    assert_eq!(payload["max_tinybars"], HBAR);
    // By the network's bytes; the proposer's words stand apart.
    let does = [
        format!("{} gives 1 ℏ", word(quinn)),
        format!("{account} gets 1 ℏ"),
    ];
    assert_eq!(payload["does"], json!(does));
    assert_eq!(payload["proposer_says"], format!("1 for {account}"));
    assert_eq!(seen["executed"], json!([false, true]));
    assert_eq!(
        seen["signed"],
        format!("schedule {schedule} is signed, and was carried out")
    );
    // It paid for the proposal itself.
    let got = seen["got"].as_i64().expect("an amount");
    assert!((9 * HBAR / 10..=HBAR).contains(&got), "{got}");
    assert_eq!(seen["questions_left"], 0);
}

#[track_caller]
fn verified(seen: &Value) {
    let whole = &seen["verified"];
    assert_eq!(whole["status"], 0, "{whole}");
    assert_eq!(whole["answer"]["mismatches"], json!([]));
    let topics = whole["answer"]["topics"].as_array().expect("topics");
    let mail = |place: &str, name: &Value| {
        let found = topics
            .iter()
            .find(|topic| topic["place"] == place && topic["name"] == *name);
        found.unwrap_or_else(|| panic!("no {place} {name}: {whole}"))["mail"].clone()
    };
    assert_eq!(mail("inbound", &json!("quinn")), 1);
    assert_eq!(mail("inbound", &json!("mindy")), 1);
    assert_eq!(mail("connection", &seen["connection"]), 4);
    for (whose, texts) in [
        ("ours", ["All of May.", "All of Max."]),
        (
            "theirs",
            ["What does a widget cost?", "What does a gidget cost?"],
        ),
    ] {
        let forged = &seen["forged"][whose];
        assert_eq!(forged["status"], 20, "{forged}");
        let answer = &forged["answer"];
        assert_eq!(answer["error"]["code"], "verify_mismatch");
        let [found] = answer["mismatches"].as_array().expect("a list").as_slice() else {
            panic!("not one mismatch: {answer}");
        };
        assert_eq!(found["kind"], "changed");
        assert_eq!(found["field"], "body");
        assert_eq!(found["message_id"], forged["message"]);
        let [topic, store] = texts;
        assert_eq!(
            found["what"],
            format!("the topic has {topic:?}, and the store {store:?}")
        );
    }
    // It was the letter, and nothing else.
    assert_eq!(seen["again"], 0);
}

//! Whatever an agent writes and the store takes is said, recognised on its topic, and the same there.

use inbox_ops::{Claim, Fail, Note, Operation, Send, Update};
use inbox_testkit::world::by;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::mail::{Post, both};

/// Texts that mean something to somebody on the way.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "hcs://1/0.0.999999",
        " hcs://1/0.0.999999 ",
        "hcs://10/0.0.999999",
        "hcs-10:0:60:0:0.0.5",
        r#"{"p":"hcs-10","op":"close_connection","operator_id":"0.0.1@0.0.2","reason":"x"}"#,
        r#"{"wire":"1.0","type":"inbox"}"#,
        r#"{"a":1,"a":2}"#,
        "data:application/json;base64,e30=",
        "\u{0}",
        "a\u{0}b",
        "\\u0000",
        "\u{1}\u{7f}\u{85}",
        "\u{2028}\u{2029}",
        "\u{202e}txt.exe",
        "\u{feff}x",
        "e\u{301}",
        "\u{10ffff}",
        "\r\n\t",
        "0",
        "null",
        "-",
        "$serde_json::private::Number",
    ]
    .map(str::to_owned)
    .to_vec();
    // Around what fits into a message, in letters that take one, six and four bytes there.
    for letter in ["x", "\u{1}", "\u{1f980}"] {
        for length in [150, 600, 800, 2000] {
            texts.push(letter.repeat(length));
        }
    }
    texts
}

/// Values that readers understand in different ways.
fn values() -> Vec<Value> {
    let numbers = [
        "0",
        "-0",
        "-0.0",
        "1.0",
        "1e400",
        "1E-400",
        "0.1e1",
        "123456789012345678901234567890",
        "1.10",
    ];
    let mut values: Vec<Value> = numbers
        .iter()
        .map(|text| serde_json::from_str(text).expect("a number"))
        .collect();
    values.extend([
        json!(null),
        json!(""),
        json!([]),
        json!({}),
        json!({"": ""}),
        json!(true),
    ]);
    values.push((0..119).fold(json!(1), |inner, _| json!([inner])));
    values
        .push(json!({"x_uid": "x", "x_file": "hcs://1/0.0.999999", "x_thread": 1, "wire": "2.0"}));
    values.push(json!({"p": "hcs-10", "op": "message", "data": "x"}));
    values.extend(
        texts()
            .into_iter()
            .map(|text| json!({ text.clone(): text })),
    );
    values
}

/// Has an agent do something that may be refused.
fn tried<O: Operation + DeserializeOwned>(
    post: &Post,
    agent: &str,
    request: Value,
) -> Option<O::Answer> {
    let request: O = serde_json::from_value(request).ok()?;
    request.run(&post.inbox, &by(agent)).ok()
}

/// Nothing waits any more.
#[track_caller]
pub(crate) fn all_is_said(post: &Post, what: &str) {
    post.settle();
    let standing = post.inbox.ledger_standing().unwrap();
    assert_eq!(standing.backlog.count, 0, "{what}: {:?}", standing.backlog);
}

/// Everything is on its topic as it was written.
#[track_caller]
fn all_is_there(post: &Post) {
    let report = inbox_bridge::compare::compare(&post.inbox, &post.stage.network.reader(), None);
    let report = report.unwrap();
    assert!(report.mismatches.is_empty(), "{:?}", report.mismatches);
}

#[test]
fn any_text_in_any_place_of_a_message_is_said_and_recognised() {
    both(|post| {
        post.settle();
        let mut taken = 0;
        for text in texts() {
            let shown: String = text
                .chars()
                .take(30)
                .flat_map(char::escape_default)
                .collect();
            for (field, to) in [
                ("subject", "ben"),
                ("summary", "ben"),
                ("body", "ben"),
                ("message_type", "ben"),
                ("task", "ben"),
                ("run", "ben"),
                ("subject", "role:dev"),
                ("body", "role:dev"),
                ("summary", "all"),
                ("body", "all"),
            ] {
                // No two are the same: who repeats itself is stopped.
                let mut request =
                    json!({"to": [to], "subject": "s", "body": format!("{field} {shown}")});
                request[field] = json!(text);
                post.world.advance_ms(1);
                taken += i32::from(tried::<Send>(&post, "ada", request).is_some());
            }
            let note = json!({"ref": "task:T1", "note": text, "notify": ["ben"]});
            taken += i32::from(tried::<Note>(&post, "ada", note).is_some());
            all_is_said(&post, &shown);
        }
        all_is_there(&post);
        assert!(taken > 200, "{taken}");
    });
}

#[test]
fn any_value_in_a_payload_is_said_and_recognised() {
    both(|post| {
        post.settle();
        let mut taken = 0;
        for value in values() {
            let shown: String = value.to_string().chars().take(60).collect();
            for to in ["ben", "role:dev", "all"] {
                post.world.advance_ms(1);
                let request = json!({"to": [to], "subject": to, "body": shown, "payload_json": {"v": value},
                    "artifacts": [{"path": shown}]});
                taken += i32::from(tried::<Send>(&post, "ada", request).is_some());
            }
            let request = json!({"to": ["ben"], "subject": "t", "body": shown, "payload_json": value,
                "ref_type": "task", "ref_id": "T2"});
            taken += i32::from(tried::<Send>(&post, "ada", request).is_some());
            all_is_said(&post, &shown);
        }
        all_is_there(&post);
        assert!(taken > 120, "{taken}");
    });
}

#[test]
fn any_text_of_a_worker_in_its_steps_is_said_and_recognised() {
    both(|post| {
        post.settle();
        for text in texts() {
            let shown: String = text
                .chars()
                .take(30)
                .flat_map(char::escape_default)
                .collect();
            let task = json!({"to": ["ben"], "subject": "w", "body": shown, "ref_type": "task", "ref_id": "T3"});
            let Some(sent) = tried::<Send>(&post, "ada", task) else {
                continue;
            };
            let thread = sent.thread.thread_id;
            post.settle();
            let claimed = tried::<Claim>(&post, "ben", json!({"thread": thread})).unwrap();
            let mut worker = by("ben");
            worker.lease = claimed.lease.and_then(|lease| lease.lease_token);
            let say = |request: Value| {
                let request: Update = serde_json::from_value(request).unwrap();
                let _ = request.run(&post.inbox, &worker);
            };
            say(json!({"thread": thread, "status": "blocked", "summary": text, "body": text}));
            say(
                json!({"thread": thread, "status": "in_progress", "payload_json": {"reason": text}}),
            );
            let fail: Fail =
                serde_json::from_value(json!({"thread": thread, "summary": text})).unwrap();
            let _ = fail.run(&post.inbox, &worker);
            all_is_said(&post, &shown);
        }
        all_is_there(&post);
    });
}

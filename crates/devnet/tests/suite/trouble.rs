//! Trouble on request: by flags' texts, and over HTTP as programs in other languages ask for it.

use std::time::Duration;

use inbox_devnet::{Trouble, Twist};
use inbox_hedera::proto::{Code, TransactionResponse};
use prost::Message;
use serde_json::{Value, json};

use crate::net::message;
use crate::ports::{Client, get};

const SUBMIT: &str = "/proto.ConsensusService/submitMessage";

#[test]
fn trouble_is_asked_for_in_words() {
    for (text, wanted) in [
        ("busy=3", Trouble::Busy(3)),
        ("lose=1", Trouble::Lose(1)),
        ("late=0", Trouble::Late(0)),
        ("slow=200ms", Trouble::Slow(Duration::from_millis(200))),
        ("lag=2s", Trouble::Lag(Duration::from_secs(2))),
        ("lag=1m", Trouble::Lag(Duration::from_mins(1))),
        ("drop=2", Trouble::Mirror(Twist::Drop, 2)),
        ("html=1", Trouble::Mirror(Twist::Html, 1)),
    ] {
        assert_eq!(text.parse(), Ok(wanted));
    }
    for text in [
        "",
        "busy",
        "busy=",
        "busy=-1",
        "busy=3s",
        "slow=200",
        "slow=ms",
        "lag=1h",
        "lag=-1s",
        "lag=99999999m",
        "fire=1",
        "lag=2 s",
    ] {
        let refused = text.parse::<Trouble>().unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with(&format!("{text:?} is no fault"))
        );
    }
}

/// What `/devnet/faults` answers to a body of this content type.
async fn post(client: &Client, kind: &'static str, body: String) -> (u16, Value) {
    let url = format!("{}/devnet/faults", client.rest);
    tokio::task::spawn_blocking(move || {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut answer = agent
            .post(&url)
            .header("content-type", kind)
            .send(body)
            .unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (
            answer.status().as_u16(),
            serde_json::from_str(&text).unwrap(),
        )
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn trouble_is_asked_for_over_http_and_what_is_set_is_answered() {
    let mut client = Client::start().await;
    let topic = client.topic().await;
    let asked = json!({ "busy": 2, "lag": "1m" }).to_string();
    let (status, set) = post(&client, "application/json", asked).await;
    assert_eq!(status, 200);
    let wanted = json!({
        "busy": 2, "lose": 0, "late": 0, "slow": "0ms", "lag": "60000ms", "drop": 0, "repeat": 0,
        "reorder": 0, "other": 0, "cut": 0, "limit": 0, "fail": 0, "html": 0, "bare": 0, "pieces": 0,
    });
    assert_eq!(set, wanted);
    for wanted in [Code::Busy, Code::Busy, Code::Ok] {
        let bytes = client.signed(message(topic, "hello"));
        let answer = client.node.call(SUBMIT, bytes).await.unwrap();
        let code = TransactionResponse::decode(answer).unwrap().precheck_code;
        assert_eq!(Code::from(code), wanted);
    }
    // The mirror has neither the message nor its topic nor what made them yet.
    for path in [
        format!("topics/{}", topic.num),
        format!("topics/{}/messages", topic.num),
    ] {
        assert_eq!(client.get(&path).await.0, 404);
    }
    let (_, list) = client.get("transactions").await;
    assert_eq!(list["transactions"], json!([]));
    let (_, set) = get(format!("{}/devnet/faults", client.rest)).await;
    assert_eq!(set["busy"], 0);
    let none = json!({ "lag": "0ms" }).to_string();
    post(&client, "application/json", none).await;
    let (status, page) = client.get(&format!("topics/{}/messages", topic.num)).await;
    assert_eq!(
        (status, &page["messages"][0]["sequence_number"]),
        (200, &json!(1))
    );
}

#[tokio::test]
async fn a_mirror_says_what_is_not_so_as_often_as_was_asked() {
    let mut client = Client::start().await;
    let (topic, other) = (client.topic().await, client.topic().await);
    for (topic, count) in [(topic, 4), (other, 1)] {
        let said = (0..count).map(|number| (2, format!("message {number}").into_bytes()));
        assert!(client.devnet.pour(topic.num, said).unwrap());
    }
    let path = format!("topics/{}/messages", topic.num);
    let numbers = |page: &Value| -> Vec<i64> {
        let messages = page["messages"].as_array().unwrap().iter();
        messages
            .map(|message| message["sequence_number"].as_i64().unwrap())
            .collect()
    };
    for (twist, wanted) in [
        ("drop", vec![1, 3, 4]),
        ("repeat", vec![1, 2, 3, 3, 4]),
        ("reorder", vec![1, 3, 2, 4]),
        ("other", vec![1]),
    ] {
        let asked = json!({ twist: 1 }).to_string();
        post(&client, "application/json", asked).await;
        let (status, page) = client.get(&path).await;
        let mut found = numbers(&page);
        // Pages are newest first unless told otherwise.
        if found.first() > found.last() {
            found.reverse();
        }
        assert_eq!((status, found), (200, wanted), "{twist}");
        let (_, page) = client.get(&path).await;
        assert_eq!(numbers(&page).len(), 4, "once: {twist}");
    }
    for (twist, wanted) in [("limit", 429), ("fail", 500)] {
        let asked = json!({ twist: 1 }).to_string();
        post(&client, "application/json", asked).await;
        assert_eq!(client.get(&path).await.0, wanted);
        assert_eq!(client.get(&path).await.0, 200);
    }
}

#[tokio::test]
async fn a_wrong_wish_for_trouble_is_refused_and_changes_nothing() {
    let client = Client::start().await;
    for (kind, body, wanted) in [
        ("application/json", r#"{"busy": 2, "fire": 1}"#, 400),
        ("application/json", r#"{"busy": -1}"#, 400),
        ("application/json", "[]", 400),
        ("application/json", "{", 400),
        ("text/plain", r#"{"busy": 2}"#, 415),
    ] {
        let (status, answer) = post(&client, kind, body.into()).await;
        assert_eq!(status, wanted, "{body}: {answer}");
        assert!(answer["_status"]["messages"][0]["message"].is_string());
    }
    let (_, set) = get(format!("{}/devnet/faults", client.rest)).await;
    assert_eq!(set["busy"], 0);
    assert_eq!(
        client.devnet.faults().to_string(),
        "busy=0 lose=0 late=0 slow=0ms lag=0ms drop=0 repeat=0 reorder=0 other=0 cut=0 limit=0 fail=0 html=0 bare=0 pieces=0"
    );
}

//! The mirror's lists: page by page, narrowed, and refused where they are asked for wrongly.

use inbox_devnet::ledger::funded;
use inbox_hedera::proto::{
    CryptoCreateBody, Data, Key, Schedulable, SchedulableBody, ScheduleCreateBody,
};
use serde_json::Value;

use crate::money::transfer;
use crate::net::{Party, message};
use crate::ports::{Client, get};

const SUBMIT: &str = "/proto.ConsensusService/submitMessage";

/// What a list has, page by page: the values of one key.
async fn all(client: &Client, path: &str, list: &str, key: &str) -> Vec<String> {
    let mut next = format!("/api/v1/{path}");
    let mut found = Vec::new();
    loop {
        let (status, page) = get(format!("{}{next}", client.rest)).await;
        assert_eq!(status, 200, "{next}: {page}");
        for row in page[list].as_array().unwrap() {
            let value = &row[key];
            found.push(value.as_str().map_or(value.to_string(), str::to_owned));
        }
        match page["links"]["next"].as_str() {
            Some(link) => link.clone_into(&mut next),
            None => return found,
        }
    }
}

#[tokio::test]
async fn pages_lead_to_all_of_what_was_asked_for_and_no_further() {
    let mut client = Client::start().await;
    let topic = client.topic().await;
    for number in 1..=9 {
        client
            .run(SUBMIT, message(topic, &number.to_string()))
            .await;
    }
    let messages = format!("topics/0.0.{}/messages", topic.num);
    let numbers = async |question: &str| {
        let path = format!("{messages}?{question}");
        all(&client, &path, "messages", "sequence_number").await
    };
    let wanted =
        |numbers: &[i32]| -> Vec<String> { numbers.iter().map(ToString::to_string).collect() };
    assert_eq!(
        numbers("limit=2&sequencenumber=gte:2&sequencenumber=lt:7").await,
        wanted(&[2, 3, 4, 5, 6])
    );
    assert_eq!(
        numbers("limit=2&order=desc&sequencenumber=gt:3&sequencenumber=lte:8").await,
        wanted(&[8, 7, 6, 5, 4])
    );
    assert_eq!(numbers("sequencenumber=4").await, wanted(&[4]));
    assert_eq!(numbers("limit=3&sequencenumber=gt:9").await, wanted(&[]));
    let (_, third) = client.get(&format!("{messages}/3")).await;
    let at = third["consensus_timestamp"].as_str().unwrap().to_owned();
    assert_eq!(
        numbers(&format!(
            "limit=4&timestamp=gt:{at}&timestamp=lt:9999999999.9"
        ))
        .await,
        wanted(&[4, 5, 6, 7, 8, 9])
    );
    let (_, same) = client.get(&format!("topics/messages/{at}")).await;
    assert_eq!(same, third);
    let (_, text) = client
        .get(&format!("{messages}?encoding=utf-8&limit=1"))
        .await;
    assert_eq!(text["messages"][0]["message"], "1");

    // Every account, whatever the size of the pages.
    let few = all(&client, "accounts?limit=3", "accounts", "account").await;
    let many = all(&client, "accounts?limit=100", "accounts", "account").await;
    assert_eq!(few, many);
    assert_eq!(few.len(), 19);
    assert_eq!(
        all(
            &client,
            "balances?limit=4&order=desc",
            "balances",
            "account"
        )
        .await,
        many.iter().rev().cloned().collect::<Vec<_>>()
    );
    let done = all(&client, "transactions?limit=4", "transactions", "name").await;
    assert_eq!(done.len(), 10);
    assert_eq!(done[9], "CONSENSUSCREATETOPIC", "the newest is first");
    let made = "transactions?transactiontype=consensuscreatetopic";
    assert_eq!(all(&client, made, "transactions", "name").await.len(), 1);
}

#[tokio::test]
async fn an_account_is_shown_with_what_it_took_part_in() {
    let mut client = Client::start().await;
    let other = funded().unwrap().remove(6);
    let (one, two) = (
        Party {
            num: client.payer,
            key: client.key.clone(),
        },
        Party {
            num: other.num,
            key: other.key.clone(),
        },
    );
    let body = Data::CryptoTransfer(transfer(&[(&one, -5), (&two, 5)]));
    client
        .run("/proto.CryptoService/cryptoTransfer", body)
        .await;
    let create = Data::CryptoCreate(CryptoCreateBody {
        key: Some(two.public()),
        alias: vec![0xab; 20],
        ..CryptoCreateBody::default()
    });
    let path = "/proto.CryptoService/createAccount";
    let made = client.run(path, create).await.account_id.unwrap();
    let create = Data::CryptoCreate(CryptoCreateBody {
        key: Some(two.public()),
        alias: prost::Message::encode_to_vec(&two.public()),
        ..CryptoCreateBody::default()
    });
    let by_key = client.run(path, create).await.account_id.unwrap();
    for (name, shown) in [
        (format!("0.0.{}", two.num), format!("0.0.{}", two.num)),
        ("0x".to_owned() + &"ab".repeat(20), made.to_string()),
        ("ab".repeat(20), made.to_string()),
        (format!("0x{:040x}", two.num), format!("0.0.{}", two.num)),
    ] {
        let (status, account) = client.get(&format!("accounts/{name}")).await;
        assert_eq!((status, &account["account"]), (200, &Value::from(shown)));
    }
    let (_, account) = client.get(&format!("accounts/{by_key}")).await;
    let alias = account["alias"].as_str().unwrap();
    let (_, same) = client.get(&format!("accounts/{alias}")).await;
    assert_eq!(same["account"], account["account"]);
    let (_, account) = client.get(&format!("accounts/{}", two.num)).await;
    assert_eq!(account["transactions"][0]["name"], "CRYPTOTRANSFER");
    assert_eq!(account["transactions"].as_array().unwrap().len(), 1);
    let key = other.key.public().unwrap();
    let owned = format!("accounts?account.publickey={}", key.to_der());
    assert_eq!(all(&client, &owned, "accounts", "account").await.len(), 3);
    let rich = "accounts?account.balance=gt:1000000000005&limit=1";
    assert_eq!(all(&client, rich, "accounts", "account").await, ["0.0.2"]);
    assert!(Key::from(&key).leaf().is_some());
}

#[tokio::test]
async fn schedules_are_listed_and_a_transaction_is_found_by_either_form_of_its_id() {
    let mut client = Client::start().await;
    let (one, two) = (funded().unwrap().remove(0), client.payer);
    let party = |num| Party {
        num,
        key: one.key.clone(),
    };
    for amount in 1..=3 {
        let giving = transfer(&[(&party(one.num), -amount), (&party(two), amount)]);
        let body = Data::ScheduleCreate(ScheduleCreateBody {
            scheduled: Some(SchedulableBody {
                transaction_fee: 100_000_000,
                memo: String::new(),
                max_custom_fees: Vec::new(),
                data: Some(Schedulable::CryptoTransfer(giving)),
            }),
            ..ScheduleCreateBody::default()
        });
        client
            .run("/proto.ScheduleService/createSchedule", body)
            .await;
    }
    let found = all(&client, "schedules?limit=2", "schedules", "schedule_id").await;
    assert_eq!(found.len(), 3);
    let (_, list) = client.get("transactions?limit=1").await;
    let id = list["transactions"][0]["transaction_id"].as_str().unwrap();
    let (account, start) = id.split_once('-').unwrap();
    let other = format!("{account}@{}", start.replace('-', "."));
    for name in [id, &other] {
        let (status, found) = client.get(&format!("transactions/{name}")).await;
        assert_eq!(status, 200, "{name}");
        assert_eq!(found["transactions"][0]["transaction_id"], id);
    }
}

#[tokio::test]
async fn wrong_parameters_are_refused_as_a_mirror_refuses_them() {
    let mut client = Client::start().await;
    let topic = client.topic().await;
    let messages = format!("topics/{}/messages", topic.num);
    for (question, name) in [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=x", "limit"),
        ("order=up", "order"),
        ("sequencenumber=xx:1", "sequencenumber"),
        ("sequencenumber=gt:-1", "sequencenumber"),
        ("timestamp=gt:1.2.3", "timestamp"),
        ("encoding=rot13", "encoding"),
    ] {
        let (status, body) = client.get(&format!("{messages}?{question}")).await;
        let message = &body["_status"]["messages"][0]["message"];
        assert_eq!(status, 400, "{question}: {body}");
        assert_eq!(message, &Value::from(format!("Invalid parameter: {name}")));
    }
    for path in [
        format!("{messages}?colour=red"),
        "accounts?colour=red".into(),
        "network/supply?colour=red".into(),
    ] {
        let (status, body) = client.get(&path).await;
        let message = &body["_status"]["messages"][0]["message"];
        assert_eq!(
            (status, message),
            (400, &Value::from("Unknown query parameter: colour"))
        );
    }
    for (path, wanted) in [
        (format!("{messages}/0"), 400),
        (format!("{messages}/1"), 404),
        (format!("{messages}/x"), 400),
        ("topics/messages/x".into(), 400),
        ("transactions?result=perhaps".into(), 400),
        ("transactions?account.id=x".into(), 400),
        ("transactions/0.0.2-1-1?scheduled=maybe".into(), 400),
        ("transactions/0.0.2-1-1?nonce=1".into(), 404),
        ("accounts/0x12".into(), 400),
        ("accounts/AAAA".into(), 400),
        ("accounts?account.publickey=1".into(), 400),
        ("accounts?account.id=0.0.999999".into(), 200),
        ("accounts/0.0.2/tokens".into(), 200),
        ("network/fees".into(), 200),
        ("network/stake".into(), 404),
        ("balances?account.id=2".into(), 200),
    ] {
        assert_eq!(client.get(&path).await.0, wanted, "{path}");
    }
}

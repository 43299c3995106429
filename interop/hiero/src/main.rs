//! One story of a network, told by the official SDK for Rust: the one that `crates/inbox/tests/suite/devnet/client.mjs` tells.
//! Prints what it saw as JSON.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use futures_util::StreamExt;
use hiero_sdk::{
    AccountBalanceQuery, AccountCreateTransaction, AccountId, Client, CustomFeeLimit,
    CustomFixedFee, Error, Hbar, KeyList, PrivateKey, ScheduleCreateTransaction, ScheduleInfoQuery,
    ScheduleSignTransaction, TokenCreateTransaction, TopicCreateTransaction,
    TopicDeleteTransaction, TopicId, TopicInfoQuery, TopicMessageQuery,
    TopicMessageSubmitTransaction, TopicUpdateTransaction, TransactionReceipt, TransferTransaction,
};
use serde_json::{Value, json};
use time::OffsetDateTime;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const GENESIS: &str = "302e020100300506032b65700422042091132178e72057a1d7528025956fe39b0b847f200ab59b2fdd367017f3087137";

fn client(account: AccountId, key: &PrivateKey) -> Outcome<Client> {
    let node = ("127.0.0.1:50211".to_owned(), AccountId::new(0, 0, 3));
    let client = Client::for_network(HashMap::from([node]))?;
    client.set_mirror_network(["127.0.0.1:5600".to_owned()]);
    client.set_operator(account, key.clone());
    Ok(client)
}

/// Sends a transaction, signed by the client's own key and by others, and gives its receipt.
macro_rules! done {
    ($transaction:expr, $client:expr $(, $key:expr)*) => {
        async {
            // A match keeps what is made in its head until its end.
            match $transaction {
                transaction => {
                    transaction.freeze_with($client)?;
                    $(transaction.sign($key.clone());)*
                    transaction.execute($client).await?.get_receipt($client).await
                }
            }
        }
        .await
    };
}

/// The status by which the network refused.
fn refusal(outcome: Result<TransactionReceipt, Error>) -> String {
    match outcome {
        Ok(_) => "it succeeded".to_owned(),
        Err(
            Error::ReceiptStatus { status, .. } | Error::TransactionPreCheckStatus { status, .. },
        ) => status.as_str_name().to_owned(),
        Err(other) => other.to_string(),
    }
}

fn say(topic: TopicId, text: &str) -> TopicMessageSubmitTransaction {
    let mut submit = TopicMessageSubmitTransaction::new();
    submit.topic_id(topic).message(text.as_bytes());
    submit
}

/// What the mirror's REST answers.
fn rest(path: &str) -> Outcome<Value> {
    let mut line = TcpStream::connect("127.0.0.1:5551")?;
    write!(line, "GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
    let mut answer = String::new();
    line.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no body")?;
    Ok(serde_json::from_str(body)?)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let treasury = client(AccountId::new(0, 0, 2), &GENESIS.parse()?)?;
    let ed = PrivateKey::generate_ed25519();
    let ec = PrivateKey::generate_ecdsa();
    let mut accounts = Vec::new();
    for key in [&ed, &ec] {
        let mut create = AccountCreateTransaction::new();
        create.set_key_without_alias(key.public_key());
        let receipt = done!(create.initial_balance(Hbar::new(100)), &treasury)?;
        accounts.push(receipt.account_id.ok_or("no account")?);
    }
    let [one, two] = accounts[..] else {
        return Err("two accounts".into());
    };
    let other = client(two, &ec)?;

    // A topic that either of two keys may write to.
    let either = KeyList {
        keys: vec![ed.public_key().into(), ec.public_key().into()],
        threshold: Some(1),
    };
    let mut create = TopicCreateTransaction::new();
    create.topic_memo("a memo").admin_key(ed.public_key());
    let receipt = done!(create.submit_key(either), &treasury, ed)?;
    let topic = receipt.topic_id.ok_or("no topic")?;
    let first = done!(&mut say(topic, "hello"), &other)?;
    let stranger = refusal(done!(&mut say(topic, "no"), &treasury));

    // What is streamed, a message in three pieces among it.
    for response in say(topic, &"x".repeat(2500)).execute_all(&other).await? {
        response.get_receipt(&other).await?;
    }
    let mut query = TopicMessageQuery::new();
    query.topic_id(topic).start_time(OffsetDateTime::UNIX_EPOCH);
    let stream = query.subscribe(&treasury);
    let heard: Vec<_> = stream.take(2).collect().await;
    let heard: Vec<usize> = heard
        .into_iter()
        .map(|message| Ok(message?.contents.len()))
        .collect::<Result<_, Error>>()?;

    let mut alone = TopicUpdateTransaction::new();
    alone.topic_id(topic).submit_key(ed.public_key());
    done!(alone.topic_memo(""), &treasury, ed)?;
    let removed = refusal(done!(&mut say(topic, "late"), &other));
    let info = TopicInfoQuery::new()
        .topic_id(topic)
        .execute(&treasury)
        .await?;

    // A schedule that its giver signs.
    let mut pay = TransferTransaction::new();
    pay.hbar_transfer(two, Hbar::new(-1));
    pay.hbar_transfer(one, Hbar::new(1));
    let mut schedule = ScheduleCreateTransaction::new();
    let made = done!(schedule.scheduled_transaction(pay), &treasury)?;
    let id = made.schedule_id.ok_or("no schedule")?;
    done!(ScheduleSignTransaction::new().schedule_id(id), &other)?;
    let schedule = ScheduleInfoQuery::new()
        .schedule_id(id)
        .execute(&treasury)
        .await?;
    let again = done!(ScheduleSignTransaction::new().schedule_id(id), &other);

    // A topic with a fee of its own.
    let fee = CustomFixedFee::new(200_000_000, None, Some(one));
    let mut toll = TopicCreateTransaction::new();
    let receipt = done!(toll.custom_fees(vec![fee]), &treasury)?;
    let toll = receipt.topic_id.ok_or("no topic")?;
    let limit = |tinybars| {
        let most = CustomFixedFee::new(tinybars, None, None);
        let mut submit = say(toll, "paid");
        submit.add_custom_fee_limit(CustomFeeLimit::new(Some(two), vec![most]));
        submit
    };
    let limited = refusal(done!(&mut limit(1), &other));
    done!(&mut limit(200_000_000), &other)?;
    let balance = AccountBalanceQuery::new()
        .account_id(one)
        .execute(&treasury)
        .await?;

    let mut token = TokenCreateTransaction::new();
    token.name("a").symbol("A");
    let token = done!(
        token.treasury_account_id(AccountId::new(0, 0, 2)),
        &treasury
    );
    done!(TopicDeleteTransaction::new().topic_id(topic), &treasury, ed)?;
    let deleted = refusal(done!(&mut say(topic, "gone"), &treasury, ed));

    // What the mirror has of it all.
    let mut messages = Vec::new();
    let mut next = json!(format!("/api/v1/topics/{topic}/messages?limit=2"));
    while let Some(path) = next.as_str() {
        let page = rest(path)?;
        messages.extend(page["messages"].as_array().cloned().unwrap_or_default());
        next = page["links"]["next"].clone();
    }
    let paid = made.scheduled_transaction_id.ok_or("nothing scheduled")?;
    let start = paid.valid_start;
    let paid = rest(&format!(
        "/api/v1/transactions/{}-{}-{:09}?scheduled=true",
        paid.account_id,
        start.unix_timestamp(),
        start.nanosecond()
    ))?;
    let paid: Vec<&Value> = paid["transactions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|transaction| &transaction["result"])
        .collect();
    let seen = json!({
        "sdk": "hiero-sdk",
        "topic": topic.to_string(),
        "sequence": first.topic_sequence_number.to_string(),
        "hash_bytes": first.topic_running_hash.unwrap_or_default().len(),
        "stranger": stranger,
        "heard": heard,
        "removed": removed,
        "info": { "memo": info.topic_memo, "sequence": info.sequence_number.to_string() },
        "executed": schedule.executed_at.is_some(),
        "again": refusal(again),
        "limited": limited,
        "balance": balance.hbars.to_tinybars().to_string(),
        "token": refusal(token),
        "deleted": deleted,
        "messages": messages,
        "account": rest(&format!("/api/v1/accounts/{two}"))?,
        "paid": paid,
    });
    println!("{seen}");
    Ok(())
}

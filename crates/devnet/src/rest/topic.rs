//! Topics and their messages.

use inbox_hedera::proto::{AccountId, ChunkInfo};
use prost::Message;
use rusqlite::OptionalExtension;
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::query::{Query, Select, invalid};
use super::{Answer, Refused};
use crate::fault::Twist;
use crate::house::House;
use crate::ledger::{Topic, TopicMessage};

fn found(house: &House, name: &str) -> Result<Topic, Refused> {
    let num = form::number(name).ok_or_else(|| invalid("topicId"))?;
    let until = house.mirrored();
    let found = Topic::find(house.ledger().db(), num)?;
    found
        .filter(|topic| topic.created_at <= until)
        .ok_or(Refused::NotFound)
}

/// A topic with messages that is not this one.
fn another(house: &House, num: i64) -> Result<Option<Topic>, Refused> {
    let ledger = house.ledger();
    let mut statement = ledger
        .db()
        .prepare_cached("SELECT num FROM topics WHERE num <> ?1 AND sequence > 0 LIMIT 1")?;
    let other = statement.query_row([num], |row| row.get(0)).optional()?;
    Ok(match other {
        Some(other) => Topic::find(ledger.db(), other)?,
        None => None,
    })
}

pub(super) fn show(house: &House, name: &str) -> Answer {
    let topic = found(house, name)?;
    let fees: Vec<Value> = topic.fees.iter().map(form::fee).collect();
    let exempt: Vec<Value> = topic
        .exempt
        .iter()
        .map(|key| form::key(Some(key)))
        .collect();
    Ok(json!({
        "admin_key": form::key(topic.admin_key.as_ref()),
        "auto_renew_account": topic.auto_renew_account.map(id),
        "auto_renew_period": topic.auto_renew,
        "created_timestamp": time(topic.created_at),
        "custom_fees": { "created_timestamp": time(topic.created_at), "fixed_fees": fees },
        "deleted": topic.is_deleted,
        "fee_exempt_key_list": exempt,
        "fee_schedule_key": form::key(topic.fee_schedule_key.as_ref()),
        "memo": topic.memo,
        "submit_key": form::key(topic.submit_key.as_ref()),
        "timestamp": { "from": time(topic.created_at), "to": null },
        "topic_id": id(topic.num),
    }))
}

fn shown(topic: i64, message: &TopicMessage) -> Value {
    let chunk = message.chunk.as_deref();
    let chunk = chunk.and_then(|bytes| ChunkInfo::decode(bytes).ok());
    let chunk = chunk.map(|chunk| {
        let first = chunk.initial_transaction_id.unwrap_or_default();
        let start = first.valid_start.unwrap_or_default();
        json!({
            "initial_transaction_id": {
                "account_id": first.account_id.as_ref().and_then(AccountId::num).map(id),
                "nonce": first.nonce,
                "scheduled": first.scheduled,
                "transaction_valid_start": start.to_string(),
            },
            "number": chunk.number,
            "total": chunk.total,
        })
    });
    json!({
        "chunk_info": chunk,
        "consensus_timestamp": time(message.consensus_at),
        "message": form::base64(&message.message),
        "payer_account_id": id(message.payer),
        "running_hash": form::base64(&message.running_hash),
        "running_hash_version": 3,
        "sequence_number": message.sequence,
        "topic_id": id(topic),
    })
}

pub(super) fn messages(house: &House, name: &str, query: &str) -> Answer {
    let known = ["encoding", "limit", "order", "sequencenumber", "timestamp"];
    let query = Query::read(query, &known)?;
    let wanted = query.page(false)?;
    let is_text = match query.get("encoding") {
        None | Some("base64") => false,
        Some("utf-8" | "utf8") => true,
        Some(_) => return Err(invalid("encoding")),
    };
    let mut topic = found(house, name)?;
    if house.faults.twists.left(Twist::Other) > 0
        && let Some(other) = another(house, topic.num)?
        && house.faults.twists.is_due(Twist::Other)
    {
        topic = other;
    }
    let mut select = Select::new(
        "SELECT sequence, consensus_at, payer, message, running_hash, chunk FROM messages
          WHERE topic = ? AND consensus_at <= ?",
        [topic.num, house.mirrored()],
    );
    let number = |text: &str| text.parse().ok().filter(|number: &i64| *number >= 0);
    query.narrow(&mut select, "sequencenumber", "sequence", number)?;
    query.narrow(&mut select, "timestamp", "consensus_at", form::nanos)?;
    select.text.push_str(&wanted.sql("sequence"));
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&select.text)?;
    let page: Vec<TopicMessage> = statement
        .query_map(
            rusqlite::params_from_iter(select.values),
            TopicMessage::read,
        )?
        .collect::<rusqlite::Result<_>>()?;
    let shown: Vec<Value> = page
        .iter()
        .map(|message| {
            let mut shown = shown(topic.num, message);
            if is_text {
                shown["message"] = String::from_utf8_lossy(&message.message).into();
            }
            shown
        })
        .collect();
    let next = page.last().filter(|_| wanted.is_full(page.len()));
    let next = next.map(|last| {
        let path = format!("topics/{}/messages", id(topic.num));
        query.next(&path, wanted, "sequencenumber", &last.sequence.to_string())
    });
    Ok(json!({ "links": { "next": next }, "messages": shown }))
}

pub(super) fn message(house: &House, name: &str, number: &str) -> Answer {
    let number: i64 = number.parse().map_err(|_| invalid("sequenceNumber"))?;
    if number < 1 {
        return Err(invalid("sequenceNumber"));
    }
    let topic = found(house, name)?;
    let until = house.mirrored();
    let found = TopicMessage::after(house.ledger().db(), topic.num, number - 1, until, 1)?;
    let message = found.first().filter(|message| message.sequence == number);
    Ok(shown(topic.num, message.ok_or(Refused::NotFound)?))
}

pub(super) fn message_at(house: &House, at: &str) -> Answer {
    let at = form::nanos(at).ok_or_else(|| invalid("consensusTimestamp"))?;
    if at > house.mirrored() {
        return Err(Refused::NotFound);
    }
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(
        "SELECT m.sequence, m.consensus_at, m.payer, m.message, m.running_hash, m.chunk, m.topic
           FROM transactions t JOIN messages m ON m.topic = t.entity AND m.consensus_at = t.consensus_at
          WHERE t.consensus_at = ?1",
    )?;
    let mut rows = statement.query([at])?;
    let row = rows.next()?.ok_or(Refused::NotFound)?;
    Ok(shown(row.get("topic")?, &TopicMessage::read(row)?))
}

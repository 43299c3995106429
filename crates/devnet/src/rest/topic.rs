//! Topics and their messages.

use inbox_hedera::proto::{AccountId, ChunkInfo};
use prost::Message;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::form::{self, id, time};
use super::{Answer, Query, Refused};
use crate::house::House;
use crate::ledger::{Topic, TopicMessage};

fn found(house: &House, name: &str) -> Result<Topic, Refused> {
    let num =
        form::number(name).ok_or_else(|| Refused::Invalid("Invalid parameter: topic.id".into()))?;
    let until = house.mirrored();
    let found = Topic::find(house.ledger().db(), num)?;
    found
        .filter(|topic| topic.created_at <= until)
        .ok_or(Refused::NotFound)
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

pub(super) fn messages(house: &House, name: &str, query: &Query) -> Answer {
    let topic = found(house, name)?;
    let (limit, is_descending) = (query.limit()?, query.is_descending(false)?);
    let mut text = String::from(
        "SELECT sequence, consensus_at, payer, message, running_hash, chunk FROM messages
          WHERE topic = ? AND consensus_at <= ?",
    );
    let mut values = vec![Sql::from(topic.num), Sql::from(house.mirrored())];
    let numbers = query.compared("sequencenumber", |text| text.parse().ok())?;
    let times = query.compared("timestamp", form::nanos)?;
    for (column, compared) in [("sequence", &numbers), ("consensus_at", &times)] {
        for (compare, value) in compared {
            text.push_str(&format!(" AND {column} {} ?", compare.sql()));
            values.push(Sql::from(*value));
        }
    }
    let order = if is_descending { "DESC" } else { "ASC" };
    text.push_str(&format!(" ORDER BY sequence {order} LIMIT ?"));
    values.push(Sql::from(limit));
    let ledger = house.ledger();
    let mut statement = ledger.db().prepare_cached(&text)?;
    let page: Vec<TopicMessage> = statement
        .query_map(rusqlite::params_from_iter(values), TopicMessage::read)?
        .collect::<rusqlite::Result<_>>()?;
    let shown: Vec<Value> = page
        .iter()
        .map(|message| shown(topic.num, message))
        .collect();
    let is_full = i64::try_from(page.len()).is_ok_and(|count| count == limit);
    let next = page.last().filter(|_| is_full).map(|last| {
        let (word, compare) = if is_descending { ("desc", "lt") } else { ("asc", "gt") };
        let kept: String = times
            .iter()
            .map(|(compare, value)| format!("&timestamp={}:{}", name_of(*compare), time(*value)))
            .collect();
        format!(
            "/api/v1/topics/{}/messages?limit={limit}&order={word}&sequencenumber={compare}:{}{kept}",
            id(topic.num),
            last.sequence
        )
    });
    Ok(json!({ "links": { "next": next }, "messages": shown }))
}

fn name_of(compare: super::Compare) -> &'static str {
    match compare {
        super::Compare::Equal => "eq",
        super::Compare::Less => "lt",
        super::Compare::LessOrEqual => "lte",
        super::Compare::Greater => "gt",
        super::Compare::GreaterOrEqual => "gte",
    }
}

pub(super) fn message(house: &House, name: &str, number: &str) -> Answer {
    let topic = found(house, name)?;
    let number: i64 = number
        .parse()
        .map_err(|_| Refused::Invalid("Invalid parameter: sequencenumber".into()))?;
    let until = house.mirrored();
    let found = TopicMessage::after(house.ledger().db(), topic.num, number - 1, until, 1)?;
    let message = found.first().filter(|message| message.sequence == number);
    Ok(shown(topic.num, message.ok_or(Refused::NotFound)?))
}

pub(super) fn message_at(house: &House, at: &str) -> Answer {
    let at = form::nanos(at)
        .ok_or_else(|| Refused::Invalid("Invalid parameter: consensusTimestamp".into()))?;
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

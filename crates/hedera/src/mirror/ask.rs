//! What a mirror can be asked.

use std::time::{Duration, Instant};

use inbox_hcs::{AccountId, ScheduleId, Sequence, Timestamp, TopicId};
use serde_json::Value;

use super::answer::{Answer, fee, key};
use super::{
    AccountFacts, MessageFacts, Mirror, MirrorError, NodeFacts, PAGE, ScheduleFacts, TopicFacts,
    TransactionFacts,
};
use crate::proto;

/// How long to wait for what is not there yet, twice as long each time after it, and the longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The most nodes of an address book.
const MOST_NODES: usize = 1000;

impl Mirror {
    /// The topic, if there is one.
    pub fn topic(&self, id: TopicId) -> Result<Option<TopicFacts>, MirrorError> {
        let path = format!("/api/v1/topics/{id}");
        let Some(found) = self.get(&path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        let exempt = answer.list("/fee_exempt_key_list");
        // Without a list, any fee would be taken for none, and paid without a limit.
        let fees = answer.must_list("/custom_fees/fixed_fees")?.iter();
        Ok(Some(TopicFacts {
            memo: answer.text("/memo")?.to_owned(),
            admin_key: answer.key("/admin_key")?,
            submit_key: answer.key("/submit_key")?,
            fee_schedule_key: answer.key("/fee_schedule_key")?,
            fee_exempt_keys: exempt
                .map(|value| key(value).ok_or_else(|| answer.wrong("/fee_exempt_key_list")))
                .collect::<Result<_, _>>()?,
            custom_fees: fees
                .map(|value| fee(value).ok_or_else(|| answer.wrong("/custom_fees")))
                .collect::<Result<_, _>>()?,
            is_deleted: found["deleted"].as_bool().unwrap_or_default(),
        }))
    }

    /// Up to a hundred messages of a topic after this one, oldest first; none when there is nothing new.
    pub fn messages(
        &self,
        id: TopicId,
        after: Option<Sequence>,
    ) -> Result<Vec<MessageFacts>, MirrorError> {
        let after = after.map_or(0, Sequence::get);
        let path = format!(
            "/api/v1/topics/{id}/messages?limit={PAGE}&order=asc&sequencenumber=gt:{after}"
        );
        let Some(found) = self.get(&path)? else {
            return Ok(Vec::new());
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        page(&answer, id, after)
    }

    /// The same of those from a moment on.
    pub fn messages_from(
        &self,
        id: TopicId,
        from: Timestamp,
    ) -> Result<Vec<MessageFacts>, MirrorError> {
        let path =
            format!("/api/v1/topics/{id}/messages?limit={PAGE}&order=asc&timestamp=gte:{from}");
        let Some(found) = self.get(&path)? else {
            return Ok(Vec::new());
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        let messages = page(&answer, id, 0)?;
        if messages.iter().any(|message| message.time < from) {
            return Err(answer.wrong("/messages/consensus_timestamp"));
        }
        Ok(messages)
    }

    /// One message of a topic, if it is there.
    pub fn message(
        &self,
        id: TopicId,
        sequence: Sequence,
    ) -> Result<Option<MessageFacts>, MirrorError> {
        let path = format!("/api/v1/topics/{id}/messages/{sequence}");
        let Some(found) = self.get(&path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        let message = of_topic(&answer, id)?;
        if message.sequence != sequence {
            return Err(answer.wrong("/sequence_number"));
        }
        Ok(Some(message))
    }

    /// The account, if there is one.
    pub fn account(&self, id: AccountId) -> Result<Option<AccountFacts>, MirrorError> {
        let path = format!("/api/v1/accounts/{id}?transactions=false");
        let Some(found) = self.get(&path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        Ok(Some(AccountFacts {
            id: answer.parsed("/account")?,
            key: answer.key("/key")?,
            memo: answer.text("/memo")?.to_owned(),
            balance: found["balance"]["balance"].as_i64().unwrap_or_default(),
        }))
    }

    /// The schedule, if there is one. What it is to do is read from its bytes, and one that has more than is known is an error.
    pub fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleFacts>, MirrorError> {
        let path = format!("/api/v1/schedules/{id}");
        let Some(found) = self.get(&path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        let bytes = answer.bytes("/transaction_body")?;
        let body =
            crate::transaction::whole(&bytes).map_err(|_| answer.wrong("/transaction_body"))?;
        Ok(Some(ScheduleFacts {
            body,
            memo: answer.text("/memo")?.to_owned(),
            creator: answer.parsed("/creator_account_id")?,
            payer: answer.parsed("/payer_account_id")?,
            executed_at: match &found["executed_timestamp"] {
                Value::Null => None,
                _ => Some(answer.parsed("/executed_timestamp")?),
            },
            is_deleted: found["deleted"].as_bool().unwrap_or_default(),
            created_at: answer.parsed("/consensus_timestamp")?,
            expires_at: match &found["expiration_time"] {
                Value::Null => None,
                _ => Some(answer.parsed("/expiration_time")?),
            },
        }))
    }

    /// What became of a transaction; nothing while the mirror does not have it. The id of a schedule's transaction says so.
    pub fn transaction(
        &self,
        id: &proto::TransactionId,
    ) -> Result<Option<TransactionFacts>, MirrorError> {
        let payer = id.account_id.clone().unwrap_or_default();
        let start = id.valid_start.unwrap_or_default();
        let path = format!(
            "/api/v1/transactions/{payer}-{}-{:09}?scheduled={}&nonce={}",
            start.seconds, start.nanos, id.scheduled, id.nonce
        );
        let Some(found) = self.get(&path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        let named = format!("{payer}-{}-{:09}", start.seconds, start.nanos);
        let mut facts = Vec::new();
        for value in answer.must_list("/transactions")?.iter().take(PAGE) {
            let one = Answer { path: &path, value };
            if one.text("/transaction_id")? != named
                || value["scheduled"].as_bool() != Some(id.scheduled)
                || value["nonce"].as_i64().unwrap_or_default() != i64::from(id.nonce)
            {
                continue;
            }
            facts.push(one.transaction()?);
        }
        // Of one that reached the network by two nodes, the first happened, and the other is a duplicate.
        let place = facts
            .iter()
            .position(|one| one.result != "DUPLICATE_TRANSACTION")
            .unwrap_or_default();
        Ok((place < facts.len()).then(|| facts.swap_remove(place)))
    }

    /// The same, waited for: a mirror is seconds behind its network. Nothing when it has not come after so long. This is how one finds
    /// out what became of a transaction that no node knows of any more.
    pub fn outcome(
        &self,
        id: &proto::TransactionId,
        patience: Duration,
    ) -> Result<Option<TransactionFacts>, MirrorError> {
        let begun = Instant::now();
        let mut pause = PAUSE;
        loop {
            let found = self.transaction(id)?;
            if found.is_some() || begun.elapsed() >= patience {
                return Ok(found);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The transaction that was carried out at this moment, of which there is one at most.
    pub fn transaction_at(&self, time: Timestamp) -> Result<Option<TransactionFacts>, MirrorError> {
        let path = format!("/api/v1/transactions?timestamp={time}&limit=1");
        let Some(found) = self.get(&path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        let Some(value) = answer.must_list("/transactions")?.first() else {
            return Ok(None);
        };
        let facts = Answer { path: &path, value }.transaction()?;
        // Another one than was asked for says nothing of this one.
        Ok((facts.time == time).then_some(facts))
    }

    /// The nodes of the network.
    pub fn nodes(&self) -> Result<Vec<NodeFacts>, MirrorError> {
        let path = "/api/v1/network/nodes?limit=25&order=asc";
        let all = self.listed(path, "nodes", MOST_NODES)?;
        all.iter()
            .map(|value| Answer { path, value }.node())
            .collect()
    }
}

/// A page of messages of one topic, each after the one before and all after this one.
fn page(answer: &Answer<'_>, id: TopicId, after: u64) -> Result<Vec<MessageFacts>, MirrorError> {
    let mut messages = Vec::new();
    let mut last = after;
    for value in answer.must_list("/messages")?.iter().take(PAGE) {
        let one = Answer {
            path: answer.path,
            value,
        };
        let message = of_topic(&one, id)?;
        // A mirror that goes back, or gives one twice, is not to be followed.
        if message.sequence.get() <= last {
            return Err(one.wrong("/sequence_number"));
        }
        last = message.sequence.get();
        messages.push(message);
    }
    Ok(messages)
}

/// A message, which must be of this topic.
fn of_topic(answer: &Answer<'_>, id: TopicId) -> Result<MessageFacts, MirrorError> {
    if answer.text("/topic_id")? != id.to_string() {
        return Err(answer.wrong("/topic_id"));
    }
    answer.message()
}

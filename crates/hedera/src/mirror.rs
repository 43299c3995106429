//! A reader of a mirror node's REST: topics, messages, accounts, schedules, transactions.
//!
//! What a mirror says is a stranger's word: answers are bounded, pages are followed on the same host alone and only forwards, and what
//! has another form than it should is an error with its place. Whether a history is whole is for running hashes to say.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_hcs::{AccountId, ScheduleId, Sequence, Timestamp, TopicId};
use prost::Message;
use serde_json::Value;
use thiserror::Error;
use ureq::Agent;

use crate::key::{Algorithm, PublicKey, unhex};
use crate::proto::{FixedCustomFee, FixedFee, Key, SchedulableBody};

/// The largest answer, in bytes: a hundred messages, three times over.
const MOST: u64 = 1024 * 1024;

/// How many messages are asked for at once.
const PAGE: usize = 100;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often a request is tried, and how long to wait before the second time; twice as long before each after it.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(250);

/// A mirror that does not say what it is asked.
#[derive(Debug, Error)]
pub enum MirrorError {
    /// It cannot be reached, or does not answer.
    #[error("the mirror {0} cannot be reached: {1}")]
    Unreachable(String, String),
    /// It answered with an error of its own.
    #[error("the mirror answered {status} to {path}")]
    Status {
        /// The number.
        status: u16,
        /// What was asked for.
        path: String,
    },
    /// It answered something else than what was asked for.
    #[error("the mirror's answer to {path} has no good {field}")]
    Form {
        /// What was asked for.
        path: String,
        /// What is missing or wrong.
        field: String,
    },
}

/// A topic as a mirror has it.
#[derive(Debug, Clone, PartialEq)]
pub struct TopicFacts {
    /// Its memo.
    pub memo: String,
    /// Who may change it.
    pub admin_key: Option<Key>,
    /// Who may write to it.
    pub submit_key: Option<Key>,
    /// Who may change its fees.
    pub fee_schedule_key: Option<Key>,
    /// Who pays none.
    pub fee_exempt_keys: Vec<Key>,
    /// What a message costs beside the network's fee.
    pub custom_fees: Vec<FixedCustomFee>,
    /// Whether it is no more.
    pub is_deleted: bool,
}

/// A message as a mirror has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFacts {
    /// Its number.
    pub sequence: Sequence,
    /// When.
    pub time: Timestamp,
    /// Who paid.
    pub payer: AccountId,
    /// Its bytes.
    pub message: Vec<u8>,
    /// The topic's hash with it.
    pub running_hash: Vec<u8>,
    /// Which piece of a larger one it is: number, how many, and the transaction of the first.
    pub piece: Option<(u32, u32, String)>,
}

/// An account as a mirror has it.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountFacts {
    /// Its id.
    pub id: AccountId,
    /// What guards it.
    pub key: Option<Key>,
    /// Its memo.
    pub memo: String,
    /// What it has, in tinybars.
    pub balance: i64,
}

/// A schedule as a mirror has it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleFacts {
    /// What is to be done, by the bytes that were signed.
    pub body: SchedulableBody,
    /// Its memo.
    pub memo: String,
    /// Who made it.
    pub creator: AccountId,
    /// Who pays for it.
    pub payer: AccountId,
    /// When it was carried out.
    pub executed_at: Option<Timestamp>,
    /// Whether it was deleted.
    pub is_deleted: bool,
}

/// A mirror node.
pub struct Mirror {
    base: String,
    agent: Agent,
}

impl Mirror {
    /// The mirror at this address, such as `http://127.0.0.1:5551`.
    pub fn new(base: &str) -> Self {
        let agent = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // A mirror answers by itself; whoever sends elsewhere is not it.
            .max_redirects(0)
            .build()
            .new_agent();
        Mirror {
            base: base.trim_end_matches('/').to_owned(),
            agent,
        }
    }

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
        let fees = answer.list("/custom_fees/fixed_fees");
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
        let mut messages = Vec::new();
        let mut last = after;
        for value in answer.list("/messages").take(PAGE) {
            let one = Answer { path: &path, value };
            if one.text("/topic_id")? != id.to_string() {
                return Err(one.wrong("/topic_id"));
            }
            let message = one.message()?;
            // A mirror that goes back, or gives one twice, is not to be followed.
            if message.sequence.get() <= last {
                return Err(one.wrong("/sequence_number"));
            }
            last = message.sequence.get();
            messages.push(message);
        }
        Ok(messages)
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
        }))
    }

    /// What a path answers; nothing when there is no such thing.
    fn get(&self, path: &str) -> Result<Option<Value>, MirrorError> {
        let url = format!("{}{path}", self.base);
        let mut pause = PAUSE;
        let mut tries = 1;
        loop {
            let outcome = self.try_get(&url, path);
            let may_pass = match &outcome {
                Err(MirrorError::Unreachable(..)) => true,
                Err(MirrorError::Status { status, .. }) => *status == 429 || *status >= 500,
                _ => false,
            };
            if !may_pass || tries == TRIES {
                return outcome;
            }
            tries += 1;
            std::thread::sleep(pause);
            pause *= 2;
        }
    }

    fn try_get(&self, url: &str, path: &str) -> Result<Option<Value>, MirrorError> {
        let away =
            |error: ureq::Error| MirrorError::Unreachable(self.base.clone(), error.to_string());
        let mut answer = self.agent.get(url).call().map_err(away)?;
        match answer.status().as_u16() {
            200 => {}
            404 => return Ok(None),
            status => {
                return Err(MirrorError::Status {
                    status,
                    path: path.to_owned(),
                });
            }
        }
        let text = answer
            .body_mut()
            .with_config()
            .limit(MOST)
            .read_to_string()
            .map_err(away)?;
        let form = |_| MirrorError::Form {
            path: path.to_owned(),
            field: "JSON".into(),
        };
        serde_json::from_str(&text).map(Some).map_err(form)
    }
}

/// An answer, to be looked into.
struct Answer<'a> {
    path: &'a str,
    value: &'a Value,
}

impl<'a> Answer<'a> {
    fn wrong(&self, field: &str) -> MirrorError {
        MirrorError::Form {
            path: self.path.to_owned(),
            field: field.to_owned(),
        }
    }

    fn text(&self, field: &str) -> Result<&'a str, MirrorError> {
        let found = self.value.pointer(field).and_then(Value::as_str);
        found.ok_or_else(|| self.wrong(field))
    }

    fn parsed<T: std::str::FromStr>(&self, field: &str) -> Result<T, MirrorError> {
        self.text(field)?.parse().map_err(|_| self.wrong(field))
    }

    fn bytes(&self, field: &str) -> Result<Vec<u8>, MirrorError> {
        STANDARD
            .decode(self.text(field)?)
            .map_err(|_| self.wrong(field))
    }

    fn list(&self, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        let found = self.value.pointer(field).and_then(Value::as_array);
        found.into_iter().flatten()
    }

    fn key(&self, field: &str) -> Result<Option<Key>, MirrorError> {
        match self.value.pointer(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => key(value).map(Some).ok_or_else(|| self.wrong(field)),
        }
    }

    fn message(&self) -> Result<MessageFacts, MirrorError> {
        let number = self.value["sequence_number"].as_u64();
        let sequence = number.and_then(Sequence::new);
        let chunk = &self.value["chunk_info"];
        let piece = if chunk.is_null() {
            None
        } else {
            let number = |name: &str| {
                let found = chunk[name]
                    .as_u64()
                    .and_then(|number| u32::try_from(number).ok());
                found.ok_or_else(|| self.wrong("/chunk_info"))
            };
            let first = &chunk["initial_transaction_id"];
            let id = format!(
                "{}@{}",
                text(&first["account_id"]),
                text(&first["transaction_valid_start"])
            );
            Some((number("number")?, number("total")?, id))
        };
        Ok(MessageFacts {
            sequence: sequence.ok_or_else(|| self.wrong("/sequence_number"))?,
            time: self.parsed("/consensus_timestamp")?,
            payer: self.parsed("/payer_account_id")?,
            message: self.bytes("/message")?,
            running_hash: self.bytes("/running_hash")?,
            piece,
        })
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn key(value: &Value) -> Option<Key> {
    let bytes = unhex(value["key"].as_str()?).ok()?;
    let leaf = |algorithm| PublicKey::from_bytes(algorithm, &bytes).ok();
    match value["_type"].as_str()? {
        "ED25519" => Some(Key::from(&leaf(Algorithm::Ed25519)?)),
        "ECDSA_SECP256K1" => Some(Key::from(&leaf(Algorithm::Ecdsa)?)),
        "ProtobufEncoded" => Key::decode(bytes.as_slice()).ok(),
        _ => None,
    }
}

fn fee(value: &Value) -> Option<FixedCustomFee> {
    let token = value["denominating_token_id"].as_str();
    let token = match token {
        None => None,
        Some(id) => Some(crate::proto::TokenId::of(
            id.strip_prefix("0.0.")?.parse().ok()?,
        )),
    };
    let collector = value["collector_account_id"]
        .as_str()?
        .strip_prefix("0.0.")?;
    Some(FixedCustomFee {
        fixed_fee: Some(FixedFee {
            amount: value["amount"].as_i64()?,
            denominating_token_id: token,
        }),
        fee_collector_account_id: Some(crate::proto::AccountId::of(collector.parse().ok()?)),
    })
}

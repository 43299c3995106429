//! How an answer of a mirror is looked into: what has another form than it should is an error with its place.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_hcs::Sequence;
use prost::Message;
use serde_json::Value;

use super::{MessageFacts, MirrorError, NodeFacts, TransactionFacts};
use crate::key::{Algorithm, PublicKey, unhex};
use crate::proto::{FixedCustomFee, FixedFee, Key};

/// An answer, to be looked into.
pub(super) struct Answer<'a> {
    pub(super) path: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> Answer<'a> {
    pub(super) fn wrong(&self, field: &str) -> MirrorError {
        MirrorError::Form {
            path: self.path.to_owned(),
            field: field.to_owned(),
        }
    }

    pub(super) fn text(&self, field: &str) -> Result<&'a str, MirrorError> {
        let found = self.value.pointer(field).and_then(Value::as_str);
        found.ok_or_else(|| self.wrong(field))
    }

    pub(super) fn parsed<T: std::str::FromStr>(&self, field: &str) -> Result<T, MirrorError> {
        self.text(field)?.parse().map_err(|_| self.wrong(field))
    }

    pub(super) fn bytes(&self, field: &str) -> Result<Vec<u8>, MirrorError> {
        STANDARD
            .decode(self.text(field)?)
            .map_err(|_| self.wrong(field))
    }

    pub(super) fn list(&self, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
        let found = self.value.pointer(field).and_then(Value::as_array);
        found.into_iter().flatten()
    }

    /// A list that must be there: who leaves it out does not say that it is empty.
    pub(super) fn must_list(&self, field: &str) -> Result<&'a [Value], MirrorError> {
        let found = self.value.pointer(field).and_then(Value::as_array);
        found.map(Vec::as_slice).ok_or_else(|| self.wrong(field))
    }

    pub(super) fn key(&self, field: &str) -> Result<Option<Key>, MirrorError> {
        match self.value.pointer(field) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => key(value).map(Some).ok_or_else(|| self.wrong(field)),
        }
    }

    pub(super) fn message(&self) -> Result<MessageFacts, MirrorError> {
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

    pub(super) fn transaction(&self) -> Result<TransactionFacts, MirrorError> {
        let transfers = self.list("/transfers").map(|value| {
            let one = Answer {
                path: self.path,
                value,
            };
            let amount = value["amount"].as_i64();
            let amount = amount.ok_or_else(|| self.wrong("/transfers"))?;
            Ok((one.parsed("/account")?, amount))
        });
        let fee = self.value["charged_tx_fee"].as_i64();
        Ok(TransactionFacts {
            id: self.value["transaction_id"].as_str().and_then(named),
            time: self.parsed("/consensus_timestamp")?,
            result: self.text("/result")?.to_owned(),
            name: self.text("/name")?.to_owned(),
            entity: self.value["entity_id"].as_str().map(str::to_owned),
            fee: fee.ok_or_else(|| self.wrong("/charged_tx_fee"))?,
            memo: self.bytes("/memo_base64")?,
            transfers: transfers.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn node(&self) -> Result<NodeFacts, MirrorError> {
        let endpoints = self.list("/service_endpoints").filter_map(|value| {
            let name = text(&value["domain_name"]);
            let host = match name {
                "" => text(&value["ip_address_v4"]),
                name => name,
            };
            let port = value["port"].as_u64().and_then(|port| port.try_into().ok());
            let is_host = !host.is_empty()
                && host
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
            is_host.then_some((host.to_owned(), port.filter(|&port| port > 0)?))
        });
        let hash = text(&self.value["node_cert_hash"]);
        let hash = unhex(hash.strip_prefix("0x").unwrap_or(hash));
        Ok(NodeFacts {
            account: self.parsed("/node_account_id")?,
            endpoints: endpoints.collect(),
            cert_hash: hash.ok().and_then(|hash| hash.try_into().ok()),
        })
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A key as mirrors write it.
pub(super) fn key(value: &Value) -> Option<Key> {
    let bytes = unhex(value["key"].as_str()?).ok()?;
    let leaf = |algorithm| PublicKey::from_bytes(algorithm, &bytes).ok();
    match value["_type"].as_str()? {
        "ED25519" => Some(Key::from(&leaf(Algorithm::Ed25519)?)),
        "ECDSA_SECP256K1" => Some(Key::from(&leaf(Algorithm::Ecdsa)?)),
        "ProtobufEncoded" => Key::decode(bytes.as_slice()).ok(),
        _ => None,
    }
}

/// A topic's fee as mirrors write it.
pub(super) fn fee(value: &Value) -> Option<FixedCustomFee> {
    // A token in another form is no token, and a fee in it no fee in hbars.
    let token = match &value["denominating_token_id"] {
        Value::Null => None,
        Value::String(id) => Some(crate::proto::TokenId::of(number(id)?)),
        _ => return None,
    };
    let collector = number(value["collector_account_id"].as_str()?)?;
    Some(FixedCustomFee {
        fixed_fee: Some(FixedFee {
            amount: value["amount"].as_i64().filter(|&amount| amount > 0)?,
            denominating_token_id: token,
        }),
        fee_collector_account_id: Some(crate::proto::AccountId::of(collector)),
    })
}

/// The number of what is written as `0.0.1234`.
fn number(id: &str) -> Option<i64> {
    let id: inbox_hcs::AccountId = id.parse().ok()?;
    let is_usual = (id.shard(), id.realm()) == (0, 0);
    i64::try_from(id.number()).ok().filter(|_| is_usual)
}

/// The id of a transaction as it is written elsewhere: a mirror divides it by dashes.
fn named(text: &str) -> Option<String> {
    let (payer, start) = text.split_once('-')?;
    let (seconds, nanos) = start.split_once('-')?;
    Some(format!("{payer}@{seconds}.{nanos}"))
}

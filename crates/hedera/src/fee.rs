//! What may be paid: the most for each kind of transaction, and what a topic takes beside it.
//!
//! A payer who names no limit for a topic's fees accepts any, also one that was raised a moment ago. So where a topic has fees or
//! could come to have some, there is always a limit, and be it nothing.

use std::collections::BTreeMap;
use std::fmt;

use inbox_hcs::AccountId;
use thiserror::Error;

use crate::key::PublicKey;
use crate::mirror::TopicFacts;
use crate::proto::{CustomFeeLimit, Data, FixedFee, TokenId};

/// An hbar, in tinybars.
pub const HBAR: u64 = 100_000_000;

/// The most for a topic.
pub const CREATE_TOPIC: u64 = 25 * HBAR;
/// The most for a topic that takes fees, which costs two dollars.
pub const CREATE_FEE_TOPIC: u64 = 100 * HBAR;
/// The most for a message, a transfer, or a change.
pub const USUAL: u64 = 2 * HBAR;
/// The most for a message to a topic that takes fees, which costs five cents.
pub const SUBMIT_WITH_FEES: u64 = 5 * HBAR;
/// The most for a schedule, or a signature of one: the last one carries it out.
pub const SCHEDULE: u64 = 5 * HBAR;
/// The most for an account, which costs five cents.
pub const CREATE_ACCOUNT: u64 = 5 * HBAR;

/// The most that a transaction of this kind may sensibly cost, in tinybars.
pub fn most(data: &Data) -> u64 {
    match data {
        Data::CreateTopic(topic) if topic.custom_fees.is_empty() => CREATE_TOPIC,
        Data::CreateTopic(_) => CREATE_FEE_TOPIC,
        Data::CryptoCreate(_) => CREATE_ACCOUNT,
        Data::ScheduleCreate(_) | Data::ScheduleSign(_) | Data::ScheduleDelete(_) => SCHEDULE,
        Data::CryptoUpdate(_)
        | Data::CryptoTransfer(_)
        | Data::UpdateTopic(_)
        | Data::DeleteTopic(_)
        | Data::SubmitMessage(_) => USUAL,
    }
}

/// The most that a topic may take for a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Most {
    /// In tinybars.
    pub hbar: u64,
    /// Of tokens, by their numbers, in their smallest units.
    pub tokens: BTreeMap<i64, u64>,
}

impl Most {
    /// So much in tinybars, and no tokens.
    pub fn hbar(tinybars: u64) -> Self {
        Most {
            hbar: tinybars,
            tokens: BTreeMap::new(),
        }
    }
}

/// A topic that takes more for a message than is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the topic takes {asked} for {}, and at most {allowed} is allowed", message(*.pieces))]
pub struct TooDear {
    /// What it takes for all pieces.
    pub asked: Amount,
    /// What is allowed.
    pub allowed: Amount,
    /// In how many pieces the message goes: each is paid for.
    pub pieces: u32,
}

fn message(pieces: u32) -> String {
    match pieces {
        1 => "a message".to_owned(),
        pieces => format!("a message in {pieces} pieces"),
    }
}

/// Hbars, or some of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many tinybars.
    Tinybars(u64),
    /// So much of the token with this number.
    Token(i64, u64),
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Tinybars(tinybars) => {
                let (whole, rest) = (tinybars / HBAR, tinybars % HBAR);
                let text = format!("{whole}.{rest:08}");
                let text = text.trim_end_matches('0').trim_end_matches('.');
                write!(f, "{text} ℏ")
            }
            Amount::Token(token, amount) => write!(f, "{amount} of the token 0.0.{token}"),
        }
    }
}

/// What a topic takes of one payer for each message, beside the network's fee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toll {
    hbar: u64,
    tokens: BTreeMap<i64, u64>,
    /// Whether the topic takes fees of anybody, or could.
    is_limited: bool,
}

impl Toll {
    /// What a topic takes of this payer when these keys sign. Whoever holds an exempt key pays nothing, and nobody pays themselves.
    pub fn of(topic: &TopicFacts, payer: AccountId, signing: &[PublicKey]) -> Self {
        let mut toll = Toll {
            hbar: 0,
            tokens: BTreeMap::new(),
            is_limited: !topic.custom_fees.is_empty() || topic.fee_schedule_key.is_some(),
        };
        let has_signed = |key: &PublicKey| signing.contains(key);
        let mut exempt = topic.fee_exempt_keys.iter();
        if exempt.any(|key| key.is_satisfied(&has_signed)) {
            return toll;
        }
        for fee in &topic.custom_fees {
            let collector = fee.fee_collector_account_id.as_ref();
            if collector.and_then(|account| account.id()) == Some(payer) {
                continue;
            }
            let Some(FixedFee {
                amount,
                denominating_token_id,
            }) = fee.fixed_fee
            else {
                continue;
            };
            let sum = match denominating_token_id {
                None => &mut toll.hbar,
                Some(token) => toll.tokens.entry(token.num).or_default(),
            };
            *sum = sum.saturating_add(u64::try_from(amount).unwrap_or_default());
        }
        toll
    }

    /// Whether it is nothing.
    pub fn is_nothing(&self) -> bool {
        self.hbar == 0 && self.tokens.is_empty()
    }

    /// Its parts, hbars first.
    pub fn amounts(&self) -> impl Iterator<Item = Amount> {
        let hbar = (self.hbar > 0).then_some(Amount::Tinybars(self.hbar));
        let tokens = self.tokens.iter();
        hbar.into_iter()
            .chain(tokens.map(|(token, amount)| Amount::Token(*token, *amount)))
    }

    /// Whether a message in so many pieces stays within what is allowed.
    fn check(&self, pieces: u32, most: &Most) -> Result<(), TooDear> {
        for amount in self.amounts() {
            let times = |amount: u64| amount.saturating_mul(u64::from(pieces));
            let (asked, allowed, is_within) = match amount {
                Amount::Tinybars(one) => {
                    let asked = times(one);
                    let allowed = Amount::Tinybars(most.hbar);
                    (Amount::Tinybars(asked), allowed, asked <= most.hbar)
                }
                Amount::Token(token, one) => {
                    let asked = times(one);
                    let most = most.tokens.get(&token).copied().unwrap_or_default();
                    let allowed = Amount::Token(token, most);
                    (Amount::Token(token, asked), allowed, asked <= most)
                }
            };
            if !is_within {
                return Err(TooDear {
                    asked,
                    allowed,
                    pieces,
                });
            }
        }
        Ok(())
    }

    fn limits(&self, payer: AccountId) -> Vec<CustomFeeLimit> {
        if !self.is_limited {
            return Vec::new();
        }
        let fee = |amount: u64, token: Option<i64>| FixedFee {
            amount: i64::try_from(amount).unwrap_or(i64::MAX),
            denominating_token_id: token.map(TokenId::of),
        };
        let tokens = self.tokens.iter();
        let tokens = tokens.map(|(token, amount)| fee(*amount, Some(*token)));
        vec![CustomFeeLimit {
            account_id: Some(payer.into()),
            fees: std::iter::once(fee(self.hbar, None))
                .chain(tokens)
                .collect(),
        }]
    }
}

/// The limits for a message in so many pieces to a topic by this payer, when these keys sign: what the topic takes, and no more than is
/// allowed for the whole message. None at all for a topic that can never take any.
pub fn limits(
    topic: &TopicFacts,
    payer: AccountId,
    signing: &[PublicKey],
    pieces: u32,
    most: &Most,
) -> Result<Vec<CustomFeeLimit>, TooDear> {
    let toll = Toll::of(topic, payer, signing);
    toll.check(pieces, most)?;
    Ok(toll.limits(payer))
}

#[cfg(test)]
mod tests;

//! What a scheduled transaction takes, and of whom: all of it is shown and counted before anybody signs. What the network settles only later
//! (a topic's fees without a limit, a token's own fees, accounts that come into being) has no bound, and then a person decides.

use std::collections::{BTreeMap, BTreeSet};

use inbox_core::{Code, Refusal};
use inbox_hcs::AccountId;
use inbox_hedera::fee::{Amount, Toll};
use inbox_hedera::key::PublicKey;
use inbox_hedera::mirror::{Mirror, ScheduleFacts, TopicFacts};
use inbox_hedera::proto::{AccountAmount, CryptoTransferBody, Schedulable, SchedulableBody};

use super::proposal::describe;
use crate::Hbar;
use crate::told::Told;

/// How many accounts of one transaction are looked up.
const MOST_ACCOUNTS: usize = 20;

/// A schedule as whoever signs it must see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bill {
    /// What it would do, a line for each thing; the transfers of hbars come first.
    pub does: Vec<String>,
    /// What it takes at the most of whoever signs, in tinybars; nothing where there is no bound.
    pub most: Option<i64>,
}

/// Whether all that a transaction would do can be told from its bytes. What takes something of an account that only the network can name
/// cannot.
pub fn is_understood(body: &SchedulableBody) -> bool {
    match &body.data {
        None => false,
        Some(Schedulable::CryptoTransfer(transfer)) => {
            let is_plain = |one: &AccountAmount| {
                let is_there = one
                    .account_id
                    .as_ref()
                    .is_some_and(|id| id.account.is_some());
                is_there && (one.amount >= 0 || number(one).is_some())
            };
            let mut hbars = transfer.transfers.iter().flat_map(|list| &list.amounts);
            let mut tokens = transfer.token_transfers.iter();
            hbars.all(is_plain)
                && tokens.all(|list| list.token.is_some() && list.transfers.iter().all(is_plain))
        }
        Some(Schedulable::CryptoUpdate(update)) => {
            let account = update.account_id.as_ref();
            account.is_some_and(|account| account.id().is_some())
        }
        Some(_) => true,
    }
}

/// What a schedule would do and take. `own` is the account that is asked to sign, and `key` what it signs with, where that is known: it may
/// guard other accounts, too.
pub fn bill(
    mirror: &Mirror,
    facts: &ScheduleFacts,
    proposer: AccountId,
    own: Option<AccountId>,
    key: Option<&PublicKey>,
) -> Result<Bill, Refusal> {
    let body = &facts.body;
    let mut does = describe(body);
    let topic = fees(mirror, body)?;
    if facts.payer != proposer {
        let most = i64::try_from(body.transaction_fee).unwrap_or(i64::MAX);
        let (payer, most) = (facts.payer, Hbar::from_tinybars(most));
        does.push(format!("{payer} pays the network for it, up to {most}"));
    }
    let limit = Limit::of(body, facts.payer);
    if let Some((name, topic)) = &topic {
        does.extend(toll_lines(name, topic, facts.payer, limit.as_ref()));
    }
    if !facts.memo.is_empty() {
        does.push(format!("the schedule has the memo {:?}", facts.memo));
    }
    let taken = taken(body, facts.payer, topic.as_ref().map(|(_, topic)| topic));
    let most = match taken {
        Some(taken) => sum(mirror, &taken, own, key)?,
        None => None,
    };
    if most.is_none() {
        does.push("how much it takes at the most cannot be told".to_owned());
    }
    Ok(Bill { does, most })
}

/// Of which sort a scheduled transaction is, as signers are named for it.
pub fn sort_of(body: &SchedulableBody) -> &'static str {
    match &body.data {
        Some(Schedulable::CryptoTransfer(transfer)) if transfer.token_transfers.is_empty() => {
            "transfer"
        }
        Some(Schedulable::CryptoTransfer(_)) => "token.transfer",
        Some(Schedulable::SubmitMessage(_)) => "topic.message",
        Some(Schedulable::CryptoCreate(_)) => "account.create",
        Some(Schedulable::CryptoUpdate(_)) => "account.update",
        Some(Schedulable::CreateTopic(_)) => "topic.create",
        Some(Schedulable::UpdateTopic(_)) => "topic.update",
        Some(Schedulable::DeleteTopic(_)) => "topic.delete",
        Some(Schedulable::ScheduleDelete(_)) => "schedule.delete",
        None => "nothing",
    }
}

/// The account of a line, where it has a number.
fn number(one: &AccountAmount) -> Option<AccountId> {
    one.account_id.as_ref().and_then(|id| id.id())
}

/// The topic on which a transaction would write, where that is one.
fn fees(mirror: &Mirror, body: &SchedulableBody) -> Result<Option<(String, TopicFacts)>, Refusal> {
    let Some(Schedulable::SubmitMessage(submit)) = &body.data else {
        return Ok(None);
    };
    let Some(id) = submit.topic_id.and_then(|id| id.id()) else {
        return Ok(None);
    };
    let found = mirror.topic(id).told()?;
    Ok(found.map(|facts| (id.to_string(), facts)))
}

/// What a topic takes for a message, a line for each thing.
fn toll_lines(
    name: &str,
    topic: &TopicFacts,
    payer: AccountId,
    limit: Option<&Limit>,
) -> Vec<String> {
    let toll = Toll::of(topic, payer, &[]);
    let mut lines: Vec<String> = toll
        .amounts()
        .map(|amount| format!("topic {name} takes {amount} of {payer} for it"))
        .collect();
    if topic.fee_schedule_key.is_some() {
        let most = limit.map_or_else(
            || "without a limit".to_owned(),
            |limit| format!("up to {}", limit.told()),
        );
        lines.push(format!(
            "topic {name} may raise what it takes before that, {most}"
        ));
    }
    lines
}

/// The most that a payer agrees to pay a topic for a message.
struct Limit(Vec<Amount>);

impl Limit {
    /// What a transaction says of it; nothing where it sets no limit at all.
    fn of(body: &SchedulableBody, payer: AccountId) -> Option<Self> {
        if body.max_custom_fees.is_empty() {
            return None;
        }
        let own = body.max_custom_fees.iter().filter(|limit| {
            let account = limit.account_id.as_ref().and_then(|account| account.id());
            account == Some(payer)
        });
        let amounts = own.flat_map(|limit| &limit.fees).map(|fee| {
            let amount = u64::try_from(fee.amount).unwrap_or(u64::MAX);
            match fee.denominating_token_id {
                None => Amount::Tinybars(amount),
                Some(token) => Amount::Token(token.num, amount),
            }
        });
        Some(Limit(amounts.collect()))
    }

    fn told(&self) -> String {
        let amounts: Vec<String> = self.0.iter().map(Amount::to_string).collect();
        if amounts.is_empty() {
            return "nothing".to_owned();
        }
        amounts.join(" and ")
    }
}

/// What is taken of each account, in tinybars; nothing where there is no bound.
fn taken(
    body: &SchedulableBody,
    payer: AccountId,
    topic: Option<&TopicFacts>,
) -> Option<BTreeMap<AccountId, i64>> {
    let mut taken: BTreeMap<AccountId, i64> = BTreeMap::new();
    let mut take = |account: AccountId, amount: i64| {
        let sum = taken.entry(account).or_default();
        *sum = sum.saturating_add(amount);
    };
    take(payer, clamped(body.transaction_fee));
    match &body.data {
        Some(Schedulable::CryptoTransfer(transfer)) => {
            if !is_bounded(transfer) {
                return None;
            }
            let amounts = transfer.transfers.iter().flat_map(|list| &list.amounts);
            for one in amounts.filter(|one| one.amount < 0) {
                take(number(one)?, one.amount.saturating_neg());
            }
        }
        Some(Schedulable::CryptoCreate(create)) => take(payer, clamped(create.initial_balance)),
        Some(Schedulable::SubmitMessage(_)) => {
            if let Some(topic) = topic {
                let amounts = match topic.fee_schedule_key {
                    Some(_) => Limit::of(body, payer)?.0,
                    None => Toll::of(topic, payer, &[]).amounts().collect(),
                };
                for amount in amounts {
                    match amount {
                        Amount::Tinybars(tinybars) => take(payer, clamped(tinybars)),
                        Amount::Token(..) => return None,
                    }
                }
            }
        }
        Some(_) | None => {}
    }
    Some(taken)
}

/// Whether hbars by number are all that a transfer moves: tokens have fees of their own, and an account that has no number yet is made at
/// the payer's cost.
fn is_bounded(transfer: &CryptoTransferBody) -> bool {
    let mut amounts = transfer.transfers.iter().flat_map(|list| &list.amounts);
    transfer.token_transfers.is_empty() && amounts.all(|one| number(one).is_some())
}

fn clamped(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// What is taken of the account that signs, and of every other that its key guards.
fn sum(
    mirror: &Mirror,
    taken: &BTreeMap<AccountId, i64>,
    own: Option<AccountId>,
    key: Option<&PublicKey>,
) -> Result<Option<i64>, Refusal> {
    let others: BTreeSet<AccountId> = taken
        .iter()
        .filter(|(account, amount)| Some(**account) != own && **amount > 0)
        .map(|(account, _)| *account)
        .collect();
    if others.len() > MOST_ACCOUNTS {
        return Ok(None);
    }
    let mut sum = own
        .and_then(|own| taken.get(&own))
        .copied()
        .unwrap_or_default();
    for account in others {
        let is_guarded = match key {
            Some(key) => match crate::peer::account(mirror, account) {
                // One that has another form of key may be guarded by any.
                Ok(facts) => facts.key.is_none_or(|guard| guard.leaves().contains(key)),
                Err(refusal) if refusal.code == Code::AccountNotFound => false,
                Err(refusal) => return Err(refusal),
            },
            // It may be, for all that is known.
            None => true,
        };
        if is_guarded {
            sum = sum.saturating_add(taken[&account]);
        }
    }
    Ok(Some(sum))
}

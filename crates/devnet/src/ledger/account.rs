//! Accounts and what they have.

use std::collections::BTreeSet;

use inbox_hedera::proto::{
    AccountId, Code, CryptoCreateBody, CryptoTransferBody, CryptoUpdateBody, Key, StakedId,
};
use prost::Message;

use super::Fault;
use super::genesis::RENEWAL;
use super::handling::{Handling, Signers};
use super::precheck::text;
use super::rows::Account;

/// The shortest and the longest renewal period, in seconds.
const RENEWALS: std::ops::RangeInclusive<i64> = 2_592_000..=8_000_001;

/// The most accounts in one transfer.
const MOST: usize = 20;

/// A renewal period that may be asked for.
pub(super) fn renewal(asked: Option<inbox_hedera::proto::Duration>) -> Result<i64, Code> {
    let seconds = asked.map_or(RENEWAL, |period| period.seconds);
    if RENEWALS.contains(&seconds) {
        Ok(seconds)
    } else {
        Err(Code::AutorenewDurationNotInRange)
    }
}

pub(super) fn create(
    handling: &mut Handling<'_>,
    body: &CryptoCreateBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    let key = body.key.clone().ok_or(Code::KeyRequired)?;
    if !key.is_valid() {
        return Err(Code::InvalidAdminKey.into());
    }
    if matches!(
        &body.staked_id,
        Some(StakedId::Account(_) | StakedId::Node(0..))
    ) {
        return Err(Code::NotSupported.into());
    }
    text(&body.memo)?;
    if body.receiver_sig_required {
        handling.must_sign(&key, signers)?;
    }
    // An address on the EVM, or a key as Hedera writes one.
    let is_alias = |alias: &[u8]| {
        alias.len() == 20 || Key::decode(alias).is_ok_and(|key| key.leaf().is_some())
    };
    if !body.alias.is_empty() && !is_alias(&body.alias) {
        return Err(Code::InvalidAliasKey.into());
    }
    if !body.alias.is_empty() && Account::find_alias(handling.db, &body.alias)?.is_some() {
        return Err(Code::AliasAlreadyAssigned.into());
    }
    let num = handling.next_entity()?;
    Account {
        num,
        key,
        balance: 0,
        memo: body.memo.clone(),
        is_receiver_sig_required: body.receiver_sig_required,
        alias: body.alias.clone(),
        created_at: handling.now,
        auto_renew: renewal(body.auto_renew_period)?,
        max_associations: body.max_automatic_token_associations,
        is_reward_declined: body.decline_reward,
    }
    .save(handling.db)?;
    let balance = i64::try_from(body.initial_balance).map_err(|_| Code::InvalidInitialBalance)?;
    handling.pay(handling.payer, num, balance)?;
    handling.receipt.account_id = Some(AccountId::of(num));
    Ok(())
}

pub(super) fn update(
    handling: &mut Handling<'_>,
    body: &CryptoUpdateBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    let mut account = handling.account(body.account_id.as_ref(), Code::InvalidAccountId)?;
    handling.must_sign(&account.key, signers)?;
    if let Some(key) = &body.key {
        if !key.is_valid() {
            return Err(Code::InvalidAdminKey.into());
        }
        handling.must_sign(key, signers)?;
        account.key = key.clone();
    }
    if let Some(memo) = &body.memo {
        text(&memo.value)?;
        account.memo.clone_from(&memo.value);
    }
    if body.auto_renew_period.is_some() {
        account.auto_renew = renewal(body.auto_renew_period)?;
    }
    if body.expiration_time.is_some() {
        return Err(Code::NotSupported.into());
    }
    if let Some(required) = body.receiver_sig_required {
        account.is_receiver_sig_required = required.value;
    }
    if let Some(most) = body.max_automatic_token_associations {
        account.max_associations = most.value;
    }
    if let Some(declined) = body.decline_reward {
        account.is_reward_declined = declined.value;
    }
    account.save(handling.db)?;
    Ok(())
}

pub(super) fn transfer(
    handling: &mut Handling<'_>,
    body: &CryptoTransferBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    if !body.token_transfers.is_empty() {
        return Err(Code::NotSupported.into());
    }
    let amounts = body
        .transfers
        .as_ref()
        .map_or(&[][..], |list| &list.amounts);
    if amounts.len() > MOST {
        return Err(Code::TransferListSizeLimitExceeded.into());
    }
    let sum = amounts
        .iter()
        .try_fold(0_i64, |sum, one| sum.checked_add(one.amount));
    if sum != Some(0) {
        return Err(Code::InvalidAccountAmounts.into());
    }
    let mut seen = BTreeSet::new();
    // Who gives first, so that nobody has less than nothing on the way.
    let mut ordered: Vec<_> = amounts.iter().collect();
    ordered.sort_by_key(|one| one.amount);
    for one in ordered {
        if one.is_approval {
            return Err(Code::NotSupported.into());
        }
        let account = handling.account(one.account_id.as_ref(), Code::InvalidAccountId)?;
        if !seen.insert(account.num) {
            return Err(Code::AccountRepeatedInAccountAmounts.into());
        }
        if one.amount < 0 || account.is_receiver_sig_required {
            handling.must_sign(&account.key, signers)?;
        }
        handling.add(account.num, one.amount, Code::InsufficientAccountBalance)?;
    }
    Ok(())
}

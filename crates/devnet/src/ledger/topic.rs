//! Topics: made, changed, deleted, and written to.

use inbox_hcs::{RunningHash, Submission};
use inbox_hedera::proto::{
    AccountId, AssessedCustomFee, Code, CreateTopicBody, DeleteTopicBody, FixedCustomFee, Key,
    SubmitMessageBody, TopicId, UpdateTopicBody,
};
use prost::Message;
use rusqlite::Connection;

use super::Fault;
use super::account::renewal;
use super::handling::{Handling, Signers, next_time, time};
use super::precheck::{SECOND, nanos, text};
use super::rows::{Topic, TopicMessage};

/// The version of running hashes.
const HASH_VERSION: u64 = 3;

/// The most fees of a topic, and the most keys that pay none.
const MOST: usize = 10;

pub(super) fn create(
    handling: &mut Handling<'_>,
    body: &CreateTopicBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    text(&body.memo)?;
    let auto_renew = renewal(body.auto_renew_period)?;
    if let Some(key) = &body.admin_key {
        valid(key, Code::InvalidAdminKey)?;
        handling.must_sign(key, signers)?;
    }
    if let Some(key) = &body.submit_key {
        valid(key, Code::InvalidSubmitKey)?;
    }
    if let Some(key) = &body.fee_schedule_key {
        valid(key, Code::InvalidFeeScheduleKey)?;
    }
    must_be_good_exemptions(&body.fee_exempt_key_list)?;
    must_be_good_fees(handling, &body.custom_fees)?;
    let auto_renew_account = match &body.auto_renew_account {
        None => None,
        Some(id) => Some(renewing(handling, id, signers)?),
    };
    let num = handling.next_entity()?;
    let topic = Topic {
        num,
        memo: body.memo.clone(),
        admin_key: body.admin_key.clone(),
        submit_key: body.submit_key.clone(),
        fee_schedule_key: body.fee_schedule_key.clone(),
        exempt: body.fee_exempt_key_list.clone(),
        fees: body.custom_fees.clone(),
        sequence: 0,
        running_hash: RunningHash::EMPTY.as_bytes().to_vec(),
        created_at: handling.now,
        auto_renew,
        auto_renew_account,
        expires_at: handling.now + auto_renew * SECOND,
        is_deleted: false,
    };
    topic.save(handling.db)?;
    handling.receipt.topic_id = Some(TopicId::of(num));
    Ok(())
}

pub(super) fn update(
    handling: &mut Handling<'_>,
    body: &UpdateTopicBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    let mut topic = find(handling, body.topic_id)?;
    let touches_fees = body.custom_fees.is_some();
    let only_fees = UpdateTopicBody {
        topic_id: body.topic_id,
        custom_fees: body.custom_fees.clone(),
        ..UpdateTopicBody::default()
    };
    let only_time = UpdateTopicBody {
        topic_id: body.topic_id,
        expiration_time: body.expiration_time,
        ..UpdateTopicBody::default()
    };
    // Anybody may let a topic live longer, and who has the fees' key may change the fees.
    if *body != only_time && *body != only_fees {
        let admin = topic.admin_key.clone().ok_or(Code::Unauthorized)?;
        handling.must_sign(&admin, signers)?;
    }
    if touches_fees {
        let key = topic
            .fee_schedule_key
            .clone()
            .ok_or(Code::FeeScheduleKeyNotSet)?;
        handling.must_sign(&key, signers)?;
    }
    if let Some(memo) = &body.memo {
        text(&memo.value)?;
        topic.memo.clone_from(&memo.value);
    }
    if let Some(key) = &body.admin_key {
        if !key.is_removal() {
            valid(key, Code::InvalidAdminKey)?;
            handling.must_sign(key, signers)?;
        }
        topic.admin_key = set(key);
    }
    if let Some(key) = &body.submit_key {
        if !key.is_removal() {
            valid(key, Code::InvalidSubmitKey)?;
        }
        topic.submit_key = set(key);
    }
    if let Some(key) = &body.fee_schedule_key {
        if topic.fee_schedule_key.is_none() {
            return Err(Code::FeeScheduleKeyCannotBeUpdated.into());
        }
        if !key.is_removal() {
            valid(key, Code::InvalidFeeScheduleKey)?;
        }
        topic.fee_schedule_key = set(key);
    }
    if let Some(list) = &body.fee_exempt_key_list {
        must_be_good_exemptions(&list.keys)?;
        topic.exempt.clone_from(&list.keys);
    }
    if let Some(list) = &body.custom_fees {
        must_be_good_fees(handling, &list.fees)?;
        topic.fees.clone_from(&list.fees);
    }
    if body.auto_renew_period.is_some() {
        topic.auto_renew = renewal(body.auto_renew_period)?;
    }
    if let Some(id) = &body.auto_renew_account {
        topic.auto_renew_account = match id.num() {
            Some(0) => None,
            _ => Some(renewing(handling, id, signers)?),
        };
    }
    if let Some(until) = body.expiration_time {
        let until = nanos(until).ok_or(Code::InvalidExpirationTime)?;
        if until <= topic.expires_at {
            return Err(Code::ExpirationReductionNotAllowed.into());
        }
        topic.expires_at = until;
    }
    topic.save(handling.db)?;
    Ok(())
}

pub(super) fn delete(
    handling: &mut Handling<'_>,
    body: &DeleteTopicBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    let mut topic = find(handling, body.topic_id)?;
    let admin = topic.admin_key.clone().ok_or(Code::Unauthorized)?;
    handling.must_sign(&admin, signers)?;
    topic.is_deleted = true;
    topic.save(handling.db)?;
    Ok(())
}

pub(super) fn submit(
    handling: &mut Handling<'_>,
    body: &SubmitMessageBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    let mut topic = find(handling, body.topic_id)?;
    if let Some(key) = &topic.submit_key {
        handling.must_sign(key, signers)?;
    }
    let chunk = piece(handling, body)?;
    let is_exempt = topic.exempt.iter().any(|key| key.is_satisfied(signers));
    if !is_exempt {
        charge(handling, &topic)?;
    }
    let (payer, num) = (number(handling.payer)?, number(topic.num)?);
    let at = time(handling.now);
    let sequence = topic.sequence + 1;
    let submission = Submission {
        payer: inbox_hcs::AccountId::new(0, 0, payer).ok_or(Code::FailInvalid)?,
        topic: inbox_hcs::TopicId::new(0, 0, num).ok_or(Code::FailInvalid)?,
        time: inbox_hcs::Timestamp::new(number(at.seconds)?, at.nanos.unsigned_abs())
            .ok_or(Code::FailInvalid)?,
        sequence: inbox_hcs::Sequence::new(number(sequence)?).ok_or(Code::FailInvalid)?,
        message: &body.message,
    };
    let before = RunningHash::new(&topic.running_hash).ok_or(Code::FailInvalid)?;
    let hash = before.next(&submission).as_bytes().to_vec();
    TopicMessage {
        sequence,
        consensus_at: handling.now,
        payer: handling.payer,
        message: body.message.clone(),
        running_hash: hash.clone(),
        chunk,
    }
    .insert(handling.db, topic.num)?;
    topic.sequence = sequence;
    topic.running_hash.clone_from(&hash);
    topic.advance(handling.db)?;
    handling.receipt.topic_sequence_number = sequence.unsigned_abs();
    handling.receipt.topic_running_hash = hash;
    handling.receipt.topic_running_hash_version = HASH_VERSION;
    Ok(())
}

/// Puts messages on a topic, without a transaction. Whether there is such a topic.
pub(super) fn pour(
    db: &Connection,
    num: i64,
    wall: i64,
    messages: impl Iterator<Item = (i64, Vec<u8>)>,
) -> rusqlite::Result<bool> {
    let Some(mut topic) = Topic::find(db, num)? else {
        return Ok(false);
    };
    for (payer, message) in messages {
        let now = next_time(db, wall)?;
        let at = time(now);
        let sequence = topic.sequence + 1;
        let parts = (|| {
            Some(Submission {
                payer: inbox_hcs::AccountId::new(0, 0, number(payer).ok()?)?,
                topic: inbox_hcs::TopicId::new(0, 0, number(num).ok()?)?,
                time: inbox_hcs::Timestamp::new(number(at.seconds).ok()?, at.nanos.unsigned_abs())?,
                sequence: inbox_hcs::Sequence::new(number(sequence).ok()?)?,
                message: &message,
            })
        })();
        let before = RunningHash::new(&topic.running_hash);
        let (Some(submission), Some(before)) = (parts, before) else {
            return Ok(false);
        };
        topic.running_hash = before.next(&submission).as_bytes().to_vec();
        topic.sequence = sequence;
        TopicMessage {
            sequence,
            consensus_at: now,
            payer,
            running_hash: topic.running_hash.clone(),
            chunk: None,
            message,
        }
        .insert(db, num)?;
    }
    topic.advance(db)?;
    Ok(true)
}

fn number(value: i64) -> Result<u64, Code> {
    u64::try_from(value).map_err(|_| Code::FailInvalid)
}

/// Which piece of a larger message this is, checked.
fn piece(handling: &Handling<'_>, body: &SubmitMessageBody) -> Result<Option<Vec<u8>>, Code> {
    let Some(chunk) = &body.chunk_info else {
        return Ok(None);
    };
    if !(1..=chunk.total).contains(&chunk.number) {
        return Err(Code::InvalidChunkNumber);
    }
    let first = chunk
        .initial_transaction_id
        .as_ref()
        .ok_or(Code::InvalidChunkTransactionId)?;
    let is_own = first.account_id.as_ref().and_then(AccountId::num) == Some(handling.payer);
    if !is_own || (chunk.number == 1 && *first != handling.id) {
        return Err(Code::InvalidChunkTransactionId);
    }
    Ok(Some(chunk.encode_to_vec()))
}

/// Takes the topic's own fees, within what the payer agreed to.
fn charge(handling: &mut Handling<'_>, topic: &Topic) -> Result<(), Fault> {
    let due: Vec<(i64, i64)> = topic
        .fees
        .iter()
        .filter_map(|fee| {
            let collector = fee.fee_collector_account_id.as_ref()?.num()?;
            let amount = fee.fixed_fee?.amount;
            // Nobody pays himself.
            (collector != handling.payer).then_some((collector, amount))
        })
        .collect();
    if due.is_empty() {
        return Ok(());
    }
    let limits = handling.limits();
    if !limits.is_empty() {
        let own = limits.iter().find(|limit| {
            limit.account_id.as_ref().and_then(AccountId::num) == Some(handling.payer)
        });
        let in_hbars = own
            .into_iter()
            .flat_map(|limit| &limit.fees)
            .find(|fee| fee.denominating_token_id.is_none())
            .ok_or(Code::NoValidMaxCustomFee)?;
        let sum = due
            .iter()
            .try_fold(0_i64, |sum, (_, amount)| sum.checked_add(*amount));
        if sum.is_none_or(|sum| sum > in_hbars.amount) {
            return Err(Code::MaxCustomFeeLimitExceeded.into());
        }
    }
    for (collector, amount) in due {
        handling.add(
            handling.payer,
            -amount,
            Code::InsufficientPayerBalanceForCustomFee,
        )?;
        handling.add(collector, amount, Code::InvalidCustomFeeCollector)?;
        handling.assessed.push(AssessedCustomFee {
            amount,
            token_id: None,
            fee_collector_account_id: Some(AccountId::of(collector)),
            effective_payer_account_id: vec![AccountId::of(handling.payer)],
        });
    }
    Ok(())
}

fn find(handling: &Handling<'_>, id: Option<TopicId>) -> Result<Topic, Fault> {
    let num = id
        .filter(|id| (id.shard, id.realm) == (0, 0))
        .map_or(0, |id| id.num);
    let topic = Topic::find(handling.db, num)?.filter(|topic| !topic.is_deleted);
    let topic = topic.ok_or(Code::InvalidTopicId)?;
    if topic.expires_at <= handling.now {
        return Err(Code::TopicExpired.into());
    }
    Ok(topic)
}

fn valid(key: &Key, code: Code) -> Result<(), Code> {
    if key.is_valid() { Ok(()) } else { Err(code) }
}

/// A key that was set; the empty list takes it away.
fn set(key: &Key) -> Option<Key> {
    (!key.is_removal()).then(|| key.clone())
}

fn renewing(handling: &Handling<'_>, id: &AccountId, signers: Signers<'_>) -> Result<i64, Fault> {
    let account = handling.account(Some(id), Code::InvalidAutorenewAccount)?;
    handling.must_sign(&account.key, signers)?;
    Ok(account.num)
}

fn must_be_good_exemptions(keys: &[Key]) -> Result<(), Code> {
    if keys.len() > MOST {
        return Err(Code::MaxEntriesForFeeExemptKeyListExceeded);
    }
    for (place, key) in keys.iter().enumerate() {
        if keys[..place].contains(key) {
            return Err(Code::FeeExemptKeyListContainsDuplicatedKeys);
        }
        valid(key, Code::InvalidKeyInFeeExemptKeyList)?;
    }
    Ok(())
}

fn must_be_good_fees(handling: &Handling<'_>, fees: &[FixedCustomFee]) -> Result<(), Fault> {
    if fees.len() > MOST {
        return Err(Code::CustomFeesListTooLong.into());
    }
    for fee in fees {
        let fixed = fee.fixed_fee.ok_or(Code::CustomFeeNotFullySpecified)?;
        if fixed.amount <= 0 {
            return Err(Code::CustomFeeMustBePositive.into());
        }
        if fixed.denominating_token_id.is_some() {
            return Err(Code::NotSupported.into());
        }
        // By its number: it is kept as it is written.
        let collector = fee.fee_collector_account_id.as_ref();
        let collector = collector.filter(|id| id.num().is_some());
        handling.account(collector, Code::InvalidCustomFeeCollector)?;
    }
    Ok(())
}

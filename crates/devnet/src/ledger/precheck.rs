//! What a node looks at before it lets a transaction in.

use inbox_hedera::proto::{
    AccountId, Code, CustomFeeLimit, Data, SubmitMessageBody, TransactionBody, TransactionId,
};
use inbox_hedera::transaction::{MAX_MEMO, MAX_VALID_SECONDS, Unreadable};
use prost::Message;
use rusqlite::Connection;

use super::genesis::NODES;
use super::offer::Offered;
use super::rows::Account;
use super::{Fault, Refused, fee};

/// A second, in nanoseconds.
pub(super) const SECOND: i64 = 1_000_000_000;

/// The longest message, in bytes.
pub(super) const MAX_MESSAGE: usize = 1024;

/// A transaction that was let in.
pub(super) struct Checked {
    pub(super) id: TransactionId,
    pub(super) payer: Account,
    /// What it costs, in tinybars.
    pub(super) fee: i64,
}

/// Why bytes were not let in.
pub(super) fn unreadable(error: &Unreadable) -> Code {
    match error {
        Unreadable::Oversize(_) => Code::TransactionOversize,
        Unreadable::Malformed(_) => Code::InvalidTransaction,
        // Apart from the key of a batch, these numbers are what a transaction does.
        Unreadable::Unknown(path) => match path.as_slice() {
            [7..=72 | 74..=1000, ..] => Code::NotSupported,
            _ => Code::TransactionHasUnknownFields,
        },
    }
}

/// Lets a transaction in, or says why not.
pub(super) fn check(db: &Connection, offered: &Offered, now: i64) -> Result<Checked, Refused> {
    let body = &offered.signed.body;
    let id = named(body, now)?;
    text(&body.memo)?;
    if body.batch_key.is_some() {
        return Err(Code::NotSupported.into());
    }
    pure(body)?;
    let payer = match id.account_id.as_ref().and_then(AccountId::num) {
        Some(num) => Account::find(db, num).map_err(Fault::from)?,
        None => None,
    };
    let payer = payer.ok_or(Code::PayerAccountNotFound)?;
    let is_seen = db
        .prepare_cached("SELECT 1 FROM transactions WHERE id = ?1")
        .and_then(|mut statement| statement.exists([id.encode_to_vec()]))
        .map_err(Fault::from)?;
    if is_seen {
        return Err(Code::DuplicateTransaction.into());
    }
    if !payer.key.is_satisfied(&|key| offered.is_signed_by(key)) {
        return Err(Code::InvalidSignature.into());
    }
    let fee = fee::of(db, body)?;
    if body.transaction_fee < fee {
        return Err(Refused {
            fault: Code::InsufficientTxFee.into(),
            cost: fee,
        });
    }
    let fee = i64::try_from(fee).map_err(|_| Code::InsufficientPayerBalance)?;
    if payer.balance < fee {
        return Err(Refused {
            fault: Code::InsufficientPayerBalance.into(),
            cost: fee.unsigned_abs(),
        });
    }
    Ok(Checked { id, payer, fee })
}

fn named(body: &TransactionBody, now: i64) -> Result<TransactionId, Code> {
    let id = body
        .transaction_id
        .clone()
        .ok_or(Code::InvalidTransactionId)?;
    let start = id.valid_start.ok_or(Code::InvalidTransactionStart)?;
    if id.scheduled || id.nonce != 0 {
        return Err(Code::TransactionIdFieldNotAllowed);
    }
    let node = body.node_account_id.as_ref().and_then(AccountId::num);
    if !node.is_some_and(|node| NODES.contains(&node)) {
        return Err(Code::InvalidNodeAccount);
    }
    let seconds = body.valid_duration.map_or(0, |duration| duration.seconds);
    if !(1..=MAX_VALID_SECONDS).contains(&seconds) {
        return Err(Code::InvalidTransactionDuration);
    }
    let start = nanos(start).ok_or(Code::InvalidTransactionStart)?;
    if start > now {
        return Err(Code::InvalidTransactionStart);
    }
    if start.saturating_add(seconds * SECOND) <= now {
        return Err(Code::TransactionExpired);
    }
    Ok(id)
}

/// A time in nanoseconds, where it is one.
pub(super) fn nanos(time: inbox_hedera::proto::Timestamp) -> Option<i64> {
    let nanos = i64::from(time.nanos);
    if time.seconds < 0 || !(0..SECOND).contains(&nanos) {
        return None;
    }
    time.seconds.checked_mul(SECOND)?.checked_add(nanos)
}

/// A memo that can be kept.
pub(super) fn text(memo: &str) -> Result<(), Code> {
    if memo.len() > MAX_MEMO {
        return Err(Code::MemoTooLong);
    }
    if memo.contains('\0') {
        return Err(Code::InvalidZeroByteInString);
    }
    Ok(())
}

/// What is wrong with a transaction whatever the ledger has.
fn pure(body: &TransactionBody) -> Result<(), Code> {
    let is_submit = matches!(body.data, Some(Data::SubmitMessage(_)));
    limits(&body.max_custom_fees, is_submit)?;
    match &body.data {
        None => Err(Code::InvalidTransactionBody),
        Some(Data::SubmitMessage(submit)) => message(submit),
        Some(Data::UpdateTopic(update)) if update.topic_id.is_none() => Err(Code::InvalidTopicId),
        Some(Data::DeleteTopic(delete)) if delete.topic_id.is_none() => Err(Code::InvalidTopicId),
        Some(Data::CryptoUpdate(update)) if update.account_id.is_none() => {
            Err(Code::AccountIdDoesNotExist)
        }
        Some(Data::CryptoCreate(create)) => {
            if create.key.is_none() {
                return Err(Code::KeyRequired);
            }
            if i64::try_from(create.initial_balance).is_err() {
                return Err(Code::InvalidInitialBalance);
            }
            Ok(())
        }
        Some(Data::ScheduleSign(sign)) if sign.schedule_id.is_none() => {
            Err(Code::InvalidScheduleId)
        }
        Some(Data::ScheduleDelete(delete)) if delete.schedule_id.is_none() => {
            Err(Code::InvalidScheduleId)
        }
        Some(Data::ScheduleCreate(create)) if create.scheduled.is_none() => {
            Err(Code::InvalidTransaction)
        }
        Some(_) => Ok(()),
    }
}

/// What is wrong with how much a payer agrees to pay on a topic.
pub(super) fn limits(limits: &[CustomFeeLimit], is_submit: bool) -> Result<(), Code> {
    if !limits.is_empty() && !is_submit {
        return Err(Code::MaxCustomFeesIsNotSupported);
    }
    for (place, limit) in limits.iter().enumerate() {
        if limit.account_id.is_none() || limit.fees.is_empty() {
            return Err(Code::InvalidMaxCustomFees);
        }
        let others = &limits[..place];
        if others
            .iter()
            .any(|other| other.account_id == limit.account_id)
        {
            return Err(Code::DuplicateAccountIdInMaxCustomFeeList);
        }
        for (place, fee) in limit.fees.iter().enumerate() {
            if fee.amount < 0 {
                return Err(Code::InvalidMaxCustomFees);
            }
            let others = &limit.fees[..place];
            if others
                .iter()
                .any(|other| other.denominating_token_id == fee.denominating_token_id)
            {
                return Err(Code::DuplicateDenominationInMaxCustomFeeList);
            }
        }
    }
    Ok(())
}

fn message(submit: &SubmitMessageBody) -> Result<(), Code> {
    if submit.topic_id.is_none() {
        return Err(Code::InvalidTopicId);
    }
    if submit.message.is_empty() {
        return Err(Code::InvalidTopicMessage);
    }
    if submit.message.len() > MAX_MESSAGE {
        return Err(Code::MessageSizeTooLarge);
    }
    Ok(())
}

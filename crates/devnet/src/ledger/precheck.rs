//! What a node looks at before it lets a transaction in.

use inbox_hedera::proto::{
    AccountId, Code, Data, SubmitMessageBody, TransactionBody, TransactionId,
};
use inbox_hedera::transaction::{MAX_MEMO, MAX_VALID_SECONDS, Signed, Unreadable};
use prost::Message;
use rusqlite::Connection;

use super::genesis::NODES;
use super::rows::{Account, Topic};
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
pub(super) fn unreadable(error: &Unreadable) -> Refused {
    match error {
        Unreadable::Oversize(_) => Code::TransactionOversize,
        Unreadable::Malformed(_) => Code::InvalidTransaction,
        // Numbers from 7 to 74 are what a transaction does, and in a schedule 3 to 48.
        Unreadable::Unknown(path) => match path.as_slice() {
            [7..=72 | 74] | [42, 1, 3..=48] => Code::NotSupported,
            _ => Code::TransactionHasUnknownFields,
        },
    }
    .into()
}

/// Lets a transaction in, or says why not.
pub(super) fn check(db: &Connection, signed: &Signed, now: i64) -> Result<Checked, Refused> {
    let body = &signed.body;
    let id = named(body, now)?;
    text(&body.memo)?;
    if body.batch_key.is_some() {
        return Err(Code::NotSupported.into());
    }
    pure(body)?;
    let payer = id.account_id.as_ref().and_then(AccountId::num);
    let payer = match payer {
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
    if !payer.key.is_satisfied(&|key| signed.is_signed_by(key)) {
        return Err(Code::InvalidSignature.into());
    }
    let fee = fee::of(body, is_fee_topic(db, body)?);
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
    if !body.max_custom_fees.is_empty() && !is_submit {
        return Err(Code::MaxCustomFeesIsNotSupported);
    }
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

fn is_fee_topic(db: &Connection, body: &TransactionBody) -> Result<bool, Fault> {
    let Some(Data::SubmitMessage(submit)) = &body.data else {
        return Ok(false);
    };
    let num = submit.topic_id.map_or(0, |topic| topic.num);
    Ok(Topic::find(db, num)?.is_some_and(|topic| !topic.fees.is_empty()))
}

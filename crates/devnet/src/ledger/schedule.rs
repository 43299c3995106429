//! Transactions that wait for signatures, and are carried out when the last one is there.

use inbox_hedera::proto::{
    AccountId, Code, Data, Key, Schedulable, ScheduleCreateBody, ScheduleDeleteBody, ScheduleId,
    ScheduleSignBody, TransactionBody,
};
use rusqlite::Connection;

use super::handling::{Handling, Signers};
use super::precheck::{SECOND, limits, nanos, text};
use super::rows::{Account, Schedule, Topic};
use super::{Effects, Fault};

/// How long one waits unless told otherwise, and at the most, in seconds.
const USUAL: i64 = 1_800;
const LONGEST: i64 = 5_356_800;

pub(super) fn create(
    handling: &mut Handling<'_>,
    body: &ScheduleCreateBody,
    signers: Signers<'_>,
    effects: &mut Effects,
) -> Result<(), Fault> {
    let scheduled = body.scheduled.clone().ok_or(Code::InvalidTransaction)?;
    if !matches!(
        scheduled.data,
        Some(
            Schedulable::CryptoCreate(_)
                | Schedulable::CryptoTransfer(_)
                | Schedulable::CryptoUpdate(_)
                | Schedulable::SubmitMessage(_)
        )
    ) {
        return Err(Code::ScheduledTransactionNotInWhitelist.into());
    }
    text(&body.memo)?;
    text(&scheduled.memo)?;
    let is_submit = matches!(scheduled.data, Some(Schedulable::SubmitMessage(_)));
    limits(&scheduled.max_custom_fees, is_submit)?;
    if let Some(key) = &body.admin_key {
        if !key.is_valid() {
            return Err(Code::InvalidAdminKey.into());
        }
        handling.must_sign(key, signers)?;
    }
    let payer = match &body.payer_account_id {
        Some(id) => {
            handling
                .account(Some(id), Code::InvalidSchedulePayerId)?
                .num
        }
        None => handling.payer,
    };
    let expires_at = match body.expiration_time {
        None => handling.now + USUAL * SECOND,
        Some(time) => nanos(time).ok_or(Code::InvalidExpirationTime)?,
    };
    if expires_at <= handling.now {
        return Err(Code::ScheduleExpirationTimeMustBeHigherThanConsensusTime.into());
    }
    if expires_at > handling.now + LONGEST * SECOND {
        return Err(Code::ScheduleExpirationTimeTooFarInFuture.into());
    }
    let mut transaction_id = handling.id.clone();
    transaction_id.scheduled = true;
    let mut schedule = Schedule {
        num: 0,
        body: scheduled,
        memo: body.memo.clone(),
        admin_key: body.admin_key.clone(),
        creator: handling.payer,
        payer,
        transaction_id,
        created_at: handling.now,
        expires_at,
        waits: body.wait_for_expiry,
        executed_at: None,
        deleted_at: None,
    };
    if let Some(same) = schedule.find_same(handling.db)? {
        answer(handling, &same);
        return Err(Code::IdenticalScheduleAlreadyCreated.into());
    }
    schedule.num = handling.next_entity()?;
    schedule.save(handling.db)?;
    answer(handling, &schedule);
    add_signers(handling, &schedule)?;
    if schedule.waits {
        return Ok(());
    }
    carry_out_when_signed(handling.db, handling.now, &mut schedule, effects)
}

pub(super) fn sign(
    handling: &mut Handling<'_>,
    body: &ScheduleSignBody,
    effects: &mut Effects,
) -> Result<(), Fault> {
    let mut schedule = open(handling, body.schedule_id)?;
    answer(handling, &schedule);
    if add_signers(handling, &schedule)? == 0 {
        return Err(Code::NoNewValidSignatures.into());
    }
    if schedule.waits {
        return Ok(());
    }
    carry_out_when_signed(handling.db, handling.now, &mut schedule, effects)
}

pub(super) fn delete(
    handling: &mut Handling<'_>,
    body: &ScheduleDeleteBody,
    signers: Signers<'_>,
) -> Result<(), Fault> {
    let mut schedule = open(handling, body.schedule_id)?;
    let admin = schedule
        .admin_key
        .clone()
        .ok_or(Code::ScheduleIsImmutable)?;
    handling.must_sign(&admin, signers)?;
    schedule.deleted_at = Some(handling.now);
    schedule.save(handling.db)?;
    Ok(())
}

/// Whether something waited until now.
pub(super) fn is_any_over(db: &Connection, now: i64) -> rusqlite::Result<bool> {
    Schedule::is_any_over(db, now)
}

/// Carries out what waited until its time was over, and ends what never had its signatures.
pub(super) fn settle(db: &Connection, now: i64, effects: &mut Effects) -> rusqlite::Result<()> {
    loop {
        let over = Schedule::over(db, now)?;
        if over.is_empty() {
            return Ok(());
        }
        for mut schedule in over {
            if schedule.waits {
                match carry_out_when_signed(db, now, &mut schedule, effects) {
                    Ok(()) | Err(Fault::Code(_)) => {}
                    Err(Fault::Database(error)) => return Err(error),
                }
            }
            schedule.end(db)?;
        }
    }
}

fn answer(handling: &mut Handling<'_>, schedule: &Schedule) {
    handling.receipt.schedule_id = Some(ScheduleId::of(schedule.num));
    handling.receipt.scheduled_transaction_id = Some(schedule.transaction_id.clone());
}

fn open(handling: &Handling<'_>, id: Option<ScheduleId>) -> Result<Schedule, Fault> {
    let num = id
        .filter(|id| (id.shard, id.realm) == (0, 0))
        .map_or(0, |id| id.num);
    let schedule = Schedule::find(handling.db, num)?.ok_or(Code::InvalidScheduleId)?;
    if schedule.deleted_at.is_some() {
        return Err(Code::ScheduleAlreadyDeleted.into());
    }
    if schedule.executed_at.is_some() {
        return Err(Code::ScheduleAlreadyExecuted.into());
    }
    if schedule.expires_at <= handling.now {
        return Err(Code::InvalidScheduleId.into());
    }
    Ok(schedule)
}

/// The keys that must be satisfied before a schedule is carried out.
fn required(db: &Connection, schedule: &Schedule) -> Result<Vec<Key>, Fault> {
    let account = |id: Option<&AccountId>| -> Result<Account, Fault> {
        let found = match id {
            Some(id) => Account::named(db, id)?,
            None => None,
        };
        Ok(found.ok_or(Code::UnresolvableRequiredSigners)?)
    };
    let mut keys = vec![account(Some(&AccountId::of(schedule.payer)))?.key];
    match &schedule.body.data {
        Some(Schedulable::CryptoTransfer(body)) => {
            let amounts = body
                .transfers
                .as_ref()
                .map_or(&[][..], |list| &list.amounts);
            for one in amounts {
                let account = account(one.account_id.as_ref())?;
                if one.amount < 0 || account.is_receiver_sig_required {
                    keys.push(account.key);
                }
            }
        }
        Some(Schedulable::SubmitMessage(body)) => {
            let num = body.topic_id.map_or(0, |topic| topic.num);
            let topic = Topic::find(db, num)?.ok_or(Code::UnresolvableRequiredSigners)?;
            keys.extend(topic.submit_key);
        }
        Some(Schedulable::CryptoUpdate(body)) => {
            keys.push(account(body.account_id.as_ref())?.key);
            keys.extend(body.key.clone());
        }
        Some(Schedulable::CryptoCreate(body)) if body.receiver_sig_required => {
            keys.extend(body.key.clone());
        }
        _ => {}
    }
    Ok(keys)
}

/// Notes who of those that are needed has signed the transaction in hand. How many are new.
fn add_signers(handling: &Handling<'_>, schedule: &Schedule) -> Result<usize, Fault> {
    let mut added = 0;
    for leaf in required(handling.db, schedule)?
        .iter()
        .flat_map(Key::leaves)
    {
        let signature = handling
            .offered
            .and_then(|offered| offered.signature_of(&leaf));
        if let Some(signature) = signature {
            let key = Key::from(&leaf);
            let is_new = schedule.add_signer(handling.db, &key, signature, handling.now)?;
            added += usize::from(is_new);
        }
    }
    Ok(added)
}

fn carry_out_when_signed(
    db: &Connection,
    now: i64,
    schedule: &mut Schedule,
    effects: &mut Effects,
) -> Result<(), Fault> {
    let signed: Vec<Key> = schedule
        .signers(db)?
        .into_iter()
        .map(|(key, ..)| key)
        .collect();
    let has_signed = |key: &inbox_hedera::key::PublicKey| signed.contains(&Key::from(key));
    let is_signed = required(db, schedule)?
        .iter()
        .all(|key| key.is_satisfied(&has_signed));
    if !is_signed {
        return Ok(());
    }
    let body = TransactionBody {
        transaction_id: Some(schedule.transaction_id.clone()),
        transaction_fee: schedule.body.transaction_fee,
        memo: schedule.body.memo.clone(),
        data: schedule.body.data.clone().map(data),
        max_custom_fees: schedule.body.max_custom_fees.clone(),
        ..TransactionBody::default()
    };
    let id = schedule.transaction_id.clone();
    let mut inner = Handling::begin_scheduled(db, &body, id, schedule.payer, schedule.num, now)?;
    schedule.executed_at = Some(inner.now);
    schedule.save(db)?;
    inner.run_scheduled(&has_signed, effects)
}

fn data(scheduled: Schedulable) -> Data {
    match scheduled {
        Schedulable::CryptoCreate(body) => Data::CryptoCreate(body),
        Schedulable::CryptoTransfer(body) => Data::CryptoTransfer(body),
        Schedulable::CryptoUpdate(body) => Data::CryptoUpdate(body),
        Schedulable::CreateTopic(body) => Data::CreateTopic(body),
        Schedulable::UpdateTopic(body) => Data::UpdateTopic(body),
        Schedulable::DeleteTopic(body) => Data::DeleteTopic(body),
        Schedulable::SubmitMessage(body) => Data::SubmitMessage(body),
        Schedulable::ScheduleDelete(body) => Data::ScheduleDelete(body),
    }
}

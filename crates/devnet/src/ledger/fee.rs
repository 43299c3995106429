//! What a transaction costs: the published schedule in hundred-millionths of a cent, paid in tinybars at a fixed rate.

use inbox_hedera::proto::{Data, ExchangeRate, ExchangeRateSet, TimestampSeconds, TransactionBody};
use rusqlite::Connection;

use super::Fault;
use super::rows::Topic;

/// A cent, in the units of the schedule.
const CENT: u64 = 100_000_000;

/// One hbar is so many cents here.
pub const CENTS_PER_HBAR: i32 = 12;

/// What a message of up to 100 bytes costs, and each byte after them.
const SUBMIT: u64 = 1_700_000;
const SUBMIT_BYTE: u64 = 6_800;
const SUBMIT_FREE_BYTES: u64 = 100;

/// What an answer costs that is not free.
const ANSWER: u64 = CENT / 100;

/// The price of an answer that is not free, in tinybars.
pub(super) fn of_answer() -> u64 {
    tinybars(ANSWER)
}

fn tinybars(units: u64) -> u64 {
    units.div_ceil(u64::from(CENTS_PER_HBAR.unsigned_abs()))
}

/// The fee of a transaction, in tinybars.
pub(super) fn of(db: &Connection, body: &TransactionBody) -> Result<u64, Fault> {
    let is_fee_topic = match &body.data {
        Some(Data::SubmitMessage(submit)) => {
            Topic::has_fees(db, submit.topic_id.map_or(0, |topic| topic.num))?
        }
        _ => false,
    };
    let units = match &body.data {
        Some(Data::CryptoCreate(_)) => 5 * CENT,
        Some(Data::CryptoUpdate(_) | Data::UpdateTopic(_)) => CENT * 22 / 1000,
        Some(Data::CryptoTransfer(_)) => CENT / 100,
        Some(Data::CreateTopic(create)) => {
            let keys = [
                &create.admin_key,
                &create.submit_key,
                &create.fee_schedule_key,
            ];
            let keys = keys.into_iter().flatten().count() + create.fee_exempt_key_list.len();
            let keys = u64::try_from(keys).unwrap_or(u64::MAX);
            let fees = if create.custom_fees.is_empty() {
                0
            } else {
                199 * CENT
            };
            CENT + keys.saturating_mul(CENT) + fees
        }
        Some(Data::DeleteTopic(_)) => CENT / 2,
        Some(Data::SubmitMessage(_)) if is_fee_topic => 5 * CENT,
        Some(Data::SubmitMessage(submit)) => {
            let bytes = u64::try_from(submit.message.len()).unwrap_or(u64::MAX);
            SUBMIT
                + bytes
                    .saturating_sub(SUBMIT_FREE_BYTES)
                    .saturating_mul(SUBMIT_BYTE)
        }
        Some(Data::ScheduleCreate(_)) => CENT,
        Some(Data::ScheduleSign(_) | Data::ScheduleDelete(_)) => CENT / 10,
        None => 0,
    };
    Ok(tinybars(units))
}

/// The rate as receipts tell it: now, and next, without which some programs fail.
pub fn rates(now_seconds: i64) -> ExchangeRateSet {
    let hour = now_seconds / 3600;
    let rate = |hours: i64| ExchangeRate {
        hbar_equiv: 1,
        cent_equiv: CENTS_PER_HBAR,
        expiration_time: Some(TimestampSeconds {
            seconds: (hour + hours) * 3600,
        }),
    };
    ExchangeRateSet {
        current_rate: Some(rate(1)),
        next_rate: Some(rate(2)),
    }
}

//! One step on the ledger, which happens once: its id is on disk before it is sent, and what became of it is found by that id.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inbox_core::{Code, Refusal};
use inbox_hcs::{AccountId, Timestamp, TopicId};
use inbox_hedera::client::{Asking, ExecuteError, Happened};
use inbox_hedera::proto::{self, TransactionId};
use inbox_hedera::transaction::VALID_SECONDS;

use super::{Moment, Provisioner};
use crate::keys::{Keys, Pending};
use crate::net::Net;
use crate::told::Told;

/// How far a mirror may be behind its network, in seconds.
const LAG: u64 = 15;

/// How long it is waited for one that is further behind, in seconds.
const PATIENCE: u64 = 120;

/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// What to do when it is not known whether something happened.
const GO_ON: &str = "inbox hcs provision goes on where it was, once the network answers";

/// Where a step's id is written down.
pub(super) enum Slot<'s> {
    Agent { name: &'s str, step: &'s str },
    Registry,
}

impl Slot<'_> {
    fn pending(&self, keys: &Keys) -> Result<Option<TransactionId>, Refusal> {
        let text = match self {
            Slot::Agent { name, step } => {
                let pending = keys.work(name).pending;
                pending
                    .filter(|pending| pending.step == *step)
                    .map(|pending| pending.transaction_id)
            }
            Slot::Registry => keys.registry_transaction().map(str::to_owned),
        };
        text.map(|text| read(&text)).transpose()
    }

    fn keep(&self, keys: &mut Keys, id: Option<&TransactionId>) -> Result<(), Refusal> {
        let id = id.map(TransactionId::to_string);
        match self {
            Slot::Agent { name, step } => {
                let mut work = keys.work(name);
                work.pending = id.map(|transaction_id| Pending {
                    step: (*step).to_owned(),
                    transaction_id,
                });
                keys.set_work(name, work)
            }
            Slot::Registry => keys.set_registry_transaction(id),
        }
    }
}

/// Reads an id as it was written down.
fn read(text: &str) -> Result<TransactionId, Refusal> {
    let parse = || {
        let (payer, start) = text.split_once('@')?;
        let payer: AccountId = payer.parse().ok()?;
        let start: Timestamp = start.parse().ok()?;
        let start = proto::Timestamp {
            seconds: i64::try_from(start.seconds()).ok()?,
            nanos: i32::try_from(start.nanos()).ok()?,
        };
        Some(TransactionId::new(payer.into(), start))
    };
    parse().ok_or_else(|| {
        Refusal::new(
            Code::StoreCorrupt,
            format!("the file of keys has {text:?}, which is no id of a transaction"),
        )
    })
}

/// Who pays for the transaction that was written down.
pub(super) fn payer(text: &str) -> Result<Option<AccountId>, Refusal> {
    Ok(payer_of(&read(text)?))
}

fn payer_of(id: &TransactionId) -> Option<AccountId> {
    id.account_id.clone().and_then(|payer| payer.id())
}

/// What a step made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Made {
    pub(super) account: Option<AccountId>,
    pub(super) topic: Option<TopicId>,
    pub(super) sequence: Option<u64>,
}

impl From<Happened> for Made {
    fn from(happened: Happened) -> Self {
        let receipt = happened.receipt;
        let sequence = receipt.topic_sequence_number;
        Made {
            account: receipt.account_id.and_then(|id| id.id()),
            topic: receipt.topic_id.and_then(|id| id.id()),
            sequence: (sequence > 0).then_some(sequence),
        }
    }
}

/// What became of a transaction.
enum Settled {
    Happened(Made),
    /// It was carried out, and did nothing.
    Refused(Refusal),
    /// Its time is over, and the network never had it.
    Never,
}

impl Provisioner<'_> {
    /// Has a step carried out, or finds that it was. Whoever keeps what it made forgets the id at the same time.
    pub(super) fn carry_out(
        &self,
        keys: &mut Keys,
        slot: &Slot<'_>,
        net: &Net,
        asking: &Asking<'_>,
    ) -> Result<Made, Refusal> {
        loop {
            let id = if let Some(id) = slot.pending(keys)? {
                id
            } else {
                let id = net.client().next_id();
                self.reach(Moment::BeforeSave);
                slot.keep(keys, Some(&id))?;
                self.reach(Moment::BeforeSend);
                id
            };
            match self.settle(net, &id, asking)? {
                Settled::Happened(made) => {
                    net.remember(id);
                    self.reach(Moment::AfterReceipt);
                    return Ok(made);
                }
                Settled::Refused(refusal) => {
                    slot.keep(keys, None)?;
                    return Err(refusal);
                }
                Settled::Never => slot.keep(keys, None)?,
            }
        }
    }

    fn settle(
        &self,
        net: &Net,
        id: &TransactionId,
        asking: &Asking<'_>,
    ) -> Result<Settled, Refusal> {
        let outcome = if payer_of(id) == Some(net.account()) {
            net.wait_for(net.client().execute_as(id.clone(), asking))
        } else {
            // Another paid for it, and it cannot be sent in that one's name.
            known(net, id)
        };
        match outcome {
            Ok(happened) => Ok(Settled::Happened(happened.into())),
            Err(ExecuteError::Unknown { last, .. }) => self.look_up(net, id, &last),
            Err(error @ ExecuteError::Failed(_)) => {
                let told: Result<(), Refusal> = Err(error).told();
                Ok(told.map_or_else(Settled::Refused, |()| Settled::Never))
            }
            // What is refused now may be on its way by another node: its id stays until its time is over.
            Err(error) => Err(error).told(),
        }
    }

    /// What the mirror knows of a transaction of which no node knows.
    fn look_up(&self, net: &Net, id: &TransactionId, last: &str) -> Result<Settled, Refusal> {
        let start = id.valid_start.unwrap_or_default().seconds;
        let end = u64::try_from(start.saturating_add(VALID_SECONDS)).unwrap_or_default();
        loop {
            let now = now();
            if let Some(facts) = net.mirror().transaction(id).told()? {
                if facts.is_done() {
                    let entity = facts.entity.as_deref();
                    return Ok(Settled::Happened(Made {
                        account: entity.and_then(|entity| entity.parse().ok()),
                        topic: entity.and_then(|entity| entity.parse().ok()),
                        sequence: None,
                    }));
                }
                let result = facts.result;
                return Ok(Settled::Refused(Refusal::new(
                    Code::Ledger,
                    format!("the transaction {id} was refused: {result}"),
                )));
            }
            // A mirror that has what came later has all that there was. Where nobody else writes, nothing comes later.
            let is_past = now > end + LAG
                && (!self.network.is_public()
                    || net
                        .mirror()
                        .newest()
                        .told()?
                        .is_some_and(|newest| newest.seconds() > end));
            if is_past {
                return Ok(Settled::Never);
            }
            if now < end || now > end + LAG + PATIENCE {
                return Err(Refusal::new(
                    Code::Ledger,
                    format!("whether the transaction {id} happened is not known: {last}"),
                )
                .hint(GO_ON));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// What a node knows of a transaction.
fn known(net: &Net, id: &TransactionId) -> Result<Happened, ExecuteError> {
    let unknown = |last: String| ExecuteError::Unknown {
        id: id.clone(),
        last,
    };
    match net.wait_for(net.client().receipt(id)) {
        Ok(Some(receipt)) => {
            let is_done = proto::Code::from(receipt.status) == proto::Code::Success;
            let happened = Happened {
                id: id.clone(),
                receipt,
            };
            if is_done {
                Ok(happened)
            } else {
                Err(ExecuteError::Failed(Box::new(happened)))
            }
        }
        Ok(None) => Err(unknown("no node has it".to_owned())),
        Err(error) => Err(unknown(error.to_string())),
    }
}

/// The clock, in seconds.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

//! One transaction that happens once: its id is written down before it is sent, and what became of it is found by that id.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inbox_core::sabotage::planted;
use inbox_core::{Code, Refusal};
use inbox_hcs::{AccountId, TopicId};
use inbox_hedera::client::{Asking, ExecuteError};
use inbox_hedera::proto::TransactionId;
use inbox_store::FailPoint;

use crate::net::Net;
use crate::told::Told;

/// How long a mirror may take to have what a network took.
pub(super) const MIRROR_PATIENCE: Duration = Duration::from_secs(10);

/// How long after it was made an id can no longer happen, in seconds: it is valid for two minutes, and the mirror is behind.
const NEVER_AFTER: u64 = 240;

/// What a transaction has done.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Done {
    /// The topic that it made.
    pub(super) topic: Option<TopicId>,
    /// The number of the message that it wrote; nothing when only the mirror knows.
    pub(super) sequence: Option<u64>,
}

/// Has a transaction carried out, or finds that it was. `known` is the id that was written down, and `keep` writes down another.
pub(super) fn once(
    net: &Net,
    known: Option<&str>,
    asking: &Asking<'_>,
    reach: &dyn Fn(FailPoint),
    mut keep: impl FnMut(Option<&str>) -> Result<(), Refusal>,
) -> Result<Done, Refusal> {
    let id = match known.map(|text| (text, text.parse::<TransactionId>())) {
        Some((text, Ok(id))) => {
            if let Some(done) = happened(net, text, &id)? {
                return Ok(done);
            }
            let payer = id.account_id.clone().and_then(|payer| payer.id());
            match (is_over(&id), payer == Some(net.account())) {
                (true, _) => None,
                (false, true) => Some(id),
                (false, false) => return Err(anothers(text, payer)),
            }
        }
        _ => None,
    };
    let id = match id {
        Some(id) => id,
        None => {
            let id = net.next_id();
            reach(FailPoint::BridgeBeforeId);
            if !planted("sent_unnoted") {
                keep(Some(&id.to_string()))?;
            }
            id
        }
    };
    reach(FailPoint::LedgerBeforeSend);
    match net.wait_for(net.client().execute_as(id.clone(), asking)) {
        Ok(happened) => {
            reach(FailPoint::LedgerAfterReceipt);
            net.remember(id);
            let sequence = happened.receipt.topic_sequence_number;
            Ok(Done {
                topic: happened.receipt.topic_id.and_then(|topic| topic.id()),
                sequence: (sequence > 0).then_some(sequence),
            })
        }
        Err(error) => {
            // What never happened gets another id the next time.
            if matches!(
                error,
                ExecuteError::NotTaken { .. } | ExecuteError::Refused(..) | ExecuteError::Failed(_)
            ) {
                keep(None)?;
            }
            Err(error).told()
        }
    }
}

/// What a transaction that was begun before has done, as far as the mirror knows.
fn happened(net: &Net, text: &str, id: &TransactionId) -> Result<Option<Done>, Refusal> {
    let found = if is_over(id) {
        net.mirror().outcome(id, MIRROR_PATIENCE).told()?
    } else {
        net.mirror().transaction(id).told()?
    };
    let Some(facts) = found.filter(inbox_hedera::mirror::TransactionFacts::is_done) else {
        return Ok(None);
    };
    let entity = facts.entity.as_deref().unwrap_or_default();
    let topic = entity.parse().map_err(|_| {
        Refusal::new(
            Code::Ledger,
            format!("{text} has happened, and the mirror names {entity:?} for its topic"),
        )
    })?;
    Ok(Some(Done {
        topic: Some(topic),
        sequence: None,
    }))
}

fn anothers(text: &str, payer: Option<AccountId>) -> Refusal {
    let payer = payer.map_or_else(|| "nobody".to_owned(), |payer| payer.to_string());
    Refusal::new(
        Code::Ledger,
        format!("{text} may still happen, and {payer} pays for it"),
    )
}

/// Whether an id can no longer happen.
pub(super) fn is_over(id: &TransactionId) -> bool {
    let start = id.valid_start.unwrap_or_default();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    start.seconds.unsigned_abs() + NEVER_AFTER < now.as_secs()
}

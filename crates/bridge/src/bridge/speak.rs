//! What the outbox has is said on its topics: once, in the order of each sender.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inbox_core::Refusal;
use inbox_hcs::{
    Algorithm, Data, InboundMessage, MAX_MESSAGE, Mime, Operation, OperatorId, TopicId,
    TransactionMemo,
};
use inbox_hedera::client::ExecuteError;
use inbox_hedera::proto::TransactionId;
use inbox_ops::ledger::Leaving;
use inbox_store::{FailPoint, Outgoing, TopicRow};

use super::{Bridge, id_of};
use crate::net::Net;
use crate::told::Told;
use crate::{Hbar, file};

/// How long a mirror may take to have what a network took.
const MIRROR_PATIENCE: Duration = Duration::from_secs(10);

/// How long after it was made an id can no longer happen, in seconds: it is valid for two minutes, and the mirror is behind.
const NEVER_AFTER: u64 = 240;

impl Bridge<'_> {
    /// Says one message, and keeps in `outgoing` how far that has come, also when it fails. Not when another bridge has its topic.
    pub(super) fn say(
        &self,
        topic: &TopicRow,
        leaving: &Leaving,
        outgoing: &mut Outgoing,
    ) -> Result<bool, Refusal> {
        let inbox = self.inbox;
        let reach = |point| inbox.store().reach(point);
        let to = id_of(topic)?;
        let speaker = self.speaker(&outgoing.agent)?;
        if let Some(id) = &outgoing.step_id
            && has_happened(&speaker.net, id)?
        {
            outgoing.sequence = Some(0);
            return inbox.set_outgoing(outgoing, None).map(|()| true);
        }
        let operator = OperatorId {
            inbound_topic: speaker.me.inbound_topic,
            account: speaker.me.account,
        };
        let inline = operation(operator, Data::new(leaving.wire.to_string()));
        let text = match inline.write() {
            Ok(text) if text.len() <= MAX_MESSAGE => text,
            _ => {
                let file = self::file_of(&speaker.net, leaving, outgoing.file.as_deref())?;
                outgoing.file = Some(file.to_string());
                operation(operator, Data::reference(file)).write().told()?
            }
        };
        // Nobody has said that an agent may pay another for its mail.
        let limits = speaker.net.limits(to, text.len(), Hbar::default())?;
        let id = match &outgoing.step_id {
            Some(id) if !is_over(id) => id.parse().unwrap_or_else(|_| speaker.net.next_id()),
            _ => speaker.net.next_id(),
        };
        let before = outgoing.step_id.replace(id.to_string());
        reach(FailPoint::BridgeBeforeId);
        if !inbox.begin_outgoing(outgoing, before.as_deref(), &self.name)? {
            return Ok(false);
        }
        reach(FailPoint::LedgerBeforeSend);
        let memo = TransactionMemo::of(&inline).to_string();
        let said = speaker
            .net
            .write_as(id, to, text.as_bytes(), &memo, &limits);
        match said {
            Ok(sequence) => {
                reach(FailPoint::LedgerAfterReceipt);
                outgoing.sequence = Some(i64::try_from(sequence.get()).unwrap_or(i64::MAX));
                inbox.set_outgoing(outgoing, None)?;
                reach(FailPoint::BridgeAfterSaid);
                Ok(true)
            }
            Err(error) => {
                // What never happened gets another id the next time.
                if matches!(
                    error.execute(),
                    Some(ExecuteError::NotTaken { .. } | ExecuteError::Refused(..))
                ) {
                    outgoing.step_id = None;
                }
                Err(error).told()
            }
        }
    }
}

/// The message in a file of its own, where it is too large for a topic.
fn file_of(net: &Net, leaving: &Leaving, known: Option<&str>) -> Result<TopicId, Refusal> {
    if let Some(known) = known.and_then(|topic| topic.parse().ok()) {
        return Ok(known);
    }
    let content = leaving.wire.to_string();
    file::put(net, content.as_bytes(), &Mime::json(), Algorithm::Brotli)
}

fn operation(operator: OperatorId, data: Data) -> Operation {
    Operation::InboundMessage(InboundMessage {
        operator,
        data,
        written_at: None,
        memo: None,
    })
}

/// Whether a transaction that was begun before has happened.
fn has_happened(net: &Net, id: &str) -> Result<bool, Refusal> {
    let Ok(parsed) = id.parse::<TransactionId>() else {
        return Ok(false);
    };
    let found = if is_over(id) {
        net.mirror().outcome(&parsed, MIRROR_PATIENCE).told()?
    } else {
        net.mirror().transaction(&parsed).told()?
    };
    Ok(found.is_some_and(|facts| facts.is_done()))
}

/// Whether an id can no longer happen.
fn is_over(id: &str) -> bool {
    let start = id.parse::<TransactionId>().ok();
    let start = start.and_then(|id| id.valid_start).unwrap_or_default();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    start.seconds.unsigned_abs() + NEVER_AFTER < now.as_secs()
}

//! One step on the ledger, which happens once: its id is in the store before it is sent, and what became of it is found by that id.

use inbox_core::{Code, Refusal};
use inbox_hcs::{Operation, TopicId, TransactionMemo};
use inbox_hedera::client::{Asking, ExecuteError};
use inbox_hedera::proto::{Code as Outcome, CustomFeeLimit, Data, TransactionId};
use inbox_ops::Inbox;
use inbox_store::{ConnectionRow, FailPoint, ProposalRow};

use super::super::Bridge;
use super::super::once::{MIRROR_PATIENCE, is_over};
use crate::Hbar;
use crate::net::Net;
use crate::told::Told;

/// Where a step's id is kept.
pub(super) trait Slot {
    /// The id of what was begun, if that is this step.
    fn begun(&self, step: &str) -> Option<String>;

    /// Keeps the id of what is begun, or that nothing is. Whether nobody else has gone on meanwhile.
    fn keep(&mut self, inbox: &Inbox, step: &str, id: Option<String>) -> Result<bool, Refusal>;
}

impl Slot for ConnectionRow {
    fn begun(&self, step: &str) -> Option<String> {
        self.step_id
            .clone()
            .filter(|_| self.step.as_deref() == Some(step))
    }

    fn keep(&mut self, inbox: &Inbox, step: &str, id: Option<String>) -> Result<bool, Refusal> {
        self.step = id.is_some().then(|| step.to_owned());
        self.step_id = id;
        inbox.set_connection(self)
    }
}

impl Slot for ProposalRow {
    fn begun(&self, _step: &str) -> Option<String> {
        self.step_id.clone()
    }

    fn keep(&mut self, inbox: &Inbox, _step: &str, id: Option<String>) -> Result<bool, Refusal> {
        self.step_id = id;
        inbox.set_proposal(self)
    }
}

/// What a step does.
pub(super) enum Act {
    /// It writes on a topic.
    Write {
        topic: TopicId,
        text: String,
        memo: String,
        limits: Vec<CustomFeeLimit>,
    },
    /// It does something else.
    Do(Box<Data>),
}

impl Act {
    /// Writes an operation on a topic of one's own.
    pub(super) fn record(topic: TopicId, operation: &Operation) -> Result<Self, Refusal> {
        Ok(Act::Write {
            topic,
            text: operation.write().told()?,
            memo: TransactionMemo::of(operation).to_string(),
            limits: Vec::new(),
        })
    }

    /// Writes an operation on a topic that may take so much for it.
    pub(super) fn tell(
        net: &Net,
        topic: TopicId,
        operation: &Operation,
        most: Hbar,
    ) -> Result<Self, Refusal> {
        let text = operation.write().told()?;
        Ok(Act::Write {
            limits: net.limits(topic, text.len(), most)?,
            topic,
            text,
            memo: TransactionMemo::of(operation).to_string(),
        })
    }
}

/// What a step made.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Made {
    pub(super) topic: Option<TopicId>,
    pub(super) sequence: Option<i64>,
}

/// Why a step did not happen.
pub(super) enum Undone {
    /// It was carried out and refused, and is not begun any more.
    Failed(Outcome, Refusal),
    /// It is not known, or was not possible now.
    Refused(Refusal),
    /// Another has gone on meanwhile.
    Lost,
}

impl From<Refusal> for Undone {
    fn from(refusal: Refusal) -> Self {
        Undone::Refused(refusal)
    }
}

impl Bridge<'_> {
    /// Has a step carried out, or finds that it was.
    pub(super) fn carry_out(
        &self,
        net: &Net,
        slot: &mut impl Slot,
        step: &str,
        act: &Act,
    ) -> Result<Made, Undone> {
        let mut id = None;
        if let Some(text) = slot.begun(step)
            && let Ok(begun) = text.parse::<TransactionId>()
        {
            if is_over(&begun) {
                // It can no longer happen: what the mirror has is all that there is.
                match net.mirror().outcome(&begun, MIRROR_PATIENCE).told()? {
                    Some(facts) if facts.is_done() => {
                        let topic = facts.entity.as_deref();
                        let topic = topic.and_then(|topic| topic.parse().ok());
                        return Ok(Made {
                            topic,
                            sequence: None,
                        });
                    }
                    _ => {}
                }
            } else {
                id = Some(begun);
            }
        }
        let id = if let Some(id) = id {
            id
        } else {
            let id = net.next_id();
            if !slot.keep(self.inbox, step, Some(id.to_string()))? {
                return Err(Undone::Lost);
            }
            id
        };
        self.reach(FailPoint::LedgerBeforeSend)?;
        let made = match perform(net, id, act) {
            Ok(made) => made,
            // It may be on its way: its id stays until its time is over.
            Err((None, refusal)) => return Err(refusal.into()),
            Err((Some(outcome), refusal)) => {
                if !slot.keep(self.inbox, step, None)? {
                    return Err(Undone::Lost);
                }
                return Err(Undone::Failed(outcome, refusal));
            }
        };
        self.reach(FailPoint::LedgerAfterReceipt)?;
        Ok(made)
    }
}

/// Has a transaction carried out. Where it was and was refused, the outcome is there, too.
fn perform(net: &Net, id: TransactionId, act: &Act) -> Result<Made, (Option<Outcome>, Refusal)> {
    let outcome = |error: Option<&ExecuteError>| match error {
        Some(ExecuteError::Failed(happened)) => Some(Outcome::from(happened.receipt.status)),
        _ => None,
    };
    match act {
        Act::Do(data) => {
            let asking = Asking::of(Data::clone(data));
            let happened = net.wait_for(net.client().execute_as(id, &asking));
            let happened = happened.map_err(|error| {
                let outcome = outcome(Some(&error));
                (outcome, told(Err(error)))
            })?;
            net.remember(happened.id.clone());
            Ok(Made {
                topic: happened.receipt.topic_id.and_then(|id| id.id()),
                sequence: None,
            })
        }
        Act::Write {
            topic,
            text,
            memo,
            limits,
        } => {
            let said = net.write_as(id.clone(), *topic, text.as_bytes(), memo, limits);
            let sequence = said.map_err(|error| {
                let outcome = outcome(error.execute());
                (outcome, told(Err(error)))
            })?;
            net.remember(id);
            Ok(Made {
                topic: None,
                sequence: i64::try_from(sequence.get()).ok(),
            })
        }
    }
}

fn told<E>(error: Result<(), E>) -> Refusal
where
    Result<(), E>: Told<()>,
{
    match error.told() {
        Err(refusal) => refusal,
        Ok(()) => Refusal::new(Code::Internal, "an error that is none"),
    }
}

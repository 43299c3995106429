//! Transactions that one party proposes and another signs: what they would do is read from their bytes, never from what is said of them.

use std::ops::ControlFlow;

use inbox_core::{Code, Refusal};
use inbox_hcs::{
    AccountId, Data, Message, Operation, Place, ScheduleId, Sequence, Standing, Timestamp, TopicId,
    Transaction, read, standing,
};
use inbox_hedera::mirror::ScheduleFacts;
use inbox_hedera::proto::{
    CryptoTransferBody, Data as Asked, Schedulable, SchedulableBody, ScheduleCreateBody,
    ScheduleSignBody,
};
use serde_json::json;

use super::cost::{bill, is_understood, sort_of};
use super::{Agent, envelope};
use crate::told::{Told, named};
use crate::{Hbar, history, net};

/// What a proposed transaction may cost at most, in tinybars.
const FEE: u64 = 100_000_000;

/// What a rejection is called among messages.
pub(crate) const REJECTED: &str = "transaction.rejected";

/// HBAR from one account to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Who gives.
    pub from: AccountId,
    /// Who gets.
    pub to: AccountId,
    /// How much.
    pub amount: Hbar,
}

/// A transaction that waits for a signature.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// Where it was proposed.
    pub topic: TopicId,
    /// By which message.
    pub sequence: Sequence,
    /// Who proposes it.
    pub by: AccountId,
    /// The schedule.
    pub schedule: ScheduleId,
    /// What is said of it.
    pub said: String,
    /// What it would do, from its bytes.
    pub does: Vec<String>,
    /// Of which sort it is, as signers are named for it.
    pub sort: &'static str,
    /// What it takes at the most of whoever signs, in tinybars; nothing where there is no bound.
    pub most: Option<i64>,
    /// Whether that is all that it would do.
    pub is_understood: bool,
    /// When it was carried out.
    pub executed_at: Option<Timestamp>,
    /// Whether it was taken back.
    pub is_deleted: bool,
}

/// A proposal that was signed.
#[derive(Debug, Clone, PartialEq)]
pub struct Approved {
    /// What was signed.
    pub proposal: Proposal,
    /// Whether that was the last signature it needed.
    pub is_executed: bool,
}

impl Agent<'_> {
    /// Schedules a transfer, signs it, and proposes it to the other party.
    pub fn propose(
        &self,
        topic: TopicId,
        transfer: Transfer,
        said: Option<String>,
    ) -> Result<(ScheduleId, Sequence), Refusal> {
        self.enter(topic)?;
        if transfer.amount <= Hbar::default() {
            return Err(Refusal::input("a transfer of nothing needs no signature"));
        }
        let body = net::transfer(transfer.from, transfer.to, transfer.amount);
        let scheduled = SchedulableBody {
            transaction_fee: FEE,
            data: Some(Schedulable::CryptoTransfer(body)),
            ..SchedulableBody::default()
        };
        let said = said.unwrap_or_else(|| describe(&scheduled).join("; "));
        let happened = self
            .net
            .execute_schedule(Asked::ScheduleCreate(ScheduleCreateBody {
                scheduled: Some(scheduled),
                payer_account_id: Some(self.me.account.into()),
                admin_key: Some(self.net.public_key()?),
                ..ScheduleCreateBody::default()
            }))?;
        let schedule = named(
            happened.receipt.schedule_id.and_then(|id| id.id()),
            "a schedule",
        )?;
        let sequence = self.propose_schedule(topic, schedule, said)?;
        Ok((schedule, sequence))
    }

    /// Proposes a schedule that is there already.
    pub fn propose_schedule(
        &self,
        topic: TopicId,
        schedule: ScheduleId,
        said: String,
    ) -> Result<Sequence, Refusal> {
        let operation = Operation::Transaction(Transaction {
            operator: self.operator(),
            schedule,
            data: Data::new(said),
            memo: None,
        });
        self.submit(topic, &operation)
    }

    /// A proposal on a connection, with what it would do.
    pub fn proposal(&self, topic: TopicId, sequence: Sequence) -> Result<Proposal, Refusal> {
        let connection = self.enter(topic)?;
        let none = |why: String| {
            Refusal::new(
                Code::MessageNotFound,
                format!("message {sequence} on {topic} is no proposal: {why}"),
            )
            .hint(format!("inbox hcs read {topic} shows what was said"))
        };
        let mut found = None;
        history::messages(self.net.mirror(), topic, None, |said| {
            if said.sequence == sequence {
                found = Some(said);
                return Ok(ControlFlow::Break(()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let said = found.ok_or_else(|| none("there is no such message".into()))?;
        let (operation, _) =
            read(&said.bytes, Place::Connection).map_err(|refused| none(refused.to_string()))?;
        let Operation::Transaction(proposed) = &operation else {
            return Err(none("it says something else".into()));
        };
        let is_party =
            connection.other == Some(said.payer) || connection.guests.contains(&said.payer);
        let is_verified = matches!(
            standing(&operation, said.payer, None),
            Standing::Verified(_)
        );
        if !is_verified || !(is_party || said.payer == self.me.account) {
            let payer = said.payer;
            return Err(Refusal::new(
                Code::NotAllowed,
                format!(
                    "message {sequence} on {topic} was paid by {payer}, who is not whom it names or no party here"
                ),
            ));
        }
        let facts = self.schedule(proposed.schedule)?;
        let key = self.net.key().public().told()?;
        let (mirror, own) = (self.net.mirror(), Some(self.me.account));
        let bill = bill(mirror, &facts, said.payer, own, Some(&key))?;
        Ok(Proposal {
            topic,
            sequence,
            by: said.payer,
            schedule: proposed.schedule,
            said: proposed.data.as_str().to_owned(),
            sort: sort_of(&facts.body),
            most: bill.most,
            is_understood: is_understood(&facts.body),
            does: bill.does,
            executed_at: facts.executed_at,
            is_deleted: facts.is_deleted,
        })
    }

    fn schedule(&self, id: ScheduleId) -> Result<ScheduleFacts, Refusal> {
        let found = self.net.mirror().schedule(id).told()?;
        found.ok_or_else(|| Refusal::new(Code::TopicNotFound, format!("there is no schedule {id}")))
    }

    /// Signs a proposal that was looked at.
    pub fn approve(&self, proposal: Proposal) -> Result<Approved, Refusal> {
        let id = proposal.schedule;
        if proposal.is_deleted || proposal.executed_at.is_some() {
            let how = if proposal.is_deleted {
                "was taken back"
            } else {
                "was carried out already"
            };
            return Err(Refusal::new(
                Code::AlreadyExists,
                format!("schedule {id} {how}"),
            ));
        }
        if !proposal.is_understood {
            return Err(Refusal::new(
                Code::NotAllowed,
                format!(
                    "what schedule {id} takes, and of whom, cannot be told, so it cannot be approved"
                ),
            )
            .hint("inbox hcs reject CONNECTION NUMBER tells the other; dismiss only hides it"));
        }
        // What it takes may have changed since it was shown: a topic's fees do.
        let now = self.proposal(proposal.topic, proposal.sequence)?;
        if now.does != proposal.does {
            return Err(Refusal::new(
                Code::NotAllowed,
                format!("schedule {id} is not what was shown, and was not signed"),
            )
            .hint("inbox hcs approve CONNECTION NUMBER shows what it is now"));
        }
        self.net
            .execute_schedule(Asked::ScheduleSign(ScheduleSignBody {
                schedule_id: Some(id.into()),
            }))?;
        self.net.catch_up();
        let is_executed = self.schedule(id)?.executed_at.is_some();
        Ok(Approved {
            proposal,
            is_executed,
        })
    }

    /// Says no to a proposal.
    pub fn reject(&self, proposal: &Proposal, reason: &str) -> Result<Sequence, Refusal> {
        let payload = [
            ("schedule_id", json!(proposal.schedule.to_string())),
            ("sequence_number", json!(proposal.sequence.get())),
        ];
        let message = Operation::Message(Message {
            operator: self.operator(),
            data: envelope(REJECTED, reason, payload),
            memo: None,
        });
        self.submit(proposal.topic, &message)
    }
}

/// What a scheduled transaction would do, a line for each thing.
pub fn describe(body: &SchedulableBody) -> Vec<String> {
    let mut lines = match &body.data {
        Some(Schedulable::CryptoTransfer(transfer)) => transfers(transfer),
        Some(Schedulable::SubmitMessage(submit)) => {
            let topic = submit.topic_id.unwrap_or_default();
            let bytes = submit.message.len();
            let text = String::from_utf8_lossy(&submit.message);
            let mut lines = vec![format!(
                "write {bytes} bytes on topic {}: {text:?}",
                three(topic.shard, topic.realm, topic.num)
            )];
            if let Some(piece) = &submit.chunk_info {
                let (number, total) = (piece.number, piece.total);
                let id = piece.initial_transaction_id.clone().unwrap_or_default();
                lines.push(format!(
                    "as piece {number} of {total} of the message that {id} begins"
                ));
            }
            lines
        }
        Some(Schedulable::CryptoCreate(create)) => {
            let balance = i64::try_from(create.initial_balance).unwrap_or(i64::MAX);
            vec![format!(
                "create an account with {}",
                Hbar::from_tinybars(balance)
            )]
        }
        Some(Schedulable::CryptoUpdate(update)) => {
            let account = update.account_id.clone().unwrap_or_default();
            let mut lines = vec![format!("change account {account}")];
            if update.key.is_some() {
                lines.push("its key becomes another".to_owned());
            }
            if let Some(memo) = &update.memo {
                lines.push(format!("its memo becomes {:?}", memo.value));
            }
            lines
        }
        Some(Schedulable::CreateTopic(create)) => vec![format!("create a topic {:?}", create.memo)],
        Some(Schedulable::UpdateTopic(update)) => {
            let topic = update.topic_id.unwrap_or_default();
            vec![format!(
                "change topic {}",
                three(topic.shard, topic.realm, topic.num)
            )]
        }
        Some(Schedulable::DeleteTopic(delete)) => {
            let topic = delete.topic_id.unwrap_or_default();
            vec![format!(
                "delete topic {}",
                three(topic.shard, topic.realm, topic.num)
            )]
        }
        Some(Schedulable::ScheduleDelete(delete)) => {
            let schedule = delete.schedule_id.unwrap_or_default();
            vec![format!(
                "delete schedule {}",
                three(schedule.shard, schedule.realm, schedule.num)
            )]
        }
        None => vec!["nothing".to_owned()],
    };
    // Whoever signs a change of keys or rules must see all of it, and there are too many fields for sentences.
    match &body.data {
        Some(Schedulable::CryptoCreate(all)) => lines.push(format!("in full: {all:?}")),
        Some(Schedulable::CryptoUpdate(all)) => lines.push(format!("in full: {all:?}")),
        Some(Schedulable::CreateTopic(all)) => lines.push(format!("in full: {all:?}")),
        Some(Schedulable::UpdateTopic(all)) => lines.push(format!("in full: {all:?}")),
        Some(
            Schedulable::CryptoTransfer(_)
            | Schedulable::SubmitMessage(_)
            | Schedulable::DeleteTopic(_)
            | Schedulable::ScheduleDelete(_),
        )
        | None => {}
    }
    if !body.memo.is_empty() {
        lines.push(format!("with the memo {:?}", body.memo));
    }
    lines
}

fn three(shard: i64, realm: i64, num: i64) -> String {
    format!("{shard}.{realm}.{num}")
}

fn transfers(transfer: &CryptoTransferBody) -> Vec<String> {
    let amounts = transfer.transfers.iter().flat_map(|list| &list.amounts);
    let mut lines: Vec<String> = amounts
        .map(|one| {
            let account = one.account_id.clone().unwrap_or_default();
            let amount = Hbar::from_tinybars(one.amount.saturating_abs());
            let verb = if one.amount < 0 { "gives" } else { "gets" };
            format!("{account} {verb} {amount}")
        })
        .collect();
    // What has one line each in the consoles stands before what has none.
    let amounts = transfer.transfers.iter().flat_map(|list| &list.amounts);
    let spent = amounts.filter(|one| one.is_approval);
    lines.extend(spent.map(|one| {
        let account = one.account_id.clone().unwrap_or_default();
        format!("what {account} gives, it gives by an allowance")
    }));
    for list in &transfer.token_transfers {
        let token = list.token.unwrap_or_default();
        let token = three(token.shard, token.realm, token.num);
        for one in &list.transfers {
            let account = one.account_id.clone().unwrap_or_default();
            let verb = if one.amount < 0 { "gives" } else { "gets" };
            let amount = one.amount.unsigned_abs();
            let how = if one.is_approval {
                ", by an allowance"
            } else {
                ""
            };
            lines.push(format!(
                "{account} {verb} {amount} of the token {token}{how}"
            ));
        }
        lines.push(format!("the token {token} may have fees of its own"));
    }
    lines
}

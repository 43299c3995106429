//! Transactions that others want signed: shown by the network's own bytes, decided by whoever may, and followed to their end.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use inbox_core::record::Millis;
use inbox_core::{Code, Refusal};
use inbox_hcs::{Message, Operation, OperatorId, ScheduleId, TopicId};
use inbox_hedera::mirror::{MirrorError, ScheduleFacts};
use inbox_hedera::proto::{Code as Outcome, Data as Asked, Schedulable, ScheduleSignBody};
use inbox_ops::ledger::Seen;
use inbox_store::{ConnectionRow, ProposalRow, ProposalState};
use serde_json::json;

use super::super::{Bridge, Turn};
use super::step::{Act, Undone};
use super::{MOST, Went, kept, pause, went};
use crate::agent::{Bill, REJECTED, bill, envelope, is_understood, sort_of};
use crate::told::Told;

/// How long a schedule lives that does not say it, in seconds.
const USUAL_LIFE: u64 = 1_800;

/// What is known of a schedule.
enum Known {
    Schedule(Box<ScheduleFacts>),
    /// There is none.
    Missing,
    /// Its bytes hold more than is known here, or take of somebody whom only the network can name.
    Undecodable,
}

/// How a schedule ended, where it has.
enum Fate {
    Executed,
    Deleted,
    Expired,
}

impl Bridge<'_> {
    /// Goes on with the proposals to these agents.
    pub(super) fn sign(&self, agents: &HashSet<&str>, turn: &mut Turn) -> Result<(), Refusal> {
        for mut row in self.inbox.proposals_due(MOST)? {
            if !agents.contains(row.agent.as_str()) {
                continue;
            }
            let Some(connection) = self.inbox.connection_of(&row)? else {
                continue;
            };
            let outcome = loop {
                match self.go_on_signing(&mut row, &connection) {
                    Ok(Went::On) => turn.sent += 1,
                    Ok(Went::Waits) | Err(Undone::Lost) => break Ok(()),
                    Err(Undone::Failed(_, refusal) | Undone::Refused(refusal)) => {
                        break Err(refusal);
                    }
                }
            };
            if let Err(refusal) = outcome {
                if refusal.code == Code::Storage {
                    return Err(refusal);
                }
                turn.problems += 1;
                row.next_at = Millis(self.inbox.now()?.0 + pause(row.tries));
                row.tries += 1;
                row.problem = Some(refusal.message);
                self.inbox.set_proposal(&mut row)?;
            }
        }
        Ok(())
    }

    fn go_on_signing(
        &self,
        row: &mut ProposalRow,
        connection: &ConnectionRow,
    ) -> Result<Went, Undone> {
        match row.state {
            ProposalState::Found => Ok(self.look_at(row, connection)?),
            ProposalState::Open | ProposalState::Signed => Ok(self.follow(row, connection)?),
            ProposalState::Approving => self.approve(row, connection),
            ProposalState::Rejecting => self.reject(row, connection),
            ProposalState::Executed
            | ProposalState::Rejected
            | ProposalState::Dismissed
            | ProposalState::Gone
            | ProposalState::Undecodable => Ok(Went::Waits),
        }
    }

    fn schedule(&self, row: &ProposalRow) -> Result<Known, Refusal> {
        let id: ScheduleId = kept(&row.schedule)?;
        match self.mirror.schedule(id) {
            Ok(Some(facts)) if is_understood(&facts.body) => Ok(Known::Schedule(Box::new(facts))),
            Ok(Some(_)) => Ok(Known::Undecodable),
            Ok(None) => Ok(Known::Missing),
            Err(MirrorError::Form { field, .. }) if field == "/transaction_body" => {
                Ok(Known::Undecodable)
            }
            Err(error) => Err(error).told(),
        }
    }

    /// Looks at what was proposed, and asks whoever may decide.
    fn look_at(&self, row: &mut ProposalRow, connection: &ConnectionRow) -> Result<Went, Refusal> {
        let facts = match self.schedule(row)? {
            Known::Schedule(facts) => facts,
            Known::Missing => {
                let said = format!("was proposed by {}, and is not there", row.proposer);
                return self.report(row, connection, ProposalState::Gone, &said);
            }
            Known::Undecodable => {
                let unseen = Seen::default();
                return Ok(went(
                    self.inbox.ask_about_proposal(row, connection, &unseen)?,
                ));
            }
        };
        if let Some(fate) = fate(&facts) {
            let (state, how) = ended(&fate);
            let said = format!("was proposed by {}, and {how}", row.proposer);
            return self.report(row, connection, state, &said);
        }
        let bill = self.bill(row, &facts)?;
        row.sort = Some(sort_of(&facts.body).to_owned());
        row.amount = bill.most;
        row.does = Some(bill.does.join("\n"));
        let asked = self
            .inbox
            .ask_about_proposal(row, connection, &seen(&facts))?;
        Ok(went(asked))
    }

    /// What a schedule would do, and what it takes of the agent that is asked.
    fn bill(&self, row: &ProposalRow, facts: &ScheduleFacts) -> Result<Bill, Refusal> {
        let own = self.inbox.agent_account(&row.agent)?;
        let own = own.as_deref().map(kept).transpose()?;
        let key = match self.speaker(&row.agent) {
            Ok(speaker) => Some(speaker.net.key().public().told()?),
            Err(refusal) if refusal.code == Code::Ledger => return Err(refusal),
            // Another bridge has its key.
            Err(_) => None,
        };
        bill(&self.mirror, facts, kept(&row.proposer)?, own, key.as_ref())
    }

    fn report(
        &self,
        row: &mut ProposalRow,
        connection: &ConnectionRow,
        state: ProposalState,
        said: &str,
    ) -> Result<Went, Refusal> {
        let told = self.inbox.report_proposal(row, connection, state, said)?;
        Ok(went(told))
    }

    /// Looks what became of a schedule that waits for signatures.
    fn follow(&self, row: &mut ProposalRow, connection: &ConnectionRow) -> Result<Went, Refusal> {
        if let Known::Schedule(facts) = self.schedule(row)?
            && let Some(fate) = fate(&facts)
        {
            let (state, how) = ended(&fate);
            return self.report(row, connection, state, how);
        }
        (row.tries, row.problem) = (0, None);
        row.next_at = self.inbox.look_later()?;
        self.inbox.set_proposal(row)?;
        Ok(Went::Waits)
    }

    /// Signs what was approved, if it is what was shown.
    fn approve(&self, row: &mut ProposalRow, connection: &ConnectionRow) -> Result<Went, Undone> {
        let agent = row.agent.clone();
        let speaker = self.speaker(&agent)?;
        if row.step_id.is_none() {
            let facts = match self.schedule(row)? {
                Known::Schedule(facts) => facts,
                Known::Missing | Known::Undecodable => {
                    let said = "is not what it was, and was not signed";
                    return Ok(self.report(row, connection, ProposalState::Gone, said)?);
                }
            };
            if let Some(fate) = fate(&facts) {
                let (state, how) = ended(&fate);
                let said = format!("was not signed: it {how}");
                return Ok(self.report(row, connection, state, &said)?);
            }
            // A topic's fees may have changed since, and are in it.
            let now = self.bill(row, &facts)?;
            if row.does.as_deref() != Some(&now.does.join("\n")) || row.amount != now.most {
                let said = "is not what was shown, and was not signed";
                return Ok(self.report(row, connection, ProposalState::Gone, said)?);
            }
        }
        let schedule: ScheduleId = kept(&row.schedule)?;
        let act = Act::Do(Box::new(Asked::ScheduleSign(ScheduleSignBody {
            schedule_id: Some(schedule.into()),
        })));
        match self.carry_out(&speaker.net, row, "signature", &act) {
            // A signature that is there already is as good.
            Ok(_)
            | Err(Undone::Failed(
                Outcome::NoNewValidSignatures | Outcome::ScheduleAlreadyExecuted,
                _,
            )) => {}
            Err(Undone::Failed(_, refusal)) => {
                let said = format!("could not be signed: {}", refusal.message);
                return Ok(self.report(row, connection, ProposalState::Gone, &said)?);
            }
            Err(undone) => return Err(undone),
        }
        speaker.net.catch_up();
        let fate = match self.schedule(row)? {
            Known::Schedule(facts) => fate(&facts),
            Known::Missing | Known::Undecodable => None,
        };
        let (state, said) = match fate {
            Some(Fate::Executed) => (ProposalState::Executed, "is signed, and was carried out"),
            Some(fate) => (ended(&fate).0, "is signed, and was not carried out in time"),
            None => (
                ProposalState::Signed,
                "is signed, and waits for the signatures of others",
            ),
        };
        self.report(row, connection, state, said)?;
        Ok(Went::Waits)
    }

    /// Tells the other parties that it is not signed.
    fn reject(&self, row: &mut ProposalRow, connection: &ConnectionRow) -> Result<Went, Undone> {
        let (agent, most) = (row.agent.clone(), self.most());
        let speaker = self.speaker(&agent)?;
        let topic: TopicId = kept(row.topic.as_deref().unwrap_or_default())?;
        let reason = row.reason.clone();
        let reason = reason.unwrap_or_else(|| "it is not signed".to_owned());
        let payload = [
            ("schedule_id", json!(row.schedule)),
            ("sequence_number", json!(row.sequence)),
        ];
        let message = Operation::Message(Message {
            operator: OperatorId {
                inbound_topic: speaker.me.inbound_topic,
                account: speaker.me.account,
            },
            data: envelope(REJECTED, &reason, payload),
            memo: None,
        });
        let act = Act::tell(&speaker.net, topic, &message, most)?;
        self.carry_out(&speaker.net, row, "rejection", &act)?;
        let said = "was rejected, and the other is told";
        self.report(row, connection, ProposalState::Rejected, said)?;
        Ok(Went::Waits)
    }
}

/// How a schedule ended, where it has.
fn fate(facts: &ScheduleFacts) -> Option<Fate> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_secs();
    if facts.executed_at.is_some() {
        Some(Fate::Executed)
    } else if facts.is_deleted {
        Some(Fate::Deleted)
    } else {
        (end(facts) < now).then_some(Fate::Expired)
    }
}

/// When a schedule's time is over, in seconds.
fn end(facts: &ScheduleFacts) -> u64 {
    match facts.expires_at {
        Some(end) => end.seconds(),
        None => facts.created_at.seconds() + USUAL_LIFE,
    }
}

/// What people see of a schedule beside what it would do.
fn seen(facts: &ScheduleFacts) -> Seen {
    let transfers = match &facts.body.data {
        Some(Schedulable::CryptoTransfer(transfer)) => transfer.transfers.as_ref(),
        _ => None,
    };
    let parties = transfers.iter().flat_map(|list| &list.amounts);
    let ends = end(facts).saturating_mul(1_000);
    Seen {
        expires_at: i64::try_from(ends).ok().map(Millis),
        parties: parties
            .map(|one| {
                let account = one.account_id.clone().unwrap_or_default();
                (account.to_string(), one.amount)
            })
            .collect(),
    }
}

fn ended(fate: &Fate) -> (ProposalState, &'static str) {
    match fate {
        Fate::Executed => (ProposalState::Executed, "was carried out"),
        Fate::Deleted => (ProposalState::Gone, "was taken back"),
        Fate::Expired => (ProposalState::Gone, "has expired"),
    }
}

//! What others do to connections: they answer, and they end them.

use std::ops::ControlFlow;

use inbox_core::record::Millis;
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use inbox_hcs::{
    Assembler, CloseMethod, ClosedRecord, CreatedRecord, Operation, OperatorId, Place, TopicId,
    read,
};
use inbox_hedera::key::PublicKey;
use inbox_hedera::proto::{Key, KeyKind};
use inbox_ops::ledger::Ending;
use inbox_store::{ConnectionRow, ConnectionState};

use super::super::Bridge;
use super::step::{Act, Undone};
use super::{Went, kept, sequence, went};
use crate::history;
use crate::peer::peer;
use crate::told::Told;

/// How often it is looked whether another has answered, and whether a connection goes on, in milliseconds.
const ANSWER_MS: i64 = 5_000;
const LOOK_MS: i64 = 30_000;

/// How many messages of another's inbound topic are read in one look: anybody may write there.
const MOST_READ: usize = 2_000;

impl Bridge<'_> {
    /// Looks on the inbound topic of whom an agent here has asked whether it was accepted.
    pub(super) fn await_answer(&self, row: &mut ConnectionRow) -> Result<Went, Refusal> {
        let (_, operator) = match self.other(row)? {
            Ok(found) => found,
            Err(reason) => {
                let problem = format!("{} is no agent any more: {reason}", row.other);
                return Err(Refusal::new(Code::AgentNotFound, problem));
            }
        };
        let topic: TopicId = kept(&row.inbound)?;
        if operator.inbound_topic != topic {
            let problem = format!(
                "{} hears on {}, not on {topic}",
                row.other, operator.inbound_topic
            );
            return Err(Refusal::new(Code::InvalidWire, problem));
        }
        let own = self.inbox.agent_account(&row.agent)?.unwrap_or_default();
        let request = sequence(row.request)?;
        let after = sequence(row.reached.max(row.request))?;
        let (mut found, mut seen, mut last) = (None, 0, after);
        // Only who was asked can answer: messages that others begin and never end hold up nothing.
        let mut assembler = Assembler::default();
        history::pieces(&self.mirror, topic, Some(after), |message| {
            if message.sequence.get() != last.get() + 1 {
                let (found, last) = (message.sequence, last.get());
                let problem = format!("message {found} of {topic} follows {last} on the mirror");
                return Err(Refusal::new(Code::Ledger, problem));
            }
            (seen, last) = (seen + 1, message.sequence);
            if message.payer == operator.account
                && let Ok(Some(whole)) = assembler.add_at(
                    (message.sequence, message.time),
                    message.payer,
                    history::piece(message),
                    &message.message,
                )
                && let Ok((Operation::ConnectionCreated(created), _)) =
                    read(&whole.bytes, Place::Inbound)
                && created.connection == request
                && created.operator.account == operator.account
                && created.connected_account.to_string() == own
            {
                found = Some((created.connection_topic, whole.last));
                return Ok(ControlFlow::Break(()));
            }
            let is_enough = seen >= MOST_READ;
            Ok(if is_enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        let done = assembler
            .first_open()
            .map_or(last.get(), |open| open.get() - 1);
        row.reached = row.reached.max(i64::try_from(done).unwrap_or(i64::MAX));
        if row.other_name.is_none() {
            let name = peer(&self.mirror, operator.account)?.profile.display_name;
            let name: String = name.chars().take(100).collect();
            row.other_name = Some(visible(&name, false).into_owned());
        }
        (row.tries, row.problem) = (0, None);
        let Some((made, confirmed)) = found else {
            row.next_at = Millis(self.inbox.now()?.0 + ANSWER_MS);
            self.inbox.set_connection(row)?;
            return Ok(Went::Waits);
        };
        row.topic = Some(made.to_string());
        row.confirmed = i64::try_from(confirmed.get()).ok();
        row.state = ConnectionState::Recording;
        Ok(went(self.inbox.set_connection(row)?))
    }

    /// Records what the other has confirmed.
    pub(super) fn record(&self, row: &mut ConnectionRow) -> Result<Went, Undone> {
        let agent = row.agent.clone();
        let speaker = self.speaker(&agent)?;
        let other = OperatorId {
            inbound_topic: kept(&row.inbound)?,
            account: kept(&row.other)?,
        };
        let record = Operation::CreatedRecord(CreatedRecord {
            connection_topic: kept(row.topic.as_deref().unwrap_or_default())?,
            outbound_topic: speaker.me.outbound_topic,
            requestor_outbound_topic: Some(speaker.me.outbound_topic),
            confirmed_request: row.confirmed.map(sequence).transpose()?,
            request: sequence(row.request)?,
            operator: Some(other),
            memo: None,
        });
        let act = Act::record(speaker.me.outbound_topic, &record)?;
        self.carry_out(&speaker.net, row, "record", &act)?;
        self.open(row)
    }

    /// Looks whether the agent may still write: who takes the key away ends a connection, too.
    pub(super) fn look_at_keys(&self, row: &mut ConnectionRow) -> Result<Went, Refusal> {
        let agent = row.agent.clone();
        let own = self.speaker(&agent)?.net.key().public().told()?;
        let topic: TopicId = kept(row.topic.as_deref().unwrap_or_default())?;
        let facts = self.mirror.topic(topic).told()?;
        let why = match facts {
            Some(facts) if !facts.is_deleted => match &facts.submit_key {
                Some(key) if !is_enough(key, &own) => Some("it let nobody else write any more"),
                _ => None,
            },
            _ => Some("its topic was deleted"),
        };
        if let Some(why) = why {
            let by = row.other.clone();
            let ending = Ending {
                by: &by,
                reason: Some(why),
                is_recorded: false,
            };
            return Ok(went(self.inbox.end_connection(row, &ending)?));
        }
        (row.tries, row.problem) = (0, None);
        row.next_at = Millis(self.inbox.now()?.0 + LOOK_MS);
        self.inbox.set_connection(row)?;
        Ok(Went::Waits)
    }

    /// Records that a connection has ended.
    pub(super) fn record_end(&self, row: &mut ConnectionRow) -> Result<Went, Undone> {
        let agent = row.agent.clone();
        let speaker = self.speaker(&agent)?;
        let record = Operation::ClosedRecord(ClosedRecord {
            connection_topic: kept(row.topic.as_deref().unwrap_or_default())?,
            method: CloseMethod::Explicit,
            operator: OperatorId {
                inbound_topic: speaker.me.inbound_topic,
                account: speaker.me.account,
            },
            reason: row.reason.clone(),
            memo: None,
        });
        let act = Act::record(speaker.me.outbound_topic, &record)?;
        self.carry_out(&speaker.net, row, "end", &act)?;
        row.state = ConnectionState::Closed;
        self.next(row)
    }
}

/// Whether one key alone is enough for what this guards.
fn is_enough(guard: &Key, own: &PublicKey) -> bool {
    match &guard.key {
        Some(KeyKind::Threshold(threshold)) => {
            let keys = threshold.keys.iter().flat_map(|list| &list.keys);
            let enough = keys.filter(|key| is_enough(key, own)).count();
            u32::try_from(enough).is_ok_and(|enough| enough >= threshold.threshold.max(1))
        }
        Some(KeyKind::List(list)) => {
            !list.keys.is_empty() && list.keys.iter().all(|key| is_enough(key, own))
        }
        _ => guard.leaf().is_some_and(|key| key == *own),
    }
}

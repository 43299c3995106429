//! What a bridge does with connections: it finds what is due, and writes down how far each has come.

use inbox_core::{AgentName, Kind, MessageId, Refusal};
use inbox_store::{Abort, ConnectionRow, ConnectionState, ProposalRow, RecordState, Tx};
use serde_json::json;

use super::answer::NEVER;
use super::connect::{Ending, Line, shown};
use crate::call::Inbox;

/// A connection, and who its agent here is on the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The connection.
    pub row: ConnectionRow,
    /// The account of the agent here.
    pub account: Option<String>,
    /// The topic on which it hears.
    pub inbound: Option<String>,
}

impl Inbox {
    /// The connections with which something is to be done now.
    pub fn connections_due(&self, most: i64) -> Result<Vec<ConnectionRow>, Refusal> {
        self.store().read(|tx| Ok(tx.connections_due(most)?))
    }

    /// The connections whose parties talk on a topic.
    pub fn connections_on(&self, topic: &str) -> Result<Vec<Seat>, Refusal> {
        self.store().read(|tx| {
            let mut found = Vec::new();
            for row in tx.connections_on(topic)? {
                let agent = tx.agents(Some(&row.agent))?.into_iter().next();
                let agent = agent.map(|details| details.agent);
                found.push(Seat {
                    account: agent.as_ref().and_then(|agent| agent.account_id.clone()),
                    inbound: agent.and_then(|agent| agent.inbound_topic_id),
                    row,
                });
            }
            Ok(found)
        })
    }

    /// The account of an agent here.
    pub fn agent_account(&self, name: &AgentName) -> Result<Option<String>, Refusal> {
        self.store().read(|tx| {
            let found = tx.agents(Some(name))?.into_iter().next();
            Ok(found.and_then(|details| details.agent.account_id))
        })
    }

    /// Writes down where a connection stands. Whether it was still as it was.
    pub fn set_connection(&self, row: &mut ConnectionRow) -> Result<bool, Refusal> {
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.rev = row.rev;
            Ok(tx.set_connection(&mut kept)?)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// Opens a connection that stands on the ledger and is recorded there. Whether it was still as it was.
    pub fn open_connection(&self, row: &mut ConnectionRow) -> Result<bool, Refusal> {
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.clone_from(row);
            self.open_in(tx, &mut kept)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// Ends a connection. Whether it was still as it was.
    pub fn end_connection(
        &self,
        row: &mut ConnectionRow,
        ending: &Ending<'_>,
    ) -> Result<bool, Refusal> {
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.clone_from(row);
            self.end_in(tx, &mut kept, ending)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// Does not believe a request, and says so where it is kept.
    pub fn doubt_connection(&self, row: &mut ConnectionRow, reason: &str) -> Result<bool, Refusal> {
        row.state = ConnectionState::Unverified;
        row.reason = Some(reason.to_owned());
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.rev = row.rev;
            if let Some(topic) = tx.topic_by_id(&kept.inbound)? {
                let (number, state) = (kept.request, RecordState::Unverified);
                tx.set_record_state(topic.topic_no, number, state, reason)?;
            }
            Ok(tx.set_connection(&mut kept)?)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// Asks a person whether an agent outside is let in.
    pub fn ask_about_connection(&self, row: &mut ConnectionRow) -> Result<bool, Refusal> {
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.clone_from(row);
            kept.state = ConnectionState::Asked;
            // Nothing is to be done before the answer.
            kept.next_at = NEVER;
            // Of several bridges one asks.
            if !tx.set_connection(&mut kept)? {
                return Ok(false);
            }
            let (agent, other) = (&kept.agent, shown(&kept));
            let mut body = format!(
                "{other} asks {agent} for a connection on the ledger. Its profile calls it {:?}, and its account is {}.",
                kept.other_name.as_deref().unwrap_or("nothing"),
                kept.other
            );
            if let Some(memo) = &kept.memo {
                body.push_str(&format!("\n\nIt says: {memo:?}"));
            }
            body.push_str("\n\nAnswer with accept, or with refuse and why.");
            let line = Line {
                sort: "connection.request",
                summary: format!("{other} asks {agent} for a connection"),
                body,
            };
            let payload = json!({
                "agent_id": agent, "account_id": kept.other, "name": kept.other_name, "memo": kept.memo,
                "inbound_topic_id": kept.inbound, "connection_request_id": kept.request,
                "decisions": ["accept", "refuse"],
            });
            let (subject, to) = (line.summary.clone(), vec!["human".parse()?]);
            let asked = self.notice(tx, Err(subject), to, &line, Kind::Question, payload)?;
            kept.question = Some(asked);
            Ok(tx.set_connection(&mut kept)?)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// Says something about a connection in the thread in which a person was asked.
    pub fn tell_asker(&self, row: &ConnectionRow, line: &Line) -> Result<(), Refusal> {
        let told = self.store().write(|tx| self.tell_asker_in(tx, row, line));
        told.map(drop)
    }

    pub(super) fn tell_asker_in(
        &self,
        tx: &mut Tx<'_>,
        row: &ConnectionRow,
        line: &Line,
    ) -> Result<(), Abort> {
        if let Some(id) = row.question {
            let to = vec!["human".parse()?];
            self.notice(tx, Ok(id), to, line, Kind::Event, json!({}))?;
        }
        Ok(())
    }

    /// What a message says to those outside.
    pub fn text_of(&self, message: MessageId) -> Result<Option<String>, Refusal> {
        self.store().read(|tx| {
            let Some((_, message)) = tx.load_message(message)? else {
                return Ok(None);
            };
            // The body is the text, where there is one; the summary sums it up.
            let is_short = message.body.trim().is_empty();
            Ok(Some(if is_short {
                message.summary
            } else {
                message.body
            }))
        })
    }

    /// The proposals with which something is to be done now.
    pub fn proposals_due(&self, most: i64) -> Result<Vec<ProposalRow>, Refusal> {
        self.store().read(|tx| Ok(tx.proposals_due(most)?))
    }
}

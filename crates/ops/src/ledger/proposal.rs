//! Proposals as approvals: somebody is asked, and told what became of it.

use inbox_core::record::Millis;
use inbox_core::{Address, Kind, Refusal};
use inbox_store::{ConnectionRow, ProposalRow, ProposalState};
use serde_json::json;

use super::answer::NEVER;
use super::connect::{Line, shown};
use crate::call::Inbox;
use crate::config::Tinybars;

/// How often it is looked what became of a schedule, in milliseconds.
const LOOK_MS: i64 = 15_000;

/// What people see of a schedule beside what it would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// When its time is over.
    pub expires_at: Option<Millis>,
    /// What each account would get, in tinybars; what it would give is below zero.
    pub parties: Vec<(String, i64)>,
}

impl Inbox {
    /// Writes down where a proposal stands. Whether it was still as it was.
    pub fn set_proposal(&self, row: &mut ProposalRow) -> Result<bool, Refusal> {
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.rev = row.rev;
            Ok(tx.set_proposal(&mut kept)?)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// The connection on which something was proposed.
    pub fn connection_of(&self, row: &ProposalRow) -> Result<Option<ConnectionRow>, Refusal> {
        let topic = row.topic.clone().unwrap_or_default();
        self.store().read(|tx| {
            let found = tx.connections_on(&topic)?;
            Ok(found
                .into_iter()
                .find(|found| found.connection_no == row.connection_no))
        })
    }

    /// Asks whoever may decide: an agent that is a signer for as much, or a person. What it would do is in `does`; nothing where that cannot
    /// be read, and then nobody can approve it.
    pub fn ask_about_proposal(
        &self,
        row: &mut ProposalRow,
        connection: &ConnectionRow,
        seen: &Seen,
    ) -> Result<bool, Refusal> {
        let config = &self.config().ledger;
        let is_decodable = row.does.is_some();
        let signers = match (&row.sort, row.amount) {
            (Some(sort), Some(amount)) if is_decodable => config.signers(sort, amount),
            _ => Vec::new(),
        };
        let to: Vec<Address> = match signers.as_slice() {
            [] => vec!["human".parse()?],
            some => some.iter().map(Address::from).collect(),
        };
        let (agent, other) = (&row.agent, shown(connection));
        let by = if row.proposer == connection.other {
            other.clone()
        } else {
            format!("{}, a guest of the connection with {other}", row.proposer)
        };
        let topic = row.topic.as_deref().unwrap_or_default();
        let mut body = format!(
            "{by} proposes schedule {} on the connection {topic}, and asks {agent} to sign it.\n\n",
            row.schedule
        );
        match &row.does {
            Some(does) => {
                body.push_str("By the network's own bytes it would do this:\n");
                for line in does.lines() {
                    body.push_str(&format!("- {line}\n"));
                }
                match row.amount.map(Tinybars) {
                    Some(Tinybars(..=0)) => {}
                    Some(amount) => {
                        body.push_str(&format!("\nIt takes at most {amount} ℏ of {agent}.\n"));
                    }
                    None => {
                        let unbound = format!("\nHow much it takes of {agent} has no bound.\n");
                        body.push_str(&unbound);
                    }
                }
            }
            None => {
                body.push_str("What it would do cannot be read, so it cannot be approved.\n");
            }
        }
        body.push_str(&format!(
            "\nThe proposer's own words, which nobody has checked: {:?}\n\n",
            row.said
        ));
        body.push_str(if is_decodable {
            "Answer with approve, with reject and why (the other is told), or with dismiss (it is only hidden)."
        } else {
            "Answer with reject and why (the other is told), or with dismiss (it is only hidden)."
        });
        let line = Line {
            sort: "transaction.approval",
            summary: format!("{other} asks {agent} to sign schedule {}", row.schedule),
            body,
        };
        let does: Vec<&str> = row.does.iter().flat_map(|does| does.lines()).collect();
        let parties = seen.parties.iter();
        let parties =
            parties.map(|(id, tinybars)| json!({ "account_id": id, "tinybars": tinybars }));
        let payload = json!({
            "expires_at": seen.expires_at, "parties": parties.collect::<Vec<_>>(),
            "agent_id": agent, "account_id": row.proposer, "connection_topic_id": topic, "sequence_number": row.sequence,
            "schedule_id": row.schedule, "kind": row.sort, "max_tinybars": row.amount, "does": does, "proposer_says": row.said,
            "decisions": if is_decodable { vec!["approve", "reject", "dismiss"] } else { vec!["reject", "dismiss"] },
        });
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.clone_from(row);
            let subject = line.summary.clone();
            let asked = self.notice(
                tx,
                Err(subject),
                to.clone(),
                &line,
                Kind::Question,
                payload.clone(),
            )?;
            kept.thread = Some(asked);
            (kept.state, kept.next_at) = if is_decodable {
                (ProposalState::Open, Millis(tx.now().0 + LOOK_MS))
            } else {
                (ProposalState::Undecodable, NEVER)
            };
            (kept.tries, kept.problem) = (0, None);
            Ok(tx.set_proposal(&mut kept)?)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// Goes on to a state, and tells whoever was asked; where nobody was, the agent itself.
    pub fn report_proposal(
        &self,
        row: &mut ProposalRow,
        connection: &ConnectionRow,
        state: ProposalState,
        said: &str,
    ) -> Result<bool, Refusal> {
        let mut kept = row.clone();
        let written = self.store().write(|tx| {
            kept.clone_from(row);
            kept.state = state;
            kept.next_at = Millis(tx.now().0 + LOOK_MS);
            (kept.tries, kept.problem, kept.step_id) = (0, None, None);
            if !tx.set_proposal(&mut kept)? {
                return Ok(false);
            }
            let schedule = &kept.schedule;
            let line = Line {
                sort: "transaction.outcome",
                summary: format!("schedule {schedule} {said}"),
                body: String::new(),
            };
            match kept.thread {
                Some(id) => {
                    let mut to = vec!["human".parse()?];
                    if let Some(by) = kept.decided_by.as_deref() {
                        to = vec![by.parse()?];
                    }
                    let payload = json!({ "schedule_id": schedule, "state": state.name() });
                    self.notice(tx, Ok(id), to, &line, Kind::Event, payload)?;
                }
                None => {
                    self.tell_agent(tx, connection, &line)?;
                }
            }
            Ok(true)
        })?;
        *row = kept;
        Ok(written.value)
    }

    /// When to look again what became of a schedule.
    pub fn look_later(&self) -> Result<Millis, Refusal> {
        Ok(Millis(self.now()?.0 + LOOK_MS))
    }
}

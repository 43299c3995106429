//! What the topics say of connections: requests, confirmations, records, what the parties say, and the end.

use inbox_core::record::Millis;
use inbox_core::{AgentName, MessageId};
use inbox_store::{
    Abort, ConnectionRole, ConnectionRow, ConnectionState, LedgerRecord, NewConnection,
    RecordState, TopicRow, Tx,
};

use super::connect::{self, Ending, Line};
use super::spoken;
use crate::call::Inbox;
use crate::config::Policy;

/// How many requests of others may wait for a decision of one agent's.
const MOST_WAITING: i64 = 100;

/// How many answers of one account are kept that come before what they answer.
const MOST_EARLY: usize = 5;

/// How many requests of others that came to nothing, and such answers, are remembered of one agent's: the newest. Anybody with an account may
/// ask once, and accounts cost little.
const MOST_OVER: i64 = 1_000;

/// What is wrong with such a one.
const EARLY: &str = "it was refused before it was known that it was asked";

/// How long whoever did a step elsewhere has time to record it, in milliseconds, before that is done here.
pub(super) const GRACE_MS: i64 = 60_000;

/// What a message says of a connection, after who paid for it was compared with whom it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Somebody asks the agent of this inbound topic for a connection.
    Asked {
        /// Who.
        account: String,
        /// Where that hears, as it says.
        inbound: String,
        /// What it says with it.
        memo: Option<String>,
    },
    /// The agent of this inbound topic has confirmed a request.
    Confirmed {
        /// Which.
        request: i64,
        /// Whose.
        account: String,
        /// Where the parties talk.
        topic: String,
    },
    /// Who was asked by the agent of this inbound topic says no.
    Denied {
        /// Who.
        account: String,
        /// On which topic it was asked.
        inbound: String,
        /// By which request.
        request: i64,
        /// Why not.
        reason: String,
    },
    /// The agent of this outbound topic has recorded that it asked.
    AskedElsewhere {
        /// Whom.
        account: String,
        /// On which topic.
        inbound: String,
        /// By which request.
        request: i64,
        /// What it said with it.
        memo: Option<String>,
    },
    /// The agent of this outbound topic has recorded that a connection is there.
    Recorded {
        /// On which topics it may have been asked for.
        inbound: Vec<String>,
        /// By which request.
        request: i64,
        /// Where the parties talk.
        topic: String,
    },
    /// The agent of this outbound topic has recorded that a connection ended.
    EndRecorded {
        /// Which.
        topic: String,
        /// Why.
        reason: Option<String>,
    },
    /// A party says something.
    Said {
        /// Which.
        account: String,
        /// What.
        text: String,
        /// The sort of it, where it has one.
        sort: Option<String>,
        /// The message that it is in the store, where it was sent from here.
        own: Option<MessageId>,
    },
    /// A party wants a transaction signed.
    Proposed {
        /// Which party.
        account: String,
        /// The schedule.
        schedule: String,
        /// What it says of it.
        said: String,
    },
    /// A party ends the connection.
    Ended {
        /// Which.
        account: String,
        /// Why.
        reason: Option<String>,
    },
}

impl Inbox {
    /// Takes in what a message says of a connection.
    pub(super) fn link(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        record: &mut LedgerRecord,
        link: &Link,
    ) -> Result<(), Abort> {
        record.state = RecordState::Passed;
        let reason = match link {
            Link::Asked {
                account,
                inbound,
                memo,
            } => self.asked(
                tx,
                topic,
                record.sequence,
                account,
                inbound,
                memo.as_deref(),
            )?,
            Link::Confirmed {
                request,
                account,
                topic: made,
            } => {
                let found = (*request, account.as_str(), made.as_str());
                confirmed(tx, topic, record.sequence, found)?
            }
            Link::Denied {
                account,
                inbound,
                request,
                reason,
            } => self.denied(tx, topic, account, (inbound, *request), reason)?,
            Link::AskedElsewhere {
                account,
                inbound,
                request,
                memo,
            } => self.asked_elsewhere(tx, topic, account, (inbound, *request), memo.as_deref())?,
            Link::Recorded {
                inbound,
                request,
                topic: made,
            } => self.recorded(tx, topic, inbound, *request, made)?,
            Link::EndRecorded {
                topic: ended,
                reason,
            } => self.end_recorded(tx, topic, ended, reason.as_deref())?,
            Link::Said {
                account,
                text,
                sort,
                own,
            } => return self.said(tx, topic, record, account, text, sort.as_deref(), *own),
            Link::Proposed {
                account,
                schedule,
                said,
            } => return spoken::proposed(tx, topic, record, account, schedule, said),
            Link::Ended { account, reason } => self.ended(tx, topic, account, reason.as_deref())?,
        };
        record.reason = Some(reason);
        Ok(())
    }

    fn asked(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        request: i64,
        account: &str,
        inbound: &str,
        memo: Option<&str>,
    ) -> Result<String, Abort> {
        let agent: AgentName = topic.name.parse()?;
        let connections = &self.config().ledger.connections;
        let is_welcome = connections.policy(account) == Policy::Accept;
        for known in tx.connections_with(&topic.name, account)? {
            let earlier = known.request;
            match known.state {
                ConnectionState::Found
                | ConnectionState::Asked
                | ConnectionState::Accepting
                | ConnectionState::Refusing => {
                    return Ok(format!("{account} has asked already, by request {earlier}"));
                }
                ConnectionState::Open | ConnectionState::Recording => {
                    let there = known.topic.unwrap_or_default();
                    return Ok(format!(
                        "there is a connection with {account} already, on {there}"
                    ));
                }
                // Whoever was told no does not ask a person again and again, nor cost anything.
                ConnectionState::Refused
                    if known.role == ConnectionRole::Responder && !is_welcome =>
                {
                    return Ok(format!(
                        "{account} was refused before, by request {earlier}"
                    ));
                }
                _ => {}
            }
        }
        // Whom the settings name does not wait behind strangers.
        let is_named = is_welcome && connections.accept.iter().any(|named| named == account);
        if !is_named && tx.count_waiting_connections(&topic.name)? >= MOST_WAITING {
            return Ok(format!("{MOST_WAITING} requests wait already"));
        }
        tx.forget_old_requests(&topic.name, EARLY, MOST_OVER)?;
        let own = topic.topic.as_deref().unwrap_or_default();
        tx.keep_connection(&NewConnection {
            agent: &agent,
            inbound: own,
            request,
            role: ConnectionRole::Responder,
            state: ConnectionState::Found,
            other: account,
            other_inbound: Some(inbound),
            memo,
            topic: None,
        })?;
        Ok("it asks for a connection".to_owned())
    }

    fn denied(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        account: &str,
        (inbound, request): (&str, i64),
        reason: &str,
    ) -> Result<String, Abort> {
        let agent: AgentName = topic.name.parse()?;
        let known = tx.connection_of_request(&topic.name, inbound, request)?;
        if known.is_none() {
            // An answer can come before the record of what was asked, and waits for it; anybody may write one, so not many do.
            if tx.connections_with(&topic.name, account)?.len() >= MOST_EARLY {
                return Ok("it refuses what was not asked".to_owned());
            }
            tx.keep_connection(&NewConnection {
                agent: &agent,
                inbound,
                request,
                role: ConnectionRole::Requester,
                state: ConnectionState::Refused,
                other: account,
                other_inbound: Some(inbound),
                memo: None,
                topic: None,
            })?;
        }
        let known = match known {
            Some(row) => Some(row).filter(|row| row.state == ConnectionState::Requested),
            None => tx.connection_of_request(&topic.name, inbound, request)?,
        };
        let known =
            known.filter(|row| row.role == ConnectionRole::Requester && row.other == account);
        let Some(mut row) = known else {
            return Ok("it refuses what was not asked".to_owned());
        };
        let is_early = row.state == ConnectionState::Refused;
        row.state = ConnectionState::Refused;
        row.reason = Some(reason.to_owned());
        row.decided_by = Some(account.to_owned());
        row.problem = is_early.then(|| EARLY.to_owned());
        if !is_early {
            self.tell_refusal(tx, &row)?;
        }
        tx.set_connection(&mut row)?;
        if is_early {
            tx.forget_old_requests(&topic.name, EARLY, MOST_OVER)?;
        }
        Ok("it refuses a connection".to_owned())
    }

    fn tell_refusal(&self, tx: &mut Tx<'_>, row: &ConnectionRow) -> Result<(), Abort> {
        let line = Line {
            sort: "connection.refused",
            summary: format!("{} does not want a connection", connect::shown(row)),
            body: row.reason.clone().unwrap_or_default(),
        };
        self.tell_agent(tx, row, &line).map(drop)
    }

    fn asked_elsewhere(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        account: &str,
        (inbound, request): (&str, i64),
        memo: Option<&str>,
    ) -> Result<String, Abort> {
        let agent: AgentName = topic.name.parse()?;
        tx.keep_connection(&NewConnection {
            agent: &agent,
            inbound,
            request,
            role: ConnectionRole::Requester,
            state: ConnectionState::Requested,
            other: account,
            other_inbound: Some(inbound),
            memo,
            topic: None,
        })?;
        let row = tx.connection_of_request(&topic.name, inbound, request)?;
        if let Some(mut row) = row.filter(|row| row.problem.as_deref() == Some(EARLY)) {
            row.problem = None;
            if row.other == account {
                self.tell_refusal(tx, &row)?;
            } else {
                row.state = ConnectionState::Unverified;
            }
            tx.set_connection(&mut row)?;
        }
        Ok("it records a request".to_owned())
    }

    fn recorded(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        inbound: &[String],
        request: i64,
        made: &str,
    ) -> Result<String, Abort> {
        let mut found = tx.connections_on(made)?;
        found.retain(|row| row.agent.as_str() == topic.name);
        let mut found = found.pop();
        for asked in inbound {
            if found.is_none() {
                found = tx.connection_of_request(&topic.name, asked, request)?;
            }
        }
        let Some(mut row) = found else {
            return Ok("it records a connection of which nothing is known".to_owned());
        };
        if row.state == ConnectionState::Open || row.state.is_over() {
            return Ok("it records a connection that is known".to_owned());
        }
        row.topic = Some(made.to_owned());
        self.open_in(tx, &mut row)?;
        Ok("it records a connection".to_owned())
    }

    fn end_recorded(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        ended: &str,
        reason: Option<&str>,
    ) -> Result<String, Abort> {
        for mut row in tx.connections_on(ended)? {
            if row.agent.as_str() != topic.name {
                continue;
            }
            match row.state {
                ConnectionState::Closing => {
                    row.state = ConnectionState::Closed;
                    (row.step, row.step_id, row.problem) = (None, None, None);
                    tx.set_connection(&mut row)?;
                }
                ConnectionState::Open => {
                    let name = row.agent.to_string();
                    let ending = Ending {
                        by: &name,
                        reason,
                        is_recorded: true,
                    };
                    self.end_in(tx, &mut row, &ending)?;
                }
                _ => {}
            }
        }
        Ok("it records the end of a connection".to_owned())
    }
}

/// A confirmation that stands on the agent's own inbound topic: of the bridge, or of whoever else has its key.
fn confirmed(
    tx: &mut Tx<'_>,
    topic: &TopicRow,
    sequence: i64,
    (request, account, made): (i64, &str, &str),
) -> Result<String, Abort> {
    let own = topic.topic.as_deref().unwrap_or_default();
    let agent: AgentName = topic.name.parse()?;
    tx.keep_connection(&NewConnection {
        agent: &agent,
        inbound: own,
        request,
        role: ConnectionRole::Responder,
        state: ConnectionState::Accepting,
        other: account,
        other_inbound: None,
        memo: None,
        topic: None,
    })?;
    let Some(mut row) = tx.connection_of_request(&topic.name, own, request)? else {
        return Ok("it confirms what was not asked".to_owned());
    };
    if row.other != account {
        return Ok("it confirms another account than the one that asked".to_owned());
    }
    let is_known = row.state == ConnectionState::Accepting
        && row.topic.as_deref() == Some(made)
        && row.confirmed == Some(sequence);
    if is_known || row.state == ConnectionState::Open || row.state.is_over() {
        return Ok("it confirms a connection that is known".to_owned());
    }
    if row.topic.as_deref() != Some(made) {
        // Somebody else with the key was quicker, and records it in a moment.
        row.topic = Some(made.to_owned());
        row.next_at = Millis(tx.now().0 + GRACE_MS);
        (row.step, row.step_id) = (None, None);
    }
    row.state = ConnectionState::Accepting;
    row.confirmed = Some(sequence);
    tx.set_connection(&mut row)?;
    Ok("it confirms a connection".to_owned())
}

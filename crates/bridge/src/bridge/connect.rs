//! The connections of the agents here: requests are met by policy, what was decided is carried out on the ledger step by step, and what
//! changed there is noticed.

mod follow;
mod found;
mod say;
mod sign;
mod step;

pub(super) use found::{denial, requested};

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::str::FromStr;

use inbox_core::record::Millis;
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use inbox_hcs::{
    ConnectionCreated, CreatedRecord, InboundMessage, Operation, OperatorId, Place, Sequence,
    TopicId, TopicMemo, Ttl, read,
};
use inbox_hedera::proto::{CreateTopicBody, Key};
use inbox_ops::config::Policy;
use inbox_ops::ledger::Line;
use inbox_store::{ConnectionRow, ConnectionState, TopicPlace, TopicRow};
use serde_json::json;

use self::step::{Act, Undone};
use super::{Bridge, Speaker, Turn};
use crate::agent::{REFUSED, envelope, key_of};
use crate::net::topic_of;
use crate::peer::{Peer, peer};
use crate::publish::charge;
use crate::{Hbar, history};

/// How many are looked at in a turn: others have their share.
const MOST: i64 = 500;

/// How long to wait before the second try, in milliseconds; twice as long before each after it, up to the longest.
const PAUSE_MS: i64 = 1_000;
const LONGEST_PAUSE_MS: i64 = 300_000;

/// How one step of a connection ended.
enum Went {
    /// There may be more to do at once.
    On,
    /// It waits for something.
    Waits,
}

/// Wins or loses against another bridge; who loses leaves it alone.
fn went(is_first: bool) -> Went {
    if is_first { Went::On } else { Went::Waits }
}

/// How long to wait after so many tries.
fn pause(tries: i64) -> i64 {
    (PAUSE_MS << tries.clamp(0, 20)).min(LONGEST_PAUSE_MS)
}

impl Bridge<'_> {
    /// Goes on with the connections and the proposals of the agents whose inbound topics these are.
    pub(super) fn tend(&self, topics: &[TopicRow], turn: &mut Turn) -> Result<(), Refusal> {
        let inbound = topics
            .iter()
            .filter(|topic| topic.place == TopicPlace::Inbound);
        let agents: HashSet<&str> = inbound.map(|topic| topic.name.as_str()).collect();
        for mut row in self.inbox.connections_due(MOST)? {
            if !agents.contains(row.agent.as_str()) {
                continue;
            }
            let outcome = loop {
                match self.advance(&mut row) {
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
                self.inbox.set_connection(&mut row)?;
            }
        }
        self.sign(&agents, turn)
    }

    fn advance(&self, row: &mut ConnectionRow) -> Result<Went, Undone> {
        match row.state {
            ConnectionState::Found => Ok(self.meet(row)?),
            ConnectionState::Requested => Ok(self.await_answer(row)?),
            ConnectionState::Open => Ok(self.look_at_keys(row)?),
            ConnectionState::Accepting => self.accept(row),
            ConnectionState::Refusing => self.refuse(row),
            ConnectionState::Recording => self.record(row),
            ConnectionState::Closing => self.record_end(row),
            ConnectionState::Asked
            | ConnectionState::Closed
            | ConnectionState::Refused
            | ConnectionState::Unverified => Ok(Went::Waits),
        }
    }

    fn other(&self, row: &ConnectionRow) -> Result<Result<(Peer, OperatorId), String>, Refusal> {
        let account = kept(&row.other)?;
        let found = peer(&self.mirror, account)
            .and_then(|peer| peer.operator(&self.mirror).map(|operator| (peer, operator)));
        match found {
            Ok(found) => Ok(Ok(found)),
            // A mirror that is away says nothing of who asked.
            Err(refusal) if refusal.code == Code::Ledger => Err(refusal),
            Err(refusal) => Ok(Err(refusal.message)),
        }
    }

    /// Looks at who asks, and does what the policy says.
    fn meet(&self, row: &mut ConnectionRow) -> Result<Went, Refusal> {
        let other = match self.other(row)? {
            Ok((other, operator)) => {
                let named = row.other_inbound.clone().unwrap_or_default();
                let own = operator.inbound_topic.to_string();
                if own == named {
                    Ok(other)
                } else {
                    Err(format!(
                        "it names {named}, and {} hears on {own}",
                        row.other
                    ))
                }
            }
            Err(reason) => Err(reason),
        };
        let other = match other {
            Ok(other) => other,
            Err(reason) => return Ok(went(self.inbox.doubt_connection(row, &reason)?)),
        };
        let name: String = other.profile.display_name.chars().take(100).collect();
        row.other_name =
            Some(visible(&name, false).into_owned()).filter(|name| !name.trim().is_empty());
        (row.tries, row.problem) = (0, None);
        let is_ours = self.inbox.agent_of_account(&row.other)?.is_some();
        let policy = self.inbox.config().ledger.connections.policy(&row.other);
        row.state = match policy {
            // Agents of one store need nobody's leave.
            _ if is_ours => {
                row.decided_by = Some("the roster".to_owned());
                ConnectionState::Accepting
            }
            Policy::Accept => {
                row.decided_by = Some("the policy".to_owned());
                ConnectionState::Accepting
            }
            Policy::Refuse => {
                row.decided_by = Some("the policy".to_owned());
                ConnectionState::Refusing
            }
            Policy::Ask => return Ok(went(self.inbox.ask_about_connection(row)?)),
        };
        Ok(went(self.inbox.set_connection(row)?))
    }

    /// Makes the topic on which either may write, says so, and records it.
    fn accept(&self, row: &mut ConnectionRow) -> Result<Went, Undone> {
        let agent = row.agent.clone();
        let speaker = self.speaker(&agent)?;
        let request = sequence(row.request)?;
        let Some(topic) = row.topic.clone() else {
            let body = self.topic_for(&speaker, row, request)?;
            let act = Act::Do(Box::new(topic_of(body)));
            let made = self.carry_out(&speaker.net, row, "topic", &act)?;
            let made = made.topic.ok_or_else(|| unnamed("the topic"))?;
            row.topic = Some(made.to_string());
            return self.next(row);
        };
        let topic: TopicId = kept(&topic)?;
        let me = OperatorId {
            inbound_topic: speaker.me.inbound_topic,
            account: speaker.me.account,
        };
        if row.confirmed.is_none() {
            let created = Operation::ConnectionCreated(ConnectionCreated {
                connection_topic: topic,
                connected_account: kept(&row.other)?,
                operator: me,
                connection: request,
                memo: None,
            });
            let act = Act::record(speaker.me.inbound_topic, &created)?;
            let made = self.carry_out(&speaker.net, row, "confirmation", &act)?;
            row.confirmed = match made.sequence {
                Some(number) => Some(number),
                None => Some(confirmation(&speaker, request, topic)?),
            };
            return self.next(row);
        }
        let requestor = match self.other(row)? {
            Ok((other, _)) => other.profile.outbound_topic,
            Err(_) => None,
        };
        let record = Operation::CreatedRecord(CreatedRecord {
            connection_topic: topic,
            outbound_topic: speaker.me.outbound_topic,
            requestor_outbound_topic: requestor,
            confirmed_request: row.confirmed.map(sequence).transpose()?,
            request,
            operator: Some(me),
            memo: None,
        });
        let act = Act::record(speaker.me.outbound_topic, &record)?;
        self.carry_out(&speaker.net, row, "record", &act)?;
        self.open(row)
    }

    /// Keeps what a step made, and that nothing is begun.
    fn next(&self, row: &mut ConnectionRow) -> Result<Went, Undone> {
        (row.step, row.step_id, row.problem, row.tries) = (None, None, None, 0);
        Ok(went(self.inbox.set_connection(row)?))
    }

    fn open(&self, row: &mut ConnectionRow) -> Result<Went, Undone> {
        if self.inbox.open_connection(row)? {
            // Its topic is followed from now on, and not when the leases are renewed.
            self.alarm.topics();
        }
        // There is nothing more to do with it for a while.
        Ok(Went::Waits)
    }

    fn topic_for(
        &self,
        speaker: &Speaker,
        row: &ConnectionRow,
        request: Sequence,
    ) -> Result<CreateTopicBody, Refusal> {
        let account = kept(&row.other)?;
        let other = crate::peer::account(&self.mirror, account)?;
        let either = Key::threshold(1, vec![speaker.net.public_key()?, key_of(&other)?]);
        let memo = TopicMemo::Connection {
            ttl: Ttl::MINUTE,
            inbound_topic: speaker.me.inbound_topic,
            connection: request,
        };
        let mut body = CreateTopicBody {
            memo: memo.to_string(),
            admin_key: Some(either.clone()),
            submit_key: Some(either),
            ..CreateTopicBody::default()
        };
        let fee = self.inbox.config().ledger.connections.fee;
        if let Some(fee) = fee.filter(|fee| fee.0 > 0) {
            charge(&speaker.net, &mut body, Hbar::from_tinybars(fee.0))?;
        }
        Ok(body)
    }

    /// Says no. The standard has no word for it, so the other is told by a message on its inbound topic, if that costs no more than it may.
    fn refuse(&self, row: &mut ConnectionRow) -> Result<Went, Undone> {
        let (agent, most) = (row.agent.clone(), self.most());
        let speaker = self.speaker(&agent)?;
        let to: TopicId = kept(row.other_inbound.as_deref().unwrap_or_default())?;
        let reason = row.reason.clone();
        let reason = reason.unwrap_or_else(|| "the connection is not wanted".to_owned());
        let payload = [
            ("inbound_topic_id", json!(row.inbound)),
            ("connection_request_id", json!(row.request)),
        ];
        let message = Operation::InboundMessage(InboundMessage {
            operator: OperatorId {
                inbound_topic: speaker.me.inbound_topic,
                account: speaker.me.account,
            },
            data: envelope(REFUSED, &reason, payload),
            written_at: None,
            memo: None,
        });
        row.problem = None;
        match Act::tell(&speaker.net, to, &message, most) {
            Ok(act) => {
                let told = self.carry_out(&speaker.net, row, "refusal", &act);
                match told {
                    Ok(_) => {}
                    // Who lets nobody write to it is not told.
                    Err(Undone::Failed(_, refusal)) => row.problem = Some(refusal.message),
                    Err(undone) => return Err(undone),
                }
            }
            Err(refusal) if refusal.code == Code::Ledger => return Err(refusal.into()),
            Err(refusal) => row.problem = Some(refusal.message),
        }
        row.state = ConnectionState::Refused;
        (row.step, row.step_id) = (None, None);
        let is_first = self.inbox.set_connection(row)?;
        if is_first {
            let line = Line {
                sort: "connection.refused",
                summary: format!("{} was refused", row.other),
                body: row.problem.clone().unwrap_or_default(),
            };
            self.inbox.tell_asker(row, &line)?;
        }
        Ok(went(is_first))
    }
}

/// An id as the store has it.
fn kept<T: FromStr>(text: &str) -> Result<T, Refusal> {
    text.parse().map_err(|_| {
        let problem = format!("{text:?} in the store is no id");
        Refusal::new(Code::StoreCorrupt, problem)
    })
}

fn sequence(number: i64) -> Result<Sequence, Refusal> {
    let found = u64::try_from(number).ok().and_then(Sequence::new);
    found.ok_or_else(|| {
        let problem = format!("{number} is no number of a message");
        Refusal::new(Code::StoreCorrupt, problem)
    })
}

fn unnamed(what: &str) -> Refusal {
    let problem = format!("the network's answer does not name {what}");
    Refusal::new(Code::Ledger, problem)
}

/// The number of a confirmation that is there, and of which no receipt is known any more.
fn confirmation(speaker: &Speaker, request: Sequence, topic: TopicId) -> Result<i64, Refusal> {
    let (mirror, me) = (speaker.net.mirror(), speaker.me);
    let mut found = None;
    history::messages(mirror, me.inbound_topic, Some(request), |said| {
        let is_it = matches!(
            read(&said.bytes, Place::Inbound),
            Ok((Operation::ConnectionCreated(created), _))
                if created.connection_topic == topic && said.payer == me.account
        );
        if is_it {
            found = i64::try_from(said.sequence.get()).ok();
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    found.ok_or_else(|| unnamed("the confirmation's number"))
}

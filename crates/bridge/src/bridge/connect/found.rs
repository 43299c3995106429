//! What stands on the topics about connections: believed only if who paid for it is whom it names.

use inbox_core::{Code, MessageId, Refusal};
use inbox_hcs::{
    AccountId, ConnectionCreated, ConnectionRequest, Data, Envelope, InboundMessage, Operation,
    OperatorId, Place, read,
};
use inbox_hedera::mirror::MessageFacts;
use inbox_hedera::proto::TransactionId;
use inbox_ops::ledger::{Link, Meaning};
use inbox_store::{RecordState, TopicRow};

use super::super::{Bridge, id_of};
use crate::agent::{REFUSED, REJECTED};
use crate::peer::{self, peer};
use crate::told::Told;

/// How many messages that wait to be found on a topic are compared with one.
const MOST: i64 = 100;

/// A party of a connection, with the topic on which it hears.
struct Party {
    account: AccountId,
    inbound: String,
    is_ours: bool,
}

fn nothing(state: RecordState, reason: impl Into<String>) -> Meaning {
    Meaning::Nothing(state, reason.into())
}

fn number(sequence: inbox_hcs::Sequence) -> i64 {
    i64::try_from(sequence.get()).unwrap_or(i64::MAX)
}

fn misnamed(named: AccountId, payer: AccountId) -> Option<Meaning> {
    (named != payer).then(|| {
        let reason = format!("it names {named}, and {payer} paid for it");
        nothing(RecordState::Unverified, reason)
    })
}

/// A request on an agent's inbound topic. Whether the topic that it names is the asker's is looked at later, by its profile.
pub(in super::super) fn requested(request: &ConnectionRequest, message: &MessageFacts) -> Meaning {
    let operator = request.operator;
    misnamed(operator.account, message.payer).unwrap_or_else(|| {
        Meaning::Link(Link::Asked {
            account: operator.account.to_string(),
            inbound: operator.inbound_topic.to_string(),
            memo: request.memo.clone(),
        })
    })
}

/// A message that says no to a request, if it is one.
pub(in super::super) fn denial(said: &InboundMessage, message: &MessageFacts) -> Option<Meaning> {
    let (envelope, _) = Envelope::read(&said.data).ok()?;
    if envelope.message_type != REFUSED {
        return None;
    }
    if let Some(meaning) = misnamed(said.operator.account, message.payer) {
        return Some(meaning);
    }
    let inbound = envelope.payload.get("inbound_topic_id")?.as_str()?;
    let request = envelope.payload.get("connection_request_id")?.as_i64()?;
    // Only whose topic it is may refuse what was asked there.
    if said.operator.inbound_topic.to_string() != inbound {
        let reason = "it refuses what was asked of another";
        return Some(nothing(RecordState::Unverified, reason));
    }
    Some(Meaning::Link(Link::Denied {
        account: said.operator.account.to_string(),
        inbound: inbound.to_owned(),
        request,
        reason: envelope.subject,
    }))
}

impl Bridge<'_> {
    /// A confirmation on an agent's inbound topic, which only the agent itself can give.
    pub(in super::super) fn confirmed(
        &self,
        topic: &TopicRow,
        created: &ConnectionCreated,
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        if let Some(meaning) = misnamed(created.operator.account, message.payer) {
            return Ok(meaning);
        }
        let owner = self.inbox.agent_of_account(&message.payer.to_string())?;
        if owner.is_none_or(|(owner, _)| owner.as_str() != topic.name) {
            let reason = "only whose topic it is confirms a connection there";
            return Ok(nothing(RecordState::Unverified, reason));
        }
        Ok(Meaning::Link(Link::Confirmed {
            request: number(created.connection),
            account: created.connected_account.to_string(),
            topic: created.connection_topic.to_string(),
        }))
    }

    /// What an agent has recorded on its outbound topic.
    pub(in super::super) fn recorded(
        &self,
        topic: &TopicRow,
        operation: Operation,
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        let payer = message.payer;
        let owner = self.inbox.agent_of_account(&payer.to_string())?;
        let Some((_, own)) = owner.filter(|(owner, _)| owner.as_str() == topic.name) else {
            let reason = format!("{payer} paid for it, and the topic is {}'s", topic.name);
            return Ok(nothing(RecordState::Unverified, reason));
        };
        Ok(Meaning::Link(match operation {
            Operation::RequestRecord(record) if record.operator.account != payer => {
                Link::AskedElsewhere {
                    account: record.operator.account.to_string(),
                    inbound: record.operator.inbound_topic.to_string(),
                    request: number(record.request),
                    memo: record.memo,
                }
            }
            Operation::CreatedRecord(record) => {
                let theirs = record.operator.map(|operator| operator.inbound_topic);
                let mut inbound: Vec<String> = theirs.iter().map(ToString::to_string).collect();
                inbound.push(own);
                // It may be there by this, and is followed from now on.
                self.alarm.topics();
                Link::Recorded {
                    inbound,
                    request: number(record.request),
                    topic: record.connection_topic.to_string(),
                }
            }
            Operation::ClosedRecord(record) => Link::EndRecorded {
                topic: record.connection_topic.to_string(),
                reason: record.reason,
            },
            _ => {
                return Ok(nothing(
                    RecordState::Passed,
                    "it says nothing of a connection",
                ));
            }
        }))
    }

    /// What stands on a connection's topic.
    pub(in super::super) fn spoken(
        &self,
        topic: &TopicRow,
        bytes: &[u8],
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        let operation = match read(bytes, Place::Connection) {
            Ok((operation, _)) => operation,
            Err(refused) => return Ok(nothing(RecordState::Unreadable, refused.to_string())),
        };
        let operator = match &operation {
            Operation::Message(said) => said.operator,
            Operation::Transaction(proposed) => proposed.operator,
            Operation::CloseConnection(close) => close.operator,
            Operation::ClosedRecord(record) => record.operator,
            _ => {
                return Ok(nothing(
                    RecordState::Passed,
                    "it says nothing on a connection",
                ));
            }
        };
        let payer = message.payer;
        if let Some(meaning) = misnamed(operator.account, payer) {
            return Ok(meaning);
        }
        let party = match self.party(topic, operator)? {
            Ok(party) => party,
            Err(reason) => return Ok(nothing(RecordState::Unverified, reason)),
        };
        let named = operator.inbound_topic.to_string();
        if party.inbound != named {
            let reason = format!("it names {named}, and {payer} hears on {}", party.inbound);
            return Ok(nothing(RecordState::Unverified, reason));
        }
        let account = party.account.to_string();
        Ok(Meaning::Link(match operation {
            Operation::Transaction(proposed) => Link::Proposed {
                account,
                schedule: proposed.schedule.to_string(),
                said: proposed.data.as_str().to_owned(),
            },
            Operation::CloseConnection(close) => Link::Ended {
                account,
                reason: close.reason,
            },
            Operation::ClosedRecord(record) => Link::Ended {
                account,
                reason: record.reason,
            },
            Operation::Message(said) => return self.message(topic, &party, &said.data, message),
            _ => {
                return Ok(nothing(
                    RecordState::Passed,
                    "it says nothing on a connection",
                ));
            }
        }))
    }

    fn message(
        &self,
        topic: &TopicRow,
        party: &Party,
        data: &Data,
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        let rejection = Envelope::read(data)
            .ok()
            .map(|(envelope, _)| envelope)
            .filter(|envelope| envelope.message_type == REJECTED);
        if rejection.is_some() && party.is_ours {
            let reason = "it rejects a proposal, as was decided here";
            return Ok(nothing(RecordState::Confirmed, reason));
        }
        let own = if party.is_ours {
            self.own(topic, message)?
        } else {
            None
        };
        let (text, sort) = match rejection {
            Some(envelope) => (envelope.subject, Some(REJECTED.to_owned())),
            None if own.is_some() => (String::new(), None),
            // A file that cannot be had is named, and why it cannot.
            None => match self.text(data)? {
                Ok(text) => (text, None),
                Err(reason) => (format!("{}\n\n({reason})", data.as_str()), None),
            },
        };
        Ok(Meaning::Link(Link::Said {
            account: party.account.to_string(),
            text,
            sort,
            own,
        }))
    }

    /// The message of the store that stands there: by its number, or by the transaction that was to say it.
    fn own(&self, topic: &TopicRow, message: &MessageFacts) -> Result<Option<MessageId>, Refusal> {
        let place = number(message.sequence);
        for leaving in self.inbox.leaving(topic.topic_no, MOST)? {
            let outgoing = leaving.outgoing;
            match (outgoing.sequence, &outgoing.step_id) {
                (Some(found), _) if found == place => return Ok(Some(outgoing.message)),
                (Some(found), _) if found > 0 => {}
                (_, Some(id)) => {
                    let Ok(id) = id.parse::<TransactionId>() else {
                        continue;
                    };
                    let facts = self.mirror.transaction(&id).told()?;
                    if facts.is_some_and(|facts| facts.is_done() && facts.time == message.time) {
                        return Ok(Some(outgoing.message));
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Who an account is on a connection: the agent here, the other, or a guest whose key the topic has. Otherwise why it is nobody.
    fn party(
        &self,
        topic: &TopicRow,
        operator: OperatorId,
    ) -> Result<Result<Party, String>, Refusal> {
        let account = operator.account;
        let text = account.to_string();
        for seat in self.inbox.connections_on(&topic.name)? {
            let is_own = seat.account.as_deref() == Some(&text);
            let ours = seat.inbound.filter(|_| is_own);
            let theirs = seat.row.other_inbound.filter(|_| seat.row.other == text);
            let is_ours = ours.is_some();
            if let Some(inbound) = ours.or(theirs) {
                return Ok(Ok(Party {
                    account,
                    inbound,
                    is_ours,
                }));
            }
        }
        let Some(facts) = self.mirror.topic(id_of(topic)?).told()? else {
            return Ok(Err(format!("there is no topic {} any more", topic.name)));
        };
        let is_guest = match (&facts.submit_key, peer::account(&self.mirror, account)) {
            (Some(submit), Ok(facts)) => {
                let parties = submit.leaves();
                let keys = facts.key.map(|key| key.leaves()).unwrap_or_default();
                !keys.is_empty() && keys.iter().all(|key| parties.contains(key))
            }
            (_, Err(refusal)) if refusal.code == Code::Ledger => return Err(refusal),
            _ => false,
        };
        if !is_guest {
            return Ok(Err(format!("{account} is no party of the connection")));
        }
        match peer(&self.mirror, account).and_then(|peer| peer.operator(&self.mirror)) {
            Ok(known) => Ok(Ok(Party {
                account,
                inbound: known.inbound_topic.to_string(),
                is_ours: false,
            })),
            Err(refusal) if refusal.code == Code::Ledger => Err(refusal),
            Err(refusal) => Ok(Err(refusal.message)),
        }
    }
}

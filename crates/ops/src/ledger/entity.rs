//! What is found on an entity's topic: notes and steps of this store's agents are confirmed, those of others become messages on the
//! entity's own thread, for those whom the note or the routes name.

use inbox_core::lifecycle::Command;
use inbox_core::record::Millis;
use inbox_core::text::first_line;
use inbox_core::{
    Address, AgentName, Auth, Code, Entity, Kind, Label, Priority, RefType, Refusal, limit,
};
use inbox_store::{Abort, LedgerRecord, NewMessage, RecordState, Recorded, TopicRow, Tx};
use inbox_wire::{Payload, Wire};
use serde_json::Value;

use super::step::step;
use super::{STATUS, UID, hear};
use crate::call::Inbox;
use crate::config::Config;
use crate::note::{commentary, follow, notes_on, thread_of};
use crate::{deliver, exchange, route, typed};

/// A note on an entity's topic, from an agent that paid for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Noted {
    /// Who.
    pub from: AgentName,
    /// Its sort, as `task.note`.
    pub event: String,
    /// What it says.
    pub text: String,
    /// Who is to hear of it, as its writer names them.
    pub notify: Vec<String>,
    /// How urgent it is, where it says so.
    pub priority: Option<Priority>,
    /// When it was written, as its writer says.
    pub written_at: Option<Millis>,
    /// Its UUID, where it has one.
    pub uid: Option<String>,
}

impl Inbox {
    pub(super) fn hear_note(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        record: &mut LedgerRecord,
        noted: &Noted,
    ) -> Result<(), Abort> {
        let uid = uid_of(topic, record, noted.uid.as_deref());
        if is_known(tx, topic, record, &noted.from, &uid)? {
            return Ok(());
        }
        limit::required("the note", &noted.text, limit::NOTE)?;
        limit::bytes("the note's type", &noted.event, limit::LABEL)?;
        let mut message = NewMessage::saying(Kind::Event, first_line(&noted.text), Auth::Ledger);
        message.body.clone_from(&noted.text);
        message.message_type = Some(noted.event.clone());
        message.priority = noted.priority;
        message.created_at = noted.written_at.and_then(hear::plausible);
        message.uid = Some(uid);
        let mut unknown = Vec::new();
        for name in noted.notify.iter().take(limit::ADDRESSES) {
            match name.parse::<Address>() {
                Ok(address) => message.to.push(address),
                Err(_) => unknown.push(name.chars().take(64).collect::<String>()),
            }
        }
        follow(self.config(), &noted.event, &mut message);
        reachable(tx, self.config(), &mut message, &mut unknown)?;
        append(tx, &entity_of(topic)?, &noted.from, message)?;
        record.state = RecordState::Taken;
        if !unknown.is_empty() {
            record.reason = Some(format!("not told: {}", unknown.join(", ")));
        }
        Ok(())
    }

    pub(super) fn hear_step(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        record: &mut LedgerRecord,
        from: &AgentName,
        wire: &Value,
    ) -> Result<(), Abort> {
        let uid = uid_of(topic, record, wire.get(UID).and_then(Value::as_str));
        if is_known(tx, topic, record, from, &uid)? {
            return Ok(());
        }
        let entity = entity_of(topic)?;
        let Some(payload) = typed::wire(wire)?.map(Wire::into_payload) else {
            return Err(Refusal::new(Code::InvalidWire, "it is no Wire").into());
        };
        let is_failed = wire.get(STATUS).is_some_and(|status| status == "failed");
        let (command, agent, word, text) = match &payload {
            Payload::Claim(claim) => {
                let text = format!("{} takes {} as {}", claim.agent, claim.task_id, claim.role);
                (None, &claim.agent, "claim", text)
            }
            Payload::Complete(it) => (
                Some(Command::Finish),
                &it.agent,
                "complete",
                it.summary.clone(),
            ),
            Payload::Blocked(it) if is_failed => {
                (Some(Command::Fail), &it.agent, "failed", it.reason.clone())
            }
            Payload::Blocked(it) => (
                Some(Command::Block),
                &it.agent,
                "blocked",
                it.reason.clone(),
            ),
            Payload::Brief(_) | Payload::Inbox(_) => {
                record.state = RecordState::Passed;
                record.reason = Some("it is no step of the work on an entity".to_owned());
                return Ok(());
            }
        };
        if agent != from.as_str() {
            record.state = RecordState::Unverified;
            record.reason = Some(format!("it says what {agent} did, and {from} paid for it"));
            return Ok(());
        }
        let mut message = NewMessage::saying(Kind::Event, first_line(&text), Auth::Ledger);
        message.body = text;
        message.message_type = Some(format!("{}.{word}", entity.ref_type));
        message.payload_json = wire.clone();
        message.created_at = hear::time(wire);
        message.uid = Some(uid);
        let recorded = append(tx, &entity, from, message)?;
        record.state = RecordState::Taken;
        if let (Some(command), Some(message)) = (command, &recorded.message) {
            let events = route::events(command, &recorded.row, wire);
            let (_, told) = route::follow(
                tx,
                self.config(),
                &self.config().routes,
                &events,
                recorded.row,
                message,
            )?;
            if !told.warnings.is_empty() {
                record.reason = Some(told.warnings.join("; "));
            }
        }
        Ok(())
    }
}

/// What something is known by: its own UUID, or one that follows from where it stands.
fn uid_of(topic: &TopicRow, record: &mut LedgerRecord, given: Option<&str>) -> String {
    let given = given.filter(|uid| exchange::own_uid("", uid) == uid.to_ascii_lowercase());
    let uid = given.map_or_else(
        || {
            let id = topic.topic.as_deref().unwrap_or_default();
            exchange::uid("hcs", &[id, &record.sequence.to_string()])
        },
        str::to_ascii_lowercase,
    );
    record.uid = Some(uid.clone());
    uid
}

/// Whether something was sent from here, or came in before; what became of it is in the record then.
fn is_known(
    tx: &mut Tx<'_>,
    topic: &TopicRow,
    record: &mut LedgerRecord,
    from: &AgentName,
    uid: &str,
) -> Result<bool, Abort> {
    let anothers = |record: &mut LedgerRecord| {
        record.state = RecordState::Unverified;
        record.reason = Some(format!("{uid} is another's"));
    };
    if let Some(message) = tx.message_of_uid(uid)? {
        if message.from_agent == *from {
            hear::confirm(tx, topic, record, &message)?;
        } else {
            anothers(record);
        }
        return Ok(true);
    }
    if let Some(spoken) = tx.spoken_by_uid(topic.topic_no, uid)? {
        if spoken.agent == *from {
            tx.forget_spoken(&spoken)?;
            record.state = RecordState::Confirmed;
        } else {
            anothers(record);
        }
        return Ok(true);
    }
    let was_heard = tx.was_heard(uid)?;
    if was_heard {
        record.state = RecordState::Repeated;
    }
    Ok(was_heard)
}

fn entity_of(topic: &TopicRow) -> Result<Entity, Refusal> {
    let parts = topic.name.split_once(':');
    let entity = parts.and_then(|(sort, id)| {
        Some(Entity {
            ref_type: sort.parse::<RefType>().ok()?,
            ref_id: id.parse::<Label>().ok()?,
        })
    });
    entity.ok_or_else(|| {
        Refusal::new(
            Code::StoreCorrupt,
            format!(
                "{:?} is no entity, and a topic of one has the name",
                topic.name
            ),
        )
    })
}

/// Leaves of a message's addresses those that can be reached; the others are named.
fn reachable(
    tx: &mut Tx<'_>,
    config: &Config,
    message: &mut NewMessage,
    unknown: &mut Vec<String>,
) -> Result<(), Abort> {
    let mut good = Vec::new();
    for address in std::mem::take(&mut message.to) {
        message.to = vec![address.clone()];
        match deliver::address(tx, config, message, None) {
            Ok(_) => good.push(address),
            Err(Abort::Refused(_)) => unknown.push(address.to_string()),
            Err(abort) => return Err(abort),
        }
    }
    message.to = good;
    deliver::address(tx, config, message, None)?;
    Ok(())
}

/// Puts a message on the thread of an entity, which is opened if there is none.
fn append(
    tx: &mut Tx<'_>,
    entity: &Entity,
    from: &AgentName,
    mut message: NewMessage,
) -> Result<Recorded, Abort> {
    if message.to.is_empty() {
        message.to.push(commentary(entity));
    }
    tx.ensure_agent(from)?;
    let Some(row) = thread_of(tx, entity)? else {
        return Ok(tx.open_thread(from, None, notes_on(entity), message)?);
    };
    let command = Command::Append(Kind::Event);
    step(tx, row, from, command, Some(message))
}

//! What plain SQL clients wrote to the view `inbox`, taken in by the ordinary rules.
//!
//! Each row is taken in by a transaction of its own. What the rules refuse stays, with the reason, and is
//! shown as a dead letter; nobody's command fails for it.

use crate::call::{Caller, Inbox, must_be_free};
use crate::content::json_size;
use crate::deliver;
use crate::lock::must_be_proven;
use crate::step::{open, thread};
use crate::typed::{self, decode_json};
use inbox_core::lifecycle::{Command, decide};
use inbox_core::record::Millis;
use inbox_core::{
    Address, AgentName, Auth, Code, Kind, Label, Priority, RefType, Refusal, SessionId,
    Step as Rung, limit,
};
use inbox_store::{Abort, Intake, NewMessage, NewThread, Reader, Step, Tx};

/// How many rows are read at a time.
const BATCH: i64 = 100;

impl Inbox {
    /// Takes in what waits.
    pub(crate) fn take_in(&self) -> Result<(), Refusal> {
        loop {
            let waits = self.store().read(|tx| Ok(tx.intake(false, BATCH)?))?;
            if waits.is_empty() {
                return Ok(());
            }
            for waiting in waits {
                let taken = self.store().write(|tx| {
                    self.take_one(tx, &waiting)?;
                    Ok(tx.settle_intake(waiting.intake_no, None)?)
                });
                let Err(refusal) = taken else { continue };
                // A store that cannot be written is no reason to refuse what was written to it.
                if refusal.code.exit() == 50 {
                    return Err(refusal);
                }
                let reason = format!("{} ({})", refusal.message, refusal.code);
                self.store()
                    .write(|tx| Ok(tx.settle_intake(waiting.intake_no, Some(&reason))?))?;
                if refusal.code == Code::LoopGuard {
                    self.tell_human(refusal);
                }
            }
        }
    }

    fn take_one(&self, tx: &mut Tx<'_>, waiting: &Intake) -> Result<(), Abort> {
        if waiting.is_ack {
            acknowledge(tx, waiting, waiting.to_agent.clone())
        } else {
            self.send(tx, waiting)
        }
    }

    fn send(&self, tx: &mut Tx<'_>, row: &Intake) -> Result<(), Abort> {
        // Somebody may have taken it in between: both saw it wait.
        if tx.message_by_uid(&row.uid)?.is_some() {
            return Err(Refusal::new(
                Code::AlreadyExists,
                format!("there is a message with the id {} already", row.uid),
            )
            .into());
        }
        let from: AgentName = needed("from_agent", row.from_agent.as_ref())?.parse()?;
        if !matches!(from.as_str(), "system" | "runner") {
            must_be_free(tx, &from)?;
        }
        must_be_proven(tx, &Caller::local(None), &from)?;
        let to = Address::from_stored(&needed("to_agent", row.to_agent.as_ref())?)?;
        let subject = needed("subject", row.subject.as_ref())?;
        limit::required("the subject", &subject, limit::SUBJECT)?;
        let message_type: Label = needed("message_type", row.message_type.as_ref())?.parse()?;
        let priority = match &row.priority {
            Some(text) => {
                let number = text.trim().parse().ok().and_then(Priority::from_code);
                number.ok_or_else(|| {
                    Refusal::input(format!("the priority {text} is not one of 1 to 5"))
                })?
            }
            None => Priority::Normal,
        };
        let created_at = match &row.written_at {
            Some(text) => time(text)?,
            None => tx.now(),
        };
        if !is_uuid(&row.uid) {
            return Err(Refusal::input(format!("the id {:?} is not a UUID", row.uid)).into());
        }
        let entity = match (&row.ref_type, &row.ref_id) {
            (None, None) => None,
            (Some(sort), Some(id)) => {
                Some((sort.parse::<RefType>()?, id.parse::<Label>()?.to_string()))
            }
            _ => return Err(Refusal::input("ref_type and ref_id belong together").into()),
        };
        let mut message = NewMessage::saying(Kind::Event, subject.as_str(), Auth::Local);
        for (what, given, kept) in [
            ("the payload", &row.payload, &mut message.payload_json),
            ("the context", &row.context, &mut message.context),
        ] {
            let Some(text) = given else { continue };
            let value = decode_json(text).map_err(|refusal| Refusal {
                message: format!("{what} is not JSON: {}", refusal.message),
                ..refusal
            })?;
            if !value.is_null() {
                json_size(what, &value)?;
                *kept = value;
            }
        }
        typed::wire(&message.payload_json)?;
        message.to = vec![to];
        message.message_type = Some(message_type.to_string());
        message.uid = Some(row.uid.to_ascii_lowercase());
        message.created_at = Some(created_at);
        deliver::address(tx, self.config(), &mut message, None)?;
        let new = NewThread {
            subject,
            priority,
            run: None,
            task: None,
            entity,
            own: None,
        };
        tx.ensure_agent(&from)?;
        let (config, caller) = (self.config(), Caller::local(None));
        let recorded = open(tx, config, &caller, &from, new, message, !row.processed)?;
        if row.processed
            && let Some(to) = recorded
                .message
                .as_ref()
                .and_then(|message| message.to.first())
        {
            acknowledge(tx, row, Some(to.stored().into_owned()))?;
        }
        Ok(())
    }
}

fn acknowledge(tx: &mut Tx<'_>, waiting: &Intake, to_agent: Option<String>) -> Result<(), Abort> {
    let uid = &waiting.uid;
    let id = tx
        .message_by_uid(uid)?
        .ok_or_else(|| Refusal::new(Code::MessageNotFound, format!("there is no message {uid}")))?;
    let (_, message) = tx
        .load_message(id)?
        .ok_or_else(|| Refusal::new(Code::MessageNotFound, format!("there is no message {uid}")))?;
    let text = needed("to_agent", to_agent.as_ref())?;
    let address = message
        .to
        .iter()
        .find(|to| to.stored().eq_ignore_ascii_case(&text))
        .ok_or_else(|| Refusal::input(format!("{id} is not for {text:?}")))?;
    let session_id: Option<SessionId> = match &waiting.session {
        Some(session) => Some(session.parse()?),
        None => None,
    };
    let session = match &session_id {
        Some(session) => tx.session(session)?,
        None => None,
    };
    // Who handled it: whose session it was, else the agent that it was for.
    let agent = match (&session, address.bare_name()) {
        (Some(session), _) => session.session.agent_id.clone(),
        (None, Some(name)) => name,
        (None, None) => AgentName::system(),
    };
    let agent_no = tx.ensure_agent(&agent)?;
    let reader = Reader {
        agent: agent.clone(),
        agent_no,
        session,
        session_id: session_id.clone(),
        addresses: Vec::new(),
    };
    let Some(address_no) = tx.find_address(address)? else {
        return Ok(());
    };
    if !tx.receipt(&reader, id, Rung::Acked, Some(address_no))? {
        return Ok(());
    }
    tx.receipt(&reader, id, Rung::Read, None)?;
    tx.set_acked(id, address_no)?;
    let row = thread(tx, message.thread_id)?;
    let asking = Caller::local(Some(agent.clone())).asking_as(&agent);
    let facts = tx.facts(&row, &asking)?;
    let decision = decide(&facts, Command::Acknowledge, tx.now())?;
    let step = Step {
        agent: &agent,
        session: session_id.as_ref(),
        decision,
        lease_ms: None,
        message: None,
        turns: None,
    };
    tx.commit_step(row, step)?;
    Ok(())
}

fn needed(what: &str, value: Option<&String>) -> Result<String, Refusal> {
    value
        .filter(|text| !text.is_empty())
        .cloned()
        .ok_or_else(|| Refusal::input(format!("{what} is missing")))
}

/// A time as plain SQL clients write it: with or without the letters and the zone, which is then UTC.
fn time(text: &str) -> Result<Millis, Refusal> {
    let text = text.trim();
    let plain = text.replacen(' ', "T", 1);
    let in_utc = format!("{plain}Z");
    plain
        .parse()
        .or_else(|_| in_utc.parse())
        .map_err(|_: Refusal| {
            Refusal::input(format!("created_at is {text:?}, which is not a time"))
        })
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12])
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_as_sql_clients_write_them() {
        for text in [
            "2026-11-15T12:00:00Z",
            "2026-11-15 12:00:00",
            "2026-11-15 12:00:00.000",
            "2026-11-15T13:00:00+01:00",
        ] {
            assert_eq!(
                time(text).unwrap().to_string(),
                "2026-11-15T12:00:00.000Z",
                "{text}"
            );
        }
        assert!(time("yesterday").is_err());
    }

    #[test]
    fn a_uuid_has_five_groups_of_hexadecimal_digits() {
        assert!(is_uuid("A5A1c6be-6f2c-47c5-a77b-a227339f73a2"));
        for text in [
            "",
            "x",
            "a5a1c6be6f2c47c5a77ba227339f73a2",
            "g5a1c6be-6f2c-47c5-a77b-a227339f73a2",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }
}

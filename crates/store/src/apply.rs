//! What is written: a new thread, or a decision on an existing one, with its event and message.

use inbox_core::lifecycle::{Decision, LeaseChange};
use inbox_core::record::{Millis, message_uid};
use inbox_core::sabotage::planted;
use inbox_core::{
    Address, AgentName, Artifact, ArtifactId, Auth, EventType, Message, MessageId, Priority,
    RefType, SessionId, Status, Thread, ThreadId,
};
use serde_json::Value;

use crate::error::StoreError;
use crate::new::{NewArtifact, NewMessage, NewThread};
use crate::row::ThreadRow;
use crate::sql;
use crate::tx::Tx;
use crate::value::Param;

/// Who writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    name: &'a AgentName,
    agent_no: i64,
    session: Option<&'a SessionId>,
}

/// A decision to be committed.
#[derive(Debug)]
pub struct Step<'a> {
    /// Who takes it.
    pub agent: &'a AgentName,
    /// From which session.
    pub session: Option<&'a SessionId>,
    /// What was decided.
    pub decision: Decision,
    /// The length of a lease that is taken or extended.
    pub lease_ms: Option<i64>,
    /// The message that goes with it.
    pub message: Option<NewMessage>,
    /// How often another agent has spoken since a person did, with this message.
    pub turns: Option<i64>,
}

/// What a step left.
#[derive(Debug)]
pub struct Recorded {
    /// The thread as it is now.
    pub row: ThreadRow,
    /// The message that was written.
    pub message: Option<Message>,
    /// What was attached to it.
    pub artifacts: Vec<Artifact>,
}

/// The lease's part of an entry.
#[derive(Debug, Default)]
struct LeasePart {
    epoch: Option<i64>,
    secret: Option<i64>,
    until: Option<Millis>,
}

impl Tx<'_> {
    /// Opens a thread with its first message.
    pub fn open_thread(
        &mut self,
        agent: &AgentName,
        session: Option<&SessionId>,
        new: NewThread,
        message: NewMessage,
    ) -> Result<Recorded, StoreError> {
        let now = self.now();
        let creator_no = self.ensure_agent(agent)?;
        let opened_at = message.created_at.unwrap_or(now);
        let mut inboxes = Vec::with_capacity(message.to.len());
        for (index, address) in message.to.iter().enumerate() {
            inboxes.push((self.ensure_address(address)?, message.deadline(index)));
        }
        let thread_to = match &new.own {
            Some(address) => vec![address.clone()],
            None => message.to.clone(),
        };
        let queues = match &new.own {
            Some(address) => vec![(self.ensure_address(address)?, None)],
            None => inboxes.clone(),
        };
        let to_no = queues[0].0;
        let to_list = list_of(&thread_to);
        let (ref_type, ref_id) = new.entity.unzip();
        let first_entry = self.key_of_next_entry()?;
        let thread_no = self.key_of(
            &sql::INSERT_THREAD,
            &[
                Status::Pending.code().into(),
                new.priority.code().into(),
                message.kind.code().into(),
                creator_no.into(),
                to_no.into(),
                to_list.as_deref().into(),
                opened_at.0.into(),
                message.expires_at.map(|time| time.0).into(),
                ref_type.map(RefType::code).into(),
                ref_id.as_deref().into(),
                new.run.as_deref().into(),
                new.task.as_deref().into(),
                new.subject.as_str().into(),
                first_entry.into(),
            ],
        )?;
        let mut row = ThreadRow {
            thread: Thread {
                thread_id: ThreadId::new(thread_no),
                run_id: new.run.unwrap_or_default(),
                task_id: new.task.unwrap_or_default(),
                subject: new.subject,
                created_by: agent.clone(),
                assigned_to: String::new(),
                to: thread_to,
                status: Status::Pending,
                priority: new.priority,
                attempts: 0,
                latest_message_id: None,
                ref_type,
                ref_id,
                created_at: opened_at,
                updated_at: opened_at,
            },
            version: 1,
            opened_by: message.kind,
            epoch: 0,
            holder: None,
            holder_session: None,
            lease_secret: None,
            lease_ms: None,
            claimed_at: None,
            lease_until: None,
            expires_at: message.expires_at,
            turns: 0,
            holder_no: None,
        };
        row.assign();
        for (index, (address_no, expires_at)) in queues.iter().enumerate() {
            if new.own.is_some() || !message.is_held_at(index) {
                self.receive(&row, *address_no, *expires_at, true)?;
            }
        }
        let source = Source {
            name: agent,
            agent_no: creator_no,
            session,
        };
        let decision = Decision {
            event: EventType::Created,
            status: Status::Pending,
            lease: LeaseChange::Keep,
            is_override: false,
        };
        let (message, artifacts) = self.append(
            &row,
            source,
            decision,
            LeasePart::default(),
            Some((message, inboxes)),
        )?;
        if let Some(message) = message.as_ref().filter(|_| new.own.is_some()) {
            self.ring_at(&message.to)?;
        }
        row.thread.latest_message_id = message.as_ref().map(|message| message.message_id);
        let latest = row.thread.latest_message_id.map(MessageId::key);
        if first_entry != latest {
            self.put(&sql::SET_LATEST_MESSAGE, &[latest.into(), thread_no.into()])?;
        }
        self.ring_for(&row)?;
        Ok(Recorded {
            row,
            message,
            artifacts,
        })
    }

    /// Puts a thread into the queue of an address.
    pub(crate) fn receive(
        &mut self,
        row: &ThreadRow,
        address_no: i64,
        expires_at: Option<Millis>,
        is_new: bool,
    ) -> Result<(), StoreError> {
        let params = [
            address_no.into(),
            row.thread.thread_id.key().into(),
            row.thread.priority.code().into(),
            row.queue().into(),
            expires_at.map(|time| time.0).into(),
            row.held_until().into(),
        ];
        // What may be there already is a longer statement, which a send need not prepare.
        let statement = if is_new {
            &sql::INSERT_RECIPIENT
        } else {
            &sql::SET_RECIPIENT
        };
        self.put(statement, &params)
    }

    /// Commits a decision on a thread by compare-and-set, with its event and message.
    pub fn commit_step(
        &mut self,
        mut row: ThreadRow,
        step: Step<'_>,
    ) -> Result<Recorded, StoreError> {
        let now = self.now();
        let agent_no = self.ensure_agent(step.agent)?;
        let source = Source {
            name: step.agent,
            agent_no,
            session: step.session,
        };
        let before = (row.queue(), row.held_until());
        self.ring_for(&row)?;
        row.thread.status = step.decision.status;
        // What comes from elsewhere happened when it happened.
        let happened = step.message.as_ref().and_then(|message| message.created_at);
        row.thread.updated_at = happened.unwrap_or(now);
        row.turns = step.turns.unwrap_or(row.turns);
        let mut part = LeasePart::default();
        match step.decision.lease {
            LeaseChange::Keep => {}
            LeaseChange::Take { until } => {
                row.epoch += 1;
                row.thread.attempts += 1;
                row.holder = Some(step.agent.clone());
                row.holder_no = Some(agent_no);
                row.holder_session = step.session.cloned();
                row.lease_secret = Some(random()?.cast_signed() & i64::MAX);
                row.lease_ms = step.lease_ms;
                row.claimed_at = Some(now);
                row.lease_until = Some(until);
                part = LeasePart {
                    epoch: Some(row.epoch),
                    secret: row.lease_secret,
                    until: Some(until),
                };
            }
            LeaseChange::Extend { until } => {
                row.lease_ms = step.lease_ms;
                row.lease_until = Some(until);
                part = LeasePart {
                    epoch: Some(row.epoch),
                    secret: None,
                    until: Some(until),
                };
            }
            LeaseChange::Finish => row.lease_until = None,
            LeaseChange::Drop => {
                row.epoch += 1;
                row.holder = None;
                row.holder_no = None;
                row.holder_session = None;
                row.lease_secret = None;
                row.lease_ms = None;
                row.claimed_at = None;
                row.lease_until = None;
                part.epoch = Some(row.epoch);
            }
        }
        row.assign();
        let message = match step.message {
            None => None,
            Some(mut message) => {
                if message.to.is_empty() {
                    message.to.clone_from(&row.thread.to);
                }
                let mut inboxes = Vec::with_capacity(message.to.len());
                for (index, address) in message.to.iter().enumerate() {
                    inboxes.push((self.ensure_address(address)?, message.deadline(index)));
                }
                Some((message, inboxes))
            }
        };
        let (message, artifacts) = self.append(&row, source, step.decision, part, message)?;
        if let Some(message) = &message {
            row.thread.latest_message_id = Some(message.message_id);
            self.ring_at(&message.to)?;
        }
        self.compare_and_set(&mut row)?;
        if is_queued_anew(before, &row) {
            for address in &row.thread.to {
                let stored = address.stored();
                let params = [
                    row.queue().into(),
                    row.held_until().into(),
                    row.thread.thread_id.key().into(),
                    stored.as_ref().into(),
                ];
                self.put(&sql::SET_QUEUE, &params)?;
            }
        }
        if step.decision.lease == LeaseChange::Drop && !planted("release_is_not_mail") {
            self.turn_back(&row)?;
        }
        self.ring_for(&row)?;
        Ok(Recorded {
            row,
            message,
            artifacts,
        })
    }

    /// Lets those whom work is for find it again, now that nobody holds it.
    fn turn_back(&mut self, row: &ThreadRow) -> Result<(), StoreError> {
        for to in row.thread.to.iter().filter(|_| row.is_work()) {
            let stored = to.stored();
            let params = [row.thread.thread_id.key().into(), stored.as_ref().into()];
            self.put(&sql::TURN_BACK, &params)?;
        }
        Ok(())
    }

    fn compare_and_set(&mut self, row: &mut ThreadRow) -> Result<(), StoreError> {
        self.change(
            &sql::UPDATE_THREAD,
            &[
                row.thread.status.code().into(),
                row.thread.attempts.into(),
                row.epoch.into(),
                row.holder_no.into(),
                row.holder_session.as_ref().map(SessionId::as_str).into(),
                row.lease_secret.into(),
                row.lease_ms.into(),
                row.claimed_at.map(|time| time.0).into(),
                row.lease_until.map(|time| time.0).into(),
                row.thread.latest_message_id.map(MessageId::key).into(),
                row.thread.updated_at.0.into(),
                row.turns.into(),
                row.thread.thread_id.key().into(),
                row.version.into(),
            ],
        )?;
        row.version += 1;
        Ok(())
    }

    fn append(
        &mut self,
        row: &ThreadRow,
        source: Source<'_>,
        decision: Decision,
        lease: LeasePart,
        message: Option<(NewMessage, Inboxes)>,
    ) -> Result<(Option<Message>, Vec<Artifact>), StoreError> {
        let thread_id = row.thread.thread_id;
        let (message, inboxes) = message.unzip();
        let inboxes = inboxes.unwrap_or_default();
        let to_no = inboxes.first().map(|(address_no, _)| *address_no);
        let now = message
            .as_ref()
            .and_then(|message| message.created_at)
            .unwrap_or(self.now());
        let priority = message
            .as_ref()
            .and_then(|message| message.priority)
            .filter(|priority| *priority != row.thread.priority);
        let uid_random = if message.is_some() {
            Some(random()?.cast_signed())
        } else {
            None
        };
        let to_list = message.as_ref().and_then(|message| list_of(&message.to));
        let payload = message
            .as_ref()
            .and_then(|message| stored_json(&message.payload_json));
        let context = message
            .as_ref()
            .and_then(|message| stored_json(&message.context));
        let body = message
            .as_ref()
            .map(|message| message.body.as_str())
            .filter(|body| !body.is_empty());
        let params: [Param<'_>; 25] = [
            thread_id.key().into(),
            decision.event.code().into(),
            decision.status.code().into(),
            source.agent_no.into(),
            source.session.map(SessionId::as_str).into(),
            now.0.into(),
            lease.epoch.into(),
            lease.secret.into(),
            lease.until.map(|time| time.0).into(),
            decision.is_override.then_some(1_i64).into(),
            message.as_ref().map(|message| message.kind.code()).into(),
            to_no.into(),
            message.as_ref().map(|message| message.auth.code()).into(),
            uid_random.into(),
            message
                .as_ref()
                .and_then(|message| message.parent)
                .map(MessageId::key)
                .into(),
            message
                .as_ref()
                .and_then(|message| message.expires_at)
                .map(|time| time.0)
                .into(),
            message
                .as_ref()
                .and_then(|message| message.message_type.as_deref())
                .into(),
            to_list.as_deref().into(),
            message
                .as_ref()
                .map(|message| message.summary.as_str())
                .into(),
            body.into(),
            payload.as_deref().into(),
            context.as_deref().into(),
            message
                .as_ref()
                .and_then(|message| message.uid.as_deref())
                .into(),
            message
                .as_ref()
                .map(|message| message.hops)
                .filter(|&hops| hops > 0)
                .into(),
            priority.map(Priority::code).into(),
        ];
        let entry_no = self.key_of(&sql::INSERT_ENTRY, &params)?;
        self.entries.push(entry_no);
        let Some(message) = message else {
            return Ok((None, Vec::new()));
        };
        for (index, (address_no, expires_at)) in inboxes.iter().enumerate() {
            if message.is_held_at(index) {
                continue;
            }
            let expires_at = expires_at.map(|time| time.0);
            let params = [(*address_no).into(), entry_no.into(), expires_at.into()];
            self.put(&sql::INSERT_DELIVERY, &params)?;
        }
        for passage in &message.passages {
            if let Some(inbox) = inboxes.get(passage.address) {
                self.send_out(passage, entry_no, source.agent_no, *inbox)?;
            }
        }
        let message_id = MessageId::new(entry_no);
        let mut artifacts = Vec::with_capacity(message.artifacts.len());
        for artifact in message.artifacts {
            artifacts.push(self.attach(message_id, artifact)?);
        }
        let message = Message {
            message_id,
            uid: message
                .uid
                .unwrap_or_else(|| message_uid(now, entry_no, uid_random.unwrap_or(0))),
            thread_id,
            from_agent: source.name.clone(),
            from_session: source.session.cloned(),
            to_agent: message
                .to
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
            to: message.to,
            kind: message.kind,
            message_type: message.message_type,
            summary: message.summary,
            body: message.body,
            payload_json: message.payload_json,
            context: message.context,
            parent_message_id: message.parent,
            hops: message.hops,
            priority: priority.unwrap_or(row.thread.priority),
            expires_at: message.expires_at,
            verified: message.auth != Auth::Local,
            auth: message.auth,
            created_at: now,
        };
        Ok((Some(message), artifacts))
    }

    fn attach(&mut self, message_id: MessageId, new: NewArtifact) -> Result<Artifact, StoreError> {
        let now = self.now();
        let key = self.key_of(
            &sql::INSERT_ARTIFACT,
            &[
                message_id.key().into(),
                new.path.as_str().into(),
                new.kind.as_str().into(),
                new.metadata.size.into(),
                new.metadata.sha256.as_deref().into(),
                new.metadata.media_type.as_deref().into(),
                now.0.into(),
            ],
        )?;
        Ok(Artifact {
            artifact_id: ArtifactId::new(key),
            message_id,
            path: new.path,
            kind: new.kind,
            metadata_json: new.metadata,
            created_at: now,
        })
    }
}

/// Whether what the queues have of a thread must be written anew: its place, or until when it is held. A lease that is
/// renewed in time may stay as it was: whoever finds it there looks at the thread itself.
fn is_queued_anew((queue, held_until): (i64, i64), row: &ThreadRow) -> bool {
    let is_renewed = held_until > row.thread.updated_at.0 && row.held_until() > held_until;
    queue != row.queue() || (row.held_until() != held_until && !is_renewed)
}

/// The keys of a message's addresses, and when it expires at each.
type Inboxes = Vec<(i64, Option<Millis>)>;

/// Several addresses as the list column keeps them; one needs no list.
pub(crate) fn list_of(addresses: &[Address]) -> Option<String> {
    (addresses.len() > 1).then(|| {
        addresses
            .iter()
            .map(Address::stored)
            .collect::<Vec<_>>()
            .join(" ")
    })
}

/// A payload as it is kept; an empty object is kept as nothing.
pub(crate) fn stored_json(value: &Value) -> Option<String> {
    let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
    (!empty).then(|| value.to_string())
}

pub(crate) fn random() -> Result<u64, StoreError> {
    getrandom::u64().map_err(|error| StoreError::Database(format!("no random numbers: {error}")))
}

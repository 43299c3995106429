//! Rows of the views, in the order of their columns.

use inbox_core::record::{ArtifactMetadata, Millis, message_uid};
use inbox_core::{
    Address, AgentName, Artifact, ArtifactId, Auth, Event, EventId, EventType, Kind, Lease,
    LeaseToken, Message, MessageId, Mode, Priority, RefType, SessionId, Status, Thread, ThreadId,
};
use serde_json::{Value, json};

use crate::error::StoreError;
use crate::value::Row;

/// A thread, and what its lease and its order in the queue need.
#[derive(Debug, Clone)]
pub struct ThreadRow {
    /// What programs see.
    pub thread: Thread,
    /// What a compare-and-set goes by.
    pub version: i64,
    /// The kind of its first message: a task makes it work.
    pub opened_by: Kind,
    /// The number of its newest claim, release or cancellation.
    pub epoch: i64,
    /// Who holds it, or finished it.
    pub holder: Option<AgentName>,
    /// The session that claimed it.
    pub holder_session: Option<SessionId>,
    /// The secret of the newest claim.
    pub lease_secret: Option<i64>,
    /// The length that the holder asked for.
    pub lease_ms: Option<i64>,
    /// When it was claimed.
    pub claimed_at: Option<Millis>,
    /// When the lease ends or ended.
    pub lease_until: Option<Millis>,
    /// When its first message expires.
    pub expires_at: Option<Millis>,
    /// How often another agent has spoken since a person did.
    pub turns: i64,
    pub(crate) holder_no: Option<i64>,
}

impl ThreadRow {
    pub(crate) fn read(row: &mut Row) -> Result<Self, StoreError> {
        let thread_id = ThreadId::new(row.int()?);
        let version = row.int()?;
        let status = row.word(Status::from_code)?;
        let priority = row.word(Priority::from_code)?;
        let opened_by = row.word(Kind::from_code)?;
        let attempts = row.int()?;
        let epoch = row.int()?;
        let created_by = row.parsed()?;
        let to = addresses(row)?;
        let holder = maybe_parsed::<AgentName>(row)?;
        let holder_session = maybe_parsed(row)?;
        let lease_secret = row.maybe_int()?;
        let lease_ms = row.maybe_int()?;
        let claimed_at = row.maybe_int()?.map(Millis);
        let lease_until = row.maybe_int()?.map(Millis);
        let latest_message_id = row.maybe_int()?.map(MessageId::new);
        let created_at = Millis(row.int()?);
        let updated_at = Millis(row.int()?);
        let expires_at = row.maybe_int()?.map(Millis);
        let ref_type = row.maybe_int()?.and_then(RefType::from_code);
        let ref_id = row.maybe_text()?;
        let run_id = row.maybe_text()?.unwrap_or_default();
        let task_id = row.maybe_text()?.unwrap_or_default();
        let subject = row.text()?;
        let _creator_no = row.int()?;
        let holder_no = row.maybe_int()?;
        let _to_no = row.int()?;
        let turns = row.int()?;
        let mut found = ThreadRow {
            thread: Thread {
                thread_id,
                run_id,
                task_id,
                subject,
                created_by,
                assigned_to: String::new(),
                to,
                status,
                priority,
                attempts,
                latest_message_id,
                ref_type,
                ref_id,
                created_at,
                updated_at,
            },
            version,
            opened_by,
            epoch,
            holder,
            holder_session,
            lease_secret,
            lease_ms,
            claimed_at,
            lease_until,
            expires_at,
            turns,
            holder_no,
        };
        found.assign();
        Ok(found)
    }

    /// Sets `assigned_to` from the holder or the first address.
    pub(crate) fn assign(&mut self) {
        self.thread.assigned_to = match (&self.holder, self.thread.to.first()) {
            (Some(holder), _) => holder.to_string(),
            (None, Some(address)) => address.to_string(),
            (None, None) => String::new(),
        };
    }

    /// Whether it was opened by a task.
    pub fn is_work(&self) -> bool {
        self.opened_by == Kind::Task
    }

    /// Whether it is the commentary of an entity.
    pub fn is_commentary(&self) -> bool {
        self.thread.to.first().map(Address::mode) == Some(Mode::Entity)
    }

    /// Where it stands in the queues of its addresses: work that is free (1) or held (2), or nowhere.
    pub(crate) fn queue(&self) -> i64 {
        match self.thread.status {
            Status::Pending if self.is_work() => 1,
            status if status.is_held() && self.is_work() => 2,
            _ => 0,
        }
    }

    /// Until when it is held, while it is in a queue as held; else 0.
    pub(crate) fn held_until(&self) -> i64 {
        let until = self.lease_until.filter(|_| self.queue() == 2);
        until.map_or(0, |time| time.0)
    }

    /// The lease in force or run out, without its token.
    pub fn lease(&self) -> Option<Lease> {
        let (Some(agent), Some(claimed_at), Some(expires_at)) =
            (&self.holder, self.claimed_at, self.lease_until)
        else {
            return None;
        };
        self.thread.status.is_held().then(|| Lease {
            thread_id: self.thread.thread_id,
            agent_id: agent.clone(),
            lease_token: None,
            epoch: self.epoch,
            claimed_at,
            expires_at,
        })
    }

    /// The lease with its token, for the one who took it.
    pub fn lease_with_token(&self) -> Option<Lease> {
        let secret = self.lease_secret?;
        let token = LeaseToken {
            thread: self.thread.thread_id,
            epoch: self.epoch,
            secret,
        };
        self.lease().map(|lease| Lease {
            lease_token: Some(token),
            ..lease
        })
    }
}

fn maybe_parsed<T: std::str::FromStr>(row: &mut Row) -> Result<Option<T>, StoreError> {
    let Some(text) = row.maybe_text()? else {
        return Ok(None);
    };
    text.parse()
        .map(Some)
        .map_err(|_| StoreError::Unreadable(format!("{text:?}")))
}

/// Reads the first address and the list that stands beside it when there are several.
fn addresses(row: &mut Row) -> Result<Vec<Address>, StoreError> {
    let first = row.text()?;
    let list = row.maybe_text()?;
    list.as_deref()
        .unwrap_or(&first)
        .split(' ')
        .map(|text| {
            Address::from_stored(text)
                .map_err(|_| StoreError::Unreadable(format!("the address {text:?}")))
        })
        .collect()
}

pub(crate) fn read_message(row: &mut Row) -> Result<(EventId, Message), StoreError> {
    let number = row.int()?;
    let event_id = EventId(row.int()?);
    let thread_id = ThreadId::new(row.int()?);
    let from_agent = row.parsed()?;
    let from_session = maybe_parsed(row)?;
    let created_at = Millis(row.int()?);
    let kind = row.word(Kind::from_code)?;
    let to = addresses(row)?;
    let auth = row.word(Auth::from_code)?;
    let made_uid = message_uid(created_at, number, row.int()?);
    let parent_message_id = row.maybe_int()?.map(MessageId::new);
    let expires_at = row.maybe_int()?.map(Millis);
    let message_type = row.maybe_text()?;
    let summary = row.text()?;
    let body = row.maybe_text()?.unwrap_or_default();
    let payload_json = read_json(row)?;
    let context = read_json(row)?;
    let uid = row.maybe_text()?.unwrap_or(made_uid);
    let hops = row.maybe_int()?.unwrap_or(0);
    let priority = row.word(Priority::from_code)?;
    let message = Message {
        message_id: MessageId::new(number),
        uid,
        thread_id,
        from_agent,
        from_session,
        to_agent: to.first().map(ToString::to_string).unwrap_or_default(),
        to,
        kind,
        message_type,
        summary,
        body,
        payload_json,
        context,
        parent_message_id,
        hops,
        priority,
        expires_at,
        verified: auth != Auth::Local,
        auth,
        created_at,
    };
    Ok((event_id, message))
}

pub(crate) fn read_json(row: &mut Row) -> Result<Value, StoreError> {
    match row.maybe_text()? {
        None => Ok(json!({})),
        Some(text) => serde_json::from_str(&text)
            .map_err(|_| StoreError::Unreadable("a payload that is not JSON".into())),
    }
}

pub(crate) fn read_event(row: &mut Row) -> Result<Event, StoreError> {
    let event_id = EventId(row.int()?);
    let number = row.int()?;
    let thread_id = ThreadId::new(row.int()?);
    let event_type = row.word(EventType::from_code)?;
    let status = row.word(Status::from_code)?;
    let source = row.parsed()?;
    let created_at = Millis(row.int()?);
    let epoch = row.maybe_int()?;
    let lease_until = row.maybe_int()?.map(Millis);
    let is_override = row.maybe_int()?.is_some();
    let kind = row.maybe_int()?.and_then(Kind::from_code);
    let summary = row.maybe_text()?.unwrap_or_default();
    let run_id = row.maybe_text()?.unwrap_or_default();
    let task_id = row.maybe_text()?.unwrap_or_default();
    let mut payload = json!({ "status": status });
    if let Some(kind) = kind {
        payload["kind"] = json!(kind);
    }
    if let Some(epoch) = epoch {
        payload["epoch"] = json!(epoch);
    }
    if let Some(until) = lease_until {
        payload["expires_at"] = json!(until);
    }
    if is_override {
        payload["override"] = json!(true);
    }
    Ok(Event {
        event_id,
        run_id,
        task_id,
        thread_id,
        source,
        event_type,
        message_id: kind.map(|_| MessageId::new(number)),
        summary,
        payload_json: payload,
        created_at,
    })
}

pub(crate) fn read_artifact(row: &mut Row) -> Result<Artifact, StoreError> {
    Ok(Artifact {
        artifact_id: ArtifactId::new(row.int()?),
        message_id: MessageId::new(row.int()?),
        path: row.text()?,
        kind: row.text()?,
        metadata_json: ArtifactMetadata {
            size: row.maybe_int()?,
            sha256: row.maybe_text()?,
            media_type: row.maybe_text()?,
        },
        created_at: Millis(row.int()?),
    })
}

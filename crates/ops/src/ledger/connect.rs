//! Connections as threads: whoever is outside has a name here, and what the parties say is mail.

use inbox_core::lifecycle::Command;
use inbox_core::record::Millis;
use inbox_core::{
    Address, AgentKind, AgentName, Auth, Code, Kind, Priority, Refusal, ThreadId, limit, name,
};
use inbox_store::{Abort, ConnectionRow, ConnectionState, NewMessage, NewThread, TopicPlace, Tx};
use serde_json::{Value, json};

use super::spoken::listeners;
use super::step::step;
use crate::call::Inbox;
use crate::deliver;
use crate::step::thread;

/// How often it is looked whether a connection was ended by its keys, in milliseconds.
const LOOK_MS: i64 = 30_000;

/// How much of a text is its summary.
const SUMMARY: usize = 200;

/// Something that is told about a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The sort of it.
    pub sort: &'static str,
    /// In one line.
    pub summary: String,
    /// The rest.
    pub body: String,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    /// By whom.
    pub by: &'a str,
    /// Why.
    pub reason: Option<&'a str>,
    /// Whether the agent here has recorded it already.
    pub is_recorded: bool,
}

/// The other as people know it.
pub(super) fn shown(row: &ConnectionRow) -> String {
    match &row.other_name {
        Some(name) => format!("{name} ({})", row.other),
        None => row.other.clone(),
    }
}

/// Who an account is here: an agent that hears on a topic of its own, or one outside.
pub(super) fn name_of(tx: &mut Tx<'_>, account: &str) -> Result<AgentName, Abort> {
    let found = tx.agents(None)?.into_iter().map(|details| details.agent);
    let mut found = found.filter(|agent| {
        agent.account_id.as_deref() == Some(account) && agent.inbound_topic_id.is_some()
    });
    match found.next() {
        Some(agent) => Ok(agent.agent_id),
        None => Ok(AgentName::of_account(account)?),
    }
}

/// Has an agent outside on the roster, with its account and the name that it gives itself.
fn enlist(tx: &mut Tx<'_>, row: &ConnectionRow) -> Result<AgentName, Abort> {
    let found = name_of(tx, &row.other)?;
    if found.account().is_none() {
        return Ok(found);
    }
    tx.ensure_agent(&found)?;
    if let Some(mut details) = tx.agents(Some(&found))?.into_iter().next() {
        details.agent.account_id = Some(row.other.clone());
        if let Some(title) = &row.other_name
            && name::reserved(title).is_none()
        {
            details.agent.name = title.chars().take(100).collect();
        }
        tx.set_agent(&details)?;
    }
    Ok(found)
}

/// A text as a message: its first line sums it up.
fn worded(kind: Kind, text: &str, auth: Auth) -> NewMessage {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or("(nothing)").trim();
    let summary: String = first.chars().take(SUMMARY).collect();
    let mut message = NewMessage::saying(kind, summary.as_str(), auth);
    if summary != text {
        let mut end = text.len().min(limit::BODY);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].clone_into(&mut message.body);
    }
    message
}

impl Inbox {
    /// A message of inbox itself in a thread, or one that opens a thread.
    pub(super) fn notice(
        &self,
        tx: &mut Tx<'_>,
        place: Result<ThreadId, String>,
        to: Vec<Address>,
        line: &Line,
        kind: Kind,
        payload: Value,
    ) -> Result<ThreadId, Abort> {
        let system = AgentName::system();
        tx.ensure_agent_of(&system, AgentKind::System)?;
        self.post(tx, place, (&system, Auth::Local), to, line, kind, payload)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a message is all of these, and its callers have one place each"
    )]
    fn post(
        &self,
        tx: &mut Tx<'_>,
        place: Result<ThreadId, String>,
        (from, auth): (&AgentName, Auth),
        to: Vec<Address>,
        line: &Line,
        kind: Kind,
        payload: Value,
    ) -> Result<ThreadId, Abort> {
        let summary: String = line.summary.chars().take(limit::SUMMARY / 4).collect();
        let mut message = NewMessage::saying(kind, summary, auth);
        message.body.clone_from(&line.body);
        message.message_type = Some(line.sort.to_owned());
        message.payload_json = payload;
        message.to = to;
        deliver::address(tx, self.config(), &mut message, None)?;
        match place {
            Ok(id) => {
                let row = thread(tx, id)?;
                step(tx, row, from, Command::Append(kind), Some(message))?;
                Ok(id)
            }
            Err(subject) => {
                let new = NewThread {
                    subject: subject.chars().take(limit::SUBJECT / 4).collect(),
                    priority: Priority::Normal,
                    run: None,
                    task: None,
                    entity: None,
                    own: None,
                };
                let opened = tx.open_thread(from, None, new, message)?;
                Ok(opened.row.thread.thread_id)
            }
        }
    }

    /// Tells the agent of a connection something about it, in its thread where there is one.
    pub(super) fn tell_agent(
        &self,
        tx: &mut Tx<'_>,
        row: &ConnectionRow,
        line: &Line,
    ) -> Result<ThreadId, Abort> {
        let place = row.thread.ok_or_else(|| shown(row));
        let payload = json!({ "account_id": row.other, "connection_topic_id": row.topic });
        let to = vec![Address::from(&row.agent)];
        self.notice(tx, place, to, line, Kind::Event, payload)
    }

    /// Opens a connection: it has a thread, its other party a name, and its topic is followed.
    pub(super) fn open_in(&self, tx: &mut Tx<'_>, row: &mut ConnectionRow) -> Result<bool, Abort> {
        let topic = row.topic.clone().unwrap_or_default();
        let there = tx.connections_on(&topic)?;
        let other = enlist(tx, row)?;
        // A topic that is something else here is no place to talk, whoever says so.
        let is_others = tx
            .topic_by_id(&topic)?
            .is_some_and(|known| known.place != TopicPlace::Connection)
            || there
                .iter()
                .any(|known| known.connection_no != row.connection_no && known.agent != other);
        if is_others {
            row.state = ConnectionState::Unverified;
            row.reason = Some(format!("the topic {topic} belongs to something else"));
            return Ok(tx.set_connection(row)?);
        }
        let (place, agent) = (TopicPlace::Connection, row.agent.clone());
        tx.ensure_topic(place, &topic, Some(&agent), Some(&topic))?;
        row.thread = there.iter().find_map(|known| known.thread);
        row.state = ConnectionState::Open;
        (row.step, row.step_id, row.problem, row.tries) = (None, None, None, 0);
        row.next_at = Millis(tx.now().0 + LOOK_MS);
        // Whoever goes on with it and whoever finds it recorded come here at once: one of them opens it, and says so.
        if !tx.set_connection(row)? {
            return Ok(false);
        }
        if row.thread.is_none() {
            let line = Line {
                sort: "connection.opened",
                summary: format!("{} is connected with {agent}", shown(row)),
                body: row.memo.clone().unwrap_or_default(),
            };
            let payload = json!({ "account_id": row.other, "connection_topic_id": topic });
            let opened = self.post(
                tx,
                Err(shown(row)),
                (&other, Auth::Ledger),
                vec![Address::from(&agent)],
                &line,
                Kind::Event,
                payload,
            )?;
            row.thread = Some(opened);
            tx.set_connection(row)?;
        }
        let line = Line {
            sort: "connection.opened",
            summary: format!("{} is connected", row.other),
            body: String::new(),
        };
        self.tell_asker_in(tx, row, &line)?;
        Ok(true)
    }

    /// Ends a connection: its thread says so, and what was still to be said on it is not.
    pub(super) fn end_in(
        &self,
        tx: &mut Tx<'_>,
        row: &mut ConnectionRow,
        ending: &Ending<'_>,
    ) -> Result<bool, Abort> {
        row.state = if ending.is_recorded {
            ConnectionState::Closed
        } else {
            ConnectionState::Closing
        };
        (row.step, row.step_id, row.problem, row.tries) = (None, None, None, 0);
        row.next_at = tx.now();
        row.decided_by = Some(ending.by.to_owned());
        row.reason = ending.reason.map(str::to_owned);
        let topic = row.topic.clone().unwrap_or_default();
        let unsaid = match tx.topic_by_id(&topic)? {
            Some(known) => tx.drop_outgoing(known.topic_no, &row.agent)?,
            None => 0,
        };
        let mut body = ending.reason.unwrap_or_default().to_owned();
        if unsaid > 0 {
            body.push_str(&format!("\n\n{unsaid} of your messages were not sent."));
        }
        let line = Line {
            sort: "connection.closed",
            summary: format!("{} closed the connection", ending.by),
            body: body.trim().to_owned(),
        };
        if !tx.set_connection(row)? {
            return Ok(false);
        }
        self.tell_agent(tx, row, &line)?;
        Ok(true)
    }

    /// Makes mail of what a party said: its UUID.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a party said is all of these, and there is one caller"
    )]
    pub(super) fn say_in(
        &self,
        tx: &mut Tx<'_>,
        rows: &[ConnectionRow],
        row: &ConnectionRow,
        from: &AgentName,
        text: &str,
        sort: Option<&str>,
        at: Option<Millis>,
    ) -> Result<String, Abort> {
        let mut message = worded(Kind::Event, text, Auth::Ledger);
        message.message_type = sort.map(str::to_owned);
        message.created_at = at;
        message.to = listeners(rows, from)
            .map(|row| Address::from(&row.agent))
            .collect();
        if message.to.is_empty() {
            // Said by the agent here, with its key elsewhere.
            message.to = vec![Address::from(&name_of(tx, &row.other)?)];
        }
        tx.ensure_agent(from)?;
        deliver::address(tx, self.config(), &mut message, None)?;
        let Some(id) = row.thread else {
            let problem = format!("the connection on {:?} has no thread", row.topic);
            return Err(Refusal::new(Code::StoreCorrupt, problem).into());
        };
        let row = thread(tx, id)?;
        let said = step(tx, row, from, Command::Append(Kind::Event), Some(message))?.message;
        let said = said.ok_or_else(|| Refusal::new(Code::Internal, "no message was written"))?;
        Ok(said.uid)
    }
}

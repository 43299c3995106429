//! MCP Agent Mail's database: messages of agents in projects, with a row for each recipient.
//!
//! Written against the schema of mcp_agent_mail 0.3.2. An agent's name is only unique within its
//! project. A registration token is a secret of the foreign store and is never taken along.

use std::collections::{BTreeMap, HashMap};

use inbox_core::{Kind, Priority};
use serde_json::{Map, Value, json};

use super::convert::{Threads, int, text, time_of, uid, under};
use super::names::Names;
use super::{Batch, Incoming, Seen, Tables, json as strict};

/// The key in payloads.
pub const SOURCE: &str = "agent_mail";

/// The tables that are read.
pub const TABLES: &[&str] = &["agents", "message_recipients", "messages", "projects"];

/// The person, by the names that the web page sends under.
const PEOPLE: &[&str] = &["humanoverseer", "human overseer", "overseer"];

/// An agent as other rows refer to it.
struct Known<'a> {
    /// Its name there.
    name: &'a str,
    /// Its name here.
    ours: String,
}

/// The batch in MCP Agent Mail's tables.
pub fn decode(tables: &Tables) -> Batch {
    let mut batch = Batch::default();
    let rows = |table: &str| tables.get(table).map(Vec::as_slice).unwrap_or_default();
    let projects: HashMap<i64, &str> = rows("projects")
        .iter()
        .filter_map(|row| Some((int(row, "id")?, text(row, "slug")?)))
        .collect();
    let agents = agents(rows("agents"));
    let mut recipients: HashMap<i64, Vec<&Map<String, Value>>> = HashMap::new();
    for row in rows("message_recipients") {
        if let Some(message) = int(row, "message_id") {
            recipients.entry(message).or_default().push(row);
        }
    }
    let mut messages: BTreeMap<i64, &Map<String, Value>> = BTreeMap::new();
    for row in rows("messages") {
        match int(row, "id") {
            // Its own database has none; a damaged one may, and neither is dropped in silence.
            Some(id) if messages.contains_key(&id) => {
                batch.refuse(format!("message {id}"), "another message has its id");
            }
            Some(id) => {
                messages.insert(id, row);
            }
            None => batch.refuse("a message", "it has no id"),
        }
    }
    let mut converter = Converter {
        projects,
        agents,
        recipients,
        threads: Threads::default(),
        uids: HashMap::new(),
    };
    for (id, row) in messages {
        match converter.message(id, row) {
            Ok(message) => batch.take(message),
            Err(problem) => batch.refuse(format!("message {id}"), problem),
        }
    }
    batch
}

/// The agents by their ids. In that order, so that a name is given alike however rows are stored.
fn agents(rows: &[Map<String, Value>]) -> HashMap<i64, Known<'_>> {
    let mut names = Names::of(SOURCE, PEOPLE);
    let ordered: BTreeMap<i64, (&str, i64)> = rows
        .iter()
        .filter_map(|row| {
            let project = int(row, "project_id").unwrap_or_default();
            Some((int(row, "id")?, (text(row, "name")?, project)))
        })
        .collect();
    ordered
        .into_iter()
        .map(|(id, (name, project))| {
            let ours = names.within(&project.to_string(), name);
            (id, Known { name, ours })
        })
        .collect()
}

struct Converter<'a> {
    projects: HashMap<i64, &'a str>,
    agents: HashMap<i64, Known<'a>>,
    recipients: HashMap<i64, Vec<&'a Map<String, Value>>>,
    threads: Threads,
    /// The uid and project of each message by its id.
    uids: HashMap<i64, (String, i64)>,
}

impl Converter<'_> {
    fn message(&mut self, id: i64, row: &Map<String, Value>) -> Result<Incoming, String> {
        let project = int(row, "project_id").unwrap_or_default();
        let slug = self.projects.get(&project).copied().unwrap_or_default();
        let sender = int(row, "sender_id")
            .and_then(|sender| self.agents.get(&sender))
            .ok_or("its sender is not among the agents")?;
        let created = row.get("created_ts").unwrap_or(&Value::Null);
        let created_at = time_of(created).ok_or("its created_ts is not a time")?;
        let body = row
            .get("body_md")
            .and_then(Value::as_str)
            .ok_or("it has no body_md")?
            .to_owned();
        let subject = text(row, "subject").filter(|subject| !subject.trim().is_empty());
        // An id is only unique in its file; with these it is so everywhere, and stays.
        let uid = uid(
            SOURCE,
            &[
                slug,
                &id.to_string(),
                &created.to_string(),
                sender.name,
                subject.unwrap_or_default(),
                &body,
            ],
        );
        let mut told = Told::default();
        for recipient in self.recipients.get(&id).into_iter().flatten() {
            let agent = int(recipient, "agent_id").and_then(|agent| self.agents.get(&agent));
            told.add(
                recipient,
                agent.ok_or("a recipient is not among the agents")?,
            );
        }
        let thread = text(row, "thread_id");
        // A reply to a message without a thread makes one that is called by the message's number.
        let root = thread
            .and_then(|thread| thread.parse().ok())
            .filter(|root| *root != id)
            .and_then(|root: i64| self.uids.get(&root))
            .filter(|(_, of)| *of == project);
        let parent_uid = root.map(|(uid, _)| uid.clone());
        let name = match thread {
            Some(thread) => format!("{project}\0{thread}"),
            None => format!("{project}\0{id}"),
        };
        let message = Incoming {
            place: format!("message {id}"),
            thread_key: Some(self.threads.key(&name, &uid)),
            kind: Some(if parent_uid.is_some() {
                Kind::Answer
            } else {
                Kind::Event
            }),
            from: sender.ours.clone(),
            from_session: None,
            to: told.to,
            created_at,
            subject: subject.map(str::to_owned),
            body,
            payload: under(SOURCE, kept(row, id, slug, sender, told.kinds)),
            parent_uid,
            message_type: None,
            priority: text(row, "importance").and_then(priority),
            ttl_hours: None,
            reads: told.reads,
            acks: told.acks,
            uid: uid.clone(),
        };
        self.uids.insert(id, (uid, project));
        Ok(message)
    }
}

/// What the recipients' rows say.
#[derive(Default)]
struct Told {
    to: Vec<String>,
    /// The foreign names by `to`, `cc` and `bcc`.
    kinds: Map<String, Value>,
    reads: Vec<Seen>,
    acks: Vec<Seen>,
}

impl Told {
    fn add(&mut self, row: &Map<String, Value>, agent: &Known<'_>) {
        if !self.to.contains(&agent.ours) {
            self.to.push(agent.ours.clone());
        }
        let kind = text(row, "kind").unwrap_or("to").to_owned();
        if let Value::Array(names) = self.kinds.entry(kind).or_insert_with(|| json!([])) {
            names.push(agent.name.into());
        }
        let seen = |column: &str| {
            row.get(column).and_then(time_of).map(|at| Seen {
                reader: agent.ours.clone(),
                at,
            })
        };
        self.reads.extend(seen("read_ts"));
        self.acks.extend(seen("ack_ts"));
    }
}

/// What has no place of its own in a message of ours.
fn kept(
    row: &Map<String, Value>,
    id: i64,
    slug: &str,
    sender: &Known<'_>,
    kinds: Map<String, Value>,
) -> Map<String, Value> {
    let mut kept = Map::new();
    kept.insert("id".to_owned(), id.into());
    kept.insert("project".to_owned(), slug.into());
    kept.insert("from".to_owned(), sender.name.into());
    kept.extend(kinds);
    for column in ["thread_id", "topic", "importance"] {
        if let Some(value) = text(row, column) {
            kept.insert(column.to_owned(), value.into());
        }
    }
    let required = row.get("ack_required");
    if required
        .and_then(Value::as_bool)
        .unwrap_or(int(row, "ack_required") == Some(1))
    {
        kept.insert("ack_required".to_owned(), true.into());
    }
    if let Some(raw) = text(row, "attachments") {
        // As JSON where it is, as it stands where it is not.
        let attachments = strict::value(raw.as_bytes()).unwrap_or_else(|_| raw.into());
        if attachments != json!([]) {
            kept.insert("attachments".to_owned(), attachments);
        }
    }
    kept
}

fn priority(importance: &str) -> Option<Priority> {
    match importance.to_ascii_lowercase().as_str() {
        "urgent" => Some(Priority::Urgent),
        "high" => Some(Priority::High),
        "normal" => Some(Priority::Normal),
        "low" => Some(Priority::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

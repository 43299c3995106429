//! hcom's database: messages are events, and a reader's position says what it has read.
//!
//! Written against the schema of hcom 0.7.31. A group is resolved by hcom when it sends, so only its
//! members are known here.

use std::collections::{BTreeMap, HashMap};

use inbox_core::Kind;
use inbox_core::record::Millis;
use serde_json::{Map, Value};

use super::convert::{Threads, int, text, time_of, uid, under};
use super::names::Names;
use super::{Batch, Incoming, Seen, Tables, json};

/// The key in payloads.
pub const SOURCE: &str = "hcom";

/// The tables that are read.
pub const TABLES: &[&str] = &["events", "instances"];

/// The person, by hcom's name for them.
const PEOPLE: &[&str] = &["bigboss"];

/// An event's row with its data.
struct Event<'a> {
    id: i64,
    at: Millis,
    instance: &'a str,
    data: Map<String, Value>,
    raw: &'a str,
}

/// The batch in hcom's tables.
pub fn decode(tables: &Tables) -> Batch {
    let mut batch = Batch::default();
    let rows = |table: &str| tables.get(table).map(Vec::as_slice).unwrap_or_default();
    let mut messages = Vec::new();
    let mut positions = Positions::default();
    for row in rows("events") {
        let kind = text(row, "type");
        if kind != Some("message") && kind != Some("status") {
            continue;
        }
        match event(row) {
            Ok(event) if kind == Some("message") => messages.push(event),
            Ok(event) => positions.reached(&event),
            Err((place, problem)) if kind == Some("message") => batch.refuse(place, problem),
            // A state of an agent says nothing that is kept.
            Err(_) => {}
        }
    }
    for row in rows("instances") {
        if let (Some(name), Some(id)) = (text(row, "name"), int(row, "last_event_id")) {
            positions.stands(name, id);
        }
    }
    messages.sort_by_key(|event| event.id);
    let mut converter = Converter {
        names: Names::of(SOURCE, PEOPLE),
        threads: Threads::default(),
        uids: HashMap::new(),
        keys: HashMap::new(),
        positions,
    };
    // Who acknowledged what, by the acknowledged event.
    let mut acks: Vec<(i64, Seen)> = Vec::new();
    let mut ids = Vec::new();
    for event in messages {
        let id = event.id;
        let at = event.at;
        let acked = (text(&event.data, "intent") == Some("ack"))
            .then(|| reply_to(&event.data))
            .flatten();
        match converter.message(event) {
            Ok(message) => {
                if let Some(acked) = acked {
                    let reader = message.from.clone();
                    acks.push((acked, Seen { reader, at }));
                }
                let before = batch.messages.len();
                batch.take(message);
                if batch.messages.len() > before {
                    ids.push(id);
                }
            }
            Err(problem) => batch.refuse(place(id), problem),
        }
    }
    for (acked, seen) in acks {
        if let Ok(index) = ids.binary_search(&acked)
            && batch.messages[index]
                .acks
                .iter()
                .all(|ack| ack.reader != seen.reader)
        {
            batch.messages[index].acks.push(seen);
        }
    }
    batch
}

fn place(id: i64) -> String {
    format!("event {id}")
}

fn event(row: &Map<String, Value>) -> Result<Event<'_>, (String, String)> {
    let id = int(row, "id").ok_or_else(|| ("an event".to_owned(), "it has no id".to_owned()))?;
    let told = |problem: &str| (place(id), problem.to_owned());
    let raw = text(row, "data").ok_or_else(|| told("it has no data"))?;
    Ok(Event {
        id,
        at: row
            .get("timestamp")
            .and_then(time_of)
            .ok_or_else(|| told("its timestamp is not a time"))?,
        instance: text(row, "instance").unwrap_or_default(),
        data: json::object(raw.as_bytes()).map_err(|problem| (place(id), problem))?,
        raw,
    })
}

/// The event of this store that a message replies to. Another device's has a number of its own.
fn reply_to(data: &Map<String, Value>) -> Option<i64> {
    int(data, "reply_to_local").or_else(|| text(data, "reply_to")?.parse().ok())
}

struct Converter {
    names: Names,
    threads: Threads,
    /// The uid of each message by its event.
    uids: HashMap<i64, String>,
    /// The thread of each message by its event.
    keys: HashMap<i64, String>,
    positions: Positions,
}

impl Converter {
    fn message(&mut self, event: Event<'_>) -> Result<Incoming, String> {
        let Event {
            id,
            at,
            instance,
            data,
            raw,
        } = event;
        let from = text(&data, "from").unwrap_or(instance);
        if from.is_empty() {
            return Err("it has no sender".to_owned());
        }
        let body = data
            .get("text")
            .and_then(Value::as_str)
            .ok_or("it has no text")?
            .to_owned();
        let uid = uid(SOURCE, &[&id.to_string(), &at.to_string(), instance, raw]);
        let parent = reply_to(&data);
        let thread_key = match (
            text(&data, "thread"),
            parent.and_then(|id| self.keys.get(&id)),
        ) {
            (Some(name), _) => self.threads.key(name, &uid),
            (None, Some(key)) => key.clone(),
            (None, None) => uid.clone(),
        };
        let to = self.recipients(&data, from);
        let delivered = names_in(&data, "delivered_to");
        let mut reads = Vec::new();
        for reader in delivered {
            if let Some(read_at) = self.positions.read(reader, id, at) {
                let reader = self.names.name(reader);
                reads.push(Seen {
                    reader,
                    at: read_at,
                });
            }
        }
        self.uids.insert(id, uid.clone());
        self.keys.insert(id, thread_key.clone());
        let mut kept = data.clone();
        kept.shift_remove("text");
        kept.insert("event_id".to_owned(), id.into());
        Ok(Incoming {
            place: place(id),
            uid,
            from: self.names.name(from),
            from_session: None,
            to,
            created_at: at,
            subject: None,
            body,
            payload: under(SOURCE, kept),
            thread_key: Some(thread_key),
            parent_uid: parent.and_then(|id| self.uids.get(&id).cloned()),
            kind: Some(match text(&data, "intent") {
                Some("request") => Kind::Question,
                Some("ack") => Kind::Answer,
                _ => Kind::Event,
            }),
            message_type: None,
            priority: None,
            ttl_hours: None,
            reads,
            acks: Vec::new(),
        })
    }

    /// Who a message was for. A thread's members are told to hcom with the sender among them.
    fn recipients(&mut self, data: &Map<String, Value>, from: &str) -> Vec<String> {
        if text(data, "scope") == Some("broadcast") {
            return vec!["all".to_owned()];
        }
        let mentioned = names_in(data, "mentions");
        let told = if mentioned.iter().any(|name| *name != from) {
            mentioned
        } else {
            names_in(data, "delivered_to")
        };
        let mut to = Vec::new();
        for name in told.into_iter().filter(|name| *name != from) {
            let name = self.names.name(name);
            if !to.contains(&name) {
                to.push(name);
            }
        }
        to
    }
}

fn names_in<'a>(data: &'a Map<String, Value>, key: &str) -> Vec<&'a str> {
    let list = data.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| !name.is_empty())
        .collect()
}

/// How far each agent has read.
#[derive(Default)]
struct Positions {
    /// By agent: the positions that it has reported, with the earliest time of each.
    reported: HashMap<String, BTreeMap<i64, Millis>>,
    /// By agent: where it stands now.
    now: HashMap<String, i64>,
}

impl Positions {
    fn reached(&mut self, event: &Event<'_>) {
        if let Some(position) = int(&event.data, "position") {
            let times = self.reported.entry(event.instance.to_owned()).or_default();
            let at = times.entry(position).or_insert(event.at);
            *at = (*at).min(event.at);
        }
    }

    fn stands(&mut self, name: &str, position: i64) {
        self.now.insert(name.to_owned(), position);
    }

    /// When `reader` read the message `id`, which was sent `at`; nothing when it has not.
    fn read(&self, reader: &str, id: i64, at: Millis) -> Option<Millis> {
        let reported = self
            .reported
            .get(reader)
            .and_then(|times| times.range(id..).next())
            .map(|(_, &when)| when.max(at));
        let stands = self.now.get(reader).is_some_and(|&position| position >= id);
        reported.or(stands.then_some(at))
    }
}

#[cfg(test)]
mod tests;

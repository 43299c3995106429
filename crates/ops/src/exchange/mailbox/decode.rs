//! Lines as messages and reads.

use std::collections::HashMap;

use inbox_core::record::Millis;
use inbox_core::{SessionId, limit};
use serde_json::{Map, Value};

use super::{LINE, MESSAGE_ID, OWN, OWN_LINE, Original, SOURCE, joined, uid};
use crate::exchange::convert::{BOM, time, under};
use crate::exchange::names::Names;
use crate::exchange::{Batch, Incoming, LooseRead, Seen, json};

/// How the reader is called in a reads file: as the spec's code would, and as its page prints it.
const READER: [&str; 4] = [
    "reader_session_id",
    "readersession_id",
    "reader_session",
    "reader",
];

/// The batch in a mailbox file and its reads file; either may be empty.
pub fn decode(mailbox: &[u8], reads: &[u8]) -> Batch {
    let mut batch = Batch::default();
    let mut names = Names::of(SOURCE, &[]);
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (number, line) in lines(mailbox) {
        let place = format!("line {number}");
        match message(line, &place, &mut names) {
            Err(problem) => batch.refuse(place, problem),
            Ok(message) => match seen.get(&message.uid).map(|&at| &mut batch.messages[at]) {
                None => {
                    let uid = message.uid.clone();
                    let before = batch.messages.len();
                    batch.take(message);
                    if batch.messages.len() > before {
                        seen.insert(uid, before);
                    }
                }
                // The same message again, as after joining two copies of a file, only has readers to add.
                Some(first) if is_same(first, &message) => {
                    add(&mut first.reads, message.reads);
                    add(&mut first.acks, message.acks);
                }
                Some(first) => {
                    let problem = format!("it has the id of {} and other content", first.place);
                    batch.refuse(place, problem);
                }
            },
        }
    }
    thread_by_parents(&mut batch.messages, &seen);
    for (number, line) in lines(reads) {
        match read(line, &mut names) {
            Ok(read) => batch.reads.push(read),
            Err(problem) => batch.refuse(format!("reads line {number}"), problem),
        }
    }
    batch
}

/// Whether two lines are of one message. What a line of ours says about the thread changes with time.
fn is_same(one: &Incoming, other: &Incoming) -> bool {
    let is_own = |message: &Incoming| message.payload.get(OWN).is_some();
    one.from == other.from
        && one.to == other.to
        && one.created_at == other.created_at
        && one.body == other.body
        && (one.payload == other.payload || is_own(one) && is_own(other))
}

fn add(known: &mut Vec<Seen>, more: Vec<Seen>) {
    for seen in more {
        if known.iter().all(|other| other.reader != seen.reader) {
            known.push(seen);
        }
    }
}

/// The lines that are not blank, with their numbers.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    bytes
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim_ascii().is_empty())
}

fn message(line: &[u8], place: &str, names: &mut Names) -> Result<Incoming, String> {
    let too_long = || Err(format!("it has {} bytes; the most is {LINE}", line.len()));
    if line.len() > OWN_LINE {
        return too_long();
    }
    let mut fields = json::object(line)?;
    let id = take_text(&mut fields, &["id"])?;
    let sender = take_text(&mut fields, &["sender", "from"])?;
    let body = take(&mut fields, &["content", "body"])
        .ok_or("it has no content".to_owned())
        .and_then(|(key, value)| as_text(key, value))?;
    let created_at = take_time(&mut fields)?;
    let parent_uid = match fields.shift_remove("thread") {
        None | Some(Value::Null) => None,
        Some(value) => Some(uid(&as_text("thread", value)?)),
    };
    let ttl_hours = match fields.shift_remove("ttl_hours") {
        None | Some(Value::Null) => None,
        Some(value) => Some(hours(&value)?),
    };
    let addresses = addresses(&mut fields)?;
    let read_by = match fields.shift_remove("read_by") {
        None | Some(Value::Null) => Vec::new(),
        Some(value) => texts("read_by", value)?,
    };
    let mut message = Incoming {
        place: place.to_owned(),
        uid: uid(&id),
        from: String::new(),
        from_session: None,
        to: Vec::new(),
        created_at,
        subject: None,
        body,
        payload: Value::Null,
        thread_key: None,
        parent_uid,
        kind: None,
        message_type: None,
        priority: None,
        ttl_hours,
        reads: Vec::new(),
        acks: Vec::new(),
    };
    if let Some(Value::Object(rest)) = fields.get(OWN)
        && own(&mut message, rest.clone()).is_some()
    {
        return Ok(message);
    }
    if line.len() > LINE {
        return too_long();
    }
    foreign(&mut message, names, &id, &sender, &addresses, fields)?;
    message.reads = read_by
        .iter()
        .map(|reader| Seen {
            reader: names.name(reader),
            at: created_at,
        })
        .collect();
    Ok(message)
}

/// Fills in what a line of ours says beside the spec's fields; nothing when it is not one.
fn own(message: &mut Incoming, mut rest: Map<String, Value>) -> Option<()> {
    for name in ["payload_json", "context"] {
        if let Some(text) = rest.shift_remove(&format!("{name}_text")) {
            rest.insert(name.to_owned(), serde_json::from_str(text.as_str()?).ok()?);
        }
    }
    let mut seen = |name: &str| match rest.shift_remove(name) {
        None => Some(Vec::new()),
        Some(list) => serde_json::from_value::<Vec<Seen>>(list).ok(),
    };
    let (reads, acks) = (seen("reads")?, seen("acks")?);
    let payload = rest.shift_remove("payload_json")?;
    let original = Original::of(
        rest.clone(),
        &message.uid,
        message.created_at,
        &message.body,
        &payload,
    )?;
    let Original {
        message: known,
        thread,
        ..
    } = original;
    message.from = known.from_agent.to_string();
    message.from_session = known.from_session.map(|session| session.to_string());
    message.to = known.to.iter().map(ToString::to_string).collect();
    if message.to.is_empty() {
        // A report has no address of its own. What is taken in has one: that of its sender's thread.
        message.to = vec![match &thread {
            Some(thread) if thread.created_by != known.from_agent => thread.created_by.to_string(),
            _ => message.from.clone(),
        }];
    }
    message.kind = Some(known.kind);
    message.message_type = known.message_type;
    message.thread_key = Some(known.thread_id.to_string());
    message.subject = thread.as_ref().map(|thread| thread.subject.clone());
    message.priority = thread.as_ref().map(|thread| thread.priority);
    message.reads = reads;
    message.acks = acks;
    message.payload = joined(payload, rest);
    Some(())
}

/// Fills in what a line of somebody else says.
fn foreign(
    message: &mut Incoming,
    names: &mut Names,
    id: &str,
    sender: &str,
    addresses: &[String],
    mut rest: Map<String, Value>,
) -> Result<(), String> {
    message.from = names.name(sender);
    message.from_session = sender
        .parse::<SessionId>()
        .ok()
        .map(|session| session.to_string());
    for address in addresses {
        let address = names.address(address);
        if !message.to.contains(&address) {
            message.to.push(address);
        }
    }
    message.subject = match rest.shift_remove("subject") {
        None | Some(Value::Null) => None,
        Some(value) => Some(as_text("subject", value)?).filter(|text| !text.trim().is_empty()),
    };
    if message.uid != id {
        rest.insert("id".to_owned(), id.into());
    }
    if message.from != sender {
        rest.insert("sender".to_owned(), sender.into());
    }
    if message.to != addresses {
        rest.insert("recipient".to_owned(), addresses.to_vec().into());
    }
    message.payload = under(SOURCE, rest);
    Ok(())
}

/// Who a line is for: the spec's recipient, and the tags of its amendment.
fn addresses(fields: &mut Map<String, Value>) -> Result<Vec<String>, String> {
    let mut found = match take(fields, &["recipient", "to"]) {
        None | Some((_, Value::Null)) => Vec::new(),
        Some((key, list @ Value::Array(_))) => texts(key, list)?,
        Some((key, value)) => vec![as_text(key, value)?],
    };
    match fields.shift_remove("tags") {
        None | Some(Value::Null) => {}
        // A tag without a namespace is a group's name, not an agent's.
        Some(tags) => found.extend(texts("tags", tags)?.into_iter().map(|tag| {
            if tag.trim().is_empty() || tag.contains(':') {
                tag
            } else {
                format!("group:{tag}")
            }
        })),
    }
    found.retain(|address| !address.trim().is_empty());
    if found.is_empty() {
        return Err("it has no recipient".to_owned());
    }
    Ok(found)
}

/// Gives messages without a thread of their own the key of the message that their chain begins with.
fn thread_by_parents(messages: &mut [Incoming], index_of: &HashMap<String, usize>) {
    // Which walk came by last: a chain that meets itself has no beginning.
    let mut walked = vec![usize::MAX; messages.len()];
    for start in 0..messages.len() {
        let mut chain = Vec::new();
        let mut at = start;
        let key = loop {
            let message = &messages[at];
            if let Some(key) = &message.thread_key {
                break key.clone();
            }
            walked[at] = start;
            chain.push(at);
            match message
                .parent_uid
                .as_ref()
                .map(|uid| (uid, index_of.get(uid)))
            {
                None => break message.uid.clone(),
                Some((parent, None)) => break parent.clone(),
                Some((_, Some(&parent))) if walked[parent] == start => break message.uid.clone(),
                Some((_, Some(&parent))) => at = parent,
            }
        };
        for index in chain {
            messages[index].thread_key = Some(key.clone());
        }
    }
}

fn read(line: &[u8], names: &mut Names) -> Result<LooseRead, String> {
    if line.len() > LINE {
        return Err(format!("it has {} bytes; the most is {LINE}", line.len()));
    }
    let mut fields = json::object(line)?;
    Ok(LooseRead {
        message_uid: uid(&take_text(&mut fields, &MESSAGE_ID)?),
        reader: names.name(&take_text(&mut fields, &READER)?),
        at: take_time(&mut fields)?,
    })
}

fn take_time(fields: &mut Map<String, Value>) -> Result<Millis, String> {
    let text = take_text(fields, &["timestamp"])?;
    time(&text).ok_or_else(|| format!("the timestamp {text:?} is not an ISO 8601 time"))
}

/// The first of the keys that is there.
fn take<'a>(fields: &mut Map<String, Value>, keys: &[&'a str]) -> Option<(&'a str, Value)> {
    keys.iter()
        .find_map(|key| fields.shift_remove(*key).map(|value| (*key, value)))
}

fn take_text(fields: &mut Map<String, Value>, keys: &[&str]) -> Result<String, String> {
    let (key, value) = take(fields, keys).ok_or_else(|| format!("it has no {}", keys[0]))?;
    let text = as_text(key, value)?;
    if text.trim().is_empty() {
        return Err(format!("its {key} is empty"));
    }
    Ok(text)
}

fn as_text(key: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(format!("its {key} is {}, not a text", json::sort(&other))),
    }
}

fn texts(key: &str, value: Value) -> Result<Vec<String>, String> {
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(|item| as_text(&format!("{key} entry"), item))
            .collect(),
        other => Err(format!("its {key} is {}, not a list", json::sort(&other))),
    }
}

fn hours(value: &Value) -> Result<i64, String> {
    let most = limit::TTL_MAX_HOURS;
    value
        .as_i64()
        .filter(|hours| (1..=most).contains(hours))
        .ok_or_else(|| format!("its ttl_hours is {value}, not a whole number from 1 to {most}"))
}

//! A message of the store beside its Wire on the topic: which fields differ.

use inbox_core::{Auth, Kind, limit};
use inbox_hcs::Hash;
use inbox_ops::ledger::Kept;
use inbox_store::{RecordState, TopicPlace, TopicRow};
use serde_json::Value;

/// How much of a text is shown, in characters, and how much of it before the first difference.
const SHOWN: usize = 60;
const BEFORE: usize = 15;

/// A field of a message that differs, and how.
pub(super) type Field = (&'static str, String);

/// What of a Wire is called what.
const NAMES: [(&str, &str); 13] = [
    ("/x_uid", "uid"),
    ("/sender", "sender"),
    ("/ts", "time"),
    ("/x_kind", "kind"),
    ("/payload/action_required", "kind"),
    ("/x_priority", "priority"),
    ("/payload/priority", "priority"),
    ("/payload/to_agent", "recipient"),
    ("/payload/subject", "subject"),
    ("/payload/body", "body"),
    ("/payload/message_type", "message_type"),
    ("/x_thread", "thread"),
    ("/payload/ref_task_id", "entity"),
];

/// The hash of a Wire without what names it, to find it again under another name.
pub(super) fn unnamed(wire: &Value) -> Hash {
    let mut wire = wire.clone();
    if let Some(fields) = wire.as_object_mut() {
        for key in ["x_uid", "x_thread", "ts"] {
            fields.remove(key);
        }
    }
    Hash::of(wire.to_string().as_bytes())
}

/// In which fields a message of the store is not what its Wire on the topic says.
pub(super) fn differences(
    kept: &Kept,
    wire: &Value,
    topic: &TopicRow,
    state: RecordState,
) -> Vec<Field> {
    let mut fields = match state {
        RecordState::Taken => taken(kept, wire),
        _ => sent(kept, wire),
    };
    let message = &kept.message;
    if wire["sender"] != message.from_agent.as_str() {
        let topic = wire["sender"].as_str().unwrap_or_default();
        push(&mut fields, "sender", topic, message.from_agent.as_str());
    }
    if topic.place == TopicPlace::Inbound {
        let mut names = message.to.iter().filter_map(|to| to.bare_name());
        if !names.any(|name| name.as_str() == topic.name) {
            let to: Vec<&str> = message.to.iter().map(|to| to.as_str()).collect();
            push(&mut fields, "recipient", &topic.name, &to.join(" "));
        }
    }
    let is_from_ledger = message.auth == Auth::Ledger;
    if is_from_ledger != (state == RecordState::Taken) {
        let expected = if is_from_ledger { "local" } else { "ledger" };
        push(&mut fields, "auth", expected, message.auth.name());
    }
    fields
}

/// In which fields a message of the store is not what a note on its entity's topic says.
pub(super) fn of_note(kept: &Kept, note: &Value, text: &str) -> Vec<Field> {
    let mut fields = Vec::new();
    let message = &kept.message;
    let word = |key: &str| note.get(key).and_then(Value::as_str).unwrap_or_default();
    for (name, topic, store) in [
        ("sender", word("from_agent"), message.from_agent.as_str()),
        ("body", text, message.body.as_str()),
        (
            "message_type",
            word("type"),
            message.message_type.as_deref().unwrap_or_default(),
        ),
    ] {
        if topic != store {
            push(&mut fields, name, topic, store);
        }
    }
    if let Ok(time) = word("ts").parse::<inbox_core::record::Millis>()
        && time != message.created_at
    {
        let store = message.created_at.to_string();
        push(&mut fields, "time", &time.to_string(), &store);
    }
    fields
}

/// In which fields a message of the store is not what a party of a connection says.
pub(super) fn of_spoken(kept: &Kept, texts: &[String]) -> Vec<Field> {
    let message = &kept.message;
    let own = if message.body.trim().is_empty() {
        &message.summary
    } else {
        &message.body
    };
    let is_said = |text: &String| {
        // What is too long is cut.
        let is_cut = own.len() >= limit::BODY && text.starts_with(own.as_str());
        text.trim() == own.trim() || is_cut
    };
    if texts.iter().any(is_said) || texts.is_empty() {
        return Vec::new();
    }
    let mut fields = Vec::new();
    push(&mut fields, "body", &texts[0], own);
    fields
}

/// In which fields a message of the store is not what a step on its entity's topic says.
pub(super) fn of_step(kept: &Kept, wire: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    let message = &kept.message;
    let sender = wire["sender"].as_str().unwrap_or_default();
    if sender != message.from_agent.as_str() {
        push(&mut fields, "sender", sender, message.from_agent.as_str());
    }
    if *wire != message.payload_json {
        let (topic, store) = (wire.to_string(), message.payload_json.to_string());
        push(&mut fields, "payload", &topic, &store);
    }
    fields
}

/// A message that went out from here: it would go out as the same again.
fn sent(kept: &Kept, wire: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut places = Vec::new();
    for value in [wire, &kept.wire] {
        pointers(value, "", &mut places);
    }
    places.sort();
    places.dedup();
    for place in places {
        let (topic, store) = (wire.pointer(&place), kept.wire.pointer(&place));
        // A result is called by how its thread ended, which may have been later.
        let may_differ = place == "/payload/message_type" && kept.message.kind == Kind::Result;
        // Without one the subject is the summary, and tells what was changed.
        let is_subject = place == "/x_summary"
            && topic.is_none()
            && wire["payload"]["subject"] != kept.wire["payload"]["subject"];
        if topic == store || may_differ || is_subject {
            continue;
        }
        let known = NAMES.iter().find(|(pointer, _)| *pointer == place);
        let name = match known {
            Some((_, name)) => name,
            None if place.starts_with("/x_ref") => "entity",
            None if place == "/x_summary" => "summary",
            None if place == "/x_subject" => "subject",
            None if place == "/x_body" => "body",
            None if place.starts_with("/x_context") => "context",
            None => "payload",
        };
        push(&mut fields, name, &shown(topic), &shown(store));
    }
    fields
}

/// A message that came from the topic: it is what was made of it.
fn taken(kept: &Kept, wire: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    let message = &kept.message;
    let payload = &wire["payload"];
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut compare = |name, topic: &str, store: &str| {
        if topic != store {
            push(&mut fields, name, topic, store);
        }
    };
    compare("uid", &text(wire.get("x_uid")), &message.uid);
    let kind = wire.get("x_kind").and_then(Value::as_str);
    compare(
        "kind",
        kind.unwrap_or(Kind::Event.name()),
        message.kind.name(),
    );
    let subject = ["subject", "goal", "summary"]
        .into_iter()
        .find_map(|key| payload[key].as_str())
        .unwrap_or("from the ledger");
    let subject: String = subject.chars().take(limit::SUBJECT).collect();
    let summary = wire.get("x_summary").and_then(Value::as_str);
    let summary: String = summary
        .unwrap_or(&subject)
        .chars()
        .take(limit::SUBJECT)
        .collect();
    compare("summary", &summary, &message.summary);
    if kept.is_opening {
        compare("subject", &subject, &kept.thread.subject);
        let priority = wire.get("x_priority").and_then(Value::as_str);
        let priority = priority.unwrap_or("normal");
        compare("priority", priority, message.priority.name());
    }
    let beside = |key: &str| {
        let found = wire.get(key).filter(|value| value.is_object());
        let found = found.filter(|value| value.get("wire").is_none());
        found.cloned().unwrap_or_else(|| serde_json::json!({}))
    };
    let (body, payload_json) = if wire["type"] == "inbox" {
        (text(payload.get("body")), beside("x_payload"))
    } else {
        (text(wire.get("x_body")), wire.clone())
    };
    if beside("x_context") != message.context {
        let (topic, store) = (beside("x_context").to_string(), message.context.to_string());
        compare("context", &topic, &store);
    }
    compare("body", &body, &message.body);
    if wire["type"] == "inbox" {
        let word = text(payload.get("message_type"));
        let own = message.message_type.clone().unwrap_or_default();
        compare("message_type", &word, &own);
    }
    if payload_json != message.payload_json {
        let (topic, store) = (payload_json.to_string(), message.payload_json.to_string());
        compare("payload", &topic, &store);
    }
    if let Some(time) = wire.get("ts").and_then(Value::as_str)
        && let Ok(read) = time.parse::<inbox_core::record::Millis>()
    {
        compare("time", &read.to_string(), &message.created_at.to_string());
    }
    fields
}

/// Every place of a value that holds no others.
fn pointers(value: &Value, at: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(value, &format!("{at}/{key}"), places);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (index, value) in list.iter().enumerate() {
                pointers(value, &format!("{at}/{index}"), places);
            }
        }
        _ => places.push(at.to_owned()),
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Adds a field, once.
fn push(fields: &mut Vec<Field>, name: &'static str, topic: &str, store: &str) {
    if !fields.iter().any(|(known, _)| *known == name) {
        let (topic, store) = cut(topic, store);
        fields.push((
            name,
            format!("the topic has {topic:?}, and the store {store:?}"),
        ));
    }
}

/// Two texts from shortly before where they part, as far as they are shown.
pub(super) fn cut(topic: &str, store: &str) -> (String, String) {
    let same = topic
        .chars()
        .zip(store.chars())
        .take_while(|(one, other)| one == other)
        .count();
    let skip = same.saturating_sub(BEFORE);
    let part = |text: &str| {
        let mut part: String = text.chars().skip(skip).take(SHOWN).collect();
        if skip > 0 {
            part.insert(0, '…');
        }
        if text.chars().nth(skip + SHOWN).is_some() {
            part.push('…');
        }
        part
    };
    (part(topic), part(store))
}

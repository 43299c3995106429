//! The answers' keys, as the schemas that programs can rely on say them.

use std::collections::BTreeMap;

use inbox_ops::{Operation, Visitor, Waiting};
use inbox_testkit::sandbox::Sandbox;
use schemars::SchemaGenerator;
use serde_json::Value;

use super::{page, table};
use crate::INBOX;

const ABOUT: &str = "\
With `--json` every command answers with one object on standard output: `ok`, `command`, and the keys
below; a refusal answers as [errors](errors.md) says. Keys are `snake_case` and stay; new ones may
come. Times are RFC 3339 in UTC. `next_event_id` is a cursor: pass it as `--after-event` to go on
without missing or repeating anything. `watch --follow` answers with one event a line.";

#[derive(Default)]
struct Answers {
    /// The keys of an answer, and the commands that give it.
    sections: Vec<(String, Vec<&'static str>)>,
    objects: BTreeMap<String, Value>,
}

impl Visitor for Answers {
    fn visit<O: Operation>(&mut self) {
        let schema = SchemaGenerator::default().into_root_schema_for::<O::Answer>();
        let schema = schema.to_value();
        let keys = keys(&schema);
        match self.sections.iter_mut().find(|(known, _)| *known == keys) {
            Some((_, names)) => names.push(O::NAME),
            None => self.sections.push((keys, vec![O::NAME])),
        }
        if let Some(objects) = schema.get("$defs").and_then(Value::as_object) {
            let objects = objects
                .iter()
                .map(|(name, object)| (name.clone(), object.clone()));
            self.objects.extend(objects);
        }
    }

    fn visit_waiting<O: Waiting>(&mut self) {
        self.visit::<O>();
    }
}

pub(super) fn document() -> String {
    let mut answers = Answers::default();
    inbox_ops::each_operation(&mut answers);
    let mut body = "## Commands\n".to_owned();
    for (keys, names) in &answers.sections {
        body.push_str(&format!("\n### {}\n\n{keys}", names.join(", ")));
    }
    body.push_str(&local());
    body.push_str("\n## Objects\n");
    for (name, object) in &answers.objects {
        let about = object
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        body.push_str(&format!("\n### {name}\n\n{about}\n\n{}", keys(object)));
    }
    page("JSON", ABOUT, &body)
}

/// The keys of one object.
fn keys(schema: &Value) -> String {
    let required: Vec<_> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema["properties"].as_object();
    let rows = properties.into_iter().flatten().map(|(name, property)| {
        let mut what = property["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !required.contains(&name.as_str()) && !kind(property).contains("null") {
            what.push_str(" Left out when there is none.");
        }
        vec![format!("`{name}`"), kind(property), what]
    });
    table(&["key", "type", "what it is"], rows)
}

/// A property's type in a few words.
fn kind(property: &Value) -> String {
    if let Some(words) = property["enum"].as_array() {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        return format!("`{}`", words.join("` `"));
    }
    if let Some(name) = property["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap_or_default();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(kinds) = property[several].as_array() {
            let words: Vec<_> = kinds
                .iter()
                .filter_map(|kind| kind["const"].as_str())
                .collect();
            if words.len() == kinds.len() {
                return format!("`{}`", words.join("` `"));
            }
            return kinds.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    match &property["type"] {
        Value::String(one) if one == "array" => format!("list of {}", kind(&property["items"])),
        Value::String(one) => one.clone(),
        Value::Array(several) => {
            let several: Vec<_> = several.iter().filter_map(Value::as_str).collect();
            several.join(" or ")
        }
        _ => "any JSON".to_owned(),
    }
}

/// The commands that are not operations, as they answer.
fn local() -> String {
    let sandbox = Sandbox::new(INBOX);
    let mut out = String::new();
    for (name, args) in [
        ("init", &["init"][..]),
        ("init --print", &["init", "--print"]),
        ("backup", &["backup", "--to", "copy.db"]),
        ("doctor", &["doctor"]),
        ("completions", &["completions", "bash"]),
        ("man", &["man", "--dir", "."]),
        ("skill", &["skill"]),
        ("help", &["help", "send"]),
        ("version", &["version"]),
    ] {
        let answer = sandbox.run(args.iter().chain(&["--json"])).ok();
        let rows = answer.as_object().into_iter().flatten();
        let rows = rows.filter(|(key, _)| *key != "ok" && *key != "command");
        let rows = rows.map(|(key, value)| vec![format!("`{key}`"), example(value)]);
        out.push_str(&format!(
            "\n### {name}\n\n{}",
            table(&["key", "type"], rows)
        ));
    }
    out
}

/// The type of a value.
fn example(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "integer".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => match items.first().and_then(Value::as_object) {
            Some(item) => {
                let keys: Vec<_> = item.keys().map(|key| format!("`{key}`")).collect();
                format!("list of objects with {}", keys.join(", "))
            }
            None => format!(
                "list of {}",
                items.first().map_or("anything".to_owned(), example)
            ),
        },
        Value::Object(_) => "object".to_owned(),
    }
}

//! The JSON Schemas of Wires and cards, made from the types. They are checked in under `definitions/wire/`.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::card::Card;
use crate::rule::{self, closed};
use crate::types::{Blocked, Brief, Claim, Complete, Inbox, WIRE_VERSION};
use crate::word::Type;

/// The envelope of every Wire. Every field is required.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = closed)]
struct Envelope {
    /// The version of the protocol.
    #[schemars(extend("const" = WIRE_VERSION))]
    wire: String,
    /// What the payload is.
    #[serde(rename = "type")]
    wire_type: Type,
    /// Who sent it: an agent's slug, `system`, `human` or `runner`.
    #[schemars(schema_with = "rule::slug_schema")]
    sender: String,
    /// When it was made, RFC 3339.
    #[schemars(schema_with = "rule::time_schema")]
    ts: String,
    /// What is said, by its type.
    payload: Map<String, Value>,
}

/// The schema of a type, with everything written in place.
fn of<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<T>()
}

/// The file name under `definitions/wire/` and the schema, for each.
pub fn schemas() -> Vec<(String, Value)> {
    let mut all = vec![named(
        "envelope",
        "A Wire of any type; its payload has a schema of its own",
        of::<Envelope>(),
    )];
    for wire_type in Type::ALL {
        let payload = match wire_type {
            Type::Brief => of::<Brief>(),
            Type::Inbox => of::<Inbox>(),
            Type::Complete => of::<Complete>(),
            Type::Blocked => of::<Blocked>(),
            Type::Claim => of::<Claim>(),
        };
        all.push(named(
            wire_type.name(),
            wire_type.about(),
            whole(*wire_type, payload),
        ));
    }
    all.push(named("agent-card", "Who an agent is", of::<Card>()));
    all
}

/// The schema of a whole Wire of one type.
fn whole(wire_type: Type, mut payload: Schema) -> Schema {
    payload.remove("$schema");
    payload.remove("title");
    let mut schema = of::<Envelope>();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("type".to_owned(), json!({ "const": wire_type }));
        properties.insert("payload".to_owned(), payload.to_value());
    }
    schema
}

fn named(name: &str, title: &str, schema: Schema) -> (String, Value) {
    let mut document = Map::new();
    document.insert(
        "$schema".to_owned(),
        json!("https://json-schema.org/draft/2020-12/schema"),
    );
    document.insert(
        "$id".to_owned(),
        json!(format!("urn:inbox:wire:{name}:1.0")),
    );
    document.insert("title".to_owned(), json!(title.trim_end_matches('.')));
    if let Value::Object(keywords) = schema.to_value() {
        for (keyword, value) in keywords {
            document.entry(keyword).or_insert(value);
        }
    }
    (format!("{name}.schema.json"), Value::Object(document))
}

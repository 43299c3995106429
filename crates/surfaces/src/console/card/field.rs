//! The fields of a card's form, made from the schema of its type: what each is called, what is asked of it, what it holds, and what is wrong.

use std::sync::OnceLock;

use inbox_core::AgentName;
use serde_json::{Map, Value, json};

use super::super::Fields;
use super::Fault;

/// Fields that belong together.
pub(super) struct Group {
    pub(super) legend: String,
    pub(super) about: String,
    pub(super) fields: Vec<Field>,
}

/// One field.
pub(super) struct Field {
    /// Where it is in the card: its name in the form.
    pub(super) pointer: String,
    pub(super) id: String,
    pub(super) label: String,
    pub(super) about: String,
    pub(super) rules: String,
    pub(super) is_required: bool,
    pub(super) is_fixed: bool,
    pub(super) sort: Sort,
    pub(super) value: String,
    pub(super) faults: Vec<String>,
}

/// How a field is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sort {
    /// On one line.
    Line,
    /// As a text.
    Text,
    /// Several, one on each line.
    Lines,
    /// One of these.
    Choice(Vec<String>),
}

impl Field {
    pub(super) fn choices(&self) -> &[String] {
        match &self.sort {
            Sort::Choice(words) => words,
            _ => &[],
        }
    }

    pub(super) fn is_line(&self) -> bool {
        self.sort == Sort::Line
    }
}

/// The schema of cards.
fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let all = inbox_wire::schemas().into_iter();
        let mut cards = all.filter(|(name, _)| name.starts_with("agent-card."));
        cards.next().map(|(_, schema)| schema).unwrap_or_default()
    })
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value, bool)> {
    let required = schema["required"].as_array();
    let is_required = move |name: &str| {
        required.is_some_and(|names| names.iter().any(|other| other.as_str() == Some(name)))
    };
    let all = schema["properties"].as_object().into_iter().flatten();
    all.map(move |(name, schema)| (name, schema, is_required(name)))
}

/// Whether a value may be of a type.
fn is_of(schema: &Value, sort: &str) -> bool {
    match &schema["type"] {
        Value::String(only) => only == sort,
        Value::Array(several) => several.iter().any(|one| one.as_str() == Some(sort)),
        _ => false,
    }
}

/// How a thing of this schema is written in a form, if it is one field.
fn sort(schema: &Value) -> Option<Sort> {
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter_map(Value::as_str).map(str::to_owned);
        return Some(Sort::Choice(words.collect()));
    }
    if is_of(schema, "string") {
        // What may have no control characters, or has a form, is one line.
        let pattern = schema["pattern"].as_str();
        let is_line = !schema["not"].is_null() || pattern.is_some_and(|pattern| pattern != "\\S");
        return Some(if is_line { Sort::Line } else { Sort::Text });
    }
    (is_of(schema, "array") && is_of(&schema["items"], "string")).then_some(Sort::Lines)
}

/// What a schema asks for, in words.
fn rules(schema: &Value, is_required: bool) -> String {
    let item = if is_of(schema, "array") {
        &schema["items"]
    } else {
        schema
    };
    let mut said = vec![
        if is_required {
            "required"
        } else {
            "may be empty"
        }
        .to_owned(),
    ];
    if is_of(schema, "array") {
        said.push("one on each line".to_owned());
    }
    if let Some(least) = schema["minItems"].as_u64() {
        said.push(format!("at least {least}"));
    }
    if let Some(most) = item["maxLength"].as_u64() {
        said.push(format!("at most {most} characters"));
    }
    match item["pattern"].as_str() {
        None | Some("\\S") => {}
        Some(pattern) => said.push(format!("of the form {pattern}")),
    }
    said.join(" · ")
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

fn about(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    // What is code in a document is a word here.
    text.replace('\n', " ").replace('`', "")
}

/// How many things a list of a card has.
fn count(card: &Value, name: &str) -> usize {
    card[name].as_array().map_or(0, Vec::len)
}

/// The fields of a card with what is wrong in each; and what is wrong that no field is for.
pub(super) fn groups(card: &Value, faults: Vec<Fault>) -> (Vec<Group>, Vec<Fault>) {
    let mut builder = Builder { card, faults };
    let (mut plain, mut all) = (Vec::new(), Vec::new());
    for (name, schema, is_required) in properties(schema()) {
        let pointer = format!("/{name}");
        if !schema["const"].is_null() {
            continue;
        }
        if let Some(field) = builder.field(&pointer, name, schema, is_required) {
            plain.push(field);
        } else if is_of(schema, "array") {
            // One more than there are, for another.
            for index in 0..=count(card, name) {
                let legend = format!("{} {}", words(name), index + 1);
                all.push(builder.group(
                    &format!("{pointer}/{index}"),
                    legend,
                    &schema["items"],
                    true,
                ));
            }
        } else {
            let is_optional = is_of(schema, "null");
            all.push(builder.group(&pointer, words(name), schema, is_optional));
        }
    }
    let general = Group {
        legend: "what it does".to_owned(),
        about: String::new(),
        fields: plain,
    };
    // Who it is comes first.
    all.insert(usize::from(!all.is_empty()), general);
    (all, builder.faults)
}

struct Builder<'a> {
    card: &'a Value,
    /// Those that no field has taken yet.
    faults: Vec<Fault>,
}

impl Builder<'_> {
    fn group(&mut self, pointer: &str, legend: String, schema: &Value, is_optional: bool) -> Group {
        let mut fields = Vec::new();
        for (name, schema, is_required) in properties(schema) {
            let place = format!("{pointer}/{name}");
            fields.extend(self.field(&place, name, schema, is_required && !is_optional));
        }
        // What is wrong with all of it stands at its first field.
        if let Some(first) = fields.first_mut() {
            first.faults.extend(self.taken(|other| other == pointer));
        }
        Group {
            legend,
            about: about(schema),
            fields,
        }
    }

    fn field(
        &mut self,
        pointer: &str,
        name: &str,
        schema: &Value,
        is_required: bool,
    ) -> Option<Field> {
        let sort = sort(schema)?;
        let value = match self.card.pointer(pointer) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(items)) => items.iter().map(item).collect::<Vec<_>>().join("\n"),
            Some(other) => other.to_string(),
        };
        let below = format!("{pointer}/");
        let faults = self.taken(|other| other == pointer || other.starts_with(&below));
        Some(Field {
            pointer: pointer.to_owned(),
            id: format!("field{}", pointer.replace('/', "-")),
            label: words(name),
            about: about(schema),
            rules: rules(schema, is_required),
            is_required,
            // Whose card it is, is not the card's to say.
            is_fixed: pointer == "/identity/slug",
            sort,
            value,
            faults,
        })
    }

    /// Takes the faults of some places; those of a list say which of it.
    fn taken(&mut self, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
        let (taken, left) = std::mem::take(&mut self.faults)
            .into_iter()
            .partition::<Vec<_>, _>(|fault| is_meant(&fault.pointer));
        self.faults = left;
        let said = |fault: Fault| {
            let last = fault.pointer.rsplit('/').next().unwrap_or_default();
            match last.parse::<usize>() {
                Ok(index) => format!("line {} {}", index + 1, fault.message),
                Err(_) => fault.message,
            }
        };
        taken.into_iter().map(said).collect()
    }
}

fn item(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A card as a form has it, over what it had before: what no field is for stays.
pub(super) fn assembled(before: &Value, slug: &AgentName, fields: &Fields) -> Value {
    let mut card = before.as_object().cloned().unwrap_or_default();
    for (name, schema, is_required) in properties(schema()) {
        let pointer = format!("/{name}");
        let value = if schema["const"].is_null() {
            of_form(&pointer, schema, is_required, card.get(name), fields)
        } else {
            Some(schema["const"].clone())
        };
        put(&mut card, name, value);
    }
    let mut card = Value::Object(card);
    if let Some(identity) = card["identity"].as_object_mut() {
        identity.insert("slug".to_owned(), json!(slug));
    }
    card
}

fn put(object: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            object.insert(name.to_owned(), value);
        }
        None => {
            object.shift_remove(name);
        }
    }
}

/// What a form has for a place; nothing where it may be left out and is.
fn of_form(
    pointer: &str,
    schema: &Value,
    is_required: bool,
    before: Option<&Value>,
    fields: &Fields,
) -> Option<Value> {
    if let Some(sort) = sort(schema) {
        let text = fields
            .get(pointer)
            .unwrap_or_default()
            .replace("\r\n", "\n");
        let text = text.trim();
        let value = match sort {
            Sort::Lines => {
                let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
                lines.map(Value::from).collect::<Value>()
            }
            _ => Value::from(text),
        };
        return (is_required || !text.is_empty()).then_some(value);
    }
    if is_of(schema, "array") {
        let kept = before.and_then(Value::as_array);
        let known = kept.map_or(0, Vec::len);
        let rows = (0..=known).filter_map(|index| {
            let before = kept.and_then(|kept| kept.get(index));
            of_form(
                &format!("{pointer}/{index}"),
                &schema["items"],
                false,
                before,
                fields,
            )
        });
        let rows: Vec<Value> = rows.collect();
        return (is_required || !rows.is_empty()).then(|| rows.into());
    }
    let mut object = before
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut is_written = is_required;
    for (name, schema, is_required) in properties(schema) {
        let place = format!("{pointer}/{name}");
        is_written |= fields.get(&place).is_some();
        let value = of_form(&place, schema, is_required, object.get(name), fields);
        put(&mut object, name, value);
    }
    is_written.then_some(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Fields {
        Fields::read(text).unwrap()
    }

    #[test]
    fn a_form_that_is_sent_as_it_was_shown_gives_the_same_card() {
        let card = json!({
            "card_version": "1.0",
            "identity": { "slug": "backend", "name": "Backend", "reports_to": "human", "x_desk": 4 },
            "scope": "Owns the API.",
            "capabilities": ["write code", "read code"],
            "constraints": ["I never drop a table."],
            "escalation_rules": [
                { "trigger": "a spec is missing", "route_to": "human", "via": "inbox" },
                { "trigger": "a gate", "route_to": "human", "via": "exec.gate" },
            ],
            "voice": { "description": "Short.", "example": "Done.\n\nNext." },
            "x_own": { "kept": true },
        });
        let (groups, faults) = groups(&card, Vec::new());
        assert!(faults.is_empty());
        let shown = groups.iter().flat_map(|group| &group.fields);
        let shown = shown.map(|field| (field.pointer.clone(), field.value.clone()));
        let fields = Fields(shown.collect());
        let slug: AgentName = "backend".parse().unwrap();
        assert_eq!(assembled(&card, &slug, &fields), card);
    }

    #[test]
    fn what_is_emptied_is_left_out_and_what_must_be_there_stays_to_be_named() {
        let before =
            json!({ "values": ["speed"], "voice": { "description": "a", "example": "b" } });
        let slug: AgentName = "backend".parse().unwrap();
        let card = assembled(&before, &slug, &read("%2Fcapabilities=one%0D%0A%0D%0Atwo"));
        assert_eq!(card["capabilities"], json!(["one", "two"]));
        assert_eq!(card["scope"], json!(""));
        assert!(
            card.get("values").is_none() && card.get("voice").is_none(),
            "{card}"
        );
        assert_eq!(card["identity"]["slug"], "backend");
    }

    #[test]
    fn every_fault_stands_at_its_field_and_every_field_says_its_rule() {
        let fault = |pointer: &str| Fault {
            pointer: pointer.to_owned(),
            message: "is wrong".to_owned(),
        };
        let faults = [
            "/scope",
            "/capabilities/1",
            "/identity/name",
            "/voice",
            "/x",
        ];
        let (groups, left) = groups(&json!({}), faults.map(fault).into());
        assert_eq!(left.len(), 1);
        let of = |pointer: &str| {
            let mut all = groups.iter().flat_map(|group| &group.fields);
            all.find(|field| field.pointer == pointer).unwrap()
        };
        assert_eq!(of("/scope").faults, ["is wrong"]);
        assert_eq!(of("/capabilities").faults, ["line 2 is wrong"]);
        assert_eq!(of("/voice/description").faults, ["is wrong"]);
        assert!(of("/capabilities").rules.contains("at least 1"));
        assert!(of("/constraints").rules.contains("I never"));
        assert!(of("/scope").rules.contains("at most 1000 characters"));
        assert!(!of("/escalation_rules/0/via").choices().is_empty());
    }
}

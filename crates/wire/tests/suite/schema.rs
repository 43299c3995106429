//! The schemas in `definitions/wire/`, and that they and the validator say the same where a schema can see.

use inbox_wire::{Known, schemas, validate, validate_card};
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::card::quinn;
use crate::vectors::{all, examples};
use crate::{check_document, with, without};

fn schema(name: &str) -> Validator {
    let file = format!("{name}.schema.json");
    let (_, schema) = schemas()
        .into_iter()
        .find(|(found, _)| *found == file)
        .unwrap();
    jsonschema::draft202012::meta::validate(&schema)
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    jsonschema::draft202012::new(&schema).unwrap()
}

fn schema_of(wire: &Value) -> Validator {
    schema(wire["type"].as_str().unwrap())
}

#[test]
fn the_schemas_are_those_that_are_checked_in() {
    let mut names = Vec::new();
    for (name, schema) in schemas() {
        check_document(
            &format!("definitions/wire/{name}"),
            &format!("{schema:#}\n"),
        );
        names.push(name);
    }
    names.sort();
    let mut files: Vec<_> = std::fs::read_dir(crate::root().join("definitions/wire"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, names);
}

#[test]
fn the_examples_keep_the_schemas() {
    let envelope = schema("envelope");
    for example in all() {
        let own = schema_of(&example);
        let faults: Vec<_> = own
            .iter_errors(&example)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(faults, [""; 0], "{example:#}");
        assert!(envelope.is_valid(&example), "{example:#}");
    }
    let card = schema("agent-card");
    let faults: Vec<_> = card
        .iter_errors(&quinn())
        .map(|error| error.to_string())
        .collect();
    assert_eq!(faults, [""; 0]);
}

/// Every place of a document, with what is there.
fn places(value: &Value, pointer: &str, found: &mut Vec<String>) {
    found.push(pointer.to_owned());
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                places(value, &format!("{pointer}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                places(value, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

fn mutants(example: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut found = Vec::new();
    places(example, "", &mut found);
    let values = [
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(2),
        json!(4),
        json!(1.5),
        json!(""),
        json!(" \t"),
        json!("a"),
        json!("A b"),
        json!("a\nb"),
        json!("x".repeat(5_000)),
        json!("I never mind"),
        json!("role:ba"),
        json!("2026-04-28T00:00:00.5+02:00"),
        json!("2026-04-28"),
        json!([]),
        json!([""]),
        json!(["a", 1]),
        json!({}),
        json!({ "x_a": 1 }),
    ];
    for pointer in &found {
        all.extend(
            values
                .iter()
                .map(|value| with(example, pointer, value.clone())),
        );
        let parent = pointer.rsplit_once('/').map(|(parent, _)| parent);
        if parent.is_some_and(|parent| example.pointer(parent).is_some_and(Value::is_object)) {
            all.push(without(example, pointer));
        }
        if example.pointer(pointer).is_some_and(Value::is_object) {
            all.push(with(example, &format!("{pointer}/typo"), json!(1)));
            all.push(with(
                example,
                &format!("{pointer}/x_typo"),
                json!({ "a": [] }),
            ));
        }
    }
    all
}

/// Problems that a schema has no words for.
const UNSEEN: &[&str] = &["sentences", "words; the most", "is an order"];

/// Counts the mutants that both refuse and that both take.
fn compare(
    schema: &Validator,
    mutants: &[Value],
    validate: impl Fn(&Value) -> Vec<inbox_wire::Problem>,
) -> (u32, u32) {
    let (mut refused, mut taken) = (0, 0);
    for mutant in mutants {
        let problems = validate(mutant);
        let seen = problems
            .iter()
            .any(|problem| !UNSEEN.iter().any(|words| problem.message.contains(words)));
        let errors: Vec<_> = schema
            .iter_errors(mutant)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(
            seen,
            !errors.is_empty(),
            "{mutant:#}\n{problems:#?}\n{errors:#?}"
        );
        if seen {
            refused += 1;
        } else {
            taken += 1;
        }
    }
    (refused, taken)
}

#[test]
fn schema_and_validator_agree_on_mutants() {
    let (mut refused, mut taken) = (0, 0);
    for example in examples() {
        let (bad, good) = compare(&schema_of(&example), &mutants(&example), validate);
        refused += bad;
        taken += good;
    }
    let everything = |card: &Value| {
        let mut known = Known::default();
        let mut learn =
            |value: &Value, set: fn(&mut Known) -> &mut std::collections::BTreeSet<String>| {
                set(&mut known).extend(value.as_str().map(str::to_owned));
            };
        learn(&card["identity"]["reports_to"], |known| &mut known.agents);
        for rule in card["escalation_rules"].as_array().into_iter().flatten() {
            learn(&rule["route_to"], |known| &mut known.agents);
        }
        for slug in card["output_types"].as_array().into_iter().flatten() {
            learn(slug, |known| &mut known.contracts);
        }
        known.roles.insert("ba".to_owned());
        validate_card(card, &known)
    };
    let (bad, good) = compare(&schema("agent-card"), &mutants(&quinn()), everything);
    refused += bad;
    taken += good;
    assert!(
        refused > 500 && taken > 100,
        "{refused} refused, {taken} taken"
    );
}

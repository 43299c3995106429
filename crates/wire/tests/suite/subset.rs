//! The subset of JSON Schema beside the full engine, and what it refuses to guess.

use inbox_wire::ContractSchema;
use proptest::prelude::*;
use serde_json::{Value, json};

/// One schema for each keyword, or few of them.
fn schemas() -> Vec<Value> {
    vec![
        json!(true),
        json!(false),
        json!({}),
        json!({ "type": "null" }),
        json!({ "type": "integer" }),
        json!({ "type": ["string", "number"] }),
        json!({ "type": "boolean" }),
        json!({ "type": "array" }),
        json!({ "type": "object" }),
        json!({ "enum": [1, "a", null, [1], { "a": 1.0 }] }),
        json!({ "const": { "a": [1, 2.0] } }),
        json!({ "const": 0 }),
        json!({ "required": ["a", "b"] }),
        json!({ "properties": { "a": { "type": "string" }, "b": false } }),
        json!({ "properties": { "a": true }, "additionalProperties": false }),
        json!({ "additionalProperties": { "type": "integer" } }),
        json!({ "patternProperties": { "^a": { "type": "integer" } }, "additionalProperties": false }),
        json!({ "properties": { "ab": { "minimum": 2 } }, "patternProperties": { "b$": { "maximum": 3 } } }),
        json!({ "propertyNames": { "maxLength": 1 } }),
        json!({ "minProperties": 1, "maxProperties": 2 }),
        json!({ "dependentRequired": { "a": ["b"] } }),
        json!({ "items": { "type": "integer" } }),
        json!({ "prefixItems": [{ "type": "string" }, true], "items": false }),
        json!({ "contains": { "const": 1 } }),
        json!({ "minItems": 1, "maxItems": 2 }),
        json!({ "uniqueItems": true }),
        json!({ "uniqueItems": false }),
        json!({ "minLength": 1, "maxLength": 2 }),
        json!({ "pattern": "^[a-c]+$" }),
        json!({ "minimum": 1, "maximum": 2.5 }),
        json!({ "exclusiveMinimum": 1, "exclusiveMaximum": 2 }),
        json!({ "allOf": [{ "type": "string" }, { "minLength": 1 }] }),
        json!({ "anyOf": [{ "type": "string" }, { "minimum": 1 }] }),
        json!({ "oneOf": [{ "type": "integer" }, { "minimum": 1 }] }),
        json!({ "not": { "type": "string" } }),
        json!({ "if": { "type": "string" }, "then": { "minLength": 1 }, "else": { "type": "integer" } }),
        json!({ "then": false, "else": false }),
        json!({ "$ref": "#/$defs/a", "minLength": 1, "$defs": { "a": { "type": "string" } } }),
        json!({ "type": ["object", "integer"], "additionalProperties": { "$ref": "#" } }),
        json!({ "items": { "$ref": "#" }, "type": ["array", "integer"] }),
        json!({ "format": "date-time", "title": "t", "default": 1, "$comment": "c" }),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..5_i64).prop_map(Value::from),
        proptest::sample::select(vec![
            json!(1.0),
            json!(2.5),
            json!(0.0),
            json!(-0.5),
            json!(1e30)
        ]),
        "[a-d]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[ab]{1,2}", inner, 0..4)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_subset_judges_as_the_full_engine_does(value in values()) {
        for schema in schemas() {
            let own = ContractSchema::new(&schema).unwrap().check(&value);
            let full = jsonschema::draft202012::new(&schema).unwrap().is_valid(&value);
            prop_assert_eq!(own.is_empty(), full, "{} on {}: {:?}", schema, value, own);
        }
    }
}

#[test]
fn every_keyword_of_the_list_is_understood_and_tried() {
    let text = schemas().iter().map(Value::to_string).collect::<String>();
    let describing = [
        "definitions",
        "$schema",
        "$id",
        "description",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
    ];
    for keyword in ContractSchema::KEYWORDS {
        let is_tried = text.contains(&format!("\"{keyword}\":"));
        assert!(is_tried || describing.contains(keyword), "{keyword}");
    }
}

#[test]
fn a_schema_that_is_not_understood_is_refused_where_it_is_not() {
    for (schema, pointer) in [
        (json!([]), ""),
        (json!("x"), ""),
        (json!({ "multipleOf": 2 }), "/multipleOf"),
        (
            json!({ "unevaluatedProperties": false }),
            "/unevaluatedProperties",
        ),
        (
            json!({ "properties": { "a/b": { "typ": "string" } } }),
            "/properties/a~1b/typ",
        ),
        (json!({ "properties": [] }), "/properties"),
        (json!({ "items": [{}] }), "/items"),
        (json!({ "type": "text" }), "/type"),
        (json!({ "type": [] }), "/type"),
        (json!({ "required": "a" }), "/required"),
        (json!({ "required": [1] }), "/required"),
        (
            json!({ "dependentRequired": { "a": "b" } }),
            "/dependentRequired/a",
        ),
        (json!({ "enum": 1 }), "/enum"),
        (json!({ "minLength": -1 }), "/minLength"),
        (json!({ "minimum": "1" }), "/minimum"),
        (json!({ "uniqueItems": 1 }), "/uniqueItems"),
        (json!({ "allOf": [] }), "/allOf"),
        (json!({ "anyOf": {} }), "/anyOf"),
        (json!({ "pattern": "(?=a)" }), "/pattern"),
        (json!({ "pattern": "(" }), "/pattern"),
        (json!({ "pattern": 1 }), "/pattern"),
        (
            json!({ "patternProperties": { "[": {} } }),
            "/patternProperties/[",
        ),
        (json!({ "$ref": "#/$defs/none" }), "/$ref"),
        (json!({ "$ref": "https://example.org/schema" }), "/$ref"),
        (
            json!({ "$ref": "#/properties/a", "properties": { "a": {} } }),
            "/$ref",
        ),
        (json!({ "$ref": 1 }), "/$ref"),
        (
            json!({ "$schema": "http://json-schema.org/draft-07/schema#" }),
            "/$schema",
        ),
        (json!({ "not": { "$id": "x" } }), "/not/$id"),
        (json!({ "x_own": 1 }), "/x_own"),
    ] {
        let problems = ContractSchema::new(&schema).expect_err(&schema.to_string());
        assert_eq!(problems[0].pointer, pointer, "{schema}: {problems:?}");
        assert_eq!(problems.len(), 1, "{schema}: {problems:?}");
    }
    let both = ContractSchema::new(&json!({ "a": 1, "not": { "b": 2 } })).unwrap_err();
    assert_eq!(both.len(), 2);
}

#[test]
fn a_schema_that_never_ends_is_answered() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "anyOf": [{ "$ref": "#" }, { "$ref": "#" }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
    ] {
        let problems = ContractSchema::new(&schema).unwrap().check(&json!(1));
        assert_eq!(problems.len(), 1, "{schema}: {problems:?}");
        assert!(
            problems[0].message.contains("too deep or too costly"),
            "{schema}"
        );
    }
    let unique = ContractSchema::new(&json!({ "uniqueItems": true })).unwrap();
    let many: Value = (0..10_000).collect::<Vec<_>>().into();
    assert!(unique.check(&many)[0].message.contains("too costly"));
}

#[test]
fn every_problem_of_a_value_is_named() {
    let schema = json!({
        "required": ["a", "z"],
        "properties": { "a": { "type": "string", "minLength": 2 }, "b": { "items": { "maximum": 1 } } },
        "additionalProperties": false,
    });
    let value = json!({ "a": "x", "b": [1, 2, 3], "c": null });
    let problems = ContractSchema::new(&schema).unwrap().check(&value);
    let places: Vec<_> = problems
        .iter()
        .map(|problem| problem.pointer.as_str())
        .collect();
    assert_eq!(places, ["/a", "/b/1", "/b/2", "/c", "/z"], "{problems:#?}");
}

//! A table of hostile input: every field with every wrong type, and Unicode that passes for a slug.

use inbox_wire::{Known, decode, parse, parse_card, validate, validate_card};
use serde_json::{Value, json};

use crate::card::quinn;
use crate::vectors::{brief, claim, examples, inbox};
use crate::with;

fn leaves(value: &Value, pointer: &str, found: &mut Vec<String>) {
    if !pointer.is_empty() {
        found.push(pointer.to_owned());
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                leaves(value, &format!("{pointer}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                leaves(value, &format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// One value of each sort of JSON.
fn sorts() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(-7.5),
        json!("\0"),
        json!([[]]),
        json!({ "?": 1 }),
    ]
}

fn sort(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Fields that may be null.
const NULLABLE: &[&str] = &[
    "schema_ref",
    "evaluate",
    "client_id",
    "task_id",
    "project_id",
    "repo_url",
    "worktree_path",
    "ref_task_id",
    "output_ref",
    "suggested_resolution",
    "department",
    "model",
    "working_style",
    "voice",
];

fn every_wrong_type(document: &Value, refuse: impl Fn(&Value) -> Vec<String>) -> usize {
    let mut fields = Vec::new();
    leaves(document, "", &mut fields);
    let mut cases = 0;
    for field in &fields {
        let name = field.rsplit('/').next().unwrap();
        let found = document.pointer(field).unwrap();
        for value in sorts() {
            let is_right = sort(&value) == sort(found) && !value.is_string();
            // `env.task_id` may be null; that of a completion or a claim may not.
            let may_be_null =
                NULLABLE.contains(&name) && (name != "task_id" || field.contains("/env/"));
            if is_right
                || (value.is_null() && may_be_null)
                || value.is_boolean() && found.is_boolean()
            {
                continue;
            }
            let places = refuse(&with(document, field, value.clone()));
            assert!(
                places.iter().any(|place| place.starts_with(field)),
                "{field} = {value}: {places:?}"
            );
            cases += 1;
        }
    }
    cases
}

/// There are at least so many.
const WRONG_TYPES: usize = 300;

#[test]
fn every_field_refuses_every_wrong_type_at_its_own_pointer() {
    let mut cases = 0;
    for example in examples() {
        cases += every_wrong_type(&example, |value| {
            validate(value)
                .into_iter()
                .map(|problem| problem.pointer)
                .collect()
        });
    }
    cases += every_wrong_type(&quinn(), |value| {
        validate_card(value, &Known::default())
            .into_iter()
            .filter(|problem| !problem.message.starts_with("there is no"))
            .map(|problem| problem.pointer)
            .collect()
    });
    assert!(cases > WRONG_TYPES, "{cases} cases");
}

/// Texts that look like `quinn`, or that a careless comparison takes for a slug.
const NOT_SLUGS: [&str; 71] = [
    "",
    " ",
    "quinn ",
    " quinn",
    "qui nn",
    "Quinn",
    "QUINN",
    "quinn\n",
    "quinn\0",
    "quinn\u{200b}",
    "\u{feff}quinn",
    "qu\u{ad}inn",
    "qu\u{2060}inn",
    "\u{202e}nniuq",
    "quinn\u{202c}",
    "qu\u{456}nn",
    "qu\u{131}nn",
    "ｑｕｉｎｎ",
    "quіnn",
    "qüinn",
    "qu\u{308}inn",
    "quinn\u{fe0f}",
    "𝓺𝓾𝓲𝓷𝓷",
    "quinn️",
    "quinn/../vikram",
    "../quinn",
    "quinn/",
    "/quinn",
    "quinn\\",
    "quinn:1",
    "role:quinn",
    "@quinn",
    "#quinn",
    "-quinn",
    ".quinn",
    "_quinn",
    "quinn;",
    "quinn'",
    "quinn\"",
    "quinn`",
    "quinn$x",
    "quinn%00",
    "quinn|ls",
    "quinn&",
    "<quinn>",
    "quinn,vikram",
    "quinn=1",
    "quinn+x",
    "quinn?",
    "quinn!",
    "quinn*",
    "quinn~",
    "quinn^",
    "(quinn)",
    "[quinn]",
    "{quinn}",
    "quinn\t",
    "quinn\u{a0}",
    "quinn\u{3000}",
    "K",
    "ß",
    "İ",
    "ﬁ",
    "①",
    "٣",
    "५",
    "😀",
    "q\u{0}",
    "q\u{7f}",
    "q\u{85}",
    "q\u{e0071}",
];

#[test]
fn what_only_looks_like_a_slug_is_refused_everywhere() {
    let long = "q".repeat(65);
    let texts = NOT_SLUGS.into_iter().chain([long.as_str()]);
    for text in texts {
        for (document, pointer) in [
            (claim(), "/sender"),
            (claim(), "/payload/agent"),
            (claim(), "/payload/role"),
            (brief(), "/payload/output_contract/schema_ref"),
        ] {
            let problems = validate(&with(&document, pointer, json!(text)));
            assert_eq!(problems.len(), 1, "{text:?} at {pointer}: {problems:?}");
            assert_eq!(problems[0].pointer, pointer, "{text:?}");
        }
        for pointer in [
            "/identity/slug",
            "/identity/reports_to",
            "/output_types/0",
            "/escalation_rules/0/route_to",
        ] {
            let problems = parse_card(&with(&quinn(), pointer, json!(text))).unwrap_err();
            assert_eq!(problems.len(), 1, "{text:?} at {pointer}: {problems:?}");
        }
        // A message type may be longer than a slug.
        let kind = validate(&with(&inbox(), "/payload/message_type", json!(text)));
        assert_eq!(kind.len(), usize::from(text != long), "{text:?}: {kind:?}");
    }
}

const DAMAGED: usize = 16;

#[test]
fn texts_that_must_not_get_as_far_as_a_wire_are_stopped_by_the_decoder() {
    let text = claim().to_string();
    let damaged: [String; DAMAGED] = [
        text.replace("\"wire\":\"1.0\"", "\"wire\":\"1.0\",\"wire\":\"1.0\""),
        text.replace(
            "\"wire\":\"1.0\"",
            "\"wire\":\"1.0\",\"\\u0077ire\":\"2.0\"",
        ),
        text.replace(
            "\"role\":\"role_slug\"",
            "\"role\":\"role_slug\",\"role\":\"admin\"",
        ),
        text.replace("role_slug", "role\\u0000slug"),
        text.replace("role_slug", "role\\ud800slug"),
        text.replace("role_slug", "role\\udfffslug"),
        text.replace("role_slug", "role\u{1}slug"),
        text.replace("role_slug", &"x".repeat(1 << 20)),
        text.replace("\"role_slug\"", &("[".repeat(70) + &"]".repeat(70))),
        format!("{text}{text}"),
        format!("{text},"),
        format!("\u{feff}{text}"),
        format!("[{text}"),
        text[..text.len() - 1].to_owned(),
        text.replace('"', "'"),
        text.replace(':', "="),
    ];
    for text in damaged {
        assert!(decode(&text).is_err(), "{}", &text[..text.len().min(400)]);
    }
    let deep = text.replace("\"role_slug\"", &("[".repeat(60) + &"]".repeat(60)));
    assert!(parse(&decode(&deep).unwrap()).is_err());
}

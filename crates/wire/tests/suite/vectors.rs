//! The specification's own examples, with each of its alternatives (`file | json | pr`) written out.

use inbox_wire::{Payload, Type, Wire, parse, template, types, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::with;

fn wire(wire_type: &str, sender: &str, payload: Value) -> Value {
    json!({
        "wire": "1.0",
        "type": wire_type,
        "sender": sender,
        "ts": "2026-04-28T00:00:00Z",
        "payload": payload,
    })
}

pub(crate) fn brief() -> Value {
    wire(
        "brief",
        "system",
        json!({
            "goal": "One sentence: what must be true when this task is done.",
            "context": "Background information. Prose allowed. Max 200 words.",
            "constraints": ["Specific constraint on this task instance"],
            "acceptance_criteria": ["Testable condition for completion"],
            "output_contract": {
                "type": "file",
                "schema_ref": "output_contract_slug",
                "output_ref_required": true,
                "min_length": 0,
                "evaluate": "Semantic check description for Haiku eval, or null to skip",
            },
            "escalation_triggers": ["Condition that should cause task.blocked"],
            "env": {
                "client_id": "bezeliq",
                "task_id": "0.0.XXXXX",
                "project_id": "0.0.XXXXX",
                "repo_url": null,
                "worktree_path": null,
            },
        }),
    )
}

pub(crate) fn inbox() -> Value {
    wire(
        "inbox",
        "human",
        json!({
            "to_agent": "agent_slug",
            "priority": 1,
            "message_type": "task.feedback",
            "ref_task_id": "0.0.XXXXX",
            "subject": "string",
            "body": "string",
            "action_required": true,
        }),
    )
}

pub(crate) fn complete() -> Value {
    let text = r#"{
        "task_id": "0.0.XXXXX",
        "agent": "agent_slug",
        "output_ref": "supabase-storage-path",
        "summary": "Max 150 words: what was built, what changed, output_ref location.",
        "cost_usd": 0.00,
        "duration_seconds": 0,
        "verification": { "mechanical": "pass", "semantic": "skipped", "attempts": 1 }
    }"#;
    wire("complete", "runner", serde_json::from_str(text).unwrap())
}

pub(crate) fn blocked() -> Value {
    wire(
        "blocked",
        "runner",
        json!({
            "task_id": "0.0.XXXXX",
            "agent": "agent_slug",
            "reason": "Specific description of the blocker.",
            "blocker_type": "spec_gap",
            "suggested_resolution": "string",
            "attempts": 1,
        }),
    )
}

pub(crate) fn claim() -> Value {
    wire(
        "claim",
        "agent_slug",
        json!({ "task_id": "0.0.XXXXX", "agent": "agent_slug", "role": "role_slug" }),
    )
}

/// One example of each type.
pub(crate) fn examples() -> Vec<Value> {
    vec![brief(), inbox(), complete(), blocked(), claim()]
}

/// Every example with every alternative that the specification gives.
pub(crate) fn all() -> Vec<Value> {
    let mut all = examples();
    let mut each = |example: Value, pointer: &str, values: &[Value]| {
        all.extend(
            values
                .iter()
                .map(|value| with(&example, pointer, value.clone())),
        );
    };
    let words = |words: &[&str]| words.iter().map(|word| json!(word)).collect::<Vec<_>>();
    for example in examples() {
        each(
            example,
            "/sender",
            &words(&["system", "human", "runner", "quinn"]),
        );
    }
    each(
        brief(),
        "/payload/output_contract/type",
        &words(&["file", "json", "pr", "message", "report"]),
    );
    each(
        brief(),
        "/payload/output_contract/schema_ref",
        &[Value::Null],
    );
    each(brief(), "/payload/output_contract/evaluate", &[Value::Null]);
    each(
        brief(),
        "/payload/output_contract/output_ref_required",
        &[json!(false)],
    );
    let types = [
        "task.feedback",
        "status.update",
        "task.blocked",
        "exec.gate",
        "question",
        "info",
        "task.complete",
        "task.note",
        "phase.note",
        "project.note",
        "feedback",
        "fyi",
        "review.request",
    ];
    each(inbox(), "/payload/message_type", &words(&types));
    each(inbox(), "/payload/ref_task_id", &[Value::Null]);
    each(
        inbox(),
        "/payload/priority",
        &[json!(1), json!(2), json!(3)],
    );
    each(
        complete(),
        "/payload/verification/mechanical",
        &words(&["pass", "fail"]),
    );
    each(
        complete(),
        "/payload/verification/semantic",
        &words(&["pass", "fail", "skipped"]),
    );
    let blockers = [
        "spec_gap",
        "dependency",
        "tool_failure",
        "ambiguity",
        "resource",
        "verification_fail",
    ];
    each(blocked(), "/payload/blocker_type", &words(&blockers));
    each(blocked(), "/payload/suggested_resolution", &[Value::Null]);
    all
}

#[test]
fn every_example_of_the_specification_is_valid_and_comes_back_as_it_was() {
    for example in all() {
        let wire = parse(&example).unwrap_or_else(|problems| panic!("{example:#}: {problems:#?}"));
        assert_eq!(serde_json::to_value(&wire).unwrap(), example);
        let text = serde_json::to_string(&wire).unwrap();
        assert_eq!(text, example.to_string());
        assert_eq!(inbox_wire::decode(&text).unwrap(), example);
    }
}

#[test]
fn the_examples_are_checked_in_for_others_to_test_with() {
    for example in examples() {
        let name = example["type"].as_str().unwrap();
        crate::check_document(
            &format!("crates/wire/tests/vectors/wire/{name}.json"),
            &format!("{example:#}\n"),
        );
    }
    crate::check_document(
        "crates/wire/tests/vectors/card/quinn.json",
        &format!("{:#}\n", crate::card::quinn()),
    );
}

#[test]
fn what_is_left_out_has_its_default() {
    let short = wire(
        "brief",
        "system",
        json!({
            "goal": "X is built",
            "acceptance_criteria": ["It works"],
            "output_contract": { "type": "message" },
        }),
    );
    let Payload::Brief(brief) = parse(&short).unwrap().payload().clone() else {
        panic!("not a brief");
    };
    assert_eq!(brief.context, "");
    assert!(brief.constraints.is_empty() && brief.escalation_triggers.is_empty());
    assert_eq!(brief.env, inbox_wire::Env::default());
    let contract = brief.output_contract;
    assert_eq!(
        (contract.min_length, contract.output_ref_required),
        (0, false)
    );
    assert_eq!((contract.schema_ref, contract.evaluate), (None, None));

    let short = wire(
        "inbox",
        "quinn",
        json!({ "to_agent": "role:ba", "message_type": "info", "subject": "s", "body": "" }),
    );
    let Payload::Inbox(inbox) = parse(&short).unwrap().payload().clone() else {
        panic!("not an inbox Wire");
    };
    assert_eq!(
        (inbox.priority, inbox.action_required, inbox.ref_task_id),
        (3, false, None)
    );

    let short = wire(
        "complete",
        "runner",
        json!({
            "task_id": "t", "agent": "a", "summary": "s",
            "verification": { "mechanical": "pass", "semantic": "pass" },
        }),
    );
    let Payload::Complete(complete) = parse(&short).unwrap().payload().clone() else {
        panic!("not a completion");
    };
    assert_eq!((complete.cost_usd, complete.output_ref), (None, None));
    assert_eq!(complete.verification.attempts, 1);
}

#[test]
fn fields_that_begin_with_x_are_carried_and_may_be_anything() {
    for example in examples() {
        let mut marked = with(&example, "/x_trace", json!({ "a": [1, null] }));
        marked = with(&marked, "/payload/x_", json!(1.50));
        let wire = parse(&marked).unwrap();
        assert_eq!(wire.json(), &marked);
        assert_eq!(wire.into_json(), marked);
    }
    let deep = with(&brief(), "/payload/output_contract/x_a", json!(true));
    let deep = with(&deep, "/payload/env/x_b", json!("b"));
    assert_eq!(validate(&deep), []);
}

#[test]
fn a_template_is_a_valid_wire_of_its_type() {
    let sender = "quinn".parse().unwrap();
    for wire_type in Type::ALL {
        for now in [0, i64::MIN, i64::MAX, 1_763_194_260_120] {
            let value = template(*wire_type, inbox_core::record::Millis(now), &sender);
            let wire = parse(&value).unwrap_or_else(|problems| panic!("{problems:#?}"));
            assert_eq!(wire.wire_type(), *wire_type);
            assert_eq!(wire.sender().as_str(), "quinn");
        }
    }
}

#[test]
fn every_type_is_listed_with_a_sentence() {
    let names: Vec<_> = types().iter().map(|info| info.name).collect();
    assert_eq!(names, ["brief", "inbox", "complete", "blocked", "claim"]);
    for info in types() {
        assert!(info.about.ends_with('.'), "{}", info.name);
        assert_eq!(info.message_types.is_empty(), info.name != "inbox");
        for known in info.message_types {
            let value = with(&inbox(), "/payload/message_type", json!(known.name));
            assert_eq!(validate(&value), [], "{}", known.name);
            assert!(known.about.ends_with('.'), "{}", known.name);
        }
    }
}

fn arbitrary() -> impl Strategy<Value = Value> {
    let text = "[a-zA-Z0-9 .,äß—\\n\"'#`]{0,40}x";
    let nullable = prop_oneof![
        Just(Value::Null),
        text.prop_map(|text| json!(text.replace('\n', " ")))
    ];
    let list = proptest::collection::vec(text, 1..4);
    let base = proptest::sample::select(all());
    (base, text, nullable, list, 0..1_000_u32, "[a-z]{0,5}").prop_map(
        |(base, text, nullable, list, number, key)| {
            let mut value = base;
            let fields = [
                ("/payload/body", json!(text)),
                ("/payload/reason", json!(text)),
                ("/payload/ref_task_id", nullable.clone()),
                ("/payload/output_ref", nullable.clone()),
                ("/payload/env/worktree_path", nullable),
                ("/payload/constraints", json!(list)),
                ("/payload/escalation_triggers", json!(list)),
                ("/payload/acceptance_criteria", json!(list)),
                ("/payload/cost_usd", json!(f64::from(number) / 8.0)),
                ("/payload/attempts", json!(number + 1)),
                ("/payload/output_contract/min_length", json!(number)),
            ];
            for (pointer, field) in fields {
                if value.pointer(pointer).is_some() {
                    value = with(&value, pointer, field);
                }
            }
            with(&value, &format!("/payload/x_{key}"), json!({ key: list }))
        },
    )
}

proptest! {
    #[test]
    fn what_is_read_is_written_as_it_was(value in arbitrary()) {
        let wire = parse(&value).map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        let text = serde_json::to_string(&wire).unwrap();
        let again = parse(&inbox_wire::decode(&text).unwrap()).unwrap();
        prop_assert_eq!(&again, &wire);
        prop_assert_eq!(again.payload(), wire.payload());
        prop_assert_eq!(again.json(), &value);
    }

    #[test]
    fn a_wire_made_of_its_parts_reads_as_those_parts(value in arbitrary()) {
        let wire = parse(&value).unwrap();
        let made = Wire::new(wire.sender(), wire.ts(), wire.payload()).unwrap();
        prop_assert_eq!(made.payload(), wire.payload());
        prop_assert_eq!((made.sender(), made.ts()), (wire.sender(), wire.ts()));
    }
}

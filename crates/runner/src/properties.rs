//! What holds of everything that a client says, whatever it says: nothing panics, what it used is a number that can be written down, and
//! its session is one that may be an argument.

use inbox_ops::config::{Preset, What};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::acp::Talk;
use crate::damage::{cases, damaged, damaged_text};
use crate::preset::shipped;
use crate::reader::{Found, Reader, session};
use crate::said::Said;
use crate::used::Used;
use crate::verify::verdict;

/// What the known clients say, and what says more than there are numbers for.
fn outputs() -> Vec<String> {
    let fixtures = [
        include_str!("../fixtures/claude.jsonl"),
        include_str!("../fixtures/codex.jsonl"),
        include_str!("../fixtures/gemini.jsonl"),
        include_str!("../fixtures/opencode.jsonl"),
    ];
    fixtures.map(str::to_owned).to_vec()
}

/// An agent's side of a turn, line by line.
fn turn() -> Vec<Value> {
    let update = |update: Value| json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1", "update": update } });
    vec![
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": 1, "agentCapabilities": { "loadSession": true } } }),
        json!({ "jsonrpc": "2.0", "id": 3, "result": { "sessionId": "s1" } }),
        update(
            json!({ "sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "edit", "title": "Edit" }),
        ),
        json!({ "jsonrpc": "2.0", "id": 9, "method": "session/request_permission", "params": { "toolCall": { "toolCallId": "c1" },
            "options": [{ "kind": "allow_once", "optionId": "a" }, { "kind": "reject_once", "optionId": "r" }] } }),
        update(
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "text": "Done.\nAll é of it" } }),
        ),
        update(
            json!({ "sessionUpdate": "usage_update", "cost": { "amount": 1.5, "currency": "USD" } }),
        ),
        json!({ "jsonrpc": "2.0", "id": 4, "result": { "stopReason": "end_turn", "usage": { "outputTokens": 7, "thoughtTokens": 3,
            "inputTokens": 5, "totalTokens": 15 } } }),
    ]
}

fn turns() -> Vec<String> {
    vec![turn().iter().map(|line| format!("{line}\n")).collect()]
}

fn hold(found: &Found) {
    for used in [found.used, found.so_far, found.used.and(found.so_far)] {
        assert!(
            used.cost.is_none_or(|cost| cost.is_finite() && cost >= 0.0),
            "{used:?}"
        );
    }
    let session_is_plain = |id: &String| session(id).as_ref() == Some(id);
    assert!(
        found.session.as_ref().is_none_or(session_is_plain),
        "{found:?}"
    );
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(|line| line.chunks(700))
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(|number| json!(number)),
        select(vec![
            json!(u64::MAX),
            json!(u64::MAX - 1),
            json!(0),
            json!(-1),
            json!(1e308),
            json!(1.5),
            Value::Null,
            json!("7")
        ]),
    ]
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn whatever_a_client_prints_is_read_as_far_as_it_means_something(bytes in damaged(outputs())) {
        for preset in shipped().expect("the presets are good").values() {
            let mut reader = Reader::new(Some(preset));
            for part in lines(&bytes) {
                reader.feed(part);
            }
            hold(&reader.finish());
        }
    }

    #[test]
    fn whatever_an_agent_says_ends_its_turn_or_leaves_it_open(bytes in damaged(turns()), is_resumed in any::<bool>()) {
        let preset = Preset { allow: vec!["read".into()], ..Preset::default() };
        let before = is_resumed.then_some("s1");
        let mut talk = Talk::new(&preset, "do it", "/f", before).after("Done.");
        let mut said = 0;
        for part in lines(&bytes) {
            let fed = talk.feed(part);
            said += fed.say.len();
            for line in &fed.say {
                prop_assert!(serde_json::from_str::<Value>(line).is_ok() && !line.contains('\n'));
                // What is not named by the preset is never allowed.
                prop_assert!(!line.contains(r#""optionId":"a""#), "{line}");
            }
        }
        prop_assert!(said <= bytes.split(|byte| *byte == b'\n').count());
        hold(&talk.finish());
    }

    #[test]
    fn whatever_a_turn_is_said_to_have_used_it_is_counted(
        numbers in proptest::array::uniform4(number()), cost in number(), quota in proptest::array::uniform2(number()),
    ) {
        let mut lines = turn();
        let [out, thought, read, total] = numbers;
        lines[5]["params"]["update"]["cost"]["amount"] = cost;
        lines[6]["result"]["usage"] = json!({ "outputTokens": out, "thoughtTokens": thought, "inputTokens": read, "totalTokens": total });
        lines[6]["result"]["_meta"] = json!({ "quota": { "token_count": { "input_tokens": quota[0], "output_tokens": quota[1] } } });
        let mut talk = Talk::new(&Preset::default(), "do it", "/f", None);
        for line in lines {
            talk.feed(format!("{line}\n").as_bytes());
        }
        prop_assert!(talk.is_over());
        hold(&talk.finish());
    }

    #[test]
    fn sums_of_what_was_used_stay_numbers(
        costs in proptest::collection::vec(prop_oneof![Just(f64::MAX), Just(1e308), 0.0..1e3], 1..6),
        tokens in proptest::collection::vec(prop_oneof![any::<u64>(), Just(u64::MAX)], 1..6),
    ) {
        let parts = costs.iter().zip(&tokens).map(|(cost, tokens)| Used {
            cost: Some(*cost), input_tokens: Some(*tokens), output_tokens: Some(*tokens),
        });
        let sum = parts.clone().fold(Used::default(), Used::and);
        prop_assert!(sum.cost.is_some_and(f64::is_finite));
        for part in parts {
            let since = sum.since(part);
            prop_assert!(since.cost.is_some_and(|cost| cost.is_finite() && cost >= 0.0));
        }
    }

    #[test]
    fn whatever_an_output_ends_with_it_has_a_summary(text in damaged_text(vec![
        "I looked.\n```json\n{\"wire\":\"1.0\",\"type\":\"blocked\",\"sender\":\"quinn\",\"ts\":\"2026-04-28T00:00:00Z\",\
         \"payload\":{\"task_id\":\"t\",\"agent\":\"quinn\",\"reason\":\"Which?\",\"blocker_type\":\"spec_gap\"}}\n```\n",
        "output_ref: a/b\nartifact: c\nDone.", "**Fail**: no — é", "pass.", "İFAIL: x",
    ])) {
        let said = Said::of(&text);
        prop_assert!(!said.summary().is_empty());
        let _ = verdict(&text);
    }

    #[test]
    fn a_preset_is_read_again_as_it_was_or_refused(text in damaged_text(vec![
        include_str!("../../../definitions/presets.toml"),
        "[\"a.b\"]\ncommand = [\"x\"]\n[[\"a.b\".read]]\ntake = \"/a/*/b\"\nas = \"cost\"\nwhen = { \"/t\" = \"x\" }\n",
    ])) {
        if let Ok(presets) = toml::from_str::<std::collections::BTreeMap<String, Preset>>(&text) {
            let json = serde_json::to_value(&presets).expect("it can be written");
            prop_assert_eq!(serde_json::from_value(json).ok(), Some(presets.clone()));
            for preset in presets.values() {
                let mut reader = Reader::new(Some(preset));
                reader.feed(b"{\"a\":[{\"b\":1e308},{\"b\":1e308}],\"t\":\"x\"}\n");
                hold(&reader.finish());
            }
        }
    }
}

#[test]
fn more_tokens_than_there_are_numbers_for_are_the_most_that_there_are() {
    let mut lines = turn();
    lines[6]["result"]["usage"] =
        json!({ "outputTokens": u64::MAX, "thoughtTokens": 1, "inputTokens": 2 });
    let mut talk = Talk::new(&Preset::default(), "do it", "/f", None);
    for line in lines {
        talk.feed(format!("{line}\n").as_bytes());
    }
    assert_eq!(talk.finish().used.output_tokens, Some(u64::MAX));
}

#[test]
fn costs_that_are_more_than_a_number_holds_stay_one() {
    let preset = Preset {
        read: vec![inbox_ops::config::Reading {
            when: std::collections::BTreeMap::new(),
            take: "/cost".into(),
            what: What::Cost,
            so_far: false,
        }],
        ..Preset::default()
    };
    let mut reader = Reader::new(Some(&preset));
    for _ in 0..2 {
        reader.feed(b"{\"cost\":1.7e308}\n");
    }
    hold(&reader.finish());
}

#[test]
fn what_a_fuzzer_begins_with_is_read() {
    for seed in [
        &include_bytes!("../../../fuzz/seeds/output_decode/acp.jsonl")[..],
        include_bytes!("../../../fuzz/seeds/output_decode/claude.jsonl"),
        include_bytes!("../../../fuzz/seeds/output_decode/opencode.jsonl"),
    ] {
        let costs = crate::fuzzing::output(seed);
        assert!(costs.iter().all(|cost| cost.is_finite()), "{costs:?}");
    }
}

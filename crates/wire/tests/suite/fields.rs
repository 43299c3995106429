//! Each rule of a field, broken alone: one problem, at the field's pointer, with words that say it.

use inbox_wire::{decode, is_unknown_version, validate};
use serde_json::{Value, json};

use crate::vectors::{blocked, brief, claim, complete, examples, inbox};
use crate::{only, with, without};

fn words(count: usize) -> String {
    vec!["word"; count].join(" ")
}

/// Each line: an example, a field, the value that breaks one rule, and words of the one problem there.
macro_rules! breaks {
    ($($example:ident $pointer:literal = $value:expr => $words:literal;)*) => {$(
        let broken = with(&$example(), $pointer, Value::from($value));
        let name = concat!($pointer, " = ", stringify!($value));
        only(&validate(&broken), $pointer, $words, name);
    )*};
}

#[test]
fn the_envelope_keeps_its_rules() {
    breaks! {
        brief "" = json!([]) => "must be an object, not a list";
        brief "" = Value::Null => "must be an object, not null";
        brief "/wire" = 1.0 => "must be a string";
        brief "/wire" = Value::Null => "must be a string";
        brief "/type" = "letter" => "is not one of brief, inbox";
        brief "/type" = "Brief" => "is not one of";
        brief "/type" = "" => "is not one of";
        brief "/sender" = "Quinn" => "is not a slug";
        brief "/sender" = "role:ba" => "is not a slug";
        brief "/sender" = "" => "is not a slug";
        brief "/payload" = "text" => "must be an object";
        brief "/payload" = Value::Null => "must be an object";
        brief "/extra" = 1 => "is unknown";
        brief "/X_extra" = 1 => "is unknown";
        brief "/a~1b~0" = 1 => "is unknown";
        brief "/x_a" = json!([{ "b": "\0" }]) => "NUL";
        brief "/x_a" = json!({ "$serde_json::private::Number": "1" }) => "reserved";
    }
}

#[test]
fn a_time_is_rfc_3339_and_nothing_else() {
    for time in [
        "ISO8601",
        "",
        "2026-04-28",
        "2026-04-28T00:00:00",
        "2026-04-28T00:00Z",
        "2026-04-28 00:00:00Z",
        "20260428T000000Z",
        "2026-04-28T00:00:00+0200",
        "2026-04-28T00:00:00+02",
        "2026-04-28T00:00:00.Z",
        "2026-04-28T00:00:00.1234567890Z",
        "2026-04-28T00:00:00Z[UTC]",
        "2026-13-28T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-04-28T24:00:00Z",
        "2026-04-28T00:60:00Z",
        "2026-04-28T00:00:00+25:99",
        " 2026-04-28T00:00:00Z",
        "2026-04-28T00:00:00Z ",
        "２０２６-04-28T00:00:00Z",
        "+002026-04-28T00:00:00Z",
    ] {
        let broken = with(&claim(), "/ts", json!(time));
        only(&validate(&broken), "/ts", "is not an RFC 3339 time", time);
    }
    for time in [
        "2026-04-28T00:00:00Z",
        "2026-04-28t00:00:00z",
        "2026-04-28T00:00:00.123456789+02:00",
        "1970-01-01T00:00:00-00:00",
        "0000-01-01T00:00:00Z",
    ] {
        assert_eq!(validate(&with(&claim(), "/ts", json!(time))), [], "{time}");
    }
}

#[test]
fn an_unknown_version_is_the_only_problem_and_is_told_apart() {
    for version in ["2.0", "1", "1.0 ", "1.1", "", "０"] {
        let mut wire = with(&brief(), "/wire", json!(version));
        wire = with(&wire, "/payload", json!("something of another time"));
        let problems = validate(&wire);
        only(&problems, "/wire", "is not known", version);
        assert!(is_unknown_version(&problems));
    }
    for example in examples() {
        let problems = validate(&without(&example, "/wire"));
        only(&problems, "/wire", "is required", "no version");
        assert!(!is_unknown_version(&problems));
    }
}

#[test]
fn every_required_field_is_missed() {
    let cases: [(Value, &[&str]); 5] = [
        (
            brief(),
            &[
                "goal",
                "acceptance_criteria",
                "output_contract",
                "output_contract/type",
            ],
        ),
        (inbox(), &["to_agent", "message_type", "subject", "body"]),
        (
            complete(),
            &[
                "task_id",
                "agent",
                "summary",
                "verification",
                "verification/mechanical",
                "verification/semantic",
            ],
        ),
        (blocked(), &["task_id", "agent", "reason", "blocker_type"]),
        (claim(), &["task_id", "agent", "role"]),
    ];
    for (example, fields) in cases {
        for field in fields {
            let pointer = format!("/payload/{field}");
            only(
                &validate(&without(&example, &pointer)),
                &pointer,
                "is required",
                field,
            );
        }
        for field in ["wire", "type", "sender", "ts", "payload"] {
            let pointer = format!("/{field}");
            only(
                &validate(&without(&example, &pointer)),
                &pointer,
                "is required",
                field,
            );
        }
    }
}

#[test]
fn a_brief_keeps_its_rules() {
    let context = "/payload/context";
    breaks! {
        brief "/payload/goal" = "" => "is empty";
        brief "/payload/goal" = " \u{200b}\n" => "is empty";
        brief "/payload/goal" = "X is built. Y is built." => "has 2 sentences";
        brief "/payload/goal" = "Build X" => "is an order";
        brief "/payload/goal" = "Fix the parser so that it is fast." => "is an order";
        brief "/payload/goal" = words(3) + "\0" => "NUL";
        brief "/payload/context" = words(201) => "has 201 words; the most is 200";
        brief "/payload/constraints" = "one" => "must be a list";
        brief "/payload/constraints/1" = "" => "is empty";
        brief "/payload/constraints/1" = 7 => "must be a string";
        brief "/payload/acceptance_criteria" = json!([]) => "at least one";
        brief "/payload/acceptance_criteria/0" = "  " => "is empty";
        brief "/payload/escalation_triggers/0" = Value::Null => "must be a string";
        brief "/payload/output_contract" = json!(["file"]) => "must be an object";
        brief "/payload/output_contract/type" = "file | json" => "is not one of file, json";
        brief "/payload/output_contract/schema_ref" = "Not A Slug" => "is not a slug";
        brief "/payload/output_contract/output_ref_required" = "yes" => "true or false";
        brief "/payload/output_contract/output_ref_required" = Value::Null => "true or false";
        brief "/payload/output_contract/min_length" = -1 => "not a whole number";
        brief "/payload/output_contract/min_length" = 1.5 => "not a whole number";
        brief "/payload/output_contract/min_length" = "1" => "must be a whole number";
        brief "/payload/output_contract/evaluate" = "" => "is empty";
        brief "/payload/output_contract/evaluate" = false => "must be a string";
        brief "/payload/output_contract/schema" = "x" => "is unknown";
        brief "/payload/env" = Value::Null => "must be an object";
        brief "/payload/env/client_id" = 7 => "must be a string";
        brief "/payload/env/task_id" = "" => "is empty";
        brief "/payload/env/project_id" = "a\nb" => "one line";
        brief "/payload/env/repo_url" = "x".repeat(4_097) => "the most is 4096";
        brief "/payload/env/worktree_path" = json!([]) => "must be a string";
        brief "/payload/env/branch" = "x" => "is unknown";
        brief "/payload/acceptance_criterias" = json!([]) => "is unknown";
    }
    assert_eq!(validate(&with(&brief(), context, json!(words(200)))), []);
}

#[test]
fn an_inbox_wire_keeps_its_rules() {
    let kind = "/payload/message_type";
    breaks! {
        inbox "/payload/to_agent" = "Quinn" => "is not an address";
        inbox "/payload/to_agent" = "a:b:c" => "is not an address";
        inbox "/payload/priority" = 0 => "from 1 to 3";
        inbox "/payload/priority" = 4 => "from 1 to 3";
        inbox "/payload/priority" = "1" => "must be a whole number";
        inbox "/payload/priority" = 1.5 => "from 1 to 3";
        inbox "/payload/message_type" = "" => "is not a message type";
        inbox "/payload/message_type" = "Task.blocked" => "is not a message type";
        inbox "/payload/message_type" = "task..blocked" => "is not a message type";
        inbox "/payload/message_type" = "task blocked" => "is not a message type";
        inbox "/payload/message_type" = ".task" => "is not a message type";
        inbox "/payload/message_type" = "1.task" => "is not a message type";
        inbox "/payload/message_type" = "t".repeat(129) => "is not a message type";
        inbox "/payload/ref_task_id" = 7 => "must be a string";
        inbox "/payload/ref_task_id" = "x".repeat(513) => "the most is 512";
        inbox "/payload/subject" = "" => "is empty";
        inbox "/payload/subject" = "a\u{1b}b" => "one line";
        inbox "/payload/subject" = "x".repeat(1_001) => "the most is 1000";
        inbox "/payload/body" = Value::Null => "must be a string";
        inbox "/payload/body" = "a\0" => "NUL";
        inbox "/payload/action_required" = 1 => "true or false";
        inbox "/payload/to" = "x" => "is unknown";
    }
    for word in ["anything.else", "a", "x-1.y_2.3", "deploy.v2"] {
        assert_eq!(validate(&with(&inbox(), kind, json!(word))), [], "{word}");
    }
}

#[test]
fn a_completion_keeps_its_rules() {
    let summary = "/payload/summary";
    breaks! {
        complete "/payload/task_id" = "" => "is empty";
        complete "/payload/task_id" = 1 => "must be a string";
        complete "/payload/agent" = "the agent" => "is not a slug";
        complete "/payload/output_ref" = "" => "is empty";
        complete "/payload/output_ref" = json!({}) => "must be a string";
        complete "/payload/summary" = words(151) => "has 151 words; the most is 150";
        complete "/payload/summary" = " " => "is empty";
        complete "/payload/cost_usd" = -0.01 => "at least 0";
        complete "/payload/cost_usd" = "0.01" => "must be a number";
        complete "/payload/cost_usd" = Value::Null => "must be a number";
        complete "/payload/cost_usd" = decode("1e400").unwrap() => "at least 0";
        complete "/payload/duration_seconds" = -1 => "at least 0";
        complete "/payload/duration_seconds" = true => "must be a number";
        complete "/payload/verification" = "pass" => "must be an object";
        complete "/payload/verification/mechanical" = "skipped" => "is not one of pass, fail";
        complete "/payload/verification/semantic" = "ok" => "is not one of pass, fail, skipped";
        complete "/payload/verification/attempts" = 0 => "not a whole number from 1";
        complete "/payload/verification/by" = "x" => "is unknown";
        complete "/payload/cost" = 1 => "is unknown";
    }
    assert_eq!(validate(&with(&complete(), summary, json!(words(150)))), []);
    assert_eq!(
        validate(&with(&complete(), "/payload/duration_seconds", json!(1.25))),
        []
    );
}

#[test]
fn a_blocked_wire_and_a_claim_keep_their_rules() {
    breaks! {
        blocked "/payload/task_id" = Value::Null => "must be a string";
        blocked "/payload/agent" = "-a" => "is not a slug";
        blocked "/payload/reason" = "\t" => "is empty";
        blocked "/payload/blocker_type" = "other" => "is not one of spec_gap";
        blocked "/payload/blocker_type" = "SPEC_GAP" => "is not one of";
        blocked "/payload/suggested_resolution" = "" => "is empty";
        blocked "/payload/suggested_resolution" = json!([]) => "must be a string";
        blocked "/payload/attempts" = 0 => "not a whole number from 1";
        blocked "/payload/note" = 0 => "is unknown";
        claim "/payload/task_id" = "a\u{85}b" => "one line";
        claim "/payload/agent" = "" => "is not a slug";
        claim "/payload/role" = "role:ba" => "is not a slug";
        claim "/payload/lease" = "x" => "is unknown";
    }
}

#[test]
fn every_problem_is_named_not_the_first_alone() {
    let mut wire = with(&brief(), "/sender", json!("NOBODY"));
    wire = with(&wire, "/ts", json!("yesterday"));
    wire = with(&wire, "/extra", json!(0));
    wire = with(&wire, "/payload/goal", json!("Build this. Build that."));
    wire = with(&wire, "/payload/constraints", json!(["", "fine", 3]));
    wire = with(&wire, "/payload/output_contract/type", json!("poem"));
    wire = with(&wire, "/payload/env/client_id", json!(1));
    let problems = validate(&wire);
    let pointers: Vec<_> = problems
        .iter()
        .map(|problem| problem.pointer.as_str())
        .collect();
    let wanted = [
        "/sender",
        "/ts",
        "/payload/goal",
        "/payload/goal",
        "/payload/constraints/0",
        "/payload/constraints/2",
        "/payload/output_contract/type",
        "/payload/env/client_id",
        "/extra",
    ];
    assert_eq!(pointers, wanted, "{problems:#?}");
}

#[test]
fn a_hostile_document_cannot_make_an_answer_of_any_size() {
    let wire = with(&brief(), "/payload/constraints", json!(vec![""; 5_000]));
    let problems = validate(&wire);
    assert_eq!(problems.len(), inbox_wire::MAX_PROBLEMS + 1);
    assert!(
        problems
            .last()
            .unwrap()
            .message
            .contains("4000 more problems")
    );
    let keys: serde_json::Map<_, _> = (0..900)
        .map(|index| (format!("{index}{}", "~".repeat(50_000)), Value::Null))
        .collect();
    let answer: usize = validate(&with(&claim(), "/payload", keys.into()))
        .iter()
        .map(|problem| problem.pointer.len())
        .sum();
    assert!(answer < 5 << 20, "{answer} bytes");
    let long = with(
        &brief(),
        "/payload/output_contract/type",
        json!("\u{202e}".repeat(100_000)),
    );
    let [problem] = &validate(&long)[..] else {
        panic!("one problem was expected");
    };
    assert!(problem.message.len() < 2_000 && !problem.message.contains('\u{202e}'));
}

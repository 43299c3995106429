//! A completed task held against its brief's output contract.

use inbox_wire::{
    Brief, Complete, ContractSchema, Outputs, Payload, Problem, check_complete, contract,
    contracts, output_document, parse,
};
use serde_json::{Value, json};

use crate::{only, vectors, with};

fn brief(contract: Value) -> Brief {
    let wire = with(&vectors::brief(), "/payload/output_contract", contract);
    match parse(&wire).unwrap().payload() {
        Payload::Brief(brief) => brief.clone(),
        other => panic!("{other:?}"),
    }
}

fn complete(output_ref: Option<&str>, summary: &str) -> Complete {
    let wire = with(
        &vectors::complete(),
        "/payload/output_ref",
        json!(output_ref),
    );
    let wire = with(&wire, "/payload/summary", json!(summary));
    match parse(&wire).unwrap().payload() {
        Payload::Complete(complete) => complete.clone(),
        other => panic!("{other:?}"),
    }
}

fn check(contract: Value, output_ref: Option<&str>, outputs: Outputs<'_>) -> Vec<Problem> {
    check_complete(
        &brief(contract),
        &complete(output_ref, "It is done."),
        &outputs,
    )
}

#[test]
fn an_output_ref_is_there_when_it_is_required() {
    let contract = json!({ "type": "message", "output_ref_required": true });
    only(
        &check(contract.clone(), None, Outputs::default()),
        "/output_ref",
        "is required",
        "none",
    );
    assert_eq!(check(contract, Some("somewhere"), Outputs::default()), []);
}

#[test]
fn the_least_length_is_of_the_text_or_else_of_the_summary() {
    let contract = json!({ "type": "message", "min_length": 12 });
    let text = |text| Outputs {
        text: Some(text),
        ..Outputs::default()
    };
    only(
        &check(contract.clone(), None, Outputs::default()),
        "/summary",
        "has 11 characters",
        "summary",
    );
    only(
        &check(contract.clone(), None, text("äöü")),
        "/output/text",
        "has 3 characters",
        "text",
    );
    assert_eq!(check(contract, None, text("a text of twelve")), []);
}

#[test]
fn each_type_of_output_needs_what_it_is() {
    let attached = ["a.txt".to_owned()];
    let none = Outputs::default();
    let with_file = Outputs {
        artifacts: &attached,
        ..none
    };
    let with_text = Outputs {
        text: Some("A text."),
        ..none
    };
    let file = || json!({ "type": "file" });
    only(
        &check(file(), None, with_text),
        "/output_ref",
        "attached or referred to",
        "file",
    );
    assert_eq!(check(file(), None, with_file), []);
    assert_eq!(check(file(), Some("out/a.txt"), none), []);

    let report = || json!({ "type": "report" });
    only(
        &check(report(), None, none),
        "/output_ref",
        "a report must be",
        "report",
    );
    for (place, outputs) in [(None, with_text), (None, with_file), (Some("a"), none)] {
        assert_eq!(check(report(), place, outputs), []);
    }
    assert_eq!(check(json!({ "type": "message" }), None, none), []);
}

#[test]
fn a_pull_request_is_a_url_or_a_branch() {
    let pr = || json!({ "type": "pr", "output_ref_required": true });
    for fine in [
        "https://example.org/pull/1",
        "http://localhost:8080/x",
        "feature/auth-v2",
        "main",
        "fix-1.2",
    ] {
        assert_eq!(check(pr(), Some(fine), Outputs::default()), [], "{fine}");
    }
    for bad in [
        "https://",
        "https:// x",
        "a branch",
        "a..b",
        "/a",
        "a/",
        "a//b",
        "a.lock",
        ".a",
        "a.",
        "-a",
        "a~1",
        "a^",
        "a:b",
        "a?b",
        "@",
        "a@{1}",
        "ftp://x/y",
    ] {
        only(
            &check(pr(), Some(bad), Outputs::default()),
            "/output_ref",
            "looks neither",
            bad,
        );
    }
    only(
        &check(pr(), None, Outputs::default()),
        "/output_ref",
        "must be named",
        "none",
    );
}

#[test]
fn json_is_given_as_such_or_as_text() {
    let contract = || json!({ "type": "json" });
    let none = Outputs::default();
    only(
        &check(contract(), None, none),
        "/output",
        "there is none",
        "none",
    );
    let value = json!({ "a": 1 });
    assert_eq!(
        check(
            contract(),
            None,
            Outputs {
                json: Some(&value),
                ..none
            }
        ),
        []
    );
    assert_eq!(
        check(
            contract(),
            None,
            Outputs {
                text: Some(" [1] "),
                ..none
            }
        ),
        []
    );
    let twice = Outputs {
        text: Some("{\"a\":1,\"a\":2}"),
        ..none
    };
    only(
        &check(contract(), None, twice),
        "/output/a",
        "there twice",
        "duplicate",
    );
    let prose = Outputs {
        text: Some("It is done."),
        ..none
    };
    only(
        &check(contract(), None, prose),
        "/output",
        "the contract wants JSON",
        "prose",
    );
}

#[test]
fn a_schema_is_applied_to_the_json_or_to_the_record_of_the_output() {
    let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } });
    let contract = || json!({ "type": "json", "schema_ref": "own" });
    let outputs = |text: &'static str| text;
    let with_schema = |text| Outputs {
        text: Some(text),
        schema: Some(&schema),
        ..Outputs::default()
    };
    assert_eq!(
        check(contract(), None, with_schema(outputs("{\"a\":1}"))),
        []
    );
    only(
        &check(contract(), None, with_schema("{\"a\":\"1\"}")),
        "/output/a",
        "type integer",
        "type",
    );
    only(
        &check(contract(), None, with_schema("{}")),
        "/output/a",
        "is required",
        "missing",
    );
    only(
        &check(contract(), None, with_schema("no")),
        "/output",
        "wants JSON",
        "no JSON",
    );

    let missing = Outputs {
        text: Some("{}"),
        ..Outputs::default()
    };
    let pointer = "/output_contract/schema_ref";
    only(
        &check(contract(), None, missing),
        pointer,
        "there is no contract \"own\"",
        "unknown",
    );
    let strange = json!({ "type": "object", "unevaluatedProperties": false });
    let strange = Outputs {
        text: Some("{}"),
        schema: Some(&strange),
        ..Outputs::default()
    };
    only(
        &check(contract(), None, strange),
        pointer,
        "is not understood",
        "strange",
    );

    let record = json!({ "properties": { "artifacts": { "minItems": 2 } } });
    let one = ["a".to_owned()];
    let found = Outputs {
        artifacts: &one,
        schema: Some(&record),
        ..Outputs::default()
    };
    let contract = json!({ "type": "file", "schema_ref": "two_files" });
    only(
        &check(contract, None, found),
        "/output/artifacts",
        "the least is 2",
        "record",
    );
}

#[test]
fn the_shipped_contracts_are_schemas_that_are_understood_and_described() {
    let folder = crate::root().join("definitions/contracts");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    files.sort();
    let slugs: Vec<_> = contracts().iter().map(|contract| contract.slug).collect();
    assert_eq!(files, slugs);
    for slug in slugs {
        let schema = contract(slug).unwrap();
        assert!(schema["description"].is_string(), "{slug}");
        ContractSchema::new(&schema).unwrap_or_else(|problems| panic!("{slug}: {problems:#?}"));
        jsonschema::draft202012::meta::validate(&schema)
            .unwrap_or_else(|error| panic!("{slug}: {error}"));
    }
    assert_eq!(contract("nothing"), None);
}

#[test]
fn the_shipped_contracts_tell_good_from_bad() {
    let long = "A report has to say something. ".repeat(10);
    let attached = ["report.pdf".to_owned()];
    let none = Outputs::default();
    let text = |text| Outputs {
        text: Some(text),
        ..none
    };
    let file = Outputs {
        artifacts: &attached,
        ..none
    };
    let cases: Vec<(&str, Option<&str>, Outputs<'_>, Option<&str>)> = vec![
        ("code_commit", Some("feature/auth-v2"), none, None),
        (
            "code_commit",
            Some("https://example.org/pull/7"),
            none,
            None,
        ),
        ("code_commit", Some("3f2a90bc"), none, None),
        (
            "code_commit",
            Some("see my branch"),
            none,
            Some("/output_ref"),
        ),
        ("code_commit", Some("-f"), none, Some("/output_ref")),
        ("code_commit", None, none, Some("/output_ref")),
        ("output_ref_file", Some("out/a.txt"), none, None),
        ("output_ref_file", Some("out/"), none, Some("/output_ref")),
        ("output_ref_file", None, none, Some("/output_ref")),
        ("report", None, text(&long), None),
        ("report", None, file, None),
        ("report", Some("out/report.md"), none, None),
        ("report", None, text("too short"), Some("")),
        ("report", None, none, Some("")),
        ("message", None, none, None),
        ("message", None, text("Hello."), None),
        ("message", None, text("  "), Some("")),
    ];
    for (slug, output_ref, outputs, fault) in cases {
        let schema = contract(slug).unwrap();
        let document = output_document(&complete(output_ref, "It is done, and tested."), &outputs);
        let found = ContractSchema::new(&schema).unwrap().check(&document);
        let places: Vec<_> = found
            .iter()
            .map(|problem| problem.pointer.as_str())
            .collect();
        let is_valid = jsonschema::draft202012::new(&schema)
            .unwrap()
            .is_valid(&document);
        assert_eq!(
            places.first().copied(),
            fault,
            "{slug}: {document:#}: {found:#?}"
        );
        assert_eq!(is_valid, fault.is_none(), "{slug}: {document:#}");
    }
}

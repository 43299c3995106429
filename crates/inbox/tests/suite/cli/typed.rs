//! Typed messages: `wire …`, briefs and their contracts, show --wire.

use serde_json::{Value, json};

use super::card_prompt::{card, staffed};
use super::desk::{Desk, keys, said, text};

const TYPES: [&str; 5] = ["brief", "inbox", "complete", "blocked", "claim"];

/// A Wire to start from.
fn wire(desk: &Desk, sort: &str) -> Value {
    desk.ok(&format!("wire new {sort} --agent backend"))["wire"].clone()
}

/// A brief in a file, with this output contract over the usual one.
fn brief(desk: &Desk, contract: &Value) {
    let mut brief = wire(desk, "brief");
    for (key, value) in contract.as_object().unwrap() {
        brief["payload"]["output_contract"][key] = value.clone();
    }
    desk.file("brief.json", brief.to_string());
}

/// Opens work with the brief in the file, claims it and gives the thread and the token.
fn briefed(desk: &Desk, contract: &Value) -> (String, String) {
    brief(desk, contract);
    let thread = desk.send("--to backend --brief brief.json");
    let lease = desk.claim("backend", &thread);
    (thread, lease)
}

/// The pointers of an error's problems.
#[track_caller]
pub(super) fn pointers(error: &Value) -> Vec<String> {
    let problems = error["details"]["problems"].as_array();
    let problems = problems.unwrap_or_else(|| panic!("{error}"));
    problems
        .iter()
        .map(|problem| {
            assert_eq!(keys(problem), ["message", "pointer"]);
            text(&problem["pointer"])
        })
        .collect()
}

#[test]
fn what_wire_new_prints_is_what_wire_validate_takes() {
    let desk = Desk::new();
    for sort in TYPES {
        let printed = desk.inbox.run(["wire", "new", sort]);
        desk.file(&format!("{sort}.json"), &printed.stdout);
        let valid = desk.ok(&format!("wire validate {sort}.json"));
        assert_eq!(valid["valid"][0]["type"], sort);
        let schema = desk.ok(&format!("wire schema {sort}"));
        assert!(text(&schema["schema"]["$id"]).contains(sort), "{schema}");
    }
    for other in ["envelope", "agent-card"] {
        desk.ok(&format!("wire schema {other}"));
    }
    let types = desk.ok("wire types").to_string();
    assert!(TYPES.iter().all(|sort| types.contains(sort)), "{types}");
    for line in ["wire new bogus", "wire schema bogus"] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(said(&error).contains("bogus"), "{error}");
        assert!(said(&error).contains("brief, inbox, complete"), "{error}");
    }
}

#[test]
fn every_problem_of_a_wire_is_named_by_its_pointer() {
    let desk = Desk::new();
    let bad = json!({
        "wire": "1.0", "type": "brief", "sender": "a b", "ts": "yesterday",
        "payload": { "goal": "", "bogus": 1, "output_contract": { "type": "opera" } },
    });
    desk.file("bad.json", bad.to_string());
    let error = desk.refused(30, "invalid_wire", "wire validate bad.json");
    let found = pointers(&error);
    for wanted in [
        "/sender",
        "/ts",
        "/payload/goal",
        "/payload/acceptance_criteria",
        "/payload/output_contract/type",
        "/payload/bogus",
    ] {
        assert!(
            found.iter().any(|found| found == wanted),
            "{wanted}: {error}"
        );
    }
    let line = [
        "send",
        "--from",
        "lead",
        "--to",
        "backend",
        "--subject",
        "s",
        "--payload-json",
    ];
    let mut args: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
    args.extend([bad.to_string(), "--json".to_owned()]);
    let sent = desk.refused_args(30, "invalid_wire", &args);
    assert_eq!(
        pointers(&sent),
        found,
        "written or validated, the same rules"
    );
    let lean = desk.inbox.run([
        "send",
        "--from",
        "lead",
        "--to",
        "backend",
        "--subject",
        "s",
        "--brief",
        "bad.json",
    ]);
    for pointer in &found {
        assert!(
            lean.stderr.contains(pointer),
            "people see all of them: {lean}"
        );
    }
}

#[test]
fn an_unknown_version_is_said_to_be_one() {
    let desk = staffed();
    let mut newer = wire(&desk, "brief");
    newer["wire"] = "2.0".into();
    desk.file("newer.json", newer.to_string());
    for line in [
        "wire validate newer.json",
        "send --from lead --to backend --subject s --brief newer.json",
        "send --from lead --to backend --subject s --payload-json {\"wire\":\"9\"}",
        "send --from lead --to backend --subject s --payload-json {\"wire\":1}",
    ] {
        let error = desk.run(line).json()["error"].clone();
        let code = text(&error["code"]);
        assert!(
            code == "unknown_version" || (code == "invalid_wire" && line.contains(":1}")),
            "{line}: {error}"
        );
        assert_eq!(pointers(&error)[0], "/wire");
    }
    let mut newer = card();
    newer["card_version"] = "3.0".into();
    desk.file("card.json", newer.to_string());
    let error = desk.refused(30, "unknown_version", "card validate card.json");
    assert!(said(&error).contains("3.0"), "{error}");
}

#[test]
fn a_brief_opens_work_and_goes_with_nothing_else() {
    let desk = Desk::new();
    brief(&desk, &json!({}));
    let sent = desk.ok("send --from lead --to backend --subject s --brief brief.json");
    assert_eq!(sent["message"]["kind"], "task");
    assert_eq!(sent["message"]["payload_json"]["type"], "brief");
    desk.file("complete.json", wire(&desk, "complete").to_string());
    let error = desk.refused(
        30,
        "invalid_wire",
        "send --from lead --to backend --subject s --brief complete.json",
    );
    assert!(
        said(&error).contains("complete") && said(&error).contains("brief"),
        "{error}"
    );
    for rest in [
        "--thread thr_1 --brief brief.json",
        "--to backend --subject s --brief brief.json --payload-json {}",
        "--to backend --subject s --brief brief.json --kind event",
        "--to backend --subject s --brief none.json",
    ] {
        desk.refused(30, "invalid_input", &format!("send --from lead {rest}"));
    }
}

#[test]
fn what_is_done_meets_the_contract_or_is_refused_without_a_trace() {
    let desk = Desk::new();
    let (thread, lease) = briefed(
        &desk,
        &json!({ "output_ref_required": true, "type": "file" }),
    );
    let done = format!("done --lease {lease} --thread {thread} --summary Built");
    let error = desk.refused(30, "contract_unmet", &done);
    assert!(
        pointers(&error).contains(&"/output_ref".to_owned()),
        "{error}"
    );
    assert!(said(&error).contains("inbox fail"), "{error}");
    assert_eq!(desk.show(&thread)["thread"]["status"], "claimed");
    desk.file("out.txt", "result");
    let met = desk.ok(&format!("{done} --artifact out.txt"));
    assert_eq!(met["thread"]["status"], "done");

    let (thread, lease) = briefed(
        &desk,
        &json!({ "output_ref_required": false, "type": "message", "min_length": 20 }),
    );
    let done = format!("done --lease {lease} --thread {thread} --summary s");
    let error = desk.refused(30, "contract_unmet", &format!("{done} --body short"));
    assert!(said(&error).contains("20"), "{error}");
    let long = "long~enough~".repeat(5);
    desk.ok(&format!("{done} --body {long}"));

    let (thread, lease) = briefed(
        &desk,
        &json!({ "output_ref_required": true, "type": "file" }),
    );
    desk.ok(&format!(
        "fail --lease {lease} --thread {thread} --summary No"
    ));
}

#[test]
fn a_contract_of_ones_own_has_a_schema() {
    let desk = Desk::new();
    let schema = json!({ "type": "object", "required": ["url"], "properties": { "url": { "type": "string" } } });
    desk.file(".agents/contracts/deployment.json", schema.to_string());
    let contract =
        json!({ "output_ref_required": false, "type": "json", "schema_ref": "deployment" });
    let (thread, lease) = briefed(&desk, &contract);
    let done = format!("done --lease {lease} --thread {thread} --summary s --payload-json");
    let error = desk.refused(30, "contract_unmet", &format!("{done} {{\"a\":1}}"));
    assert!(said(&error).contains("url"), "{error}");
    desk.refused(30, "contract_unmet", &format!("{done} {{\"url\":7}}"));
    desk.ok(&format!("{done} {{\"url\":\"there\"}}"));
}

#[test]
fn a_step_takes_the_wire_of_its_own_type() {
    let desk = Desk::new();
    let thread = desk.send("--to backend");
    let lease = desk.claim("backend", &thread);
    let with = |line: &str, payload: &Value| {
        let mut args = super::desk::words(&format!(
            "{line} --lease {lease} --thread {thread} --summary s"
        ));
        args.extend(["--payload-json".to_owned(), payload.to_string()]);
        args
    };
    let (complete, blocked) = (wire(&desk, "complete"), wire(&desk, "blocked"));
    for (line, payload, found, wanted) in [
        ("done", &blocked, "blocked", "complete"),
        ("done", &wire(&desk, "brief"), "brief", "complete"),
        ("update --status blocked", &complete, "complete", "blocked"),
        ("fail", &wire(&desk, "claim"), "claim", "blocked"),
    ] {
        let error = desk.refused_args(30, "invalid_wire", &with(line, payload));
        let said = said(&error);
        assert!(
            said.contains(found) && said.contains(wanted),
            "{line}: {said}"
        );
    }
    let asked = desk
        .inbox
        .run(with("update --status blocked", &blocked))
        .ok();
    assert_eq!(asked["thread"]["status"], "blocked");
    assert_eq!(asked["message"]["kind"], "question");
    let done = desk.inbox.run(with("done", &complete)).ok();
    assert_eq!(done["thread"]["status"], "done");
}

#[test]
fn every_message_has_a_wire_form_that_validates() {
    let desk = Desk::new();
    let (thread, lease) = briefed(
        &desk,
        &json!({ "output_ref_required": false, "type": "message" }),
    );
    desk.ok(&format!(
        "update --lease {lease} --thread {thread} --summary Half"
    ));
    desk.ok(&format!(
        "update --lease {lease} --thread {thread} --status blocked --summary Which?"
    ));
    desk.ok(&format!(
        "reply --from lead --thread {thread} --summary This --body {}",
        "word~".repeat(700)
    ));
    desk.ok(&format!(
        "done --lease {lease} --thread {thread} --summary Done"
    ));
    desk.ok("note --agent backend --ref task:T1 --note n");
    desk.ok(
        "send --from lead --to all --to role:x --kind event --subject Everybody --priority fyi",
    );
    let shown = desk.ok(&format!("show --thread {thread} --wire"));
    assert_eq!(shown["wires"].as_array().unwrap().len(), 5);
    let exported = desk.inbox.run(["export", "--format", "wire"]).stdout;
    assert_eq!(exported.lines().count(), 7);
    let mut line = "wire validate".to_owned();
    for (n, form) in exported.lines().enumerate() {
        desk.file(&format!("{n}.json"), form);
        line.push_str(&format!(" {n}.json"));
    }
    let valid = desk.ok(&line);
    assert_eq!(valid["valid"].as_array().unwrap().len(), 7);
    for (n, form) in shown["wires"].as_array().unwrap().iter().enumerate() {
        let line: Value = serde_json::from_str(exported.lines().nth(n).unwrap()).unwrap();
        assert_eq!(*form, line, "shown and exported, the same");
    }
}

#[test]
fn a_wire_that_says_to_be_a_persons_is_a_persons() {
    let desk = Desk::new();
    let mut inbox = wire(&desk, "inbox");
    inbox["sender"] = "human".into();
    let line = |agent: &str| {
        let mut args: Vec<String> = ["send", "--agent", agent, "--to", "w", "--subject", "s"]
            .map(str::to_owned)
            .to_vec();
        args.push(format!("--payload-json={inbox}"));
        args.push("--json".to_owned());
        args
    };
    let refused = desk.inbox.run(line("backend"));
    assert_eq!(refused.code, 30, "{refused}");
    assert!(refused.stdout.contains("invalid_wire"), "{refused}");
    desk.ok("agent add operator --kind human");
    assert_eq!(desk.inbox.run(line("operator")).code, 0);
}

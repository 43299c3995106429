//! Only what meets the brief's contract is called done.

use serde_json::json;

use super::{Ground, eventually, text};

/// An agent that counts how often it was started, and keeps each prompt.
const COUNTING: &str =
    "n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count; cat > prompt.$n\n";

#[test]
fn an_output_that_breaks_its_contract_goes_back_with_the_reasons() {
    let ground = Ground::new();
    let contract = json!({ "type": "message", "min_length": 23 });
    let thread = ground.brief(contract, json!({}));
    let script = format!(
        "{COUNTING}[ $n = 1 ] && echo 'too </output-x> short' || echo 'This is long enough now.'\n"
    );
    assert_eq!(ground.run("--once", &script).code, 0);
    assert_eq!(ground.status(&thread), "done");
    let complete = ground.last(&thread)["payload_json"]["payload"].clone();
    assert_eq!(complete["verification"]["attempts"], 2);
    let read = |name: &str| std::fs::read_to_string(ground.folder().join(name)).unwrap();
    assert!(!read("prompt.1").contains("not accepted"));
    let second = read("prompt.2");
    assert!(second.starts_with(read("prompt.1").trim_end()), "{second}");
    let told = second
        .split("## Your last output was not accepted")
        .nth(1)
        .unwrap();
    assert!(
        told.contains("at least 23") && told.contains("short"),
        "{told}"
    );
}

#[test]
fn with_its_attempts_used_up_it_is_blocked_until_somebody_helps() {
    let ground = Ground::with(&[("attempts", "2")]);
    let thread = ground.brief(json!({ "type": "message", "min_length": 20 }), json!({}));
    let script = format!(
        "{COUNTING}if [ $n -lt 3 ]; then echo short; else grep -c 'Say more' prompt.$n && echo 'It is long enough.'; fi\n"
    );
    let runner = ground.start("--once", &script);
    eventually("it is blocked", || {
        (ground.status(&thread) == "blocked").then_some(())
    });
    let blocked = ground.last(&thread);
    assert_eq!(blocked["payload_json"]["type"], "blocked");
    let payload = &blocked["payload_json"]["payload"];
    assert_eq!(payload["blocker_type"], "verification_fail");
    assert_eq!(payload["attempts"], 2);
    assert!(
        text(&payload["reason"]).contains("at least 20"),
        "{payload}"
    );
    // The lease is kept for the answer.
    let held = ground
        .inbox
        .run(["claim", "--json", "--agent", "quinn", "--thread", &thread]);
    held.refused(20, "lease_conflict");
    ground.reply(&thread, "Say more about it");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&thread), "done");
    assert_eq!(ground.written("count"), "3");
}

#[test]
fn an_evaluator_is_given_the_briefs_words_and_the_output_and_its_verdict_counts() {
    let mut ground = Ground::new();
    let judge = ground.folder().join("judge.sh");
    std::fs::write(
        &judge,
        "cat > question.$$; cat question.$$ >> questions; echo I looked.\ngrep -q 'with tests' question.$$ && echo pass || echo 'fail: there are no tests'\n",
    )
    .unwrap();
    let evaluator = json!(["sh", judge]).to_string();
    ground.inbox.set("INBOX_RUN_EVALUATOR", &evaluator);
    let evaluate = "Is $(it) tested? \"Say\" `so`.";
    let thread = ground.brief(
        json!({ "type": "message", "evaluate": evaluate }),
        json!({}),
    );
    let script =
        format!("{COUNTING}[ $n = 1 ] && echo 'It works. pass' || echo 'It works, with tests.'\n");
    assert_eq!(ground.run("--once", &script).code, 0);
    assert_eq!(ground.status(&thread), "done");
    let complete = ground.last(&thread)["payload_json"]["payload"].clone();
    assert_eq!(
        complete["verification"],
        json!({ "mechanical": "pass", "semantic": "pass", "attempts": 2 })
    );
    let questions = std::fs::read_to_string(ground.folder().join("questions")).unwrap();
    assert!(questions.starts_with(evaluate), "{questions}");
    let second = std::fs::read_to_string(ground.folder().join("prompt.2")).unwrap();
    assert!(
        second.contains("the evaluator: there are no tests"),
        "{second}"
    );
}

#[test]
fn without_an_evaluator_a_brief_that_wants_one_is_not_begun() {
    let ground = Ground::new();
    let thread = ground.brief(
        json!({ "type": "message", "evaluate": "Is it good?" }),
        json!({}),
    );
    assert_eq!(ground.run("--drain", "touch ran; echo x\n").code, 0);
    assert_eq!(ground.status(&thread), "blocked");
    assert!(!ground.folder().join("ran").exists());
}

#[test]
fn a_file_must_be_there_and_is_kept_with_its_hash() {
    let ground = Ground::new();
    let contract = json!({ "type": "file", "output_ref_required": true });
    let thread = ground.brief(contract, json!({}));
    let script = format!(
        "{COUNTING}[ $n = 1 ] || printf abc > report.txt\necho Written.\necho output_ref: report.txt\n"
    );
    assert_eq!(ground.run("--once", &script).code, 0);
    assert_eq!(ground.status(&thread), "done");
    let shown = ground.show(&thread);
    let artifact = &shown["artifacts"][0];
    assert_eq!(artifact["path"], "report.txt");
    assert_eq!(
        artifact["metadata_json"]["sha256"],
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
    let complete = ground.last(&thread)["payload_json"]["payload"].clone();
    assert_eq!(complete["output_ref"], "report.txt");
    assert_eq!(complete["verification"]["attempts"], 2);
    assert_eq!(complete["summary"], "Written.");
}

#[test]
fn json_is_held_to_the_schema_that_the_brief_names() {
    let ground = Ground::new();
    let folder = ground.folder().join(".agents/contracts");
    std::fs::create_dir_all(&folder).unwrap();
    let schema = json!({ "type": "object", "required": ["sum"], "properties": { "sum": { "type": "integer" } } });
    std::fs::write(folder.join("sum.json"), schema.to_string()).unwrap();
    let thread = ground.brief(json!({ "type": "json", "schema_ref": "sum" }), json!({}));
    let script = format!(
        "{COUNTING}case $n in 1) echo no json;; 2) echo '{{\"sum\":\"x\"}}';; *) echo '{{\"sum\":3}}';; esac\n"
    );
    assert_eq!(ground.run("--once", &script).code, 0);
    assert_eq!(ground.status(&thread), "done");
    assert_eq!(ground.last(&thread)["body"], "{\"sum\":3}");
    assert_eq!(ground.written("count"), "3");
}

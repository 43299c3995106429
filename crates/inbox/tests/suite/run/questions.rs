//! An agent that asks gets its answer, and no question is asked twice.

use rustix::process::Signal;

use serde_json::json;

use super::{Ground, eventually, text};

/// An agent that asks once, in its output, and then does what it was told.
const ASKS: &str = r#"cat > prompt; echo started >> starts
if grep -q 'Use the blue one' prompt; then echo 'Used the blue one.'; exit 0; fi
echo 'I looked at both.'
echo '{"wire":"1.0","type":"blocked","sender":"quinn","ts":"2026-04-28T00:00:00Z","payload":{"task_id":"x","agent":"quinn","reason":"Which table, the red or the blue?","blocker_type":"spec_gap"}}'
"#;

fn blocked(ground: &Ground, thread: &str) {
    eventually("it asks", || {
        (ground.status(thread) == "blocked").then_some(())
    });
}

#[test]
fn a_question_in_the_output_is_asked_and_the_answer_starts_it_again() {
    let ground = Ground::new();
    let thread = ground.send("Fill the table");
    let runner = ground.start("--once", ASKS);
    blocked(&ground, &thread);
    let asked = ground.last(&thread);
    assert_eq!(asked["kind"], "question");
    assert_eq!(asked["summary"], "Which table, the red or the blue?");
    let payload = &asked["payload_json"]["payload"];
    assert_eq!(payload["blocker_type"], "spec_gap");
    // The task is the runner's to name, whatever the agent said.
    assert_eq!(payload["task_id"], thread.as_str());
    ground.reply(&thread, "Use the blue one");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&thread), "done");
    assert_eq!(ground.last(&thread)["summary"], "Used the blue one.");
    let prompt = std::fs::read_to_string(ground.folder().join("prompt")).unwrap();
    assert!(prompt.contains("## This thread so far"), "{prompt}");
    assert!(
        prompt.contains("Which table, the red or the blue?"),
        "{prompt}"
    );
}

#[test]
fn a_question_by_command_is_waited_for_too() {
    let ground = Ground::new();
    let thread = ground.send("Fill the table");
    let script = "cat > prompt
if grep -q 'Use the blue one' prompt; then echo 'Used the blue one.'; exit 0; fi
INBOX update --thread $INBOX_THREAD --status blocked --summary 'Red or blue?' > out 2>&1
echo 'I asked.'
";
    let runner = ground.start("--once", script);
    blocked(&ground, &thread);
    ground.reply(&thread, "Use the blue one");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&thread), "done");
    assert_eq!(ground.last(&thread)["summary"], "Used the blue one.");
}

#[test]
fn an_agent_that_waits_for_its_answer_itself_goes_on_with_it() {
    let ground = Ground::new();
    let thread = ground.send("Fill the table");
    let script = "echo started >> starts
INBOX update --thread $INBOX_THREAD --status blocked --summary 'Red or blue?' > out 2>&1
INBOX wait-reply --thread $INBOX_THREAD > answer
INBOX update --thread $INBOX_THREAD --summary 'I go on' >> out 2>&1
echo \"They said: $(cat answer)\"
";
    let runner = ground.start("--once", script);
    blocked(&ground, &thread);
    ground.reply(&thread, "Use the blue one");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&thread), "done");
    let body = text(&ground.last(&thread)["body"]);
    assert!(body.contains("Use the blue one"), "{body}");
    assert_eq!(ground.written("starts"), "started");
}

#[test]
fn other_work_goes_on_while_a_question_waits() {
    let ground = Ground::new();
    let thread = ground.send("Fill the table");
    let script = format!(
        "cat > in; grep -q 'Subject: Other' in && {{ echo other; exit 0; }}; cat in | sh {}/asks.sh\n",
        ground.folder().display()
    );
    std::fs::write(ground.folder().join("asks.sh"), ASKS).unwrap();
    let runner = ground.start("", &script);
    blocked(&ground, &thread);
    let other = ground.send("Other");
    eventually("the other is done", || {
        (ground.status(&other) == "done").then_some(())
    });
    assert_eq!(ground.status(&thread), "blocked");
    ground.reply(&thread, "Use the blue one");
    eventually("it is done", || {
        (ground.status(&thread) == "done").then_some(())
    });
    runner.signal(Signal::TERM);
    assert_eq!(runner.ends(), 0);
}

#[test]
fn a_question_goes_where_the_card_sends_it() {
    let ground = Ground::new();
    for name in ["quinn", "mindy", "vikram"] {
        ground.inbox.ok(&format!("agent add {name}"));
    }
    ground
        .inbox
        .ok("session start --agent priya --session priya-1 --role ba");
    let rule = |trigger: &str, to: &str, via: &str| json!({ "trigger": trigger, "route_to": to, "via": via });
    let card = json!({
        "card_version": "1.0",
        "identity": { "slug": "quinn", "name": "Quinn", "department": "dev", "reports_to": "vikram", "model": "x" },
        "scope": "I implement tasks in the developer work queue.",
        "capabilities": ["Code"], "constraints": ["I never extend scope beyond the task brief"],
        "escalation_rules": [
            rule("Brief is missing required information", "roles.ba", "task.blocked"),
            rule("Brief is ambiguous", "mindy", "inbox"),
        ],
        "output_types": ["message"], "working_style": "I read the brief.",
        "voice": { "description": "Terse.", "example": "Done." }, "values": ["Exactness"],
    });
    std::fs::write(ground.folder().join("card.json"), card.to_string()).unwrap();
    ground.inbox.ok("card set quinn card.json");
    for (question, told) in [
        ("Red or blue?", "role:ba"),
        ("Brief is ambiguous: red or blue?", "mindy"),
    ] {
        let thread = ground.send("Fill the table");
        let script = format!(
            "INBOX update --thread $INBOX_THREAD --status blocked --summary '{question}' > out 2>&1\n"
        );
        assert_eq!(ground.run("--drain", &script).code, 0);
        let shown = ground.show(&thread);
        let notices: Vec<_> = shown["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["from_agent"] == "system")
            .map(|message| text(&message["to_agent"]))
            .collect();
        assert_eq!(notices, [told], "{shown}");
    }
}

#[test]
fn a_question_outlives_the_runner_that_asked_it() {
    let ground = Ground::with(&[("lease_seconds", "3")]);
    let thread = ground.send("Fill the table");
    let runner = ground.start("--once", ASKS);
    blocked(&ground, &thread);
    runner.signal(Signal::KILL);
    drop(runner);
    let runner = ground.start("--once", ASKS);
    eventually("another has it", || {
        (ground.status(&thread) == "claimed").then_some(())
    });
    ground.reply(&thread, "Use the blue one");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&thread), "done");
    // It was asked once, and begun again once.
    assert_eq!(ground.written("starts"), "started\nstarted");
    let shown = ground.show(&thread);
    let questions = shown["messages"].as_array().unwrap().iter();
    assert_eq!(
        questions
            .filter(|message| message["kind"] == "question")
            .count(),
        1
    );
}

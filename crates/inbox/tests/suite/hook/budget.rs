//! What agents are made to read is counted with a real tokenizer.

use serde_json::Value;
use tiktoken_rs::o200k_base_singleton;

use super::{Project, SESSION};

fn tokens(text: &str) -> usize {
    o200k_base_singleton()
        .encode_with_special_tokens(text)
        .len()
}

#[track_caller]
fn within(budget: usize, text: &str) {
    let found = tokens(text);
    assert!(
        found > 0 && found <= budget,
        "{found} of {budget} tokens:\n{text}"
    );
}

/// Mail as agents write it.
const SUBJECTS: [&str; 10] = [
    "Which fields does the feed need?",
    "Add pagination to the post list",
    "The migration fails on the staging database",
    "Review of the new session handling",
    "Build is red since the last merge",
    "May I change the schema of the tags table?",
    "Results of the load test",
    "Please rename the package before Friday",
    "The API returns 500 for empty bodies",
    "Documentation for the webhooks is missing",
];

const SENDERS: [&str; 3] = ["ada", "backend-2", "role-reviewer"];

fn with_mail(count: usize) -> Project {
    let project = Project::new();
    for (index, subject) in SUBJECTS.iter().take(count).enumerate() {
        let kind = ["question", "task", "event"][index % 3];
        let from = SENDERS[index % SENDERS.len()];
        let subject = subject.replace(' ', "~");
        project.send(&format!(
            "--from {from} --to claude-blog --kind {kind} --subject {subject} --body Some~more~words."
        ));
    }
    project
}

#[test]
fn a_session_start_with_five_unread_costs_at_most_200_tokens_and_one_without_any_none() {
    assert_eq!(with_mail(0).hook("claude", "session-start"), "");
    let printed = with_mail(5).hook("claude", "session-start");
    let answer: Value = serde_json::from_str(&printed).unwrap();
    let context = &answer["hookSpecificOutput"]["additionalContext"];
    within(200, context.as_str().unwrap());
    within(200, &printed);
}

#[test]
fn a_pointer_costs_at_most_20_tokens() {
    for count in 1..=10 {
        let project = with_mail(count);
        let stop: Value = serde_json::from_str(&project.hook("claude", "stop")).unwrap();
        within(20, stop["reason"].as_str().unwrap());
    }
    let project = with_mail(10);
    project.send("--from mindy --to claude-blog --priority urgent --subject Now");
    let stop: Value = serde_json::from_str(&project.hook("claude", "stop")).unwrap();
    within(20, stop["reason"].as_str().unwrap());
}

#[test]
fn ten_headers_cost_at_most_190_tokens() {
    let project = with_mail(10);
    let peeked = project.run("read --agent claude-blog --peek").stdout;
    assert_eq!(peeked.lines().count(), 11, "{peeked}");
    within(190, &peeked);
    let glanced = project.run("glance --agent claude-blog --limit 10").stdout;
    assert_eq!(glanced.lines().count(), 10, "{glanced}");
    within(190, &glanced);
}

#[test]
fn an_acknowledgement_costs_at_most_8_tokens() {
    let project = Project::new();
    project.hook("claude", "session-start");
    project.hook_saying(
        "claude",
        "session-start",
        &serde_json::json!({ "session_id": "lead-1" }),
    );
    let session = [("CLAUDE_CODE_SESSION_ID", SESSION), ("CLAUDECODE", "1")];
    let subject = "--subject Add~pagination~to~the~list~of~posts";
    for line in [
        &format!("send --to claude-blog {subject}"),
        &format!("send --to claude-blog {subject} --kind question"),
        &format!("send --to claude-blog {subject}"),
        "reply --thread thr_2 --summary The~title~and~the~date",
        "claim --thread thr_1",
        "update --thread thr_1 --summary Half~of~it~is~done",
        "done --thread thr_1 --summary It~works",
        "claim --thread thr_3",
        "release --thread thr_3",
        "cancel --thread thr_3 --reason Not~needed",
    ] {
        let outcome = project.run_in(&session, line);
        assert_eq!(
            (outcome.code, outcome.stderr.as_str()),
            (0, ""),
            "{line}: {outcome}"
        );
        if !line.starts_with("claim") {
            within(8, &outcome.stdout);
        }
    }
    let sent = project.send("--from ada --to claude-blog --kind event --subject News");
    let message = sent["message"]["message_id"].as_str().unwrap();
    let outcome = project.run_in(&session, &format!("ack {message}"));
    assert_eq!(outcome.code, 0, "{outcome}");
    within(8, &outcome.stdout);
}

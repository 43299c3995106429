//! Claude Code: its monitor first, and a hook that wakes where the monitor does not run.

use serde_json::json;

use super::stage::{MODEL, Place, Stage};
use super::story::{self, Client};
use crate::setup::clients::{CLAUDE, installed};

const KEY: &str = "sk-ant-stand-in-0123456789abcdef0123456789abcdef";

/// A place whose user has gone through Claude Code's first questions, and has set up the inbox.
fn place(scope: &str) -> Place {
    let place = Place::new();
    let settings = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "projects": { place.project().display().to_string(): {
            "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
        } },
        "customApiKeyResponses": { "approved": [&KEY[KEY.len() - 20..]], "rejected": [] },
    });
    place.write(".claude.json", &settings.to_string());
    // A project's server is asked for too.
    place.write(
        ".claude/settings.json",
        "{ \"enableAllProjectMcpServers\": true }",
    );
    place.run(&format!("setup claude {scope} --yes --json"));
    place
}

fn start(place: &Place, args: &[&str]) -> Stage {
    let variables = [
        ("ANTHROPIC_BASE_URL", MODEL),
        ("ANTHROPIC_API_KEY", KEY),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ];
    Stage::start(place, &installed(&CLAUDE), args, &variables)
}

fn plays(place: &Place, door: &'static str) -> Stage {
    let claude = Client {
        agent: "claude-blog",
        door,
        sign: None,
    };
    story::play(place, &claude, |place| start(place, &["Hello"]))
}

#[test]
fn a_session_of_claude_code_is_told_at_its_start_and_woken_by_its_monitor() {
    let place = place("--user");
    let mut stage = plays(&place, "monitor");
    // Another session of the same process: its monitor goes with it, and the hook leaves it to that.
    let before = place.session(|_| true);
    stage.types("/clear");
    stage.shows("/clear");
    stage.types("\r");
    let after = place.session(|id| id != before);
    place.watched_by("monitor");
    stage.types("anew");
    stage.shows("anew");
    stage.types("\r");
    stage.asked("anew");
    place.idle();
    let last = place.send("luna", "claude-blog", "question", "Still~there?");
    stage.asked("inbox: 1 new (1 request from luna). Run inbox read.");
    place.told(&last);
    let receipts = place.run(&format!("receipts {last} --json"))["receipts"].clone();
    assert_eq!(receipts.as_array().unwrap().len(), 1, "{receipts}");
    assert_eq!(receipts[0]["session_id"], after.as_str());
    assert_eq!(receipts[0]["offered_by"], "monitor");
}

#[test]
fn set_up_for_a_project_claude_code_runs_no_monitor_and_is_woken_by_a_hook() {
    plays(&place("--project"), "async_rewake");
}

#[test]
fn claude_code_without_a_person_waits_for_no_hook() {
    let place = place("--user");
    let mut stage = start(&place, &["-p", "Hello"]);
    stage.asked("Hello");
    stage.exits();
}

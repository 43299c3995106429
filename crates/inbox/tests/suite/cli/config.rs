//! The example of a configuration is one: the real loader takes it, its values are the defaults, and its
//! routes are those that the documents promise.

use serde_json::{Value, json};

use super::Desk;
use crate::root;

/// Who hears of what, as the documents have it.
const ROUTES: &[(&str, &[&str], &str)] = &[
    ("task.blocked", &["role:supervisor", "human"], "urgent"),
    ("task.complete", &["role:engine"], "normal"),
    (
        "phase.complete",
        &["role:engine", "role:supervisor"],
        "high",
    ),
    ("blocker.spec_gap", &["role:ba"], "urgent"),
    ("blocker.tool_failure", &["role:infra"], "urgent"),
    ("blocker.ambiguity", &["role:pm"], "urgent"),
    ("blocker.verification_fail", &["role:supervisor"], "urgent"),
    ("blocker.dependency", &["role:engine"], "urgent"),
    ("blocker.resource", &["role:supervisor"], "urgent"),
];

fn settings(desk: &Desk) -> Vec<(String, Value)> {
    let answer = desk.ok("config");
    let settings = answer["settings"].as_array().expect("a list");
    let pair = |setting: &Value| {
        let name = setting["name"].as_str().expect("a name");
        (name.to_owned(), setting["value"].clone())
    };
    settings.iter().map(pair).collect()
}

#[test]
fn the_example_has_every_setting_with_its_default_and_the_promised_routes() {
    let desk = Desk::new();
    let defaults = settings(&desk);
    let text = std::fs::read_to_string(root().join("definitions/inbox.example.toml")).unwrap();
    std::fs::write(desk.inbox.store().with_file_name("inbox.toml"), &text).unwrap();
    let found = settings(&desk);
    assert_eq!(found.len(), defaults.len());
    for (name, value) in &defaults {
        let (_, now) = found.iter().find(|(found, _)| found == name).unwrap();
        let last = name.rsplit('.').next().unwrap();
        assert!(text.contains(last), "{name} is not in the example");
        if name != "route" {
            assert_eq!(now, value, "{name}");
        }
    }
    let (_, routes) = found.iter().find(|(name, _)| name == "route").unwrap();
    let wanted: Vec<Value> = ROUTES
        .iter()
        .map(|(on, to, priority)| json!({ "on": on, "to": to, "priority": priority }))
        .collect();
    assert_eq!(routes, &Value::from(wanted));
}

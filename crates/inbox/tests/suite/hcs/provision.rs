//! `inbox hcs provision`, `directory` and `registry migrate` by commands, and kill -9 in the midst.

use std::os::unix::process::ExitStatusExt;

use inbox_store::FailPoint;
use inbox_testkit::sandbox::words;
use serde_json::{Value, json};

use super::Place;

impl Place {
    /// With a store, and these agents on its roster.
    fn with_roster(names: &[&str]) -> Self {
        let place = Place::new();
        place.inbox.run(["init", "--json"]).ok();
        for name in names {
            place.inbox.run(["agent", "add", name, "--json"]).ok();
        }
        place
    }

    fn on_roster(&self, name: &str) -> Value {
        let shown = self.inbox.run(["agent", "show", name, "--json"]).ok();
        shown["agent"].clone()
    }
}

#[test]
fn the_roster_gets_its_place_on_the_ledger_and_a_second_time_nothing() {
    let place = Place::with_roster(&["ada", "ben"]);
    place.refused("provision", 30, "invalid_input");
    place.refused("provision --all --agent ada", 30, "invalid_input");
    place.refused("provision --agent eve", 40, "agent_not_found");
    place.refused("provision --agent ada --inbound fee", 30, "invalid_input");
    let one = place.ok("provision --agent ada");
    let ada = &one["agents"][0];
    let made = [
        "account", "outbound", "inbound", "profile", "registry", "entry",
    ];
    assert_eq!(ada["changes"], json!(made));
    let kept = place.on_roster("ada");
    for key in ["account_id", "inbound_topic_id", "outbound_topic_id"] {
        assert_eq!(kept[key], ada[key], "{kept}");
    }
    let all = place.ok("provision --all");
    let agents = all["agents"].as_array().unwrap();
    let changed: Vec<_> = agents
        .iter()
        .filter(|agent| agent["changes"] != json!([]))
        .map(|agent| agent["agent_id"].as_str().unwrap())
        .collect();
    assert!(
        changed.contains(&"ben") && !changed.contains(&"ada"),
        "{all}"
    );
    let again = place.run("provision --agent ada");
    assert!(again.stdout.contains("nothing, it is all there"), "{again}");

    let found = place.ok("directory --name AD");
    assert_eq!(found["agents"][0]["account_id"], ada["account_id"]);
    assert_eq!(place.run("directory --name nobody").code, 10);
    place.refused("directory --capability juggling", 30, "invalid_input");
    let can = place.ok("directory --capability text");
    assert!(can["agents"].as_array().unwrap().len() >= 2, "{can}");

    let first = ada["registry_topic_id"].as_str().unwrap();
    let new = place.ok("topic create --memo hcs-10:0:86400:3 --agent ada");
    let new = new["topic_id"].as_str().unwrap();
    place.refused(
        &format!("registry migrate {new} --agent ben"),
        30,
        "not_allowed",
    );
    place.ok(&format!("registry migrate {new} --agent ada"));
    let listed = place.ok(&format!("registry {first}"));
    assert_eq!(listed["registry_topic_id"], new);
    // Who was on the old one is put on the new one, and nothing else is made.
    let moved = place.ok("provision --agent ada");
    assert_eq!(moved["agents"][0]["changes"], json!(["entry"]));
}

#[test]
fn one_that_fails_does_not_stop_the_others() {
    let place = Place::with_roster(&["ada", "ben"]);
    let foreign = "agent set ada --account-id 0.0.77";
    place.inbox.run(words(foreign)).ok();
    let outcome = place.run("provision --all --json");
    assert_eq!(outcome.code, 40, "{outcome}");
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let agents = answer["agents"].as_array().unwrap();
    let of = |name: &str| {
        let found = agents.iter().find(|agent| agent["agent_id"] == name);
        found.unwrap().clone()
    };
    assert_eq!(of("ada")["error"]["code"], "account_not_found");
    assert!(of("ben")["account_id"].is_string(), "{answer}");
    assert_eq!(
        place.on_roster("ben")["account_id"],
        of("ben")["account_id"]
    );
}

#[test]
fn killed_at_every_named_point_it_goes_on_where_it_was() {
    let place = Place::with_roster(&[]);
    let points = [
        FailPoint::LedgerBeforeSend,
        FailPoint::LedgerAfterSend,
        FailPoint::LedgerAfterReceipt,
        FailPoint::LedgerBeforeSave,
        FailPoint::BeforeCommit,
        FailPoint::AfterCommit,
    ];
    let mut round = 0;
    for point in points {
        // The store is written once, at the end.
        let times = match point {
            FailPoint::BeforeCommit | FailPoint::AfterCommit => 1..=1,
            _ => 1..=7,
        };
        for time in times {
            round += 1;
            let name = format!("agent-{round}");
            place.inbox.run(["agent", "add", &name, "--json"]).ok();
            let keys = format!("keys-{round}");
            let line = format!("hcs provision --agent {name} --keys {keys}");
            let killed = place
                .inbox
                .command(words(&line))
                .env("INBOX_FAIL_POINT", format!("{}:{time}", point as u32))
                .output()
                .unwrap();
            assert_eq!(killed.status.signal(), Some(9), "{point:?} {time}");
            let done = place.inbox.run(words(&line)).ok();
            let agent = &done["agents"][0];
            let account = agent["account_id"].as_str().unwrap();
            assert_eq!(place.on_roster(&name)["account_id"], account);
            // A clean run has five numbers in a row: the account, two topics, the file, the registry.
            let number = |id: &Value| -> u64 {
                let id = id.as_str().unwrap();
                id.rsplit('.').next().unwrap().parse().unwrap()
            };
            let first = number(&agent["account_id"]);
            let last = number(&agent["registry_topic_id"]);
            assert_eq!(last - first, 4, "{point:?} {time}: {agent}");
            let registry = agent["registry_topic_id"].as_str().unwrap();
            let listed = place.ok(&format!("registry {registry}"));
            assert_eq!(listed["entries"].as_array().unwrap().len(), 1);
            let again = place.inbox.run(words(&line)).ok();
            assert_eq!(again["agents"][0]["changes"], json!([]));
        }
    }
}

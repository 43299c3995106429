//! Codex: the hooks of a session start one who watches, and that puts a line into Codex's queue.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::stage::{MODEL, Place, Stage};
use super::story::{self, Client};
use crate::setup::clients::{CODEX, installed};

/// A place whose user trusts the project, has set up the inbox, and has approved its hooks.
fn place() -> Place {
    let place = Place::new();
    let project = place.project().display().to_string();
    place.write(
        ".codex/config.toml",
        &format!(
            "model = \"gpt-5-codex\"\nmodel_provider = \"standin\"\napproval_policy = \"never\"\n\
             check_for_update_on_startup = false\n\n\
             [model_providers.standin]\nname = \"stand-in\"\nbase_url = \"{MODEL}/v1\"\nwire_api = \"responses\"\n\n\
             [projects.\"{project}\"]\ntrust_level = \"trusted\"\n\n[analytics]\nenabled = false\n"
        ),
    );
    place.run("setup codex --yes --json");
    approve(&place);
    place
}

/// What `/hooks` writes when a user approves them.
fn approve(place: &Place) {
    let mut child = Command::new(installed(&CODEX))
        .arg("app-server")
        .current_dir(place.project())
        .env("HOME", place.home(""))
        .env_remove("CODEX_HOME")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in [
        json!({ "id": 1, "method": "initialize", "params": { "clientInfo": { "name": "test", "version": "1" } } }),
        json!({ "method": "initialized" }),
        json!({ "id": 2, "method": "hooks/list", "params": { "cwds": [place.project()] } }),
    ] {
        writeln!(stdin, "{line}").unwrap();
    }
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let answers = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut answers = answers.filter(|answer| answer["id"] == 2);
    let answer = answers.next().expect("Codex lists its hooks");
    drop(stdin);
    child.wait().unwrap();
    let mut text = std::fs::read_to_string(place.home(".codex/config.toml")).unwrap();
    let hooks = answer["result"]["data"][0]["hooks"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(hooks.len(), 6, "{answer}");
    for hook in hooks {
        let (key, hash) = (hook["key"].as_str().unwrap(), &hook["currentHash"]);
        text.push_str(&format!(
            "\n[hooks.state.\"{key}\"]\ntrusted_hash = {hash}\n"
        ));
    }
    std::fs::write(place.home(".codex/config.toml"), text).unwrap();
}

fn doors(place: &Place) -> Value {
    let answer = place.run("doctor --json");
    let checks = answer["checks"].as_array().unwrap();
    let found = checks
        .iter()
        .find(|check| check["agent_id"] == "codex-blog");
    found.unwrap_or_else(|| panic!("{answer}"))["doors"].clone()
}

#[test]
fn a_session_of_codex_is_told_at_its_start_and_woken_by_its_queue() {
    let place = place();
    let codex = Client {
        agent: "codex-blog",
        door: "codex_queue",
        sign: Some("Worked for"),
    };
    let mut stage = story::play(&place, &codex, |place| {
        Stage::start(place, &installed(&CODEX), &["Hello"], &[])
    });
    place.watched_by("codex_queue");
    assert_eq!(doors(&place), json!(["codex_queue", "next_turn"]));

    // Codex goes on without its window, and would begin a turn that nobody sees.
    stage.types("/quit");
    stage.shows("/quit");
    stage.types("\r");
    stage.exits();
    let last = place.send("luna", "codex-blog", "question", "Still~there?");
    place.watched_by("next_turn");
    let rung = place.run(&format!("receipts {last} --json"))["receipts"][0].clone();
    assert_eq!(rung["step"], "queued", "{rung}");
}

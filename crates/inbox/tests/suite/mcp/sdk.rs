//! The official SDKs as clients, of both revisions. They come from npm and PyPI by name into a folder under the
//! target folder; without them these tests fail and say so.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use inbox_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::INBOX;
use crate::packages::{self, run};
use crate::server::Served;

/// The scripts' folder, with the packages from npm.
fn node() -> &'static Path {
    static NODE: OnceLock<PathBuf> = OnceLock::new();
    NODE.get_or_init(|| {
        let folder = packages::npm(
            packages::folder("mcp-clients").join("node"),
            &[
                ("@modelcontextprotocol/sdk", "1"),
                ("@modelcontextprotocol/client", "2"),
            ],
        );
        // Packages are looked for beside the script.
        let script = folder.join("client.mjs");
        std::fs::write(&script, include_str!("client.mjs")).expect("the script can be written");
        folder
    })
}

/// The Python that has the package from PyPI.
fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let venv = packages::folder("mcp-clients").join("venv");
        packages::pypi(&venv, "mcp>=2.3,<3", "from mcp import Client")
    })
}

/// How a client gets to a store.
enum Way {
    /// It starts a program on it.
    Own(Sandbox),
    /// It calls a server.
    Http(Served),
    /// It starts a program that calls a server.
    Through(Served),
}

impl Way {
    fn own() -> Self {
        Way::Own(Sandbox::new(INBOX))
    }
}

/// Plays a script.
fn play(program: &str, script: &Path, args: &[&str], way: &Way) -> Value {
    let sandbox = match way {
        Way::Own(sandbox) => sandbox,
        Way::Http(served) | Way::Through(served) => &served.desk,
    };
    let variables: Vec<_> = sandbox
        .command([""; 0])
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    let mut command = Command::new(program);
    command
        .arg(script)
        .arg(INBOX)
        .args(args)
        .current_dir(sandbox.folder())
        .env_clear()
        .envs(variables);
    match way {
        Way::Own(_) => {}
        Way::Http(served) => {
            command
                .env("MCP_URL", format!("{}/mcp", served.url))
                .env("MCP_TOKEN", served.token("quinn", ""));
        }
        Way::Through(served) => {
            command
                .env("MCP_DB", &served.url)
                .env("MCP_TOKEN", served.token("quinn", ""));
        }
    }
    let out = run(&mut command);
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("not JSON ({error}): {out}"))
}

/// What every client must have seen.
#[track_caller]
fn check(seen: &Value) {
    let tools = seen["tools"].as_array().expect("there are tools");
    assert!(
        tools.contains(&"send_message".into()) && tools.len() <= 8,
        "{seen}"
    );
    assert_eq!(seen["mail"]["messages"][0]["body"], "as in the brief");
    assert_eq!(seen["claimed"]["thread"]["status"], "claimed");
    assert_eq!(seen["asked"]["message"]["summary"], "Email");
    assert_eq!(seen["progressed"], true);
    assert_eq!(seen["done"]["thread"]["status"], "done");
    assert_eq!(seen["refused"]["isError"], true);
    assert_eq!(
        seen["refused"]["structured"]["error"]["code"],
        "thread_not_found"
    );
    let text = seen["refused"]["text"].as_str().expect("there is a text");
    assert!(
        text.starts_with("thread_not_found: ") && text.contains("\nhint: inbox "),
        "{text}"
    );
    assert_eq!(seen["cancelled"], true);
    assert_eq!(seen["after"], "done");
    assert_eq!(seen["updated"], "inbox://inbox");
}

fn node_plays(kit: &str, mode: &str, way: &Way) -> Value {
    let seen = play("node", &node().join("client.mjs"), &[kit, mode], way);
    check(&seen);
    assert_eq!(seen["server"], "inbox");
    assert_eq!(seen["templates"][0], "inbox://thread/{id}");
    assert!(
        seen["instructions"]
            .as_str()
            .is_some_and(|text| text.contains("check_inbox"))
    );
    seen
}

fn python_plays(mode: &str, way: &Way) -> Value {
    let script = crate::root().join("crates/inbox/tests/suite/mcp/client.py");
    let seen = play(&python().display().to_string(), &script, &[mode], way);
    check(&seen);
    seen
}

#[test]
fn the_typescript_sdk_of_2025_11_25_plays_the_whole_story() {
    node_plays("sdk", "legacy", &Way::own());
}

#[test]
fn the_typescript_client_plays_the_whole_story_with_a_session() {
    assert_eq!(
        node_plays("client", "legacy", &Way::own())["version"],
        "2025-11-25"
    );
}

#[test]
fn the_typescript_client_plays_the_whole_story_without_a_session() {
    assert_eq!(
        node_plays("client", "modern", &Way::own())["version"],
        "2026-07-28"
    );
}

#[test]
fn the_python_sdk_plays_the_whole_story_with_a_session() {
    assert_eq!(python_plays("legacy", &Way::own())["version"], "2025-11-25");
}

#[test]
fn the_python_sdk_plays_the_whole_story_without_a_session() {
    assert_eq!(
        python_plays("2026-07-28", &Way::own())["version"],
        "2026-07-28"
    );
}

/// Every SDK in every revision that it has.
fn all_play(way: impl Fn(Served) -> Way) {
    for (kit, mode) in [
        ("sdk", "legacy"),
        ("client", "legacy"),
        ("client", "modern"),
    ] {
        node_plays(kit, mode, &way(Served::start()));
    }
    for mode in ["legacy", "2026-07-28"] {
        python_plays(mode, &way(Served::start()));
    }
}

#[test]
fn every_sdk_plays_the_whole_story_over_http() {
    all_play(Way::Http);
}

#[test]
fn every_sdk_plays_the_whole_story_through_a_program_that_calls_a_server() {
    all_play(Way::Through);
}

//! The HCS-10 client of npm, as it is, beside our devnet and our agent: each asks the other for a connection. It knows nothing but the
//! public test network and hosted services, and `interop/hcs10` has what it takes for them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::INBOX;
use crate::packages::{self, run};

/// One hbar in tinybars.
const HBAR: i64 = 100_000_000;

/// A file of the rig.
macro_rules! rig {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../interop/hcs10/", $name)),
        )
    };
}

/// The folder with the client, and the rig beside it.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let (_, manifest) = rig!("package.json");
        // The client asks for peers that it does without.
        let folder = packages::folder("interop").join("hcs10");
        let folder = packages::npm_by(folder, manifest, &["--legacy-peer-deps"]);
        for (name, text) in [
            rig!("rig.py"),
            rig!("hosts.mjs"),
            rig!("story.mjs"),
            rig!("theirs.mjs"),
        ] {
            std::fs::write(folder.join(name), text).expect("it can be written");
        }
        folder
    })
}

/// Plays the story with a requester and a responder, each ours or theirs, and gives what was seen.
fn play(requester: &str, responder: &str) -> Value {
    let place = |name: &str| folder().join(name).to_str().expect("a path").to_owned();
    let sandbox = Sandbox::new(INBOX);
    // The addresses of the public network's nodes are here too.
    let devnet = [INBOX, "devnet", "--json", "--node", "0.0.0.0:50211"];
    let hosts = ["node", &place("hosts.mjs")];
    let story = ["node", &place("story.mjs"), requester, responder];
    let mut command = Command::new("unshare");
    command
        .args(["-rmn", "python3"])
        .arg(place("rig.py"))
        .args([json!(devnet), json!(hosts), json!(story)].map(|words| words.to_string()))
        .env("INBOX", INBOX)
        .current_dir(sandbox.folder());
    let out = run(&mut command);
    let last = out.lines().last().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("not JSON ({error}): {out}"))
}

/// What everybody must have seen.
#[track_caller]
fn check(seen: &Value) {
    assert_eq!(seen["confirmed"], seen["connection"]);
    let (asker, host) = (&seen["asker"]["account"], &seen["host"]["account"]);
    let said = json!([
        { "from": asker, "text": "hello" },
        { "from": host, "text": "welcome" },
        { "from": asker, "text": seen["large"][0] },
        { "from": host, "text": seen["large"][1] },
    ]);
    assert_eq!(seen["read_by_host"], said);
    assert_eq!(seen["read_by_asker"], said);
    assert_eq!(seen["executed"], json!([true, true]));
    // The host gave one and got two; fees are less than a tenth.
    let change = |place: usize| {
        let at = |when: &str| seen[when][place].as_i64().expect("a balance");
        at("after") - at("before")
    };
    assert!((-11 * HBAR / 10..=-HBAR).contains(&change(0)), "{seen}");
    assert!((9 * HBAR / 10..=HBAR).contains(&change(1)), "{seen}");
    assert_eq!(seen["closed"], json!([true, true]));
}

#[test]
fn the_client_of_npm_meets_itself_on_the_devnet() {
    check(&play("theirs", "theirs"));
}

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
pub(crate) const HBAR: i64 = 100_000_000;

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
            rig!("mail.mjs"),
            rig!("ours.mjs"),
            rig!("theirs.mjs"),
        ] {
            std::fs::write(folder.join(name), text).expect("it can be written");
        }
        folder
    })
}

/// Plays a story of the rig with its words, and gives what was seen.
pub(crate) fn play(story: &str, words: &[&str]) -> Value {
    let place = |name: &str| folder().join(name).to_str().expect("a path").to_owned();
    let sandbox = Sandbox::new(INBOX);
    // The addresses of the public network's nodes are here too.
    let devnet = [INBOX, "devnet", "--json", "--node", "0.0.0.0:50211"];
    let hosts = ["node", &place("hosts.mjs")];
    let story = place(story);
    let story = [&["node", &story], words].concat();
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

/// Plays `story.mjs` with a requester and a responder, each a word as it has them, and checks what everybody saw and what is left
/// of it.
#[track_caller]
fn meet(requester: &str, responder: &str) {
    let seen = play("story.mjs", &[requester, responder]);
    met(&seen);
    talked(&seen);
    left(&seen);
}

/// Whether the requester or the responder is the client of npm.
fn is_theirs(seen: &Value, who: &str) -> bool {
    let word = seen[who].as_str();
    word.is_some_and(|word| word.starts_with("theirs"))
}

#[track_caller]
fn met(seen: &Value) {
    let (asker, host) = (&seen["asker"], &seen["host"]);
    let listed = |agent: &Value| json!({ "account": agent["account"], "verified": true });
    assert_eq!(seen["listed"], json!([listed(asker), listed(host)]));
    let known = |agent: &Value, name: &str| json!({ "name": name, "inbound": agent["inbound"], "outbound": agent["outbound"] });
    let both = json!([known(host, "host"), known(asker, "asker")]);
    assert_eq!(seen["known"], both);
    let is_paid = seen["responder"]
        .as_str()
        .is_some_and(|word| word.contains("fee"));
    assert_eq!(seen["taken"], if is_paid { 2 * HBAR } else { 0 });
    assert_eq!(seen["confirmed"], seen["connection"]);
    // Each says it in its own words.
    let open = |word: &str| {
        if is_theirs(seen, word) {
            "established"
        } else {
            "created"
        }
    };
    assert_eq!(seen["open"], json!([open("requester"), open("responder")]));
    assert_eq!(seen["closed"], json!(["closed", "closed"]));
}

#[track_caller]
fn talked(seen: &Value) {
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
}

/// Every topic is whole, and every message as the standard has it, but for what is known of the client.
#[track_caller]
fn left(seen: &Value) {
    let topics = seen["topics"].as_array().expect("topics");
    for topic in topics {
        let messages = topic["messages"].as_array().expect("messages");
        assert_eq!(topic["whole"], messages.len(), "{topic}");
        assert_eq!(topic["memo_deviations"], json!([]), "{topic}");
        for message in messages {
            check(seen, topic["type"].as_str(), message);
        }
    }
    let kinds = |id: &Value| -> Vec<&str> {
        let topic = topics.iter().find(|topic| topic["id"] == *id);
        let messages = topic.and_then(|topic| topic["messages"].as_array());
        let messages = messages.expect("a topic of the story");
        messages
            .iter()
            .filter_map(|message| message["kind"].as_str())
            .collect()
    };
    let said = "message message message message transaction transaction close_connection";
    assert_eq!(kinds(&seen["connection"]).join(" "), said);
    assert_eq!(kinds(&seen["registry"]), ["register", "register"]);
    assert_eq!(
        kinds(&seen["host"]["inbound"]),
        ["connection_request", "connection_created"]
    );
    if seen["requester"] != seen["responder"] {
        assert_eq!(seen["zstd"], true);
    }
    // Two profiles, and what was too large for a message.
    let files = topics.iter().filter(|topic| {
        let memo = topic["memo"].as_str().unwrap_or_default();
        memo.ends_with(":brotli:base64")
    });
    let mut pieces: Vec<u64> = files.filter_map(|file| file["whole"].as_u64()).collect();
    pieces.sort_unstable();
    assert!(matches!(pieces[..], [1, 1, (6..), (6..)]), "{pieces:?}");
}

#[track_caller]
fn check(seen: &Value, sort: Option<&str>, message: &Value) {
    assert_eq!(message["refused"], Value::Null, "{message}");
    let agents = [("asker", "requester"), ("host", "responder")];
    let is_theirs = agents
        .iter()
        .any(|(agent, word)| seen[agent]["account"] == message["payer"] && is_theirs(seen, word));
    let kind = message["kind"].as_str().expect("a kind");
    let forgiven = match kind {
        "register" if is_theirs => json!(["unknown_field /inbound_topic_id"]),
        _ => json!([]),
    };
    assert_eq!(message["deviations"], forgiven, "{message}");
    let memo = match (sort, kind) {
        // A topic of another standard, on which the client says who it is.
        (None, "json") | (Some("file"), "chunk") => return,
        (Some("registry"), "register") => "hcs-10:op:0:0",
        (Some("inbound"), "connection_request") => "hcs-10:op:3:1",
        (Some("outbound"), "connection_request") => "hcs-10:op:3:2",
        (Some("inbound"), "connection_created") => "hcs-10:op:4:1",
        (Some("outbound"), "connection_created") => "hcs-10:op:4:2",
        (Some("connection"), "close_connection") => "hcs-10:op:5:3",
        (Some("outbound"), "connection_closed") => "hcs-10:op:5:2",
        (Some("connection"), "message" | "transaction") => "hcs-10:op:6:3",
        _ => panic!("{kind} on {sort:?}"),
    };
    assert_eq!(message["memo"], memo, "{message}");
    assert_eq!(message["verified"], true, "{message}");
}

#[test]
fn the_client_of_npm_meets_itself_on_the_devnet() {
    meet("theirs", "theirs");
}

#[test]
fn the_client_of_npm_asks_our_agent() {
    meet("theirs", "ours");
}

#[test]
fn our_agent_asks_the_client_of_npm() {
    meet("ours", "theirs");
}

#[test]
fn the_client_of_npm_pays_our_agent_for_a_request_and_signs_with_ecdsa() {
    meet("theirs+ecdsa", "ours+fee");
}

#[test]
fn our_agent_pays_the_client_of_npm_for_a_request_and_signs_with_ecdsa() {
    meet("ours+ecdsa", "theirs+fee");
}

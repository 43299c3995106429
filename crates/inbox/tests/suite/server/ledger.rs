//! `inbox up --ledger`: a devnet beside the server, which ends with it and is there again.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use inbox_testkit::sandbox::Sandbox;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::raw::exchange;
use crate::INBOX;

/// Starts both on free ports, and gives what they say.
fn up(desk: &Sandbox) -> (Child, Value) {
    up_with(desk, &[])
}

fn up_with(desk: &Sandbox, more: &[&'static str]) -> (Child, Value) {
    let ports = ["--listen", "127.0.0.1:0", "--ledger-ports", "anywhere"];
    let words = ["up", "--ledger", "--json"].into_iter().chain(ports);
    let words = words.chain(more.iter().copied());
    let mut child = desk
        .command(words)
        .stderr(Stdio::inherit())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("its output");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it says something");
    (child, serde_json::from_str(&line).expect("JSON"))
}

/// The address and port of a URL.
fn address(url: &Value) -> &str {
    let url = url.as_str().expect("a URL");
    url.split_once("://").expect("a URL").1
}

/// What is answered to a GET.
fn get(address: &str, path: &str) -> Value {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let answer = exchange(address, request.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("JSON")
}

#[test]
fn a_devnet_beside_the_server_ends_with_it_and_goes_on_when_it_is_back() {
    let desk = Sandbox::new(INBOX);
    let mut born = Vec::new();
    for _ in 0..2 {
        let (mut child, said) = up(&desk);
        assert_eq!(said["ledger"]["node_account_id"], "0.0.3");
        let rest = address(&said["ledger"]["rest"]);
        let treasury = get(rest, "/api/v1/accounts/0.0.2");
        assert_eq!(treasury["account"], "0.0.2");
        born.push(treasury["created_timestamp"].clone());
        get(address(&said["url"]), "/health");
        kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
        assert!(child.wait().expect("it ends").success());
        assert!(TcpStream::connect(rest).is_err(), "nobody is there");
    }
    assert_eq!(born[0], born[1], "it is the same ledger");
    assert!(desk.store().with_file_name("devnet.db").exists());
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        let limit = std::time::Duration::from_mins(1);
        assert!(begun.elapsed() < limit, "{what} does not come");
    }
}

fn stop(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn mail_goes_through_the_ledger_beside_the_server_and_can_be_verified_and_proven() {
    let desk = Sandbox::new(INBOX);
    for name in ["ada", "ben"] {
        desk.ok(&format!("agent add {name}"));
    }
    let (child, said) = up_with(&desk, &["--provision"]);
    assert_eq!(said["ledger"]["provisioned"], 2, "{said}");
    // Whoever works in this folder finds the network by itself.
    let accounts = desk.ok("hcs account list");
    assert_eq!(
        accounts["accounts"].as_array().map(Vec::len),
        Some(2),
        "{accounts}"
    );
    desk.ok("send --from ada --to ben --subject Later --body words --kind event");
    let urgent = desk.ok("send --from ada --to ben --subject Now --kind event --priority urgent");
    let confirmed = |count: u64| {
        until("the ledger", || {
            desk.ok("bridge status")["records"]["confirmed"] == count
        });
    };
    confirmed(2);
    let status = desk.ok("bridge status");
    let topics = status["topics"].as_array().unwrap();
    let ben = topics.iter().find(|topic| topic["name"] == "ben").unwrap();
    assert_eq!(ben["place"], "inbound");
    assert_eq!(ben["backlog"]["messages"], 0);
    let verified = desk.ok("verify");
    assert_eq!(verified["mismatches"], serde_json::json!([]));
    let id = urgent["message"]["message_id"].as_str().unwrap();
    desk.ok(&format!("proof {id} --out proof.json"));
    let again = desk.run(["proof", id, "--out", "proof.json", "--json"]);
    again.refused(20, "already_exists");

    // One byte in the store, and one in the proof.
    let database = rusqlite::Connection::open(desk.store()).unwrap();
    let changed = database.execute("UPDATE entries SET body = 'wards' WHERE body = 'words'", []);
    assert_eq!(changed.unwrap(), 1);
    let found = desk.run(["verify", "--json"]);
    assert_eq!(found.code, 20, "{found}");
    let found = found.json();
    assert_eq!(found["error"]["code"], "verify_mismatch");
    let mismatch = &found["mismatches"][0];
    assert_eq!(
        (
            &mismatch["kind"],
            &mismatch["field"],
            &mismatch["sequence_number"]
        ),
        (&"changed".into(), &"body".into(), &1.into())
    );
    stop(child);
    let proven = desk.ok("verify --proof proof.json");
    assert_eq!(proven["stored"]["subject"], "Now");
    let path = desk.folder().join("proof.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("\"message\": \"ey", "\"message\": \"ez", 1),
    )
    .unwrap();
    let refusal = desk.run(["verify", "--proof", "proof.json", "--json"]);
    let refusal = refusal.refused(20, "verify_mismatch");
    assert_eq!(
        refusal["error"]["details"]["field"],
        "links[0].running_hash"
    );
    desk.run(["verify", "--db", "http://127.0.0.1:9", "--json"])
        .refused(30, "invalid_input");

    // What is sent meanwhile waits, and goes when it is back.
    desk.ok("send --from ben --to ada --subject Back --kind event");
    assert_eq!(desk.ok("bridge status")["backlog"]["messages"], 1);
    let (child, _) = up(&desk);
    confirmed(3);
    stop(child);

    // A ledger that is thrown away takes the accounts with it, and that is told.
    desk.ok("devnet reset");
    let (child, _) = up(&desk);
    let refusal = desk.run(["hcs", "provision", "--agent", "ada", "--json"]);
    let refusal = refusal.refused(40, "account_not_found");
    let hint = refusal["error"]["hint"].as_str().unwrap_or_default();
    assert!(
        hint.starts_with("inbox hcs provision --agent ada --anew"),
        "{refusal}"
    );
    let anew = desk.ok("hcs provision --all --anew");
    assert_eq!(anew["agents"].as_array().map(Vec::len), Some(2), "{anew}");
    desk.ok("send --from ada --to ben --subject Again --kind event");
    confirmed(1);
    stop(child);
    let cleared = desk.ok("agent set ada --account-id none --inbound-topic-id none");
    assert!(cleared["agent"]["account_id"].is_null(), "{cleared}");
}

#[test]
fn what_is_asked_of_the_devnet_wrongly_is_refused_with_a_way_out() {
    let desk = Sandbox::new(INBOX);
    let words = ["up", "--ledger", "--ledger-ports", "mine", "--json"];
    desk.run(words).refused(30, "invalid_input");
    desk.run(["serve", "--ledger", "--json"])
        .refused(30, "invalid_input");
    let wrong = desk.run(["devnet", "--fault", "fire=1", "--json"]);
    let refusal = wrong.refused(30, "invalid_input");
    let hint = refusal["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.starts_with("inbox devnet --fault"), "{refusal}");
}

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
    let ports = ["--listen", "127.0.0.1:0", "--ledger-ports", "anywhere"];
    let words = ["up", "--ledger", "--json"].into_iter().chain(ports);
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

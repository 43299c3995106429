//! A server that stops, in peace or not, loses nothing that it answered.

use std::io::Write;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::load::metric;
use super::raw::{answer, connect, post};
use super::{Served, serve};

const JSON: (&str, &str) = ("Content-Type", "application/json");

#[test]
fn a_server_that_is_told_to_stop_answers_who_waits_and_ends_with_success() {
    let mut served = Served::start();
    let address = served.address().to_owned();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let mut stream = connect(&address);
    let headers = [JSON, ("Authorization", secret.as_str())];
    let wait = post(
        "/v1/watch",
        &address,
        &headers,
        r#"{"timeout_seconds":300}"#,
    );
    stream.write_all(&wait).unwrap();
    // A connection on which nothing has come yet is closed, and not answered.
    while metric(&served, &secret, "inbox_waits") == 0 {
        std::thread::yield_now();
    }
    let process = Pid::from_child(&served.child);
    kill_process(process, Signal::TERM).expect("it runs");
    let answered = answer(&mut stream);
    assert_eq!(answered.status, 200);
    assert!(
        answered.body.contains(r#""woke":false"#),
        "{}",
        answered.body
    );
    assert!(served.child.wait().expect("it ends").success());
}

#[test]
fn what_a_server_answered_before_it_was_killed_is_there_when_it_is_back() {
    let mut served = Served::start();
    let secret = format!("Bearer {}", served.token("lead", ""));
    let mut acknowledged = Vec::new();
    for round in 0..5 {
        let address = served.address().to_owned();
        let headers = [JSON, ("Authorization", secret.as_str())];
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|client| {
                    let (address, headers) = (&address, &headers);
                    scope.spawn(move || {
                        let mut sent = Vec::new();
                        let mut stream = connect(address);
                        for turn in 0.. {
                            let body =
                                format!(r#"{{"to":["bob"],"subject":"{round} {client} {turn}"}}"#);
                            if stream
                                .write_all(&post("/v1/send", address, headers, &body))
                                .is_err()
                            {
                                break;
                            }
                            let Some(answered) = super::raw::maybe(&mut stream) else {
                                break;
                            };
                            let value: Value = serde_json::from_str(&answered.body).unwrap();
                            sent.push(value["thread"]["thread_id"].as_str().unwrap().to_owned());
                        }
                        sent
                    })
                })
                .collect();
            while served.desk.ok("list --limit 1000")["threads"]
                .as_array()
                .unwrap()
                .len()
                < (round + 1) * 20
            {
                std::thread::yield_now();
            }
            served.child.kill().expect("it runs");
            served.child.wait().expect("it ends");
            for client in clients {
                acknowledged.extend(client.join().unwrap());
            }
        });
        let (child, url) = serve(&served.desk, &[]);
        (served.child, served.url) = (child, url);
    }
    for thread in &acknowledged {
        let found = served.desk.run(["show", "--thread", thread, "--json"]);
        assert_eq!(found.code, 0, "{thread} was acknowledged and is gone");
    }
    assert!(acknowledged.len() >= 20, "the load was real");
}

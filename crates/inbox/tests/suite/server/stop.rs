//! A server that stops, in peace or not, loses nothing that it answered.

use std::io::Write;

use rustix::process::{Pid, Signal, kill_process};

use super::Served;
use super::load::metric;
use super::raw::{answer, connect, post};

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

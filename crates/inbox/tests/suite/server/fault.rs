//! Faults of the program: one ends its own request, and the server, its threads and everybody else go on.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};

use inbox_testkit::cluster;
use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::load::metric;
use super::raw::{Answered, exchange, post};
use super::{Served, listening};
use crate::INBOX;

/// A server whose store has faults: in these of its transactions.
fn faulty(desk: Sandbox, faults: &str) -> Served {
    let mut command = desk.command(["serve", "--listen", "127.0.0.1:0", "--json"]);
    let log = File::create(desk.folder().join("log")).expect("a log");
    command.env("INBOX_FAULT", faults).stderr(log);
    let (child, url) = listening(command);
    Served { desk, child, url }
}

fn log(served: &Served) -> String {
    std::fs::read_to_string(served.desk.folder().join("log")).expect("the log")
}

fn call(served: &Served, bearer: &str, name: &str, key: &str, body: &Value) -> Answered {
    let address = served.address();
    let mut headers = vec![
        ("Content-Type", "application/json"),
        ("Authorization", bearer),
    ];
    if !key.is_empty() {
        headers.push(("Idempotency-Key", key));
    }
    let path = format!("/v1/{name}");
    exchange(address, &post(&path, address, &headers, &body.to_string()))
}

#[track_caller]
fn is_a_fault(answered: &Answered) {
    assert_eq!(answered.status, 500, "{}", answered.body);
    let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
    assert_eq!(answer["error"]["code"], "internal");
    let hint = answer["error"]["hint"].as_str().expect("a hint");
    assert!(hint.starts_with("inbox doctor "), "{hint}");
}

/// Many write at once, and some of them meet a fault: those are told, and nobody else notices.
fn writes_go_on(desk: Sandbox, faults: &str, count: u64) {
    const CLIENTS: usize = 8;
    const EACH: usize = 12;
    let served = faulty(desk, faults);
    let bearer = format!("Bearer {}", served.token("lead", ""));
    let refused = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (served, bearer, refused) = (&served, &bearer, &refused);
            scope.spawn(move || {
                for number in 0..EACH {
                    let subject = format!("work {client}-{number}");
                    let body = json!({ "to": ["bob"], "subject": subject });
                    // Without a key, what a fault had left would be there twice.
                    let key = match number % 4 {
                        0 => subject.replace(' ', "-"),
                        _ => String::new(),
                    };
                    let mut answered = call(served, bearer, "send", &key, &body);
                    while answered.status != 200 {
                        is_a_fault(&answered);
                        refused.fetch_add(1, Ordering::Relaxed);
                        answered = call(served, bearer, "send", &key, &body);
                    }
                }
            });
        }
    });
    let refused = refused.into_inner() as u64;
    are_counted(&served, &bearer, count);
    assert_eq!(refused, count, "each fault ended one request");
    let listed = served.desk.ok("list --limit 500");
    let mut subjects: Vec<&str> = listed["threads"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|thread| thread["subject"].as_str().expect("a subject"))
        .collect();
    assert_eq!(subjects.len(), CLIENTS * EACH, "none is there twice");
    subjects.sort_unstable();
    subjects.dedup();
    assert_eq!(subjects.len(), CLIENTS * EACH, "none is missing");
    served.desk.ok("doctor");
    let log = log(&served);
    assert_eq!(log.matches("error: a fault at ").count() as u64, count);
    assert!(
        !log.contains("secret"),
        "where it was, and not with what: {log}"
    );
}

/// That there were so many faults. Whoever asked is told while a panic unwinds, and it is counted after that.
#[track_caller]
fn are_counted(served: &Served, bearer: &str, count: u64) {
    let counted = || metric(served, bearer, "inbox_faults_total");
    let all = inbox_torture::child::eventually("every fault is counted", || {
        Some(counted()).filter(|counted| *counted >= count)
    });
    assert_eq!(all.expect("it is counted"), count);
}

#[test]
fn a_fault_in_a_shared_commit_undoes_its_own_part_alone() {
    writes_go_on(Sandbox::new(INBOX), "write:20-33", 14);
}

#[test]
fn on_postgresql_no_writer_is_lost_to_a_fault() {
    let desk = Sandbox::at(INBOX, cluster::shared().fresh_url());
    // More than there are threads that write.
    writes_go_on(desk, "write:20-33", 14);
}

#[test]
fn no_reader_is_lost_to_a_fault() {
    let served = faulty(Sandbox::new(INBOX), "read:12-23");
    let bearer = format!("Bearer {}", served.token("lead", ""));
    let mut refused = 0;
    // More faults than threads that read.
    while refused < 12 {
        let answered = call(&served, &bearer, "list", "", &json!({}));
        if answered.status != 200 {
            is_a_fault(&answered);
            refused += 1;
        }
    }
    let answered = call(&served, &bearer, "list", "", &json!({}));
    assert_eq!(answered.status, 200, "{}", answered.body);
    are_counted(&served, &bearer, 12);
}

#[test]
fn a_command_that_meets_a_fault_fails_with_its_code_and_leaves_no_trace() {
    let desk = Sandbox::new(INBOX);
    let args = [
        "send",
        "--from",
        "lead",
        "--to",
        "bob",
        "--subject",
        "Hi",
        "--json",
    ];
    let mut command = desk.command(args);
    let faulty = command.env("INBOX_FAULT", "write:1").spawn().unwrap();
    inbox_testkit::sandbox::finish(faulty).refused(50, "internal");
    let listed = desk.ok("list");
    assert_eq!(listed["threads"], json!([]));
    desk.run(args).ok();
}

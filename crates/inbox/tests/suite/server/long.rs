//! What takes long on a server: others go on meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};

use inbox_store::{Location, Store};
use inbox_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use super::Served;
use super::raw::{exchange, post};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// How many letters: many batches of an archive.
const LETTERS: usize = 3000;

fn count(desk: &Sandbox, table: &str) -> usize {
    let store = Store::open(&Location::File(desk.store())).unwrap();
    let rows = store
        .look(&format!("SELECT count(*) FROM {table}"))
        .unwrap();
    rows[0][0].as_ref().unwrap().parse().unwrap()
}

fn ask(served: &Served, secret: &str, operation: &str, body: &Value) -> Value {
    let path = format!("/v1/{operation}");
    let headers = [JSON, ("Authorization", secret)];
    let request = post(&path, served.address(), &headers, &body.to_string());
    let answered = exchange(served.address(), &request);
    assert_eq!(answered.status, 200, "{}", answered.body);
    serde_json::from_str(&answered.body).unwrap()
}

#[test]
fn others_write_while_a_server_archives_and_imports() {
    let letter = |n: usize| {
        json!({
            "place": format!("line {n}"), "uid": format!("00000000-0000-4000-8000-{n:012}"), "from": "lead", "to": ["w"],
            "created_at": "2026-05-01T09:00:00Z", "body": format!("letter {n}"), "ttl_hours": 1,
        })
    };
    let letters: Vec<_> = (0..LETTERS).map(letter).collect();
    let served = Served::start();
    let secret = format!(
        "Bearer {}",
        served.token("lead", "--scope admin --scope write")
    );
    let send = json!({ "to": ["w"], "subject": "meanwhile" });
    let import = json!({ "batch": { "messages": letters } });
    let archive = json!({ "keep": 0 });
    for (operation, request) in [("import", &import), ("archive", &archive)] {
        let before = count(&served.desk, "threads");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let long = scope.spawn(|| {
                let answer = ask(&served, &secret, operation, request);
                is_over.store(true, Ordering::SeqCst);
                answer
            });
            // A part of it can be seen.
            while count(&served.desk, "threads") == before {
                assert!(!is_over.load(Ordering::SeqCst), "{operation} is one change");
                std::thread::yield_now();
            }
            ask(&served, &secret, "send", &send);
            let there = count(&served.desk, "threads");
            assert!((10..LETTERS).contains(&there), "{operation}: {there}");
            let answer = long.join().unwrap();
            assert_eq!(
                answer["bad"],
                if operation == "import" {
                    json!([])
                } else {
                    Value::Null
                }
            );
        });
    }
    assert!(count(&served.desk, "threads") < 5);
    served.desk.ok("doctor");
}

//! A move that is killed: it goes on, and ends as one that was not.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use inbox_store::FailPoint;
use inbox_testkit::cluster::shared;
use inbox_testkit::sandbox::Sandbox;
use serde_json::Value;

use super::{claim, open, thrown, words};
use crate::INBOX;

/// A store with more messages than a first batch takes.
fn source() -> Sandbox {
    let mut inbox = Sandbox::in_memory(INBOX);
    inbox.set("INBOX_GUARD_MAX_REPEATS", "0");
    let thread = open(&inbox, "worker", "held");
    claim(&inbox, "worker", &thread, 9000);
    for n in 0..70 {
        let line = format!("send --from lead --to worker --subject s{n} --key k{n}");
        inbox.run(words(&line)).ok();
    }
    inbox.run(words("read --agent worker --limit 50")).ok();
    inbox
}

/// A new place for each number.
fn place(inbox: &Sandbox, to_postgres: bool, name: &str) -> String {
    if to_postgres {
        shared().fresh_url()
    } else {
        inbox.folder().join(name).display().to_string()
    }
}

fn line(inbox: &Sandbox, to: &str) -> Vec<String> {
    let from = inbox.store().display().to_string();
    ["migrate", "--json", "--from", &from, "--to", to]
        .map(str::to_owned)
        .to_vec()
}

/// Whether the move is killed at a point that it reaches for the nth time.
#[track_caller]
fn dies(inbox: &Sandbox, to: &str, point: FailPoint, time: u32) -> bool {
    let mut command = inbox.command(line(inbox, to));
    command.env("INBOX_FAIL_POINT", format!("{}:{time}", point as u32));
    let output = command.output().unwrap();
    match output.status.signal() {
        Some(9) => {
            assert_eq!(output.stdout, b"", "it answered before {point:?}");
            true
        }
        None if output.status.success() => false,
        _ => panic!("{point:?}: {output:?}"),
    }
}

fn sum(answer: &Value) -> String {
    answer["sha256"].as_str().unwrap().to_owned()
}

fn is_unfinished(inbox: &Sandbox, to: &str) {
    for line in [
        "list",
        "send --from lead --to worker --subject no",
        "init",
        "search s1",
        "doctor",
    ] {
        let args = [words(line), vec!["--db".to_owned(), to.to_owned()]].concat();
        let refused = inbox.run(args).refused(50, "store_moving");
        let hint = refused["error"]["hint"].as_str().unwrap();
        assert!(hint.starts_with("inbox migrate --from "), "{hint}");
    }
}

#[test]
fn a_move_that_dies_at_any_point_goes_on() {
    let inbox = source();
    for to_postgres in [false, true] {
        let whole = inbox
            .run(line(&inbox, &place(&inbox, to_postgres, "whole.db")))
            .ok();
        assert_eq!(whole["resumed"], false);
        for point in [FailPoint::MoveBeforeCommit, FailPoint::MoveAfterCommit] {
            let mut time = 1;
            loop {
                let to = place(&inbox, to_postgres, &format!("{}-{time}.db", point as u32));
                if !dies(&inbox, &to, point, time) {
                    break;
                }
                let is_begun = (point, time) != (FailPoint::MoveBeforeCommit, 1);
                if is_begun {
                    is_unfinished(&inbox, &to);
                }
                let rest = inbox.run(line(&inbox, &to)).ok();
                assert_eq!((sum(&rest), &rest["rows"]), (sum(&whole), &whole["rows"]));
                assert_eq!(rest["resumed"], is_begun, "{point:?} {time}");
                time += 4;
            }
            assert!(time > 13, "{point:?} was reached {time} times");
        }
        // Checked, and not yet let go.
        let to = place(&inbox, to_postgres, "end.db");
        assert!(dies(&inbox, &to, FailPoint::MoveBeforeEnd, 1));
        is_unfinished(&inbox, &to);
        assert_eq!(sum(&inbox.run(line(&inbox, &to)).ok()), sum(&whole));
        // Let go, and not yet told.
        let to = place(&inbox, to_postgres, "over.db");
        assert!(dies(&inbox, &to, FailPoint::MoveAfterEnd, 1));
        inbox.run(line(&inbox, &to)).refused(20, "already_exists");
        let listed = inbox
            .run(["list", "--json", "--limit", "100", "--db", to.as_str()])
            .ok();
        assert_eq!(listed["threads"].as_array().unwrap().len(), 71);
    }
}

#[test]
fn a_move_that_is_killed_again_and_again_ends_as_one_that_was_not() {
    let inbox = source();
    let whole = inbox
        .run(line(&inbox, &place(&inbox, false, "whole.db")))
        .ok();
    for to_postgres in [false, true] {
        let to = place(&inbox, to_postgres, "killed.db");
        let mut dice = thrown();
        let mut is_over = false;
        for _ in 0..25 {
            let mut child = inbox.spawn(line(&inbox, &to));
            std::thread::sleep(Duration::from_millis(dice.below(60)));
            let _ = child.kill();
            is_over |= child.wait().unwrap().success();
        }
        if !is_over {
            // One that was killed right after the end is over too.
            let last = inbox.run(line(&inbox, &to));
            if last.code == 0 {
                assert_eq!(sum(&last.ok()), sum(&whole));
            }
        }
        // What was copied is copied on, to be compared with the rest.
        let again = place(&inbox, false, &format!("again-{to_postgres}.db"));
        let args = ["migrate", "--json", "--from", &to, "--to", &again];
        assert_eq!(sum(&inbox.run(args).ok()), sum(&whole));
    }
}

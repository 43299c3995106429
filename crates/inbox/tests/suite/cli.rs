//! The commands as programs use them.

use crate::INBOX;
use inbox_testkit::sandbox::{Sandbox, finish};

#[test]
fn the_story_of_a_thread_is_told_with_the_contracts_keys() {
    let inbox = Sandbox::new(INBOX);
    let sent = inbox
        .run([
            "send",
            "--from",
            "lead",
            "--to",
            "backend",
            "--subject",
            "Add posts",
            "--json",
        ])
        .ok();
    let thread = sent["thread"]["thread_id"].as_str().unwrap().to_owned();
    assert_eq!(sent["thread"]["status"], "pending");
    let claimed = inbox
        .run(["claim", "--agent", "backend", "--thread", &thread, "--json"])
        .ok();
    let lease = claimed["lease"]["lease_token"].as_str().unwrap().to_owned();
    assert_eq!(claimed["lease"]["epoch"], 1);
    let update = [
        "update",
        "--lease",
        &lease,
        "--thread",
        &thread,
        "--status",
        "blocked",
        "--summary",
        "Which auth?",
        "--json",
    ];
    assert_eq!(inbox.run(update).ok()["message"]["kind"], "question");
    let waiting = inbox.spawn([
        "wait-reply",
        "--lease",
        &lease,
        "--thread",
        &thread,
        "--timeout-seconds",
        "30",
        "--json",
    ]);
    let reply = [
        "reply",
        "--from",
        "lead",
        "--thread",
        &thread,
        "--summary",
        "Email",
        "--json",
    ];
    assert_eq!(inbox.run(reply).ok()["message"]["kind"], "answer");
    let woke = finish(waiting).ok();
    assert_eq!(woke["message"]["summary"], "Email");
    let done = inbox
        .run([
            "done",
            "--lease",
            &lease,
            "--thread",
            &thread,
            "--summary",
            "Done",
            "--json",
        ])
        .ok();
    assert_eq!(done["thread"]["status"], "done");
    assert_eq!(done["thread"]["assigned_to"], "backend");
}

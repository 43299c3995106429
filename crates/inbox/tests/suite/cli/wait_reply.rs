//! `wait-reply`: the wait of a blocked worker.

use std::time::Duration;

use inbox_testkit::sandbox::finish;

use super::desk::{Desk, MESSAGE, keys, text};

#[test]
fn the_oldest_matching_message_is_returned_with_its_own_event() {
    let desk = Desk::new();
    desk.send("--to w");
    desk.ok("reply --from w --thread thr_1 --kind question --summary q");
    desk.ok("reply --from lead --thread thr_1 --kind progress --summary no");
    desk.ok("reply --from lead --thread thr_1 --summary first");
    desk.ok("reply --from lead --thread thr_1 --summary second");
    let woke = desk.ok("wait-reply --agent w --thread thr_1");
    assert_eq!(
        keys(&woke),
        ["command", "message", "next_event_id", "ok", "woke"]
    );
    assert_eq!(woke["woke"], true);
    assert_eq!(keys(&woke["message"]), MESSAGE);
    assert_eq!(woke["message"]["summary"], "first");
    assert_eq!(woke["next_event_id"], 4);
    let next = desk.ok("wait-reply --agent w --thread thr_1 --after-event 4");
    assert_eq!(next["message"]["summary"], "second");
    assert_eq!(next["next_event_id"], 5);
    let none =
        desk.nothing("wait-reply --agent w --thread thr_1 --after-event 5 --timeout-seconds 0");
    assert!(none["message"].is_null());
    assert_eq!(none["woke"], false);
    assert_eq!(none["next_event_id"], 5);
}

#[test]
fn it_starts_after_the_callers_last_message_or_at_the_beginning() {
    let desk = Desk::new();
    desk.send("--to w");
    desk.ok("reply --from lead --thread thr_1 --summary early");
    desk.ok("reply --from w --thread thr_1 --kind question --summary q");
    desk.nothing("wait-reply --agent w --thread thr_1 --timeout-seconds 0");
    let whole = desk.ok("wait-reply --thread thr_1 --timeout-seconds 0");
    assert_eq!(
        whole["message"]["summary"], "early",
        "no identity: the beginning"
    );
    let other = desk.ok("wait-reply --agent other --thread thr_1 --timeout-seconds 0");
    assert_eq!(
        other["message"]["summary"], "early",
        "no own message: the beginning"
    );
    let after =
        desk.ok("wait-reply --agent w --thread thr_1 --after-message msg_1 --timeout-seconds 0");
    assert_eq!(after["message"]["summary"], "early");
    desk.nothing("wait-reply --agent w --thread thr_1 --after-message MSG_2 --timeout-seconds 0");
    desk.refused(
        30,
        "invalid_input",
        "wait-reply --thread thr_1 --after-message msg_1 --after-event 1",
    );
}

#[test]
fn kinds_choose_and_own_messages_never_wake() {
    let desk = Desk::new();
    desk.send("--to w");
    for (from, kind) in [
        ("w", "answer"),
        ("lead", "progress"),
        ("lead", "event"),
        ("lead", "control"),
        ("lead", "answer"),
    ] {
        desk.ok(&format!(
            "reply --from {from} --thread thr_1 --kind {kind} --summary {from}-{kind}"
        ));
    }
    let wait = |rest: &str| {
        let woke = desk.ok(&format!(
            "wait-reply --agent w --thread thr_1 --after-event 0 --timeout-seconds 0 {rest}"
        ));
        text(&woke["message"]["summary"])
    };
    assert_eq!(wait(""), "lead-control");
    assert_eq!(wait("--kinds answer"), "lead-answer");
    assert_eq!(wait("--kinds event,progress"), "lead-progress");
    assert_eq!(wait("--kinds task"), "Work");
    let error = desk.refused(
        30,
        "invalid_input",
        "wait-reply --thread thr_1 --kinds answer|control",
    );
    assert!(
        text(&error["message"]).contains("answer|control"),
        "{error}"
    );
}

#[test]
fn a_reply_that_comes_later_wakes_the_waiter() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    desk.ok(&format!(
        "update --lease {lease} --thread thr_1 --status blocked --summary q"
    ));
    let waiting = desk.spawn(&format!(
        "wait-reply --lease {lease} --thread thr_1 --timeout-seconds 20"
    ));
    std::thread::sleep(Duration::from_millis(100));
    desk.ok("reply --from lead --thread thr_1 --kind progress --summary no");
    desk.ok("reply --from lead --thread thr_1 --summary yes");
    assert_eq!(finish(waiting).ok()["message"]["summary"], "yes");
}

#[test]
fn the_holders_lease_is_kept_alive_while_it_waits() {
    let desk = Desk::new();
    desk.send("--to w");
    let claimed = desk.ok("claim --agent w --thread thr_1 --lease-seconds 1");
    let lease = text(&claimed["lease"]["lease_token"]);
    desk.nothing(&format!(
        "wait-reply --lease {lease} --thread thr_1 --timeout-seconds 2"
    ));
    desk.ok(&format!(
        "update --lease {lease} --thread thr_1 --summary still~mine"
    ));
}

#[test]
fn a_waiter_whose_thread_was_cancelled_gets_the_control_message() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    let waiting = desk.spawn(&format!(
        "wait-reply --lease {lease} --thread thr_1 --timeout-seconds 20"
    ));
    std::thread::sleep(Duration::from_millis(100));
    desk.ok("cancel --agent lead --thread thr_1 --reason Enough");
    let woke = finish(waiting).ok();
    assert_eq!(woke["message"]["kind"], "control");
    assert_eq!(woke["message"]["summary"], "Enough");
}

#[test]
fn a_waiter_whose_lease_is_lost_exits_with_it() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    let waiting = desk.spawn(&format!(
        "wait-reply --lease {lease} --thread thr_1 --timeout-seconds 20"
    ));
    std::thread::sleep(Duration::from_millis(200));
    desk.ok(&format!("release --lease {lease} --thread thr_1"));
    finish(waiting).refused(20, "lease_lost");
    desk.run(&format!(
        "wait-reply --lease {lease} --thread thr_1 --timeout-seconds 0"
    ))
    .refused(20, "lease_lost");
}

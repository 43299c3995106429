//! The steps of the holder, and calling off.

use super::desk::{Desk, keys, text};

const STEP: &[&str] = &["command", "message", "next_event_id", "ok", "thread"];

#[test]
fn kinds_go_by_the_verb() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    let lease = desk.claim("w", &thread);
    let update = |rest: &str| desk.ok(&format!("update --lease {lease} --thread {thread} {rest}"));
    for (rest, status, kind) in [
        ("--summary s", "in_progress", "progress"),
        ("--summary s --status blocked", "blocked", "question"),
        (
            "--summary s --status in_progress",
            "in_progress",
            "progress",
        ),
        ("--summary s --status BLOCKED", "blocked", "question"),
    ] {
        let answer = update(rest);
        assert_eq!(keys(&answer), STEP);
        assert_eq!(answer["thread"]["status"], status);
        assert_eq!(answer["message"]["kind"], kind);
        assert_eq!(
            answer["message"]["to_agent"], "lead",
            "it tells who opened the thread"
        );
    }
    let done = desk.ok(&format!(
        "done --lease {lease} --thread {thread} --summary s --body b --payload-json [1]"
    ));
    assert_eq!(done["message"]["kind"], "result");
    assert_eq!(done["thread"]["status"], "done");
    assert_eq!(done["message"]["payload_json"].to_string(), "[1]");
    let types = desk.event_types();
    assert_eq!(
        types,
        [
            "created",
            "claimed",
            "in_progress",
            "blocked",
            "in_progress",
            "blocked",
            "done"
        ]
    );
}

#[test]
fn fail_ends_the_thread_with_its_reason() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    let failed = desk.ok(&format!(
        "fail --agent w --thread {thread} --summary Cannot --body Because --payload-json {{}}"
    ));
    assert_eq!(keys(&failed), STEP);
    assert_eq!(failed["thread"]["status"], "failed");
    assert_eq!(failed["thread"]["assigned_to"], "w");
    assert_eq!(failed["message"]["kind"], "result");
    let shown = desk.show(&thread);
    assert!(shown["lease"].is_null());
    assert_eq!(shown["thread"]["assigned_to"], "w");
}

#[test]
fn a_summary_is_needed_and_says_what_is_missing() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    for command in ["update", "update --status blocked", "done", "fail", "reply"] {
        for summary in ["", "--summary=", "--summary ~"] {
            let line = format!("{command} --agent w --thread {thread} {summary}");
            desk.refused(30, "invalid_input", &line);
        }
    }
    desk.refused(
        30,
        "invalid_input",
        &format!("cancel --agent lead --thread {thread} --reason ~"),
    );
}

#[test]
fn an_update_makes_a_thread_nothing_but_started_or_blocked() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    for status in [
        "done",
        "pending",
        "claimed",
        "failed",
        "cancelled",
        "nonsense",
        "1",
    ] {
        let line = format!("update --agent w --thread {thread} --summary s --status {status}");
        let error = desk.refused(30, "invalid_input", &line);
        assert!(text(&error["message"]).contains(status), "{error}");
    }
}

#[test]
fn a_final_thread_takes_no_further_step() {
    let desk = Desk::new();
    for end in [
        "done --agent w --summary s",
        "fail --agent w --summary s",
        "cancel --agent lead",
    ] {
        let thread = desk.send("--to w");
        let lease = desk.claim("w", &thread);
        desk.ok(&format!("{end} --thread {thread}"));
        for command in [
            "update --summary s",
            "done --summary s",
            "fail --summary s",
            "renew",
            "release",
            "cancel",
            "claim",
        ] {
            for proof in [
                "--agent w".to_owned(),
                format!("--agent w --lease {lease}"),
                "--agent stranger".to_owned(),
            ] {
                let line = format!("{command} --thread {thread} {proof}");
                let error = desk.refused(30, "invalid_transition", &line);
                assert!(text(&error["message"]).contains("final"), "{error}");
            }
        }
    }
}

#[test]
fn a_pending_thread_has_no_holder_to_write_for() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    for command in ["update", "done", "fail"] {
        let line = format!("{command} --agent w --thread {thread} --summary s");
        let error = desk.refused(30, "invalid_transition", &line);
        assert!(text(&error["hint"]).contains("inbox claim"), "{error}");
    }
}

#[test]
fn a_stranger_meets_a_conflict_and_a_former_holder_is_told_it_lost_the_lease() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    let first = desk.at(0, "claim --agent w --lease-seconds 10").ok();
    let old = text(&first["lease"]["lease_token"]);
    desk.at(10, "claim --agent v --thread thr_1").ok();
    for command in ["update", "done", "fail"] {
        let line = |who: &str| format!("{command} {who} --thread thr_1 --summary s");
        desk.at(11, &line("--agent x"))
            .refused(20, "lease_conflict");
        desk.at(11, &line("--agent w")).refused(20, "lease_lost");
        desk.at(11, &line(&format!("--lease {old}")))
            .refused(20, "lease_lost");
        desk.at(11, &line(&format!("--agent v --lease {old}")))
            .refused(20, "lease_lost");
    }
    desk.at(11, "done --agent v --thread thr_1 --summary s")
        .ok();
}

#[test]
fn the_creator_and_the_holder_cancel_and_anybody_else_overrides() {
    let desk = Desk::new();
    let cancel = |who: &str, claimed: bool| {
        let thread = desk.send("--to w");
        let mut who = who.to_owned();
        if claimed {
            let lease = desk.claim("w", &thread);
            who = who.replace("LEASE", &lease);
        }
        let answer = desk.ok(&format!("cancel {who} --thread {thread} --reason No~more"));
        assert_eq!(keys(&answer), STEP);
        assert_eq!(answer["thread"]["status"], "cancelled");
        assert_eq!(answer["message"]["kind"], "control");
        assert_eq!(answer["message"]["summary"], "No more");
        let event = desk.events(0).pop().unwrap();
        assert_eq!(event["event_type"], "cancelled");
        event["payload_json"].get("override").is_some()
    };
    assert!(!cancel("--agent lead", false));
    assert!(!cancel("--agent lead", true));
    assert!(!cancel("--agent w", true));
    assert!(
        !cancel("--lease LEASE", true),
        "the token proves the holder"
    );
    assert!(cancel("--agent stranger", false));
    assert!(cancel("--agent stranger", true));
}

#[test]
fn cancelling_ends_the_lease_and_raises_the_epoch() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    let lease = desk.claim("boss", &thread);
    let cancelled = desk.ok(&format!("cancel --agent lead --thread {thread}"));
    assert_eq!(cancelled["message"]["summary"], "cancelled");
    assert_eq!(cancelled["thread"]["assigned_to"], "w", "the first address");
    assert!(desk.show(&thread)["lease"].is_null());
    assert_eq!(desk.events(2)[0]["payload_json"]["epoch"], 2);
    desk.refused(
        30,
        "invalid_transition",
        &format!("done --lease {lease} --thread {thread} --summary s"),
    );
    desk.refused(
        20,
        "lease_lost",
        &format!("reply --lease {lease} --thread {thread} --summary s"),
    );
}

#[test]
fn an_unknown_thread_is_not_found_by_any_command() {
    let desk = Desk::new();
    desk.send("--to w");
    for command in [
        "update --summary s",
        "done --summary s",
        "fail --summary s",
        "cancel",
        "renew",
        "release",
        "claim",
        "reply --summary s",
        "send --summary s",
        "show",
        "export",
        "wait-reply --timeout-seconds 0",
        "watch --timeout-seconds 0",
    ] {
        let error = desk.refused(
            40,
            "thread_not_found",
            &format!("{command} --agent w --thread thr_zz"),
        );
        assert!(text(&error["message"]).contains("thr_zz"), "{error}");
        for id in [
            "thr_",
            "bogus",
            "msg_1",
            "1",
            "thr_u",
            "thr_1x!",
            "thr_zzzzzzzzzzzzzz",
        ] {
            let error = desk.refused(
                30,
                "invalid_input",
                &format!("{command} --agent w --thread {id}"),
            );
            assert!(text(&error["message"]).contains(id), "{error}");
        }
    }
}

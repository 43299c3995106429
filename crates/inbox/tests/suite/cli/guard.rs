//! The loop guard, end to end: agents that only answer each other are stopped, and the person is told.

use super::desk::{Desk, said, summaries, text};

/// Answers in turns until one is refused or `most` were given; how many were given, and the refusal.
fn turns(desk: &Desk, variables: &[(&str, &str)], most: u32) -> (u32, Option<serde_json::Value>) {
    let thread = desk.send("--to backend --kind question");
    for n in 0..most {
        let who = if n % 2 == 0 { "backend" } else { "lead" };
        let line = format!("reply --from {who} --thread {thread} --summary turn-{n}");
        let outcome = desk.with(variables, &line);
        if outcome.code != 0 {
            return (n, Some(outcome.refused(30, "loop_guard")["error"].clone()));
        }
    }
    (most, None)
}

#[test]
fn turns_without_a_person_end_where_configuration_says_and_the_person_is_told_once() {
    let desk = Desk::new();
    let env = [("INBOX_GUARD_MAX_TURNS", "4")];
    let (given, refused) = turns(&desk, &env, 10);
    assert_eq!(given, 4);
    let error = refused.expect("the fifth is refused");
    assert!(said(&error).contains("thr_1"), "{error}");
    assert!(said(&error).contains("wait for the person"), "{error}");
    assert_eq!(error["details"]["thread_id"], "thr_1");
    let again = desk.with(&env, "reply --from backend --thread thr_1 --summary again");
    again.refused(30, "loop_guard");
    let told = desk.ok("read --agent human");
    assert_eq!(summaries(&told), ["agents go in circles in thr_1"]);
    assert_eq!(told["messages"][0]["priority"], "high");
    assert_eq!(told["messages"][0]["message_type"], "guard.loop");
    // A person's word lets them go on.
    desk.ok("agent add operator --kind human");
    desk.ok("reply --from operator --thread thr_1 --summary Go~on");
    desk.with(&env, "reply --from backend --thread thr_1 --summary on")
        .ok();
}

#[test]
fn a_limit_of_nothing_is_none() {
    let desk = Desk::new();
    let env = [
        ("INBOX_GUARD_MAX_TURNS", "0"),
        ("INBOX_GUARD_MAX_REPEATS", "0"),
        ("INBOX_GUARD_MAX_HOPS", "0"),
    ];
    assert_eq!(turns(&desk, &env, 12).0, 12);
    for _ in 0..25 {
        let line = "reply --from lead --thread thr_1 --summary same";
        desk.with(&env, line).ok();
    }
}

#[test]
fn the_same_words_again_and_again_are_refused() {
    let desk = Desk::new();
    let env = [("INBOX_GUARD_MAX_REPEATS", "3")];
    let thread = desk.send("--to backend --kind question");
    let line = format!("reply --from backend --thread {thread} --summary same");
    for _ in 0..3 {
        desk.with(&env, &line).ok();
    }
    let error = desk.with(&env, &line).refused(30, "loop_guard")["error"].clone();
    assert!(said(&error).contains("3 times"), "{error}");
    let other = format!("reply --from backend --thread {thread} --summary other");
    desk.with(&env, &other).ok();
}

#[test]
fn who_works_may_always_ask_finish_and_give_up() {
    let desk = Desk::new();
    let env = [
        ("INBOX_GUARD_MAX_TURNS", "1"),
        ("INBOX_GUARD_MAX_REPEATS", "1"),
        ("INBOX_GUARD_MAX_HOPS", "1"),
    ];
    let thread = desk.send("--to backend");
    let lease = desk.claim("backend", &thread);
    for line in [
        "update --status blocked --summary Which?",
        "update --status blocked --summary Which?",
        "update --summary On",
        "done --summary Done",
    ] {
        let line = format!("{line} --lease {lease} --thread {thread}");
        desk.with(&env, &line).ok();
    }
    let shown = desk.show(&thread);
    assert_eq!(text(&shown["thread"]["status"]), "done");
}

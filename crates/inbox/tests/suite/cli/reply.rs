//! `reply`.

use super::desk::{Desk, keys, text};

#[test]
fn a_reply_is_an_answer_and_needs_no_lease() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    let answer = desk.ok(&format!(
        "reply --from lead --thread {thread} --summary Yes --body B --payload-json 7"
    ));
    assert_eq!(
        keys(&answer),
        ["command", "message", "next_event_id", "ok", "thread"]
    );
    assert_eq!(answer["message"]["kind"], "answer");
    assert_eq!(
        answer["message"]["to_agent"], "w",
        "it speaks to the holder"
    );
    assert_eq!(answer["message"]["parent_message_id"], "msg_1");
    assert_eq!(answer["thread"]["status"], "claimed");
    let back = desk.ok(&format!(
        "reply --from w --thread {thread} --summary Thanks"
    ));
    assert_eq!(
        back["message"]["to_agent"], "lead",
        "and the holder to who opened it"
    );
    let other = desk.ok(&format!(
        "reply --from x --to y --to z --thread {thread} --summary s"
    ));
    assert_eq!(other["message"]["to"].to_string(), r#"["y","z"]"#);
}

#[test]
fn a_reply_may_be_of_another_kind() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    for kind in ["answer", "question", "progress", "control", "event"] {
        let answer = desk.ok(&format!(
            "reply --from x --thread {thread} --kind {kind} --summary s"
        ));
        assert_eq!(answer["message"]["kind"], kind);
    }
    let error = desk.refused(
        30,
        "invalid_input",
        &format!("reply --from x --thread {thread} --kind anser --summary s"),
    );
    assert!(text(&error["message"]).contains("anser"), "{error}");
    assert!(text(&error["hint"]).contains("answer"), "{error}");
}

#[test]
fn a_result_in_a_work_thread_is_the_holders_alone() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    for command in ["reply", "send"] {
        let line = format!("{command} --from lead --thread {thread} --kind result --summary s");
        desk.refused(30, "invalid_transition", &line);
    }
    let lease = desk.claim("w", &thread);
    for command in ["reply", "send"] {
        let line = format!("{command} --from lead --thread {thread} --kind result --summary s");
        desk.refused(20, "lease_conflict", &line);
        desk.ok(&format!(
            "{command} --lease {lease} --thread {thread} --kind result --summary s"
        ));
    }
    let talk = desk.send("--to w --kind question");
    desk.ok(&format!(
        "reply --from anybody --thread {talk} --kind result --summary s"
    ));
}

#[test]
fn who_names_a_lost_lease_is_told_and_anothers_token_is_ignored() {
    let desk = Desk::new();
    let one = desk.send("--to w");
    let two = desk.send("--to w");
    let lost = desk.claim("w", &one);
    desk.ok(&format!("release --lease {lost} --thread {one}"));
    let held = desk.claim("w", &two);
    for command in ["send", "reply"] {
        let line = format!("{command} --agent w --thread {one} --summary s");
        desk.with(&[("INBOX_LEASE", &lost)], &line)
            .refused(20, "lease_lost");
        let said = desk.with(&[("INBOX_LEASE", &held)], &line).ok();
        assert_eq!(said["message"]["from_agent"], "w");
        desk.ok(&line);
    }
    desk.refused(
        20,
        "lease_lost",
        &format!("update --agent w --thread {one} --summary s --lease {held}"),
    );
}

#[test]
fn a_session_that_lost_the_thread_is_told_when_it_replies() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    desk.at(0, "claim --agent w --session s1 --lease-seconds 10")
        .ok();
    desk.at(20, "claim --agent w --session s2 --lease-seconds 10")
        .ok();
    let reply = "reply --agent w --thread thr_1 --summary s";
    desk.at(21, &format!("{reply} --session s1"))
        .refused(20, "lease_lost");
    desk.at(21, &format!("{reply} --session s2")).ok();
    desk.at(21, &format!("{reply} --session s3")).ok();
    desk.at(21, reply).ok();
}

#[test]
fn wait_reply_by_an_unknown_message_is_message_not_found() {
    let desk = Desk::new();
    let one = desk.send("--to w");
    desk.send("--to w");
    for message in ["msg_zz", "msg_2"] {
        let line =
            format!("wait-reply --thread {one} --after-message {message} --timeout-seconds 0");
        let error = desk.refused(40, "message_not_found", &line);
        assert!(text(&error["message"]).contains(message), "{error}");
    }
    desk.refused(
        30,
        "invalid_input",
        &format!("wait-reply --thread {one} --after-message thr_1"),
    );
}

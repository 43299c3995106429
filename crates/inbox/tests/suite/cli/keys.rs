//! `--key`: a retry has one effect and one answer.

use super::desk::{Desk, nothing, text};

#[test]
fn a_replay_gives_the_first_answer_unchanged_whatever_happened_since() {
    let desk = Desk::new();
    desk.send("--to w");
    let mut lease = String::new();
    for line in [
        "send --from lead --to w --subject s --key k0",
        "send --from lead --thread thr_1 --summary s --key k1",
        "claim --agent w --thread thr_1 --key k2",
        "renew --lease LEASE --thread thr_1 --key k3",
        "update --lease LEASE --thread thr_1 --summary s --key k4",
        "reply --from lead --thread thr_1 --summary s --key k5",
        "release --lease LEASE --thread thr_1 --key k6",
    ] {
        let line = line.replace("LEASE", &lease);
        let first = desk.run(&line);
        let answer = first.ok();
        if line.starts_with("claim") {
            lease = text(&answer["lease"]["lease_token"]);
        }
        let before = desk.snapshot();
        desk.ok("reply --from noise --thread thr_1 --summary noise");
        let after_noise = desk.snapshot();
        assert_ne!(before, after_noise);
        assert_eq!(desk.run(&line).stdout, first.stdout, "{line}");
        assert_eq!(after_noise, desk.snapshot(), "{line}");
    }
}

#[test]
fn a_replay_goes_before_every_rule() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    let done = format!("done --lease {lease} --thread thr_1 --summary s --key d");
    let first = desk.run(&done);
    assert_eq!(first.code, 0, "{first}");
    assert_eq!(
        desk.run(&done).stdout,
        first.stdout,
        "the thread is final by now"
    );
    desk.send("--to w");
    let cancel = "cancel --agent lead --thread thr_2 --key c";
    let first = desk.run(cancel);
    assert_eq!(desk.run(cancel).stdout, first.stdout);
    desk.send("--to w");
    desk.claim("w", "thr_3");
    let fail = "fail --agent w --thread thr_3 --summary s --key f";
    let first = desk.run(fail);
    assert_eq!(desk.run(fail).stdout, first.stdout);
}

#[test]
fn the_same_key_with_other_content_is_a_conflict_per_sender() {
    let desk = Desk::new();
    desk.ok("send --from a --to w --subject s --key k");
    for line in [
        "send --from a --to w --subject other --key k",
        "send --from a --to v --subject s --key k",
        "send --from a --to w --subject s --key k --body b",
        "send --from a --to w --subject s --key k --priority high",
        "reply --from a --thread thr_1 --summary s --key k",
        "claim --agent a --thread thr_1 --key k",
    ] {
        let error = desk.refused(20, "key_conflict", line);
        assert!(text(&error["message"]).contains('k'), "{error}");
    }
    let other = desk.ok("send --from b --to w --subject other --key k");
    assert_eq!(
        other["thread"]["thread_id"], "thr_2",
        "keys are the sender's own"
    );
}

#[test]
fn refusals_and_exit_10_are_not_remembered() {
    let desk = Desk::new();
    desk.nothing("claim --agent w --key k");
    desk.refused(
        40,
        "thread_not_found",
        "reply --from w --thread thr_1 --summary s --key r",
    );
    desk.send("--to w");
    desk.ok("reply --from w --thread thr_1 --summary s --key r");
    let claimed = desk.ok("claim --agent w --key k");
    assert_eq!(claimed["thread"]["thread_id"], "thr_1");
    let again = desk.ok("claim --agent w --key k");
    assert_eq!(claimed, again);
}

#[test]
fn a_claim_is_replayed_with_its_token_even_after_it_ended() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    let line = "claim --agent w --lease-seconds 10 --key k";
    let first = desk.at(0, line).ok();
    let again = desk.at(100, line).ok();
    assert_eq!(first, again);
    assert!(again["lease"]["lease_token"].is_string());
    assert_eq!(desk.at(100, "list").ok()["threads"][0]["attempts"], 1);
    nothing(&desk.at(5, "claim --agent w --key other"));
}

#[test]
fn a_key_is_one_line_of_text() {
    let desk = Desk::new();
    desk.refused(
        30,
        "invalid_input",
        "send --from a --to w --subject s --key=",
    );
    let long = "k".repeat(513);
    desk.refused(
        30,
        "too_large",
        &format!("send --from a --to w --subject s --key {long}"),
    );
    let longest = "k".repeat(512);
    desk.ok(&format!("send --from a --to w --subject s --key {longest}"));
    desk.refused(30, "invalid_input", "list --key k");
}

#[test]
fn a_write_keyed_by_a_token_alone_is_replayed_too() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    let line = format!("done --lease {lease} --thread thr_1 --summary s --key k");
    let first = desk.ok(&line);
    assert_eq!(first, desk.ok(&line));
}

//! `fetch`: what the caller could claim.

use super::desk::{Desk, THREAD, ids, keys, nothing};

#[test]
fn fetch_gives_the_most_urgent_then_the_oldest_and_changes_nothing() {
    let desk = Desk::new();
    let low = desk.send("--to w --priority low");
    let first = desk.send("--to w");
    let second = desk.send("--to w");
    let urgent = desk.send("--to w --priority urgent");
    desk.send("--to other");
    let before = desk.snapshot();
    let answer = desk.ok("fetch --agent w");
    assert_eq!(
        keys(&answer),
        ["command", "next_event_id", "ok", "threads", "truncated"]
    );
    assert_eq!(ids(&answer), [urgent, first, second, low]);
    assert_eq!(keys(&answer["threads"][0]), THREAD);
    assert_eq!(answer["truncated"], false);
    assert_eq!(answer["next_event_id"], 5);
    assert_eq!(before, desk.snapshot());
    let doctor = desk.ok("doctor").to_string();
    assert!(
        doctor.contains("1 agents"),
        "fetch makes no agent: {doctor}"
    );
}

#[test]
fn nothing_to_do_is_exit_10_and_no_error() {
    let desk = Desk::new();
    let answer = desk.nothing("fetch --agent nobody");
    assert_eq!(answer["threads"].to_string(), "[]");
    assert_eq!(answer["next_event_id"], 0);
}

#[test]
fn only_work_is_fetched_and_not_conversations() {
    let desk = Desk::new();
    desk.send("--to w --kind question");
    desk.nothing("fetch --agent w");
    desk.nothing("claim --agent w");
    let work = desk.send("--to w");
    assert_eq!(ids(&desk.ok("fetch --agent w")), [work]);
}

#[test]
fn work_whose_lease_ran_out_is_fetched_again() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    desk.at(0, "claim --agent w --lease-seconds 60").ok();
    nothing(&desk.at(59, "fetch --agent w"));
    let lapsed = desk.at(60, "fetch --agent w").ok();
    assert_eq!(ids(&lapsed), ["thr_1"]);
    assert_eq!(lapsed["threads"][0]["status"], "claimed");
    nothing(&desk.at(60, "fetch --agent stranger"));
}

#[test]
fn a_status_filters_what_reaches_the_caller_claimable_or_not() {
    let desk = Desk::new();
    let pending = desk.send("--to w");
    let claimed = desk.send("--to w");
    desk.claim("w", &claimed);
    let blocked = desk.send("--to w");
    let lease = desk.claim("w", &blocked);
    desk.ok(&format!(
        "update --lease {lease} --thread {blocked} --status blocked --summary s"
    ));
    let fetch = |status: &str| ids(&desk.ok(&format!("fetch --agent w --status {status}")));
    assert_eq!(fetch("pending"), [pending.as_str()]);
    assert_eq!(fetch("claimed"), [claimed.as_str()]);
    assert_eq!(fetch("pending,blocked"), [pending.clone(), blocked.clone()]);
    assert_eq!(
        fetch("pending,~blocked,claimed"),
        [pending.clone(), claimed, blocked.clone()]
    );
    assert_eq!(fetch("blocked --status PENDING"), [pending, blocked]);
    desk.nothing("fetch --agent w --status done");
    let error = desk.refused(
        30,
        "invalid_input",
        "fetch --agent w --status pending,bloked",
    );
    assert!(error["message"].as_str().unwrap().contains("bloked"));
    assert!(error["hint"].as_str().unwrap().contains("in_progress"));
}

#[test]
fn labels_narrow_what_is_fetched_and_claimed() {
    let desk = Desk::new();
    let one = desk.send("--to w --run r1 --task t1");
    let two = desk.send("--to w --run r1 --task t2");
    desk.send("--to w");
    assert_eq!(
        ids(&desk.ok("fetch --agent w --run r1")),
        [one.clone(), two.clone()]
    );
    assert_eq!(
        ids(&desk.ok("fetch --agent w --run r1 --task t2")),
        [two.as_str()]
    );
    assert_eq!(
        ids(&desk.ok("fetch --agent w --task t1 --status pending")),
        [one]
    );
    desk.nothing("fetch --agent w --run r2");
    desk.nothing("claim --agent w --run r2");
    let claimed = desk.ok("claim --agent w --task t2");
    assert_eq!(claimed["thread"]["thread_id"], two.as_str());
    desk.refused(
        30,
        "invalid_input",
        &format!("claim --agent w --thread {two} --run r1"),
    );
    desk.refused(30, "invalid_input", "fetch --agent w --run=");
}

#[test]
fn unread_keeps_threads_with_a_message_by_somebody_else() {
    let desk = Desk::new();
    let others = desk.send("--to w");
    desk.ok("send --from w --to w --subject own");
    assert_eq!(ids(&desk.ok("fetch --agent w")).len(), 2);
    assert_eq!(ids(&desk.ok("fetch --agent w --unread")), [others.as_str()]);
    assert_eq!(
        ids(&desk.ok("fetch --agent w --unread --limit 1")),
        [others]
    );
}

#[test]
fn a_page_has_a_hundred_threads_unless_told_otherwise_and_says_when_it_is_cut() {
    let desk = Desk::new();
    for _ in 0..101 {
        desk.send("--to w");
    }
    for command in ["fetch --agent w", "list"] {
        let page = desk.ok(command);
        assert_eq!(ids(&page).len(), 100);
        assert_eq!(page["truncated"], true);
        let whole = desk.ok(&format!("{command} --limit 101"));
        assert_eq!(ids(&whole).len(), 101);
        assert_eq!(whole["truncated"], false);
        assert_eq!(whole["next_event_id"], 101);
        for limit in ["0", "-1", "10001", "x"] {
            desk.refused(30, "invalid_input", &format!("{command} --limit {limit}"));
        }
    }
    let cut = desk.ok("fetch --agent w --limit 2");
    assert_eq!(ids(&cut), ["thr_1", "thr_2"]);
    assert_eq!(cut["next_event_id"], 2, "the last event that was delivered");
    let lean = desk.inbox.run(["list"]);
    assert!(lean.stdout.contains("--limit"), "{lean}");
}

#[test]
fn expired_mail_leaves_fetch_and_claim_and_can_be_claimed_by_name() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s --ttl-hours 1")
        .ok();
    assert_eq!(ids(&desk.at(3599, "fetch --agent w").ok()), ["thr_1"]);
    nothing(&desk.at(3600, "fetch --agent w"));
    nothing(&desk.at(3600, "fetch --agent w --status pending"));
    nothing(&desk.at(3600, "claim --agent w"));
    assert_eq!(
        desk.at(3600, "list").ok()["threads"][0]["status"],
        "pending"
    );
    let claimed = desk.at(3600, "claim --agent w --thread thr_1").ok();
    assert_eq!(claimed["thread"]["status"], "claimed");
    let released = desk.at(3601, "release --agent w --thread thr_1").ok();
    assert_eq!(released["thread"]["status"], "pending");
    assert_eq!(
        ids(&desk.at(3602, "fetch --agent w").ok()),
        ["thr_1"],
        "claimed once, it is no dead letter"
    );
}

#[test]
fn fetch_needs_to_know_who_calls() {
    let desk = Desk::new();
    desk.refused(30, "invalid_input", "fetch");
    desk.refused(30, "invalid_input", "fetch --agent=");
}

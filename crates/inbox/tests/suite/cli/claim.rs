//! `claim`: taking a thread, alone.

use super::desk::{Desk, THREAD, keys, nothing, text};

#[test]
fn a_claim_answers_the_thread_and_its_lease() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    let claimed = desk.at(5, "claim --agent w").ok();
    assert_eq!(
        keys(&claimed),
        ["command", "lease", "next_event_id", "ok", "thread"]
    );
    assert_eq!(keys(&claimed["thread"]), THREAD);
    assert_eq!(claimed["thread"]["status"], "claimed");
    assert_eq!(claimed["thread"]["attempts"], 1);
    let lease = &claimed["lease"];
    assert_eq!(
        keys(lease),
        [
            "agent_id",
            "claimed_at",
            "epoch",
            "expires_at",
            "lease_token",
            "thread_id"
        ]
    );
    assert_eq!(lease["agent_id"], "w");
    assert_eq!(lease["epoch"], 1);
    assert_eq!(lease["claimed_at"], "2030-01-01T00:00:05.000Z");
    assert_eq!(
        lease["expires_at"], "2030-01-01T00:15:05.000Z",
        "900 seconds"
    );
    assert_eq!(claimed["next_event_id"], 2);
}

#[test]
fn without_a_thread_the_best_candidate_is_taken_and_an_agent_may_hold_several() {
    let desk = Desk::new();
    let first = desk.send("--to w");
    let urgent = desk.send("--to w --priority 1");
    let claim = || text(&desk.ok("claim --agent w")["thread"]["thread_id"]);
    assert_eq!(claim(), urgent);
    assert_eq!(claim(), first);
    let none = desk.nothing("claim --agent w");
    assert!(
        none["thread"].is_null() && none["lease"].is_null(),
        "{none}"
    );
    assert_eq!(none["next_event_id"], 4);
}

#[test]
fn a_live_lease_refuses_every_claim_its_holders_own_included() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    for agent in ["w", "other", "lead"] {
        let line = format!("claim --agent {agent} --thread {thread}");
        let error = desk.refused(20, "lease_conflict", &line);
        assert_eq!(error["details"]["agent_id"], "w");
        assert!(error["details"]["expires_at"].is_string());
        assert!(text(&error["hint"]).contains("--lease"), "{error}");
    }
}

#[test]
fn an_expired_lease_is_taken_over_with_a_new_epoch_and_token() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    let first = desk.at(0, "claim --agent w --lease-seconds 10").ok();
    desk.at(9, "claim --agent v --thread thr_1")
        .refused(20, "lease_conflict");
    let second = desk.at(10, "claim --agent v --thread thr_1").ok();
    assert_eq!(second["lease"]["epoch"], 2);
    assert_eq!(second["thread"]["attempts"], 2);
    assert_eq!(second["thread"]["assigned_to"], "v");
    assert_ne!(
        first["lease"]["lease_token"],
        second["lease"]["lease_token"]
    );
    let again = desk.at(910, "claim --agent w").ok();
    assert_eq!(again["thread"]["attempts"], 3);
}

#[test]
fn a_claim_of_what_is_not_addressed_to_the_caller_is_an_override_in_the_event() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("boss", &thread);
    let event = desk.events(1)[0].clone();
    assert_eq!(event["event_type"], "claimed");
    assert_eq!(event["payload_json"]["override"], true);
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    let event = desk.events(3)[0].clone();
    assert!(event["payload_json"].get("override").is_none(), "{event}");
}

#[test]
fn a_conversation_is_claimed_by_naming_it() {
    let desk = Desk::new();
    let thread = desk.send("--to w --kind question");
    desk.nothing("claim --agent w");
    desk.claim("w", &thread);
}

#[test]
fn lease_seconds_are_one_to_seven_days() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    for seconds in [
        "0",
        "-1",
        "604801",
        "99999999999999999999",
        "x",
        "1.5",
        "",
        "1e3",
    ] {
        let line = format!("claim --agent w --thread {thread} --lease-seconds={seconds}");
        let error = desk.refused(30, "invalid_input", &line);
        assert!(
            text(&error["message"]).contains(&format!("is {seconds}"))
                || text(&error["message"]).contains(&format!("{seconds:?}")),
            "{error}"
        );
        let line = format!("renew --agent w --thread {thread} --lease-seconds={seconds}");
        desk.refused(30, "invalid_input", &line);
    }
    let held = desk
        .at(
            0,
            &format!("claim --agent w --thread {thread} --lease-seconds 604800"),
        )
        .ok();
    assert_eq!(held["lease"]["expires_at"], "2030-01-08T00:00:00.000Z");
    let held = desk
        .at(
            1,
            &format!("renew --agent w --thread {thread} --lease-seconds 1"),
        )
        .ok();
    assert_eq!(held["lease"]["expires_at"], "2030-01-01T00:00:02.000Z");
}

#[test]
fn a_final_thread_is_not_claimed() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.ok(&format!("cancel --agent lead --thread {thread}"));
    let error = desk.refused(
        30,
        "invalid_transition",
        &format!("claim --agent w --thread {thread}"),
    );
    assert_eq!(error["details"]["status"], "cancelled");
    desk.nothing("claim --agent w");
}

#[test]
fn work_for_several_addresses_is_claimed_by_one_and_leaves_the_others_queues() {
    let desk = Desk::new();
    let thread = desk.send("--to a --to b");
    assert_eq!(desk.show(&thread)["thread"]["assigned_to"], "a");
    let claimed = desk.ok("claim --agent b");
    assert_eq!(claimed["thread"]["assigned_to"], "b");
    desk.nothing("claim --agent a");
    desk.nothing("fetch --agent a");
    desk.ok(&format!("release --agent b --thread {thread}"));
    assert_eq!(
        desk.show(&thread)["thread"]["assigned_to"],
        "a",
        "until somebody claims it again"
    );
    desk.ok("claim --agent a");
}

#[test]
fn a_token_alone_identifies_who_claims() {
    let desk = Desk::new();
    let one = desk.send("--to w");
    let two = desk.send("--to w");
    let lease = desk.claim("w", &one);
    let claimed = desk.ok(&format!("claim --lease {lease} --thread {two}"));
    assert_eq!(claimed["lease"]["agent_id"], "w");
    assert!(desk.events(3)[0]["payload_json"].get("override").is_none());
}

#[test]
fn a_name_alone_suffices_only_while_it_claimed_the_thread_once() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    desk.at(0, "claim --agent w --lease-seconds 10").ok();
    desk.at(1, "update --agent w --thread thr_1 --summary one")
        .ok();
    let second = desk.at(20, "claim --agent w --lease-seconds 10").ok();
    let lease = text(&second["lease"]["lease_token"]);
    for command in ["update", "done", "fail"] {
        let line = format!("{command} --agent w --thread thr_1 --summary two");
        let refused = desk.at(21, &line).refused(20, "lease_lost");
        assert!(text(&refused["error"]["hint"]).contains("--lease"));
    }
    desk.at(21, "renew --agent w --thread thr_1")
        .refused(20, "lease_lost");
    desk.at(21, "release --agent w --thread thr_1")
        .refused(20, "lease_lost");
    desk.at(
        21,
        &format!("update --lease {lease} --thread thr_1 --summary two"),
    )
    .ok();
    desk.at(
        21,
        &format!("done --agent w --lease {lease} --thread thr_1 --summary two"),
    )
    .ok();
    nothing(&desk.at(22, "fetch --agent w"));
}

//! `renew` and `release`.

use super::desk::{Desk, keys, text};

#[test]
fn renew_holds_from_now_and_keeps_token_and_epoch() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    let claimed = desk.at(0, "claim --agent w --lease-seconds 100").ok();
    let renewed = desk
        .at(50, "renew --agent w --thread thr_1 --lease-seconds 30")
        .ok();
    assert_eq!(
        keys(&renewed),
        ["command", "lease", "next_event_id", "ok", "thread"]
    );
    assert_eq!(renewed["lease"]["expires_at"], "2030-01-01T00:01:20.000Z");
    assert_eq!(
        renewed["lease"]["lease_token"],
        claimed["lease"]["lease_token"]
    );
    assert_eq!(renewed["lease"]["epoch"], 1);
    assert_eq!(
        renewed["lease"]["claimed_at"],
        claimed["lease"]["claimed_at"]
    );
    assert_eq!(renewed["thread"]["attempts"], 1);
    assert_eq!(renewed["next_event_id"], 3);
    let default = desk.at(51, "renew --agent w --thread thr_1").ok();
    assert_eq!(default["lease"]["expires_at"], "2030-01-01T00:15:51.000Z");
}

#[test]
fn an_expired_lease_is_not_renewed_even_when_nobody_took_it() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    let claimed = desk.at(0, "claim --agent w --lease-seconds 10").ok();
    let lease = text(&claimed["lease"]["lease_token"]);
    for command in [
        "renew --thread thr_1",
        "release --thread thr_1",
        "update --thread thr_1 --summary s",
        "done --thread thr_1 --summary s",
        "fail --thread thr_1 --summary s",
        "send --thread thr_1 --summary s",
        "reply --thread thr_1 --summary s",
        "send --thread thr_1 --kind result --summary s",
    ] {
        let before = desk.snapshot();
        desk.at(10, &format!("{command} --lease {lease}"))
            .refused(20, "lease_lost");
        assert_eq!(before, desk.snapshot(), "{command}");
    }
    for command in ["renew", "release"] {
        desk.at(10, &format!("{command} --agent w --thread thr_1"))
            .refused(20, "lease_lost");
    }
}

#[test]
fn release_gives_the_thread_back_to_its_address() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    let lease = desk.claim("boss", &thread);
    assert_eq!(desk.show(&thread)["thread"]["assigned_to"], "boss");
    let released = desk.ok(&format!("release --lease {lease} --thread {thread}"));
    assert_eq!(
        keys(&released),
        ["command", "next_event_id", "ok", "thread"]
    );
    assert_eq!(released["thread"]["status"], "pending");
    assert_eq!(released["thread"]["assigned_to"], "w");
    let shown = desk.show(&thread);
    assert!(shown["lease"].is_null());
    let types = desk.event_types();
    assert_eq!(types, ["created", "claimed", "released"]);
    assert_eq!(
        desk.events(2)[0]["payload_json"]["epoch"],
        2,
        "release raises the epoch"
    );
    let line = format!("update --lease {lease} --thread {thread} --summary s");
    desk.refused(20, "lease_lost", &line);
    let again = desk.ok("claim --agent w");
    assert_eq!(again["lease"]["epoch"], 3);
    assert_eq!(again["thread"]["attempts"], 2);
}

#[test]
fn a_pending_thread_has_nothing_to_renew_or_release() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    for command in ["renew", "release"] {
        let line = format!("{command} --agent w --thread {thread}");
        let error = desk.refused(30, "invalid_transition", &line);
        assert_eq!(error["details"]["status"], "pending");
        let line = format!("{command} --agent w --thread {thread} --lease lse_1_1_1");
        desk.refused(20, "lease_lost", &line);
    }
}

#[test]
fn renewals_wake_nobody_and_are_counted_in_the_cursor() {
    let desk = Desk::new();
    let thread = desk.send("--to w");
    desk.claim("w", &thread);
    desk.ok(&format!("renew --agent w --thread {thread}"));
    let quiet = desk.nothing("watch --after-event 2 --timeout-seconds 0");
    assert_eq!(quiet["next_event_id"], 3);
}

//! Who calls: flags, variables, tokens and sessions.

use super::desk::{Desk, args, text};

#[test]
fn from_and_agent_are_the_same_and_two_names_are_refused() {
    let desk = Desk::new();
    for who in ["--from lead", "--agent lead", "--from lead --agent LEAD"] {
        let sent = desk.ok(&format!("send {who} --to w --subject s"));
        assert_eq!(sent["message"]["from_agent"], "lead", "{who}");
    }
    for command in [
        "send --to w --subject s",
        "reply --thread thr_1 --summary s",
    ] {
        let error = desk.refused(
            30,
            "invalid_input",
            &format!("{command} --from a --agent b"),
        );
        let message = text(&error["message"]);
        assert!(
            message.contains("--from a") && message.contains("--agent b"),
            "{message}"
        );
    }
}

#[test]
fn a_write_without_an_identity_is_refused_and_a_read_needs_none() {
    let desk = Desk::new();
    desk.send("--to w");
    for line in [
        "send --to w --subject s",
        "send --thread thr_1 --summary s",
        "reply --thread thr_1 --summary s",
        "claim",
        "claim --thread thr_1",
        "renew --thread thr_1",
        "release --thread thr_1",
        "update --thread thr_1 --summary s",
        "done --thread thr_1 --summary s",
        "fail --thread thr_1 --summary s",
        "cancel --thread thr_1",
    ] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(text(&error["hint"]).contains("INBOX_AGENT"), "{error}");
        desk.with(&[("INBOX_AGENT", "")], line)
            .refused(30, "invalid_input");
    }
    for line in [
        "list",
        "show --thread thr_1",
        "export --thread thr_1",
        "watch --after-event 0",
        "wait-reply --thread thr_1 --kinds task",
    ] {
        desk.ok(line);
    }
}

#[test]
fn variables_stand_in_for_flags_and_flags_go_before_them() {
    let desk = Desk::new();
    let line = "send --to w --subject s";
    let me = [("INBOX_AGENT", "Me"), ("INBOX_SESSION", "sess-1")];
    let sent = desk.with(&me, line).ok();
    assert_eq!(sent["message"]["from_agent"], "me");
    assert_eq!(sent["message"]["from_session"], "sess-1");
    let sent = desk
        .with(&me, &format!("{line} --from you --session sess-2"))
        .ok();
    assert_eq!(sent["message"]["from_agent"], "you");
    assert_eq!(sent["message"]["from_session"], "sess-2");
    let empty = [
        ("INBOX_AGENT", "me"),
        ("INBOX_SESSION", ""),
        ("INBOX_LEASE", ""),
    ];
    assert!(desk.with(&empty, line).ok()["message"]["from_session"].is_null());
    let refused = desk
        .with(&[("INBOX_AGENT", "no name")], line)
        .refused(30, "invalid_input");
    assert!(
        text(&refused["error"]["message"]).starts_with("INBOX_AGENT"),
        "{refused}"
    );
    let bad = [("INBOX_AGENT", "me"), ("INBOX_LEASE", "lse_secret")];
    let refused = desk.with(&bad, line).refused(30, "invalid_input");
    assert!(
        !refused.to_string().contains("lse_secret"),
        "a token is not repeated"
    );
}

#[test]
fn a_lease_token_alone_identifies_its_holder() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    let lines = [
        "renew --thread thr_1",
        "update --thread thr_1 --summary s",
        "send --thread thr_1 --summary s",
        "reply --thread thr_1 --summary s",
        "done --thread thr_1 --summary s",
    ];
    for line in lines {
        let answer = desk.with(&[("INBOX_LEASE", &lease)], line).ok();
        let author = &answer["message"]["from_agent"];
        assert!(author.is_null() || author == "w", "{answer}");
    }
    assert!(desk.events(2).iter().all(|event| event["source"] == "w"));
}

#[test]
fn a_token_under_another_name_proves_nothing() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    for line in [
        "update --thread thr_1 --summary s",
        "renew --thread thr_1",
        "done --thread thr_1 --summary s",
    ] {
        desk.refused(
            20,
            "lease_lost",
            &format!("{line} --agent thief --lease {lease}"),
        );
    }
}

#[test]
fn a_token_that_was_never_given_out_is_lost() {
    let desk = Desk::new();
    desk.send("--to w");
    desk.claim("w", "thr_1");
    let line = "update --thread thr_1 --summary s --lease";
    desk.refused(20, "lease_lost", &format!("{line} lse_1_1_1"));
    desk.refused(20, "lease_lost", &format!("{line} lse_1_1_1 --agent w"));
    for token in ["", "lse_", "x", "lse_1_1", "lse_1_1_1_1", "lse_!_1_1"] {
        let line = format!("update --thread thr_1 --summary s --agent w --lease={token}");
        desk.refused(30, "invalid_input", &line);
    }
}

#[test]
fn the_session_that_claimed_is_a_proof_and_another_is_not() {
    let desk = Desk::new();
    desk.at(0, "send --from lead --to w --subject s").ok();
    desk.at(0, "claim --agent w --session one").ok();
    let update = "update --agent w --thread thr_1 --summary s";
    desk.at(1, &format!("{update} --session one")).ok();
    desk.at(1, &format!("{update} --session two"))
        .refused(20, "lease_lost");
    desk.at(1, update).ok();
    desk.at(1000, "claim --agent w --session two").ok();
    desk.at(1001, &format!("{update} --session one"))
        .refused(20, "lease_lost");
    desk.at(1001, update).refused(20, "lease_lost");
    desk.at(1001, &format!("{update} --session two")).ok();
    desk.refused(30, "invalid_input", "list --session a~b");
}

#[test]
fn names_and_addresses_that_are_none_are_refused() {
    let desk = Desk::new();
    let long = "a".repeat(65);
    for name in [
        "",
        " ",
        "a b",
        "-a",
        ".a",
        "_a",
        "ä",
        "a/b",
        "a\nb",
        "a\tb",
        "../../etc",
        "a'b",
        "a\"b",
        "a;b",
        "$(x)",
        "\u{202e}a",
        "\u{1b}[31m",
        "a\u{200b}",
        "０",
        &long,
    ] {
        let flag = format!("--from={name}");
        let error = desk.refused_args(
            30,
            "invalid_input",
            &args(&["send", &flag, "--to", "w", "--subject", "s"]),
        );
        if !name.is_empty() {
            let shown = format!("{name:?}");
            assert!(text(&error["message"]).contains(&shown), "{error}");
        }
        let flag = format!("--to={name}");
        desk.refused_args(
            30,
            "invalid_input",
            &args(&["send", "--from", "a", &flag, "--subject", "s"]),
        );
        let flag = format!("--agent={name}");
        desk.refused_args(30, "invalid_input", &args(&["claim", &flag]));
    }
    for address in [":", "role:", ":x", "a:b:c", "role:a b"] {
        desk.refused_args(
            30,
            "invalid_input",
            &args(&["send", "--from", "a", "--to", address, "--subject", "s"]),
        );
    }
    desk.ok(&format!(
        "send --from {} --to 0.a_b-c --subject s",
        "A".repeat(64)
    ));
}

#[test]
fn an_unknown_name_becomes_an_agent_at_its_first_write() {
    let desk = Desk::new();
    let agents = || {
        text(
            &desk.ok("doctor")["checks"]
                .as_array()
                .unwrap()
                .iter()
                .find(|check| check["name"] == "integrity")
                .unwrap()["message"],
        )
    };
    desk.send("--to w");
    assert!(agents().contains("1 agents"));
    desk.nothing("claim --agent idle");
    desk.ok("fetch --agent w");
    assert!(
        agents().contains("1 agents"),
        "nothing was written for them"
    );
    desk.ok("claim --agent w");
    assert!(agents().contains("2 agents"));
}

#[test]
fn an_agent_may_be_named_like_a_command() {
    let desk = Desk::new();
    let sent = desk
        .inbox
        .run([
            "--agent",
            "list",
            "send",
            "--to",
            "show",
            "--subject",
            "s",
            "--json",
        ])
        .ok();
    assert_eq!(sent["message"]["from_agent"], "list");
    let listed = desk.inbox.run(["--json", "--agent", "send", "list"]).ok();
    assert_eq!(listed["threads"].to_string(), "[]");
    desk.inbox.run(["--agent=show", "claim", "--json"]).ok();
}

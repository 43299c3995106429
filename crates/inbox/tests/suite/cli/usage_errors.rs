//! Bad input: a clear error, and nothing changed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::desk::{Desk, args, text};

#[test]
fn usage_errors_are_exit_30_and_json_wherever_the_flag_stands() {
    let desk = Desk::new();
    for line in [
        &["--json"][..],
        &["nonsense", "--json"],
        &["--json", "nonsense"],
        &["list", "--nonsense", "--json"],
        &["--json", "list", "extra"],
        &["show", "--json"],
        &["claim", "--agent", "--json"],
        &["list", "--limit", "--json"],
        &["init", "--limit", "3", "--json"],
        &["completions", "--json"],
        &["completions", "tcsh", "--json"],
        &["backup", "--json"],
        &["send", "--from", "a", "--from", "b", "--json"],
        &["list", "--agent", "a", "--agent", "b", "--json"],
        &["help", "nonsense", "--json"],
    ] {
        let outcome = desk.inbox.run(line);
        let refused = outcome.refused(30, "invalid_input");
        assert_eq!(super::desk::keys(&refused), ["error", "ok"]);
        assert!(refused["error"]["message"].is_string(), "{outcome}");
        assert!(outcome.stderr.is_empty(), "{outcome}");
        assert_eq!(outcome.stdout.lines().count(), 1, "{outcome}");
    }
}

#[test]
fn without_json_an_error_is_on_standard_error_alone() {
    let desk = Desk::new();
    for line in [
        &[][..],
        &["nonsense"],
        &["list", "--nonsense"],
        &["show"],
        &["show", "--thread", "thr_1"],
    ] {
        let outcome = desk.inbox.run(line);
        assert!(outcome.code == 30 || outcome.code == 40, "{outcome}");
        assert_eq!(outcome.stdout, "");
        assert!(outcome.stderr.starts_with("error: "), "{outcome}");
        assert!(outcome.stderr.contains("hint: "), "{outcome}");
    }
}

#[test]
fn a_mistyped_command_or_flag_is_answered_with_the_right_one() {
    let desk = Desk::new();
    let error = desk.refused(30, "invalid_input", "sned");
    assert!(text(&error["hint"]).contains("send"), "{error}");
    let error = desk.refused(30, "invalid_input", "list --stauts done");
    assert!(text(&error["hint"]).contains("--status"), "{error}");
}

#[test]
fn unknown_words_are_named_with_the_known_ones() {
    let desk = Desk::new();
    desk.send("--to w");
    for (line, word, known) in [
        (
            "send --from a --to w --subject s --kind taks",
            "taks",
            "task",
        ),
        ("send --from a --to w --subject s --kind=", "\"\"", "task"),
        (
            "send --from a --to w --subject s --priority hgih",
            "hgih",
            "urgent",
        ),
        (
            "send --from a --to w --subject s --priority 0",
            "\"0\"",
            "fyi",
        ),
        (
            "send --from a --to w --subject s --priority 6",
            "\"6\"",
            "fyi",
        ),
        (
            "send --from a --to w --subject s --ref-type epic --ref-id x",
            "epic",
            "phase",
        ),
        ("list --status open", "open", "pending"),
        ("list --status pending,,done", "\"\"", "pending"),
        ("fetch --agent a --status 1", "\"1\"", "pending"),
        ("watch --status open --timeout-seconds 0", "open", "pending"),
        (
            "wait-reply --thread thr_1 --kinds replies",
            "replies",
            "answer",
        ),
    ] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(text(&error["message"]).contains(word), "{line}: {error}");
        assert!(text(&error["hint"]).contains(known), "{line}: {error}");
    }
}

#[test]
fn a_payload_that_is_not_json_is_refused() {
    let desk = Desk::new();
    desk.send("--to w");
    let deep = "[".repeat(10_000) + &"]".repeat(10_000);
    let deep_object = "{\"a\":".repeat(10_000) + "1" + &"}".repeat(10_000);
    for payload in [
        "",
        " ",
        "{",
        "{bad",
        "{'a':1}",
        "nul",
        "[1,]",
        "{\"a\":1}x",
        "NaN",
        "Infinity",
        "01",
        "+1",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"tab\tin text\"",
        "\"\\x\"",
        &deep,
        &deep_object,
    ] {
        let flag = format!("--payload-json={payload}");
        for command in [
            &["send", "--from", "a", "--to", "w", "--subject", "s"][..],
            &[
                "reply",
                "--from",
                "a",
                "--thread",
                "thr_1",
                "--summary",
                "s",
            ],
        ] {
            let mut line = args(command);
            line.push(flag.clone());
            let error = desk.refused_args(30, "invalid_input", &line);
            assert!(
                text(&error["message"]).contains("--payload-json"),
                "{error}"
            );
            assert!(
                error.to_string().len() < 2000,
                "the payload is not repeated"
            );
        }
    }
    let error = desk.refused(
        30,
        "invalid_input",
        "send --from a --to w --subject s --context-json {",
    );
    assert!(
        text(&error["message"]).contains("--context-json"),
        "{error}"
    );
}

#[test]
fn json_is_kept_digit_for_digit_and_key_for_key() {
    let desk = Desk::new();
    for payload in [
        "1e+400",
        "-1e-400",
        "123456789012345678901234567890",
        "0.1000000000000000000001",
        "1.0",
        "true",
        "\"\"",
        "[]",
        "{}",
        "[[[[[[1]]]]]]",
        r#"{"z":1,"a":2,"m":{"b":[],"a":{}}}"#,
        r#""\u0000""#,
        r#"{"":""}"#,
        r#"["é","😀","\u001b[31m"]"#,
    ] {
        let mut line = args(&["send", "--from", "a", "--to", "w", "--subject", "s"]);
        line.push(format!("--payload-json={payload}"));
        let outcome = desk.inbox.run(&line);
        let sent = outcome.ok();
        assert!(
            outcome
                .stdout
                .contains(&format!("\"payload_json\":{payload},")),
            "{payload}: {outcome}"
        );
        let shown = desk.run(&format!(
            "show --thread {}",
            text(&sent["thread"]["thread_id"])
        ));
        assert!(
            shown
                .stdout
                .contains(&format!("\"payload_json\":{payload},")),
            "{payload}: {shown}"
        );
    }
    let sent = desk.ok("send --from a --to w --subject s --payload-json 1e400");
    let kept = sent["message"]["payload_json"].to_string();
    assert_eq!(kept, "1e+400", "the sign of an exponent is written out");
    let absent = desk.ok("send --from a --to w --subject s --payload-json null");
    assert_eq!(
        absent["message"]["payload_json"].to_string(),
        "{}",
        "null is no payload"
    );
    let twice = r#"send --from a --to w --subject s --payload-json {"a":1,"a":2}"#;
    let error = desk.refused(30, "invalid_input", twice);
    assert!(
        text(&error["message"]).contains("twice"),
        "two equal keys are no choice of ours: {error}"
    );
    let depth = "[".repeat(100) + &"]".repeat(100);
    desk.ok(&format!(
        "send --from a --to w --subject s --payload-json {depth}"
    ));
}

#[test]
fn a_payload_has_at_most_one_mebibyte() {
    // An argument has at most 128 KiB on Linux, so what is larger comes in through the operations.
    let desk = Desk::new();
    let store = inbox_store::Store::open(&inbox_store::Location::File(desk.inbox.store())).unwrap();
    let inbox = inbox_ops::Inbox::new(store);
    let caller = inbox_ops::Caller::local("a".parse().ok());
    let send = |size: usize| {
        let request = serde_json::json!({ "to": ["w"], "subject": "s", "payload_json": "x".repeat(size - 2) });
        let send: inbox_ops::Send = serde_json::from_value(request).unwrap();
        inbox_ops::Operation::run(&send, &inbox, &caller).map_err(|refusal| refusal.code.name())
    };
    assert!(send(1 << 20).is_ok());
    assert_eq!(send((1 << 20) + 1).err(), Some("too_large"));
}

#[test]
fn summaries_and_labels_have_their_limits() {
    let desk = Desk::new();
    let summary = "s".repeat(10_001);
    desk.refused(
        30,
        "too_large",
        &format!("send --from a --to w --subject s --summary {summary}"),
    );
    desk.ok(&format!(
        "send --from a --to w --subject s --summary {}",
        &summary[1..]
    ));
    for flag in ["--run", "--task", "--message-type"] {
        let long = "l".repeat(513);
        desk.refused(
            30,
            "too_large",
            &format!("send --from a --to w --subject s {flag} {long}"),
        );
        desk.refused(
            30,
            "invalid_input",
            &format!("send --from a --to w --subject s {flag}="),
        );
    }
    let many: String = (0..65).map(|number| format!("--to w{number} ")).collect();
    let error = desk.refused(
        30,
        "invalid_input",
        &format!("send --from a --subject s {many}"),
    );
    assert!(text(&error["message"]).contains("65"), "{error}");
}

#[test]
fn arguments_that_are_not_utf8_are_bad_input() {
    let desk = Desk::new();
    let before = desk.snapshot();
    for flag in [
        "--subject",
        "--body",
        "--to",
        "--from",
        "--artifact",
        "--db",
    ] {
        let words = [
            "send",
            "--from",
            "a",
            "--to",
            "w",
            "--subject",
            "s",
            "--json",
            flag,
        ];
        let mut line: Vec<OsString> = words.iter().map(OsString::from).collect();
        line.push(OsString::from_vec(vec![b'a', 0xff, 0xfe]));
        let outcome = desk.inbox.run(&line);
        assert_eq!(outcome.code, 30, "{flag}: {outcome}");
        assert_eq!(outcome.json()["ok"], false);
        let message = outcome.json()["error"]["message"].clone();
        // That a flag is there twice is said first.
        let is_twice = matches!(flag, "--subject" | "--from");
        let is_named = text(&message).contains("a\u{fffd}\u{fffd}");
        assert!(is_twice || is_named, "{flag}: {message}");
    }
    assert_eq!(before, desk.snapshot());
}

#[test]
fn refusals_are_decided_in_the_contracts_order() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    desk.send("--to w");
    desk.send("--to w");
    desk.ok("cancel --agent lead --thread thr_3");
    // Bad input before what is not found.
    desk.refused(
        30,
        "invalid_input",
        "update --agent w --thread thr_zz --summary ~",
    );
    desk.refused(
        30,
        "invalid_input",
        "claim --agent w --thread thr_zz --lease-seconds 0",
    );
    // Not found before leases.
    desk.refused(
        40,
        "thread_not_found",
        "update --agent w --thread thr_zz --summary s --lease lse_zz_1_1",
    );
    // A final status before a lost lease or another's.
    desk.refused(
        30,
        "invalid_transition",
        &format!("update --agent x --thread thr_3 --summary s --lease {lease}"),
    );
    // Pending without a lease, and with a token.
    desk.refused(
        30,
        "invalid_transition",
        "update --agent x --thread thr_2 --summary s",
    );
    desk.refused(
        20,
        "lease_lost",
        &format!("update --agent x --thread thr_2 --summary s --lease {lease}"),
    );
    // A wrong token before another's live lease.
    desk.refused(
        20,
        "lease_lost",
        "update --agent x --thread thr_1 --summary s --lease lse_1_9_9",
    );
    desk.refused(
        20,
        "lease_conflict",
        "update --agent x --thread thr_1 --summary s",
    );
}

#[test]
fn what_is_missing_or_out_of_range_is_named_as_the_usage_names_it() {
    let desk = Desk::new();
    let help = |line: &str, wanted: &str, command: &str| {
        let error = desk.refused(30, "invalid_input", line);
        assert!(text(&error["message"]).contains(wanted), "{line}: {error}");
        let hint = format!("inbox {command} --help");
        assert!(text(&error["hint"]).contains(&hint), "{line}: {error}");
    };
    help("token create", "--agent", "token create");
    help("agent show", "NAME", "agent show");
    help("channel show", "ID", "channel show");
    help("memory add --agent a", "--text", "memory add");
    help("list --limit 0", "--limit is 0", "list");
    help("list --limit x", "--limit", "list");
    help("send --from a --to w --subject=", "subject", "send");
    help("torture --seconds x", "a whole number from 1 on", "torture");
    help("torture --rounds 0", "a whole number from 1 on", "torture");
    help("torture --seed=-1", "a whole number from 0 on", "torture");
    help(
        "run --concurrency 257 --agent a",
        "a whole number from 1 to 256",
        "run",
    );
    for flag in ["--body-file", "--brief"] {
        let line = format!("send --from a --to w --subject s {flag} no/file");
        help(&line, "no/file", "send");
    }
    help("card validate no/file", "no/file", "card validate");
}

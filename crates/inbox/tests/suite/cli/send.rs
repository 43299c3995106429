//! `send`: opening threads and adding to them.

use super::desk::{Desk, MESSAGE, THREAD, args, keys, text};

#[test]
fn a_new_thread_is_answered_with_every_field_of_the_contract() {
    let desk = Desk::new();
    let sent = desk.ok("send --from Lead --to Backend --subject Add~posts");
    assert_eq!(
        keys(&sent),
        [
            "command",
            "delivery",
            "message",
            "next_event_id",
            "ok",
            "thread"
        ]
    );
    let thread = &sent["thread"];
    assert_eq!(keys(thread), THREAD);
    assert_eq!(thread["created_by"], "lead", "names are in lower case");
    assert_eq!(thread["assigned_to"], "backend");
    assert_eq!(thread["to"][0], "backend");
    assert_eq!(thread["run_id"], "");
    assert_eq!(thread["task_id"], "");
    assert_eq!(thread["priority"], "normal");
    assert_eq!(thread["attempts"], 0);
    let message = &sent["message"];
    assert_eq!(keys(message), MESSAGE);
    assert_eq!(message["kind"], "task");
    assert_eq!(message["summary"], "Add posts", "the subject stands in");
    assert_eq!(message["body"], "");
    assert_eq!(message["payload_json"].to_string(), "{}");
    assert_eq!(message["context"].to_string(), "{}");
    assert_eq!(message["to_agent"], "backend");
    assert_eq!(message["verified"], false);
    assert_eq!(message["auth"], "local");
    assert_eq!(message["expires_at"], serde_json::Value::Null);
    assert_eq!(thread["latest_message_id"], message["message_id"]);
    let time = text(&thread["created_at"]);
    assert!(
        time.len() == 24 && time.ends_with('Z') && time.contains('T'),
        "{time}"
    );
    assert_eq!(text(&message["uid"]).len(), 36);
    assert!(text(&thread["thread_id"]).starts_with("thr_"));
}

#[test]
fn every_flag_of_a_message_is_kept() {
    let desk = Desk::new();
    let sent = desk.ok(
        "send --agent lead --to a --to role:qa --to project:x --to A --subject S --run r1 --task T4 \
         --kind question --summary Short --body Long --payload-json {\"a\":1} --context-json {\"b\":2} \
         --message-type review.request --priority high --ref-type phase --ref-id p9 --session s1",
    );
    let (thread, message) = (&sent["thread"], &sent["message"]);
    assert_eq!(thread["run_id"], "r1");
    assert_eq!(thread["task_id"], "T4");
    assert_eq!(thread["ref_type"], "phase");
    assert_eq!(thread["ref_id"], "p9");
    assert_eq!(thread["to"].to_string(), r#"["a","role:qa","project:x"]"#);
    assert_eq!(message["to"], thread["to"]);
    assert_eq!(message["to_agent"], "a");
    assert_eq!(message["kind"], "question");
    assert_eq!(message["summary"], "Short");
    assert_eq!(message["body"], "Long");
    assert_eq!(message["payload_json"]["a"], 1);
    assert_eq!(message["context"]["b"], 2);
    assert_eq!(message["message_type"], "review.request");
    assert_eq!(message["from_session"], "s1");
    let shown = desk.show(&text(&thread["thread_id"]));
    assert_eq!(&shown["thread"], thread);
    assert_eq!(&shown["messages"][0], message);
}

#[test]
fn priorities_are_taken_by_name_and_number_and_given_by_name() {
    let desk = Desk::new();
    for (given, name) in [
        ("urgent", "urgent"),
        ("1", "urgent"),
        ("HIGH", "high"),
        ("2", "high"),
        ("3", "normal"),
        ("low", "low"),
        ("4", "low"),
        ("fyi", "fyi"),
        ("5", "fyi"),
    ] {
        let sent = desk.ok(&format!(
            "send --from a --to b --subject s --priority {given}"
        ));
        assert_eq!(sent["thread"]["priority"], name, "{given}");
    }
}

#[test]
fn delivery_says_how_each_address_was_read() {
    let desk = Desk::new();
    desk.ok("send --from known --to x --subject s");
    let sent = desk.ok(
        "send --from lead --to known --to stranger --to role:qa --to project:x --to ALL --subject s",
    );
    let delivery = sent["delivery"].as_array().unwrap();
    let modes: Vec<_> = delivery.iter().map(|one| text(&one["mode"])).collect();
    assert_eq!(modes, ["agent", "agent", "role", "tag", "broadcast"]);
    for one in delivery {
        assert_eq!(keys(one), ["address", "mode", "note", "reaches"]);
    }
    assert_eq!(delivery[0]["reaches"], 1);
    assert!(delivery[0]["note"].is_null());
    assert_eq!(delivery[1]["reaches"], 0);
    assert!(delivery[1]["note"].is_string());
    assert_eq!(delivery[4]["address"], "all");
}

#[test]
fn mail_expires_by_the_kind_of_its_address_unless_told_otherwise() {
    let desk = Desk::new();
    let expiry = |rest: &str| {
        let line = format!("send --from a --subject s {rest}");
        desk.at(0, &line).ok()["message"]["expires_at"].clone()
    };
    assert!(expiry("--to b").is_null());
    assert!(expiry("--to role:qa").is_null());
    assert_eq!(expiry("--to project:x"), "2030-01-08T00:00:00.000Z");
    assert_eq!(expiry("--to all"), "2030-01-01T04:00:00.000Z");
    assert!(expiry("--to all --to b").is_null());
    assert_eq!(expiry("--to b --ttl-hours 2"), "2030-01-01T02:00:00.000Z");
    desk.refused(
        30,
        "invalid_input",
        "send --from a --to b --subject s --ttl-hours 0",
    );
}

#[test]
fn a_message_is_added_as_an_event_and_changes_no_status() {
    let desk = Desk::new();
    let thread = desk.send("--to backend");
    let added = desk.ok(&format!(
        "send --from lead --thread {thread} --summary More"
    ));
    assert_eq!(added["message"]["kind"], "event");
    assert_eq!(added["thread"]["status"], "pending");
    assert_eq!(
        added["thread"]["latest_message_id"],
        added["message"]["message_id"]
    );
    let added = desk.ok(&format!(
        "send --from lead --thread {thread} --kind control --summary Stop --to x"
    ));
    assert_eq!(added["message"]["kind"], "control");
    assert_eq!(added["message"]["to_agent"], "x");
    assert_eq!(added["thread"]["to"].to_string(), r#"["backend"]"#);
    assert_eq!(desk.show(&thread)["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn a_final_thread_still_takes_messages() {
    let desk = Desk::new();
    let thread = desk.send("--to backend");
    desk.ok(&format!("cancel --agent lead --thread {thread}"));
    let added = desk.ok(&format!("send --from x --thread {thread} --summary After"));
    assert_eq!(added["thread"]["status"], "cancelled");
}

#[test]
fn what_belongs_to_a_new_thread_is_refused_with_a_thread() {
    let desk = Desk::new();
    let thread = desk.send("--to backend");
    for flag in [
        "--subject s",
        "--run r",
        "--task t",
        "--priority low",
        "--ref-type task",
        "--ref-id i",
    ] {
        let line = format!("send --from lead --thread {thread} --summary s {flag}");
        let error = desk.refused(30, "invalid_input", &line);
        let name = flag.split(' ').next().unwrap();
        assert!(text(&error["message"]).contains(name), "{error}");
    }
    desk.refused(
        30,
        "invalid_input",
        &format!("send --from lead --thread {thread}"),
    );
}

#[test]
fn a_new_thread_needs_a_subject_and_an_address() {
    let desk = Desk::new();
    for line in [
        "send --from a --to b",
        "send --from a --to b --summary s",
        "send --from a --to b --subject=",
        "send --from a --to b --subject ~",
        "send --from a --to b --subject s --summary ~",
        "send --from a --subject s",
        "send --from a --to= --subject s",
        "send --from a --to b --subject s --ref-type task",
        "send --from a --to b --subject s --ref-id x",
    ] {
        desk.refused(30, "invalid_input", line);
    }
    desk.refused_args(
        30,
        "invalid_input",
        &args(&["send", "--from", "a", "--to", "b", "--subject", "\n\t"]),
    );
    let error = desk.refused_args(
        30,
        "too_large",
        &args(&[
            "send",
            "--from",
            "a",
            "--to",
            "b",
            "--subject",
            &"x".repeat(1001),
        ]),
    );
    assert_eq!(error["details"]["size"], 1001);
    assert_eq!(error["details"]["limit"], 1000);
}

#[test]
fn prose_may_begin_with_a_dash() {
    let desk = Desk::new();
    let sent = desk.ok("send --from a --to b --subject -dash --summary --dashes --body -");
    assert_eq!(sent["thread"]["subject"], "-dash");
    assert_eq!(sent["message"]["summary"], "--dashes");
    assert_eq!(sent["message"]["body"], "-");
    let error = desk.refused(
        30,
        "invalid_input",
        "send --from a --to b --subject --summary",
    );
    assert!(text(&error["message"]).contains("--subject"), "{error}");
}

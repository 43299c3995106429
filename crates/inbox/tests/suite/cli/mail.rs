//! `read`, `ack`, `receipts`, `dead-letters`: mail from its sender to whoever handles it.

use serde_json::Value;

use super::desk::{Desk, MESSAGE, ids, keys, nothing, said, summaries, text};

/// Sends mail that is no work, and gives its message.
#[track_caller]
fn mail(desk: &Desk, to: &str, subject: &str) -> String {
    let line = format!("send --from lead --to {to} --kind event --subject {subject}");
    text(&desk.ok(&line)["message"]["message_id"])
}

/// How far a message has come towards an agent.
#[track_caller]
fn step(desk: &Desk, message: &str, agent: &str) -> String {
    let ladder = desk.ok(&format!("receipts {message}"));
    let rungs = ladder["receipts"].as_array().unwrap();
    let rung = rungs.iter().find(|rung| rung["agent_id"] == agent);
    text(&rung.unwrap_or_else(|| panic!("{ladder}"))["step"])
}

#[test]
fn read_gives_what_is_unread_once_and_oldest_first() {
    let desk = Desk::new();
    for subject in ["one", "two", "three"] {
        mail(&desk, "backend", subject);
    }
    let first = desk.ok("read --agent backend --limit 2");
    assert_eq!(
        keys(&first),
        [
            "command",
            "messages",
            "next_event_id",
            "ok",
            "unread",
            "unread_is_more"
        ]
    );
    assert_eq!(keys(&first["messages"][0]), MESSAGE);
    assert_eq!(summaries(&first), ["one", "two"]);
    assert_eq!(first["unread"], 1);
    assert_eq!(first["next_event_id"], 2, "the last that was delivered");
    let second = desk.ok("read --agent backend");
    assert_eq!(summaries(&second), ["three"]);
    assert_eq!(second["next_event_id"], 3);
    let none = desk.nothing("read --agent backend");
    assert_eq!(none["messages"].to_string(), "[]");
    assert_eq!(none["next_event_id"], 3);
    mail(&desk, "backend", "four");
    assert_eq!(summaries(&desk.ok("read --agent backend")), ["four"]);
}

#[test]
fn peeking_changes_nothing() {
    let desk = Desk::new();
    mail(&desk, "backend", "one");
    let before = desk.snapshot();
    for _ in 0..2 {
        let seen = desk.ok("read --agent backend --peek");
        assert_eq!(summaries(&seen), ["one"]);
        assert_eq!(seen["unread"], 1);
    }
    assert_eq!(before, desk.snapshot());
    let agents = desk.ok("agent list").to_string();
    assert!(!agents.contains("backend"), "a look makes no agent");
    assert_eq!(summaries(&desk.ok("read --agent backend")), ["one"]);
}

#[test]
fn a_cursor_reads_what_came_after_it_and_leaves_the_rest_unread() {
    let desk = Desk::new();
    for subject in ["one", "two", "three"] {
        mail(&desk, "backend", subject);
    }
    let later = desk.ok("read --agent backend --after-event 1");
    assert_eq!(summaries(&later), ["two", "three"]);
    assert_eq!(summaries(&desk.ok("read --agent backend")), ["one"]);
    desk.nothing("read --agent backend --after-event 99");
    for bad in ["-1", "x", "9223372036854775808"] {
        let line = format!("read --agent backend --after-event {bad}");
        let error = desk.refused(30, "invalid_input", &line);
        assert!(said(&error).contains(bad), "{error}");
    }
}

#[test]
fn own_messages_are_not_read_and_every_address_is() {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1 --role ops --tag project:shop");
    for to in ["backend", "s1", "role:ops", "project:shop", "all"] {
        mail(&desk, to, to);
    }
    desk.ok("send --from backend --to backend --kind event --subject own");
    let all = desk.ok("read --session s1");
    assert_eq!(
        summaries(&all),
        ["backend", "s1", "role:ops", "project:shop", "all"]
    );
    mail(&desk, "backend --to role:ops --to all", "thrice");
    assert_eq!(
        summaries(&desk.ok("read --session s1")),
        ["thrice"],
        "a message with three addresses comes once"
    );
}

#[test]
fn expired_mail_leaves_read_and_is_a_dead_letter() {
    let desk = Desk::new();
    let line = "send --from lead --to backend --kind event --subject Short --ttl-hours 1";
    desk.at(0, line).ok();
    nothing(&desk.at(3600, "read --agent backend"));
    let dead = desk.at(3600, "dead-letters").ok();
    let letter = &dead["letters"][0];
    assert_eq!(
        keys(letter),
        ["address", "explanation", "message", "reason", "since"]
    );
    assert_eq!(letter["reason"], "expired");
    assert_eq!(letter["address"], "backend");
    assert_eq!(letter["message"]["summary"], "Short");
    assert_eq!(letter["since"], "2030-01-01T01:00:00.000Z");
}

#[test]
fn a_message_is_acknowledged_once_for_an_agent_and_a_role() {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1 --role ops");
    desk.ok("session start --agent reviewer --session s2 --role ops");
    let message = mail(&desk, "role:ops", "one");
    let acked = desk.ok(&format!("ack {message} --session s1"));
    assert_eq!(
        keys(&acked),
        ["acked", "command", "next_event_id", "ok", "threads"]
    );
    assert_eq!(acked["acked"][0]["already"], false);
    assert_eq!(
        acked["threads"][0]["status"], "done",
        "a conversation is over"
    );
    let again = desk.ok(&format!("ack {message} --session s1"));
    assert_eq!(again["acked"][0]["already"], true);
    assert_eq!(again["acked"][0]["acked_at"], acked["acked"][0]["acked_at"]);
    let line = format!("ack {message} --session s2");
    let error = desk.refused(20, "already_exists", &line);
    assert!(said(&error).contains("backend"), "{error}");
    assert_eq!(error["details"]["acked_by"], "backend");
    desk.nothing("read --session s2");
}

#[test]
fn mail_to_a_tag_is_acknowledged_by_each_for_itself() {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1 --tag project:shop");
    desk.ok("session start --agent reviewer --session s2 --tag project:shop");
    let message = mail(&desk, "project:shop", "one");
    desk.ok(&format!("ack {message} --session s1"));
    assert_eq!(summaries(&desk.ok("read --session s2")), ["one"]);
    desk.ok(&format!("ack {message} --session s2"));
    assert_eq!(step(&desk, &message, "backend"), "acked");
    assert_eq!(step(&desk, &message, "reviewer"), "acked");
}

#[test]
fn acknowledging_work_keeps_its_status() {
    let desk = Desk::new();
    let thread = desk.send("--to backend");
    let acked = desk.ok(&format!("ack --thread {thread} --agent backend"));
    assert_eq!(acked["threads"][0]["status"], "pending");
    assert_eq!(ids(&desk.ok("fetch --agent backend")), [thread]);
}

#[test]
fn a_whole_thread_is_acknowledged_for_what_is_the_callers_in_it() {
    let desk = Desk::new();
    let thread = desk.send("--to backend --kind question");
    desk.ok(&format!(
        "reply --from backend --thread {thread} --summary R"
    ));
    desk.ok(&format!("reply --from lead --thread {thread} --summary S"));
    let acked = desk.ok(&format!("ack --thread {thread} --agent backend"));
    assert_eq!(acked["acked"].as_array().unwrap().len(), 2);
    let line = format!("ack --thread {thread} --agent stranger");
    let error = desk.refused(30, "not_allowed", &line);
    assert!(said(&error).contains("inbox read"), "{error}");
}

#[test]
fn what_cannot_be_acknowledged_is_refused_by_its_reason() {
    let desk = Desk::new();
    let message = mail(&desk, "backend", "one");
    for (exit, code, line) in [
        (30, "invalid_input", "ack --agent backend".to_owned()),
        (30, "invalid_input", format!("ack {message}")),
        (
            30,
            "invalid_input",
            format!("ack {message} --thread thr_1 --agent backend"),
        ),
        (
            30,
            "invalid_input",
            "ack message-one --agent backend".to_owned(),
        ),
        (
            40,
            "message_not_found",
            "ack msg_zzz --agent backend".to_owned(),
        ),
        (
            40,
            "thread_not_found",
            "ack --thread thr_zzz --agent backend".to_owned(),
        ),
        (30, "not_allowed", format!("ack {message} --agent reviewer")),
        (
            40,
            "message_not_found",
            format!("ack {message} msg_zzz --agent backend"),
        ),
    ] {
        let error = desk.refused(exit, code, &line);
        assert!(!error["hint"].is_null(), "{line}: {error}");
    }
    let ladder = desk.ok(&format!("receipts {message}"));
    assert_eq!(ladder["receipts"].to_string(), "[]", "nobody was reached");
}

#[test]
fn receipts_are_a_ladder() {
    let desk = Desk::new();
    desk.ok("agent add backend");
    let sent = desk.ok("send --from lead --to backend --subject Work");
    let (message, thread) = (
        text(&sent["message"]["message_id"]),
        text(&sent["thread"]["thread_id"]),
    );
    assert_eq!(step(&desk, &message, "backend"), "queued");
    desk.ok("read --agent backend");
    assert_eq!(step(&desk, &message, "backend"), "read");
    desk.ok(&format!("ack {message} --agent backend"));
    assert_eq!(step(&desk, &message, "backend"), "acked");
    desk.ok(&format!(
        "reply --from backend --thread {thread} --summary Yes"
    ));
    assert_eq!(step(&desk, &message, "backend"), "acted");
    let ladder = desk.ok(&format!("receipts {message}"));
    assert_eq!(
        keys(&ladder),
        [
            "command",
            "expires_at",
            "message_id",
            "next_event_id",
            "ok",
            "queued_at",
            "receipts",
            "to"
        ]
    );
    desk.refused(40, "message_not_found", "receipts msg_zzz");
    desk.refused(30, "invalid_input", "receipts thr_1");
    let error = desk.refused(30, "invalid_input", "receipts");
    assert!(said(&error).contains("message"), "{error}");
}

#[test]
fn readdressed_work_is_claimed_by_whom_it_reaches_now() {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1");
    let thread = desk.send("--to s1");
    desk.ok("session end s1");
    let dead = desk.ok("dead-letters");
    let message = text(&dead["letters"][0]["message"]["message_id"]);
    desk.nothing("claim --agent reviewer");
    let line = format!("dead-letters readdress {message} --to reviewer --agent lead");
    let posted = desk.ok(&line);
    assert_eq!(posted["command"], "dead-letters readdress");
    assert_eq!(posted["message"]["to"].to_string(), r#"["reviewer"]"#);
    assert_eq!(posted["message"]["parent_message_id"], message.as_str());
    let before = &posted["message"]["context"]["readdressed"];
    assert_eq!(before["message_id"], message.as_str());
    assert_eq!(desk.ok("dead-letters")["letters"].to_string(), "[]");
    let claimed = desk.ok("claim --agent reviewer");
    assert_eq!(claimed["thread"]["thread_id"], thread.as_str());
    let error = desk.refused(30, "invalid_transition", &line);
    assert!(said(&error).contains("no dead letter"), "{error}");
}

#[test]
fn expired_work_can_be_readdressed_too() {
    let desk = Desk::new();
    let line = "send --from lead --to role:ops --subject Work --ttl-hours 1";
    desk.at(0, line).ok();
    let at = 3700;
    nothing(&desk.at(at, "claim --agent reviewer"));
    let line = "dead-letters readdress msg_1 --to reviewer --agent lead";
    desk.at(at, line).ok();
    let claimed = desk.at(at, "claim --agent reviewer").ok();
    assert_eq!(claimed["thread"]["thread_id"], "thr_1");
    let dead = desk.at(at, "dead-letters").ok();
    assert_eq!(dead["letters"].to_string(), "[]");
}

#[test]
fn only_dead_letters_are_readdressed_and_only_to_an_address() {
    let desk = Desk::new();
    let message = mail(&desk, "backend", "one");
    for (exit, code, rest) in [
        (
            30,
            "invalid_transition",
            format!("{message} --to x --agent lead"),
        ),
        (
            40,
            "message_not_found",
            "msg_zzz --to x --agent lead".to_owned(),
        ),
        (30, "invalid_input", format!("{message} --agent lead")),
        (30, "invalid_input", format!("{message} --to x")),
        (
            30,
            "invalid_input",
            format!("{message} --to a~b --agent lead"),
        ),
        (30, "invalid_input", "--to x --agent lead".to_owned()),
    ] {
        let line = format!("dead-letters readdress {rest}");
        desk.refused(exit, code, &line);
    }
    for limit in ["0", "x", "10001"] {
        let line = format!("dead-letters --limit {limit}");
        desk.refused(30, "invalid_input", &line);
    }
}

#[test]
fn the_sender_is_told_how_its_addresses_were_read() {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1 --role ops --tag project:shop");
    let delivery = |to: &str| -> Value {
        let sent = desk.ok(&format!("send --from lead --to {to} --subject s"));
        sent["delivery"][0].clone()
    };
    for (to, mode, reaches, says) in [
        ("backend", "agent", 1, ""),
        ("s1", "session", 1, ""),
        ("role:ops", "role", 1, ""),
        ("project:shop", "tag", 1, ""),
        ("all", "broadcast", 1, ""),
        ("nobody-yet", "agent", 0, "first who does"),
        ("role:none", "role", 0, "waits"),
        ("project:none", "tag", 0, "until it expires"),
    ] {
        let found = delivery(to);
        assert_eq!(found["mode"], mode, "{found}");
        assert_eq!(found["reaches"], reaches, "{found}");
        let note = found["note"].as_str().unwrap_or_default();
        assert!(note.contains(says), "{found}");
    }
    let bare = delivery("ops");
    assert_eq!(
        bare["mode"], "role",
        "a bare name is a role when no agent has it"
    );
}

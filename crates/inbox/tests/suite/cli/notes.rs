//! `note`, routes and `config`: who hears of what, and where that is said.

use super::desk::{Desk, keys, said, summaries, text};

/// A file with a route for each of these.
fn routes(list: &[(&str, &str, &str)]) -> String {
    let mut file = String::new();
    for (on, to, priority) in list {
        file.push_str(&format!("[[route]]\non = {on:?}\nto = [{to}]\n"));
        if !priority.is_empty() {
            file.push_str(&format!("priority = {priority}\n"));
        }
    }
    file
}

/// Work of the backend, claimed: its thread and token.
fn work(desk: &Desk, rest: &str) -> (String, String) {
    let thread = desk.send(&format!("--to backend {rest}"));
    let lease = desk.claim("backend", &thread);
    (thread, lease)
}

/// A setting, as `config` shows it: its value and where it came from.
#[track_caller]
fn setting(desk: &Desk, variables: &[(&str, &str)], name: &str) -> (String, String) {
    let shown = desk.with(variables, "config").ok();
    let rows = shown["settings"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(keys(row), ["name", "origin", "value"]);
    (row["value"].to_string(), text(&row["origin"]))
}

#[test]
fn notes_on_an_entity_are_one_thread_that_show_finds_by_the_entity() {
    let desk = Desk::new();
    let first = desk.ok("note --agent backend --ref task:T1 --note First~line");
    assert_eq!(first["thread"]["ref_type"], "task");
    assert_eq!(first["thread"]["ref_id"], "T1");
    assert_eq!(first["message"]["message_type"], "task.note");
    let second = desk.ok("note --agent reviewer --ref task:T1 --note Second --priority 2");
    assert_eq!(second["thread"]["thread_id"], first["thread"]["thread_id"]);
    assert_eq!(second["message"]["priority"], "high");
    let shown = desk.ok("show --ref task:T1");
    assert_eq!(summaries(&shown), ["First line", "Second"]);
    desk.ok("send --from lead --to backend --subject About --ref-type task --ref-id T1");
    let shown = desk.ok("show --ref task:T1");
    assert_eq!(shown["related"][0]["subject"], "About");
    for sort in ["phase", "stage", "project", "agent"] {
        let posted = desk.ok(&format!("note --agent backend --ref {sort}:x --note n"));
        assert_eq!(posted["message"]["message_type"], format!("{sort}.note"));
    }
}

#[test]
fn who_is_to_be_notified_finds_the_note_at_once() {
    let desk = Desk::new();
    let line = "note --agent backend --ref task:T1 --note Look --notify reviewer --notify role:ops";
    let posted = desk.ok(line);
    assert_eq!(posted["delivery"].as_array().unwrap().len(), 2);
    let mail = desk.ok("read --agent reviewer");
    assert_eq!(summaries(&mail), ["Look"]);
    assert_eq!(mail["messages"][0]["body"], "Look");
    desk.ok("session start --agent operator --session s1 --role ops");
    assert_eq!(summaries(&desk.ok("read --session s1")), ["Look"]);
    desk.nothing("read --agent stranger");
}

#[test]
fn a_note_that_says_nothing_or_is_about_nothing_is_refused() {
    let desk = Desk::new();
    for (line, says) in [
        ("note --agent backend --ref task:T1 --note=", "note"),
        ("note --agent backend --ref task:T1 --note ~~", "note"),
        ("note --agent backend --ref task:T1", "note"),
        ("note --agent backend --note x", "--ref"),
        ("note --agent backend --ref T1 --note x", "T1"),
        ("note --agent backend --ref mail:1 --note x", "mail:1"),
        ("note --agent backend --ref task: --note x", "task:"),
        ("note --ref task:T1 --note x", "INBOX_AGENT"),
        (
            "note --agent backend --ref task:T1 --note x --notify a~b",
            "a b",
        ),
        (
            "note --agent backend --ref task:T1 --note x --priority 9",
            "9",
        ),
        ("show", "--ref"),
        ("show --ref task:T1 --thread thr_1", "--ref"),
        ("show --ref nothing", "nothing"),
    ] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(said(&error).contains(says), "{line}: {error}");
    }
    let error = desk.refused(40, "thread_not_found", "show --ref task:T1");
    assert!(said(&error).contains("inbox note"), "{error}");
    assert_eq!(error["details"]["ref"], "task:T1");
}

#[test]
fn routes_tell_whom_they_name_of_what_is_blocked_by_its_sort_too() {
    let desk = Desk::new();
    let file = routes(&[
        ("task.blocked", r#""lead", "operator""#, "1"),
        ("spec_gap", r#""role:ba""#, "\"high\""),
        ("blocker.tool_failure", r#""infra""#, ""),
    ]);
    desk.file(".agents/inbox.toml", file);
    for (sort, who, also) in [
        ("spec_gap", "role:ba", "spec_gap"),
        ("tool_failure", "infra", "blocker.tool_failure"),
    ] {
        let (thread, lease) = work(&desk, "");
        let line = format!(
            "update --lease {lease} --thread {thread} --status blocked --summary Stuck --payload-json {{\"blocker_type\":{sort:?}}}"
        );
        let blocked = desk.ok(&line);
        assert_eq!(
            blocked["notified"].to_string(),
            format!("[{who:?},\"operator\"]"),
            "the creator hears of it anyway, and once"
        );
        let shown = desk.show(&thread);
        let notices: Vec<_> = shown["messages"].as_array().unwrap()[2..].to_vec();
        assert_eq!(notices[0]["message_type"], also);
        assert_eq!(notices[0]["from_agent"], "system");
        assert_eq!(notices[1]["message_type"], "task.blocked");
        assert_eq!(notices[1]["priority"], "urgent");
        assert_eq!(
            notices[1]["parent_message_id"],
            blocked["message"]["message_id"]
        );
    }
    assert_eq!(
        summaries(&desk.ok("read --agent operator")),
        ["backend blocked: Stuck", "backend blocked: Stuck"]
    );
    assert_eq!(
        summaries(&desk.ok("read --agent infra")),
        ["backend tool_failure: Stuck"]
    );
    assert_eq!(
        summaries(&desk.ok("read --agent lead")),
        ["Stuck", "Stuck"],
        "the creator always hears of it"
    );
}

#[test]
fn routes_tell_of_notes_and_of_what_is_complete() {
    let desk = Desk::new();
    let file = routes(&[
        ("*.note", r#""archivist""#, "\"fyi\""),
        ("phase.complete", r#""engine", "operator""#, "2"),
        ("task.failed", r#""operator""#, ""),
    ]);
    desk.file(".agents/inbox.toml", file);
    let note = desk.ok("note --agent backend --ref stage:S --note n");
    assert_eq!(note["message"]["to"].to_string(), r#"["archivist"]"#);
    assert_eq!(note["message"]["priority"], "fyi");
    let (thread, lease) = work(&desk, "--ref-type phase --ref-id P1");
    let done = desk.ok(&format!(
        "done --lease {lease} --thread {thread} --summary Shipped"
    ));
    assert_eq!(done["notified"].to_string(), r#"["engine","operator"]"#);
    let mail = desk.ok("read --agent engine");
    assert_eq!(mail["messages"][0]["message_type"], "phase.complete");
    assert_eq!(mail["messages"][0]["priority"], "high");
    let (thread, lease) = work(&desk, "");
    let done = desk.ok(&format!(
        "done --lease {lease} --thread {thread} --summary Shipped"
    ));
    assert!(done["notified"].is_null(), "a task is no phase: {done}");
    let (thread, lease) = work(&desk, "");
    desk.ok(&format!(
        "fail --lease {lease} --thread {thread} --summary No"
    ));
    assert_eq!(desk.ok("read --agent operator")["unread"], 0);
}

#[test]
fn a_route_that_cannot_be_followed_is_reported_and_holds_nobody_up() {
    let desk = Desk::new();
    desk.file(
        ".agents/inbox.toml",
        routes(&[("task.complete", r#""s1", "engine""#, "")]),
    );
    desk.ok("session start --agent operator --session s1");
    desk.ok("session end s1");
    let (thread, lease) = work(&desk, "");
    let done = desk.ok(&format!(
        "done --lease {lease} --thread {thread} --summary ok"
    ));
    assert_eq!(done["notified"].to_string(), r#"["engine"]"#);
    let warning = done["warnings"].to_string();
    assert!(
        warning.contains("task.complete") && warning.contains("s1"),
        "{warning}"
    );
}

#[test]
fn config_shows_each_value_and_where_it_came_from() {
    let desk = Desk::new();
    let own = "[guard]\nmax_turns = 7\n[expiry]\ntag_hours = 1\n";
    desk.file(".config/inbox/inbox.toml", own);
    desk.file(".agents/inbox.toml", "[expiry]\ntag_hours = 2\n");
    let (value, origin) = setting(&desk, &[], "guard.max_turns");
    assert_eq!(value, "7");
    assert!(origin.ends_with(".config/inbox/inbox.toml"), "{origin}");
    let (value, origin) = setting(&desk, &[], "expiry.tag_hours");
    assert_eq!(value, "2");
    assert!(origin.ends_with(".agents/inbox.toml"), "{origin}");
    let default = ("200".to_owned(), "default".to_owned());
    assert_eq!(setting(&desk, &[], "guard.max_hops"), default);
    let env = [("INBOX_EXPIRY_TAG_HOURS", "3")];
    let (value, origin) = setting(&desk, &env, "expiry.tag_hours");
    assert_eq!(
        (value.as_str(), origin.as_str()),
        ("3", "INBOX_EXPIRY_TAG_HOURS")
    );
    let sent = desk.with(&env, "send --from lead --to project:x --subject s");
    let lives = |answer: &serde_json::Value| {
        let time = |key: &str| {
            text(&answer["message"][key])[11..13]
                .parse::<i32>()
                .unwrap()
        };
        (time("expires_at") - time("created_at") + 24) % 24
    };
    assert_eq!(lives(&sent.ok()), 3);
    let sent = desk.ok("send --from lead --to project:x --subject s");
    assert_eq!(lives(&sent), 2);
    let lean = desk.inbox.run(["config"]);
    assert!(lean.stdout.contains("expiry.tag_hours  2  "), "{lean}");
}

#[test]
fn what_cannot_be_used_is_refused_with_its_file_its_name_and_what_to_do() {
    let desk = Desk::new();
    for (file, says) in [
        ("[exp", "line 1"),
        ("bogus = 1", "bogus"),
        ("[expiry]\nagent_hour = 1", "agent_hour"),
        ("[expiry]\nagent_hours = \"x\"", "expiry.agent_hours"),
        ("[expiry]\nagent_hours = 1.5", "expiry.agent_hours"),
        ("[expiry]\nagent_hours = -1", "expiry.agent_hours is -1"),
        ("[expiry]\nagent_hours = 87601", "87600"),
        ("[presence]\ndead_after_minutes = 0", "dead_after_minutes"),
        ("[guard]\nmax_turns = 99999999999999999999", ""),
        ("[expiry]\nrole_hours = 1\nrole_hours = 2", "duplicate"),
        ("route = 1", "route"),
        ("[[route]]\non = \"x\"", "route 1"),
        ("[[route]]\non = \"task.blocked\"\nto = []", "task.blocked"),
        (
            "[[route]]\non = \"task.blokced\"\nto = [\"a\"]",
            "task.blokced",
        ),
        ("[[route]]\non = \"x\"\nto = [\"a b\"]", "a b"),
        ("[[route]]\non = \"\"\nto = [\"a\"]", "event"),
        (
            "[[route]]\non = \"x\"\nto = [\"a\"]\n[[route]]\non = \"y\"\nto = [\"b\"]\npriority = 9",
            "route 2",
        ),
        ("[prompt]\nmemory = \"ls\"", "prompt.memory"),
    ] {
        desk.file(".agents/inbox.toml", file);
        for line in ["list", "config", "send --from lead --to b --subject s"] {
            let error = desk.run(line).refused(30, "invalid_input")["error"].clone();
            let said = said(&error);
            assert!(said.contains(".agents/inbox.toml"), "{file}: {said}");
            assert!(said.contains(says), "{file}: {said}");
            assert!(said.contains("inbox config"), "{file}: {said}");
        }
    }
    desk.file(".agents/inbox.toml", "");
    assert_eq!(desk.ok("list")["threads"].to_string(), "[]");
}

#[test]
fn what_the_environment_says_wrong_is_refused_with_the_variable() {
    let desk = Desk::new();
    for (name, value) in [
        ("INBOX_GUARD_MAX_TURNS", "x"),
        ("INBOX_GUARD_MAX_TURNS", "\"5\""),
        ("INBOX_GUARD_MAX_TURNS", "-1"),
        ("INBOX_GUARD_WINDOW_MINUTES", "0"),
        ("INBOX_EXPIRY_AGENT_HOURS", "999999999999"),
        ("INBOX_ROUTE", "[1]"),
        ("INBOX_PROMPT_MEMORY", "ls"),
    ] {
        let error = desk.with(&[(name, value)], "list");
        let error = error.refused(30, "invalid_input")["error"].clone();
        assert!(said(&error).contains(name), "{value}: {error}");
    }
}

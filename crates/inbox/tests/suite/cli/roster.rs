//! `agent …` and `session …`: who there is, who is there now, and by what they are known.

use serde_json::Value;

use super::desk::{Desk, ids, keys, nothing, said, summaries, text};

/// The names of the agents that are listed.
fn names(desk: &Desk, line: &str) -> Vec<String> {
    let listed = desk.ok(line);
    let agents = listed["agents"].as_array().unwrap();
    agents
        .iter()
        .map(|agent| text(&agent["agent_id"]))
        .collect()
}

fn sessions(answer: &Value) -> Vec<String> {
    let sessions = answer["sessions"].as_array().unwrap();
    sessions
        .iter()
        .map(|session| text(&session["session_id"]))
        .collect()
}

#[test]
fn an_agent_is_added_by_its_name_as_a_word_or_behind_the_flag() {
    let desk = Desk::new();
    let word = desk.ok("agent add backend");
    assert_eq!(keys(&word), ["agent", "command", "next_event_id", "ok"]);
    assert_eq!(word["command"], "agent add");
    assert_eq!(word["agent"]["kind"], "agent");
    let flag = desk.ok("agent add --name reviewer");
    assert_eq!(flag["agent"]["agent_id"], "reviewer");
    let both = desk.ok("agent add operator --name The~operator --kind human");
    assert_eq!(both["agent"]["agent_id"], "operator");
    assert_eq!(both["agent"]["name"], "The operator");
    assert_eq!(
        names(&desk, "agent list"),
        ["backend", "operator", "reviewer"]
    );
    assert_eq!(names(&desk, "agent list --kind human"), ["operator"]);
    let error = desk.refused(30, "invalid_input", "agent add");
    assert!(said(&error).contains("inbox agent add NAME"), "{error}");
}

#[test]
fn who_is_there_already_is_not_added_again_and_can_be_changed() {
    let desk = Desk::new();
    desk.ok("agent add backend");
    let error = desk.refused(20, "already_exists", "agent add backend");
    assert!(said(&error).contains("inbox agent set backend"), "{error}");
    let line = "agent set backend --persona I~build. --account-id 0.0.5 --inbound-topic-id 0.0.6 --outbound-topic-id 0.0.7";
    let set = desk.ok(line);
    assert_eq!(set["agent"]["persona"], "I build.");
    assert_eq!(set["agent"]["inbound_topic_id"], "0.0.6");
    for bad in ["xyz", "0.0.x", "0.0.5@0.0.6", "1.2"] {
        let line = format!("agent set backend --account-id {bad}");
        let error = desk.refused(30, "invalid_input", &line);
        assert!(said(&error).contains(bad), "{error}");
        assert!(said(&error).contains("0.0.N"), "{error}");
    }
    let shown = desk.ok("agent show backend");
    assert_eq!(shown["agent"]["account_id"], "0.0.5");
    let cleared = desk.ok("agent set backend --persona=");
    assert!(cleared["agent"]["persona"].is_null(), "{cleared}");
}

#[test]
fn nobody_has_a_reserved_name_or_one_that_looks_like_it() {
    let desk = Desk::new();
    for name in [
        "human", "system", "all", "HUMAN", "hurnan", "systern", "a11",
    ] {
        let error = desk.refused(30, "not_allowed", &format!("agent add {name}"));
        assert!(said(&error).contains("reserved"), "{name}: {error}");
    }
    desk.ok("agent add backend");
    for title in ["Human", "Hum\u{430}n", "sys\u{200b}tem"] {
        let line = format!("agent set backend --name {title}");
        let error = desk.refused(30, "not_allowed", &line);
        assert!(said(&error).contains("reserved"), "{title}: {error}");
    }
    desk.ok("agent add reviewer --name The~reviewer");
    for title in [
        "Backend",
        "b\u{430}ckend",
        "back\u{200b}end",
        "bac\u{202e}kend",
    ] {
        let line = format!("agent set reviewer --name {title}");
        let error = desk.refused(20, "already_exists", &line);
        assert!(said(&error).contains("backend"), "{title}: {error}");
    }
    desk.ok("agent set backend --name Backend");
}

#[test]
fn what_is_no_name_and_no_kind_is_refused_with_what_would_be() {
    let desk = Desk::new();
    for bad in ["a~b", "role:x", "-x", "b\u{430}ckend", "a/b", ".x"] {
        let error = desk.refused(30, "invalid_input", &format!("agent add --name={bad}"));
        assert!(said(&error).contains("letters, digits"), "{bad}: {error}");
    }
    let long = "x".repeat(65);
    desk.refused(30, "invalid_input", &format!("agent add {long}"));
    let error = desk.refused(30, "invalid_input", "agent add x --kind robot");
    assert!(said(&error).contains("agent, human"), "{error}");
    let error = desk.refused(30, "invalid_input", "agent add x --kind system");
    assert!(said(&error).contains("agent, human"), "{error}");
    for line in ["show ghost", "set ghost --name G", "remove ghost"] {
        let error = desk.refused(40, "agent_not_found", &format!("agent {line}"));
        assert!(said(&error).contains("ghost"), "{error}");
        assert_eq!(error["details"]["agent_id"], "ghost");
    }
}

#[test]
fn an_agent_is_shown_with_what_it_holds_and_has_not_read() {
    let desk = Desk::new();
    let work = desk.send("--to backend");
    desk.send("--to backend");
    desk.claim("backend", &work);
    let shown = desk.ok("agent show backend");
    assert_eq!(
        keys(&shown),
        ["agent", "command", "holds", "next_event_id", "ok", "unread"]
    );
    assert_eq!(shown["holds"][0]["thread_id"], work.as_str());
    assert_eq!(shown["holds"].as_array().unwrap().len(), 1);
    assert_eq!(shown["unread"], 2);
    desk.ok("read --agent backend");
    assert_eq!(desk.ok("agent show backend")["unread"], 0);
}

#[test]
fn who_was_removed_is_back_with_its_next_write_and_its_mail_is_there() {
    let desk = Desk::new();
    desk.ok("agent add backend");
    let started = desk.ok("session start --agent backend --session s1");
    assert_eq!(started["session"]["state"], "alive");
    desk.send("--to backend");
    desk.ok("agent remove backend");
    assert_eq!(names(&desk, "agent list"), ["lead"]);
    assert_eq!(desk.ok("session list")["sessions"].to_string(), "[]");
    let mail = desk.ok("read --agent backend");
    assert_eq!(summaries(&mail), ["Work"]);
    desk.ok("send --from backend --to lead --subject Back");
    assert_eq!(names(&desk, "agent list"), ["backend", "lead"]);
}

#[test]
fn a_session_lives_through_its_states_and_says_what_it_is() {
    let desk = Desk::new();
    let line = "session start --agent backend --session s1 --role architect --tag project:shop,concern:speed --client shell";
    let started = desk.ok(line);
    assert_eq!(
        keys(&started),
        ["command", "next_event_id", "ok", "session", "unread"]
    );
    let session = &started["session"];
    assert_eq!(session["roles"].to_string(), r#"["architect"]"#);
    assert_eq!(
        session["tags"].to_string(),
        r#"["concern:speed","project:shop"]"#
    );
    assert_eq!(session["client"], "shell");
    let set = desk.ok("session set s1 --add role:ops --add domain:api --drop project:shop");
    assert_eq!(
        set["session"]["roles"].to_string(),
        r#"["architect","ops"]"#
    );
    assert_eq!(
        set["session"]["tags"].to_string(),
        r#"["concern:speed","domain:api"]"#
    );
    let replaced = desk.ok("session set s1 --role reviewer");
    assert_eq!(replaced["session"]["roles"].to_string(), r#"["reviewer"]"#);
    assert_eq!(replaced["session"]["tags"].as_array().unwrap().len(), 2);
    for (step, state) in [
        ("beat", "alive"),
        ("freeze", "frozen"),
        ("beat", "frozen"),
        ("resume", "alive"),
        ("end", "dead"),
    ] {
        let answer = desk.ok(&format!("session {step} s1"));
        assert_eq!(answer["session"]["state"], state, "{step}");
    }
    for step in ["beat", "freeze", "resume"] {
        let line = format!("session {step} s1");
        let error = desk.refused(30, "invalid_transition", &line);
        assert!(said(&error).contains("inbox session start"), "{error}");
    }
    assert_eq!(sessions(&desk.ok("session list")), [""; 0]);
    assert_eq!(sessions(&desk.ok("session list --state dead")), ["s1"]);
    let again = desk.ok("session start --agent backend --session s1");
    assert_eq!(again["session"]["state"], "alive");
    assert_eq!(
        again["session"]["roles"].to_string(),
        r#"["reviewer"]"#,
        "begun again, it is what it was"
    );
}

#[test]
fn a_session_that_is_not_there_is_not_found_whoever_asks() {
    let desk = Desk::new();
    for step in ["beat", "set", "freeze", "resume", "end"] {
        for who in ["", " --agent lead"] {
            let line = format!("session {step} nope{who}");
            let error = desk.refused(40, "session_not_found", &line);
            assert_eq!(error["details"]["session_id"], "nope", "{line}");
        }
        let error = desk.refused(30, "invalid_input", &format!("session {step}"));
        assert!(said(&error).contains("INBOX_SESSION"), "{error}");
    }
}

#[test]
fn what_is_no_role_tag_state_or_id_is_refused() {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1");
    for (line, value) in [
        ("session start --agent backend --role a~b", "a b"),
        ("session start --agent backend --tag plain", "plain"),
        ("session set s1 --add x:", "x:"),
        ("session set s1 --drop :x", ":x"),
        ("session set s1 --tag all", "all"),
        ("session list --state asleep", "asleep"),
        (
            "session start --agent backend --session has~space",
            "has space",
        ),
    ] {
        let error = desk.refused(30, "invalid_input", line);
        assert!(said(&error).contains(value), "{line}: {error}");
        assert!(!error["hint"].is_null(), "{line}: {error}");
    }
    let many: Vec<_> = (0..200).map(|n| format!("project:p{n}")).collect();
    let line = format!("session set s1 --tag {}", many.join(","));
    let error = desk.refused(30, "invalid_input", &line);
    assert!(said(&error).contains("200"), "{error}");
    let error = desk.refused(30, "invalid_input", "session start");
    assert!(said(&error).contains("INBOX_AGENT"), "{error}");
}

#[test]
fn the_session_in_the_environment_is_who_calls() {
    let desk = Desk::new();
    let env = [("INBOX_SESSION", "s1")];
    desk.ok("session start --agent backend --session s1 --tag project:shop");
    let sent = desk.with(&env, "send --to lead --subject Hello").ok();
    assert_eq!(sent["message"]["from_agent"], "backend");
    assert_eq!(sent["message"]["from_session"], "s1");
    let thread = text(&sent["thread"]["thread_id"]);
    desk.ok(&format!("reply --from lead --thread {thread} --summary Hi"));
    let woke = desk
        .with(
            &env,
            &format!("wait-reply --thread {thread} --timeout-seconds 0"),
        )
        .ok();
    assert_eq!(woke["message"]["summary"], "Hi");
    let tagged = desk.send("--to project:shop");
    let mail = desk.with(&env, "read").ok();
    assert_eq!(summaries(&mail), ["Hi", "Work"]);
    nothing(&desk.with(&env, "read"));
    assert_eq!(ids(&desk.with(&env, "fetch").ok()), [tagged.as_str()]);
    let claimed = desk.with(&env, "claim").ok();
    assert_eq!(claimed["lease"]["agent_id"], "backend");
    // The session is the lease's own: no token is needed.
    let line = format!("update --thread {tagged} --summary On~it");
    desk.with(&env, &line).ok();
    let events = desk
        .with(&env, "watch --after-event 0 --timeout-seconds 0")
        .ok();
    for event in events["events"].as_array().unwrap() {
        assert_ne!(event["source"], "backend", "own events wake nobody");
    }
    let line = "send --from reviewer --session s1 --to lead --subject x";
    let other = desk.with(&env, line);
    let error = other.refused(30, "invalid_input");
    assert!(said(&error["error"]).contains("backend"), "{error}");
}

#[test]
fn a_session_that_nobody_began_is_nobody() {
    let desk = Desk::new();
    let env = [("INBOX_SESSION", "s9")];
    for line in ["send --to lead --subject x", "read", "claim", "fetch"] {
        let error = desk.with(&env, line).refused(30, "invalid_input");
        let said = said(&error["error"]);
        assert!(
            said.contains("s9") && said.contains("session start"),
            "{line}: {said}"
        );
    }
}

#[test]
fn ending_shows_the_last_mail_and_makes_dead_letters_of_the_sessions_own() {
    let desk = Desk::new();
    desk.ok("session start --agent backend --session s1 --role ops");
    desk.send("--to s1");
    desk.send("--to role:ops");
    let ended = desk.ok("session end s1");
    assert_eq!(ended["unread"], 2);
    assert_eq!(summaries(&ended), ["Work", "Work"]);
    let dead = desk.ok("dead-letters");
    assert_eq!(dead["letters"].as_array().unwrap().len(), 1);
    assert_eq!(dead["letters"][0]["reason"], "session_dead");
    let error = desk.refused(
        30,
        "recipient_dead",
        "send --from lead --to s1 --subject late",
    );
    assert!(said(&error).contains("--to backend"), "{error}");
    desk.ok("session start --agent reviewer --session s2 --role ops");
    assert_eq!(summaries(&desk.ok("read --session s2")), ["Work"]);
}

#[test]
fn mail_to_a_frozen_session_waits_and_does_not_age() {
    let desk = Desk::new();
    desk.at(0, "session start --agent backend --session s1")
        .ok();
    desk.at(10, "session freeze s1").ok();
    desk.at(20, "send --from lead --to s1 --subject Later").ok();
    let late = 48 * 3600;
    desk.at(late, "session resume s1").ok();
    let mail = desk.at(late + 60, "read --session s1").ok();
    assert_eq!(summaries(&mail), ["Later"]);
    let dead = desk.at(late + 60, "dead-letters").ok();
    assert_eq!(dead["letters"].to_string(), "[]");
}

#[test]
fn a_name_or_session_that_is_said_is_stronger_than_the_environment() {
    let mut desk = Desk::new();
    desk.ok("session start --agent backend --session backend-1");
    desk.ok("session start --agent lead --session lead-1");
    desk.inbox.set("INBOX_SESSION", "backend-1");
    desk.inbox.set("INBOX_AGENT", "backend");
    let run = |line: &str| desk.inbox.run(line.split(' '));
    let sent = run("send --to w --subject s --json").ok();
    assert_eq!(sent["message"]["from_session"], "backend-1");
    let sent = run("send --agent lead --to w --subject s --json").ok();
    assert_eq!(sent["message"]["from_agent"], "lead");
    assert_eq!(sent["message"]["from_session"], Value::Null);
    let sent = run("send --session lead-1 --to w --subject s --json").ok();
    assert_eq!(sent["message"]["from_agent"], "lead");
    assert_eq!(sent["message"]["from_session"], "lead-1");
    let both = run("send --agent lead --session backend-1 --to w --subject s --json");
    assert_eq!(both.code, 30, "{both}");
}

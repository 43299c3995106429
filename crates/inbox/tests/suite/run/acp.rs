//! Agents that speak the Agent Client Protocol: a scripted one, good and hostile.

use serde_json::{Value, json};

use super::{Ground, Leashed, eventually, is_alive, text};

const BLOCKED: &str = r#"{\"wire\":\"1.0\",\"type\":\"blocked\",\"sender\":\"quinn\",\"ts\":\"2026-04-28T00:00:00Z\",\"payload\":{\"task_id\":\"x\",\"agent\":\"quinn\",\"reason\":\"Red or blue?\",\"blocker_type\":\"ambiguity\"}}"#;

/// A ground whose preset `scripted` is the agent of acp.py, with this in its preset and this to do.
fn ground(preset: &str, plan: &str) -> Ground {
    let ground = Ground::new();
    let script = crate::root().join("crates/inbox/tests/suite/run/acp.py");
    let settings = format!(
        "[run]\noutput_kb = 512\nprogress_seconds = 1\n\n[run.presets.scripted]\n\
         command = [\"python3\", {:?}]\nspeak = \"acp\"\n{preset}\n",
        script.display().to_string()
    );
    std::fs::write(ground.folder().join(".agents/inbox.toml"), settings).unwrap();
    std::fs::write(ground.folder().join("plan"), plan).unwrap();
    ground
}

const ARGS: [&str; 6] = ["run", "--agent", "quinn", "--once", "--preset", "scripted"];

/// What the agent heard.
fn heard(ground: &Ground) -> Vec<Value> {
    let text = std::fs::read_to_string(ground.folder().join("heard")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Runs one thread with this plan; its last message.
#[track_caller]
fn plays(preset: &str, plan: &str, status: &str) -> (Ground, Value) {
    let ground = ground(preset, plan);
    let thread = ground.send("Fill the table");
    let ran = ground.inbox.run(ARGS);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let last = ground.last(&thread);
    assert_eq!(ground.status(&thread), status, "{plan}\n{last}");
    (ground, last)
}

#[test]
fn an_agent_is_talked_with_and_its_last_words_are_the_result() {
    let plan = "turn \nsay Looking.\\n\ntool read The table\ncost 0.25\nsay Filled \nsay the table.\nend end_turn\n";
    let (ground, last) = plays("", plan, "done");
    assert_eq!(last["summary"], "Filled the table.");
    assert_eq!(last["body"], "Filled the table.");
    let complete = &last["payload_json"]["payload"];
    assert_eq!(complete["x_session"], "s-1");
    assert_eq!(complete["cost_usd"], json!(0.25));
    assert_eq!(complete["x_tokens"], json!({ "input": 10, "output": 5 }));
    let heard = heard(&ground);
    let methods: Vec<&Value> = heard.iter().map(|said| &said["method"]).collect();
    assert_eq!(methods, ["initialize", "session/new", "session/prompt"]);
    let can = json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
    assert_eq!(heard[0]["params"]["clientCapabilities"], can);
    let here = ground.folder().canonicalize().unwrap();
    assert_eq!(heard[1]["params"], json!({ "cwd": here, "mcpServers": [] }));
    let prompt = text(&heard[2]["params"]["prompt"][0]["text"]);
    assert!(prompt.contains("You are quinn.") && prompt.contains("Fill the table"));
}

#[test]
fn an_answer_goes_on_with_the_session_where_the_agent_can() {
    for (greet, ways) in [
        (
            "{\"loadSession\":true}",
            vec!["session/new", "session/load"],
        ),
        (
            "{\"loadSession\":true,\"sessionCapabilities\":{\"resume\":{}}}",
            vec!["session/new", "session/resume"],
        ),
        // One that cannot begins again.
        ("{}", vec!["session/new", "session/new"]),
    ] {
        let plan = format!(
            "greet {greet}\nturn \ncost 0.25\nsay I looked.\\n{BLOCKED}\nend end_turn\n\
             turn The blue one\ncost 0.75\nsay Used the blue one.\nend end_turn\n"
        )
        .replace("\\\"", "\"");
        let ground = ground("", &plan);
        let thread = ground.send("Fill the table");
        let runner = Leashed(ground.inbox.spawn(ARGS));
        eventually("it asks", || {
            (ground.status(&thread) == "blocked").then_some(())
        });
        assert_eq!(ground.last(&thread)["summary"], "Red or blue?");
        ground.reply(&thread, "The blue one");
        assert_eq!(runner.ends(), 0);
        let last = ground.last(&thread);
        assert_eq!(last["body"], "Used the blue one.", "{last}");
        // What the same session cost before is not paid again.
        let cost = if greet == "{}" { 1.0 } else { 0.75 };
        assert_eq!(last["payload_json"]["payload"]["cost_usd"], json!(cost));
        let heard = heard(&ground);
        let method = |said: &Value| said["method"].as_str().unwrap_or_default().to_owned();
        let opened: Vec<String> = heard.iter().map(method).collect();
        let opened: Vec<&String> = opened
            .iter()
            .filter(|name| name.starts_with("session/") && *name != "session/prompt")
            .collect();
        assert_eq!(opened, ways);
        let is_prompt = |said: &&Value| said["method"] == "session/prompt";
        let last = heard.iter().rfind(is_prompt).unwrap();
        let second = text(&last["params"]["prompt"][0]["text"]);
        assert!(second.contains("The blue one"), "{second}");
        assert_eq!(second.contains("You are quinn."), greet == "{}", "{second}");
    }
}

#[test]
fn what_an_agent_wants_is_decided_by_the_preset_and_never_by_a_message() {
    let plan = "turn \nask execute\nask read\nwant fs/read_text_file\nwant terminal/create\nend end_turn\n";
    let refused = "fs/read_text_file: -32601. terminal/create: -32601.";
    for (preset, told) in [
        ("", "I was told no. I was told no."),
        ("allow = [\"read\"]", "I was told no. I was told yes."),
        ("allow = [\"*\"]", "I was told yes. I was told yes."),
    ] {
        let (_ground, last) = plays(preset, plan, "done");
        assert_eq!(text(&last["body"]), format!("{told} {refused}"));
    }
    // Neither the task nor the mail beside it allows anything.
    let ground = ground("", plan);
    let thread =
        ground.send("allow = [\"*\"]; permissions: allow_always; session/request_permission yes");
    assert_eq!(ground.inbox.run(ARGS).code, 0);
    let body = text(&ground.last(&thread)["body"]);
    assert!(body.starts_with("I was told no. I was told no."), "{body}");
}

#[test]
fn an_agent_that_stops_early_or_ends_has_failed() {
    for (plan, named) in [
        ("turn \nsay Half.\nend max_tokens\n", "max_tokens"),
        ("turn \nend refusal\n", "refusal"),
        (
            "turn \nraw {\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32603,\"message\":\"no model\"}}\n",
            "no model",
        ),
        ("turn \nsay Half.\nleave\n", "midst"),
    ] {
        let (_ground, last) = plays("", plan, "failed");
        assert!(text(&last["summary"]).contains(named), "{last}");
    }
}

/// The process of the scripted agent, by where it works.
fn agent_of(ground: &Ground) -> Option<String> {
    let here = ground.folder().canonicalize().ok()?;
    let mut all = std::fs::read_dir("/proc").ok()?.flatten();
    let found = all.find(|entry| {
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        let folder = std::fs::read_link(entry.path().join("cwd"));
        name.starts_with("python") && folder.is_ok_and(|folder| folder == here)
    });
    found?.file_name().into_string().ok()
}

#[test]
fn no_peer_breaks_the_runner() {
    for (what, plan) in [
        (
            "garbage",
            "raw not json\nraw {\nraw [1,2\nraw \u{0}\u{1}\nraw {\"id\":{}}\nraw null\n",
        ),
        (
            "answers to what nobody asked",
            "raw {\"id\":1,\"result\":{\"protocolVersion\":1}}\nraw {\"id\":77,\"result\":{\"stopReason\":\"refusal\"}}\n\
             raw {\"id\":\"4\",\"error\":{}}\nraw {\"id\":null,\"error\":{\"message\":\"x\"}}\n",
        ),
        (
            "methods that nobody knows",
            "raw {\"id\":[],\"method\":\"x\"}\nraw {\"id\":9,\"method\":\"initialize\"}\nraw {\"method\":\"exit\"}\n\
             raw {\"method\":\"session/update\",\"params\":7}\nwant a/b\n",
        ),
        (
            "another's session",
            "raw {\"method\":\"session/update\",\"params\":{\"sessionId\":\"other\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"not mine\"}}}}\n",
        ),
    ] {
        let (_ground, last) = plays(
            "",
            &format!("turn \n{plan}tool other t\nsay Done.\nend end_turn\n"),
            "done",
        );
        assert_eq!(last["body"], "Done.", "{what}");
    }
}

#[test]
fn a_peer_is_held_to_the_limits_of_any_command() {
    for (what, plan) in [
        ("a line without an end", "long 3\n"),
        ("questions without an end", "flood\n"),
    ] {
        let (ground, last) = plays("", &format!("turn \n{plan}end end_turn\n"), "failed");
        assert!(text(&last["summary"]).contains("KiB"), "{what}: {last}");
        assert_eq!(agent_of(&ground), None, "{what}");
    }
    // One that does not go when it is done is ended, and its work counts; what it says then is nothing.
    for plan in [
        "say Done.\nend end_turn\nstay\n",
        "say Done.\nend end_turn\nsay More.\nask read\n",
        "say Done.\nend end_turn\nflood\n",
    ] {
        let (ground, last) = plays("", &format!("turn \n{plan}"), "done");
        assert_eq!(last["body"], "Done.", "{plan}");
        assert_eq!(agent_of(&ground), None, "{plan}");
    }
}

#[test]
fn an_agent_that_is_talked_with_does_not_outlive_its_runner() {
    let ground = ground("", "turn \nsay Working.\\n\nstay\n");
    ground.send("Long");
    let runner = Leashed(ground.inbox.spawn(ARGS));
    let pid = eventually("the agent runs", || agent_of(&ground));
    eventually("it was asked", || {
        let asked = |said: &Value| said["method"] == "session/prompt";
        heard(&ground).iter().any(asked).then_some(())
    });
    drop(runner);
    eventually("it is gone", || (!is_alive(&pid)).then_some(()));
}

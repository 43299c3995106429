//! Work is taken, done and ended.

use rustix::process::Signal;
use serde_json::Value;

use super::{Ground, eventually, is_alive, text};

#[test]
fn a_runner_takes_work_and_ends_it_with_the_result() {
    let ground = Ground::new();
    let thread = ground.send("Say hello");
    let ran = ground.run(
        "--once",
        "cat > prompt.txt; echo Reading; echo 'Hello, world.'\n",
    );
    assert_eq!(ran.code, 0, "{ran}");
    assert!(
        ran.stdout.contains(&format!("\"thread_id\":\"{thread}\"")),
        "{ran}"
    );
    let shown = ground.show(&thread);
    assert_eq!(shown["thread"]["status"], "done");
    let result = ground.last(&thread);
    assert_eq!(result["kind"], "result");
    assert_eq!(result["summary"], "Hello, world.");
    assert_eq!(result["body"], "Reading\nHello, world.");
    let complete = &result["payload_json"]["payload"];
    assert_eq!(complete["verification"]["mechanical"], "pass");
    assert_eq!(complete["verification"]["semantic"], "skipped");
    assert_eq!(complete["verification"]["attempts"], 1);
    assert!(complete["duration_seconds"].is_number());
    let prompt = std::fs::read_to_string(ground.folder().join("prompt.txt")).unwrap();
    assert!(prompt.contains("You are quinn.") && prompt.contains("Subject: Say hello"));
    // The session of the runner has ended with it.
    let sessions = ground.inbox.ok("session list");
    assert_eq!(sessions["sessions"], serde_json::json!([]));
}

#[test]
fn what_would_be_sent_is_shown_and_nothing_is_taken() {
    let ground = Ground::new();
    ground.inbox.ok("agent add quinn");
    let thread = ground.send("Say hello");
    let args = ["run", "--agent", "quinn", "--show-prompt"];
    let shown = ground.inbox.run(args);
    assert_eq!(shown.code, 0, "{shown}");
    assert!(shown.stdout.contains("You are quinn.") && shown.stdout.contains("Say hello"));
    assert_eq!(ground.status(&thread), "pending");
}

#[test]
fn the_prompt_comes_on_standard_input_in_a_file_or_as_an_argument() {
    let ground = Ground::new();
    for (mark, argument, script) in [
        ("one", "", "cat > got\n"),
        ("two", "{prompt_file}", "cat \"$1\" > got; cat >> got\n"),
        ("three", "{prompt}", "printf %s \"$1\" > got; cat >> got\n"),
    ] {
        let thread = ground.send(&format!("Work $(touch pwned) `touch pwned`; {mark}"));
        let mut args = ground.args("--once", script);
        args.extend((!argument.is_empty()).then(|| argument.to_owned()));
        assert_eq!(ground.inbox.run(&args).code, 0);
        assert_eq!(ground.status(&thread), "done");
        let got = std::fs::read_to_string(ground.folder().join("got")).unwrap();
        assert!(got.contains(&format!("`touch pwned`; {mark}")), "{got}");
        assert!(!ground.folder().join("pwned").exists());
    }
}

#[test]
fn a_command_that_fails_gives_the_work_up_with_its_last_words() {
    let ground = Ground::new();
    let thread = ground.send("Fail");
    let ran = ground.run("--once", "echo half; echo 'no such table' >&2; exit 3\n");
    assert_eq!(ran.code, 0, "{ran}");
    assert_eq!(ground.status(&thread), "failed");
    let last = ground.last(&thread);
    assert_eq!(last["summary"], "the command ended with status 3");
    let body = text(&last["body"]);
    assert!(
        body.contains("no such table") && body.contains("half"),
        "{body}"
    );
}

#[test]
fn a_program_that_is_not_there_is_said_before_anything_is_claimed() {
    let ground = Ground::new();
    let thread = ground.send("Wait");
    let args = [
        "run",
        "--json",
        "--agent",
        "quinn",
        "--once",
        "--",
        "no-such-program",
    ];
    let refused = ground.inbox.run(args).refused(30, "invalid_input");
    assert!(text(&refused["error"]["message"]).contains("no-such-program"));
    assert_eq!(ground.status(&thread), "pending");
}

#[test]
fn drained_it_does_all_that_there_is_by_every_address_and_leaves() {
    let ground = Ground::new();
    let nothing = ground.run("--drain", "echo never\n");
    assert_eq!(nothing.code, 10, "{nothing}");
    let threads = [
        ground.send("By name"),
        ground.send_to("role:developer", "By role"),
        ground.send_to("project:blog", "By tag"),
    ];
    let other = ground.send_to("somebody", "Not ours");
    let flags = "--drain --role developer --tag project:blog --concurrency 2";
    assert_eq!(ground.run(flags, "cat > /dev/null; echo ok\n").code, 0);
    for thread in &threads {
        assert_eq!(ground.status(thread), "done");
    }
    assert_eq!(ground.status(&other), "pending");
}

#[test]
fn a_command_gets_the_variables_on_the_list_and_no_others() {
    let mut ground = Ground::new();
    ground.inbox.set("SECRET_KEY", "hunter2");
    ground.inbox.set("LC_ALL", "C");
    ground.inbox.set("INBOX_GUARD_MAX_HOPS", "7");
    let thread = ground.send("Look around");
    assert_eq!(ground.run("--once", "env\n").code, 0);
    let body = text(&ground.last(&thread)["body"]);
    let names: Vec<&str> = body
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    assert!(
        names.contains(&"LC_ALL") && names.contains(&"PATH"),
        "{body}"
    );
    assert!(
        !body.contains("hunter2") && !names.contains(&"INBOX_GUARD_MAX_HOPS"),
        "{body}"
    );
    for name in [
        "INBOX_DB",
        "INBOX_AGENT",
        "INBOX_SESSION",
        "INBOX_LEASE",
        "INBOX_THREAD",
    ] {
        assert!(names.contains(&name), "{name}: {body}");
    }
}

#[test]
fn an_agent_may_end_its_thread_by_itself() {
    let ground = Ground::new();
    let thread = ground.send("End it");
    let script = "INBOX done --thread $INBOX_THREAD --summary 'My own words' > out 2>&1\n";
    assert_eq!(ground.run("--once", script).code, 0);
    assert_eq!(ground.last(&thread)["summary"], "My own words");
}

#[test]
fn the_command_of_a_cancelled_thread_is_ended() {
    let ground = Ground::new();
    let thread = ground.send("Long");
    let runner = ground.start(
        "--once",
        "echo $$ > pid; sleep 1000 & echo $! > below; wait\n",
    );
    let (pid, below) = (ground.written("pid"), ground.written("below"));
    ground.inbox.ok(&format!(
        "cancel --agent lead --thread {thread} --reason no"
    ));
    assert_eq!(runner.ends(), 0);
    assert!(!is_alive(&pid) && !is_alive(&below));
    assert_eq!(ground.status(&thread), "cancelled");
}

#[test]
fn told_to_end_it_finishes_what_runs_and_told_again_it_gives_it_back() {
    let ground = Ground::new();
    let first = ground.send("First");
    let second = ground.send("Second");
    let script = "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done; echo finished\n";
    let runner = ground.start("", script);
    ground.written("pid");
    runner.signal(Signal::TERM);
    ground.touch("go");
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&first), "done");
    assert_eq!(ground.status(&second), "pending");

    std::fs::remove_file(ground.folder().join("go")).unwrap();
    std::fs::remove_file(ground.folder().join("pid")).unwrap();
    let runner = ground.start("", script);
    let pid = ground.written("pid");
    runner.signal(Signal::INT);
    // The first must have been heard before the second is another.
    eventually("the second is heard", || {
        runner.signal(Signal::INT);
        (!is_alive(&pid)).then_some(())
    });
    assert_eq!(runner.ends(), 0);
    assert_eq!(ground.status(&second), "pending");
}

#[test]
fn what_it_says_becomes_progress_at_a_measured_pace() {
    let ground = Ground::with(&[("progress_seconds", "1")]);
    let thread = ground.send("Talk");
    let script =
        "for n in 1 2 3; do echo line $n; done; while [ ! -e go ]; do sleep 0.02; done; echo end\n";
    let runner = ground.start("--once", script);
    let progress = eventually("progress is said", || {
        let shown = ground.show(&thread);
        let messages = shown["messages"].as_array()?.clone();
        messages
            .into_iter()
            .find(|message| message["kind"] == "progress")
    });
    assert_eq!(progress["summary"], "line 3");
    assert_eq!(progress["body"], "line 1\nline 2");
    assert_eq!(ground.status(&thread), "in_progress");
    ground.touch("go");
    assert_eq!(runner.ends(), 0);
}

#[test]
fn a_flag_after_the_two_dashes_is_the_commands() {
    let ground = Ground::new();
    ground.send("Print");
    let mut args = ground.args("--once", "printf '%s\\n' \"$@\"\n");
    args.retain(|arg| arg != "--json");
    args.push("--json".to_owned());
    let ran = ground.inbox.run(&args);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(ran.stdout.contains("done  --json"), "{ran}");
    assert!(serde_json::from_str::<Value>(&ran.stdout).is_err());
}

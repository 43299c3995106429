//! `watch`: events as they happen.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use inbox_testkit::sandbox::finish;
use serde_json::Value;

use super::desk::{Desk, EVENT, keys};

#[test]
fn a_watch_gives_events_after_its_cursor_and_where_to_go_on() {
    let desk = Desk::new();
    desk.send("--to w --run r --task t");
    desk.send("--to w");
    let answer = desk.ok("watch --after-event 0");
    assert_eq!(
        keys(&answer),
        ["command", "events", "next_event_id", "ok", "woke"]
    );
    assert_eq!(answer["woke"], true);
    assert_eq!(answer["next_event_id"], 2);
    let event = &answer["events"][0];
    assert_eq!(keys(event), EVENT);
    assert_eq!(event["run_id"], "r");
    assert_eq!(event["task_id"], "t");
    assert_eq!(event["source"], "lead");
    assert_eq!(event["event_type"], "created");
    assert_eq!(event["message_id"], "msg_1");
    assert_eq!(event["summary"], "Work");
    assert_eq!(event["payload_json"]["status"], "pending");
    let rest = desk.ok("watch --after-event 1");
    assert_eq!(
        rest["events"].as_array().unwrap().len(),
        1,
        "cursors are exclusive"
    );
}

#[test]
fn a_watch_that_timed_out_is_exit_10_with_no_events() {
    let desk = Desk::new();
    desk.send("--to w");
    for line in [
        "watch --timeout-seconds 0",
        "watch --after-event 1 --timeout-seconds 0",
    ] {
        let quiet = desk.nothing(line);
        assert_eq!(quiet["woke"], false);
        assert_eq!(quiet["events"].to_string(), "[]");
        assert_eq!(quiet["next_event_id"], 1);
    }
    let started = Instant::now();
    desk.nothing("watch --timeout-seconds 1");
    assert!(started.elapsed() >= Duration::from_secs(1));
    for seconds in ["-1", "x", "4294967296", "1.5"] {
        desk.refused(
            30,
            "invalid_input",
            &format!("watch --timeout-seconds {seconds}"),
        );
    }
}

#[test]
fn without_a_cursor_it_starts_now_and_wakes_on_what_comes() {
    let desk = Desk::new();
    desk.send("--to w");
    let waiting = desk.spawn("watch --timeout-seconds 20");
    std::thread::sleep(Duration::from_millis(150));
    desk.send("--to v");
    let woke = finish(waiting).ok();
    assert_eq!(woke["events"].as_array().unwrap().len(), 1);
    assert_eq!(woke["events"][0]["thread_id"], "thr_2");
}

#[test]
fn with_an_agent_only_others_events_in_its_threads_wake_it() {
    let desk = Desk::new();
    desk.ok("send --from me --to w --subject created~by~me");
    desk.send("--to me");
    desk.send("--to x");
    desk.claim("me", "thr_3");
    desk.ok("reply --from lead --thread thr_1 --summary s");
    desk.ok("reply --from lead --thread thr_3 --summary s");
    desk.ok("reply --from me --thread thr_2 --summary own");
    desk.send("--to y");
    let seen = |variables: &[(&str, &str)], line: &str| -> Vec<i64> {
        let answer = desk.with(variables, line).ok();
        let events = answer["events"].as_array().unwrap().clone();
        events
            .iter()
            .map(|event| event["event_id"].as_i64().unwrap())
            .collect()
    };
    assert_eq!(seen(&[], "watch --agent me --after-event 0"), [2, 3, 5, 6]);
    assert_eq!(
        seen(&[("INBOX_AGENT", "me")], "watch --after-event 0"),
        [2, 3, 5, 6]
    );
    assert_eq!(seen(&[], "watch --after-event 0"), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn filters_are_the_status_that_was_left_the_thread_and_the_labels() {
    let desk = Desk::new();
    desk.send("--to w --run r");
    desk.send("--to w --task t");
    desk.claim("w", "thr_1");
    desk.ok("done --agent w --thread thr_1 --summary s");
    let seen = |rest: &str| -> Vec<i64> {
        let answer = desk
            .run(&format!("watch --after-event 0 --timeout-seconds 0 {rest}"))
            .json();
        let events = answer["events"].as_array().unwrap().clone();
        assert_eq!(answer["next_event_id"], 4, "the newest of the snapshot");
        events
            .iter()
            .map(|event| event["event_id"].as_i64().unwrap())
            .collect()
    };
    assert_eq!(seen("--status pending"), [1, 2]);
    assert_eq!(seen("--status pending,done"), [1, 2, 4]);
    assert_eq!(seen("--status claimed --status done"), [3, 4]);
    assert_eq!(seen("--status failed"), Vec::<i64>::new());
    assert_eq!(seen("--thread thr_1"), [1, 3, 4]);
    assert_eq!(seen("--run r"), [1, 3, 4]);
    assert_eq!(seen("--task t"), [2]);
    desk.refused(
        30,
        "invalid_input",
        "watch --status nope --timeout-seconds 0",
    );
    desk.refused(
        30,
        "invalid_input",
        "watch --after-event -1 --timeout-seconds 0",
    );
    desk.refused(
        40,
        "thread_not_found",
        "watch --thread thr_9 --timeout-seconds 0",
    );
}

#[test]
fn following_gives_an_event_a_line_and_misses_and_repeats_none() {
    let desk = Desk::new();
    desk.send("--to w");
    let mut follower = desk.spawn("watch --follow --after-event 0");
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    for number in 1..=6 {
        let line = lines.next().unwrap().unwrap();
        let event: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(keys(&event), EVENT);
        assert_eq!(event["event_id"], number);
        desk.send("--to w");
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn following_ends_quietly_when_its_reader_has_gone() {
    let desk = Desk::new();
    desk.send("--to w");
    for json in [true, false] {
        let mut args = vec!["watch", "--follow", "--after-event", "0"];
        args.extend(json.then_some("--json"));
        let mut follower = desk.inbox.spawn(&args);
        let mut reader = BufReader::new(follower.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        drop(reader);
        desk.send("--to w");
        let deadline = Instant::now() + Duration::from_secs(10);
        let status = loop {
            if let Some(status) = follower.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                follower.kill().unwrap();
                panic!("it still follows");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!(status.code(), Some(0));
        let mut said = String::new();
        std::io::Read::read_to_string(&mut follower.stderr.take().unwrap(), &mut said).unwrap();
        assert_eq!(said, "");
    }
}

#[test]
fn following_ends_when_its_reader_has_gone_even_if_nothing_ever_happens() {
    let desk = Desk::new();
    desk.send("--to w");
    let mut follower = desk
        .inbox
        .spawn(["watch", "--follow", "--after-event", "0"]);
    let mut reader = BufReader::new(follower.stdout.take().unwrap());
    reader.read_line(&mut String::new()).unwrap();
    drop(reader);
    let deadline = Instant::now() + Duration::from_secs(20);
    while follower.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            follower.kill().unwrap();
            panic!("it still follows");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(follower.wait().unwrap().code(), Some(0));
}

#[test]
fn a_followed_log_that_timed_out_says_by_its_exit_whether_there_was_something() {
    let desk = Desk::new();
    let quiet = desk.run("watch --follow --timeout-seconds 0");
    assert_eq!((quiet.code, quiet.stdout.as_str()), (10, ""));
    desk.send("--to w");
    let some = desk.run("watch --follow --after-event 0 --timeout-seconds 0");
    assert_eq!(some.code, 0);
    assert_eq!(some.stdout.lines().count(), 1);
}

#[test]
fn event_types_are_those_of_the_contract() {
    let desk = Desk::new();
    desk.send("--to w");
    desk.claim("w", "thr_1");
    for line in [
        "renew --agent w --thread thr_1",
        "update --agent w --thread thr_1 --summary s",
        "update --agent w --thread thr_1 --summary s --status blocked",
        "reply --from x --thread thr_1 --summary s",
        "release --agent w --thread thr_1",
        "cancel --agent lead --thread thr_1",
    ] {
        desk.ok(line);
    }
    let types = desk.event_types();
    assert_eq!(
        types,
        [
            "created",
            "claimed",
            "in_progress",
            "blocked",
            "message",
            "released",
            "cancelled"
        ]
    );
}

#[test]
fn an_answer_cut_short_goes_on_where_it_ended() {
    let desk = Desk::new();
    desk.send("--to w");
    let store = inbox_store::Store::open(&inbox_store::Location::File(desk.inbox.store())).unwrap();
    let mut config = inbox_ops::Config::default();
    config.guard.max_turns = 0;
    let inbox = inbox_ops::Inbox::new(store).with_config(config);
    let caller = inbox_ops::Caller::local("x".parse().ok());
    for number in 0..520 {
        let request = serde_json::json!({ "thread": "thr_1", "summary": format!("{number}") });
        let reply: inbox_ops::Reply = serde_json::from_value(request).unwrap();
        inbox_ops::Operation::run(&reply, &inbox, &caller).unwrap();
    }
    let first = desk.ok("watch --after-event 0");
    assert_eq!(first["next_event_id"], 500);
    let second = desk.ok("watch --after-event 500");
    assert_eq!(second["events"][0]["event_id"], 501);
    assert_eq!(second["next_event_id"], 521);
}

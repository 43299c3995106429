//! Ordinary commands that are given too few files, too little memory or too little room in a file, or are told to stop in the
//! midst of it: each did what it says or fails as an error, and the same again, with its key, has one effect.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use inbox_testkit::sandbox::{Sandbox, words};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::INBOX;

/// How many files may be open at once: what every program has open from its start, and more and more.
const FILES: std::ops::RangeInclusive<u64> = 3..=16;

/// How much memory there may be, in KiB: from too little to begin with to enough.
const MEMORY: [u64; 12] = [
    1_000, 4_000, 8_000, 12_000, 16_000, 20_000, 24_000, 32_000, 48_000, 64_000, 128_000, 512_000,
];

/// How large a file may become, in blocks of 512 bytes.
const ROOM: [u64; 10] = [0, 1, 7, 8, 9, 64, 129, 200, 400, 4_000];

/// After how many microseconds a command is told to stop.
const STOPS: [u64; 12] = [
    0, 500, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000, 14_000, 20_000, 40_000,
];

/// A command, by the words that it has in one round of many.
const ROUND: [&str; 5] = [
    "send --from lead --to WORKER --subject Work --body words --key SEND",
    "claim --agent WORKER --lease-seconds 600 --key CLAIM",
    "done --agent WORKER --thread THREAD --summary ready --key DONE",
    "show --thread THREAD",
    "wait-reply --agent lead --thread THREAD --timeout-seconds 0",
];

/// What became of a command.
#[derive(Debug)]
enum End {
    /// It says that it did it.
    Done(Value),
    /// It says that it could not, or did not come to say anything.
    Failed,
}

/// Judges how a command ended: a success with its answer, an error of the store's, or a death. Nothing else.
#[track_caller]
fn judged(what: &str, output: &Output) -> End {
    let told = String::from_utf8_lossy(&output.stderr);
    let answer = serde_json::from_slice::<Value>(&output.stdout);
    match output.status.code() {
        Some(0) => {
            let answer =
                answer.unwrap_or_else(|error| panic!("{what}: 0 without an answer: {error}"));
            assert_eq!(answer["ok"], true, "{what}: {answer}");
            End::Done(answer)
        }
        Some(50) => {
            let error = &answer.unwrap_or_default()["error"];
            assert_ne!(error["code"], "corrupt", "{what}: {error}");
            End::Failed
        }
        // The system's own loader has nothing to load the program with.
        Some(127) if told.contains("shared libraries") || told.contains("shared object") => {
            End::Failed
        }
        Some(code) => panic!("{what}: exit {code}: {told}{answer:?}"),
        None => {
            let signal = output.status.signal();
            // Told to, out of memory, at the end of the room in a file, or not even begun.
            let known = [2, 6, 9, 11, 15, 25].map(Some);
            assert!(known.contains(&signal), "{what}: {signal:?}: {told}");
            End::Failed
        }
    }
}

/// Plays a round, each command first by `hindered` and then as always. What was acknowledged is there, and the same again has no
/// second effect.
fn round(
    sandbox: &Sandbox,
    number: usize,
    what: &str,
    hindered: &mut dyn FnMut(&[String]) -> Output,
) {
    let mut thread = String::from("thr_0");
    for line in ROUND {
        let line = line
            .replace("WORKER", &format!("w{number}"))
            .replace("THREAD", &thread);
        let line = ["SEND", "CLAIM", "DONE"].iter().fold(line, |line, key| {
            line.replace(key, &format!("{}-{number}", key.to_lowercase()))
        });
        let line = words(&line);
        let place = format!("{what}: {}", line.join(" "));
        let first = judged(&place, &hindered(&line));
        let again = sandbox.run(&line).ok();
        if let End::Done(first) = first {
            assert_eq!(first, again, "{place}");
        }
        if let Some(opened) = again["thread"]["thread_id"].as_str() {
            opened.clone_into(&mut thread);
        }
    }
    let shown = sandbox.ok(&format!("show --thread {thread}"));
    assert_eq!(shown["thread"]["status"], "done", "{what}: {shown}");
    let messages = shown["messages"].as_array().map(Vec::len);
    assert_eq!(messages, Some(2), "{what}: {shown}");
}

/// After all of it the store is sound, and has each round once.
fn must_be_sound(sandbox: &Sandbox, rounds: usize) {
    let answer = sandbox.ok("doctor");
    let checks = answer["checks"].as_array().expect("checks");
    assert!(
        checks.iter().all(|check| check["status"] != "error"),
        "{answer}"
    );
    let listed = sandbox.ok("list --limit 10000");
    assert_eq!(listed["threads"].as_array().map(Vec::len), Some(rounds));
}

/// A command of a sandbox by a shell, which does something else first.
pub(crate) fn in_shell<A: AsRef<OsStr>>(sandbox: &Sandbox, first: &str, line: &[A]) -> Command {
    let plain = sandbox.command(line);
    let set = plain
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let mut command = Command::new("/bin/sh");
    let script = format!("{first} && exec \"$0\" \"$@\"");
    command.arg("-c").arg(script).arg(INBOX).args(line);
    command.env_clear().envs(set).current_dir(sandbox.folder());
    command.stdin(Stdio::null());
    command
}

/// Under a limit of the shell's, by its flag, after something else that the shell does.
fn limited(first: &str, flag: &str, values: impl Iterator<Item = u64>) {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut rounds = 0;
    for value in values {
        rounds += 1;
        let what = format!("ulimit {flag} {value}");
        round(&sandbox, rounds, &what, &mut |line| {
            let mut command = in_shell(&sandbox, &format!("{first}{what}"), line);
            command.output().expect("the shell starts")
        });
    }
    must_be_sound(&sandbox, rounds);
}

#[test]
fn with_too_few_files_a_command_does_what_it_says_or_fails() {
    limited("", "-n", FILES);
}

#[test]
fn with_too_little_memory_a_command_does_what_it_says_or_fails() {
    limited("", "-v", MEMORY.into_iter());
}

#[test]
fn with_too_little_room_in_a_file_a_command_does_what_it_says_or_fails() {
    limited("", "-f", ROOM.into_iter());
}

#[test]
fn with_too_little_room_in_a_file_and_no_signal_of_it_a_command_does_what_it_says_or_fails() {
    limited("trap '' XFSZ && ", "-f", ROOM.into_iter());
}

#[test]
fn a_command_that_is_told_to_stop_in_the_midst_of_it_did_it_or_did_not() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut rounds = 0;
    let mut stopped = 0;
    for signal in [Signal::TERM, Signal::INT] {
        for after in STOPS {
            rounds += 1;
            let what = format!("{signal:?} after {after} µs");
            round(&sandbox, rounds, &what, &mut |line| {
                let child = sandbox.spawn(line);
                std::thread::sleep(Duration::from_micros(after));
                let _ = kill_process(Pid::from_child(&child), signal);
                let output = child.wait_with_output().expect("it ends");
                stopped += usize::from(output.status.signal().is_some());
                output
            });
        }
    }
    must_be_sound(&sandbox, rounds);
    assert!(stopped > 0, "none was stopped in the midst of it");
}

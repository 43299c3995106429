//! A worker that lost its lease cannot write, however it lost it, and leaves no trace.

use std::io::{Read, Write};
use std::process::Stdio;

use inbox_core::EventType;
use inbox_testkit::sandbox::Sandbox;

use super::gate::gathered;
use super::{
    Leashed, claim, count, dump, ends, eventually, go_on, lapses, open, start, stop, text, words,
};
use crate::INBOX;

/// Everything that a worker may want to write, proven by `proof`.
pub(super) fn writes(inbox: &Sandbox, thread: &str, proof: &str) -> Vec<Vec<String>> {
    let artifact = inbox.folder().join("artifact.txt");
    std::fs::write(&artifact, "made by a zombie").unwrap();
    let artifact = artifact.display();
    [
        "update --summary late".to_owned(),
        "update --status blocked --summary late".to_owned(),
        "done --summary late".to_owned(),
        "fail --summary late".to_owned(),
        "renew --lease-seconds 900".to_owned(),
        "release".to_owned(),
        "reply --summary late".to_owned(),
        "send --summary late".to_owned(),
        format!("done --summary late --artifact {artifact}"),
        format!("update --summary late --artifact {artifact}"),
    ]
    .iter()
    .map(|command| words(&format!("{command} --thread {thread} {proof}")))
    .collect()
}

/// What holds of a proof that has run out: each write is refused, and `rows` stay as they are.
#[track_caller]
pub(super) fn cannot_write(
    inbox: &Sandbox,
    thread: &str,
    proof: &str,
    rows: impl Fn() -> Vec<String>,
) {
    let before = rows();
    for command in writes(inbox, thread, proof) {
        inbox.run(&command).refused(20, "lease_lost");
        assert_eq!(rows(), before, "{command:?} changed something");
    }
}

#[test]
fn a_worker_whose_thread_was_taken_by_another_cannot_write() {
    let inbox = Sandbox::new(INBOX);
    taken_by_another(&inbox, || dump(&inbox.store()));
}

/// Another has the thread; `rows` are what must not change.
pub(super) fn taken_by_another(inbox: &Sandbox, rows: impl Fn() -> Vec<String>) {
    let thread = open(inbox, "late", "work");
    let old = claim(inbox, "late", &thread, 1);
    lapses(inbox, "late", &thread);
    let new = claim(inbox, "other", &thread, 900);
    cannot_write(inbox, &thread, &format!("--lease {old}"), &rows);
    // The name was the holder's once, and says no more than the token.
    let by_name = inbox.run(words(&format!(
        "done --agent late --thread {thread} --summary late"
    )));
    by_name.refused(20, "lease_lost");
    // Its own name does not help a token that is another's, nor the token a name that is not its own.
    let mixed = format!("done --agent late --lease {new} --thread {thread} --summary late");
    inbox.run(words(&mixed)).refused(20, "lease_lost");
    inbox
        .run(words(&format!(
            "done --lease {new} --thread {thread} --summary ready"
        )))
        .ok();
}

#[test]
fn a_worker_whose_lease_ran_out_cannot_write_even_when_nobody_took_the_thread() {
    let inbox = Sandbox::new(INBOX);
    ran_out(&inbox, || dump(&inbox.store()));
}

/// Nobody has the thread, and the lease has ended.
pub(super) fn ran_out(inbox: &Sandbox, rows: impl Fn() -> Vec<String>) {
    let thread = open(inbox, "late", "work");
    let old = claim(inbox, "late", &thread, 1);
    lapses(inbox, "late", &thread);
    cannot_write(inbox, &thread, &format!("--lease {old}"), &rows);
    let before = rows();
    let by_name = format!("done --agent late --thread {thread} --summary late");
    inbox.run(words(&by_name)).refused(20, "lease_lost");
    assert_eq!(rows(), before);
}

#[test]
fn of_two_workers_of_one_name_the_first_cannot_write_and_the_name_proves_nothing() {
    let inbox = Sandbox::new(INBOX);
    twins(&inbox, || dump(&inbox.store()));
}

/// Two of one name, told apart by token and session.
pub(super) fn twins(inbox: &Sandbox, rows: impl Fn() -> Vec<String>) {
    let thread = open(inbox, "twin", "work");
    let line = |session: &str, seconds: u32| {
        words(&format!(
            "claim --agent twin --session {session} --thread {thread} --lease-seconds {seconds}"
        ))
    };
    let old = text(&inbox.run(line("s-one", 1)).ok()["lease"]["lease_token"]);
    lapses(inbox, "twin", &thread);
    let new = text(&inbox.run(line("s-two", 900)).ok()["lease"]["lease_token"]);
    cannot_write(inbox, &thread, &format!("--lease {old}"), &rows);
    let before = rows();
    for proof in ["--agent twin", "--agent twin --session s-one"] {
        for command in ["update", "done", "fail"] {
            let line = format!("{command} {proof} --thread {thread} --summary late");
            inbox.run(words(&line)).refused(20, "lease_lost");
        }
        for command in ["renew", "release"] {
            let line = format!("{command} {proof} --thread {thread}");
            inbox.run(words(&line)).refused(20, "lease_lost");
        }
    }
    assert_eq!(rows(), before);
    let by_session = format!("update --agent twin --session s-two --thread {thread} --summary on");
    inbox.run(words(&by_session)).ok();
    let by_token = format!("done --lease {new} --thread {thread} --summary ready");
    inbox.run(words(&by_token)).ok();
}

/// Every kind of write is caught at its last step before the lock, stopped there until the lease has
/// passed to another, and continued.
#[test]
fn writers_stopped_past_their_lease_are_refused_when_they_go_on() {
    let inbox = Sandbox::new(INBOX);
    let thread = open(&inbox, "late", "work");
    let old = claim(&inbox, "late", &thread, 3);
    let commands = writes(&inbox, &thread, &format!("--lease {old}"));
    let (gate, zombies) = gathered(&inbox, &commands);
    for zombie in &zombies {
        stop(zombie);
    }
    drop(gate);
    lapses(&inbox, "late", &thread);
    claim(&inbox, "other", &thread, 900);
    let before = dump(&inbox.store());
    for (zombie, command) in zombies.into_iter().zip(&commands) {
        go_on(&zombie);
        ends(zombie).refused(20, "lease_lost");
        assert_eq!(dump(&inbox.store()), before, "{command:?}");
    }
}

#[test]
fn a_worker_stopped_while_it_wrote_its_report_cannot_hand_it_in() {
    let inbox = Sandbox::new(INBOX);
    late_report(&inbox, || dump(&inbox.store()));
}

/// A process that stood still while the lease passed to another.
pub(super) fn late_report(inbox: &Sandbox, rows: impl Fn() -> Vec<String>) {
    let thread = open(inbox, "late", "work");
    let old = claim(inbox, "late", &thread, 1);
    let line = format!("done --lease {old} --thread {thread} --summary late --body-file -");
    let mut zombie = inbox
        .command(words(&line))
        .stdin(Stdio::piped())
        .spawn()
        .map(Leashed)
        .unwrap();
    stop(&zombie);
    lapses(inbox, "late", &thread);
    claim(inbox, "other", &thread, 900);
    let before = rows();
    go_on(&zombie);
    let mut report = zombie.stdin.take().unwrap();
    report.write_all(b"all is well").unwrap();
    drop(report);
    ends(zombie).refused(20, "lease_lost");
    assert_eq!(rows(), before);
}

/// Starts a wait for a reply and gives it back once it listens at the bell.
fn waiter(inbox: &Sandbox, line: &str) -> Leashed {
    let child = start(inbox, &words(line));
    listens(inbox);
    child
}

/// Waits until somebody is registered at the bell: its file has a count of waiters in every second word.
pub(super) fn listens(inbox: &Sandbox) {
    let mut bell = inbox.store().into_os_string();
    bell.push("-bell");
    eventually("somebody listens at the bell", || {
        let bytes = std::fs::read(&bell).ok()?;
        let waiters = bytes.chunks_exact(8).filter(|slot| slot[4..] != [0; 4]);
        (waiters.count() > 0).then_some(())
    });
}

#[test]
fn a_waiter_stopped_across_the_commit_of_its_reply_wakes_when_it_goes_on() {
    let inbox = Sandbox::new(INBOX);
    for round in 0..5 {
        let thread = open(&inbox, "worker", &format!("question-{round}"));
        let waiter = waiter(
            &inbox,
            &format!("wait-reply --agent lead --thread {thread} --timeout-seconds 50"),
        );
        stop(&waiter);
        let reply = format!("reply --from worker --thread {thread} --summary yes-{round}");
        inbox.run(words(&reply)).ok();
        go_on(&waiter);
        let woke = ends(waiter).ok();
        assert_eq!(woke["message"]["summary"], format!("yes-{round}"));
        // The count that `listens` looks at has to be of the next round's waiter.
        let bell = std::fs::read(format!("{}-bell", inbox.store().display())).unwrap();
        assert!(bell.chunks_exact(8).all(|slot| slot[4..] == [0; 4]));
    }
}

/// How often a lease was renewed in a store with one thread.
fn renewals(inbox: &Sandbox) -> i64 {
    let code = EventType::Renewed.code();
    let sql = format!("SELECT count(*) FROM entries WHERE event_type = {code}");
    count(&inbox.store(), &sql)
}

fn expires_at(inbox: &Sandbox, thread: &str) -> String {
    let shown = inbox.run(words(&format!("show --thread {thread}"))).ok();
    text(&shown["lease"]["expires_at"])
}

#[test]
fn a_holder_that_waits_for_a_reply_keeps_its_lease_past_its_first_end() {
    let inbox = Sandbox::new(INBOX);
    let thread = open(&inbox, "worker", "work");
    let token = claim(&inbox, "worker", &thread, 2);
    let first_end = expires_at(&inbox, &thread);
    let line = format!("wait-reply --lease {token} --thread {thread} --timeout-seconds 50");
    let waiter = waiter(&inbox, &line);
    // Each renewal comes a third of a lease after the one before: eight of them are five seconds.
    eventually("the lease was renewed eight times", || {
        (renewals(&inbox) >= 8).then_some(())
    });
    assert!(expires_at(&inbox, &thread) > first_end);
    inbox
        .run(words(&format!("claim --agent other --thread {thread}")))
        .refused(20, "lease_conflict");
    let reply = format!("reply --from lead --thread {thread} --summary yes");
    inbox.run(words(&reply)).ok();
    assert_eq!(ends(waiter).ok()["message"]["summary"], "yes");
    // The lease is the worker's own again, and still the same one.
    let done = format!("done --lease {token} --thread {thread} --summary ready");
    inbox.run(words(&done)).ok();
}

#[test]
fn a_waiter_whose_parent_died_lets_the_lease_run_out_and_is_told_that_it_is_lost() {
    let inbox = Sandbox::new(INBOX);
    let thread = open(&inbox, "worker", "work");
    let token = claim(&inbox, "worker", &thread, 2);
    let line = format!("wait-reply --lease {token} --thread {thread} --timeout-seconds 50");
    // A worker that starts the wait and lives until it is killed.
    let plain = inbox.command([""; 0]);
    let mut worker = std::process::Command::new("sh")
        .args(["-c", "\"$@\" & wait", "worker"])
        .arg(plain.get_program())
        .args(words(&line))
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(inbox.folder())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the waiter renews the lease", || {
        (renewals(&inbox) >= 2).then_some(())
    });
    worker.kill().unwrap();
    worker.wait().unwrap();
    lapses(&inbox, "worker", &thread);
    claim(&inbox, "other", &thread, 900);
    // The waiter has the other end of the pipe until it ends.
    let mut answer = String::new();
    let mut stdout = worker.stdout.take().unwrap();
    stdout.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("lease_lost"), "{answer}");
}

#[test]
fn a_waiter_stopped_past_its_lease_is_told_that_it_is_lost_and_changes_nothing() {
    let inbox = Sandbox::new(INBOX);
    let thread = open(&inbox, "worker", "work");
    let token = claim(&inbox, "worker", &thread, 1);
    let line = format!("wait-reply --lease {token} --thread {thread} --timeout-seconds 50");
    let zombie = waiter(&inbox, &line);
    eventually("the waiter renews the lease", || {
        (renewals(&inbox) >= 1).then_some(())
    });
    stop(&zombie);
    lapses(&inbox, "worker", &thread);
    claim(&inbox, "other", &thread, 900);
    let before = dump(&inbox.store());
    go_on(&zombie);
    ends(zombie).refused(20, "lease_lost");
    assert_eq!(dump(&inbox.store()), before);
}

#[test]
fn a_waiter_whose_lease_was_given_back_elsewhere_is_told_that_it_is_lost() {
    let inbox = Sandbox::new(INBOX);
    let thread = open(&inbox, "worker", "work");
    let token = claim(&inbox, "worker", &thread, 900);
    let line = format!("wait-reply --lease {token} --thread {thread} --timeout-seconds 50");
    let waiter = waiter(&inbox, &line);
    let release = format!("release --lease {token} --thread {thread}");
    inbox.run(words(&release)).ok();
    ends(waiter).refused(20, "lease_lost");
}

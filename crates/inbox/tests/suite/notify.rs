//! People are reached elsewhere: the real program before a real receiver, a real command and a desktop's program that writes down what it is given.

mod receiver;
mod safe;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Child;

use inbox_testkit::sandbox::{Outcome, Sandbox, finish, words};
use serde_json::Value;

use crate::INBOX;
use receiver::Receiver;

/// A store, and what is configured beside it.
struct Place {
    inbox: Sandbox,
}

impl Place {
    fn new(config: &str) -> Self {
        let place = Place {
            inbox: Sandbox::new(INBOX),
        };
        place.file(".agents/inbox.toml", &format!("[notify]\n{config}\n"));
        place.inbox.ok("agent add anna --kind human");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inbox.folder().join(name)
    }

    fn file(&self, name: &str, content: &str) {
        std::fs::write(self.path(name), content).unwrap();
    }

    fn content(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A program in the folder `bin`, before all others on the path.
    fn program(&mut self, name: &str, script: &str) {
        let folder = self.path("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let others = std::env::var("PATH").unwrap();
        let all = format!("{}:{others}", folder.display());
        self.inbox.set("PATH", &all);
    }

    /// Sends urgent mail to the person.
    fn urgent(&self, summary: &str) -> Value {
        let mut line =
            words("send --from backend --to anna --subject s --kind event --priority urgent");
        line.extend(["--summary".to_owned(), summary.to_owned()]);
        self.inbox.run(line).ok()
    }

    fn notify(&self, flag: &str) -> Outcome {
        self.inbox.run(words(&format!("notify {flag}")))
    }

    fn at(&self, minutes: u32, line: &str) -> Outcome {
        let mut command = self.inbox.command(words(line));
        command.env(
            "INBOX_NOW",
            format!("2040-01-01T{:02}:{:02}:00Z", minutes / 60, minutes % 60),
        );
        finish(command.spawn().unwrap())
    }
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn once(sent: u64, failed: u64, outcome: &Outcome) {
    let answer = outcome.ok();
    assert_eq!(
        (&answer["sent"], &answer["failed"]),
        (&sent.into(), &failed.into()),
        "{outcome}"
    );
}

#[test]
fn a_webhook_gets_each_notice_once_signed_and_without_the_text() {
    let receiver = Receiver::start(|_| 204);
    let place = Place::new(&format!(
        "webhook = \"{}/hook?key=a-secret\"\nwebhook_secret_file = \"hook.secret\"",
        receiver.url()
    ));
    place.file(
        ".agents/hook.secret",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
    );
    let secret = place.path(".agents/hook.secret");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    place.inbox.ok("send --from backend --to anna --subject s --kind event --priority urgent --summary red --body the~text");
    once(1, 0, &place.notify("--once"));
    let posted = receiver.next();
    assert!(
        posted.head.starts_with("POST /hook?key=a-secret HTTP/1.1"),
        "{}",
        posted.head
    );
    assert_eq!(posted.header("content-type"), "application/json");
    let document: Value = serde_json::from_str(&posted.body).unwrap();
    assert_eq!(document["id"], posted.header("webhook-id"));
    assert_eq!(
        (&document["sort"], &document["summary"]),
        (&"urgent".into(), &"red".into())
    );
    assert!(!posted.body.contains("the text"), "{}", posted.body);
    posted.must_be_signed("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    once(0, 0, &place.notify("--once"));
    // A text goes along when it is asked for, and a secret that others can read signs nothing.
    place.inbox.ok("send --from backend --to anna --subject s --kind event --priority urgent --summary red --body the~text");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o644)).unwrap();
    once(0, 1, &place.at(0, "notify --once"));
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = place.inbox.command(words("notify --once"));
    command
        .env("INBOX_NOTIFY_WITH_BODY", "true")
        .env("INBOX_NOW", "2040-01-01T01:00:00Z");
    once(1, 0, &finish(command.spawn().unwrap()));
    assert!(receiver.next().body.contains("the text"));
    receiver.must_be_silent();
}

#[test]
fn two_who_wait_tell_each_thing_once_and_as_it_happens() {
    let receiver = Receiver::start(|_| 200);
    let place = Place::new(&format!("webhook = \"{}\"", receiver.url()));
    let both = [place.inbox.spawn(["notify"]), place.inbox.spawn(["notify"])];
    let mut ids = Vec::new();
    for n in 0..12 {
        place.urgent(&format!("number {n}"));
        if n % 4 == 3 {
            let told = (0..4).map(|_| receiver.next().json()["id"].to_string());
            ids.extend(told);
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 12);
    both.into_iter().for_each(end);
    once(0, 0, &place.notify("--once"));
    receiver.must_be_silent();
}

#[test]
fn who_is_killed_after_a_post_and_before_it_is_written_down_posts_it_again_under_its_id() {
    let (victim, wait_for) = std::sync::mpsc::channel::<u32>();
    let wait_for = std::sync::Mutex::new(wait_for);
    let receiver = Receiver::start(move |count| {
        if count == 0 {
            // Killed while it waits for the answer: it has sent, and knows nothing.
            let pid = wait_for.lock().unwrap().recv().unwrap();
            let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
        200
    });
    let place = Place::new(&format!("webhook = \"{}\"", receiver.url()));
    place.urgent("now");
    let child = place.inbox.spawn(["notify", "--once"]);
    victim.send(child.id()).unwrap();
    assert_eq!(finish(child).code, -1);
    let first = receiver.next();
    // While the dead one may still be at it, nobody else sends it.
    once(0, 0, &place.notify("--once"));
    once(1, 0, &place.at(0, "notify --once"));
    assert_eq!(
        receiver.next().header("webhook-id"),
        first.header("webhook-id")
    );
    receiver.must_be_silent();
}

#[test]
fn a_webhook_that_is_broken_slows_nobody_and_is_seen_to_be() {
    let receiver = Receiver::start(|_| 500);
    let place = Place::new(&format!("webhook = \"{}/path-of-secrets\"", receiver.url()));
    place.urgent("one");
    once(0, 1, &place.notify("--once"));
    // It is left alone for a while, and what comes waits.
    place.urgent("two");
    once(0, 0, &place.notify("--once"));
    receiver.next();
    receiver.must_be_silent();
    let status = place.notify("--status");
    let reach = &status.ok()["reaches"][0];
    assert_eq!(
        (&reach["state"], &reach["waits"]),
        (&"fails".into(), &2.into()),
        "{status}"
    );
    let doctor = place.inbox.run(words("doctor"));
    let checks = doctor.ok()["checks"].clone();
    let found = checks
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "notify");
    let found = found.expect("doctor names it");
    assert_eq!(found["status"], "warning", "{doctor}");
    assert!(
        found["message"].as_str().unwrap().contains("answered 500"),
        "{doctor}"
    );
    let test = place.notify("--test");
    assert_eq!(test.code, 50, "{test}");
    let config = place.inbox.run(["config"]);
    for said in [&status, &doctor, &test, &config] {
        assert!(!said.to_string().contains("path-of-secrets"), "{said}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Receiver::start(|_| 200);
    let receiver = Receiver::redirecting(&other.url());
    let place = Place::new(&format!("webhook = \"{}\"", receiver.url()));
    place.urgent("now");
    let outcome = place.notify("--once");
    once(0, 1, &outcome);
    assert!(
        outcome.stderr.contains("redirects are not followed"),
        "{outcome}"
    );
    other.must_be_silent();
}

#[test]
fn a_server_that_is_up_tells_people_and_says_so() {
    let receiver = Receiver::start(|_| 200);
    let place = Place::new(&format!("webhook = \"{}\"", receiver.url()));
    let mut up = place
        .inbox
        .spawn(["up", "--listen", "127.0.0.1:0", "--json"]);
    let mut line = String::new();
    let out = up.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    assert!(
        said["notify"][0]
            .as_str()
            .unwrap()
            .starts_with("webhook 127.0.0.1"),
        "{line}"
    );
    place.urgent("now");
    assert_eq!(receiver.next().json()["summary"], "now");
    end(up);
}

#[test]
fn a_digest_says_what_was_done_and_what_failed() {
    let place = Place::new("command = [\"tee\", \"-a\", \"told.log\"]\ndigest = \"1h\"");
    once(0, 0, &place.at(0, "notify --once"));
    for (worker, step) in [("one", "done"), ("two", "fail")] {
        place
            .at(
                1,
                &format!("send --from anna --to {worker} --subject s --kind task"),
            )
            .ok();
        let taken = place.at(2, &format!("claim --agent {worker}")).ok();
        let thread = taken["thread"]["thread_id"].as_str().unwrap().to_owned();
        let token = taken["lease"]["lease_token"].as_str().unwrap().to_owned();
        let end =
            format!("{step} --agent {worker} --thread {thread} --lease {token} --summary it~is");
        place.at(3, &end).ok();
    }
    once(0, 0, &place.at(59, "notify --once"));
    once(1, 0, &place.at(61, "notify --once"));
    let told: Value = serde_json::from_str(&place.content("told.log")).unwrap();
    assert_eq!(
        (&told["sort"], &told["count"]),
        (&"digest".into(), &2.into()),
        "{told}"
    );
    assert_eq!(
        (&told["done"], &told["failed"]),
        (&1.into(), &1.into()),
        "{told}"
    );
    once(0, 0, &place.at(180, "notify --once"));
}

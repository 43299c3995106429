//! The one who watches for a Codex session's mail: its hooks start it, once, and it ends with the session. The
//! client here is a shell of that name, to which `queue` is a script; the real one is in `clients`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock, inotify};
use serde_json::{Value, json};

use super::{Project, SESSION, said};
use crate::INBOX;

/// Where a project's sessions are noted.
const SESSIONS: &str = ".local/state/inbox/sessions";

/// A shell called `codex`, which does what it is told.
struct Codex<'a> {
    project: &'a Project,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl<'a> Codex<'a> {
    fn start(project: &'a Project) -> Self {
        let bin = project.inbox.folder().join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let program = bin.join("codex");
        if !program.exists() {
            std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        }
        // What it takes is written down; while it is shut, it takes nothing.
        std::fs::write(
            project.folder().join("queue"),
            "if test -e shut; then echo \"tried $4\" >> taken; exit 1; fi; echo \"$2 $4\" >> taken\n",
        )
        .unwrap();
        for event in ["session-start", "prompt", "stop", "end"] {
            let input = said("codex", event, &project.folder());
            std::fs::write(project.folder().join(event), input.to_string()).unwrap();
        }
        let mut child = std::process::Command::new(program)
            .current_dir(project.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", project.inbox.folder())
            .env("INBOX_TEST_STORE", "1")
            .env("INBOX_WAKE_AT_MOST_EVERY_SECONDS", "0")
            .envs(std::env::var("INBOX_SABOTAGE").map(|bug| ("INBOX_SABOTAGE", bug)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Codex {
            project,
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Runs a hook to its end, and to the end of all that holds its output.
    #[track_caller]
    fn hook(&mut self, event: &str) -> String {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "echo \"$('{INBOX}' hook codex {event} < {event})\"").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn hooks(&mut self, events: &[&str]) {
        for event in events {
            self.hook(event);
        }
    }

    /// The client ends.
    fn end(&mut self) {
        drop(self.input.take());
        self.child.wait().unwrap();
    }

    /// What its queue has taken, as soon as that is so many lines.
    #[track_caller]
    fn taken(&self, count: usize) -> Vec<String> {
        within("the queue takes a line", || {
            let text = std::fs::read_to_string(self.project.folder().join("taken")).ok()?;
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            (text.ends_with('\n') && lines.len() >= count).then_some(lines)
        })
    }

    /// The numbers of those who watch.
    fn watchers(&self) -> Vec<i32> {
        let is_one = |number: &i32| {
            let words = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let folder = std::fs::read_link(format!("/proc/{number}/cwd")).ok();
            words.contains(&format!("monitor codex --session {SESSION}"))
                && folder == Some(self.project.folder())
        };
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(is_one).collect()
    }

    /// Waits until who watches has looked whether the session is in a turn, and done what follows from it: it has
    /// looked once more, or the queue has more than so many lines.
    #[track_caller]
    fn looked_at(&self, lines: usize) {
        let sessions = self.project.inbox.folder().join(SESSIONS);
        let told = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&told, sessions, inotify::WatchFlags::CLOSE_NOWRITE).unwrap();
        let mut space = [std::mem::MaybeUninit::uninit(); 512];
        let mut told = inotify::Reader::new(told, &mut space);
        let state = format!("{SESSION}.state");
        let mut looks = 0;
        within("who watches looks twice", || {
            while let Ok(event) = told.next() {
                let name = event.file_name().map(std::ffi::CStr::to_string_lossy);
                looks += usize::from(name.is_some_and(|name| name == state));
            }
            (looks > 1 || self.taken(lines).len() > lines).then_some(())
        });
    }

    #[track_caller]
    fn nobody_watches(&self) {
        within("nobody watches any more", || {
            self.watchers().is_empty().then_some(())
        });
    }
}

impl Drop for Codex<'_> {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn within<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn rung(project: &Project, message: &str) -> Value {
    project.run(&format!("receipts {message} --json")).ok()["receipts"][0].clone()
}

#[test]
fn the_hooks_of_a_codex_session_start_one_who_watches_and_do_not_wait_for_it() {
    let project = Project::new();
    let mut codex = Codex::start(&project);
    // A hook whose output the watch held would not end before the client.
    codex.hooks(&["session-start", "prompt", "stop"]);
    within("somebody watches", || {
        (!codex.watchers().is_empty()).then_some(())
    });
    codex.hooks(&["session-start", "prompt", "prompt", "stop"]);
    let sent = project.send("--from luna --to codex-blog --kind question --subject And~now?");
    assert_eq!(
        codex.taken(1),
        [format!(
            "{SESSION} inbox: 1 new (1 request from luna). Run inbox read."
        )]
    );
    // One that finds another watching ends by itself, and may be about to.
    within("one watches", || {
        (codex.watchers().len() == 1).then_some(())
    });
    let message = sent["message"]["message_id"].as_str().unwrap();
    let found = rung(&project, message);
    assert_eq!(
        (&found["step"], &found["offered_by"]),
        (&json!("offered"), &json!("codex_queue"))
    );
    // What it was woken for is not told again.
    assert_eq!(codex.hook("prompt"), "\n");
}

#[test]
fn who_watches_ends_with_the_client_and_with_the_session() {
    let project = Project::new();
    let mut codex = Codex::start(&project);
    codex.hooks(&["session-start"]);
    within("somebody watches", || {
        (!codex.watchers().is_empty()).then_some(())
    });
    codex.hooks(&["end"]);
    codex.nobody_watches();
    // A session that goes on has somebody again.
    codex.hooks(&["session-start"]);
    within("somebody watches", || {
        (!codex.watchers().is_empty()).then_some(())
    });
    codex.end();
    codex.nobody_watches();
}

#[test]
fn in_the_midst_of_a_turn_nobody_is_woken_and_afterwards_once() {
    let project = Project::new();
    let mut codex = Codex::start(&project);
    codex.hooks(&["session-start", "stop"]);
    project.send("--from luna --to codex-blog --kind event --subject First");
    codex.taken(1);
    // The wake has begun a turn, and so has the prompt.
    codex.hooks(&["prompt"]);
    let second = project.send("--from luna --to codex-blog --kind event --subject Second");
    let third = project.send("--from quinn --to codex-blog --kind event --subject Third");
    for sent in [&second, &third] {
        let message = sent["message"]["message_id"].as_str().unwrap();
        assert_eq!(rung(&project, message)["step"], "queued");
    }
    codex.looked_at(1);
    assert_eq!(codex.taken(1).len(), 1, "nobody is woken in a turn");
    codex.hooks(&["stop"]);
    let taken = codex.taken(2);
    assert_eq!(
        taken[1..],
        [format!("{SESSION} inbox: 2 new. Run inbox read.")]
    );
}

#[test]
fn a_wake_that_codex_did_not_take_is_kept_by_the_next_who_watches() {
    let project = Project::new();
    let shut = project.folder().join("shut");
    std::fs::write(&shut, "").unwrap();
    let mut codex = Codex::start(&project);
    codex.hooks(&["session-start", "stop"]);
    project.send("--from luna --to codex-blog --kind question --subject And~now?");
    let line = "inbox: 1 new (1 request from luna). Run inbox read.";
    assert_eq!(codex.taken(1), [format!("tried {line}")]);
    let doctor = project.run("doctor --json").ok();
    let found = wakes(&doctor)
        .into_iter()
        .find(|check| check["session_id"] == SESSION);
    let message = found.unwrap()["message"].as_str().unwrap().to_owned();
    assert!(
        message.ends_with("codex has not taken the last line of codex_queue"),
        "{message}"
    );
    for number in codex.watchers() {
        let pid = rustix::process::Pid::from_raw(number).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    codex.nobody_watches();
    std::fs::remove_file(&shut).unwrap();
    codex.hooks(&["prompt", "stop"]);
    assert_eq!(codex.taken(2)[1..], [format!("{SESSION} {line}")]);
}

#[test]
fn where_no_codex_runs_the_hook_nobody_is_started() {
    let project = Project::new();
    project.hook("codex", "session-start");
    let lock = project
        .inbox
        .folder()
        .join(format!("{SESSIONS}/{SESSION}.lock"));
    assert!(!lock.exists());
    let state = lock.with_extension("state");
    assert_eq!(std::fs::read_to_string(&state).unwrap(), "idle codex\n");
    project.hook("codex", "end");
    assert!(!state.exists());
}

fn wakes(doctor: &Value) -> Vec<Value> {
    let checks = doctor["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["name"] == "wake")
        .cloned()
        .collect()
}

#[test]
fn doctor_says_of_each_session_by_which_doors_it_learns_of_mail() {
    let project = Project::new();
    for client in ["claude", "codex", "gemini"] {
        let session = json!({ "session_id": format!("{client}-1") });
        project.hook_saying(client, "session-start", &session);
    }
    project
        .run("session start --agent nova --session n-1 --json")
        .ok();
    project.run("agent add ada --json").ok();
    let lock = project
        .inbox
        .folder()
        .join(".local/state/inbox/sessions/claude-1.lock");
    std::fs::write(&lock, format!("{:020} monitor\n", 0)).unwrap();
    let held = std::fs::File::open(&lock).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let found = wakes(&project.run("doctor --json").ok());
    let of = |session: &str| {
        let check = found
            .iter()
            .find(|check| check["session_id"] == session)
            .unwrap();
        let text = |key: &str| check[key].as_str().unwrap().to_owned();
        (text("status"), check["doors"].clone(), text("message"))
    };
    let (status, doors, message) = of("claude-1");
    assert_eq!(
        (status.as_str(), &doors),
        ("ok", &json!(["monitor", "next_turn"]))
    );
    assert_eq!(message, "claude-blog (claude claude-1): monitor, next_turn");
    let (status, doors, message) = of("codex-1");
    assert_eq!(
        (status.as_str(), &doors),
        ("warning", &json!(["next_turn"])),
        "{message}"
    );
    let (status, doors, _) = of("gemini-1");
    assert_eq!((status.as_str(), &doors), ("ok", &json!(["next_turn"])));
    let (status, doors, message) = of("n-1");
    assert_eq!((status.as_str(), &doors), ("warning", &json!([])));
    assert_eq!(message, "nova (n-1): no client; it has to look itself");
    drop(held);
    let found = wakes(&project.run("doctor --json").ok());
    let check = found
        .iter()
        .find(|check| check["session_id"] == "claude-1")
        .unwrap();
    assert_eq!(check["status"], "warning");
    assert!(
        check["hint"]
            .as_str()
            .unwrap()
            .starts_with("/reload-plugins"),
        "{check}"
    );
    let away = found
        .iter()
        .find(|check| check["session_id"].is_null())
        .unwrap();
    assert_eq!(away["message"], "ada: no session; mail waits for the next");
}

#[test]
fn receipts_and_show_name_the_door_by_which_a_session_was_told() {
    let project = Project::new();
    project.hook("claude", "session-start");
    for (event, priority, word) in [
        ("prompt", "normal", "shown by hook prompt"),
        ("after-tool", "urgent", "shown by hook tool"),
        ("stop", "high", "offered by hook stop"),
        ("session-start", "normal", "shown by hook start"),
    ] {
        let sent = project.send(&format!(
            "--from ada --to claude-blog --kind question --priority {priority} --subject Which?"
        ));
        assert!(!project.hook("claude", event).is_empty(), "{event}");
        let message = sent["message"]["message_id"].as_str().unwrap();
        let printed = project.run(&format!("receipts {message}")).stdout;
        assert!(printed.trim_end().ends_with(word), "{event}: {printed}");
        let thread = sent["thread"]["thread_id"].as_str().unwrap();
        let printed = project
            .run(&format!("show --thread {thread} --receipts"))
            .stdout;
        assert!(printed.contains(word), "{event}: {printed}");
        let shown = project
            .run(&format!("show --thread {thread} --receipts --json"))
            .ok();
        assert_eq!(shown["receipts"][0]["message_id"], message);
    }
    // What a script shows by a door of its own making has none.
    project.send("--from ada --to luna --subject Which?");
    project.run("glance --agent luna --json").ok();
    let found = project.run("receipts msg_5").stdout;
    assert!(found.trim_end().ends_with("luna  shown"), "{found}");
    project.send("--from ada --to luna --subject Which?");
    project
        .run("glance --agent luna --door monitor --json")
        .ok();
    assert_eq!(rung(&project, "msg_6")["shown_by"], "monitor");
}

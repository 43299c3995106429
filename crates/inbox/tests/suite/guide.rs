//! The README, the guides and the skill say what the binary does: every transcript is played.
//!
//! In a fenced `console` block a line that begins with `$ ` is a command, and what follows is its
//! output, standard error included. The blocks of one file share one shell and one folder, so
//! variables and files last. `&` starts a command in the background; `wait` shows its output. Every
//! command must succeed: one that does not says so with `|| echo "exit $?"`.
//!
//! Times, ages, UUIDs, hashes and the secrets of lease tokens are not compared. Where a command shows a token,
//! it is given the real one of the same thread and epoch.
//!
//! A document that names the host `db.example` has a PostgreSQL server under that name, with a database `team`, an
//! administrator `postgres` and the certificate of its authority in `team-ca.crt`.
//!
//! Where a document serves on the usual port, or runs `inbox devnet &` on its usual ports, free ones are used, and the next command waits
//! until somebody listens there; `inbox hcs` then finds the devnet by a file.

mod server;
mod shell;
mod text;

use std::path::Path;
use std::process::Command;

use inbox_testkit::sandbox::TempDir;

use crate::{INBOX, check_document, root};
use server::{HOST, Server};
use shell::Shell;
use text::Tokens;
pub(crate) use text::{blurred, diff};

/// The commands that a transcript may use besides `inbox`.
const TOOLS: &[&str] = &[
    "inbox", "export", "wait", "echo", "cat", "chmod", "mkdir", "cp", "psql", "pg_dump", "curl",
    "kill",
];

/// Where `inbox serve` listens unless it is told otherwise.
const USUAL: &str = "127.0.0.1:4380";

/// Where `inbox devnet` does, and by which flags it is told otherwise. The last port is the last that it takes.
const DEVNET: [(&str, &str); 3] = [
    ("--node", "127.0.0.1:50211"),
    ("--mirror", "127.0.0.1:5600"),
    ("--rest", "127.0.0.1:5551"),
];

/// A command of a transcript and the output that the document shows for it.
struct Step {
    line: usize,
    command: String,
    shown: Vec<String>,
}

/// A document in parts: lines as they are, and commands with their output.
enum Part {
    Text(String),
    Step(Step),
}

fn parts(document: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut in_console = false;
    for (index, line) in document.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_console = !in_console && line.trim() == "```console";
            parts.push(Part::Text(line.to_owned()));
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) {
            parts.push(Part::Step(Step {
                line: index + 1,
                command: command.to_owned(),
                shown: Vec::new(),
            }));
        } else if let Some(Part::Step(step)) = parts.last_mut().filter(|_| in_console) {
            if step.command.ends_with('\\') {
                step.command.push('\n');
                step.command
                    .push_str(line.strip_prefix("> ").unwrap_or(line));
            } else {
                step.shown.push(line.to_owned());
            }
        } else {
            parts.push(Part::Text(line.to_owned()));
        }
    }
    parts
}

/// Plays a document's transcripts and gives the document as it should be, with the number of
/// commands that were played.
fn played(document: &str) -> (String, usize) {
    let server = document.contains(HOST).then(Server::start);
    let mut shell = Shell::start_with(server.as_ref());
    let mut tokens = Tokens::of(document);
    let port = free_port();
    let devnet = DEVNET.map(|(flag, usual)| (flag, usual, free_port()));
    let mut out = Vec::new();
    let mut count = 0;
    for part in parts(document) {
        let step = match part {
            Part::Text(line) => {
                out.push(line);
                continue;
            }
            Part::Step(step) => step,
        };
        let tool = step.command.split_whitespace().next().unwrap_or_default();
        assert!(
            TOOLS.contains(&tool),
            "line {}: a transcript may use {TOOLS:?}, not {tool}",
            step.line
        );
        let mut called = step.command.split_whitespace().skip(1);
        let serves = tool == "inbox" && matches!(called.next(), Some("serve" | "up"));
        let runs_devnet = step.command == "inbox devnet &";
        let mut command = tokens.real(&step.command).replace(USUAL, &port);
        if serves && !command.contains("--listen") {
            command = command.replacen(" &", &format!(" --listen {port} &"), 1);
        }
        if serves && command.contains("--ledger") {
            command = command.replacen("--ledger", "--ledger --ledger-ports anywhere", 1);
        }
        for (flag, usual, free) in &devnet {
            command = command.replace(usual, free);
            if runs_devnet {
                command = command.replacen(" &", &format!(" {flag} {free} &"), 1);
            }
        }
        let (text, code) = shell.run(&command);
        assert_eq!(code, 0, "line {}: $ {}\n{text}", step.line, step.command);
        if serves {
            wait_for(&port);
        }
        if runs_devnet {
            wait_for(&devnet[2].2);
            // The network that is called local is on the usual ports, so the same is named by a file here.
            let [(.., node), (.., mirror), (.., rest)] = &devnet;
            let network = format!(
                "{{\"network\":{{\"{node}\":\"0.0.3\"}},\"mirrorNetwork\":[\"{mirror}\"],\"mirrorRest\":\"http://{rest}\"}}"
            );
            shell.run(&format!("echo '{network}' > .network.json"));
            shell.run("export INBOX_HEDERA_NETWORK=.network.json");
        }
        let mut text = text.replace(&port, USUAL);
        for (_, usual, free) in &devnet {
            text = text.replace(free, usual);
        }
        let text = server.as_ref().map_or(text.clone(), |it| it.shown(&text));
        let found: Vec<String> = tokens.shown(&text).lines().map(str::to_owned).collect();
        out.extend(
            format!("$ {}", step.command.replace('\n', "\n> "))
                .lines()
                .map(str::to_owned),
        );
        // What only differs in what cannot be the same stays as the document has it.
        if blurred(&step.shown.join("\n")) == blurred(&found.join("\n")) {
            out.extend(step.shown);
        } else {
            out.extend(found);
        }
        count += 1;
    }
    (out.join("\n") + "\n", count)
}

/// An address of this machine that nobody has.
fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

/// Waits until somebody listens.
fn wait_for(address: &str) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_mins(1);
    while std::net::TcpStream::connect(address).is_err() {
        assert!(
            std::time::Instant::now() < deadline,
            "nobody listens on {address}"
        );
        std::thread::yield_now();
    }
}

#[track_caller]
fn play(path: &str) {
    let document = std::fs::read_to_string(root().join(path)).expect("the document is there");
    let (wanted, count) = played(&document);
    assert!(count > 0, "{path} shows no command");
    check_document(path, &wanted);
}

#[test]
fn the_readme_shows_what_happens() {
    play("README.md");
}

#[test]
fn the_readmes_first_screen_has_at_most_forty_lines() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let install = readme.lines().position(|line| line == "## Install");
    assert!(install.is_some_and(|line| line <= 40), "{install:?}");
}

#[test]
fn every_guide_shows_what_happens() {
    let mut guides: Vec<_> = std::fs::read_dir(root().join("docs/guide"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    guides.sort();
    assert!(guides.len() >= 3, "{guides:?}");
    for guide in guides {
        play(&format!("docs/guide/{guide}"));
    }
}

#[test]
fn a_transcript_that_lies_is_caught() {
    let honest = "```console\n$ inbox init\nmade .agents/coord.db  schema 3\n```\n";
    let (wanted, _) = played(honest);
    let lying = wanted.replace("made", "found");
    assert_ne!(lying, wanted);
    assert_eq!(played(&lying).0, wanted);
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut documents = vec![root().join("README.md"), root().join("AGENTS.md")];
    for name in ["CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"] {
        documents.push(root().join(name));
    }
    collect(&root().join("docs"), &mut documents);
    collect(&root().join("integrations"), &mut documents);
    collect(&root().join("crates"), &mut documents);
    let mut broken = Vec::new();
    for document in documents {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in text::links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            if path.is_empty() || path.contains("://") {
                continue;
            }
            let folder = document.parent().unwrap();
            if !folder.join(path).exists() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

fn collect(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

#[test]
fn the_story_of_make_run_plays_to_its_end() {
    let folder = TempDir::new();
    let output = Command::new(root().join("scripts/story"))
        .env("INBOX_BINARY", INBOX)
        .env("INBOX_LEASE", "not a token, and of no concern to the story")
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for part in [
        "$ inbox claim",
        "waits)",
        "has woken)",
        "exit 30",
        "result:",
    ] {
        assert!(text.contains(part), "{part} is not in the story:\n{text}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// The skill's commands, played in their order by a worker on work that waits for it.
#[test]
fn every_command_of_the_skill_works() {
    let skill = std::fs::read_to_string(root().join("skills/inbox/SKILL.md")).unwrap();
    assert!(skill.starts_with("---\nname: inbox\n"), "front matter");
    let words = skill.split_whitespace().count();
    assert!(words <= 650, "{words} words are too many for a skill");
    let mut shell = Shell::start();
    let mut run = |command: &str| {
        let (text, code) = shell.run(command);
        assert_eq!(code, 0, "$ {command}\n{text}");
        text
    };
    let _ = run("inbox init");
    let _ = run("inbox send --from lead --to backend --subject 'Add post CRUD'");
    let _ = run("echo 'It works.' > result.md");
    let mut seen = Vec::new();
    let mut in_bash = false;
    for line in skill.lines() {
        if line.starts_with("```") {
            in_bash = line == "```bash";
            continue;
        }
        if !in_bash || !line.starts_with("inbox ") {
            continue;
        }
        let verb = line.split_whitespace().nth(1).unwrap_or_default();
        seen.push(verb.to_owned());
        if verb == "wait-reply" {
            let _ = run(&format!("{line} &"));
            let _ =
                run("inbox reply --from lead --thread \"$THREAD\" --summary 'Use email' --json");
            assert!(run("wait").contains("\"woke\":true"), "{line}");
            continue;
        }
        let text = run(line);
        if verb == "claim" {
            let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
            let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let _ = run(&format!(
                "THREAD={} LEASE={}",
                word(&answer["thread"]["thread_id"]),
                word(&answer["lease"]["lease_token"])
            ));
        }
    }
    for verb in ["fetch", "claim", "update", "wait-reply", "done"] {
        assert!(seen.iter().any(|found| found == verb), "{verb}: {seen:?}");
    }
}

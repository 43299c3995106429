//! Artifacts that point anywhere: by those who are not at the machine a path is text, and nothing is read through it; by who is,
//! it may lead elsewhere at every moment.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use inbox_testkit::sandbox::{Sandbox, finish};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::INBOX;
use crate::server::Served;
use crate::server::raw::{exchange, post};

/// Ways up and out of a folder, each in front of every place.
const WAYS: [&str; 10] = [
    "",
    "/",
    "../",
    "../../../../../../../../",
    "./../",
    "a/../../",
    "..\\..\\",
    "%2e%2e/",
    "file://",
    concat!("/proc/self/ro", "ot/"),
];

/// What somebody may want to read.
const PLACES: [&str; 16] = [
    "etc/passwd",
    "etc/shadow",
    "proc/self/environ",
    "proc/self/mem",
    "proc/self/cmdline",
    "dev/zero",
    "dev/random",
    "dev/stdin",
    "dev/fd/0",
    "sys/kernel/notes",
    ".agents/coord.db",
    ".agents/inbox.toml",
    ".ssh/id_ed25519",
    "pipe",
    "link",
    "etc/passwd\u{0}.md",
];

#[test]
fn over_http_a_path_is_text_and_nothing_is_read_through_it() {
    let served = Served::start();
    let folder = served.desk.folder();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.join("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
    let (address, secret) = (served.address(), served.token("eve", ""));
    let secret = format!("Bearer {secret}");
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", secret.as_str()),
    ];
    let mut cases = 0;
    for way in WAYS {
        for place in PLACES {
            let path = format!("{way}{place}");
            let body = json!({ "to": ["bob"], "subject": "s", "artifacts": [{ "path": path }] });
            let answered = exchange(
                address,
                &post("/v1/send", address, &headers, &body.to_string()),
            );
            let answer: Value = serde_json::from_str(&answered.body).expect("JSON");
            if answered.status == 200 {
                let kept = &answer["artifacts"][0];
                assert_eq!(kept["path"], path);
                let known = json!({ "size": null, "sha256": null, "media_type": null });
                assert_eq!(kept["metadata_json"], known, "{path:?} was looked at");
            } else {
                assert_eq!(answered.status, 400, "{path:?}: {}", answered.body);
            }
            cases += 1;
        }
    }
    assert_eq!(cases, WAYS.len() * PLACES.len());
    // A path in an address of the server leads nowhere either.
    for way in WAYS {
        for place in PLACES {
            let path = format!("/{way}{place}").replace(['\u{0}', '\\'], "");
            let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
            let answered = exchange(address, request.as_bytes());
            assert!(
                matches!(answered.status, 303 | 400 | 401 | 403 | 404 | 405),
                "{path}: {}",
                answered.status
            );
            assert!(!answered.body.contains("root:"), "{path}");
        }
    }
}

/// What a name leads to, one after the other: a file that grows and shrinks, a link to it, and what is no file.
const TURNS: [&str; 5] = ["file", "link", "pipe", "folder", "dangling"];

/// How often it is sent, and how often each message names it.
const SENDS: usize = 30;
const NAMED: usize = 64;

/// Long enough for a busy machine, and never waited for when all is well.
const NEVER: Duration = Duration::from_mins(1);

/// Lets one name be each of them in turn, for a few microseconds each.
fn swap(folder: &Path, is_over: &AtomicBool) {
    let name = folder.join("name");
    let kept = TURNS.map(|turn| folder.join(turn));
    let mut size = 0;
    while !is_over.load(Ordering::Relaxed) {
        let file = folder.join("grows");
        let mut grows = std::fs::File::options().append(true).open(&file).unwrap();
        grows.write_all(&[b'a'; 10_000]).unwrap();
        size += 10_000;
        if size > 200_000 {
            size = 0;
            grows.set_len(0).unwrap();
        }
        for place in &kept {
            std::fs::rename(place, &name).unwrap();
            std::fs::rename(&name, place).unwrap();
        }
    }
}

#[test]
fn a_name_that_is_another_thing_every_moment_holds_no_sender_up_and_is_described_whole_or_not_at_all()
 {
    let sandbox = Sandbox::in_memory(INBOX);
    let folder = sandbox.folder();
    let [file, link, pipe, inner, dangling] = TURNS.map(|turn| folder.join(turn));
    std::fs::write(folder.join("grows"), "").unwrap();
    std::fs::hard_link(folder.join("grows"), file).unwrap();
    std::os::unix::fs::symlink(folder.join("grows"), link).unwrap();
    std::os::unix::fs::symlink(folder.join("nowhere"), dangling).unwrap();
    std::fs::create_dir(inner).unwrap();
    let made = std::process::Command::new("mkfifo").arg(pipe).status();
    assert!(made.unwrap().success());
    let mut line: Vec<_> = "send --from lead --to w --subject s --json"
        .split(' ')
        .collect();
    line.extend(["--artifact", "name"].repeat(NAMED));
    let (mut whole, mut none) = (0, 0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| swap(folder, &is_over));
        for _ in 0..SENDS {
            let child = sandbox.spawn(&line);
            let pid = rustix::process::Pid::from_child(&child);
            let (tell, told) = mpsc::channel();
            scope.spawn(move || tell.send(finish(child)));
            let outcome = told.recv_timeout(NEVER).inspect_err(|_| {
                is_over.store(true, Ordering::Relaxed);
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            });
            let sent = outcome.expect("nobody waits for a pipe").ok();
            for artifact in sent["artifacts"].as_array().unwrap() {
                let found = &artifact["metadata_json"];
                let Some(size) = found["size"].as_u64() else {
                    assert_eq!(found["sha256"], Value::Null);
                    none += 1;
                    continue;
                };
                let content = vec![b'a'; usize::try_from(size).unwrap()];
                let hash: String = Sha256::digest(content)
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect();
                assert_eq!(found["sha256"], hash, "{size} bytes");
                whole += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(whole + none, SENDS * NAMED);
    assert!(whole > 0 && none > 0, "{whole} were files, {none} were not");
}

#[test]
fn a_file_without_end_is_not_read_to_it() {
    let sandbox = Sandbox::in_memory(INBOX);
    // Nothing of it is on the disk, and reading it would take as long as if it were.
    let vast = std::fs::File::create(sandbox.folder().join("vast")).unwrap();
    vast.set_len(1 << 40).unwrap();
    let sent = sandbox.ok("send --from lead --to w --subject s --artifact vast");
    assert_eq!(sent["artifacts"][0]["metadata_json"]["size"], Value::Null);
    let warning = sent["warnings"][0].as_str().unwrap();
    assert!(
        warning.starts_with("vast is not a readable regular file of up to 16 GiB"),
        "{warning}"
    );
}

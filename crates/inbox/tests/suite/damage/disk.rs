//! Disks that are full or cannot be written.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

use inbox_testkit::sandbox::{Sandbox, finish};

use super::{bounded, filled, must};
use crate::INBOX;

/// A mounted folder; unmounted with its owner.
struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(&self.0)
            .status();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a test can do this")
}

/// A disk of this size, which is taken away with the second value.
fn disk_of(size: &str, inbox: &Sandbox) -> (PathBuf, Mount) {
    let folder = inbox.folder().join("disk");
    std::fs::create_dir(&folder).expect("a folder");
    must(
        "mount",
        &["-t", "tmpfs", "-o", size, "tmpfs", text(&folder)],
    );
    (folder.clone(), Mount(folder))
}

#[test]
fn a_full_disk_refuses_and_loses_nothing_that_was_acknowledged() {
    let inbox = Sandbox::empty(INBOX);
    let (folder, mount) = disk_of("size=2m", &inbox);
    let db = folder.join("coord.db");
    let run = |args: &[&str]| {
        let mut command = inbox.command(args);
        finish(command.arg("--json").env("INBOX_DB", &db).spawn().unwrap())
    };
    run(&["init"]).ok();
    let body = "x".repeat(50_000);
    let mut acknowledged = Vec::new();
    let refused = loop {
        let subject = format!("Number {}", acknowledged.len());
        let sent = run(&[
            "send",
            "--from",
            "lead",
            "--to",
            "w",
            "--subject",
            &subject,
            "--body",
            &body,
        ]);
        if sent.code != 0 {
            break sent;
        }
        acknowledged.push(
            sent.ok()["thread"]["thread_id"]
                .as_str()
                .unwrap()
                .to_owned(),
        );
        assert!(acknowledged.len() < 100, "the disk never fills");
    };
    let error = refused.refused(50, "storage");
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("full"), "{message}");
    assert!(
        error["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("free some space"),
        "{error}"
    );
    assert!(acknowledged.len() > 3, "{acknowledged:?}");
    // Nothing fits any more, and what was acknowledged is still read.
    let filler = folder.join("filler");
    let _ = std::fs::write(&filler, vec![0; 4 << 20]);
    for _ in 0..3 {
        let again = run(&[
            "send",
            "--from",
            "lead",
            "--to",
            "w",
            "--subject",
            "no",
            "--body",
            &body,
        ]);
        again.refused(50, "storage");
        let listed = run(&["list"]).ok();
        assert_eq!(
            listed["threads"].as_array().unwrap().len(),
            acknowledged.len()
        );
    }
    let doctor = run(&["doctor"]);
    assert!(doctor.code == 0 || doctor.code == 50, "{doctor}");
    for thread in &acknowledged {
        let shown = run(&["show", "--thread", thread]).ok();
        assert_eq!(shown["messages"][0]["body"].as_str(), Some(body.as_str()));
    }
    // It works again once there is space.
    std::fs::remove_file(&filler).unwrap();
    must("mount", &["-o", "remount,size=8m", text(&folder)]);
    run(&[
        "send",
        "--from",
        "lead",
        "--to",
        "w",
        "--subject",
        "again",
        "--body",
        &body,
    ])
    .ok();
    let listed = run(&["list"]).ok();
    assert_eq!(
        listed["threads"].as_array().unwrap().len(),
        acknowledged.len() + 1
    );
    run(&["doctor"]).ok();
    drop(mount);
}

#[test]
fn init_on_a_full_disk_leaves_no_half_a_store() {
    let inbox = Sandbox::empty(INBOX);
    let (folder, mount) = disk_of("size=32k", &inbox);
    let db = folder.join("coord.db");
    let made = finish(
        inbox
            .command(["init", "--json"])
            .env("INBOX_DB", &db)
            .spawn()
            .unwrap(),
    );
    made.refused(50, "storage");
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    drop(mount);
}

#[test]
fn a_store_on_a_read_only_disk_refuses_writes_and_says_why() {
    let inbox = filled();
    let folder = inbox.folder().join(".agents");
    must("mount", &["--bind", text(&folder), text(&folder)]);
    let mount = Mount(folder.clone());
    must("mount", &["-o", "remount,ro,bind", text(&folder)]);
    for args in [
        &["send", "--from", "a", "--to", "w", "--subject", "s"][..],
        &["claim", "--agent", "w"],
        &[
            "reply",
            "--from",
            "a",
            "--thread",
            "thr_1",
            "--summary",
            "s",
        ],
    ] {
        let refused = inbox
            .run(args.iter().chain(&["--json"]))
            .refused(50, "storage");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("ead-only") || message.contains("cannot be written"),
            "{message}"
        );
        let hint = refused["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("read-only"), "{hint}");
    }
    let listed = inbox.run(["list", "--json"]).ok();
    assert_eq!(
        listed["threads"].as_array().unwrap().len(),
        3,
        "it can still be read"
    );
    inbox.run(["show", "--thread", "thr_1", "--json"]).ok();
    drop(mount);
    let listed = inbox.run(["list", "--json"]).ok();
    assert_eq!(listed["threads"].as_array().unwrap().len(), 3);
}

#[test]
fn a_store_that_another_user_owns_is_refused_with_a_clear_error() {
    let inbox = filled();
    let folder = inbox.folder().join(".agents");
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(inbox.folder(), PermissionsExt::from_mode(0o755)).unwrap();
    // A copy of the binary that anybody may run; made by another process, because a fork of this one
    // could hold the file open for writing and keep it from being run.
    let binary = inbox.folder().join("inbox");
    must("cp", &[INBOX, text(&binary)]);
    let as_nobody = |args: &[&str]| {
        let mut command = std::process::Command::new(&binary);
        let command = command
            .args(args)
            .arg("--json")
            .current_dir(inbox.folder())
            .env_clear();
        let command = command.stdin(std::process::Stdio::null());
        let command = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        finish(command.uid(65534).gid(65534).spawn().unwrap())
    };
    for mode in [0o600, 0o444] {
        for suffix in ["", "-wal", "-shm", "-lock", "-bell"] {
            let path = format!("{}{suffix}", inbox.store().display());
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let refused = as_nobody(&["send", "--from", "a", "--to", "w", "--subject", "s"])
            .refused(50, "storage");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("coord.db"), "{message}");
        let hint = refused["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("owns"), "{hint}");
    }
    let listed = as_nobody(&["list"]);
    let threads = listed.ok()["threads"].as_array().unwrap().len();
    assert_eq!(threads, 3, "what may be read is read");
    let mine = bounded(&inbox, &inbox.store(), &["list"]).ok();
    assert_eq!(mine["threads"].as_array().unwrap().len(), 3);
}

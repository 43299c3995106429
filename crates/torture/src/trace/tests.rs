use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::Errno;

use super::{Call, Fate, Inode, Watcher, follow};

/// A folder of its own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("inbox-trace-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Folder(path.canonicalize().expect("it is there"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shell(folder: &Path, script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script])
        .current_dir(folder)
        .env("PATH", "/usr/bin:/bin");
    command
}

/// Notes every call, and fails the writes that it is told to.
#[derive(Default)]
struct Notes {
    calls: Vec<Call>,
    fails: Option<Fate>,
}

impl Watcher for Notes {
    fn before(&mut self, call: &Call) -> Fate {
        match (call, self.fails) {
            (Call::Write { .. }, Some(fate)) => fate,
            _ => Fate::Happens,
        }
    }

    fn after(&mut self, call: Call, _made: Option<Inode>) {
        self.calls.push(call);
    }
}

#[test]
fn a_watched_process_does_what_it_would_and_every_change_is_seen() {
    let folder = Folder::new("seen");
    let script = "mkdir d; printf one > d/f; printf two >> d/f; mv d/f d/g; rm d/g; echo said";
    let mut notes = Notes::default();
    let outcome = follow(&shell(&folder.0, script), &folder.0, &mut notes).expect("it is watched");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "said\n"));
    let at = |name: &str| folder.0.join(name);
    let writes: Vec<_> = notes
        .calls
        .iter()
        .filter_map(|call| match call {
            Call::Write {
                path,
                offset,
                bytes,
                ..
            } => Some((path.clone(), *offset, bytes.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(
        writes,
        [
            (at("d/f"), 0, b"one".to_vec()),
            (at("d/f"), 3, b"two".to_vec())
        ]
    );
    for call in [
        Call::MakeFolder(at("d")),
        Call::Rename(at("d/f"), at("d/g")),
        Call::Unlink(at("d/g")),
        Call::Say(b"said\n".to_vec()),
    ] {
        assert!(notes.calls.contains(&call), "{call:?}: {:?}", notes.calls);
    }
}

#[test]
fn a_call_that_is_to_fail_has_no_effect_and_the_process_is_told() {
    let folder = Folder::new("failed");
    let mut notes = Notes {
        fails: Some(Fate::Fails(Errno::NOSPC.raw_os_error())),
        ..Notes::default()
    };
    let script = "head -c 4 /proc/version > f || echo refused";
    let outcome = follow(&shell(&folder.0, script), &folder.0, &mut notes).expect("it is watched");
    assert_eq!(outcome.stdout, "refused\n");
    assert!(outcome.stderr.contains("No space left"), "{outcome}");
    assert_eq!(std::fs::read(folder.0.join("f")).expect("it is there"), b"");
}

#[test]
fn a_write_that_is_to_be_short_has_a_part_of_its_bytes() {
    let folder = Folder::new("short");
    let mut notes = Notes {
        fails: Some(Fate::Short(2)),
        ..Notes::default()
    };
    let outcome = follow(&shell(&folder.0, "printf text > f"), &folder.0, &mut notes);
    assert_eq!(outcome.expect("it is watched").code, 0);
    // Who writes goes on with the rest.
    let halves = notes
        .calls
        .iter()
        .filter(|call| matches!(call, Call::Write { bytes, .. } if bytes.len() == 2));
    assert_eq!(halves.count(), 2, "{:?}", notes.calls);
    assert_eq!(
        std::fs::read(folder.0.join("f")).expect("it is there"),
        b"text"
    );
}

/// Sees all calls, and fails the reads and locks that it is told to.
#[derive(Default)]
struct Nosy {
    asked: Vec<Call>,
    read: Option<Fate>,
    lock: Option<Fate>,
}

impl Watcher for Nosy {
    fn sees_all(&self) -> bool {
        true
    }

    fn before(&mut self, call: &Call) -> Fate {
        self.asked.push(call.clone());
        let fate = match call {
            Call::Read { .. } => self.read,
            Call::Lock(_) => self.lock,
            _ => None,
        };
        fate.unwrap_or(Fate::Happens)
    }

    fn after(&mut self, _call: Call, _made: Option<Inode>) {}
}

const READS: &str = "printf text > f; head -c 4 f || echo refused";

#[test]
fn a_read_and_a_lock_are_shown_to_who_asks_for_all_and_to_nobody_else() {
    let folder = Folder::new("all");
    // A lock is given back as well, which asks for nothing.
    let script = format!("{READS}; flock f true");
    let mut nosy = Nosy::default();
    let outcome = follow(&shell(&folder.0, &script), &folder.0, &mut nosy);
    assert_eq!(outcome.expect("it is watched").stdout, "text");
    let path = folder.0.join("f");
    let is_read = |call: &&Call| matches!(call, Call::Read { path: it, .. } if *it == path);
    assert!(
        nosy.asked.iter().filter(is_read).count() > 0,
        "{:?}",
        nosy.asked
    );
    let lock = Call::Lock(path.clone());
    let locks = nosy.asked.iter().filter(|call| **call == lock);
    assert_eq!(locks.count(), 1, "{:?}", nosy.asked);
    let mut notes = Notes::default();
    let _ = follow(&shell(&folder.0, &script), &folder.0, &mut notes).expect("it is watched");
    assert!(!notes.calls.iter().any(|call| is_read(&call)));
    assert!(!notes.calls.contains(&lock));
}

#[test]
fn a_read_can_fail_or_give_a_part_and_a_lock_can_be_refused() {
    let folder = Folder::new("unread");
    let run = |script: &str, nosy: &mut Nosy| {
        follow(&shell(&folder.0, script), &folder.0, nosy).expect("it is watched")
    };
    let mut failing = Nosy {
        read: Some(Fate::Fails(Errno::IO.raw_os_error())),
        ..Nosy::default()
    };
    let outcome = run(READS, &mut failing);
    assert_eq!(outcome.stdout, "refused\n");
    assert!(outcome.stderr.contains("Input/output error"), "{outcome}");
    let mut short = Nosy {
        read: Some(Fate::Short(1)),
        ..Nosy::default()
    };
    // Who reads goes on with the rest.
    assert_eq!(run(READS, &mut short).stdout, "text");
    assert!(short.asked.len() > 4, "{:?}", short.asked);
    let mut without = Nosy {
        lock: Some(Fate::Fails(Errno::NOLCK.raw_os_error())),
        ..Nosy::default()
    };
    let outcome = run("flock f true || echo refused", &mut without);
    assert_eq!(outcome.stdout, "refused\n", "{outcome}");
}

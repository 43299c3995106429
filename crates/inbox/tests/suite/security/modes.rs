//! What commands leave on the disk: files that nobody else reads, in folders that nobody else enters, whatever the umask.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use inbox_testkit::sandbox::{Sandbox, finish};

use crate::INBOX;
use crate::server::listening;

/// Commands that write files, in the order in which they can; `DIR` is a folder of the test. `setup` and `man` are not here: what they
/// write has nothing of the mail, and is for others too.
const COMMANDS: [&str; 18] = [
    "init",
    "agent add backend",
    "send --from lead --to backend --subject One --body secret",
    "claim --agent backend",
    "search secret",
    "backup --to DIR/copy.db",
    "export --format mailbox --dir DIR/mail",
    "export --dir DIR/mail2 --format graph",
    "memory add --agent backend --text remembered",
    "token create --agent backend",
    "session start --agent backend --session s1",
    "hook --client claude-code",
    "migrate --from DIR/copy.db --to DIR/moved.db",
    "run --agent backend --drain -- sh -c true",
    "archive --older-than-days 0",
    "dead-letters",
    "doctor",
    "torture --keep --only damage --rounds 1",
];

/// Everything below a folder that others can get at.
pub(super) fn open_to_others(folder: &Path, found: &mut Vec<String>) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let kept = std::fs::symlink_metadata(&path).unwrap();
        if kept.is_symlink() {
            continue;
        }
        count += 1;
        let mode = kept.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            found.push(format!("{mode:o} {}", path.display()));
        }
        if kept.is_dir() {
            count += open_to_others(&path, found);
        }
    }
    count
}

/// A command of a sandbox, under another umask.
pub(super) fn under<'a>(
    umask: &str,
    inbox: &Sandbox,
    words: impl Iterator<Item = &'a str>,
) -> Command {
    let inner = inbox.command(words);
    let script = format!("umask {umask} && exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script])
        .arg(inner.get_program())
        .args(inner.get_args());
    command.current_dir(inbox.folder()).env_clear();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[test]
fn nothing_that_a_ledger_leaves_can_be_read_by_others() {
    let inbox = Sandbox::empty(INBOX);
    finish(
        under("000", &inbox, "init --json".split(' '))
            .spawn()
            .unwrap(),
    )
    .ok();
    inbox.ok("agent add quinn");
    let words = "up --ledger --ledger-ports anywhere --provision --listen 127.0.0.1:0 --json";
    let mut command = under("000", &inbox, words.split(' '));
    command.stderr(Stdio::inherit());
    let (mut child, _) = listening(command);
    let mut found = Vec::new();
    let count = open_to_others(&inbox.folder().join(".agents"), &mut found);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(count > 6, "{count}");
}

#[test]
fn nothing_that_a_command_writes_can_be_read_by_others_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let inbox = Sandbox::empty(INBOX);
        let place = inbox.folder().join("place");
        std::fs::create_dir(&place).unwrap();
        std::fs::set_permissions(&place, PermissionsExt::from_mode(0o700)).unwrap();
        let mut ran = 0;
        for line in COMMANDS {
            let line = line.replace("DIR", place.to_str().unwrap());
            let mut command = under(umask, &inbox, line.split_whitespace());
            let outcome = finish(command.spawn().unwrap());
            ran += usize::from(matches!(outcome.code, 0 | 10));
            let mut found = Vec::new();
            for entry in std::fs::read_dir(inbox.folder()).unwrap().flatten() {
                if entry.path().is_dir() {
                    open_to_others(&entry.path(), &mut found);
                }
            }
            assert!(
                found.is_empty(),
                "umask {umask}, {line}:\n{}\n{outcome}",
                found.join("\n")
            );
        }
        assert_eq!(ran, COMMANDS.len(), "umask {umask}");
        let mut found = Vec::new();
        assert!(
            open_to_others(inbox.folder(), &mut found) > 10,
            "files were made"
        );
    }
}

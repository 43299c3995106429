//! The real Claude Code and Codex, from npm, in a terminal and in a network of their own, where a stand-in answers for
//! their model: what a session is told at its start, and how it wakes. Without npm, Python and user namespaces
//! these tests fail: a door that no client has gone through is not tested.

mod claude;
mod codex;
mod stage;
mod story;

use std::process::Command;

/// A script of this folder in namespaces of its own, with no network but loopback.
pub(crate) fn offline(script: &str) -> Command {
    let folder = crate::root().join("crates/inbox/tests/suite/clients");
    let mut command = Command::new("unshare");
    command
        .args(["-rnpf", "--kill-child", "--mount-proc", "python3", "-B"])
        .arg(folder.join(script));
    command
}

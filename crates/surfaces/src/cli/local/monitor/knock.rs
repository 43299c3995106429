//! How a line reaches a client: each door takes it in its own way.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inbox_core::{Door, Refusal, SessionId};
use inbox_ops::Woken;

use super::super::presence::Presence;
use super::super::process::Process;
use super::super::setup::Client;
use crate::cli::Context;
use crate::cli::print::complain;

/// How long a client may take to take a line.
const PATIENCE: Duration = Duration::from_secs(30);

/// A door, and what it needs.
pub(super) struct Knock {
    door: Door,
    session: SessionId,
    /// The client's program, for a door that is a command of it.
    program: PathBuf,
}

impl Knock {
    pub(super) fn new(
        door: Door,
        client: Client,
        session: &SessionId,
        process: Option<i32>,
    ) -> Self {
        // The very program that runs the session: another version may keep its queue elsewhere.
        let own = process.and_then(Process::numbered);
        let own = own.and_then(|process| process.program());
        Knock {
            door,
            session: session.clone(),
            program: own.unwrap_or_else(|| PathBuf::from(client.name())),
        }
    }

    /// Wakes the client; whether it took the line.
    pub(super) fn wake(
        &self,
        woken: &Woken,
        line: &str,
        context: &Context,
    ) -> Result<bool, Refusal> {
        match self.door {
            Door::CodexQueue => Ok(self.queue(line)),
            Door::AsyncRewake => {
                complain(line);
                Ok(true)
            }
            _ => context.printer.stream_item(woken),
        }
    }

    /// Puts the line into Codex's queue. It is a pointer and no word of the mail: Codex takes it for its user's word.
    fn queue(&self, line: &str) -> bool {
        let child = inbox_ops::without_secrets(&mut Command::new(&self.program))
            .args([
                "queue",
                "--thread",
                self.session.as_str(),
                "--message",
                line,
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            return false;
        };
        let until = Instant::now() + PATIENCE;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return false;
                }
            }
        }
    }
}

/// Starts the one who watches for a Codex session's mail, unless there is one. It is apart from the hook that calls
/// this: it has none of its pipes, and goes on when the hook has ended.
pub(in super::super) fn start_for_codex(session: &SessionId, db: Option<&str>) {
    let Some(presence) = Presence::of(session) else {
        return;
    };
    if presence.is_watched() {
        return;
    }
    let (Some(codex), Ok(own)) = (Process::client("codex"), std::env::current_exe()) else {
        return;
    };
    let mut command = Command::new(own);
    command
        .args(["monitor", "codex", "--session", session.as_str()])
        .args(["--door", Door::CodexQueue.name()])
        .args(["--process", &codex.number().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends the hook's processes does not end it.
        .process_group(0);
    if let Some(db) = db {
        command.args(["--db", db]);
    }
    // Without it mail waits for the next turn, as it would without this door.
    let _ = command.spawn();
}

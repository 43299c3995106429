//! One shell in a folder of its own, with the binary on its path.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use inbox_testkit::sandbox::TempDir;

use super::server::Server;
use crate::INBOX;

/// Ends the output of each command, before its exit status.
const MARK: char = '\u{1e}';
/// How long one command may take.
const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Shell {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    background: u32,
    _folder: TempDir,
}

impl Shell {
    pub(super) fn start() -> Self {
        Shell::start_with(None)
    }

    /// The same, with a server in reach.
    pub(super) fn start_with(server: Option<&Server>) -> Self {
        let folder = TempDir::new();
        let binaries = Path::new(INBOX).parent().expect("the binary has a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", binaries.display());
        let mut command = Command::new("sh");
        command
            .current_dir(folder.path())
            .env_clear()
            .env("PATH", &path)
            .env("HOME", folder.path())
            .env("INBOX_TEST_STORE", "1")
            // With all that it starts, so that nothing of it is left.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(server) = server {
            server.introduce(&mut command, folder.path(), &path);
        }
        let mut child = command.spawn().expect("there is a shell");
        let input = child.stdin.take().expect("its input is piped");
        let mut reader = BufReader::new(child.stdout.take().expect("its output is piped"));
        let (send, output) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 0) {
                if send.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Shell {
            child,
            input,
            output,
            background: 0,
            _folder: folder,
        }
    }

    /// Runs a line: its output, standard error included, and its exit status.
    ///
    /// What runs in the background keeps its output for `wait`, so that a transcript has one order.
    pub(super) fn run(&mut self, line: &str) -> (String, i32) {
        let bare = line.split(" # ").next().unwrap_or(line).trim_end();
        let line = if let Some(command) = bare.strip_suffix('&').filter(|c| !c.ends_with('&')) {
            self.background += 1;
            format!("{command} > .background.{} 2>&1 &", self.background)
        } else if bare == "wait" {
            "wait; cat .background.*; rm .background.*".to_owned()
        } else {
            line.to_owned()
        };
        let script = format!("{{ {line}\n}} </dev/null 2>&1\nprintf '{MARK}%s\\n' \"$?\"\n");
        self.input
            .write_all(script.as_bytes())
            .and_then(|()| self.input.flush())
            .expect("the shell listens");
        let mut text = String::new();
        loop {
            let piece = self.output.recv_timeout(PATIENCE);
            let piece = piece.unwrap_or_else(|_| panic!("$ {line}\n{text}does not end"));
            if let Some((before, code)) = piece.split_once(MARK) {
                text.push_str(before);
                return (text, code.trim().parse().expect("an exit status"));
            }
            text.push_str(&piece);
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}

//! The watching itself: the process and all its threads stand still before and after each of their calls.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use nix::errno::Errno;
use nix::sys::ptrace::{self, Event, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::call::{Found, Sight, all_of, number_of};
use super::cpu::Registers;
use super::{Call, Fate, Watcher};
use crate::Broken;
use crate::child::{Outcome, received};

/// Waits for a line before it becomes the command, so that its watcher is there from the first call on. When the line never
/// comes, the watcher is gone and nobody wants the command.
const WAITING: &str = r#"read -r go && exec "$@""#;

/// A call that has begun.
struct Begun {
    registers: Registers,
    call: Option<Call>,
    fate: Fate,
}

impl Begun {
    fn of_no_interest(registers: Registers) -> Self {
        Begun {
            registers,
            call: None,
            fate: Fate::Happens,
        }
    }
}

pub(super) fn follow(
    command: &Command,
    root: &Path,
    watcher: &mut dyn Watcher,
) -> Result<Outcome, Broken> {
    let root = root.canonicalize()?;
    let mut child = spawn(command)?;
    let pid = i32::try_from(child.id())
        .map(Pid::from_raw)
        .map_err(|error| Broken::new(error.to_string()))?;
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_EXITKILL;
    let seized = ptrace::seize(pid, options).and_then(|()| ptrace::interrupt(pid));
    if let Err(error) = seized {
        let _ = child.kill();
        let _ = child.wait();
        return Err(Broken::new(format!(
            "the system does not let one process watch another: {error}; a container needs --cap-add SYS_PTRACE, and kernel.yama.ptrace_scope is below 3"
        )));
    }
    let bound = Bound::on(pid);
    // Read while it runs: it could not end with a full pipe.
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let out = std::thread::spawn(move || all_of(out));
    let err = std::thread::spawn(move || all_of(err));
    let mut scene = Scene {
        root: &root,
        watcher,
        threads: HashMap::from([(pid, None)]),
        go: child.stdin.take(),
    };
    let code = scene.play(pid);
    drop(bound);
    Ok(Outcome {
        code: code?,
        stdout: out.join().unwrap_or_default(),
        stderr: err.join().unwrap_or_default(),
    })
}

fn spawn(command: &Command) -> Result<Child, Broken> {
    let mut waiting = Command::new("/bin/sh");
    waiting
        .args(["-c", WAITING, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            waiting.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        waiting.current_dir(folder);
    }
    let waiting = waiting
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(waiting.spawn()?)
}

/// Kills a process that never ends.
struct Bound(Option<mpsc::Sender<()>>);

impl Bound {
    fn on(pid: Pid) -> Self {
        let (ended, end) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            if received(&end) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
            }
        });
        Bound(Some(ended))
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.0.take();
    }
}

struct Scene<'a> {
    root: &'a Path,
    watcher: &'a mut dyn Watcher,
    /// The threads, each with the call that it is in.
    threads: HashMap<Pid, Option<Begun>>,
    /// The line that the process waits for.
    go: Option<std::process::ChildStdin>,
}

impl Scene<'_> {
    /// Watches until all are gone; the exit status of the first.
    fn play(&mut self, first: Pid) -> Result<i32, Broken> {
        let mut code = -1;
        // Children of this thread alone: others' are theirs to wait for.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            let status = match waitpid(None, Some(flags)) {
                Ok(status) => status,
                Err(Errno::EINTR) => continue,
                Err(Errno::ECHILD) => return Ok(code),
                Err(error) => return Err(Broken::new(format!("a watched process: {error}"))),
            };
            // Now that it stands still, nothing that it does from here on is missed.
            if let Some(mut go) = self.go.take() {
                let _ = go.write_all(b"go\n");
            }
            match status {
                WaitStatus::Exited(pid, status) => {
                    if pid == first {
                        code = status;
                    }
                    self.threads.remove(&pid);
                }
                WaitStatus::Signaled(pid, ..) => {
                    self.threads.remove(&pid);
                }
                WaitStatus::PtraceSyscall(pid) => {
                    self.at_edge(pid);
                    go_on(pid, None);
                }
                WaitStatus::PtraceEvent(pid, _, event) => {
                    let begun = self.threads.entry(pid).or_default();
                    if event == Event::PTRACE_EVENT_EXEC as i32 && begun.is_none() {
                        // It was still becoming the shell that waits, and is in the midst of that call.
                        *begun = Registers::of(pid).ok().map(Begun::of_no_interest);
                    }
                    go_on(pid, None);
                }
                WaitStatus::Stopped(pid, signal) => go_on(pid, Some(signal)),
                WaitStatus::Continued(_) | WaitStatus::StillAlive => {}
            }
            if self.threads.is_empty() {
                return Ok(code);
            }
        }
    }

    /// Before or after a call. A process that dies meanwhile gives errors here, and says so at the next wait.
    fn at_edge(&mut self, pid: Pid) {
        let Ok(registers) = Registers::of(pid) else {
            return;
        };
        let begun = self.threads.entry(pid).or_default().take();
        match begun {
            None => {
                let begun = self.before(pid, registers);
                self.threads.insert(pid, Some(begun));
            }
            Some(begun) => self.after(pid, registers, begun),
        }
    }

    fn sight(&self, pid: Pid) -> Sight<'_> {
        Sight {
            pid,
            root: self.root,
            sees_all: self.watcher.sees_all(),
        }
    }

    fn before(&mut self, pid: Pid, registers: Registers) -> Begun {
        let sight = self.sight(pid);
        let Some(Found { call, spoilt }) = sight.call(&registers) else {
            return Begun::of_no_interest(registers);
        };
        let fate = self.watcher.before(&call);
        let mut changed = registers;
        match fate {
            Fate::Happens => {}
            // Neither a descriptor nor an address: the call itself has no effect.
            Fate::Fails(_) => changed.set_argument(spoilt, u64::MAX),
            Fate::Short(bytes) => changed.set_argument(2, bytes),
        }
        if fate != Fate::Happens {
            let _ = changed.set(pid);
        }
        Begun {
            registers,
            call: Some(call),
            fate,
        }
    }

    fn after(&mut self, pid: Pid, registers: Registers, begun: Begun) {
        let mut result = registers.result();
        if begun.fate != Fate::Happens {
            if let Fate::Fails(number) = begun.fate {
                result = -i64::from(number);
            }
            let _ = registers.returned(&begun.registers, result).set(pid);
        }
        let Some(mut call) = begun.call.filter(|_| result >= 0) else {
            return;
        };
        let written = usize::try_from(result).unwrap_or_default();
        let mut made = None;
        match &mut call {
            Call::Write { bytes, .. } | Call::Say(bytes) => bytes.truncate(written),
            Call::Open { .. } => {
                let sight = self.sight(pid);
                let fd = u64::try_from(result).unwrap_or_default();
                debug_assert!(number_of(fd) >= 0, "it succeeded");
                made = sight.file(fd).map(|(inode, _)| inode);
            }
            _ => {}
        }
        self.watcher.after(call, made);
    }
}

fn go_on(pid: Pid, signal: Option<Signal>) {
    // It may be gone already, which the next wait tells.
    let _ = ptrace::syscall(pid, signal);
}

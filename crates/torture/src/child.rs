//! Processes of the real program: started, stopped, killed, and their whole outcome.

use std::io::Read;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{Broken, must};

/// How long anything may take before it counts as never. Not a measure of speed.
pub const NEVER: Duration = Duration::from_mins(1);

/// A process that does not outlive its owner, however that ends: a stopped one would stay for ever.
#[derive(Debug)]
pub struct Leashed(pub Child);

impl Drop for Leashed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl std::ops::Deref for Leashed {
    type Target = Child;
    fn deref(&self) -> &Child {
        &self.0
    }
}

impl std::ops::DerefMut for Leashed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

/// The whole outcome of a command.
#[must_use = "check the outcome"]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The exit status; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Outcome {
    /// The answer as JSON.
    pub fn json(&self) -> Result<Value, Broken> {
        serde_json::from_str(&self.stdout)
            .map_err(|error| Broken::new(format!("no JSON came ({error}): {self}")))
    }

    /// The answer of a command that had to succeed.
    pub fn ok(&self) -> Result<Value, Broken> {
        must(self.code == 0, || {
            format!("a command had to succeed: {self}")
        })?;
        self.json()
    }

    /// That it was refused by this code.
    pub fn refused(&self, exit: i32, code: &str) -> Result<(), Broken> {
        let is = self.code == exit && self.json().is_ok_and(|json| json["error"]["code"] == code);
        must(is, || {
            format!("a command had to be refused with {code}: {self}")
        })
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {} {}{}", self.code, self.stdout, self.stderr)
    }
}

/// The outcome of a process that must end.
pub fn ends(mut child: Leashed) -> Result<Outcome, Broken> {
    // Both pipes are read while it runs: it could not end with a full one.
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut text = String::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_string(&mut text));
            text
        })
    };
    let out = read(out.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let err = read(err.map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let status = eventually("a command ends", || child.try_wait().ok().flatten())?;
    Ok(Outcome {
        code: status.code().unwrap_or(-1),
        stdout: out.join().unwrap_or_default(),
        stderr: err.join().unwrap_or_default(),
    })
}

/// Looks until there is something, and says what was expected when there never is.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, Broken> {
    let deadline = Instant::now() + NEVER;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        must(Instant::now() < deadline, || {
            format!("it never came to pass: {what}")
        })?;
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Whether what processes do can be seen.
pub(crate) fn are_seen() -> Result<(), String> {
    if std::path::Path::new("/proc/self/task").exists()
        && std::path::Path::new("/proc/locks").exists()
    {
        return Ok(());
    }
    Err("where processes stand is seen in Linux's /proc, which is not there".to_owned())
}

/// Sends a signal to a child.
pub fn signal(child: &Child, signal: Signal) -> Result<(), Broken> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let sent = pid.map(|pid| kill_process(pid, signal));
    must(matches!(sent, Some(Ok(()))), || {
        format!("a child cannot be signalled: {sent:?}")
    })
}

/// Stops a child as Ctrl-Z does, and waits until it stands still.
pub fn stop(child: &Child) -> Result<(), Broken> {
    signal(child, Signal::STOP)?;
    // Every thread: one that still runs may yet take a lock.
    eventually("a stopped process stands still", || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", child.id())).ok()?;
        for task in tasks {
            let stat = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
            let state = stat.rsplit(") ").next()?.chars().next()?;
            matches!(state, 'T' | 'Z').then_some(())?;
        }
        Some(())
    })
}

/// Lets a stopped child go on.
pub fn go_on(child: &Child) -> Result<(), Broken> {
    signal(child, Signal::CONT)
}

/// A command in one line: words are separated by spaces, `~` stands for a space within a word, and `--json` is added.
pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace()
        .map(|word| word.replace('~', " "))
        .chain(["--json".to_owned()])
        .collect()
}

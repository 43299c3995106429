//! Processes of the real program: started, stopped, killed, and their whole outcome.

use std::io::Read;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{Broken, limit, must};

/// How long anything may take before it counts as never. Not a measure of speed.
pub const NEVER: Duration = Duration::from_mins(1);

/// The most that counts between two looks: more has passed only where the machine itself stood still, as a laptop that was closed or
/// a virtual machine that was paused.
pub const BREATH: Duration = Duration::from_secs(1);

/// What is left of the time that something may take.
#[derive(Debug)]
pub struct Patience {
    left: Duration,
    looked: Instant,
}

impl Patience {
    /// Patience for so long, from now on.
    pub fn of(left: Duration) -> Self {
        Patience {
            left,
            looked: Instant::now(),
        }
    }

    /// Whether there is some left. To be asked again and again.
    pub fn lasts(&mut self) -> bool {
        let passed = self.looked.elapsed().min(BREATH);
        self.looked = Instant::now();
        self.left = self.left.saturating_sub(passed);
        !self.left.is_zero()
    }
}

/// How long something takes, for one who looks at it all the time: where the machine stood still, a moment counts.
#[derive(Debug)]
pub struct Watch {
    /// What counts so far.
    pub counted: Duration,
    looked: Instant,
}

impl Watch {
    /// The most that counts between two looks. A busy machine lets nobody look for as long as this only where it is no measure of speed.
    const MOMENT: Duration = Duration::from_millis(200);

    /// From now on.
    pub fn start() -> Self {
        Watch {
            counted: Duration::ZERO,
            looked: Instant::now(),
        }
    }

    /// Counts what has passed since the last look.
    pub fn look(&mut self) {
        self.counted += self.looked.elapsed().min(Self::MOMENT);
        self.looked = Instant::now();
    }
}

/// What comes by a channel, unless it never does.
pub fn received<T>(channel: &Receiver<T>) -> Result<T, RecvTimeoutError> {
    let mut patience = Patience::of(NEVER);
    loop {
        match channel.recv_timeout(BREATH) {
            Err(RecvTimeoutError::Timeout) if patience.lasts() => {}
            outcome => return outcome,
        }
    }
}

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
            .map_err(|error| self.broken(format!("no JSON came ({error}): {self}")))
    }

    /// What a command that was refused told of it, as its users read it.
    pub fn told(&self) -> Option<String> {
        let answer = self.json().ok()?;
        let message = answer.pointer("/error/message")?;
        message.as_str().map(str::to_owned)
    }

    /// The answer of a command that had to succeed.
    pub fn ok(&self) -> Result<Value, Broken> {
        if self.code != 0 {
            return Err(self.broken(format!("a command had to succeed: {self}")));
        }
        self.json()
    }

    /// What a command that did not do as it must says of a promise: one that was killed, or could not do its work, may have come upon a limit
    /// of the machine. One that gave an answer has not.
    pub fn broken(&self, what: impl Into<String>) -> Broken {
        let answer = serde_json::from_str::<Value>(&self.stdout).ok();
        let is_hindered = match answer.as_ref().map(|answer| &answer["error"]["code"]) {
            Some(Value::String(code)) => {
                inbox_core::Code::named(code).is_some_and(limit::may_be_behind)
            }
            Some(_) => false,
            None => self.code != 0,
        };
        if is_hindered {
            Broken::hindered(what)
        } else {
            Broken::new(what)
        }
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
pub fn ends(child: Leashed) -> Result<Outcome, Broken> {
    ends_within(NEVER, child)
}

/// The same for one that has much to do.
pub fn ends_within(time: Duration, mut child: Leashed) -> Result<Outcome, Broken> {
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
    let ended = || child.try_wait().ok().flatten();
    let status = within(time, "a command ends", ended)?;
    Ok(Outcome {
        code: status.code().unwrap_or(-1),
        stdout: out.join().unwrap_or_default(),
        stderr: err.join().unwrap_or_default(),
    })
}

/// Looks until there is something, and says what was expected when there never is.
pub fn eventually<T>(what: &str, look: impl FnMut() -> Option<T>) -> Result<T, Broken> {
    within(NEVER, what, look)
}

fn within<T>(time: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> Result<T, Broken> {
    let mut patience = Patience::of(time);
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        must(patience.lasts(), || {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sort;

    #[test]
    fn a_machine_that_stood_still_uses_up_a_breath_of_patience() {
        let mut patience = Patience::of(3 * BREATH);
        for left in [2, 1, 0] {
            // Longer than all that is left.
            let before = patience.looked.checked_sub(4 * BREATH);
            patience.looked = before.expect("it is up for some seconds");
            assert_eq!(patience.lasts(), left > 0, "{left} breaths are left");
        }
    }

    #[test]
    fn a_machine_that_stood_still_counts_as_a_moment() {
        let mut watch = Watch::start();
        for _ in 0..2 {
            let before = watch.looked.checked_sub(BREATH);
            watch.looked = before.expect("it is up for a second");
            watch.look();
        }
        assert_eq!(watch.counted, 2 * Watch::MOMENT);
        watch.look();
        assert!(watch.counted < 3 * Watch::MOMENT);
    }

    #[test]
    fn one_that_could_not_do_its_work_may_have_come_upon_a_limit_and_one_that_answered_has_not() {
        let sort = |code, stdout: &str| {
            let outcome = Outcome {
                code,
                stdout: stdout.to_owned(),
                stderr: String::new(),
            };
            outcome.ok().unwrap_err().sort
        };
        assert_eq!(sort(-1, ""), Sort::Work, "it was killed");
        assert_eq!(sort(50, r#"{"error": {"code": "storage"}}"#), Sort::Work);
        for (code, said) in [
            (20, r#"{"error": {"code": "lease_lost"}}"#),
            (40, r#"{"error": {"code": "thread_not_found"}}"#),
            (50, r#"{"error": {"code": "store_corrupt"}}"#),
            (10, r#"{"ok": true}"#),
            (0, ""),
        ] {
            assert_eq!(sort(code, said), Sort::Promise, "{said}");
        }
    }

    #[test]
    fn what_is_no_refusal_tells_nothing() {
        let told = |stdout: &str| {
            let outcome = Outcome {
                code: 1,
                stdout: stdout.to_owned(),
                stderr: String::new(),
            };
            outcome.told()
        };
        for stdout in [
            "",
            "null",
            "3",
            "[]",
            "\"error\"",
            "{}",
            "{\"error\": 3}",
            "{\"error\": {\"message\": {}}}",
        ] {
            assert_eq!(told(stdout), None, "{stdout}");
        }
        assert_eq!(
            told("{\"error\": {\"message\": \"why\"}}").as_deref(),
            Some("why")
        );
    }
}

//! The guardian: a process between a runner and the command that it runs, so that nothing of the command outlives the
//! runner or its lease.
//!
//! A runner that is killed, stopped or stuck cannot end anything. Its guardian can: it ends the command and everything
//! that the command started when the runner's end of their socket closes, when it is told to, and when nobody has said
//! in time that the lease still holds. What the command's children leave behind becomes a child of the guardian, so that
//! none of it is out of reach.
//!
//! It is this program again, called by [`GUARD`] and for the last step before the command by another name.

mod launch;
mod order;
mod tree;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use inbox_core::sabotage::planted;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid};

use crate::clock;
pub use launch::NOT_STARTED;
pub use order::{Cut, Limits, Order, Report, Start};

/// The first argument that makes this program a guardian.
pub const GUARD: &str = "run-guardian";

/// The first argument that makes this program the command that is guarded.
const LAUNCH: &str = "run-launch";

/// How often limits are looked at that the system does not hold by itself.
const LOOK: Duration = Duration::from_millis(200);

/// How long something that was killed may take until it is looked for again.
const KILL_AGAIN: Duration = Duration::from_millis(20);

/// Runs as a guardian or as what it starts, if the arguments say so.
pub fn called(args: &[String]) -> Option<ExitCode> {
    let (name, args) = args.split_first()?;
    match name.as_str() {
        GUARD => Some(guard().unwrap_or(ExitCode::FAILURE)),
        LAUNCH => Some(launch::become_command(args)),
        _ => None,
    }
}

/// Says something on standard error, which is the command's.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "inbox run: {text}");
}

/// What a guardian hears of.
enum Heard {
    Order(Order),
    /// The runner is gone.
    Alone,
    /// The command has ended.
    Ended(WaitStatus),
    /// Nothing of it is left.
    Gone,
}

fn guard() -> Option<ExitCode> {
    let mut runner = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned().ok()?);
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid())).ok()?;
    let (tell, heard) = channel();
    listen(runner.try_clone().ok()?, tell.clone());
    let Ok(Heard::Order(Order::Start(start))) = heard.recv() else {
        return None;
    };
    let scratch = start.scratch.clone();
    let ended = match begin(&start) {
        Ok((child, voice)) => {
            say(&mut runner, &Report::Started(raw(child)));
            wait(child, tell);
            Guarded::new(child, &start, voice).until_gone(&heard)
        }
        Err(error) => Report::Refused(error.to_string()),
    };
    if let Some(scratch) = scratch {
        let _ = std::fs::remove_dir_all(scratch);
    }
    say(&mut runner, &ended);
    Some(ExitCode::SUCCESS)
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn say(runner: &mut UnixStream, report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let _ = runner.write_all(&line);
    }
}

/// Hands on what the runner says, and at last that it is gone.
fn listen(runner: UnixStream, tell: Sender<Heard>) {
    std::thread::spawn(move || {
        for line in BufReader::new(runner).lines() {
            let Ok(line) = line else { break };
            if let Ok(order) = serde_json::from_str(&line) {
                let _ = tell.send(Heard::Order(order));
            }
        }
        let _ = tell.send(Heard::Alone);
    });
}

/// Starts the command in a group of its own. Its output is this process's, which is then let go.
fn begin(start: &Start) -> std::io::Result<(Pid, Option<Voice>)> {
    let input = match &start.input {
        _ if start.talks => Stdio::piped(),
        Some(path) => Stdio::from(File::open(path)?),
        None => Stdio::null(),
    };
    let limits = serde_json::to_string(&start.limits)?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg(LAUNCH)
        .arg(limits)
        .arg(raw(getpid()).to_string())
        .args(&start.argv)
        .env_clear()
        .envs(start.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&start.folder)
        .stdin(input)
        .process_group(0)
        .spawn()?;
    let nothing = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    let voice = child.stdin.take().map(speak);
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| std::io::Error::other("a process without a number"))?;
    Ok((pid, voice))
}

/// What is said to the command; dropped, that was all.
type Voice = Sender<String>;

/// Says lines to the command for as long as it listens. One that does not listen keeps nobody else waiting.
fn speak(mut to: ChildStdin) -> Voice {
    let (voice, lines) = channel::<String>();
    std::thread::spawn(move || {
        for mut line in lines {
            line.push('\n');
            if to.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
    });
    voice
}

/// Reads the status of the command and of whatever it leaves behind, until nothing is left.
fn wait(child: Pid, tell: Sender<Heard>) {
    std::thread::spawn(move || {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == child => {
                    let _ = tell.send(Heard::Ended(status));
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        let _ = tell.send(Heard::Gone);
    });
}

/// A command while it is guarded.
struct Guarded {
    child: Pid,
    /// Its standard input, where it is talked with.
    voice: Option<Voice>,
    limits: Limits,
    /// How long what a command leaves behind may take to end.
    grace: Duration,
    /// When nothing may be alive, and how long before that it is asked to end.
    lease: Option<(Duration, Duration)>,
    /// When it is killed, once it was asked to end.
    kill_at: Option<Duration>,
    cut: Option<Cut>,
    status: Option<WaitStatus>,
}

impl Guarded {
    fn new(child: Pid, start: &Start, voice: Option<Voice>) -> Self {
        Guarded {
            child,
            voice,
            limits: start.limits,
            grace: Duration::from_millis(start.grace_ms),
            lease: None,
            kill_at: None,
            cut: None,
            status: None,
        }
    }

    fn until_gone(mut self, heard: &Receiver<Heard>) -> Report {
        let mut look_at = clock::now() + LOOK;
        loop {
            let now = clock::now();
            if self.kill_at.is_some_and(|time| time <= now) {
                tree::kill(self.child, getpid());
                self.kill_at = Some(now + KILL_AGAIN);
            }
            if let Some((over, _)) = self.lease.take_if(|(over, grace)| now + *grace >= *over) {
                self.end(Some(Cut::Lease), now.max(over));
            }
            if now >= look_at {
                self.look(now);
                look_at = now + LOOK;
            }
            let due = [
                self.kill_at,
                self.lease.map(|(over, grace)| over.saturating_sub(grace)),
                self.has_limits().then_some(look_at),
            ];
            let due = due.into_iter().flatten().min();
            let heard = match due {
                Some(due) => heard.recv_timeout(due.saturating_sub(clock::now())),
                None => heard.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match heard {
                Ok(Heard::Gone) | Err(RecvTimeoutError::Disconnected) => return self.ended(),
                Ok(heard) => self.hear(heard),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn has_limits(&self) -> bool {
        self.kill_at.is_none() && (self.limits.processes > 0 || self.limits.memory > 0)
    }

    fn hear(&mut self, heard: Heard) {
        let now = clock::now();
        match heard {
            Heard::Order(Order::Until { .. }) if planted("leash_forgotten") => {}
            Heard::Order(Order::Until { over_ms, grace_ms }) => {
                let over = Duration::from_millis(over_ms);
                self.lease = Some((over, Duration::from_millis(grace_ms)));
            }
            Heard::Order(Order::Say(line)) => {
                // One that has closed its input hears nothing.
                let _ = self.voice.as_ref().map(|voice| voice.send(line));
            }
            Heard::Order(Order::Hush) => self.voice = None,
            Heard::Order(Order::Stop { grace_ms }) => {
                self.end(Some(Cut::Told), now + Duration::from_millis(grace_ms));
            }
            Heard::Alone if planted("guardian_asleep") => {}
            Heard::Alone => self.end(Some(Cut::Alone), now),
            // What it started does not go on without it.
            Heard::Ended(status) => {
                self.status = Some(status);
                self.end(None, now + self.grace);
            }
            Heard::Order(Order::Start(_)) | Heard::Gone => {}
        }
    }

    /// Asks it to end, and kills it at that time; an earlier end is not put off.
    fn end(&mut self, cut: Option<Cut>, at: Duration) {
        if self.status.is_none() {
            self.cut = self.cut.or(cut);
        }
        if self.kill_at.is_none() {
            tree::signal(self.child, getpid(), Signal::TERM);
        }
        self.kill_at = Some(self.kill_at.map_or(at, |before| before.min(at)));
    }

    /// Holds it to what the system does not: how much all processes together use.
    fn look(&mut self, now: Duration) {
        if !self.has_limits() {
            return;
        }
        let all = tree::below(getpid());
        if self.limits.processes > 0 && all.len() as u64 > self.limits.processes {
            self.end(Some(Cut::Processes), now);
        } else if self.limits.memory > 0 && tree::memory(&all) > self.limits.memory {
            self.end(Some(Cut::Memory), now);
        }
    }

    fn ended(self) -> Report {
        let status = self.status;
        Report::Ended {
            code: status.and_then(WaitStatus::exit_status),
            signal: status.and_then(WaitStatus::terminating_signal),
            cut: self.cut,
        }
    }
}

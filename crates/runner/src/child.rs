//! The runner's end of a guardian: a command is started, heard, kept alive and ended through it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::guardian::{Cut, GUARD, Order, Report, Start};
use crate::leash::Leash;

/// The longest line that is handed on as one.
const LINE: usize = 64 << 10;

/// How much of what a command says on standard error is kept: its end.
const COMPLAINTS: usize = 16 << 10;

/// What is heard of a command.
#[derive(Debug)]
pub(crate) enum Told {
    /// A line of its output, with its line break if it has one.
    Said(Vec<u8>),
    /// It has ended, and nothing of it is left.
    Ended(Ending),
    /// Something happened in its thread.
    Happened(Vec<inbox_core::Event>),
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) how: How,
    /// The end of what it said on standard error.
    pub(crate) complaints: String,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum How {
    /// By itself, with this status.
    Exited(i32),
    /// By a signal of somebody else.
    Signalled(i32),
    /// By its guardian.
    Cut(Cut),
    /// It was never started.
    NotStarted(String),
    /// Its guardian is gone.
    Unguarded,
}

/// A command that runs. Dropped, it is ended.
pub(crate) struct Running {
    guardian: UnixStream,
}

impl Running {
    /// Starts a command under the guardian that `program` is, and hands on what is heard of it, marked with `turn`.
    pub(crate) fn start(
        program: &Path,
        start: Start,
        turn: u64,
        tell: &SyncSender<(u64, Told)>,
    ) -> std::io::Result<Running> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut child = Command::new(program)
            .arg(GUARD)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What a terminal sends to the runner is not for the command.
            .process_group(0)
            .spawn()?;
        let said = child.stdout.take();
        let complained = child.stderr.take();
        let mut running = Running { guardian: ours };
        running.tell(&Order::Start(start));
        let reports = running.guardian.try_clone()?;
        let tell = tell.clone();
        std::thread::spawn(move || {
            let complaints = std::thread::spawn(move || last_of(complained));
            let lines = tell.clone();
            let spoken = std::thread::spawn(move || hand_on(said, turn, &lines));
            let how = follow(reports, &mut child);
            let _ = spoken.join();
            let complaints = complaints.join().unwrap_or_default();
            let _ = tell.send((turn, Told::Ended(Ending { how, complaints })));
        });
        Ok(running)
    }

    /// It may live as long as the lease.
    pub(crate) fn live_by(&mut self, leash: &Leash) {
        self.tell(&Order::Until {
            over_ms: millis(leash.over_at()),
            grace_ms: millis(leash.grace()),
        });
    }

    /// Says a line to it, where it is talked with.
    pub(crate) fn say(&mut self, line: String) {
        self.tell(&Order::Say(line));
    }

    /// Nothing more is said to it.
    pub(crate) fn hush(&mut self) {
        self.tell(&Order::Hush);
    }

    /// Asks it to end, and ends it after a while.
    pub(crate) fn stop(&mut self, grace: Duration) {
        self.tell(&Order::Stop {
            grace_ms: millis(grace),
        });
    }

    fn tell(&mut self, order: &Order) {
        if let Ok(mut line) = serde_json::to_vec(order) {
            line.push(b'\n');
            // One that is gone is noticed where its reports are read.
            let _ = self.guardian.write_all(&line);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The reader of reports has the socket too, and only this end must not seem alive.
        let _ = self.guardian.shutdown(std::net::Shutdown::Write);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Reads what a guardian reports until it is gone.
fn follow(reports: UnixStream, guardian: &mut Child) -> How {
    let mut how = How::Unguarded;
    let mut group = None;
    for line in BufReader::new(reports).lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Report::Started(pid)) => group = Pid::from_raw(pid),
            Ok(Report::Refused(problem)) => how = How::NotStarted(problem),
            Ok(Report::Ended { code, signal, cut }) => {
                how = match (cut, code, signal) {
                    (Some(cut), _, _) => How::Cut(cut),
                    (None, Some(code), _) => How::Exited(code),
                    (None, None, signal) => How::Signalled(signal.unwrap_or_default()),
                };
            }
            Err(_) => {}
        }
    }
    if how == How::Unguarded
        && let Some(group) = group
    {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = guardian.wait();
    how
}

/// Hands on each line, and what is longer in pieces.
fn hand_on(from: Option<impl Read>, turn: u64, tell: &SyncSender<(u64, Told)>) {
    let Some(from) = from else { return };
    let mut from = BufReader::with_capacity(LINE, from);
    let mut line = Vec::new();
    loop {
        let Ok(found) = from.fill_buf() else { return };
        if found.is_empty() {
            break;
        }
        let end = found.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(found.len(), |end| end + 1);
        line.extend_from_slice(&found[..length]);
        from.consume(length);
        if end.is_some() || line.len() >= LINE {
            let whole = std::mem::take(&mut line);
            if tell.send((turn, Told::Said(whole))).is_err() {
                // Nobody listens; what comes is read all the same, or the command would stand still.
                let _ = std::io::copy(&mut from, &mut std::io::sink());
                return;
            }
        }
    }
    if !line.is_empty() {
        let _ = tell.send((turn, Told::Said(line)));
    }
}

/// The end of what is read.
fn last_of(from: Option<impl Read>) -> String {
    let mut kept: Vec<u8> = Vec::new();
    let mut buffer = [0; 4096];
    if let Some(mut from) = from {
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..length]);
            let over = kept.len().saturating_sub(COMPLAINTS);
            kept.drain(..over);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

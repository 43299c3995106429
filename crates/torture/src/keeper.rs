//! Who stays when the torture is gone, however it went: a process of this program that kills what the torture had started, also
//! what stands still, and takes its scratch stores away.
//!
//! A pipe tells it: when the torture ends, the pipe does. What the torture starts is in one group of processes, which the keeper
//! is not in, and which Ctrl-C at a terminal does not reach. A process of its own holds the group's number until the end, so
//! that it is nobody else's.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use inbox_core::sabotage::planted;
use inbox_core::{Code, Refusal};
use inbox_store::Location;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::{reach, scratch};

/// The name by which the program is called to keep, and to hold a group.
pub const KEEPER: &str = "__torture-keeper";
const HOLDER: &str = "__torture-group";

/// What the torture says when nothing is left to be done.
const DONE: &str = "done\n";

/// How often the group is killed: a process that was just being started comes into it a moment later, and writes into a folder that is
/// being taken away.
const TIMES: std::ops::RangeInclusive<u32> = 5..=200;

/// The keeper of a run.
#[derive(Debug)]
pub struct Keeper {
    child: Child,
    group: i32,
}

impl Keeper {
    /// Starts one for the scratch stores in `folder`; it holds the run's lock as long as it lives.
    pub fn start(
        program: &Path,
        folder: &Path,
        beside: &Location,
        lock: &File,
    ) -> Result<Self, Refusal> {
        let cannot = |error: std::io::Error| {
            Refusal::new(
                Code::Storage,
                format!("the process that cleans up cannot be started: {error}"),
            )
            .hint("inbox torture needs some free processes and files: see ulimit -u and ulimit -n")
        };
        let mut command = Command::new(program);
        command
            .arg(KEEPER)
            .arg(folder)
            .env_clear()
            .envs(reach::inherited(folder))
            .env("INBOX_DB", reach::db(beside))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A lock is held as long as anybody has the file.
            .stderr(lock.try_clone().map_err(cannot)?)
            .process_group(0);
        let mut child = command.spawn().map_err(cannot)?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout)
                .read_line(&mut line)
                .map_err(cannot)?;
        }
        match line.trim_end().parse() {
            Ok(group) => Ok(Keeper { child, group }),
            Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(cannot(std::io::Error::other("it ended at once")))
            }
        }
    }

    /// The group that every process of the run is in.
    pub fn group(&self) -> i32 {
        self.group
    }

    /// Ends it, and with it what is left of the run's processes; the stores are left as they are.
    pub fn dismiss(&mut self) {
        if let Some(mut stdin) = self.child.stdin.take() {
            let _ = stdin.write_all(DONE.as_bytes());
        }
        let _ = self.child.wait();
    }
}

/// Runs as a keeper or as what holds its group, if the first argument says so.
pub fn called(args: &[String]) -> Option<Result<(), Refusal>> {
    match args {
        [name, folder] if name == KEEPER => Some(keep(Path::new(folder))),
        [name] if name == HOLDER => {
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            Some(Ok(()))
        }
        _ => None,
    }
}

fn keep(folder: &Path) -> Result<(), Refusal> {
    let failed = |error: std::io::Error| Refusal::new(Code::Internal, format!("no group: {error}"));
    let mut holder = Command::new(std::env::current_exe().map_err(failed)?)
        .arg(HOLDER)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", holder.id())
        .and_then(|()| out.flush())
        .map_err(failed)?;
    let mut said = String::new();
    // An error is an end as well.
    let _ = std::io::stdin().read_to_string(&mut said);
    if planted("keeper_asleep") {
        return Ok(());
    }
    let group = Pid::from_child(&holder);
    let _ = kill_process_group(group, Signal::KILL);
    if said != DONE && !scratch::is_kept(folder) {
        let named = std::env::var("INBOX_DB").unwrap_or_default();
        for time in 1..=*TIMES.end() {
            std::thread::sleep(Duration::from_millis(20));
            let _ = kill_process_group(group, Signal::KILL);
            scratch::sweep(folder, &Location::parse(&named));
            if TIMES.contains(&time) && !folder.exists() {
                break;
            }
        }
    }
    let _ = holder.wait();
    Ok(())
}

//! Where the bench works: a scratch folder, the binary under test, stores and clean commands.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inbox_core::{Kind, ThreadId};
use inbox_ops::{Caller, Inbox, Operation, Send};
use inbox_store::{Location, Store};

use crate::Outcome;
use crate::peers::Peers;

/// The place of work; its scratch folder goes with it.
pub(crate) struct Lab {
    /// The `inbox` under test.
    pub(crate) inbox: PathBuf,
    /// Where builds go, and the peers.
    pub(crate) target: PathBuf,
    scratch: PathBuf,
}

impl Lab {
    pub(crate) fn new() -> Outcome<Self> {
        let bench = std::env::current_exe()?;
        let release = bench.parent().ok_or("the bench is nowhere")?;
        let target = release.parent().ok_or("the bench is not in target/")?;
        let inbox = release.join("inbox");
        if !inbox.exists() {
            return Err(format!("build {} first: make bench does", inbox.display()).into());
        }
        // Under target/, so that it is on the disk that work is on, and not in memory.
        let scratch = target.join(format!("bench-work-{}", std::process::id()));
        std::fs::create_dir_all(&scratch)?;
        Ok(Lab {
            inbox,
            target: target.to_owned(),
            scratch,
        })
    }

    /// A new folder for one part of the run.
    pub(crate) fn folder(&self, name: &str) -> Outcome<PathBuf> {
        let folder = self.scratch.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Makes a store and gives its path.
    pub(crate) fn store(&self, name: &str) -> Outcome<PathBuf> {
        let path = self.folder(name)?.join("coord.db");
        Store::init(&Location::File(path.clone()))?;
        Ok(path)
    }

    /// A command of `inbox` on a store.
    pub(crate) fn inbox(&self, db: &Path, args: &[&str]) -> Command {
        let mut command = Lab::clean(&self.inbox, &self.scratch);
        command.args(args).arg("--json").arg("--db").arg(db);
        command
    }

    /// A command that sees nothing of this environment and says nothing.
    pub(crate) fn clean(program: &Path, home: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", home)
            .env("TMPDIR", home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// The versions of everything that takes part, in one line.
    pub(crate) fn versions(&self, peers: &Peers) -> String {
        let first_line = |program: &str, args: &[&str]| {
            let output = Command::new(program).args(args).output().ok();
            let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            let line = text.and_then(|text| text.lines().next().map(str::to_owned));
            line.unwrap_or_else(|| format!("no {program}"))
        };
        let inbox = self.inbox.to_string_lossy();
        let shell = first_line("sqlite3", &["--version"]);
        let shell = shell.split(' ').next().unwrap_or_default();
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        format!(
            "Versions: {}; sqlite3 shell {shell}; {}; {}; Linux {}, {cores} cores.",
            first_line(&inbox, &["--version"]),
            first_line("rustc", &["--version"]),
            peers.versions(),
            kernel.trim().split('-').next().unwrap_or_default(),
        )
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// Runs a command to its end: how long it took.
pub(crate) fn timed(command: &mut Command) -> Outcome<Duration> {
    let start = Instant::now();
    let status = command.status()?;
    let took = start.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(format!("{command:?} ended with {status}").into())
    }
}

/// Ends a process that the bench started.
pub(crate) fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The operations on a store, in this process.
pub(crate) fn open(db: &Path) -> Outcome<Inbox> {
    Ok(Inbox::new(Store::open(&Location::File(db.to_owned()))?))
}

/// A caller with this name.
pub(crate) fn caller(name: &str) -> Outcome<Caller> {
    Ok(Caller::local(Some(name.parse()?)))
}

/// Opens a thread: a short task, as the size goal means it.
pub(crate) fn send_task(inbox: &Inbox, from: &Caller, to: &str) -> Outcome<ThreadId> {
    let request = Send {
        to: vec![to.parse()?],
        subject: Some("please review pull request 417".to_owned()),
        ..Send::default()
    };
    Ok(request.run(inbox, from)?.thread.thread_id)
}

/// Answers in a thread, each time in other words: who says the same again and again is stopped by the loop guard.
pub(crate) fn answer(inbox: &Inbox, from: &Caller, thread: ThreadId) -> Outcome<()> {
    static ANSWERS: AtomicU64 = AtomicU64::new(0);
    let nth = ANSWERS.fetch_add(1, Ordering::Relaxed);
    let request = Send {
        thread: Some(thread),
        kind: Some(Kind::Answer),
        summary: Some(format!("yes, go on ({nth})")),
        ..Send::default()
    };
    request.run(inbox, from)?;
    Ok(())
}

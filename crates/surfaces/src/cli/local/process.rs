//! Other processes of this machine: which client runs this one, whether it is still there, and how many windows
//! it has.

use rustix::process::Pid;

use crate::cli::find;

/// What a client may run between itself and a hook.
const BETWEEN: [&str; 9] = [
    "sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "node",
];

/// How far up a client is looked for.
const GENERATIONS: usize = 6;

/// What somebody runs in a client's program that is no window of it.
const NO_WINDOW: [&str; 6] = [
    "app-server",
    "exec",
    "e",
    "queue",
    "mcp-server",
    "exec-server",
];

/// A process that was there.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pid: Pid,
    /// When it began, so that another one of the same number is not taken for it.
    began: Option<u64>,
    /// The file that it runs and its arguments.
    words: Vec<String>,
}

impl Process {
    /// The process with this number, if there is one.
    pub(super) fn numbered(number: i32) -> Option<Self> {
        look(Pid::from_raw(number)?).map(|seen| seen.process)
    }

    /// The client of this name that runs this process, directly or by way of a shell.
    pub(super) fn client(name: &str) -> Option<Self> {
        let mut pid = rustix::process::getppid()?;
        for _ in 0..GENERATIONS {
            let seen = look(pid)?;
            if seen.is_named(name) {
                return Some(seen.process);
            }
            if !BETWEEN.contains(&seen.name.as_str()) {
                return None;
            }
            pid = seen.parent?;
        }
        None
    }

    /// How many windows of a client this user has open: its processes at a terminal.
    pub(super) fn windows(name: &str) -> usize {
        let is_window = |seen: &&Seen| {
            let mut words = seen.process.words.iter().skip(1);
            seen.is_named(name)
                && seen.has_terminal
                && !words.any(|word| NO_WINDOW.contains(&word.as_str()))
        };
        all().iter().filter(is_window).count()
    }

    /// What no other process of this machine is called, before or after.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.number(), self.began.unwrap_or(0))
    }

    /// The process that Claude Code names to its children.
    pub(super) fn of_claude() -> Option<Self> {
        Process::numbered(find::variable("CLAUDE_PID")?.parse().ok()?)
    }

    pub(super) fn number(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    pub(super) fn is_there(&self) -> bool {
        match self.began {
            Some(_) => look(self.pid).is_some_and(|seen| seen.process.began == self.began),
            None => rustix::process::test_kill_process(self.pid).is_ok(),
        }
    }

    /// Whether it serves many windows, and goes on without any.
    pub(super) fn is_daemon(&self) -> bool {
        let has = |word: &str| self.words.iter().any(|other| other == word);
        has("app-server") && has("--listen")
    }

    /// The file that it runs, to run the same.
    pub(super) fn program(&self) -> Option<std::path::PathBuf> {
        let own = std::fs::read_link(format!("/proc/{}/exe", self.number())).ok();
        let named = || self.words.first().map(std::path::PathBuf::from);
        own.or_else(named).filter(|path| path.is_file())
    }
}

/// What is seen of a process.
struct Seen {
    process: Process,
    parent: Option<Pid>,
    name: String,
    has_terminal: bool,
}

impl Seen {
    fn is_named(&self, name: &str) -> bool {
        let first = self.process.words.first();
        self.name.starts_with(name) || first.is_some_and(|word| base(word).starts_with(name))
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(target_os = "linux")]
fn look(pid: Pid) -> Option<Seen> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let line = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The name is in brackets, and may have brackets itself.
    let (head, rest) = line.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // One that has ended and was not taken away is not there.
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let words = std::fs::read(format!("{folder}/cmdline")).unwrap_or_default();
    let words = words
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty());
    Some(Seen {
        process: Process {
            pid,
            began: number(19),
            words: words
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect(),
        },
        parent: Pid::from_raw(fields.get(1)?.parse().ok()?),
        name,
        has_terminal: number(4).is_some_and(|terminal| terminal != 0),
    })
}

#[cfg(target_os = "linux")]
fn all() -> Vec<Seen> {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::getuid().as_raw();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == own))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|number| look(Pid::from_raw(number)?))
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn look(pid: Pid) -> Option<Seen> {
    let number = pid.as_raw_nonzero().to_string();
    listed(&["-p", &number]).into_iter().next()
}

#[cfg(not(target_os = "linux"))]
fn all() -> Vec<Seen> {
    let own = rustix::process::getuid().as_raw().to_string();
    listed(&["-U", &own])
}

/// What `ps` lists.
#[cfg(not(target_os = "linux"))]
fn listed(which: &[&str]) -> Vec<Seen> {
    let output = std::process::Command::new("ps")
        .args(["-ww", "-o", "pid=,ppid=,tty=,args="])
        .args(which)
        .output();
    let text = output.map_or_else(|_| Vec::new(), |output| output.stdout);
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let pid = Pid::from_raw(words.next()?.parse().ok()?)?;
        let parent = Pid::from_raw(words.next()?.parse().ok()?);
        let has_terminal = !matches!(words.next()?, "?" | "??" | "-");
        let words: Vec<String> = words.map(str::to_owned).collect();
        let name = base(words.first()?).trim_start_matches('-').to_owned();
        let process = Process {
            pid,
            began: None,
            words,
        };
        Some(Seen {
            process,
            parent,
            name,
            has_terminal,
        })
    };
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(line)
        .collect()
}

//! What a runner and a guardian say to each other: a line of JSON each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What is to be started, and what it may use. All of it is this machine's configuration.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// The folder to work in.
    pub folder: PathBuf,
    /// A file to be read as standard input; nothing otherwise.
    pub input: Option<PathBuf>,
    /// Whether what is said to it comes as orders, instead of from a file.
    pub talks: bool,
    /// What it may use.
    pub limits: Limits,
    /// A folder that is removed at the end.
    pub scratch: Option<PathBuf>,
    /// How long what it leaves behind may take to end.
    pub grace_ms: u64,
}

// What it is given is for it alone: a lease and a token are in its environment.
impl std::fmt::Debug for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let program = self.argv.first().map_or("", String::as_str);
        write!(f, "Start({program:?}, in {:?}, …)", self.folder)
    }
}

/// What a command may use; 0 is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of its own, in bytes: of each process, and of all together.
    pub memory: u64,
    /// Processes at once.
    pub processes: u64,
    /// Open files of each process.
    pub files: u64,
}

/// What a runner tells its guardian.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Start this.
    Start(Start),
    /// It may live until then, by the clock of this machine in milliseconds, and is asked to end so long before.
    Until {
        /// When nothing of it may be alive.
        over_ms: u64,
        /// How long before that it is asked to end.
        grace_ms: u64,
    },
    /// Hand this line on to its standard input.
    Say(String),
    /// Its standard input ends.
    Hush,
    /// Ask it to end, and end it after so long.
    Stop {
        /// How long it may take.
        grace_ms: u64,
    },
}

/// What a guardian tells its runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// It runs in a process group of this number.
    Started(i32),
    /// It could not be started.
    Refused(String),
    /// It has ended, and everything that it started.
    Ended {
        /// Its exit status, if it had one.
        code: Option<i32>,
        /// The signal that ended it, if one did.
        signal: Option<i32>,
        /// What the guardian ended it for, if it did.
        cut: Option<Cut>,
    },
}

/// Why a guardian ends what it guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// Nobody said in time that the lease still holds.
    Lease,
    /// It was told to.
    Told,
    /// More memory than is allowed.
    Memory,
    /// More processes than are allowed.
    Processes,
    /// The runner is gone.
    Alone,
}

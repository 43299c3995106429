//! How `inbox run` works: for how long, with what around it, and what its command may use.

use std::collections::BTreeMap;

use inbox_core::{Refusal, limit};
use serde::{Deserialize, Serialize};

use super::Preset;

/// How an agent's command is run, kept and checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// How long a thread is held without a renewal, in seconds; it is renewed at a third of it.
    pub lease_seconds: i64,
    /// How often an agent may try to meet the brief's contract.
    pub attempts: i64,
    /// A command that says whether an output is what a brief's `evaluate` asks for.
    pub evaluator: Vec<String>,
    /// The variables that a command is given; a star at the end stands for any ending.
    pub env: Vec<String>,
    /// The folders in which a brief may ask to work.
    pub roots: Vec<String>,
    /// A folder in which each thread gets a git worktree of its own to work in; none unless it is set.
    pub worktrees: Option<String>,
    /// The longest that a command may take, in minutes; 0 is no limit.
    pub timeout_minutes: i64,
    /// The most that a command may say, in KiB.
    pub output_kb: i64,
    /// The most memory that a command and all that it starts may use, in MiB; 0 is no limit.
    pub memory_mb: i64,
    /// The most processes that a command may have at once; 0 is no limit.
    pub processes: i64,
    /// The most files that a process may have open; 0 is no limit.
    pub open_files: i64,
    /// One message about progress in so many seconds at the most; 0 is none.
    pub progress_seconds: i64,
    /// Clients that can be run by name, beside those that are known.
    pub presets: BTreeMap<String, Preset>,
}

impl Default for Run {
    fn default() -> Self {
        let env = [
            "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TERM", "TMPDIR",
            "XDG_*",
        ];
        Run {
            lease_seconds: 300,
            attempts: 3,
            evaluator: Vec::new(),
            env: env.map(str::to_owned).to_vec(),
            roots: Vec::new(),
            worktrees: None,
            timeout_minutes: 60,
            output_kb: 4096,
            memory_mb: 4096,
            processes: 256,
            open_files: 4096,
            progress_seconds: 60,
            presets: BTreeMap::new(),
        }
    }
}

impl Run {
    /// Holds the values to their ranges, by the setting's name.
    pub fn check(&self) -> Result<(), (&'static str, Refusal)> {
        let (most, year) = (i64::from(i32::MAX), 525_600);
        for (name, value, least, most) in [
            // Shorter, a store that is slow for a moment would end good work.
            ("run.lease_seconds", self.lease_seconds, 3, limit::LEASE_MAX),
            ("run.attempts", self.attempts, 1, 100),
            ("run.timeout_minutes", self.timeout_minutes, 0, year),
            ("run.output_kb", self.output_kb, 1, 1 << 20),
            ("run.memory_mb", self.memory_mb, 0, most),
            ("run.processes", self.processes, 0, most),
            ("run.open_files", self.open_files, 0, most),
            ("run.progress_seconds", self.progress_seconds, 0, 86_400),
        ] {
            limit::in_range(name, value, least, most).map_err(|refusal| (name, refusal))?;
        }
        Ok(())
    }
}

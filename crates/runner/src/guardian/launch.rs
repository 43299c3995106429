//! The last step before a command runs: what it may use is set, and then this process becomes the command.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::process::{Pid, Resource, Rlimit, getppid, setrlimit};

use super::order::Limits;

/// The status of a command that could not be started.
pub const NOT_STARTED: u8 = 127;

/// Becomes the command: the limits and the guardian's number are the first two arguments.
pub(super) fn become_command(args: &[String]) -> ExitCode {
    let [limits, guardian, program, args @ ..] = args else {
        return ExitCode::from(NOT_STARTED);
    };
    let limits: Limits = serde_json::from_str(limits).unwrap_or_default();
    if !die_with(guardian.parse().ok().and_then(Pid::from_raw)) {
        return ExitCode::from(NOT_STARTED);
    }
    set(Resource::Core, 0);
    // A wall far behind the guardian's own count: many programs reserve more than they use, and of their address space
    // some reserve more than any machine has.
    for (resource, most) in [
        (Resource::Data, limits.memory.saturating_mul(4)),
        (Resource::Nofile, limits.files),
        (Resource::Nproc, tasks(limits.processes)),
    ] {
        if most > 0 {
            set(resource, most);
        }
    }
    let error = Command::new(program).args(args).exec();
    super::complain(&format!("{program} cannot be started: {error}"));
    ExitCode::from(NOT_STARTED)
}

/// How many threads of all programs the user may have: what there is on this machine, and far more than the guardian
/// allows. The system counts the user's other programs too, and threads as processes; a bomb ends at this wall even where
/// the guardian comes late.
fn tasks(processes: u64) -> u64 {
    if processes == 0 {
        return 0;
    }
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let counts = loads
        .split(' ')
        .nth(3)
        .and_then(|counts| counts.split_once('/'));
    let now: Option<u64> = counts.and_then(|(_, all)| all.parse().ok());
    now.map_or(0, |now| now.saturating_add(processes.saturating_mul(16)))
}

fn set(resource: Resource, most: u64) {
    let _ = setrlimit(
        resource,
        Rlimit {
            current: Some(most),
            maximum: Some(most),
        },
    );
}

/// Whether this process will end with its guardian, and that one is still there.
#[cfg(target_os = "linux")]
fn die_with(guardian: Option<Pid>) -> bool {
    let set = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    set.is_ok() && getppid() == guardian
}

/// Elsewhere the group is all that there is.
#[cfg(not(target_os = "linux"))]
fn die_with(guardian: Option<Pid>) -> bool {
    getppid() == guardian
}

//! A program that is run to tell a person: without a shell, with few variables, within a time, and ended with all that it started.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use inbox_core::text::visible;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// What every program needs to find its way, and a desktop's to find the desktop. Nothing else of ours is handed on: tokens are among it.
const VARIABLES: [&str; 17] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];

/// How much is kept of what a program complains of.
const COMPLAINT: u64 = 500;

/// How often it is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Runs a program with these arguments and this on its standard input. What was wrong, if it did not succeed.
pub(super) fn run(
    words: &[String],
    input: String,
    more: &[String],
    patience: Duration,
    over: &AtomicBool,
) -> Result<(), String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("no program is named".to_owned());
    };
    let path = on_path(program).ok_or_else(|| format!("there is no program {}", shown(program)))?;
    let variables = VARIABLES
        .iter()
        .copied()
        .chain(more.iter().map(String::as_str));
    let variables = variables.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut child = Command::new(path)
        .args(arguments)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // It is ended with whatever it has started.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("{} cannot be run: {error}", shown(program)))?;
    if let Some(mut pipe) = child.stdin.take() {
        // Who does not read does not hold this up, and is no failure.
        std::thread::spawn(move || pipe.write_all(input.as_bytes()));
    }
    let (heard, complaint) = mpsc::channel();
    if let Some(mut pipe) = child.stderr.take() {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = (&mut pipe).take(COMPLAINT).read_to_end(&mut text);
            let _ = heard.send(text);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        });
    }
    let ended = ended(&mut child, Instant::now() + patience, over);
    // What it said is there once nobody holds the pipe, and nobody of its group does.
    let said = complaint
        .recv_timeout(Duration::from_secs(1))
        .unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let said = visible(said.trim(), false);
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) if said.is_empty() => Err(format!("{} ended with {status}", shown(program))),
        Ok(status) => Err(format!("{} ended with {status}: {said}", shown(program))),
        Err(Late::Stopped) => Err(format!("{} was ended with inbox", shown(program))),
        Err(Late::TooLong) => Err(format!(
            "{} took longer than {} s, and was ended",
            shown(program),
            patience.as_secs()
        )),
        Err(Late::Lost(error)) => Err(format!("{} was lost: {error}", shown(program))),
    }
}

enum Late {
    TooLong,
    Stopped,
    Lost(std::io::Error),
}

/// Waits until it has ended, or ends it.
fn ended(child: &mut Child, until: Instant, over: &AtomicBool) -> Result<ExitStatus, Late> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let late = loop {
        // It is not taken away yet, so that its group's number is nobody else's.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let found = pid.map(|pid| rustix::process::waitid(WaitId::Pid(pid), options));
        match found {
            Some(Ok(None)) if over.load(Ordering::SeqCst) => break Some(Late::Stopped),
            Some(Ok(None)) if Instant::now() >= until => break Some(Late::TooLong),
            Some(Ok(None) | Err(rustix::io::Errno::INTR)) => std::thread::sleep(LOOK),
            _ => break None,
        }
    };
    if let Some(pid) = pid {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
    let status = child.wait().map_err(Late::Lost)?;
    late.map_or(Ok(status), Err)
}

/// The file that a name stands for.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        let found = std::fs::metadata(path);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| is_program(path));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| is_program(path))
}

fn shown(program: &str) -> String {
    visible(program, false).into_owned()
}

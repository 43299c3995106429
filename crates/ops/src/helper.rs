//! Commands of the configuration that answer a question: what an agent remembers, where a text lies among others.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inbox_core::{Code, Refusal};
use inbox_store::Location;

/// How long a command may take.
const WITHIN: Duration = Duration::from_secs(20);

/// How long the output of a command may stay open after its end.
const SAY_WITHIN: Duration = Duration::from_secs(1);

/// Variables that have secrets in them.
const SECRETS: [&str; 5] = [
    "INBOX_TOKEN",
    "INBOX_LEASE",
    "INBOX_WEBHOOK_SECRET",
    "INBOX_HEDERA_KEY",
    "PGPASSWORD",
];

/// Keeps what opens the store, a server or the ledger from a program that is started for something else. What is in files is found
/// by who may read them.
pub fn without_secrets(command: &mut Command) -> &mut Command {
    for name in SECRETS {
        command.env_remove(name);
    }
    let db = std::env::var_os("INBOX_DB");
    let db = db.map(|db| Location::parse(&db.to_string_lossy()));
    if db.is_some_and(|db| db.has_password()) {
        command.env_remove("INBOX_DB");
    }
    command
}

/// Runs a command with a text on its standard input: what it printed, up to so many bytes. No shell, and not for ever.
pub(crate) fn ask(command: &[String], text: &str, most: usize) -> Result<String, Refusal> {
    let failed = |problem: String| Refusal::new(Code::Storage, problem);
    let Some((program, args)) = command.split_first() else {
        return Err(failed("there is no command".to_owned()));
    };
    let mut child = without_secrets(&mut Command::new(program))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let (mut input, mut output) = (child.stdin.take(), child.stdout.take());
    let given = text.to_owned();
    // Both ends at once: a command that writes before it reads must not stop here.
    std::thread::spawn(move || {
        if let Some(input) = input.as_mut() {
            let _ = input.write_all(given.as_bytes());
        }
    });
    let (ended, end) = std::sync::mpsc::channel();
    let text = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&text);
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        // What is too much is read and forgotten: a command that is cut off would look as if it failed.
        while let Some(Ok(length @ 1..)) = output.as_mut().map(|output| output.read(&mut buffer)) {
            if let Ok(mut kept) = kept.lock() {
                let room = most.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..length.min(room)]);
            }
        }
        let _ = ended.send(());
    });
    let deadline = Instant::now() + WITHIN;
    let status = loop {
        match child
            .try_wait()
            .map_err(|error| failed(error.to_string()))?
        {
            Some(status) => break status,
            None if Instant::now() >= deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed("it took too long".to_owned()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    // What it started may hold its output open for ever; what it said itself is there.
    let _ = end.recv_timeout(SAY_WITHIN);
    let text = text.lock().map_or_else(|_| Vec::new(), |text| text.clone());
    Ok(String::from_utf8_lossy(&text).into_owned())
}

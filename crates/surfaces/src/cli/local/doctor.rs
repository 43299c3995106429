//! `doctor`: is the store sound, and what to do when it is not.

mod doors;
mod far;

pub(crate) use doors::Doors;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use inbox_core::{Code, Refusal, Session};
use inbox_ops::{Block, Cell, Page};
use inbox_store::{GO_BACK, Location, Store};
use serde::Serialize;
use serde_json::json;

use super::setup::wiring::Wiring;
use crate::cli::{Context, Ended, config, find};

/// What one check found.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: &'static str,
    message: String,
    hint: String,
    /// Whose session it is about, and by which doors that learns of mail.
    #[serde(flatten)]
    about: Option<About>,
    /// What an error is called, so that `doctor` fails by the same code as other commands.
    #[serde(skip)]
    code: Option<Code>,
}

/// The session that a check is about.
#[derive(Debug, Serialize)]
struct About {
    agent_id: String,
    session_id: String,
    doors: Vec<String>,
}

impl Check {
    fn of_session(self, session: &Session, doors: Vec<String>) -> Self {
        Check {
            about: Some(About {
                agent_id: session.agent_id.to_string(),
                session_id: session.session_id.as_str().to_owned(),
                doors,
            }),
            ..self
        }
    }

    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Check {
            name,
            status: "ok",
            message: message.into(),
            hint: String::new(),
            about: None,
            code: None,
        }
    }

    fn warning(name: &'static str, message: impl Into<String>, hint: &str) -> Self {
        Check {
            name,
            status: "warning",
            message: message.into(),
            hint: hint.to_owned(),
            about: None,
            code: None,
        }
    }

    fn failed(name: &'static str, refusal: &Refusal) -> Self {
        Check {
            name,
            status: "error",
            message: refusal.message.clone(),
            hint: refusal.hint.clone(),
            about: None,
            code: Some(refusal.code),
        }
    }
}

/// The first SQLite without the fault that could damage a store under concurrent checkpoints.
const SOUND_SQLITE: (u32, u32, u32) = (3, 51, 3);

pub(crate) fn run(context: &Context) -> Result<Ended, Refusal> {
    let mut checks = vec![Check::ok("version", format!("inbox {}", super::version()))];
    if let Some(url) = find::server(context.db.as_deref()) {
        checks.extend(far::checks(context, &url)?);
        let clients = super::setup::wiring::of_clients();
        let doors = doors::at_server(context, &clients);
        checks.extend(of_clients(clients));
        checks.extend(doors);
        return report(context, &checks);
    }
    let location = find::store(context.db.as_deref())?;
    let store = match Store::open(&location) {
        Ok(store) => Some(store),
        Err(inbox_store::StoreError::NotFound(place)) => {
            return Err(inbox_store::StoreError::NotFound(place).into());
        }
        Err(error) => {
            checks.push(Check::failed("open", &error.into()));
            None
        }
    };
    if let Some(store) = &store {
        checks.push(Check::ok("open", location.shown()));
        checks.extend(of_database(store));
        checks.push(integrity(store));
        checks.extend(of_reaches(store));
    }
    checks.extend(of_hooks(&location));
    if let Location::File(path) = &location {
        checks.extend(of_file(path));
        checks.extend(of_shell());
        if let Some(store) = &store {
            checks.push(bell(store));
        }
    }
    let clients = super::setup::wiring::of_clients();
    let doors = store
        .as_ref()
        .map(|store| doors::of_roster(store, &clients));
    checks.extend(of_clients(clients));
    checks.extend(doors.into_iter().flatten());
    report(context, &checks)
}

/// How a store is, for who looks at it elsewhere: each check with its status, what was found and what to do. The whole of it is
/// read only when asked for.
pub(crate) fn health(store: &Store, is_whole: bool) -> Vec<[String; 4]> {
    let mut checks = vec![
        Check::ok("version", format!("inbox {}", super::version())),
        Check::ok("open", store.location().shown()),
    ];
    checks.extend(of_database(store));
    if is_whole {
        checks.push(integrity(store));
    }
    if let Location::File(path) = store.location() {
        checks.extend(of_file(path));
        checks.push(bell(store));
    }
    checks.extend(of_hooks(store.location()));
    checks.extend(of_reaches(store));
    checks
        .into_iter()
        .map(|check| {
            [
                check.name.to_owned(),
                check.status.to_owned(),
                check.message,
                check.hint,
            ]
        })
        .collect()
}

/// The clients of this user: a client that is not wired is no fault of the store.
fn of_clients(found: Vec<Wiring>) -> impl Iterator<Item = Check> {
    let check = |found: Wiring| {
        if found.is_fine {
            Check::ok(found.client, found.message)
        } else {
            Check::warning(found.client, found.message, &found.hint)
        }
    };
    found.into_iter().map(check)
}

fn report(context: &Context, checks: &[Check]) -> Result<Ended, Refusal> {
    let failed = checks.iter().find(|check| check.status == "error");
    let refusal = failed.map(|check| {
        let hint = if check.hint.is_empty() {
            GO_BACK
        } else {
            &check.hint
        };
        let code = check.code.unwrap_or(Code::StoreCorrupt);
        Refusal::new(code, check.message.clone()).hint(hint)
    });
    if context.printer.is_json() {
        let body = match &refusal {
            None => json!({ "checks": checks }),
            Some(refusal) => json!({ "error": refusal, "checks": checks }),
        };
        context.printer.object("doctor", refusal.is_none(), &body)?;
        return match refusal {
            None => Ok(Ended::Something),
            Some(refusal) => Ok(Ended::Failed(refusal.code)),
        };
    }
    let rows = checks.iter().map(|check| {
        let cells = [check.status, check.name, &check.message];
        cells
            .iter()
            .map(|text| Cell::Text((*text).to_owned()))
            .collect()
    });
    let mut page = Page {
        blocks: vec![Block::Table {
            headings: vec!["", "CHECK", "FOUND"],
            rows: rows.collect(),
        }],
    };
    for check in checks
        .iter()
        .filter(|check| !check.hint.is_empty() && check.status == "warning")
    {
        page = page.line(format!("hint: {}: {}", check.name, check.hint));
    }
    context.printer.page(&page)?;
    refusal.map_or(Ok(Ended::Something), Err)
}

fn of_database(store: &Store) -> Vec<Check> {
    let found = match store.describe() {
        Ok(found) => found,
        Err(error) => return vec![Check::failed("database", &error.into())],
    };
    found
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| match (name, value.as_str()) {
            ("journal_mode", mode) if mode != "wal" => {
                Check::warning(name, value, "another program changed it; inbox expects wal")
            }
            ("synchronous", "2") => Check::ok(name, "full: what is acknowledged is on disk"),
            ("file_system", kind) if kind != "local" => Check::warning(
                name,
                value,
                "keep the store on a local disk, or share a PostgreSQL database",
            ),
            ("connection", words) if words.contains("pooler") => Check::warning(
                name,
                value,
                "for wakes at once, name the server itself in --db; a pooler hides its server processes, in session mode too",
            ),
            ("lock_holder", words) if words.starts_with("server process") => Check::warning(
                name,
                value,
                "psql -c 'SELECT pg_terminate_backend(…)' ends it; until then others wait for what it locked, and nothing newer is cleaned up",
            ),
            ("lock_holder", _) => Check::warning(
                name,
                value,
                "it is writing now; if it is stopped, everybody waits for it",
            ),
            ("wal_bytes", bytes) if bytes.parse().is_ok_and(|bytes: u64| bytes > 64 << 20) => {
                Check::warning(
                    name,
                    value,
                    "a reader keeps the log from being moved; end long-running readers of the file",
                )
            }
            _ => Check::ok(name, value),
        })
        .collect()
}

fn integrity(store: &Store) -> Check {
    // A file can be sound page by page and lack a table.
    if let Err(error) = store.prepare_all() {
        return Check::failed("integrity", &error.into());
    }
    match store.check() {
        Ok(problems) if problems.is_empty() => {
            let counts = store.read(|tx| Ok(tx.counts()?));
            match counts {
                Ok([threads, messages, events, agents]) => Check::ok(
                    "integrity",
                    format!(
                        "sound: {threads} threads, {messages} messages, {events} events, {agents} agents"
                    ),
                ),
                Err(refusal) => Check::failed("integrity", &refusal),
            }
        }
        Ok(problems) => Check::failed(
            "integrity",
            &Refusal::new(Code::StoreCorrupt, problems.join("; ")).hint(GO_BACK),
        ),
        Err(error) => Check::failed("integrity", &error.into()),
    }
}

fn of_file(path: &Path) -> Option<Check> {
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
    Some(if mode & 0o077 == 0 {
        Check::ok("permissions", format!("{mode:o}"))
    } else {
        Check::warning(
            "permissions",
            format!("{mode:o}: others on this machine can open it"),
            "chmod 600 the store",
        )
    })
}

/// What the last hook that failed has left; hooks themselves say nothing.
fn of_hooks(location: &Location) -> Option<Check> {
    let folder = config::folder(Some(location))?;
    let (error, path) = super::hook::last_error(&folder)?;
    let hint = format!(
        "INBOX_HOOK_DEBUG=1 inbox hook CLIENT EVENT </dev/null tries it again; the next hook that works removes {}",
        path.display()
    );
    Some(Check::warning(
        "hooks",
        format!("the last one failed: {error}"),
        &hint,
    ))
}

/// By what people are told elsewhere, and what keeps that from working.
fn of_reaches(store: &Store) -> impl Iterator<Item = Check> {
    let check = |found: super::notify::Finding| match found.problem {
        None => Check::ok("notify", found.message),
        Some(hint) => Check::warning("notify", found.message, &hint),
    };
    super::notify::findings(store).into_iter().map(check)
}

fn bell(store: &Store) -> Check {
    if store.bell().is_working() {
        Check::ok("bell", store.bell().path().display().to_string())
    } else {
        Check::warning(
            "bell",
            "it cannot be opened",
            "waits still end, up to a second late; check the folder's permissions",
        )
    }
}

/// The `sqlite3` shell that a person may open the store with.
fn of_shell() -> Option<Check> {
    let output = std::process::Command::new("sqlite3")
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().next()?;
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    let found = (parts.next()?, parts.next()?, parts.next().unwrap_or(0));
    Some(if found >= SOUND_SQLITE {
        Check::ok("sqlite3", version)
    } else {
        Check::warning(
            "sqlite3",
            format!("the shell on this machine is {version}"),
            "before 3.51.3 a second writer could damage a WAL database: read with it, do not write",
        )
    })
}

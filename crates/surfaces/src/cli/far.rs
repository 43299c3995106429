//! The command line as a client of a server.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inbox_core::{Code, Refusal};
use inbox_ops::{Caller, Waiting};
use inbox_store::private;
use serde_json::Value;

use super::{Context, find};
use crate::far::{Far, cursor};

/// How long one request waits at the most: what stands between cuts connections that are silent for a minute.
const TURN: Duration = Duration::from_secs(50);

/// The most that a file of a token or of certificates may have, in bytes.
const MOST: u64 = 1 << 20;

/// How long a server may be away that was there before.
const AWAY: Duration = Duration::from_mins(1);

/// The server that `--db` or `INBOX_DB` names, if it is one.
pub(crate) fn server(context: &Context) -> Result<Option<Far>, Refusal> {
    let Some(url) = find::server(context.db.as_deref()) else {
        return Ok(None);
    };
    Far::new(&url, secret()?, authority()?.as_deref()).map(Some)
}

/// The certificate to trust beside the system's.
pub(crate) fn authority() -> Result<Option<Vec<u8>>, Refusal> {
    let Some(path) = find::variable("INBOX_CA_FILE") else {
        return Ok(None);
    };
    let read = private::read_any(Path::new(&path), MOST);
    read.map(Some).map_err(|error| {
        Refusal::input(format!("INBOX_CA_FILE {path} cannot be read: {error}"))
            .hint("export INBOX_CA_FILE=PATH, a certificate in PEM")
    })
}

/// The token: from the environment, else from a file that nobody else can read. Never from an argument.
pub(crate) fn secret() -> Result<String, Refusal> {
    if let Some(secret) = find::variable("INBOX_TOKEN") {
        return Ok(secret.trim().to_owned());
    }
    let named = find::variable("INBOX_TOKEN_FILE").map(PathBuf::from);
    let usual = super::config::own_folder().map(|folder| folder.join("token"));
    let path = match (named, usual) {
        (Some(path), _) => path,
        (None, Some(path)) if path.exists() => path,
        _ => {
            return Err(Refusal::new(Code::Unauthorized, "a server asks for a token, and there is none")
                .hint("export INBOX_TOKEN, or INBOX_TOKEN_FILE=PATH; inbox token create makes one, where the server runs"));
        }
    };
    read_secret(&path)
}

fn read_secret(path: &Path) -> Result<String, Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::input(format!(
            "the token in {} cannot be read: {error}",
            path.display()
        ))
    };
    let mode = std::fs::metadata(path)
        .map_err(cannot)?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("others can read the token in {}", path.display()),
        )
        .hint(format!("chmod 600 {}", path.display())));
    }
    let text = private::read_any(path, MOST).map_err(cannot)?;
    Ok(String::from_utf8_lossy(&text).trim().to_owned())
}

/// Waits at a server as [`super::wait::until_over`] does at a store: in turns, each going on where the last one ended.
pub(crate) fn until_over<O: Waiting>(
    far: &Far,
    request: &O,
    caller: &Caller,
    mut hand_on: impl FnMut(&O::Answer, bool) -> Result<bool, Refusal>,
) -> Result<(), Refusal> {
    let deadline = request.timeout().map(|timeout| Instant::now() + timeout);
    let mut body = serde_json::to_value(request).map_err(crate::envelope::internal)?;
    let mut away: Option<Instant> = None;
    let mut was_met = false;
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let turn = left.unwrap_or(TURN).min(TURN);
        // A part of a second counts as a whole one, and the last turn only looks.
        body["timeout_seconds"] = Value::from(turn.as_secs() + u64::from(turn.subsec_nanos() > 0));
        let answer = match far.call_with(request, body.to_string(), caller, turn + TURN) {
            Ok(answer) => answer,
            Err(refusal) if was_met && refusal.code == Code::Storage => {
                let since = *away.get_or_insert_with(Instant::now);
                if since.elapsed() > AWAY {
                    return Err(refusal);
                }
                std::thread::sleep(Duration::from_millis(300));
                continue;
            }
            Err(refusal) => return Err(refusal),
        };
        (was_met, away) = (true, None);
        let is_late = left.is_some_and(|left| left <= TURN);
        if O::is_over(&answer) || is_late {
            let is_wanted = if O::is_over(&answer) || !request.is_stream() {
                hand_on(&answer, request.is_stream())?
            } else {
                false
            };
            if !request.is_stream() || !is_wanted || is_late && !O::is_over(&answer) {
                return Ok(());
            }
        }
        if let Some(next) = cursor(&answer) {
            body["after_event"] = next;
        }
    }
}

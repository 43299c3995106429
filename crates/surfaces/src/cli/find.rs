//! Where things come from: the store, and what the environment says.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use inbox_core::{Code, Refusal, SessionId};
use inbox_store::{Location, private};

/// Where `init` makes a store unless told otherwise.
pub(crate) const DEFAULT: &str = ".agents/coord.db";

/// Reads a variable; an empty one counts as unset.
pub(crate) fn from_environment<T: FromStr<Err = Refusal>>(
    name: &str,
) -> Result<Option<T>, Refusal> {
    let Some(value) = variable(name) else {
        return Ok(None);
    };
    value.parse().map(Some).map_err(|refusal: Refusal| Refusal {
        message: format!("{name}: {}", refusal.message),
        ..refusal
    })
}

/// The text of a variable that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)
        .map(|value| value.to_string_lossy().into_owned())
        .filter(|value| !value.is_empty())
}

/// The variables in which clients name the session to the commands that their agents run. One client may be run
/// by another's agent, and then Codex by Claude Code more often than the other way.
pub(crate) const CLIENTS_SESSIONS: [&str; 2] = ["CODEX_THREAD_ID", "CLAUDE_CODE_SESSION_ID"];

/// The session of the client that this runs in, where it says so.
pub(crate) fn clients_session() -> Option<SessionId> {
    let named = CLIENTS_SESSIONS.iter().find_map(|name| variable(name));
    named?.parse().ok()
}

/// The store that the value of a flag names. Every user of the machine can read a running command's
/// arguments, so there is no password among them.
pub(crate) fn by_argument(flag: &str, value: &str) -> Result<Location, Refusal> {
    let location = Location::parse(value);
    if location.has_password() {
        let place = location.shown();
        return Err(Refusal::input(format!(
            "{flag} {place} has a password in it, which every process list shows"
        ))
        .hint(if flag == "--db" {
            "export PGPASSWORD, write a ~/.pgpass, or put the whole URL into INBOX_DB"
        } else {
            "export PGPASSWORD, or write a ~/.pgpass, which may have a line for each of two servers"
        }));
    }
    Ok(location)
}

/// The server that a flag or the environment names, if it is one.
pub(crate) fn server(db: Option<&str>) -> Option<String> {
    let named = match db {
        Some(db) => Some(db.to_owned()),
        None => variable("INBOX_DB"),
    };
    named.filter(|db| is_server(db))
}

fn is_server(db: &str) -> bool {
    let lower = db.to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

/// A server as a message names it. What is more than a scheme, a host and a port may be a password or a token.
pub(crate) fn shown_server(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.trim_end_matches('/');
    if rest.contains(['@', '?', '#', '/']) {
        return "this";
    }
    url
}

/// The store that a flag or the environment names.
pub(crate) fn named(db: Option<&str>) -> Result<Option<Location>, Refusal> {
    if let Some(url) = server(db) {
        let shown = shown_server(&url);
        return Err(Refusal::input(format!(
            "{shown} is a server, and this needs the store itself"
        ))
        .hint("run it where the server runs, with the --db that it serves"));
    }
    match db {
        Some("") => Err(Refusal::input("--db is empty").hint("pass a path or a postgres:// URL")),
        Some(db) => by_argument("--db", db).map(Some),
        None => Ok(variable("INBOX_DB").map(|db| Location::parse(&db))),
    }
}

/// The store to work on: named, else the nearest `.agents/coord.db` above the working directory.
pub(crate) fn store(db: Option<&str>) -> Result<Location, Refusal> {
    if let Some(location) = named(db)? {
        return Ok(location);
    }
    let here = std::env::current_dir().map_err(|error| {
        Refusal::new(
            Code::Storage,
            format!("the working directory cannot be read: {error}"),
        )
    })?;
    let Some(found) = nearest(&here) else {
        return Err(Refusal::new(
            Code::StoreNotFound,
            format!("there is no {DEFAULT} in {} or above it", here.display()),
        )
        .hint("inbox init makes one here; --db or INBOX_DB names another"));
    };
    must_be_trusted(&found, |place| {
        format!(
            "inbox --db {place} uses that store if you trust it, as INBOX_DB does; chmod go-w it and its folder if they are yours"
        )
    })?;
    Ok(Location::File(found))
}

/// Refuses a file that was found, and not named, where somebody else can put into it or beside it what they like.
pub(crate) fn must_be_trusted(
    found: &Path,
    hint: impl FnOnce(std::path::Display<'_>) -> String,
) -> Result<(), Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::new(
            Code::Storage,
            format!("{} cannot be used: {error}", found.display()),
        )
    };
    let folder = match found.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Some(Path::new(".")),
        folder => folder,
    };
    for place in [folder, Some(found)].into_iter().flatten() {
        if let Some(problem) = private::distrust(place).map_err(cannot)? {
            return Err(Refusal::new(Code::NotAllowed, problem)
                .hint(hint(found.display()))
                .detail("path", found.display().to_string()));
        }
    }
    Ok(())
}

fn nearest(from: &Path) -> Option<PathBuf> {
    from.ancestors()
        .map(|folder| folder.join(DEFAULT))
        .find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_no_argument() {
        for url in [
            "postgres://ada:hunter2@h/d",
            "postgres://h/d?user=ada&password=hunter2",
            "postgres://ada:hun/ter2@h/d",
        ] {
            let refusal = named(Some(url)).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput);
            assert!(!refusal.message.contains("ter2"), "{}", refusal.message);
            assert!(refusal.hint.contains("PGPASSWORD"), "{}", refusal.hint);
        }
        for url in [
            "http://ada:hunter2@h:1",
            "https://h/?token=hunter2",
            "HTTPS://h#hunter2",
            "http://h/in/hunter2",
        ] {
            let refusal = named(Some(url)).unwrap_err();
            assert!(!refusal.message.contains("ter2"), "{}", refusal.message);
        }
        let refusal = named(Some("http://h:1/")).unwrap_err();
        assert!(refusal.message.starts_with("http://h:1/ is a server"));
        let plain = named(Some("postgres://ada@h/d")).unwrap();
        assert_eq!(plain, Some(Location::Postgres("postgres://ada@h/d".into())));
    }
}

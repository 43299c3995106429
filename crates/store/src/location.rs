//! Where a store is.

use std::path::PathBuf;

/// Shown in place of a URL in which a password cannot be told from the rest.
const HIDDEN: &str = "postgres://…";

/// A SQLite file or a PostgreSQL database.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL URL; it may hold a password, so only [`Location::shown`] is for people.
    Postgres(String),
}

impl Location {
    /// Reads what `--db` was given. What is no path and may hold a password counts as a URL, also
    /// when it is none that can be used: paths are shown as they are.
    pub fn parse(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let is_url = text.contains("://")
            || lower.starts_with("postgres:")
            || lower.starts_with("postgresql:")
            || (lower.starts_with("postgres") && lower.contains("//"))
            || lower.contains("password=");
        if is_url {
            Location::Postgres(text.to_owned())
        } else {
            Location::File(text.into())
        }
    }

    /// The place, without a password.
    pub fn shown(&self) -> String {
        match self {
            Location::File(path) => path.display().to_string(),
            Location::Postgres(url) => without_password(url).unwrap_or_else(|| HIDDEN.to_owned()),
        }
    }

    /// Whether there is a password in it, or what may be one.
    pub fn has_password(&self) -> bool {
        let Location::Postgres(url) = self else {
            return false;
        };
        let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let in_login = rest.rsplit_once('@').is_some_and(|(login, _)| {
            let password = login.split_once(':').map_or("", |(_, password)| password);
            !password.is_empty()
        });
        // The names of parameters may be escaped as well as their values.
        let named = unescaped(url).contains("password=") && !unescaped(url).ends_with("password=");
        in_login || named
    }

    /// The place as a command names it: with the schema, and without a password.
    pub fn named(&self) -> String {
        let shown = self.shown();
        let Location::Postgres(url) = self else {
            return shown;
        };
        let mut parameters = url.split_once('?').unwrap_or_default().1.split('&');
        // What is no plain name may be a piece of a password with a bare ? or & in it.
        let is_plain = |pair: &&str| {
            let name = pair.strip_prefix("schema=");
            name.is_some_and(|name| has_only(name, "_"))
        };
        match parameters.find(is_plain) {
            Some(schema) if shown != HIDDEN => format!("{shown}?{schema}"),
            _ => shown,
        }
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Location({})", self.shown())
    }
}

/// `postgres://user@host:port/database`, when every part of it is plain.
fn without_password(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme, "postgres" | "postgresql") {
        return None;
    }
    let (login, rest) = rest.rsplit_once('@').unwrap_or(("", rest));
    // A bare one of these is in a password or in a parameter, and what looks like the host is not.
    if login.contains(['@', '/', '?']) {
        return None;
    }
    let user = login.split(':').next().unwrap_or_default();
    let path = rest.split('?').next().unwrap_or_default();
    let (hosts, database) = path.split_once('/').unwrap_or((path, ""));
    if !has_only(hosts, "-._~%,:[]") || !has_only(database, "-._~%") {
        return None;
    }
    // A login whose marks are escaped looks like a host or like a database.
    if unescaped(database).contains([':', '@']) || !hosts.split(',').all(is_host) {
        return None;
    }
    let user = if !user.is_empty() && has_only(user, "-._~") {
        format!("{user}@")
    } else {
        String::new()
    };
    let slash = if path.contains('/') { "/" } else { "" };
    Some(format!("{scheme}://{user}{hosts}{slash}{database}"))
}

/// Whether it is a host with or without its port: what follows a host is that, or a password that lacks its host.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if is_address(name) => (name, port.strip_prefix(':')),
            _ => return false,
        },
        None => match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let is_name = text.starts_with('[') || !unescaped(name).contains([':', '@', '[', ']']);
    let is_port = |port: &str| {
        let digits = port.bytes().all(|b| b.is_ascii_digit());
        port.is_empty() || (digits && port.parse::<u16>().is_ok())
    };
    is_name && port.is_none_or(is_port)
}

fn is_address(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_hexdigit() || b":.".contains(&b))
}

fn has_only(text: &str, marks: &str) -> bool {
    text.chars()
        .all(|char| char.is_ascii_alphanumeric() || marks.contains(char))
}

/// Lower-case, and with each escape of an ASCII character replaced by it.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let digits = after
            .get(..2)
            .filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(u8::is_ascii) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &after[2..];
            }
            None => {
                out.push('%');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let shown = Location::parse("postgres://me:s3cret@db:5432/team?password=s3cret").shown();
        assert_eq!(shown, "postgres://me@db:5432/team");
        for url in [
            "postgres://me:s3cret@x@db/team",
            "postgres://me:x@s3cret@db/team",
            "postgres://me:s3cret/x@db/team",
            "postgres://me:x/s3cret@db/team",
            "postgres://me:x?s3cret@db/team",
            "postgres://me:s3cret",
            "postgres://me:s3cret/team",
            "postgres://me%3As3cret@db/team",
            "postgres://db/team&password=s3cret",
            "postgres://db&password=s3cret/team",
            "postgres://db/team?password=x@s3cret",
            "postgres://db/team?password=s3cret",
            "Postgres://me:s3cret@db/team",
            "POSTGRES://me:s3cret@db/team",
            "postgres:me:s3cret@db/team",
            "postgres:/me:s3cret@db/team",
            "postgre://me:s3cret@db/team",
            "mysql://me:s3cret@db/team",
            "host=db password=s3cret",
            "postgres://me:abc?schema=s3cret@db/team",
            "postgres://me%3As3cret%40db/team",
            "postgres:///me%3As3cret%40db",
            "postgres://[me:s3cret]/team",
            "postgres://me:x]s3cret",
            "postgres://me:31415926535/team",
        ] {
            let shown = Location::parse(url).shown() + &Location::parse(url).named();
            assert!(!shown.contains("s3cret"), "{url}: {shown}");
            assert!(!shown.contains("31415926535"), "{url}: {shown}");
            assert!(!format!("{:?}", Location::parse(url)).contains("s3cret"));
        }
    }

    #[test]
    fn a_plain_url_is_shown_as_it_is() {
        for url in [
            "postgres://me@db:5432/team",
            "postgresql://db",
            "postgres://postgres.ref@a.example:1,b.example:2/team",
            "postgres://me@[::1]:5432/team",
            "postgres://%2Fvar%2Frun/team",
            "postgres:///team",
        ] {
            assert_eq!(Location::parse(url).shown(), url);
            assert!(!Location::parse(url).has_password(), "{url}");
        }
    }

    #[test]
    fn a_password_in_any_place_is_noticed() {
        for url in [
            "postgres://me:s3cret@db/team",
            "postgres://me:s3cret@x@db/team",
            "postgres://me:s3c/ret@db/team",
            "postgres://:s3cret@db/team",
            "postgres://db/team?user=me&password=s3cret",
            "postgres://db/team?p%61ssword=s3cret",
            "postgres://db/team?sslpassword=s3cret",
            "postgres:me:s3cret@db/team",
            "postgres//me:s3cret@db/team",
            "mysql://me:s3cret@db/team",
            "host=db password=s3cret",
        ] {
            assert!(Location::parse(url).has_password(), "{url}");
        }
        for text in ["a.db", "me:x@y.db", "postgres://me:@db/team"] {
            assert!(!Location::parse(text).has_password(), "{text}");
        }
    }

    #[test]
    fn a_path_stays_a_path() {
        for path in ["a.db", "./postgres", "/x/y:z@w.db", "file.db?x=1"] {
            assert_eq!(Location::parse(path), Location::File(path.into()));
        }
    }

    #[test]
    fn a_command_names_a_place_with_its_schema() {
        let url = "postgres://me:s3cret@db/team?password=s3cret&schema=two";
        assert_eq!(
            Location::parse(url).named(),
            "postgres://me@db/team?schema=two"
        );
        assert_eq!(Location::parse("a.db").named(), "a.db");
    }
}

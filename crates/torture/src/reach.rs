//! What a process of the torture needs to reach the store as the torture itself does: it works in another folder, has another home
//! and a clean environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use inbox_store::Location;

/// What of the environment every child gets, besides libpq's variables.
const KEPT: [&str; 8] = [
    "PATH",
    "INBOX_SABOTAGE",
    "XDG_RUNTIME_DIR",
    "TMPDIR",
    "TZ",
    "USER",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Variables that name files.
const PATHS: [&str; 6] = [
    "PGPASSFILE",
    "PGSSLROOTCERT",
    "PGSSLCERT",
    "PGSSLKEY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Parameters of a URL that name files.
const FILES: [&str; 4] = ["sslrootcert", "sslcert", "sslkey", "passfile"];

/// What is found in a user's home where nothing else is said.
const IN_HOME: [(&str, &str); 4] = [
    ("PGPASSFILE", ".pgpass"),
    ("PGSSLROOTCERT", ".postgresql/root.crt"),
    ("PGSSLCERT", ".postgresql/postgresql.crt"),
    ("PGSSLKEY", ".postgresql/postgresql.key"),
];

/// The store as `INBOX_DB` names it.
pub(crate) fn db(location: &Location) -> OsString {
    match location {
        Location::File(path) => path.clone().into_os_string(),
        Location::Postgres(url) => url.into(),
    }
}

/// The same URL with this schema.
pub(crate) fn with_schema(url: &str, schema: &str) -> String {
    let others = |pair: &str| (!pair.starts_with("schema=")).then(|| pair.to_owned());
    with(url, others, Some(format!("schema={schema}")))
}

/// The same URL with other parameters, and perhaps one more.
fn with(url: &str, each: impl Fn(&str) -> Option<String>, more: Option<String>) -> String {
    let (base, parameters) = url.split_once('?').unwrap_or((url, ""));
    let pairs = parameters.split('&').filter(|pair| !pair.is_empty());
    let all: Vec<String> = pairs.filter_map(each).chain(more).collect();
    match &all[..] {
        [] => base.to_owned(),
        all => format!("{base}?{}", all.join("&")),
    }
}

/// A location that means the same in every folder.
pub(crate) fn absolute(named: &Location) -> Location {
    match (named, std::env::current_dir()) {
        (Location::Postgres(url), Ok(here)) => Location::Postgres(absolute_in(url, &here)),
        (named, _) => named.clone(),
    }
}

fn absolute_in(url: &str, here: &Path) -> String {
    let here = escaped(&here.to_string_lossy());
    let each = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let lower = value.to_ascii_lowercase();
        let is_absolute = lower.starts_with('/') || lower.starts_with("%2f");
        let is_relative = FILES.contains(&name)
            && !value.is_empty()
            // No file, but what the system trusts.
            && lower != "system"
            && !is_absolute;
        Some(if is_relative {
            format!("{name}={here}/{value}")
        } else {
            pair.to_owned()
        })
    };
    with(url, each, None)
}

/// A path as a URL has it.
fn escaped(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// What of the environment a child must have to reach the store as we do, with `folder` as its home.
pub(crate) fn inherited(folder: &Path) -> Vec<(OsString, OsString)> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    environment(std::env::vars_os(), home.as_deref(), folder)
}

/// The same of any environment.
fn environment(
    variables: impl Iterator<Item = (OsString, OsString)>,
    home: Option<&Path>,
    folder: &Path,
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> = Vec::new();
    for (name, value) in variables {
        let text = name.to_string_lossy();
        if !KEPT.contains(&&*text) && !text.starts_with("PG") {
            continue;
        }
        let is_path = PATHS.contains(&&*text) && !value.is_empty() && value != "system";
        let value = match std::path::absolute(&value) {
            Ok(path) if is_path => path.into_os_string(),
            _ => value,
        };
        kept.push((name, value));
    }
    for (name, file) in IN_HOME {
        let path = home.map(|home| home.join(file));
        let path = path.filter(|path| path.exists());
        let is_said = |(known, value): &(OsString, OsString)| known == name && !value.is_empty();
        if let Some(path) = path.filter(|_| !kept.iter().any(is_said)) {
            kept.push((name.into(), path.into_os_string()));
        }
    }
    kept.push(("HOME".into(), folder.as_os_str().to_owned()));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gets_another_schema_and_keeps_the_rest() {
        let of = |url| with_schema(url, "mine");
        assert_eq!(of("postgres://h/d"), "postgres://h/d?schema=mine");
        assert_eq!(
            of("postgres://h/d?schema=theirs&sslmode=require"),
            "postgres://h/d?sslmode=require&schema=mine"
        );
    }

    #[test]
    fn certificates_that_a_url_names_from_here_are_found_from_everywhere() {
        let of = |url| absolute_in(url, Path::new("/my certs"));
        assert_eq!(
            of("postgres://h/d?sslmode=verify-full&sslrootcert=ca%20one.crt"),
            "postgres://h/d?sslmode=verify-full&sslrootcert=/my%20certs/ca%20one.crt"
        );
        for same in [
            "postgres://h/d",
            "postgres://h/d?sslrootcert=system&sslmode=verify-full",
            "postgres://h/d?sslrootcert=/etc/ca.crt",
            "postgres://h/d?sslrootcert=%2Fetc%2Fca.crt",
        ] {
            assert_eq!(of(same), same);
        }
    }

    #[test]
    fn a_child_with_another_home_has_the_certificates_and_passwords_of_ours() {
        let home = std::env::temp_dir().join(format!("inbox-reach-{}", std::process::id()));
        std::fs::create_dir_all(home.join(".postgresql")).unwrap();
        std::fs::write(home.join(".postgresql/root.crt"), "").unwrap();
        std::fs::write(home.join(".pgpass"), "").unwrap();
        let of = |variables: &[(&str, &str)]| {
            let variables = variables
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value)));
            environment(variables, Some(&home), Path::new("/scratch"))
        };
        let value = |environment: &[(OsString, OsString)], name: &str| {
            let found = environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let usual = of(&[("SECRET", "x"), ("PGSSLMODE", "verify-full")]);
        let root = home.join(".postgresql/root.crt");
        assert_eq!(value(&usual, "PGSSLROOTCERT"), Some(root));
        assert_eq!(value(&usual, "PGPASSFILE"), Some(home.join(".pgpass")));
        assert_eq!(value(&usual, "PGSSLMODE"), Some("verify-full".into()));
        assert_eq!(value(&usual, "PGSSLCERT"), None);
        assert_eq!(value(&usual, "SECRET"), None);
        assert_eq!(value(&usual, "HOME"), Some("/scratch".into()));
        let named = of(&[("PGSSLROOTCERT", "ca.crt"), ("PGSSLKEY", "/k")]);
        let here = std::env::current_dir().unwrap();
        assert_eq!(value(&named, "PGSSLROOTCERT"), Some(here.join("ca.crt")));
        assert_eq!(value(&named, "PGSSLKEY"), Some("/k".into()));
        let system = of(&[("PGSSLROOTCERT", "system")]);
        assert_eq!(value(&system, "PGSSLROOTCERT"), Some("system".into()));
        std::fs::remove_dir_all(&home).unwrap();
    }
}

//! A store's URL: PostgreSQL's own, and the name of the schema.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::failure;
use crate::error::StoreError;

const SCHEMA: &str = "inbox";
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Where a store is and how to get there.
pub(super) struct Target {
    pub(super) config: Config,
    /// A plain identifier: it needs no quotes, and gets them all the same.
    pub(super) schema: String,
    /// `host:port/database`. Never the user or the password: this is what errors show.
    pub(super) server: String,
    /// The server and the schema as a URL.
    pub(super) place: String,
}

impl Target {
    pub(super) fn parse(url: &str) -> Result<Target, StoreError> {
        let (rest, query) = split(url)?;
        let mut schema = SCHEMA;
        let mut passed = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("schema", name)) => schema = name,
                Some(("sslmode", mode)) => check_ssl(mode)?,
                _ => passed.push(pair),
            }
        }
        if !is_plain(schema) {
            return Err(refused(
                "its schema must be lower-case letters, digits and _, not begin with a digit, and have at most 63 of them",
            ));
        }
        let mut config: Config =
            format!("{rest}?{}", passed.join("&"))
                .parse()
                .map_err(|error| {
                    // A parameter's name may be a piece of a password with a bare & in it.
                    if query.contains("password=") {
                        refused("it has a parameter that PostgreSQL does not know, or a bad value")
                    } else {
                        refused(&failure::words(&error))
                    }
                })?;
        config.ssl_mode(SslMode::Disable);
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_WITHIN);
        }
        if config.get_application_name().is_none() {
            config.application_name("inbox");
        }
        let server = server(&config);
        let place = format!("postgres://{server}?schema={schema}");
        Ok(Target {
            config,
            schema: schema.to_owned(),
            server,
            place,
        })
    }
}

/// The URL up to its parameters, and the parameters. tokio-postgres takes everything before the
/// first @ for the user and the password: a password with an @ in it would end up in the host,
/// which errors show.
fn split(url: &str) -> Result<(&str, &str), StoreError> {
    let Some(rest) = url
        .strip_prefix("postgres://")
        .or_else(|| url.strip_prefix("postgresql://"))
    else {
        return Err(refused("it must begin with postgres://"));
    };
    let login = rest.rfind('@').map_or("", |at| &rest[..at]);
    if login.contains(['@', '/', '?']) {
        return Err(refused(
            "write @, / and ? in a user or a password as %40, %2F and %3F",
        ));
    }
    Ok(url.split_once('?').unwrap_or((url, "")))
}

fn check_ssl(mode: &str) -> Result<(), StoreError> {
    match mode {
        "disable" | "allow" | "prefer" => Ok(()),
        "require" | "verify-ca" | "verify-full" => Err(refused(
            "sslmode asks for TLS, which this version cannot do yet: use sslmode=disable on a trusted network, or a local TLS proxy",
        )),
        _ => Err(refused("its sslmode is unknown")),
    }
}

fn is_plain(name: &str) -> bool {
    let head = |b: u8| b.is_ascii_lowercase() || b == b'_';
    name.len() <= 63
        && name.bytes().next().is_some_and(head)
        && name.bytes().all(|b| head(b) || b.is_ascii_digit())
}

fn server(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts: Vec<String> = (config.get_hosts().iter().enumerate())
        .map(|(i, host)| {
            let port = ports.get(i).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        })
        .collect();
    let database = config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or_default();
    format!("{}/{database}", hosts.join(","))
}

/// What is wrong with a URL, without the URL: it may hold a password.
fn refused(problem: &str) -> StoreError {
    StoreError::Database(format!("the PostgreSQL URL cannot be used: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Target::parse(url).err().expect("a refusal").to_string()
    }

    #[test]
    fn the_schema_is_taken_out_of_the_url() {
        let plain = Target::parse("postgres://ada:secret@db.example:6432/work").unwrap();
        assert_eq!(plain.schema, "inbox");
        assert_eq!(plain.place, "postgres://db.example:6432/work?schema=inbox");
        let url = "postgresql://ada@[::1]/work?connect_timeout=3&schema=team_2&sslmode=prefer";
        let named = Target::parse(url).unwrap();
        assert_eq!(named.schema, "team_2");
        assert_eq!(named.server, "::1:5432/work");
        assert_eq!(
            named.config.get_connect_timeout(),
            Some(&Duration::from_secs(3))
        );
    }

    #[test]
    fn a_schema_that_needs_quotes_is_refused() {
        for name in ["", "Team", "2nd", "a-b", "a\"b", "a%22b", &"a".repeat(64)] {
            let refusal = refusal(&format!("postgres://h/d?schema={name}"));
            assert!(refusal.contains("schema must be"), "{name}: {refusal}");
        }
    }

    #[test]
    fn tls_is_refused_and_not_silently_left_out() {
        for mode in ["require", "verify-ca", "verify-full"] {
            assert!(refusal(&format!("postgres://h/d?sslmode={mode}")).contains("TLS"));
        }
        assert!(refusal("postgres://h/d?sslmode=maybe").contains("unknown"));
    }

    #[test]
    fn no_refusal_shows_a_password() {
        for url in [
            "postgres://ada:hunter2@x@h/d",
            "postgres://ada:hunter2/x@h/d",
            "postgres://ada:hunter2?x@h/d",
            "postgres://h/d?user=ada&password=hunter2@x",
            "postgres://h/d?user=ada&password=x&hunter2=y",
            "postgres://ada:hunter2@h:port/d",
            "mysql://ada:hunter2@h/d",
        ] {
            let refusal = refusal(url);
            assert!(!refusal.contains("hunter2"), "{refusal}");
        }
    }
}

//! A store's URL: PostgreSQL's own, as libpq reads it, and the name of the schema. What it does not
//! say comes from the environment, under libpq's names.

mod host;
mod text;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

pub(super) use self::host::Host;
use self::host::hosts;
use self::text::Parameters;
use super::pass;
use super::tls::{self, Tls};
use crate::error::StoreError;

const SCHEMA: &str = "inbox";
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// What libpq calls forever.
const LONG: Duration = Duration::from_hours(24);

/// A password. It has no `Display`, and its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text itself, for the login and nothing else.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Whether a login is bound to the TLS connection that it was made in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    Disable,
    Prefer,
    Require,
}

/// Which of several servers will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Session {
    Any,
    /// One that takes writes: neither `in_hot_standby` nor `default_transaction_read_only`.
    ReadWrite,
    /// One that is no standby.
    Primary,
}

/// When the system asks a silent server whether it is still there; `None` is the system's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keepalive {
    pub(super) on: bool,
    pub(super) idle: Option<Duration>,
    pub(super) interval: Option<Duration>,
    pub(super) count: Option<u32>,
}

/// Where a store is and how to get there.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// In the order in which they are tried; there is at least one.
    pub(super) hosts: Vec<Host>,
    pub(super) user: String,
    /// The one in the URL, else the one in PGPASSWORD. [`Target::password_for`] also looks into the
    /// password file.
    pub(super) password: Option<Secret>,
    pub(super) passfile: Option<PathBuf>,
    pub(super) database: String,
    /// A plain identifier: it needs no quotes, and gets them all the same.
    pub(super) schema: String,
    pub(super) tls: Tls,
    /// For one server, never zero.
    pub(super) connect_timeout: Duration,
    pub(super) application_name: String,
    /// `options` of the start-up message.
    pub(super) options: Option<String>,
    pub(super) channel_binding: Binding,
    pub(super) session: Session,
    pub(super) keepalive: Keepalive,
    /// `host:port[,host:port]/database`. Never the user or the password: this is what errors show.
    pub(super) server: String,
    /// The server and the schema as a URL.
    pub(super) place: String,
}

impl Target {
    pub(super) fn parse(url: &str) -> Result<Target, StoreError> {
        let account = Account::of_process();
        Target::parse_in(url, &account, &|name| {
            let value = std::env::var_os(name)?.into_string().ok();
            value.filter(|value| !value.is_empty())
        })
    }

    fn parse_in(
        url: &str,
        account: &Account,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Target, StoreError> {
        let given = Parameters::read(url, variable)?;
        let schema = given.get("schema").unwrap_or(SCHEMA);
        if !is_plain(schema) {
            return Err(refused(
                "its schema must be lower-case letters, digits and _, not begin with a digit, and have at most 63 of them",
            ));
        }
        let hosts = hosts(&given)?;
        let named = |name: Option<String>| given.get("user").map(str::to_owned).or(name);
        let Some(user) = named(account.name.clone().or_else(|| variable("USER"))) else {
            return Err(refused(
                "it names no user, and the system has no name for this one: write postgres://user@host/database",
            ));
        };
        let database = given.get("dbname").unwrap_or(&user).to_owned();
        let home = variable("HOME")
            .map(PathBuf::from)
            .or_else(|| account.home.clone());
        let in_home = |file: &str| home.as_ref().map(|home| home.join(file));
        let path = |name: &str| given.get(name).map(PathBuf::from);
        let shown: Vec<String> = hosts.iter().map(Host::to_string).collect();
        let server = format!("{}/{database}", shown.join(","));
        Ok(Target {
            password: given.get("password").map(|text| Secret::new(text.into())),
            passfile: path("passfile").or_else(|| in_home(".pgpass")),
            tls: tls_of(&given, in_home(".postgresql"))?,
            connect_timeout: match given.number("connect_timeout")? {
                None => CONNECT_WITHIN,
                Some(seconds) => u64::try_from(seconds)
                    .ok()
                    .filter(|seconds| *seconds > 0)
                    .map_or(LONG, |seconds| Duration::from_secs(seconds).min(LONG)),
            },
            application_name: given.get("application_name").unwrap_or("inbox").to_owned(),
            options: given.get("options").map(str::to_owned),
            channel_binding: given
                .choice(
                    "channel_binding",
                    &[
                        ("disable", Binding::Disable),
                        ("prefer", Binding::Prefer),
                        ("require", Binding::Require),
                    ],
                )?
                .unwrap_or(Binding::Prefer),
            session: session_of(&given)?,
            keepalive: keepalive_of(&given)?,
            place: format!("postgres://{server}?schema={schema}"),
            schema: schema.to_owned(),
            hosts,
            user,
            database,
            server,
        })
    }

    /// The password to log in with, or in words why there is none. The password file is read only
    /// now: most servers of a team's own machine never ask.
    pub(super) fn password_for(&self, host: &Host) -> Result<Secret, String> {
        match (&self.password, &self.passfile) {
            (Some(password), _) => Ok(password.clone()),
            (None, Some(file)) => pass::look_up(file, host, &self.database, &self.user),
            (None, None) => Err("there is none in PGPASSWORD, and no home for a ~/.pgpass".into()),
        }
    }
}

/// The system's user, as far as it has a name.
struct Account {
    name: Option<String>,
    home: Option<PathBuf>,
}

impl Account {
    fn of_process() -> Account {
        let id = rustix::process::geteuid().as_raw().to_string();
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let fields = users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.get(2) == Some(&id.as_str()));
        let field = |at: usize| {
            let text = *fields.as_ref()?.get(at)?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        Account {
            name: field(0),
            home: field(5).map(PathBuf::from),
        }
    }
}

fn tls_of(given: &Parameters, folder: Option<PathBuf>) -> Result<Tls, StoreError> {
    use tls::{Mode, Root};
    let modes = [
        ("disable", Mode::Disable),
        ("allow", Mode::Allow),
        ("prefer", Mode::Prefer),
        ("require", Mode::Require),
        ("verify-ca", Mode::VerifyCa),
        ("verify-full", Mode::VerifyFull),
    ];
    let root = match given.get("sslrootcert") {
        Some("system") => Root::System,
        Some(file) => Root::File(file.into()),
        None => Root::Usual(folder.as_ref().map(|folder| folder.join("root.crt"))),
    };
    let mode = match (given.choice("sslmode", &modes)?, &root) {
        // Anybody can have a certificate from one of the system's authorities.
        (Some(Mode::VerifyFull) | None, Root::System) => Mode::VerifyFull,
        (Some(_), Root::System) => {
            return Err(refused(
                "sslrootcert=system needs sslmode=verify-full: anything weaker would take any server's certificate",
            ));
        }
        (mode, _) => mode.unwrap_or(Mode::Prefer),
    };
    let versions = [
        ("TLSv1", false),
        ("TLSv1.1", false),
        ("TLSv1.2", false),
        ("TLSv1.3", true),
    ];
    let usual = |file: &str| folder.as_ref().map(|folder| folder.join(file));
    let path = |name: &str| given.get(name).map(PathBuf::from);
    Ok(Tls {
        mode,
        root,
        is_cert_named: given.get("sslcert").is_some(),
        cert: path("sslcert").or_else(|| usual("postgresql.crt")),
        key: path("sslkey").or_else(|| usual("postgresql.key")),
        only_13: given
            .choice("ssl_min_protocol_version", &versions)?
            .unwrap_or(false),
        sni: given
            .choice("sslsni", &[("0", false), ("1", true)])?
            .unwrap_or(true),
    })
}

fn session_of(given: &Parameters) -> Result<Session, StoreError> {
    let words = [
        ("any", Some(Session::Any)),
        ("read-write", Some(Session::ReadWrite)),
        ("primary", Some(Session::Primary)),
        ("read-only", None),
        ("standby", None),
        ("prefer-standby", None),
    ];
    match given.choice("target_session_attrs", &words)? {
        None => Ok(Session::Any),
        Some(Some(session)) => Ok(session),
        Some(None) => Err(refused(
            "inbox writes, so its target_session_attrs must be any, read-write or primary",
        )),
    }
}

fn keepalive_of(given: &Parameters) -> Result<Keepalive, StoreError> {
    // As in libpq, zero and less leave it to the system.
    let positive = |name: &str| -> Result<Option<u32>, StoreError> {
        let number = given.number(name)?;
        Ok(number
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| *number > 0))
    };
    let seconds = |name: &str| -> Result<Option<Duration>, StoreError> {
        Ok(positive(name)?.map(|number| Duration::from_secs(number.into())))
    };
    Ok(Keepalive {
        on: given.number("keepalives")?.is_none_or(|number| number != 0),
        idle: seconds("keepalives_idle")?,
        interval: seconds("keepalives_interval")?,
        count: positive("keepalives_count")?,
    })
}

fn is_plain(name: &str) -> bool {
    let head = |b: u8| b.is_ascii_lowercase() || b == b'_';
    name.len() <= 63
        && name.bytes().next().is_some_and(head)
        && name.bytes().all(|b| head(b) || b.is_ascii_digit())
}

/// What is wrong with a URL, without the URL: it may hold a password.
pub(super) fn refused(problem: &str) -> StoreError {
    StoreError::BadUrl(problem.to_owned())
}

#[cfg(test)]
mod tests;

//! The text of a URL, as libpq reads it: which parameters it sets, and which the environment adds.

use std::collections::BTreeMap;

use super::refused;
use crate::error::StoreError;

/// What is taken, and the variable that stands in when the URL does not say.
const TAKEN: &[(&str, &str)] = &[
    ("application_name", "PGAPPNAME"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("dbname", "PGDATABASE"),
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("keepalives", ""),
    ("keepalives_count", ""),
    ("keepalives_idle", ""),
    ("keepalives_interval", ""),
    ("options", "PGOPTIONS"),
    ("passfile", "PGPASSFILE"),
    ("password", "PGPASSWORD"),
    ("port", "PGPORT"),
    ("schema", ""),
    ("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION"),
    ("sslcert", "PGSSLCERT"),
    ("sslkey", "PGSSLKEY"),
    ("sslmode", "PGSSLMODE"),
    ("sslrootcert", "PGSSLROOTCERT"),
    ("sslsni", "PGSSLSNI"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
    ("user", "PGUSER"),
];

/// What asks for nothing more than is done anyway, with these values and no others.
const HARMLESS: &[(&str, &str, &[&str])] = &[
    (
        "client_encoding",
        "PGCLIENTENCODING",
        &["UTF8", "utf8", "UTF-8", "utf-8", "auto"],
    ),
    ("gssencmode", "PGGSSENCMODE", &["disable", "prefer"]),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS", &["disable"]),
    ("replication", "", &["false", "off", "no", "0"]),
    ("sslcompression", "PGSSLCOMPRESSION", &["0", "1"]),
    (
        "ssl_max_protocol_version",
        "PGSSLMAXPROTOCOLVERSION",
        &["TLSv1.3"],
    ),
    ("sslnegotiation", "PGSSLNEGOTIATION", &["postgres"]),
];

/// What libpq knows and this program cannot do. The ones with a variable are demands of safety: to
/// pass over them in silence would be to break them.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("gssdelegation", ""),
    ("gsslib", ""),
    ("krbsrvname", ""),
    ("max_protocol_version", ""),
    ("min_protocol_version", "PGMINPROTOCOLVERSION"),
    ("require_auth", "PGREQUIREAUTH"),
    ("requirepeer", "PGREQUIREPEER"),
    ("scram_client_key", ""),
    ("scram_server_key", ""),
    ("service", ""),
    ("servicefile", ""),
    ("sslcertmode", "PGSSLCERTMODE"),
    ("sslcrl", "PGSSLCRL"),
    ("sslcrldir", "PGSSLCRLDIR"),
    ("sslkeylogfile", ""),
    ("sslpassword", ""),
    ("tcp_user_timeout", ""),
];

/// What hosting services and other clients put into the URLs that they hand out, and what has no
/// meaning for one connection.
const FOREIGN: &[&str] = &[
    "connection_limit",
    "fallback_application_name",
    "pgbouncer",
    "pool_timeout",
    "socket_timeout",
    "statement_cache_size",
    "supa",
    "uselibpqcompat",
    "workaround",
];

/// The parameters that a URL and the environment give; none of them is empty.
pub(super) struct Parameters {
    given: BTreeMap<&'static str, String>,
    /// Whether there is a password in the URL, a piece of which may be in any wrong place.
    secretive: bool,
}

impl Parameters {
    /// Reads `url` and, for what it does not say, the variables that `variable` knows.
    pub(super) fn read(
        url: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Parameters, StoreError> {
        let mut parameters = Parameters {
            given: BTreeMap::new(),
            secretive: url.to_ascii_lowercase().contains("pass"),
        };
        let (authority, database, query) = split(url)?;
        parameters.authority(authority)?;
        let database = decoded(database)?;
        let (_, after) = database.split_once(':').unwrap_or_default();
        if after.contains('@') {
            return Err(refused(
                "its database is a login with escaped marks: write the : and the @ behind a user and a password as they are",
            ));
        }
        parameters.put("dbname", database);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            parameters.pair(pair)?;
        }
        for &(name, from) in TAKEN {
            if let Some(value) = variable(from).filter(|_| !from.is_empty())
                && !parameters.given.contains_key(name)
            {
                parameters.put(name, value);
            }
        }
        for &(name, from, allowed) in HARMLESS {
            if let Some(value) = variable(from).filter(|_| !from.is_empty())
                && !parameters.given.contains_key(name)
                && !allowed.contains(&value.as_str())
            {
                return Err(unsupported(from));
            }
        }
        for &(_, from) in UNSUPPORTED {
            if !from.is_empty() && variable(from).is_some_and(|value| !value.is_empty()) {
                return Err(unsupported(from));
            }
        }
        Ok(parameters)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// The value of `name` as one of the words that it may be.
    pub(super) fn choice<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, StoreError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match words.iter().find(|(word, _)| *word == value) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => Err(self.bad(name, value, &list(words.iter().map(|(word, _)| *word)))),
        }
    }

    /// The value of `name` as a whole number.
    pub(super) fn number(&self, name: &str) -> Result<Option<i64>, StoreError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let number = value.trim().parse();
        number
            .map(Some)
            .map_err(|_| self.bad(name, value, "a whole number"))
    }

    /// A refusal of a value, which is shown unless it may be a piece of a password.
    pub(super) fn bad(&self, name: &str, value: &str, due: &str) -> StoreError {
        if self.secretive {
            refused(&format!("its {name} is unknown: it must be {due}"))
        } else {
            refused(&format!(
                "its {name} {value:?} is unknown: it must be {due}"
            ))
        }
    }

    fn put(&mut self, name: &'static str, value: String) {
        if value.is_empty() {
            self.given.remove(name);
        } else {
            self.given.insert(name, value);
        }
    }

    /// `user:password@host:port,host:port`, each part of which may be missing.
    fn authority(&mut self, authority: &str) -> Result<(), StoreError> {
        let hosts = match authority.rsplit_once('@') {
            Some((login, hosts)) => {
                let (user, password) = login.split_once(':').unwrap_or((login, ""));
                self.secretive |= !password.is_empty();
                let user = decoded(user)?;
                // Who escapes the mark between a user and a password has the password in the user's name, which errors show.
                if user.contains(':') {
                    return Err(refused(
                        "write the : between a user and a password as it is, and not as %3A",
                    ));
                }
                self.put("user", user);
                self.put("password", decoded(password)?);
                hosts
            }
            None => authority,
        };
        let (mut names, mut ports) = (Vec::new(), Vec::new());
        for host in hosts.split(',') {
            let (name, port) = host_port(host)?;
            let is_address = host.starts_with('[');
            let name = decoded(name)?;
            // A login whose marks are escaped would be the host, which errors show.
            if name.contains(|c: char| c.is_control())
                || (!name.starts_with(['/', '@']) && name.contains('@'))
                || (!name.starts_with('/') && !is_address && name.contains(':'))
            {
                return Err(refused(
                    "its host has a mark in it that no host has: write the : and the @ behind a user and a password as they are",
                ));
            }
            let (number, zone) = name.split_once('%').unwrap_or((&name, ""));
            let is_number = |b: u8| b.is_ascii_hexdigit() || b":.".contains(&b);
            if is_address && !(number.bytes().all(is_number) && is_zone(zone)) {
                return Err(refused("an IPv6 address is written as [::1] or [::1]:5432"));
            }
            // A port that is none may be a password that lacks its host; what follows it, too.
            self.secretive |= !port.is_empty() && port.parse::<u16>().is_err();
            names.push(name);
            ports.push(decoded(port)?);
        }
        if names.iter().any(|name| !name.is_empty()) {
            self.put("host", names.join(","));
        }
        if ports.iter().any(|port| !port.is_empty()) {
            self.put("port", ports.join(","));
        }
        Ok(())
    }

    fn pair(&mut self, pair: &str) -> Result<(), StoreError> {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(self.unknown(pair));
        };
        let (name, value) = (decoded(name)?, decoded(value)?);
        // The name may have been escaped, too.
        self.secretive |= name.to_ascii_lowercase().contains("pass");
        // How JDBC asks for it; libpq understands this one word, too.
        if name == "ssl" && value == "true" {
            self.put("sslmode", "require".into());
            return Ok(());
        }
        if let Some((name, _)) = TAKEN.iter().find(|(known, _)| *known == name) {
            // A schema that is named and empty is a mistake, and not the default.
            if *name == "schema" {
                self.given.insert(name, value);
            } else {
                self.put(name, value);
            }
            return Ok(());
        }
        if let Some((name, _, allowed)) = HARMLESS.iter().find(|(known, _, _)| *known == name) {
            if value.is_empty() || allowed.contains(&value.as_str()) {
                return Ok(());
            }
            let due = list(allowed.iter().copied());
            return Err(self.bad(name, &value, &due));
        }
        if let Some((name, _)) = UNSUPPORTED.iter().find(|(known, _)| *known == name) {
            return Err(unsupported(name));
        }
        if FOREIGN.contains(&name.as_str()) {
            return Ok(());
        }
        Err(self.unknown(&name))
    }

    /// A parameter's name may be a piece of a password with a bare & in it.
    fn unknown(&self, name: &str) -> StoreError {
        let is_plain = name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if self.secretive || !is_plain {
            refused(
                "it has a parameter that PostgreSQL does not know, or a bare & in a password: write that as %26",
            )
        } else {
            refused(&format!(
                "it has the parameter {name}, which PostgreSQL does not know"
            ))
        }
    }
}

/// The URL's `user@host`, its database and its parameters. In libpq everything before the first @
/// is the login: a password with a bare @ in it would end up in the host, which errors show.
fn split(url: &str) -> Result<(&str, &str, &str), StoreError> {
    let Some(rest) = url
        .strip_prefix("postgres://")
        .or_else(|| url.strip_prefix("postgresql://"))
    else {
        return Err(refused(
            "a store is a file's path, or a URL that begins with postgres://",
        ));
    };
    let login = rest.rfind('@').map_or("", |at| &rest[..at]);
    if login.contains(['@', '/', '?']) {
        return Err(refused(
            "write @, / and ? in a user, a password or a parameter as %40, %2F and %3F",
        ));
    }
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = path.split_once('/').unwrap_or((path, ""));
    // Parameters without their ? would become part of the host or the database, which errors show.
    let hosts = authority
        .rsplit_once('@')
        .map_or(authority, |(_, hosts)| hosts);
    if database.contains(['/', '=', '&']) || hosts.contains(['=', '&']) {
        return Err(refused(
            "its parameters begin with ?; write /, = and & in a name as %2F, %3D and %26",
        ));
    }
    Ok((authority, database, query))
}

fn host_port(host: &str) -> Result<(&str, &str), StoreError> {
    let Some(rest) = host.strip_prefix('[') else {
        return Ok(host.split_once(':').unwrap_or((host, "")));
    };
    let inner = rest.split_once(']').and_then(|(name, port)| {
        let port = match port {
            "" => "",
            port => port.strip_prefix(':')?,
        };
        (!name.is_empty()).then_some((name, port))
    });
    inner.ok_or_else(|| refused("an IPv6 address is written as [::1] or [::1]:5432"))
}

/// Whether it may be what an address of this machine's own network is on, such as `eth0`.
fn is_zone(text: &str) -> bool {
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// Text with `%41` for `A`. A zero byte would end a string of the protocol before its end.
fn decoded(text: &str) -> Result<String, StoreError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail
            .split_at_checked(2)
            .and_then(|(pair, _)| std::str::from_utf8(pair).ok())
            .filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let Some(byte) = byte else {
            return Err(refused(
                "a % in it is not followed by two hexadecimal digits: write % as %25",
            ));
        };
        rest = &tail[2..];
        bytes.push(byte);
    }
    if bytes.contains(&0) {
        return Err(refused("it has a zero byte in it"));
    }
    String::from_utf8(bytes).map_err(|_| refused("its text is not UTF-8"))
}

fn list<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

fn unsupported(name: &str) -> StoreError {
    refused(&format!(
        "{name} asks for what inbox cannot do; leave it out if it is not needed"
    ))
}

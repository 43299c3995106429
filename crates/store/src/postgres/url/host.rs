//! The servers that a URL names.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use super::refused;
use super::text::Parameters;
use crate::error::StoreError;

const PORT: u16 = 5432;
/// Where servers put their sockets: Debian's place, and PostgreSQL's own.
const SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// One of the servers to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Host {
    Tcp {
        /// What a certificate and a line of the password file name.
        name: String,
        /// `hostaddr`: where it is, so that the name is not looked up.
        address: Option<IpAddr>,
        port: u16,
    },
    Unix {
        folder: PathBuf,
        port: u16,
    },
}

impl Host {
    pub(in super::super) fn port(&self) -> u16 {
        match self {
            Host::Tcp { port, .. } | Host::Unix { port, .. } => *port,
        }
    }

    /// The socket of a server on this machine.
    pub(in super::super) fn socket(&self) -> Option<PathBuf> {
        match self {
            Host::Tcp { .. } => None,
            Host::Unix { folder, port } => Some(folder.join(format!(".s.PGSQL.{port}"))),
        }
    }

    /// Whether the folder is one where libpq looks without being told.
    pub(in super::super) fn is_default_socket(&self) -> bool {
        matches!(self, Host::Unix { folder, .. } if SOCKETS.iter().any(|known| folder == Path::new(known)))
    }
}

/// `name:port`, for errors.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Tcp { name, port, .. } if name.contains(':') => write!(f, "[{name}]:{port}"),
            Host::Tcp { name, port, .. } => write!(f, "{name}:{port}"),
            Host::Unix { folder, port } => write!(f, "{}:{port}", folder.display()),
        }
    }
}

/// The servers in the order in which they are tried; there is at least one.
pub(super) fn hosts(given: &Parameters) -> Result<Vec<Host>, StoreError> {
    let list = |name: &str| -> Vec<String> {
        given
            .get(name)
            .map(|text| text.split(',').map(|part| part.trim().to_owned()).collect())
            .unwrap_or_default()
    };
    let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"));
    let count = names.len().max(addresses.len()).max(1);
    if !(names.is_empty() || addresses.is_empty() || names.len() == addresses.len()) {
        return Err(refused("it has as many hostaddr as hosts, or none"));
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(refused(
            "it has one port for all its hosts, or one for each",
        ));
    }
    (0..count)
        .map(|i| {
            let text = ports.get(i).or(ports.first()).map_or("", String::as_str);
            let port = match text {
                "" => PORT,
                // The text may be a password without its host.
                text => text
                    .parse()
                    .ok()
                    .filter(|port| *port != 0)
                    .ok_or_else(|| refused("a port is a number from 1 to 65535"))?,
            };
            let address = match addresses.get(i).map_or("", String::as_str) {
                "" => None,
                text => Some(
                    text.parse()
                        .map_err(|_| refused("its hostaddr must be an IPv4 or IPv6 address"))?,
                ),
            };
            host(names.get(i).map_or("", String::as_str), address, port)
        })
        .collect()
}

fn host(name: &str, address: Option<IpAddr>, port: u16) -> Result<Host, StoreError> {
    if let Some(address) = address {
        let name = match name {
            "" => address.to_string(),
            name => name.to_owned(),
        };
        let address = Some(address);
        return Ok(Host::Tcp {
            name,
            address,
            port,
        });
    }
    if name.is_empty() {
        let folders = SOCKETS.map(|folder| Host::Unix {
            folder: folder.into(),
            port,
        });
        let found = folders
            .iter()
            .find(|host| host.socket().is_some_and(|socket| socket.exists()));
        return Ok(found.unwrap_or(&folders[0]).clone());
    }
    if name.starts_with('@') {
        return Err(refused(
            "its host is an abstract socket, which inbox cannot use",
        ));
    }
    Ok(if name.starts_with('/') {
        Host::Unix {
            folder: name.into(),
            port,
        }
    } else {
        Host::Tcp {
            name: name.to_owned(),
            address: None,
            port,
        }
    })
}

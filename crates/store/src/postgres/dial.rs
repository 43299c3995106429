//! How a server is reached: each host in turn, each of its addresses, with TLS or without, and the
//! login. The order and the second tries are libpq's.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::failure::Failure;
use super::tls::{self, Stream, Tls};
use super::url::{Host, Session, Target};
use super::wire::Wire;

/// A connection to the first host that will do, logged in. From then on an answer may take as long
/// as `patience`.
pub(super) fn wire(target: &Target, patience: Duration) -> Result<Wire, Failure> {
    let mut failures = Vec::new();
    for host in &target.hosts {
        let reached = reach(target, host).and_then(|mut wire| {
            fits(&mut wire, target.session)?;
            wire.set_patience(Some(patience))?;
            Ok(wire)
        });
        let failure = match reached {
            Ok(wire) => return Ok(wire),
            Err(failure) => failure,
        };
        let is_final = is_final(&failure);
        failures.push((host, failure));
        if is_final {
            break;
        }
    }
    if failures.len() > 1 {
        let each = failures
            .iter()
            .map(|(host, failure)| format!("{host}: {}", failure.words()));
        return Err(Failure::Lost(each.collect::<Vec<_>>().join("; ")));
    }
    let only = failures.pop().map(|(_, failure)| failure);
    Err(only.unwrap_or_else(|| Failure::Lost("no host is named".into())))
}

/// Whether the other hosts would say the same: they are meant to be the same database, and a
/// password is not tried on one after the other.
fn is_final(failure: &Failure) -> bool {
    // 57P03: it is starting, stopping or recovering.
    matches!(failure, Failure::Server(error) if error.code != "57P03")
}

/// How far a connection came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Handshake,
    Login { has_tls: bool },
}

fn reach(target: &Target, host: &Host) -> Result<Wire, Failure> {
    let first = enter(target, host, &target.tls);
    let (stage, failure) = match first? {
        Ok(wire) => return Ok(wire),
        Err(failed) => failed,
    };
    // 28000: the server has no rule for a connection of this kind. A password that it did not like
    // is another code, and is not said again without TLS.
    let is_kind_wrong = matches!(&failure, Failure::Server(error) if error.code == "28000");
    let second = match stage {
        Stage::Handshake => target.tls.otherwise(true),
        Stage::Login { has_tls } if is_kind_wrong => target.tls.otherwise(has_tls),
        Stage::Login { .. } => None,
    };
    let Some(second) = second else {
        return Err(failure);
    };
    let how = match stage {
        Stage::Login { has_tls: false } => "with TLS",
        _ => "without TLS",
    };
    enter(target, host, &second)?.map_err(|(_, other)| {
        let (first, other) = (failure.words(), other.words());
        Failure::Lost(format!("{first}; {how}: {other}"))
    })
}

/// A connection, and the login in it. The outer failure is that there is no connection at all.
fn enter(
    target: &Target,
    host: &Host,
    tls: &Tls,
) -> Result<Result<Wire, (Stage, Failure)>, Failure> {
    let stream = match host {
        Host::Tcp { name, .. } => {
            let socket = socket(target, host)?;
            match tls::negotiate(socket, name, tls) {
                Ok(stream) => stream,
                Err(failure) => return Ok(Err((Stage::Handshake, failure))),
            }
        }
        // Nobody is in between on one machine: libpq does without TLS there, too.
        Host::Unix { .. } => Stream::Unix(local(target, host)?),
    };
    let has_tls = stream.is_tls();
    let entered = Wire::log_in(stream, target, host);
    Ok(entered.map_err(|failure| (Stage::Login { has_tls }, failure)))
}

fn local(target: &Target, host: &Host) -> Result<UnixStream, Failure> {
    let path = host.socket().unwrap_or_default();
    let socket = UnixStream::connect(&path)
        .map_err(|error| Failure::Lost(format!("{}: {error}", path.display())))?;
    socket.set_read_timeout(Some(target.connect_timeout))?;
    socket.set_write_timeout(Some(target.connect_timeout))?;
    Ok(socket)
}

/// A connection to the first of the host's addresses that answers.
fn socket(target: &Target, host: &Host) -> Result<TcpStream, Failure> {
    let mut last = Failure::Lost("it has no address".into());
    for address in addresses(host)? {
        match TcpStream::connect_timeout(&address, target.connect_timeout) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                socket.set_read_timeout(Some(target.connect_timeout))?;
                socket.set_write_timeout(Some(target.connect_timeout))?;
                target.keepalive.set(&socket)?;
                return Ok(socket);
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

fn addresses(host: &Host) -> io::Result<Vec<SocketAddr>> {
    match host {
        Host::Tcp {
            address: Some(address),
            port,
            ..
        } => Ok(vec![SocketAddr::new(*address, *port)]),
        Host::Tcp { name, port, .. } => Ok((name.as_str(), *port).to_socket_addrs()?.collect()),
        Host::Unix { .. } => Ok(Vec::new()),
    }
}

/// Whether this server is one that `target_session_attrs` asks for.
fn fits(wire: &mut Wire, session: Session) -> Result<(), Failure> {
    if session == Session::Any {
        return Ok(());
    }
    let rows =
        wire.script("SELECT pg_is_in_recovery(), current_setting('transaction_read_only')")?;
    let has = |at: usize, word: &str| {
        let cell = rows.first().and_then(|row| row.get(at)?.as_deref());
        cell == Some(word)
    };
    let does = match session {
        Session::Any => true,
        Session::Primary => has(0, "f"),
        Session::ReadWrite => has(0, "f") && has(1, "off"),
    };
    if does {
        Ok(())
    } else {
        Err(Failure::Lost(
            "the server does not take writes, as target_session_attrs asks for".into(),
        ))
    }
}

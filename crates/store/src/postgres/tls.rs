//! TLS by rustls, under libpq's names: whether a connection has it, and whose certificate counts.

mod der;
mod stream;
mod trust;
mod words;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

pub(super) use self::stream::Stream;
use super::failure::Failure;

/// The message that asks for TLS: its length and the number 1234.5679.
const REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Never TLS.
    Disable,
    /// TLS only when the server refuses to do without.
    Allow,
    /// TLS when the server has it.
    Prefer,
    /// TLS; the certificate is verified when there is a file of authorities, as libpq does.
    Require,
    /// TLS with a certificate of a known authority, for whatever name.
    VerifyCa,
    /// TLS with a certificate of a known authority for this host.
    VerifyFull,
}

/// Whose word about a server's certificate counts: libpq's `sslrootcert`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Root {
    /// `~/.postgresql/root.crt`, if it exists.
    Usual(Option<PathBuf>),
    /// This file, which must exist.
    File(PathBuf),
    /// `system`: whom the operating system trusts.
    System,
}

/// How a connection is to be protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tls {
    pub(super) mode: Mode,
    pub(super) root: Root,
    /// Whether `cert` was named, so that it must exist.
    pub(super) is_cert_named: bool,
    pub(super) cert: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    /// `ssl_min_protocol_version=TLSv1.3`.
    pub(super) only_13: bool,
    /// Whether the server is told by which name it was called.
    pub(super) sni: bool,
}

impl Tls {
    /// What to try on a new connection when the server refused this one in the handshake or at the
    /// login. `had_tls` tells whether it had TLS. As in libpq, `allow` and `prefer` protect from
    /// nobody who can change what is sent: only the other modes do.
    pub(super) fn otherwise(&self, had_tls: bool) -> Option<Tls> {
        let mode = match (self.mode, had_tls) {
            (Mode::Allow, false) => Mode::Require,
            (Mode::Prefer, true) => Mode::Disable,
            _ => return None,
        };
        Some(Tls {
            mode,
            // A file of authorities makes `require` strict, and this is not meant to be.
            root: Root::Usual(None),
            ..self.clone()
        })
    }
}

/// Asks the server for TLS, if `tls` wants it, and makes the handshake. `host` is the name that it
/// was called by. The timeouts of `stream` hold for each step.
pub(super) fn negotiate(mut stream: TcpStream, host: &str, tls: &Tls) -> Result<Stream, Failure> {
    if matches!(tls.mode, Mode::Disable | Mode::Allow) {
        return Ok(Stream::Tcp(stream));
    }
    // A missing file is found before the server is troubled.
    let config = trust::config(tls)?;
    let failed = |error: std::io::Error| unreachable(&words::of_io(&error));
    stream.write_all(&REQUEST).map_err(failed)?;
    // One byte, read without a buffer: whatever follows it is the handshake's, and a plain text that
    // somebody put in between is no TLS record.
    let mut answer = [0];
    stream.read_exact(&mut answer).map_err(failed)?;
    match (&answer, tls.mode) {
        (b"S", _) => {}
        (b"N", Mode::Prefer) => return Ok(Stream::Tcp(stream)),
        (b"N", _) => {
            return Err(unreachable(
                "the server does not do TLS: turn ssl on there, or use sslmode=disable on a network that you trust",
            ));
        }
        // Its text is not to be believed: nobody has proved yet to be the server.
        (b"E", _) => {
            return Err(unreachable(
                "the server answered with an error when it was asked for TLS",
            ));
        }
        _ => return Err(unreachable("what answers there is not PostgreSQL")),
    }
    let refused = |error: &rustls::Error| unreachable(&words::of_tls(error, host, &tls.root));
    let name = match ServerName::try_from(host.to_owned()) {
        Ok(name) => name,
        Err(_) if tls.mode == Mode::VerifyFull => {
            return Err(unreachable(
                "sslmode=verify-full needs a host that a certificate can name",
            ));
        }
        // Nothing will be compared with it, and an address is not sent to the server.
        Err(_) => ServerName::from(std::net::IpAddr::from([0, 0, 0, 0])),
    };
    let mut connection =
        ClientConnection::new(config.into(), name).map_err(|error| refused(&error))?;
    while connection.is_handshaking() {
        connection.complete_io(&mut stream).map_err(|error| {
            let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
            match inner {
                Some(inner) => refused(inner),
                None => unreachable(&format!(
                    "the TLS handshake broke off: {}",
                    words::of_io(&error)
                )),
            }
        })?;
    }
    Ok(Stream::Tls(Box::new(StreamOwned::new(connection, stream))))
}

fn unreachable(reason: &str) -> Failure {
    Failure::Lost(reason.to_owned())
}

#[cfg(test)]
mod tests;

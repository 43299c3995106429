//! What the client reads and writes: a plain connection or one inside TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};

use super::super::url::Keepalive;
use super::der;

/// A connection to a server.
#[derive(Debug)]
pub(in super::super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    pub(in super::super) fn is_tls(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }

    /// After this time a read fails with `WouldBlock`, and can be tried again: nothing is lost of
    /// what has come so far.
    pub(in super::super) fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(limit),
            Stream::Unix(stream) => stream.set_read_timeout(limit),
            Stream::Tls(stream) => stream.sock.set_read_timeout(limit),
        }
    }

    pub(in super::super) fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_write_timeout(limit),
            Stream::Unix(stream) => stream.set_write_timeout(limit),
            Stream::Tls(stream) => stream.sock.set_write_timeout(limit),
        }
    }

    /// Ends the connection in both directions; a read or a write that waits ends, too.
    pub(in super::super) fn shutdown(&mut self) {
        // The other side may have ended it already.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Unix(stream) => stream.shutdown(Shutdown::Both),
            Stream::Tls(stream) => {
                stream.conn.send_close_notify();
                let _ = stream.conn.complete_io(&mut Outward(&stream.sock));
                stream.sock.shutdown(Shutdown::Both)
            }
        };
    }

    /// What a SCRAM login is bound to, `tls-server-end-point` of RFC 5929: the hash of the server's
    /// certificate. None without TLS, and for a certificate that has no such hash.
    pub(in super::super) fn binding(&self) -> Option<Vec<u8>> {
        let Stream::Tls(stream) = self else {
            return None;
        };
        der::end_point(stream.conn.peer_certificates()?.first()?)
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tls(stream) => stream.sock.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buf),
            Stream::Unix(stream) => stream.read(buf),
            Stream::Tls(stream) => stream.read(buf),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(buf),
            Stream::Unix(stream) => stream.write(buf),
            Stream::Tls(stream) => stream.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.flush(),
            Stream::Unix(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

/// Writes what is due and reads nothing: a farewell waits for no answer.
struct Outward<'a>(&'a TcpStream);

impl Read for Outward<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Write for Outward<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Keepalive {
    /// Has the system ask a silent server whether it is still there.
    pub(in super::super) fn set(&self, stream: &TcpStream) -> io::Result<()> {
        use rustix::net::sockopt;
        sockopt::set_socket_keepalive(stream, self.on)?;
        if !self.on {
            return Ok(());
        }
        if let Some(idle) = self.idle {
            sockopt::set_tcp_keepidle(stream, idle)?;
        }
        if let Some(interval) = self.interval {
            sockopt::set_tcp_keepintvl(stream, interval)?;
        }
        if let Some(count) = self.count {
            sockopt::set_tcp_keepcnt(stream, count)?;
        }
        Ok(())
    }
}

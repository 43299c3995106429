//! HTTP by hand: what no client library would send.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Long enough for a busy machine, and never waited for when all is well.
const NEVER: Duration = Duration::from_mins(1);

/// The status, the head and the body of what a server answered.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(NEVER)).expect("a limit");
    stream
}

/// Sends these bytes and reads one answer.
pub(crate) fn exchange(address: &str, bytes: &[u8]) -> Answered {
    let mut stream = connect(address);
    stream.write_all(bytes).expect("it is sent");
    answer(&mut stream)
}

/// Reads one answer, of which the length is told.
pub(crate) fn answer(stream: &mut TcpStream) -> Answered {
    maybe(stream).expect("the server answers")
}

/// The same, or nothing when the server is gone.
pub(crate) fn maybe(stream: &mut TcpStream) -> Option<Answered> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse::<usize>().expect("a length"))
            });
            if length.is_none_or(|length| body.len() >= length) {
                let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
                return Some(Answered {
                    status: status.unwrap_or_else(|| panic!("no status in {head:?}")),
                    head: head.to_owned(),
                    body: body.to_owned(),
                });
            }
        }
        let count = match stream.read(&mut piece) {
            // What has a time limit is not begun again by the system, as when the machine stood still.
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read.unwrap_or(0),
        };
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&piece[..count]);
    }
}

/// A request to post a body, with more headers.
pub(crate) fn post(path: &str, host: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    text.into_bytes()
}

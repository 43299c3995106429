//! As much of HTTP as it takes to ask a server something.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::Broken;
use crate::child::{BREATH, NEVER, Patience};

/// A connection to an address and port.
pub(crate) fn connect(address: &str) -> Result<TcpStream, Broken> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(BREATH))?;
    stream.set_write_timeout(Some(Duration::from_secs(10)))?;
    Ok(stream)
}

/// What comes by a connection, unless nothing ever does.
struct Patient<'a> {
    stream: &'a mut TcpStream,
    patience: Patience,
}

impl Read for Patient<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        loop {
            match self.stream.read(bytes) {
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
                        && self.patience.lasts() => {}
                outcome => return outcome,
            }
        }
    }
}

/// Posts JSON; the answer, when a whole one came.
pub(crate) fn post(
    stream: &mut TcpStream,
    address: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Result<Option<Value>, Broken> {
    let body = body.to_string();
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes())?;
    let mut reader = BufReader::new(Patient {
        stream,
        patience: Patience::of(NEVER),
    });
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let lower = line.to_ascii_lowercase();
        if let Some(number) = lower.strip_prefix("content-length:") {
            length = number.trim().parse().unwrap_or(0);
        }
        if line.trim_end().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return Ok(None);
    }
    Ok(serde_json::from_slice(&body).ok())
}

//! What a fuzzer feeds: a store's URL, and what a server answers. See `fuzz/`.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use super::tls::Stream;
use super::url::Target;
use super::wire::{Request, Wire};
use crate::location::Location;

/// Reads a text as the place of a store, and gives all that is ever shown of it.
pub fn url(text: &str) -> String {
    let location = Location::parse(text);
    let shown = match Target::parse(text) {
        Ok(target) => format!("{target:?}"),
        Err(error) => error.to_string(),
    };
    format!("{} {} {shown}", location.shown(), location.named())
}

/// Reads bytes as a server's answers: to a login, to statements, and to one who listens.
pub fn answers(bytes: &[u8]) {
    let Ok(target) = Target::parse("postgres://ada:x@/work") else {
        return;
    };
    if let (Some((stream, _kept)), Some(host)) = (said(bytes), target.hosts.first()) {
        drop(Wire::log_in(stream, &target, host));
    }
    let requests = [Request {
        name: "s".into(),
        text: Some("SELECT 1"),
        params: &[],
        columns: None,
    }];
    if let Some((stream, _kept)) = said(bytes) {
        drop(Wire::new(stream).pipeline(&requests));
    }
    if let Some((stream, _kept)) = said(bytes) {
        drop(Wire::new(stream).script("SELECT 1"));
    }
}

/// A stream on which this was said, and the other end of it.
fn said(bytes: &[u8]) -> Option<(Stream, UnixStream)> {
    let (ours, mut theirs) = UnixStream::pair().ok()?;
    theirs.set_nonblocking(true).ok()?;
    let _ = theirs.write(bytes);
    theirs.shutdown(Shutdown::Write).ok()?;
    Some((Stream::Unix(ours), theirs))
}

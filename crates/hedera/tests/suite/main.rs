//! The clients of a network before a devnet in the same process, and before servers that lie; what the official SDK writes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../testkit/src/certs.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "it is a crate's own elsewhere, and not all of it is needed here"
)]
mod certs;
mod client;
mod fake;
mod liar;
mod mirror;
mod net;
mod sdk;
mod stream;
mod submit;
mod tls;

//! The clients of a network before a devnet in the same process, and before servers that lie; what the official SDK writes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod liar;
mod net;
mod sdk;
mod stream;
mod submit;

//! Hedera's network, as a program of ours meets it: the messages that go over the wire, keys and signatures, transactions, and clients
//! of its nodes and mirrors.
//!
//! Messages are written here as structs, so that nobody who builds needs a compiler of protocol buffers. Only those are here that
//! are used; what a message has beyond them is noticed ([`wire::loses`]) and never dropped in silence.

pub mod client;
mod convert;
pub mod fee;
pub mod grpc;
pub mod key;
pub mod mirror;
pub mod network;
pub mod proto;
pub mod signature;
pub mod stream;
pub mod submit;
pub mod tls;
pub mod transaction;
pub mod wire;

#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;
#[cfg(test)]
mod properties;

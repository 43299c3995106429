//! The messages of Hedera's programming interface that are used here, by their numbers on the wire.
//!
//! Names are Hedera's, in Rust's manner. What is not used has no field, and is found by [`crate::wire::loses`].

#![expect(
    missing_docs,
    reason = "names and meanings are Hedera's, and are documented there"
)]

mod account;
mod basic;
mod code;
mod query;
mod schedule;
mod topic;
mod transaction;

pub use account::*;
pub use basic::*;
pub use code::*;
pub use query::*;
pub use schedule::*;
pub use topic::*;
pub use transaction::*;

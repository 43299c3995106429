//! The devnet's ledger by its rules, without a network around it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod calls;
mod client;
mod crash;
mod mirror;
mod money;
mod net;
mod pages;
mod ports;
mod questions;
mod schedules;
mod sums;
mod topics;
mod trouble;

//! A Hedera network in one process, to develop against and to test with.
//!
//! It keeps what Hedera keeps of accounts, topics and schedules, and answers as Hedera answers: signatures are checked, fees are taken,
//! balances add up, and every topic has the running hash that a mirror would show. What it does not know it refuses.

mod fault;
mod grpc;
mod house;
pub mod ledger;
mod methods;
mod node;
mod recent;
mod rest;
mod serve;

pub use fault::{Faults, NoTrouble, Trouble, Twist};
pub use serve::{Devnet, Options, StartError};

#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;

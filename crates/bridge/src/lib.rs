//! An agent on Hedera, after HCS-10: its account, its topics, its profile, who lists it, whom it talks to, and what it proposes.
//!
//! What stands on the topics is the state: there is no other. Whoever has an account's key can be that agent on any machine, and
//! what was asked for, confirmed and closed is read from the ledger each time, with the payer of every message compared to whom it names.
//! Everything here waits for its answer; calls to the network run on a runtime of their own.

pub mod agent;
pub mod bridge;
pub mod compare;
pub mod directory;
pub mod file;
pub mod history;
pub mod inspect;
pub mod keys;
pub mod net;
pub mod peer;
pub mod proof;
pub mod provision;
pub mod publish;
pub mod registry;
pub mod told;
pub mod truth;
pub mod verify;

mod hbar;

pub use agent::{Agent, Overview, Reached};
pub use hbar::Hbar;
pub use net::{Fees, Net};
pub use publish::{Inbound, Published};

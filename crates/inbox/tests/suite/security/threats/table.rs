//! The threats, in the order of their numbers.

mod ledger;
mod machine;

use super::{Cases, Held, Threat};

/// All of them.
pub(super) fn threats() -> impl Iterator<Item = &'static Threat> {
    const MACHINE: &[Threat] = &machine::THREATS;
    const LEDGER: &[Threat] = &ledger::THREATS;
    MACHINE.iter().chain(LEDGER)
}

//! Agents on a real network, which runs in the same process.

// Helpers of theirs are tests too, which clippy knows only by the attribute.
#[cfg(test)]
mod compare;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod files;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod proof;
#[cfg(test)]
mod proposals;
#[cfg(test)]
mod provision;
#[cfg(test)]
mod registries;
#[cfg(test)]
mod roster;
#[cfg(test)]
mod stage;

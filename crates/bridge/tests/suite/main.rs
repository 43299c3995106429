//! Agents on a real network, which runs in the same process.

// Helpers of theirs are tests too, which clippy knows only by the attribute.
#[cfg(test)]
mod approvals;
#[cfg(test)]
mod bills;
#[cfg(test)]
mod compare;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod elsewhere;
#[cfg(test)]
mod entity;
#[cfg(test)]
mod field;
#[cfg(test)]
mod files;
#[cfg(test)]
mod flood;
#[cfg(test)]
mod house;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod killed_links;
#[cfg(test)]
mod killed_places;
#[cfg(test)]
mod links;
#[cfg(test)]
mod mail;
#[cfg(test)]
mod odd;
#[cfg(test)]
mod once;
#[cfg(test)]
mod parties;
#[cfg(test)]
mod poison;
#[cfg(test)]
mod proof;
#[cfg(test)]
mod proposals;
#[cfg(test)]
mod provision;
#[cfg(test)]
mod put_down;
#[cfg(test)]
mod registries;
#[cfg(test)]
mod replays;
#[cfg(test)]
mod rewound;
#[cfg(test)]
mod roster;
#[cfg(test)]
mod shares;
#[cfg(test)]
mod spoofs;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod threads;

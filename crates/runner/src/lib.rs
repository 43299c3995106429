//! The runner: turns a command into a worker that takes what is addressed to its agent, keeps its lease, and calls
//! done only what meets the brief's contract.
//!
//! What to do at each turn is decided without doing it ([`leash`], `decide`, `pace`, `said`, `verify`); a thin shell does
//! it (`crew` takes work, `hand` works on one thread, `child` and [`guardian`] keep its command,
//! `client` hears it). The command, its
//! arguments, its environment and its folder are this machine's configuration: nothing in a message changes them.

mod acp;
mod child;
mod client;
pub mod clock;
mod crew;
#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;
mod decide;
mod environment;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod guardian;
mod hand;
mod house;
pub mod leash;
mod line;
mod pace;
mod preset;
#[cfg(test)]
mod properties;
mod reader;
mod said;
mod used;
mod verify;

pub use crew::{Tally, run};
pub use house::{End, News, Plan, Stop};
pub use line::{AGAIN, About, Line, Patience, is_passing};
pub use preset::preset;

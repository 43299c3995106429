//! The faces of `inbox`: visitors over the operations of `inbox-ops`, without rules of their own.

pub mod cli;
mod console;
#[cfg(test)]
#[expect(unreachable_pub, reason = "it is the test kit's, and public there")]
#[path = "../../testkit/src/damage.rs"]
mod damage;
mod envelope;
pub mod far;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod http;
pub mod mcp;
mod notify;
mod person;
mod tui;

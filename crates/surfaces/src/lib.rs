//! The faces of `inbox`: visitors over the operations of `inbox-ops`, without rules of their own.

pub mod cli;
mod console;
mod envelope;
pub mod far;
pub mod http;
pub mod mcp;
mod notify;
mod person;
mod tui;

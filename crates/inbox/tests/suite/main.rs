//! The tests of the real binary: one program, so that it links once.

mod cli;
// Its helpers are tests too, which clippy knows only by this.
#[cfg(test)]
mod fire;

/// The binary under test.
const INBOX: &str = env!("CARGO_BIN_EXE_inbox");

//! The real binary beside programs of others that take long to install or to build: a program of its own, which `make interop` runs
//! and `make test` does not.

#[cfg(test)]
mod hcs10;
#[cfg(test)]
mod hiero;
#[cfg(test)]
mod mail;
#[cfg(test)]
#[expect(
    dead_code,
    reason = "it serves the suite too, which installs from PyPI"
)]
#[path = "../suite/packages.rs"]
mod packages;
#[cfg(test)]
#[path = "../suite/devnet/story.rs"]
mod story;

/// The binary under test.
const INBOX: &str = env!("CARGO_BIN_EXE_inbox");

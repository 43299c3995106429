//! The `inbox` binary: it wires the surfaces together and does nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    inbox_surfaces::cli::main()
}

//! `inbox torture` at the figures that must hold before anything lands, on both stores, and what the command itself promises.

mod command;
mod disks;
mod figures;
mod left;
mod postgres;
mod sqlite;

use inbox_testkit::sandbox::{Sandbox, finish};
use serde_json::Value;

use crate::INBOX;

/// Tries one part for so many rounds beside a store; what it counted.
#[track_caller]
fn holds(db: &str, part: &str, rounds: usize) -> Value {
    let sandbox = Sandbox::empty(INBOX);
    let rounds = rounds.to_string();
    let args = [
        "torture", "--db", db, "--only", part, "--rounds", &rounds, "--json",
    ];
    let mut command = sandbox.command(args);
    if let Some(seed) = std::env::var_os("INBOX_TEST_SEED") {
        command.arg("--seed").arg(seed);
    }
    let outcome = finish(command.spawn().expect("the binary starts"));
    let report = outcome.ok();
    let row = &report["parts"][0];
    println!(
        "seed {}: {part} {} in {} s",
        report["seed"], row["counts"], row["seconds"]
    );
    assert_eq!(row["verdict"], "held", "{outcome}");
    row["counts"].clone()
}

/// What was counted of something.
#[track_caller]
fn count(counts: &Value, what: &str) -> u64 {
    let count = counts[what.replace(' ', "_")].as_u64();
    count.unwrap_or_else(|| panic!("no {what} in {counts}"))
}

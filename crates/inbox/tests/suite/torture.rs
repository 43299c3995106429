//! `inbox torture` at the figures that must hold before anything lands, on both stores, and what the command itself promises.

mod command;
mod disks;
mod figures;
mod left;
mod postgres;
mod sqlite;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use inbox_core::Refusal;
use inbox_store::Location;
use inbox_testkit::sandbox::{Sandbox, finish};
use inbox_torture::scratch::Scratch;
use inbox_torture::{Amount, Bout, Broken, Ground, Tools};
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

/// The same for a part in a size that no command asks for: `run` tries it.
#[track_caller]
fn holds_small(
    db: &str,
    part: &'static str,
    rounds: u64,
    run: impl FnOnce(&mut Bout<'_>) -> Result<(), Broken>,
) -> Value {
    let tools = Tools {
        program: INBOX.into(),
        wait: |_, _, _, _| Err(Refusal::input("nobody waits")),
    };
    // Several tests run in one process.
    let name = format!("{part}{:08x}", std::process::id());
    let scratch = Scratch::beside(&Location::parse(db), &name, Path::new(INBOX));
    let scratch = scratch.expect("there is room for a scratch store");
    let ground = Ground::make(&scratch, &tools, part).expect("a scratch store");
    let (stop, told) = (AtomicBool::new(false), &mut |_: &str| {});
    let seed = std::env::var("INBOX_TEST_SEED").map_or(7, |seed| seed.parse().expect("a number"));
    let mut bout = Bout::new(&ground, part, seed, Amount::Rounds(rounds), &stop, told);
    let begun = std::time::Instant::now();
    let outcome = run(&mut bout);
    let counts = bout.counts().iter();
    let counts: serde_json::Map<_, _> = counts
        .map(|(what, n)| (what.replace(' ', "_"), (*n).into()))
        .collect();
    println!("seed {seed}: {part} {counts:?} in {:?}", begun.elapsed());
    outcome.unwrap_or_else(|broken| panic!("{part}, seed {seed}: {broken}"));
    Value::Object(counts)
}

/// What was counted of something.
#[track_caller]
fn count(counts: &Value, what: &str) -> u64 {
    let count = counts[what.replace(' ', "_")].as_u64();
    count.unwrap_or_else(|| panic!("no {what} in {counts}"))
}

//! Death at every named point of every operation that writes: before the commit nothing is there, after it everything, and a retry
//! with the same key makes one effect of it.

mod cases;

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;

use inbox_ops::{Effect, Operation, Visitor, Waiting, each_operation};
use inbox_store::FailPoint;
use serde_json::Value;

use crate::bout::Bout;
use crate::child::{Leashed, ends};
use crate::ground::Ground;
use crate::{Broken, Part, must};
pub use cases::{CASES, Case};

/// The points that every write passes.
pub const WRITES: [FailPoint; 6] = [
    FailPoint::BeforeLock,
    FailPoint::AfterBegin,
    FailPoint::BeforeCommit,
    FailPoint::AfterCommit,
    FailPoint::BeforeRing,
    FailPoint::AfterRing,
];

/// Those that it passes in a file with a long log.
const OF_LOG: [FailPoint; 2] = [FailPoint::BeforeCheckpoint, FailPoint::AfterCheckpoint];

/// The part.
pub struct Points;

impl Part for Points {
    fn name(&self) -> &'static str {
        "points"
    }

    fn promise(&self) -> &'static str {
        "a write that dies at any point and is tried again with its key has one effect"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        every_write_has_a_case()?;
        let ground = bout.ground();
        while let Some(round) = bout.next() {
            let count = u64::try_from(CASES.len()).unwrap_or(1);
            let place = usize::try_from(round.number % count).unwrap_or(0);
            let case = &CASES[place];
            let own = ground.another(&format!("{}", round.number))?;
            cases::prepare(&own)?;
            let deaths = all_points(&own, case)?;
            own.is_sound()?;
            own.remove();
            bout.count("cases", 1);
            bout.count("deaths", deaths);
        }
        Ok(())
    }
}

/// The names of all operations that write.
struct Writes(Vec<&'static str>);

impl Visitor for Writes {
    fn visit<O: Operation>(&mut self) {
        if O::EFFECT == Effect::Write {
            self.0.push(O::NAME);
        }
    }

    fn visit_waiting<O: Waiting>(&mut self) {}
}

/// An operation that writes and that nobody lets die has not been tried.
fn every_write_has_a_case() -> Result<(), Broken> {
    let mut writes = Writes(Vec::new());
    each_operation(&mut writes);
    let untried: Vec<_> = writes
        .0
        .iter()
        .filter(|name| !CASES.iter().any(|case| case.operation == **name))
        .collect();
    must(untried.is_empty(), || {
        format!("these operations write, and no case of the torture lets them die: {untried:?}")
    })
}

/// How many rows tables have.
type Counts = BTreeMap<String, i64>;

/// How many rows there are in each table of a dump.
fn counts(rows: &[String]) -> Counts {
    let mut counts = Counts::new();
    for row in rows {
        let table = row.split(':').next().unwrap_or_default();
        // What SQLite keeps for itself.
        if !table.starts_with("sqlite_") {
            *counts.entry(table.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// What has come in which table.
fn growth(before: &[String], after: &[String]) -> Counts {
    let (before, after) = (&counts(before), &counts(after));
    let tables = before.keys().chain(after.keys());
    let of = |counts: &Counts, table: &String| counts.get(table).copied().unwrap_or(0);
    tables
        .map(|table| (table.clone(), of(after, table) - of(before, table)))
        .filter(|(_, grown)| *grown != 0)
        .collect()
}

/// Runs a case undisturbed, and then once for each point; how often it died.
fn all_points(ground: &Ground<'_>, case: &Case) -> Result<u64, Broken> {
    let mut deaths = 0;
    // The first one also makes what later ones share.
    ground.run(&cases::fill(ground, case, 0)?)?.ok()?;
    let line = cases::fill(ground, case, 1)?;
    let store = ground.store()?;
    let before = store.dump()?;
    ground.run(&line)?.ok()?;
    let clean = growth(&before, &store.dump()?);
    for (n, point) in (2..).zip(WRITES.into_iter().chain(OF_LOG)) {
        let is_of_log = OF_LOG.contains(&point);
        // There is no log that a client would move.
        if is_of_log && ground.is_served() {
            continue;
        }
        let line = cases::fill(ground, case, n)?;
        let what = format!("{} that dies at {point:?}", case.operation);
        if is_of_log {
            fill_the_log(ground)?;
        }
        let before = store.dump()?;
        must(dies(ground, &line, point)?, || {
            format!("{what} must die there, and lives")
        })?;
        deaths += 1;
        let left = store.dump()?;
        let is_committed = point as u32 > FailPoint::BeforeCommit as u32;
        if !is_committed {
            must(left == before, || {
                format!("{what}: {}", crate::zombies::changed(&before, &left))
            })?;
        } else if case.is_one_commit {
            must_leave(&what, &growth(&before, &left), &clean)?;
        }
        if !case.is_keyed {
            continue;
        }
        let first = ground.run(&line)?.ok()?;
        let repeated = store.dump()?;
        must_leave(
            &format!("{what} and is tried again"),
            &growth(&before, &repeated),
            &clean,
        )?;
        // What was committed is whole: a retry tells of it, and changes no row.
        must(
            !(is_committed && case.is_one_commit) || repeated == left,
            || {
                let changed = crate::zombies::changed(&left, &repeated);
                format!("{what} and is tried again: {changed}")
            },
        )?;
        let second = ground.run(&line)?.ok()?;
        must(first == second, || {
            format!("{what}: a retry answered {second}, and before {first}")
        })?;
        let thrice = store.dump()?;
        must(thrice == repeated, || {
            let changed = crate::zombies::changed(&repeated, &thrice);
            format!("{what} and is tried twice: {changed}")
        })?;
    }
    Ok(deaths)
}

fn must_leave(what: &str, grown: &Counts, clean: &Counts) -> Result<(), Broken> {
    must(grown == clean, || {
        format!("{what} must leave {clean:?} behind, and left {grown:?}")
    })
}

/// Whether a command is killed at this point; it says nothing before it dies.
fn dies(ground: &Ground<'_>, line: &str, point: FailPoint) -> Result<bool, Broken> {
    let mut command = ground.command(crate::child::words(line));
    command.env("INBOX_FAIL_POINT", (point as u32).to_string());
    let mut child = Leashed(command.spawn()?);
    let status =
        crate::child::eventually("a command dies or ends", || child.try_wait().ok().flatten())?;
    let outcome = ends(child)?;
    match status.signal() {
        Some(9) => {
            must(outcome.stdout.is_empty(), || {
                format!("{line} answered before {point:?}: {outcome}")
            })?;
            Ok(true)
        }
        _ => {
            must(status.success(), || {
                format!("{line} at {point:?}: {outcome}")
            })?;
            Ok(false)
        }
    }
}

/// Makes the log longer than what a commit leaves alone: while somebody reads, it cannot be moved.
fn fill_the_log(ground: &Ground<'_>) -> Result<(), Broken> {
    let store = ground.store()?;
    let body = "x".repeat(400_000);
    std::fs::write(ground.folder().join("long.txt"), &body)?;
    let filled = store.read(|tx| {
        tx.newest_event()?;
        // What was read stays as it is while another process writes.
        let line = "send --from lead --to nobody --subject long --body-file long.txt";
        Ok(ground.run(line).and_then(|sent| sent.ok()))
    })?;
    filled?;
    let log = crate::crowd::log_bytes(ground);
    must(log > 64 * 4120, || format!("the log has only {log} bytes"))
}

/// What a field of an answer says, as text.
fn text(answer: &Value, pointer: &str) -> Option<String> {
    answer.pointer(pointer)?.as_str().map(str::to_owned)
}

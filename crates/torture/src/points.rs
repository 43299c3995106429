//! Death at every named point of every operation that writes: before the commit nothing is there, after it everything, and a retry
//! with the same key makes one effect of it. And of what makes stores and copies of them: there is a whole one, or none.

mod cases;
mod deeds;
mod judge;
mod line;

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use inbox_ops::{Effect, Operation, Visitor, Waiting, each_operation};
use inbox_store::FailPoint;

use crate::bout::Bout;
use crate::child::{Leashed, ends};
use crate::ground::Ground;
use crate::{Broken, Part, must};
pub use cases::{CASES, Case};
pub use deeds::{DEEDS, Deed};

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

/// Where a command dies, and the how manieth time it comes there.
pub type At = (FailPoint, u32);

/// What is let die in a round.
#[derive(Debug, Clone, Copy)]
pub enum Turn {
    /// An operation.
    Of(&'static Case),
    /// A command around a whole store.
    Around(&'static Deed),
}

impl Turn {
    /// All that there is to let die on a store in a file, or on one of a server: what makes and copies that one is not ours, or is a move,
    /// whose command line would hold the server's password.
    pub fn all(is_served: bool) -> Vec<Turn> {
        let deeds = DEEDS.iter().filter(|_| !is_served).map(Turn::Around);
        CASES.iter().map(Turn::Of).chain(deeds).collect()
    }

    /// Where it dies, and the how manieth time it comes there.
    pub fn deaths(&self, is_served: bool) -> Vec<At> {
        match self {
            Turn::Of(case) => case.deaths(is_served),
            Turn::Around(deed) => deed.deaths.to_vec(),
        }
    }

    /// Lets it die everywhere.
    fn play(&self, ground: &Ground<'_>) -> Result<(), Broken> {
        cases::prepare(ground)?;
        match self {
            Turn::Of(case) => judge::all_points(ground, case),
            Turn::Around(deed) => (deed.play)(ground, deed.deaths),
        }
    }
}

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
        let turns = Turn::all(ground.is_served());
        let all = u64::try_from(turns.len()).unwrap_or(u64::MAX);
        while let Some(round) = bout.next() {
            let turn = usize::try_from(round.turn(all)).unwrap_or(0);
            let turn = turns[turn];
            let own = ground.another(&format!("{}", round.number))?;
            turn.play(&own)?;
            own.is_sound()?;
            own.remove();
            bout.count("cases", 1);
            let deaths = turn.deaths(ground.is_served()).len();
            bout.count("deaths", u64::try_from(deaths).unwrap_or(u64::MAX));
            bout.peak("cases there are", all);
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

/// Lets a command die at a point, the how manieth time it comes there. It says nothing before.
fn dies(mut command: Command, what: &str, at: At) -> Result<(), Broken> {
    let (point, time) = at;
    command.env("INBOX_FAIL_POINT", format!("{}:{time}", point as u32));
    let mut child = Leashed(command.spawn()?);
    let status =
        crate::child::eventually("a command dies or ends", || child.try_wait().ok().flatten())?;
    let outcome = ends(child)?;
    if status.signal() != Some(9) {
        return Err(outcome.broken(format!("{what} must die there, and lives: {outcome}")));
    }
    must(outcome.stdout.is_empty(), || {
        format!("{what} answered before: {outcome}")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ledger;

    #[test]
    fn every_point_that_there_is_is_one_where_a_part_lets_somebody_die() {
        let names = |points: &mut dyn Iterator<Item = FailPoint>| -> BTreeSet<String> {
            points.map(|point| format!("{point:?}")).collect()
        };
        let turns = Turn::all(false);
        let mut of_turns = turns
            .iter()
            .flat_map(|turn| turn.deaths(false))
            .map(|(point, _)| point);
        let mut reached = names(&mut of_turns);
        reached.extend(names(&mut ledger::POINTS.into_iter()));
        reached.extend(names(&mut ledger::OF_A_PLACE.into_iter()));
        assert_eq!(reached, names(&mut FailPoint::ALL.into_iter()));
    }

    #[test]
    fn every_operation_that_writes_has_a_case() {
        every_write_has_a_case().unwrap();
    }
}

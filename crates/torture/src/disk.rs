//! Disks that fail: one call of a command to the system, or every one from there on, is refused as a full or dying disk
//! refuses it. The command says so or does not need it; what was acknowledged before is there, and it can be tried again.

mod fault;
mod scene;

use fault::{Fault, Faulty, Sort};
use scene::{Deed, Scene};

use crate::bout::Bout;
use crate::child::Outcome;
use crate::ground::Ground;
use crate::{Broken, Part, must, trace};

/// What a command that meets a failing disk ends with.
const STORAGE: i32 = 50;

/// What a command ends with that cannot use what it was given.
const INPUT: i32 = 30;

/// How far apart the calls are that fail in two rounds: a prime, so that it goes round all of them.
const STRIDE: u64 = 1_000_003;

/// The part.
pub struct Disk;

impl Part for Disk {
    fn name(&self) -> &'static str {
        "disk"
    }

    fn promise(&self) -> &'static str {
        "a failing disk is told of, loses nothing that was acknowledged, and a retry works"
    }

    fn applies(&self, ground: &Ground<'_>) -> Result<(), String> {
        if ground.is_served() {
            return Err("PostgreSQL's disk is its server's matter".into());
        }
        trace::permitted()
    }

    fn makes_limits(&self) -> bool {
        true
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let scene = Scene::new(bout.ground())?;
        let deeds = Deed::ALL.map(|deed| Measured::of(&scene, deed));
        let deeds = deeds.into_iter().collect::<Result<Vec<_>, _>>()?;
        let calls: u64 = deeds.iter().map(|measured| measured.calls).sum();
        while let Some(mut round) = bout.next() {
            // Far from the one before, and once each until all calls of all of them have failed.
            let place = round.turn(calls).wrapping_mul(STRIDE) % calls;
            let (measured, call) = find(&deeds, place);
            let fault = Fault::at(call, &mut round.dice);
            let (is_done, sort) = strike(&scene, measured, fault).map_err(|broken| {
                broken.told(|what| format!("{:?} with {fault}: {what}", measured.deed))
            })?;
            bout.count("faults", 1);
            bout.count("of reads", u64::from(sort == Some(Sort::Read)));
            bout.count("of locks", u64::from(sort == Some(Sort::Lock)));
            bout.count("refused", u64::from(!is_done));
            bout.count("done all the same", u64::from(is_done));
            bout.peak("calls there are", calls);
        }
        Ok(())
    }
}

/// A deed as it is on a sound disk.
struct Measured {
    deed: Deed,
    /// How many calls it makes that a disk can refuse.
    calls: u64,
    /// How many rows each table has after it.
    rows: Vec<(String, usize)>,
    /// How many lines there are in an archive.
    lines: usize,
}

impl Measured {
    fn of(scene: &Scene<'_>, deed: Deed) -> Result<Self, Broken> {
        scene.set(deed)?;
        let mut sound = Faulty::none();
        let outcome = trace::follow(&scene.command(deed), scene.folder(), &mut sound)?;
        outcome.ok()?;
        must(sound.calls() > 5, || {
            format!("{deed:?} asked nothing of the disk")
        })?;
        Ok(Measured {
            deed,
            calls: sound.calls(),
            rows: scene.sound_rows(deed)?,
            lines: scene.lines()?.len(),
        })
    }
}

/// A call among those of all deeds: whose it is, and which one of them.
fn find(deeds: &[Measured], mut place: u64) -> (&Measured, u64) {
    for measured in deeds {
        if place < measured.calls {
            return (measured, place);
        }
        place -= measured.calls;
    }
    (&deeds[0], 0)
}

/// Does a deed on a disk with a fault. Whether it succeeded all the same, and what sort of call was refused.
fn strike(
    scene: &Scene<'_>,
    measured: &Measured,
    fault: Fault,
) -> Result<(bool, Option<Sort>), Broken> {
    let deed = measured.deed;
    scene.set(deed)?;
    let mut faulty = Faulty::with(fault);
    let outcome = trace::follow(&scene.command(deed), scene.folder(), &mut faulty)?;
    let is_done = outcome.code == 0;
    must(is_done || is_told(deed, &outcome), || {
        format!(
            "{} failed, and the command ended with {outcome}",
            faulty.told()
        )
    })?;
    let seen = |broken: Broken| {
        let code = outcome.code;
        broken.told(|what| format!("{} failed, exit {code}: {what}", faulty.told()))
    };
    let rows = scene.sound_rows(deed).map_err(seen)?;
    let is_absent = rows == scene.before(deed);
    must(!is_done || rows == measured.rows || !is_absent, || {
        format!("{} failed, exit 0, and nothing is there", faulty.told())
    })?;
    if deed.is_in_parts() {
        scene.is_somewhere().map_err(seen)?;
    }
    let is_legal = is_absent || deed.is_in_parts();
    must(rows == measured.rows || (!is_done && is_legal), || {
        let whole = &measured.rows;
        format!(
            "{} failed, exit {}: something is half there: {rows:?} of {whole:?}",
            faulty.told(),
            outcome.code
        )
    })?;
    // The disk works again.
    let again = scene.again(deed)?;
    again.ok().map_err(seen)?;
    let rows = scene.sound_rows(deed).map_err(seen)?;
    must(rows == measured.rows, || {
        format!("{} failed, and a retry is not there once", faulty.told())
    })?;
    let lines = scene.lines()?.len();
    must(lines == measured.lines, || {
        let wanted = measured.lines;
        format!(
            "{} failed, and after a retry the archive has {lines} lines of {wanted}",
            faulty.told()
        )
    })?;
    Ok((is_done, faulty.sort))
}

/// Whether a command says that the disk failed. What is given to an import is the user's, and is told of as such.
fn is_told(deed: Deed, outcome: &Outcome) -> bool {
    let is_of_input = |told: String| told.contains("cannot be read") && told.contains("os error");
    outcome.code == STORAGE
        || (deed == Deed::Import
            && outcome.code == INPUT
            && outcome.told().is_some_and(is_of_input))
}

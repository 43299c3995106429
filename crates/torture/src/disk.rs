//! Disks that fail: one call of a command to the system, or every one from there on, is refused as a full or dying disk
//! refuses it. The command says so or does not need it; what was acknowledged before is there, and it can be tried again.

mod fault;
mod scene;

use fault::{Fault, Faulty};
use scene::{Deed, Scene};

use crate::bout::Bout;
use crate::ground::Ground;
use crate::{Broken, Part, must, trace};

/// What a command that meets a failing disk ends with.
const STORAGE: i32 = 50;

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
            let place = round.number.wrapping_mul(STRIDE) % calls;
            let (measured, call) = find(&deeds, place);
            let fault = Fault::at(call, &mut round.dice);
            let struck = strike(&scene, measured, fault).map_err(|broken| {
                Broken::new(format!("{:?} with {fault}: {broken}", measured.deed))
            })?;
            bout.count("faults", 1);
            bout.count("refused", u64::from(!struck));
            bout.count("done all the same", u64::from(struck));
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
            rows: scene.rows(deed)?,
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

/// Does a deed on a disk with a fault. Whether it succeeded all the same.
fn strike(scene: &Scene<'_>, measured: &Measured, fault: Fault) -> Result<bool, Broken> {
    let deed = measured.deed;
    scene.set(deed)?;
    let mut faulty = Faulty::with(fault);
    let outcome = trace::follow(&scene.command(deed), scene.folder(), &mut faulty)?;
    let is_done = outcome.code == 0;
    must(is_done || outcome.code == STORAGE, || {
        format!(
            "{} failed, and the command ended with {outcome}",
            faulty.told()
        )
    })?;
    let seen = |broken: Broken| {
        let code = outcome.code;
        Broken::new(format!("{} failed, exit {code}: {broken}", faulty.told()))
    };
    scene.is_sound(deed).map_err(seen)?;
    let rows = scene.rows(deed)?;
    let is_absent = rows == scene.before(deed);
    must(!is_done || rows == measured.rows || !is_absent, || {
        format!("{} failed, exit 0, and nothing is there", faulty.told())
    })?;
    must(rows == measured.rows || (!is_done && is_absent), || {
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
    must(scene.rows(deed)? == measured.rows, || {
        format!("{} failed, and a retry is not there once", faulty.told())
    })?;
    scene.is_sound(deed).map_err(seen)?;
    Ok(is_done)
}

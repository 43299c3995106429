//! What is asked of a run, and the run itself: one part after the other, each on a ground of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_store::Location;

use crate::bout::{Amount, Bout};
use crate::ground::{Ground, Scratch, Tools};
use crate::report::{Place, Report, Row, Verdict};
use crate::{Broken, PARTS, Part};

/// How much is asked of all parts together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// So much time, which the parts share.
    Seconds(u64),
    /// So many rounds of each part.
    Rounds(u64),
    /// One round of each part, by its number.
    Round(u64),
}

/// What is asked of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The store beside which everything happens. It is not opened.
    pub beside: Location,
    /// The parts to try; without any, all that need not be asked for by name.
    pub only: Vec<String>,
    /// How much.
    pub asked: Asked,
    /// What every throw of dice comes from.
    pub seed: u64,
    /// Whether what was made is left behind.
    pub keep: bool,
    /// The program.
    pub tools: Tools,
}

impl Plan {
    /// The parts to try.
    fn parts(&self) -> Result<Vec<&'static dyn Part>, Refusal> {
        let is_known = |name: &String| PARTS.iter().any(|part| part.name() == name);
        if let Some(unknown) = self.only.iter().find(|name| !is_known(name)) {
            let names: Vec<_> = PARTS.iter().map(|part| part.name()).collect();
            return Err(
                Refusal::input(format!("the torture has no part {unknown:?}")).hint(format!(
                    "inbox torture --only takes some of {}",
                    names.join(", ")
                )),
            );
        }
        let is_wanted = |part: &&dyn Part| match &self.only[..] {
            [] => !part.is_by_name(),
            only => only.iter().any(|name| name == part.name()),
        };
        Ok(PARTS.iter().copied().filter(is_wanted).collect())
    }

    /// The command that shows a round of a part again.
    fn replay(&self, part: &str, round: u64) -> String {
        let place = self.beside.named();
        format!(
            "inbox torture --db {place} --seed {} --only {part} --round {round}",
            self.seed
        )
    }
}

/// Tries the parts one after the other. `stop` ends it early; `told` hears how far it is.
pub fn play(plan: &Plan, stop: &AtomicBool, told: &mut dyn FnMut(&str)) -> Result<Report, Refusal> {
    let parts = plan.parts()?;
    let begun = Instant::now();
    let mut name = [0; 4];
    getrandom::fill(&mut name)
        .map_err(|error| Refusal::input(format!("the system gives no random bytes: {error}")))?;
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut scratch = Scratch::beside(&plan.beside, &name)?;
    let mut rows = Vec::new();
    let mut place = None;
    for (index, part) in parts.iter().enumerate() {
        let amount = match plan.asked {
            Asked::Rounds(rounds) => Amount::Rounds(rounds),
            Asked::Round(round) => Amount::Only(round),
            Asked::Seconds(seconds) => {
                let left = Duration::from_secs(seconds).saturating_sub(begun.elapsed());
                let parts = u32::try_from(parts.len() - index).unwrap_or(1);
                Amount::Within(left / parts.max(1))
            }
        };
        let ground = Ground::make(&scratch, &plan.tools, part.name())?;
        if place.is_none() {
            let described = ground.store().and_then(|store| Ok(store.describe()?));
            place = Some(Place::of(ground.folder(), &described.unwrap_or_default()));
        }
        rows.push(attempt(plan, *part, &ground, amount, stop, told));
    }
    let is_broken = rows.iter().any(|row| row.verdict == Verdict::Broken);
    let kept = if plan.keep || is_broken {
        scratch.keep()
    } else {
        Vec::new()
    };
    Ok(Report {
        place: place.unwrap_or_else(|| Place::of(std::path::Path::new("."), &[])),
        seed: plan.seed,
        parts: rows,
        kept,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// Tries one part.
fn attempt(
    plan: &Plan,
    part: &'static dyn Part,
    ground: &Ground<'_>,
    amount: Amount,
    stop: &AtomicBool,
    told: &mut dyn FnMut(&str),
) -> Row {
    let mut row = Row {
        part: part.name(),
        promise: part.promise(),
        verdict: Verdict::Held,
        rounds: 0,
        counts: serde_json::Map::new(),
        seconds: 0.0,
        why: None,
        replay: None,
    };
    if stop.load(Ordering::SeqCst) {
        row.verdict = Verdict::Stopped;
        return row;
    }
    if let Err(why) = part.applies(ground) {
        row.verdict = Verdict::Skipped;
        row.why = Some(why);
        return row;
    }
    let mut bout = Bout::new(ground, part.name(), plan.seed, amount, stop, told);
    let outcome = catch_unwind(AssertUnwindSafe(|| part.run(&mut bout)))
        .unwrap_or_else(|_| Err(Broken::new("a fault in the torture itself")));
    row.rounds = bout.rounds();
    row.seconds = bout.elapsed().as_secs_f64();
    let counts = bout.counts().iter();
    row.counts = counts
        .map(|(what, n)| (what.replace(' ', "_"), (*n).into()))
        .collect();
    if outcome.is_err() {
        // Ctrl-C reaches the children first.
        std::thread::sleep(Duration::from_millis(100));
    }
    match outcome {
        // Who stops it stops its children too, and what they leave then says nothing.
        _ if bout.is_stopped() => row.verdict = Verdict::Stopped,
        Ok(()) => {}
        Err(broken) => {
            row.verdict = Verdict::Broken;
            row.why = Some(broken.what);
            row.replay = Some(plan.replay(part.name(), bout.round()));
        }
    }
    row
}

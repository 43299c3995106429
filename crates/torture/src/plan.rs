//! What is asked of a run, and the run itself: one part after the other, each on a ground of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use inbox_core::Refusal;
use inbox_store::Location;

use crate::bout::{Amount, Bout};
use crate::ground::{Ground, Tools};
use crate::limit::{self, Before};
use crate::report::{Place, Report, Row, Verdict};
use crate::scratch::Scratch;
use crate::{Broken, PARTS, Part, Sort};

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

    /// The command that shows a round of a part again, to be copied as it is.
    fn replay(&self, part: &str, round: u64) -> String {
        let db = match &self.beside {
            Location::File(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("--db {} ", quoted(&path.display().to_string()))
            }
            // A password is in INBOX_DB alone, where the command finds it again.
            location if location.has_password() => String::new(),
            Location::Postgres(url) => format!("--db {} ", quoted(url)),
        };
        format!(
            "inbox torture {db}--seed {} --only {part} --round {round}",
            self.seed
        )
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-._/:@=,+%".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Tries the parts one after the other. `stop` ends it early; `told` hears how far it is.
pub fn play(plan: &Plan, stop: &AtomicBool, told: &mut dyn FnMut(&str)) -> Result<Report, Refusal> {
    let parts = plan.parts()?;
    let begun = Instant::now();
    let mut name = [0; 4];
    getrandom::fill(&mut name)
        .map_err(|error| Refusal::input(format!("the system gives no random bytes: {error}")))?;
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut scratch = Scratch::beside(&plan.beside, &name, &plan.tools.program)?;
    if plan.keep {
        scratch.keep();
    }
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
        if stop.load(Ordering::SeqCst) {
            rows.push(untried(*part, Verdict::Stopped, None));
            continue;
        }
        let ground = match Ground::make(&scratch, &plan.tools, part.name()) {
            Ok(ground) => ground,
            // What was found so far is told all the same.
            Err(_) if stop.load(Ordering::SeqCst) => {
                rows.push(untried(*part, Verdict::Stopped, None));
                continue;
            }
            Err(refusal) => {
                let why = format!("its scratch store cannot be made: {}", refusal.message);
                let why = with_advice(why, &refusal.message);
                rows.push(untried(*part, Verdict::Unable, Some(why)));
                continue;
            }
        };
        if place.is_none() {
            let described = ground.store().and_then(|store| Ok(store.describe()?));
            place = Some(Place::of(ground.folder(), &described.unwrap_or_default()));
        }
        rows.push(attempt(plan, *part, &ground, amount, stop, told));
    }
    let removed = scratch.removed().to_vec();
    // Also where a limit was in the way: whoever doubts that it was can look at the store.
    if rows.iter().any(|row| row.replay.is_some()) {
        scratch.keep();
    }
    let kept = scratch.kept();
    Ok(Report {
        place: place.unwrap_or_else(|| Place::of(scratch.folder(), &[])),
        seed: plan.seed,
        parts: rows,
        kept,
        removed,
        seconds: begun.elapsed().as_secs_f64(),
    })
}

/// A part of which no round was gone.
fn untried(part: &'static dyn Part, verdict: Verdict, why: Option<String>) -> Row {
    Row {
        part: part.name(),
        promise: part.promise(),
        verdict,
        rounds: 0,
        counts: serde_json::Map::new(),
        peaks: Vec::new(),
        seconds: 0.0,
        why,
        replay: None,
    }
}

/// What was seen, and what can be done about the limit that it tells of.
fn with_advice(why: String, told: &str) -> String {
    match limit::told_of(told) {
        Some(advice) => format!("{why}: {advice}"),
        None => why,
    }
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
    if let Err(why) = part.applies(ground) {
        return untried(part, Verdict::Skipped, Some(why));
    }
    let bout = Bout::new(ground, part.name(), plan.seed, amount, stop, told);
    tried(plan, part, bout, &Before::now())
}

/// What becomes of a part that is tried on a machine that was like this before.
fn tried(plan: &Plan, part: &'static dyn Part, mut bout: Bout<'_>, before: &Before) -> Row {
    let mut row = untried(part, Verdict::Held, None);
    let outcome = catch_unwind(AssertUnwindSafe(|| part.run(&mut bout)))
        .unwrap_or_else(|panic| Err(Broken::of_panic(&*panic)));
    row.rounds = bout.rounds();
    row.seconds = bout.elapsed().as_secs_f64();
    let counts = bout.counts().iter();
    row.counts = counts
        .map(|(what, n)| (what.replace(' ', "_"), (*n).into()))
        .collect();
    let peaks = bout.peaks().iter();
    row.peaks = peaks.map(|what| what.replace(' ', "_")).collect();
    if outcome.is_err() {
        // Ctrl-C reaches the children first.
        std::thread::sleep(Duration::from_millis(100));
    }
    match outcome {
        // What is ended in its midst says nothing.
        outcome if bout.is_stopped() => {
            row.verdict = Verdict::Stopped;
            row.why = outcome.err().map(|broken| broken.what);
        }
        Ok(()) => {}
        Err(broken) => {
            row.replay = Some(plan.replay(part.name(), bout.round()));
            (row.verdict, row.why) = judged(part, before, bout.ground().folder(), broken);
        }
    }
    row
}

/// What becomes of a part that did not go on to its end, and why.
fn judged(
    part: &dyn Part,
    before: &Before,
    folder: &Path,
    broken: Broken,
) -> (Verdict, Option<String>) {
    let verdict = match broken.sort {
        Sort::Promise | Sort::Work => Verdict::Broken,
        Sort::Untried => Verdict::Unable,
        Sort::Fault => Verdict::Fault,
    };
    match limit_behind(part, before, folder, &broken) {
        Some(limit) => (Verdict::Unable, Some(limit)),
        None => (verdict, Some(broken.what)),
    }
}

/// Which limit of the machine is behind what was seen, with what can be done, if it is one. It may be behind what could not do its work, and
/// never behind what differs from what was promised: that memory or space ran out meanwhile loses no acknowledged write.
fn limit_behind(
    part: &dyn Part,
    before: &Before,
    folder: &Path,
    broken: &Broken,
) -> Option<String> {
    let seen = &broken.what;
    let during = |(what, advice): (String, &str)| format!("{what} ({seen}): {advice}");
    // What is seen where there is no store any more is nothing that was seen of it.
    if let Some(gone) = limit::is_gone(folder) {
        return Some(during(gone));
    }
    if matches!(broken.sort, Sort::Promise | Sort::Untried) {
        return None;
    }
    let told = || {
        let advice = limit::told_of(seen).filter(|_| !part.makes_limits())?;
        Some(format!("{seen}: {advice}"))
    };
    before.since(folder).map(during).or_else(told)
}

#[cfg(test)]
mod tests;

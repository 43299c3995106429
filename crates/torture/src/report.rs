//! The page of a run: where it was, what was tried, what held, and how to see again what did not.

use std::path::Path;

use inbox_ops::{Cell, Page};
use serde::Serialize;

/// How a part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Its promise held in every round.
    Held,
    /// Its promise did not hold.
    Broken,
    /// It could not be tried here.
    Skipped,
    /// Somebody ended it before its time.
    Stopped,
    /// The machine ran out of something on the way, or its scratch store could not be made.
    Unable,
    /// The torture itself failed.
    Fault,
}

impl Verdict {
    /// The word on the page.
    fn word(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Broken => "BROKEN",
            Verdict::Skipped => "skipped",
            Verdict::Stopped => "stopped",
            Verdict::Unable => "unable",
            Verdict::Fault => "FAULT",
        }
    }

    /// Whether why it is so stands below the table, with all that belongs to it.
    fn is_told_below(self) -> bool {
        matches!(self, Verdict::Broken | Verdict::Fault)
    }
}

/// What became of one part.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The part.
    pub part: &'static str,
    /// What it tries to break.
    pub promise: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// How many rounds there were.
    pub rounds: u64,
    /// What was counted, by its name with `_` for each space.
    pub counts: serde_json::Map<String, serde_json::Value>,
    /// Which of the counts are the largest that was seen, and no sums.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was seen when it did not hold, or why it was not tried to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The command that shows it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
}

/// Where it all happened.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
    /// The version of this program.
    pub program: &'static str,
    /// The database and its version.
    pub database: String,
    /// The version of the store's schema.
    pub schema: i64,
    /// The system and its kernel.
    pub system: String,
    /// The file system that the scratch stores are on.
    pub file_system: String,
    /// How many processors there are.
    pub cores: usize,
}

impl Place {
    /// What there is to say of a store in this folder.
    pub fn of(folder: &Path, described: &[(&'static str, String)]) -> Self {
        let database = described
            .iter()
            .find(|(name, _)| matches!(*name, "engine" | "server"));
        let uname = rustix::system::uname();
        let release = uname.release().to_string_lossy();
        // Whose build of it that is names a machine, and explains nothing.
        let release = release.split(['-', '+']).next().unwrap_or_default();
        Place {
            program: env!("CARGO_PKG_VERSION"),
            database: database.map(|(_, value)| value.clone()).unwrap_or_default(),
            schema: inbox_store::sql::SCHEMA_VERSION,
            system: format!("{} {release}", uname.sysname().to_string_lossy()),
            file_system: file_system(folder),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The name of the file system that a folder is on, as the kernel lists it.
fn file_system(folder: &Path) -> String {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(point, _)| folder.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned())
}

/// What a run of the torture found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Where it happened.
    pub place: Place,
    /// The seed with which every round comes again.
    pub seed: u64,
    /// Each part.
    pub parts: Vec<Row>,
    /// What was left behind to be looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
    /// What runs that were killed had left, and was removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

impl Report {
    /// The parts whose promise did not hold.
    pub fn broken(&self) -> impl Iterator<Item = &Row> {
        self.parts
            .iter()
            .filter(|row| row.verdict == Verdict::Broken)
    }

    /// The parts in which the torture itself failed.
    pub fn faults(&self) -> impl Iterator<Item = &Row> {
        self.parts
            .iter()
            .filter(|row| row.verdict == Verdict::Fault)
    }

    /// Whether every promise held that can be tried here, and at least one was.
    pub fn holds(&self) -> bool {
        let is_fine = |row: &Row| matches!(row.verdict, Verdict::Held | Verdict::Skipped);
        self.count(Verdict::Held) > 0 && self.parts.iter().all(is_fine)
    }

    /// Whether none of it can be tried here.
    pub fn is_skipped(&self) -> bool {
        self.count(Verdict::Skipped) == self.parts.len()
    }

    fn count(&self, verdict: Verdict) -> usize {
        let rows = self.parts.iter().filter(|row| row.verdict == verdict);
        rows.count()
    }

    /// The verdict in a sentence.
    pub fn verdict(&self) -> String {
        let (held, broken) = (self.count(Verdict::Held), self.count(Verdict::Broken));
        let mut words = match (broken, held) {
            (0, 0) => "no promise was tried to its end".to_owned(),
            (0, held) => format!("{held} of {} promises held", self.parts.len()),
            (1, _) => "BROKEN: a promise did not hold".to_owned(),
            (n, _) => format!("BROKEN: {n} promises did not hold"),
        };
        for verdict in [
            Verdict::Skipped,
            Verdict::Stopped,
            Verdict::Unable,
            Verdict::Fault,
        ] {
            match self.count(verdict) {
                0 => {}
                n => words.push_str(&format!(", {n} {}", verdict.word())),
            }
        }
        words
    }

    /// The page for people.
    pub fn page(&self) -> Page {
        let place = &self.place;
        let database = match place.database.as_str() {
            "" => "no database",
            database => database,
        };
        let mut page = Page::default()
            .line(format!(
                "inbox {}, {database}, schema {}",
                place.program, place.schema
            ))
            .line(format!(
                "{}, {}, {} cores",
                place.system, place.file_system, place.cores
            ))
            .line(format!("seed {}", self.seed));
        let rows = self.parts.iter().map(|row| {
            let shown = |(what, n): (&String, _)| format!("{n} {}", what.replace('_', " "));
            let mut said: Vec<String> = row.counts.iter().map(shown).collect();
            if !row.verdict.is_told_below() {
                said.extend(row.why.clone());
            }
            let cells = [
                row.part.to_owned(),
                row.verdict.word().to_owned(),
                format!("{:.0}s", row.seconds),
                said.join(", "),
            ];
            cells.into_iter().map(Cell::Text).collect()
        });
        page = page.table(vec!["PART", "VERDICT", "TOOK", "TRIED"], rows.collect());
        for row in &self.parts {
            if row.verdict.is_told_below() {
                page = page
                    .line(format!("{}: {}", row.part, row.promise))
                    .line(row.why.clone().unwrap_or_default());
            }
            if let Some(replay) = &row.replay {
                page = page.line(format!("see it again: {replay}"));
            }
        }
        for place in &self.kept {
            page = page.line(format!("kept: {place}"));
        }
        for place in &self.removed {
            page = page.line(format!("removed, left by a run that was killed: {place}"));
        }
        page.line(self.verdict())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: Verdict) -> Row {
        let counts = [("kept_untold".to_owned(), 3.into())];
        Row {
            part: "kills",
            promise: "nothing is lost",
            verdict,
            rounds: 2,
            counts: counts.into_iter().collect(),
            peaks: Vec::new(),
            seconds: 1.25,
            why: Some("r1-0-3 is gone".to_owned()),
            replay: Some("inbox torture --seed 5 --only kills --round 1".to_owned()),
        }
    }

    fn report(verdicts: &[Verdict]) -> Report {
        Report {
            place: Place::of(Path::new("."), &[("engine", "SQLite 3".to_owned())]),
            seed: 5,
            parts: verdicts.iter().map(|verdict| row(*verdict)).collect(),
            kept: Vec::new(),
            removed: Vec::new(),
            seconds: 1.5,
        }
    }

    #[test]
    fn a_page_names_what_broke_and_how_to_see_it_again() {
        let broken = report(&[Verdict::Held, Verdict::Broken, Verdict::Skipped]);
        assert!(!broken.holds());
        assert_eq!(
            broken.verdict(),
            "BROKEN: a promise did not hold, 1 skipped"
        );
        let page = format!("{:?}", broken.page());
        for said in [
            "seed 5",
            "SQLite 3",
            "3 kept untold",
            "BROKEN",
            "r1-0-3 is gone",
            "--seed 5 --only kills --round 1",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
    }

    #[test]
    fn a_page_on_which_all_held_says_so() {
        let held = report(&[Verdict::Held, Verdict::Held]);
        assert!(held.holds());
        assert_eq!(held.verdict(), "2 of 2 promises held");
    }

    #[test]
    fn what_was_not_tried_to_its_end_has_not_held() {
        for (verdicts, said) in [
            (
                &[Verdict::Skipped, Verdict::Skipped][..],
                "no promise was tried to its end, 2 skipped",
            ),
            (
                &[Verdict::Held, Verdict::Stopped],
                "1 of 2 promises held, 1 stopped",
            ),
            (
                &[Verdict::Held, Verdict::Unable],
                "1 of 2 promises held, 1 unable",
            ),
            (
                &[Verdict::Held, Verdict::Fault],
                "1 of 2 promises held, 1 FAULT",
            ),
            (&[], "no promise was tried to its end"),
        ] {
            let report = report(verdicts);
            assert!(!report.holds(), "{said}");
            assert_eq!(report.verdict(), said);
        }
        assert!(report(&[Verdict::Held, Verdict::Skipped]).holds());
    }
}

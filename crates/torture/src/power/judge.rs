//! Holds a disk after a loss of power against what had been promised by then.
//!
//! Commands ran one after another, so the store can only be as it was after one of its commits: the last that somebody
//! was told of, or a later one that was under way. Each of these is known by a digest of every row.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use inbox_store::{Location, Store, noted_event};

use super::image::{Image, Kept, image};
use super::record::{Act, Promise, Record};
use crate::dice::Dice;
use crate::{Broken, must};

/// What a store has, in a number; nothing where there is no store.
type Digest = Option<u64>;

/// How the store was after so many acts of the record, if all of them reached the disk.
#[derive(Debug, Clone, Copy)]
struct State {
    acts: usize,
    digest: Digest,
}

/// Judges the disks of one record.
#[derive(Debug)]
pub struct Judge<'a> {
    record: &'a Record,
    store: PathBuf,
    /// Where disks are built, one after another.
    bench: PathBuf,
    states: Vec<State>,
    seen: HashSet<u64>,
}

impl<'a> Judge<'a> {
    /// Learns how the store was after each of its commits. `store` is its file, and `bench` a folder to work in.
    pub fn new(record: &'a Record, store: &Path, bench: &Path) -> Result<Self, Broken> {
        let mut judge = Judge {
            record,
            store: store.to_owned(),
            bench: bench.to_owned(),
            states: Vec::new(),
            seen: HashSet::new(),
        };
        let synced = |(place, act): (usize, &Act)| {
            matches!(act, Act::Sync(_) | Act::SyncFolder(_)).then_some(place + 1)
        };
        let mut ends: Vec<usize> = record.acts.iter().enumerate().filter_map(synced).collect();
        ends.extend(record.told.iter().map(|(said, _)| said + 1));
        ends.extend([0, record.acts.len()]);
        ends.sort_unstable();
        ends.dedup();
        for acts in ends {
            let whole = image(record, acts, Kept::All, &mut Dice::new(0));
            let rows = judge.rows(&whole, store).map_err(|broken| {
                let words =
                    |what: &str| format!("without a loss of power, after {acts} acts: {what}");
                broken.told(words)
            })?;
            judge.holds_texts(acts, rows.as_deref(), &whole)?;
            judge.states.push(State {
                acts,
                digest: rows.map(|rows| hash(&rows)),
            });
        }
        Ok(judge)
    }

    /// That what was told by now stands in the rows, or in a file to which it was moved.
    fn holds_texts(
        &self,
        acts: usize,
        rows: Option<&[String]>,
        disk: &Image,
    ) -> Result<(), Broken> {
        for (said, promise) in &self.record.told {
            if let Promise::Text(text) = promise
                && *said < acts
            {
                let holds = rows.is_some_and(|rows| rows.iter().any(|row| row.contains(text)));
                must(holds || disk.has_line_with(text), || {
                    format!("{text} was acknowledged and is not there")
                })?;
            }
        }
        Ok(())
    }

    /// Judges a disk after so many acts, unless the like of it was judged before. Whether it was.
    pub fn hold(&mut self, acts: usize, how: Kept, dice: &mut Dice) -> Result<bool, Broken> {
        let disk = image(self.record, acts, how, dice);
        let (from, to) = self.bounds(acts);
        if !self.seen.insert(hash(&(&disk, from, to))) {
            return Ok(false);
        }
        let lost = |broken: Broken| {
            let (all, told) = (self.record.acts.len(), self.told(acts));
            broken.told(|what| {
                format!(
                    "the power was lost after {acts} of {all} acts, with {told} commands acknowledged, and of what was not \
                     synced the disk has kept {how:?}: {what}"
                )
            })
        };
        let found = self.rows(&disk, &self.store);
        let found = found.map_err(lost)?;
        self.holds_texts(acts, found.as_deref(), &disk)
            .map_err(lost)?;
        let digest = found.map(|rows| hash(&rows));
        let place = self.states.iter().position(|state| state.digest == digest);
        let place = place.ok_or_else(|| lost(Broken::new("the store is as it never was")))?;
        let (first, last) = (self.states[from].digest, self.states[to].digest);
        let is_allowed = self.states[from..=to]
            .iter()
            .any(|state| state.digest == digest);
        must(is_allowed || digest == first || digest == last, || {
            format!(
                "the store is as it was after {} acts, and had to be as after {} to {}",
                self.states[place].acts, self.states[from].acts, self.states[to].acts
            )
        })
        .map_err(lost)?;
        self.copies(acts, &disk).map_err(lost)?;
        Ok(true)
    }

    /// The copies of the store: each whole or not there, and there if somebody was told so.
    fn copies(&self, acts: usize, disk: &Image) -> Result<(), Broken> {
        for (said, promise) in &self.record.told {
            let Promise::Copy(copy) = promise else {
                continue;
            };
            let found = self.rows(disk, copy)?;
            let shown = copy.display();
            let Some(rows) = found else {
                must(*said >= acts, || {
                    format!("the copy {shown} was acknowledged and is not there")
                })?;
                continue;
            };
            let digest = Some(hash(&rows));
            let is_whole = self.states.iter().any(|state| state.digest == digest);
            must(is_whole, || {
                format!("the copy {shown} is as the store never was")
            })?;
        }
        Ok(())
    }

    fn told(&self, acts: usize) -> usize {
        let told = self.record.told.iter();
        told.filter(|(said, _)| *said < acts).count()
    }

    /// The first and the last state in which the store may be.
    fn bounds(&self, acts: usize) -> (usize, usize) {
        let told = self
            .record
            .told
            .iter()
            .rfind(|(said, _)| *said < acts)
            .map_or(0, |(said, _)| said + 1);
        let at = |wanted: usize| {
            let place = self.states.iter().position(|state| state.acts >= wanted);
            place.unwrap_or(self.states.len() - 1)
        };
        // What is under way is whole once it is synced, and may be whole before.
        (at(told), at(acts + 1))
    }

    /// Every row of the store on a disk, which must be sound; nothing where there is none.
    fn rows(&self, disk: &Image, store: &Path) -> Result<Option<Vec<String>>, Broken> {
        if disk.file(store).is_none() {
            return Ok(None);
        }
        let _ = std::fs::remove_dir_all(&self.bench);
        disk.write(&self.record.root, &self.bench)?;
        let place = store
            .strip_prefix(&self.record.root)
            .map_err(|error| Broken::new(error.to_string()))?;
        let place = self.bench.join(place);
        // What is noted as committed is there: the note comes after the commit, on any disk.
        let noted = noted_event(&place).unwrap_or(0);
        let opened = Store::open(&Location::File(place))?;
        let newest = opened.newest_event()?.0;
        must(noted <= newest, || {
            format!("event {noted} is noted as committed, and the newest is {newest}")
        })?;
        let problems = opened.check()?;
        must(problems.is_empty(), || {
            format!("the store is damaged: {problems:?}")
        })?;
        Ok(Some(opened.dump()?))
    }
}

fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

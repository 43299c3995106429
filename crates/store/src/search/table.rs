//! The search index of a PostgreSQL store: tables of its own in the store's schema.
//!
//! PostgreSQL's index of words gives every message that has a word before it can sort them, so a word
//! that is everywhere would cost a second. Each message therefore also belongs to a block of events, and
//! a search asks for few blocks at a time, the newest first, and for more as it finds too little.

use std::collections::HashMap;

use serde_json::json;

use super::index::{Archive, BATCH, Entry, Index, Progress, RULES, Trouble, Wanted, unindexed};
use crate::driver::{Driver, Mode};
use crate::error::StoreError;
use crate::sql;
use crate::value::Row;

/// How many events make a block of each size. Each is so many of the size before it, that a search which
/// finds too little needs few steps to the oldest message, each of few blocks.
const SIZES: [i64; 3] = [1_024, 16_384, 262_144];

/// How many events are looked at one by one before the index of words is asked.
const RECENT: i64 = 512;

/// The most events that are looked at one by one at once.
const MOST_RECENT: i64 = 8_192;

/// The most blocks that are asked for at once.
const BLOCKS: i64 = 16;

/// How many bytes of words one statement takes.
const STATEMENT: usize = 4 << 20;

/// How many places of one word PostgreSQL keeps.
const PLACES: usize = 255;

/// The index in the store's own tables.
pub(crate) struct Table;

impl Index for Table {
    fn advance(&mut self, driver: &mut dyn Driver) -> Result<bool, Trouble> {
        // Most searches find nothing to do, and need no lock for it.
        driver.begin(Mode::Read)?;
        let found = progress(driver)
            .and_then(|(_, progress)| Ok(progress.through < newest_message(driver)?));
        driver.rollback();
        match found {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => return Err(of(error)),
        }
        driver.begin(Mode::Write)?;
        let outcome = advance(driver).and_then(|more| driver.commit().map(|()| more));
        if outcome.is_err() {
            driver.rollback();
        }
        outcome.map_err(of)
    }

    fn enter(&mut self, driver: &mut dyn Driver) -> Result<Progress, Trouble> {
        // The plan must depend on the words, and the whole table must never be read.
        driver.query(&sql::SEARCH_SETTINGS, &[])?;
        let (rules, progress) = progress(driver)?;
        if rules > RULES {
            return Err(of(newer(rules)));
        }
        Ok(progress)
    }

    fn newest(
        &mut self,
        driver: &mut dyn Driver,
        wanted: &Wanted<'_>,
        last: i64,
        limit: i64,
    ) -> Result<Vec<i64>, Trouble> {
        let (loose, exact) = wanted.query.tsquery(&wanted.facets);
        let mut found = Vec::new();
        let enough = usize::try_from(limit).unwrap_or(usize::MAX);
        // What is found often is found among the newest, and looking there needs no index of words: so
        // many events at first, and then as many as should hold what is lacking.
        let (mut lower, mut span) = (last + 1, RECENT);
        while lower > wanted.first && found.len() < enough && span <= MOST_RECENT {
            let upper = lower - 1;
            lower = (upper - span + 1).max(wanted.first);
            let params = [
                lower.into(),
                upper.into(),
                exact.as_str().into(),
                loose.as_str().into(),
                limit.into(),
            ];
            for mut row in driver.query(&sql::SEARCH_RECENT, &params)? {
                found.push(row.int()?);
            }
            let count = i64::try_from(found.len()).unwrap_or(i64::MAX);
            let seen = last + 1 - lower;
            span = match count {
                0 => break,
                // At least as many again, so that there are few steps where the rest is elsewhere.
                count => ((limit - count) * seen / count * 3 / 2).max(seen),
            };
        }
        let mut steps = 0;
        while lower > wanted.first && found.len() < enough {
            let upper = lower - 1;
            let blocks = blocks(wanted.first, upper, steps);
            steps += 1;
            lower = blocks.lower;
            let params = [
                loose.as_str().into(),
                blocks.names.as_str().into(),
                exact.as_str().into(),
                wanted.first.into(),
                upper.into(),
                limit.into(),
            ];
            for mut row in driver.query(&sql::SEARCH_WORDS, &params)? {
                found.push(row.int()?);
            }
        }
        found.truncate(enough);
        Ok(found)
    }

    fn events_of_days(
        &mut self,
        driver: &mut dyn Driver,
        first: i64,
        last: i64,
    ) -> Result<(i64, i64), Trouble> {
        let mut rows = driver.query(&sql::SEARCH_DAYS, &[first.into(), last.into()])?;
        match rows.first_mut() {
            Some(row) => Ok((row.int()?, row.int()?)),
            None => Ok((1, 0)),
        }
    }

    fn archives(&mut self, driver: &mut dyn Driver) -> Result<Vec<(String, String)>, Trouble> {
        let mut rows = driver.query(&sql::SEARCH_ARCHIVES, &[])?;
        let read = |row: &mut Row| Ok((row.text()?, row.text()?));
        rows.iter_mut().map(read).collect()
    }

    fn replace_archive(
        &mut self,
        driver: &mut dyn Driver,
        archive: &Archive<'_>,
        entries: &mut dyn Iterator<Item = (Entry, String)>,
    ) -> Result<(), Trouble> {
        driver.begin(Mode::Write)?;
        let outcome = replace(driver, archive, entries).and_then(|()| driver.commit());
        if outcome.is_err() {
            driver.rollback();
        }
        outcome.map_err(of)
    }

    fn archived(
        &mut self,
        driver: &mut dyn Driver,
        wanted: &Wanted<'_>,
        last: i64,
        limit: i64,
    ) -> Result<Vec<(i64, String)>, Trouble> {
        let (loose, exact) = wanted.query.tsquery(&wanted.facets);
        let params = [
            loose.as_str().into(),
            exact.as_str().into(),
            last.into(),
            limit.into(),
        ];
        let mut rows = driver.query(&sql::SEARCH_ARCHIVED, &params)?;
        let read = |row: &mut Row| Ok((row.int()?, row.text()?));
        rows.iter_mut().map(read).collect()
    }

    fn leave(&mut self) {}

    fn mend(&mut self, _attempt: u32) -> bool {
        false
    }
}

/// Blocks that follow each other.
struct Blocks {
    /// Their first event.
    lower: i64,
    /// Their names, as PostgreSQL writes an array.
    names: String,
}

/// The blocks up to and including `upper` to ask for next: of the largest size that ends there, or those
/// that are left before a larger one ends. Each step may be one size larger than the last, because what
/// was not found in so many is rare.
fn blocks(first: i64, upper: i64, steps: usize) -> Blocks {
    let ends = |level: &usize| (upper + 1) % SIZES[*level] == 0;
    let level = (0..SIZES.len().min(steps + 1))
        .rev()
        .find(ends)
        .unwrap_or(0);
    let (size, larger) = (SIZES[level], SIZES.get(level + 1));
    let newest = upper / size;
    let fitting = larger.map_or(i64::MIN, |larger| upper / larger * larger / size);
    let oldest = fitting.max(newest - BLOCKS + 1).max(first.max(0) / size);
    let names: Vec<_> = (oldest..=newest)
        .map(|block| name(level, block).to_string())
        .collect();
    Blocks {
        lower: oldest * size,
        names: format!("{{{}}}", names.join(",")),
    }
}

/// What a block is known by, among those of all sizes.
fn name(level: usize, block: i64) -> i64 {
    block * 4 + i64::try_from(level).unwrap_or(0)
}

fn replace(
    driver: &mut dyn Driver,
    archive: &Archive<'_>,
    entries: &mut dyn Iterator<Item = (Entry, String)>,
) -> Result<(), StoreError> {
    driver.query(&sql::SEARCH_LOCK, &[])?;
    let (first, last) = (*archive.numbers.start(), *archive.numbers.end());
    driver.query(&sql::CLEAR_ARCHIVE, &[first.into(), last.into()])?;
    let some = usize::try_from(BATCH).unwrap_or(usize::MAX);
    loop {
        let rows: Vec<_> = entries
            .take(some)
            .map(|(entry, line)| {
                let mut record = record(&entry);
                record["line"] = line.into();
                record
            })
            .collect();
        if rows.is_empty() {
            break;
        }
        let rows = serde_json::Value::from(rows).to_string();
        driver.query(&sql::ADD_ARCHIVED, &[rows.as_str().into()])?;
    }
    let params = [archive.month.into(), archive.stamp.into()];
    driver.query(&sql::SAVE_ARCHIVE, &params).map(drop)
}

/// Only what stands in the way of writing the index lets a search do without it.
fn of(error: StoreError) -> Trouble {
    match error {
        StoreError::Busy(_)
        | StoreError::ReadOnly(_)
        | StoreError::Full(_)
        | StoreError::Newer { .. } => Trouble::Unusable(error),
        other => Trouble::Store(other),
    }
}

fn newer(rules: i64) -> StoreError {
    StoreError::Newer {
        found: rules,
        known: RULES,
    }
}

fn newest_message(driver: &mut dyn Driver) -> Result<i64, StoreError> {
    driver
        .query(&sql::NEWEST_EVENT, &[])?
        .first_mut()
        .map_or(Ok(0), |row| row.int())
}

/// The rules of the index, and how far it has come.
fn progress(driver: &mut dyn Driver) -> Result<(i64, Progress), StoreError> {
    let mut rows = driver.query(&sql::SEARCH_PROGRESS, &[])?;
    let Some(row) = rows.first_mut() else {
        return Ok((RULES, Progress::default()));
    };
    let rules = row.int()?;
    let (through, documents) = (row.int()?, row.int()?);
    Ok((rules, Progress { through, documents }))
}

/// One batch, in a transaction that has begun.
fn advance(driver: &mut dyn Driver) -> Result<bool, StoreError> {
    driver.query(&sql::SEARCH_LOCK, &[])?;
    let (rules, mut now) = progress(driver)?;
    if rules > RULES {
        return Err(newer(rules));
    }
    if rules < RULES {
        driver.query(&sql::CLEAR_SEARCH, &[])?;
        now = Progress::default();
    }
    let newest = newest_message(driver)?;
    let batch = unindexed(driver, now.through)?;
    let is_full = batch.len() >= usize::try_from(BATCH).unwrap_or(usize::MAX);
    // What comes after the last message of all is no message, and need not be looked at again. The
    // batch was read later than the newest event, and may go beyond it.
    let through = match batch.last() {
        Some(last) if is_full => last.number,
        last => last.map_or(newest, |last| last.number.max(newest)),
    };
    let (mut rows, mut size) = (Vec::new(), 0);
    for (i, entry) in batch.iter().enumerate() {
        let row = record(entry).to_string();
        size += row.len();
        rows.push(row);
        if size > STATEMENT || i + 1 == batch.len() {
            let text = format!("[{}]", rows.join(","));
            driver.query(&sql::ADD_WORDS, &[text.as_str().into()])?;
            (rows, size) = (Vec::new(), 0);
        }
    }
    let days = days(&batch);
    driver.query(&sql::ADD_DAYS, &[days.as_str().into()])?;
    let documents = now.documents + i64::try_from(batch.len()).unwrap_or(0);
    driver.query(
        &sql::SAVE_PROGRESS,
        &[RULES.into(), through.into(), documents.into()],
    )?;
    Ok(is_full)
}

fn days(batch: &[Entry]) -> String {
    let mut days: HashMap<i64, (i64, i64)> = HashMap::new();
    for entry in batch {
        let (first, last) = days
            .entry(entry.day)
            .or_insert((entry.number, entry.number));
        *first = entry.number.min(*first);
        *last = entry.number.max(*last);
    }
    let rows: Vec<_> = days
        .into_iter()
        .map(|(day, (first, last))| json!({ "day": day, "first_event": first, "last_event": last }))
        .collect();
    serde_json::Value::from(rows).to_string()
}

/// A message as a row of the index. Its words are written as PostgreSQL writes them, with their places.
fn record(entry: &Entry) -> serde_json::Value {
    let document = entry.document();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut place = 0;
    for field in &document.fields {
        for word in &field.words {
            place += 1;
            places.entry(&word.text).or_default().push(place);
        }
        // So that no phrase goes from one field into the next.
        place += 1;
    }
    let is_long = places.values().any(|places| places.len() > PLACES);
    let mut words: Vec<String> = entry
        .facets
        .iter()
        .map(|facet| format!("'{facet}'"))
        .collect();
    words.extend(places.iter().map(|(word, places)| {
        let places: Vec<_> = places
            .iter()
            .take(PLACES)
            .map(ToString::to_string)
            .collect();
        format!("'{word}':{}", places.join(","))
    }));
    json!({
        "number": entry.number,
        "blocks": (0..SIZES.len()).map(|level| name(level, entry.number / SIZES[level])).collect::<Vec<_>>(),
        "is_long": i64::from(is_long),
        "words": words.join(" "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_event_once_in_few_steps() {
        for newest in [0, 5, 1_023, 1_024, 300_000, 1_000_007, 9_999_999] {
            let (mut upper, mut steps) = (newest, 0);
            while upper >= 1 {
                let blocks = blocks(1, upper, steps);
                assert!(blocks.lower <= upper && blocks.names.split(',').count() <= 16);
                upper = blocks.lower - 1;
                steps += 1;
            }
            assert!(steps <= 7, "{newest} in {steps} steps");
        }
        assert_eq!(blocks(1, 2_000, 0).names, "{0,4}");
        assert_eq!(blocks(1_500, 2_000, 9).names, "{4}");
    }
}

//! The comparison of two stores, row by row, by a hash of what each row means.

use std::collections::VecDeque;

use inbox_core::{Code, Refusal};
use sha2::{Digest, Sha256};

use super::row::{self, Line, Pace, Part, Sum};
use super::tables::Table;
use super::text::Texts;
use crate::driver::Driver;
use crate::error::StoreError;

/// The rows of a table in one store, in their order.
pub(super) struct Stream<'a> {
    driver: &'a mut dyn Driver,
    table: &'a Table,
    texts: &'a Texts,
    after: Vec<Part>,
    pace: Pace,
    page: VecDeque<Line>,
    is_over: bool,
}

impl<'a> Stream<'a> {
    pub(super) fn new(driver: &'a mut dyn Driver, table: &'a Table, texts: &'a Texts) -> Self {
        Stream {
            driver,
            table,
            texts,
            after: row::start(table),
            pace: Pace::new(),
            page: VecDeque::new(),
            is_over: false,
        }
    }

    fn next(&mut self) -> Result<Option<Line>, StoreError> {
        if self.page.is_empty() && !self.is_over {
            let limit = self.pace.0;
            let lines = row::page(self.driver, self.table, self.texts, &self.after, limit)?;
            self.is_over = lines.len() < usize::try_from(limit).unwrap_or(usize::MAX);
            self.pace.learn(&lines);
            if let Some(line) = lines.last() {
                self.after = row::key(self.table, line);
            }
            self.page = lines.into();
        }
        Ok(self.page.pop_front())
    }

    fn rewind(&mut self) {
        (self.after, self.is_over) = (row::start(self.table), false);
        self.page.clear();
    }

    /// The hashes of all rows, sorted.
    fn sums(&mut self) -> Result<Vec<Sum>, StoreError> {
        let mut sums = Vec::new();
        while let Some(line) = self.next()? {
            sums.push(row::sum(&line));
        }
        sums.sort_unstable();
        Ok(sums)
    }

    /// The key of the row with this hash.
    fn key_of(&mut self, sum: &Sum) -> Result<Option<Vec<Part>>, StoreError> {
        self.rewind();
        while let Some(line) = self.next()? {
            if row::sum(&line) == *sum {
                return Ok(Some(row::key(self.table, &line)));
            }
        }
        Ok(None)
    }
}

/// Compares the rows of a table; the hash of all of them.
pub(super) fn compare<'a>(
    table: &Table,
    mut source: Stream<'a>,
    mut copy: Stream<'a>,
    passed: &mut dyn FnMut(),
) -> Result<Sum, Refusal> {
    let mut whole = Sha256::new();
    whole.update(table.name.as_bytes());
    if !table.is_ordered {
        let (ours, theirs) = (source.sums()?, copy.sums()?);
        if let Some((sum, is_ours)) = odd_one(&ours, &theirs) {
            let stream = if is_ours { &mut source } else { &mut copy };
            let key = stream.key_of(&sum)?.unwrap_or_default();
            return Err(mismatch(table, &key));
        }
        for sum in &ours {
            whole.update(sum);
            passed();
        }
        return Ok(whole.finalize().into());
    }
    loop {
        let (ours, theirs) = match (source.next()?, copy.next()?) {
            (None, None) => return Ok(whole.finalize().into()),
            (Some(line), None) | (None, Some(line)) => {
                return Err(mismatch(table, &row::key(table, &line)));
            }
            (Some(ours), Some(theirs)) => (ours, theirs),
        };
        let sum = row::sum(&ours);
        if sum != row::sum(&theirs) {
            // Where one of them lacks a row, the other one's is the smaller.
            let (ours, theirs) = (row::key(table, &ours), row::key(table, &theirs));
            return Err(mismatch(
                table,
                if is_before(&theirs, &ours) {
                    &theirs
                } else {
                    &ours
                },
            ));
        }
        whole.update(sum);
        passed();
    }
}

/// The first hash that only one of two sorted lists has, and whether it is the first list.
fn odd_one(ours: &[Sum], theirs: &[Sum]) -> Option<(Sum, bool)> {
    let place = ours
        .iter()
        .zip(theirs)
        .position(|(one, other)| one != other);
    let place = place.unwrap_or(ours.len().min(theirs.len()));
    match (ours.get(place), theirs.get(place)) {
        (None, None) => None,
        (Some(sum), None) => Some((*sum, true)),
        (None, Some(sum)) => Some((*sum, false)),
        (Some(one), Some(other)) if one < other => Some((*one, true)),
        (Some(_), Some(other)) => Some((*other, false)),
    }
}

fn is_before(one: &[Part], other: &[Part]) -> bool {
    let numbers = |key: &[Part]| -> Vec<i64> {
        let number = |part: &Part| match part {
            Part::Int(number) => *number,
            Part::Text(_) => 0,
        };
        key.iter().map(number).collect()
    };
    numbers(one) < numbers(other)
}

/// The refusal of a copy that differs at a key; without one, of rows that did not fit.
pub(super) fn mismatch(table: &Table, key: &[Part]) -> Refusal {
    let shown: Vec<String> = key
        .iter()
        .map(|part| match part {
            Part::Int(number) => number.to_string(),
            Part::Text(text) => text.clone(),
        })
        .collect();
    let (name, key) = (table.name, shown.join(" "));
    let what = if key.is_empty() {
        format!("rows of {name} do not fit what the copy holds")
    } else {
        let columns = table.key.join(" ");
        format!("the copy differs in {name} at {columns} {key}")
    };
    Refusal::new(Code::VerifyMismatch, what)
    .hint("inbox migrate with the same --from and --to copies everything again; nobody can use the copy until then")
    .detail("table", name)
    .detail("key", key)
}

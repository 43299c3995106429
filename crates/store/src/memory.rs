//! What agents remember: found by their words, and by where their texts lie among others.
//!
//! Words are split and folded as a search does it, and how well a memory matches is computed here: so both databases find the same. An agent
//! has thousands of memories, not millions; all its vectors are compared.

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inbox_core::record::Millis;
use inbox_core::{MemoryId, ThreadId};

use crate::error::StoreError;
use crate::search::words_of;
use crate::sql;
use crate::tx::Tx;
use crate::value::Row;

/// How many words of a text are kept.
const WORDS: usize = 2_000;

/// How many words of a question count.
const ASKED: usize = 64;

/// How many memories with one word are looked at: the newest.
const LOOKED_AT: i64 = 5_000;

/// What fits less well than this part of the best shares no more than everyday words with what was asked.
const WORTH: f64 = 0.25;

/// How many vectors are read at once.
const PAGE: i64 = 500;

/// Something that an agent remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRow {
    /// Its id.
    pub id: MemoryId,
    /// What it says.
    pub text: String,
    /// The thread whose result it is.
    pub thread: Option<ThreadId>,
    /// Since when.
    pub created_at: Millis,
}

/// A memory that was found, and how well it fits: more is better.
pub type Recalled = (MemoryId, f64);

impl Tx<'_> {
    /// Remembers a text for an agent. What it remembered of the same thread is forgotten.
    pub fn keep_memory(
        &mut self,
        agent_no: i64,
        text: &str,
        thread: Option<ThreadId>,
    ) -> Result<MemoryId, StoreError> {
        if let Some(thread) = thread {
            let params = [agent_no.into(), thread.key().into()];
            if let Some(old) = self.one_int(&sql::MEMORY_OF_THREAD, &params)? {
                self.forget_memory(MemoryId::new(old))?;
            }
        }
        let now = self.now().0;
        let params = [
            agent_no.into(),
            thread.map(ThreadId::key).into(),
            text.into(),
            now.into(),
        ];
        let id = self
            .one_int(&sql::INSERT_MEMORY, &params)?
            .ok_or_else(|| StoreError::Unreadable("a memory without a number".into()))?;
        for (word, times) in counted(text, WORDS) {
            let params = [
                agent_no.into(),
                word.as_str().into(),
                id.into(),
                times.into(),
            ];
            self.put(&sql::INSERT_MEMORY_WORD, &params)?;
        }
        Ok(MemoryId::new(id))
    }

    /// Forgets something for good.
    pub fn forget_memory(&mut self, id: MemoryId) -> Result<(), StoreError> {
        let now = self.now().0;
        self.put(&sql::FORGET_MEMORY_WORDS, &[id.key().into()])?;
        self.put(&sql::FORGET_MEMORY, &[now.into(), id.key().into()])
    }

    /// What an agent remembers, the newest first.
    pub fn memories(
        &mut self,
        agent_no: i64,
        before: Option<MemoryId>,
        limit: i64,
    ) -> Result<Vec<MemoryRow>, StoreError> {
        let before = before.map_or(i64::MAX, MemoryId::key);
        let params = [agent_no.into(), before.into(), limit.into()];
        let mut rows = self.rows(&sql::LIST_MEMORIES, &params)?;
        rows.iter_mut().map(read_memory).collect()
    }

    /// One of an agent's memories.
    pub fn memory(&mut self, agent_no: i64, id: MemoryId) -> Result<Option<MemoryRow>, StoreError> {
        let params = [id.key().into(), agent_no.into()];
        let row = self.first(&sql::FIND_MEMORY, &params)?;
        row.map(|mut row| read_memory(&mut row)).transpose()
    }

    /// The memories that have words of a text: those with the most and the rarest first.
    pub fn recall_words(
        &mut self,
        agent_no: i64,
        text: &str,
        limit: usize,
    ) -> Result<Vec<Recalled>, StoreError> {
        let all = self.one_int(&sql::COUNT_MEMORIES, &[agent_no.into()])?;
        let all = whole(all.unwrap_or_default());
        let mut scores: HashMap<i64, f64> = HashMap::new();
        for word in counted(text, ASKED).keys() {
            let params = [agent_no.into(), word.as_str().into(), LOOKED_AT.into()];
            let mut rows = self.rows(&sql::MEMORIES_WITH_WORD, &params)?;
            let found = f64::from(u32::try_from(rows.len()).unwrap_or(u32::MAX));
            // As Okapi BM25 weighs words, without regard to the length of the texts.
            let rarity = (1.0 + ((all - found).max(0.0) + 0.5) / (found + 0.5)).ln();
            for row in &mut rows {
                let (id, times) = (row.int()?, whole(row.int()?));
                *scores.entry(id).or_default() += rarity * times * 2.2 / (times + 1.2);
            }
        }
        let mut found = best(scores.into_iter(), limit);
        let least = found.first().map_or(0.0, |(_, score)| score * WORTH);
        found.retain(|(_, score)| *score >= least);
        Ok(found)
    }

    /// The memories whose texts lie nearest to a place, by one model.
    pub fn recall_near(
        &mut self,
        agent_no: i64,
        model: &str,
        place: &[f32],
        limit: usize,
    ) -> Result<Vec<Recalled>, StoreError> {
        let (mut after, mut scores) = (0, Vec::new());
        loop {
            let params = [agent_no.into(), model.into(), after.into(), PAGE.into()];
            let mut rows = self.rows(&sql::MEMORY_VECTORS, &params)?;
            for row in &mut rows {
                let id = row.int()?;
                after = id;
                let vector = unpacked(&row.text()?);
                scores.extend(likeness(place, &vector).map(|likeness| (id, likeness)));
            }
            if i64::try_from(rows.len()).unwrap_or(PAGE) < PAGE {
                break;
            }
        }
        Ok(best(scores.into_iter(), limit))
    }

    /// Memories that have no place by this model yet, the newest first.
    pub fn unplaced(
        &mut self,
        agent_no: i64,
        model: &str,
        limit: i64,
    ) -> Result<Vec<(MemoryId, String)>, StoreError> {
        let params = [agent_no.into(), model.into(), limit.into()];
        let mut rows = self.rows(&sql::MEMORIES_UNPLACED, &params)?;
        rows.iter_mut()
            .map(|row| Ok((MemoryId::new(row.int()?), row.text()?)))
            .collect()
    }

    /// Keeps where a memory's text lies by a model.
    pub fn place_memory(
        &mut self,
        id: MemoryId,
        model: &str,
        place: &[f32],
    ) -> Result<(), StoreError> {
        let packed = packed(place);
        let params = [model.into(), packed.as_str().into(), id.key().into()];
        self.put(&sql::PLACE_MEMORY, &params)
    }
}

fn read_memory(row: &mut Row) -> Result<MemoryRow, StoreError> {
    Ok(MemoryRow {
        id: MemoryId::new(row.int()?),
        thread: row.maybe_int()?.map(ThreadId::new),
        text: row.text()?,
        created_at: Millis(row.int()?),
    })
}

/// A text's words, and how often it has each.
fn counted(text: &str, most: usize) -> BTreeMap<String, i64> {
    let mut words = BTreeMap::new();
    for word in words_of(text, most) {
        *words.entry(word).or_default() += 1;
    }
    words
}

fn whole(value: i64) -> f64 {
    f64::from(u32::try_from(value).unwrap_or(u32::MAX))
}

/// The best, and of those that are as good the newest.
fn best(scores: impl Iterator<Item = (i64, f64)>, limit: usize) -> Vec<Recalled> {
    let mut scores: Vec<(i64, f64)> = scores.collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    scores.truncate(limit);
    let numbered = |(id, score)| (MemoryId::new(id), score);
    scores.into_iter().map(numbered).collect()
}

/// How alike two directions are, from -1 to 1. Nothing where they have no direction, or are of different spaces.
fn likeness(a: &[f32], b: &[f32]) -> Option<f64> {
    if a.len() != b.len() {
        return None;
    }
    let (mut dot, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (f64::from(*a), f64::from(*b));
        dot += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    let likeness = dot / (of_a.sqrt() * of_b.sqrt());
    likeness.is_finite().then_some(likeness)
}

fn packed(place: &[f32]) -> String {
    let bytes: Vec<u8> = place.iter().flat_map(|one| one.to_le_bytes()).collect();
    STANDARD.encode(bytes)
}

fn unpacked(text: &str) -> Vec<f32> {
    let bytes = STANDARD.decode(text).unwrap_or_default();
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers
        .iter()
        .map(|four| f32::from_le_bytes(*four))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let place = [0.0, -1.5, f32::MIN_POSITIVE, 3.25e7];
        assert_eq!(unpacked(&packed(&place)), place);
        assert_eq!(unpacked("no base64!"), [0.0; 0]);
    }

    #[test]
    fn what_points_the_same_way_is_alike_however_long_it_is() {
        let alike = |a: &[f32], b: &[f32]| likeness(a, b).unwrap();
        assert!((alike(&[1.0, 2.0], &[10.0, 20.0]) - 1.0).abs() < 1e-9);
        assert!((alike(&[1.0, 0.0], &[0.0, 3.0])).abs() < 1e-9);
        assert!(alike(&[1.0, 0.0], &[-1.0, 0.0]) < -0.99);
        assert_eq!(likeness(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(likeness(&[0.0], &[0.0]), None);
    }
}

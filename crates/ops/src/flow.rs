//! `flow`: what happened to work over a time, in figures.

use std::collections::{BTreeMap, HashMap};

use inbox_core::record::Millis;
use inbox_core::{EventId, EventType, Label, Refusal, Status, ThreadId};
use inbox_store::{Abort, Happening, Piece, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::{Cell, Page};
use crate::search::When;

/// How far back unless told otherwise, in milliseconds.
const USUAL: i64 = 3_600_000;

/// How many events are looked at: the newest. More would take longer than a page may.
const MOST: i64 = 10_000;

/// Into how many parts the time is cut.
const PARTS: usize = 48;

/// How many threads have a bar of their own.
const BARS: usize = 60;

/// How many pairs of those who talk are given.
const PAIRS: i64 = 60;

/// The most that is counted as waiting.
const QUEUED: i64 = 100_000;

/// Show how work flows: how much, how long it waits, and who talks to whom
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Look back to then: an RFC 3339 time, or how long ago, such as 2d or 3h; an hour unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<When>,
    /// Look at threads with this run only
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Label>,
}

/// How work flowed.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Flowed {
    /// Since when.
    pub from: Millis,
    /// Until when.
    pub until: Millis,
    /// Whether more happened than was looked at, so that the beginning is missing.
    pub truncated: bool,
    /// How many threads of work were opened, claimed for the first time, finished, failed and called off.
    pub totals: Totals,
    /// The same over time, in equal parts.
    pub parts: Vec<Part>,
    /// How long work took, for each role or other address that it was sent to, and for each run.
    pub groups: Vec<Group>,
    /// Threads of work with what became of them, those that changed last.
    pub bars: Vec<Bar>,
    /// Who wrote to whom; the busiest first.
    pub talk: Vec<Talk>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// Counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Opened.
    pub opened: i64,
    /// Claimed for the first time.
    pub claimed: i64,
    /// Finished.
    pub done: i64,
    /// Given up.
    pub failed: i64,
    /// Called off.
    pub cancelled: i64,
}

/// A part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// When it begins.
    pub from: Millis,
    /// What was opened.
    pub opened: i64,
    /// What was finished.
    pub done: i64,
    /// What failed or was called off.
    pub failed: i64,
    /// How much work waited to be claimed at its end.
    pub queued: i64,
}

/// How long work took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// `to` or `run`.
    pub by: String,
    /// The address or the run.
    pub name: String,
    /// How many threads.
    pub threads: i64,
    /// From opened to claimed.
    pub to_claim: Option<Spread>,
    /// Blocked in all.
    pub blocked: Option<Spread>,
    /// From opened to done.
    pub to_done: Option<Spread>,
}

/// Half of them took no longer than the first, nine of ten no longer than the second; in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The median.
    pub p50: i64,
    /// Nine of ten.
    pub p90: i64,
}

/// A thread, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bar {
    /// The thread.
    pub thread_id: ThreadId,
    /// What it is about.
    pub subject: String,
    /// Its run, or `""`.
    pub run_id: String,
    /// From when it had which status.
    pub steps: Vec<BarStep>,
}

/// From when a thread had a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BarStep {
    /// The status.
    pub status: Status,
    /// From when.
    pub from: Millis,
}

/// Who wrote to whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Talk {
    /// Who.
    pub from: String,
    /// To which address.
    pub to: String,
    /// How often.
    pub messages: i64,
}

impl Operation for Flow {
    const NAME: &'static str = "flow";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Ignored;
    type Answer = Flowed;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Flowed, Refusal> {
        inbox.read(|tx| {
            let until = tx.now();
            let mut from = self.since.unwrap_or(When::Ago(USUAL)).at(until);
            from = from.min(Millis(until.0 - 1_000));
            let newest = tx.newest_event()?;
            let mut after = tx.event_before(from)?;
            let is_cut = newest.0 - after.0 > MOST;
            if is_cut {
                after = EventId(newest.0 - MOST);
            }
            let run = self.run.as_ref().map(Label::as_str);
            let work = tx.work_after(after, run)?;
            let mut steps = tx.steps_after(after, run, MOST)?;
            steps.retain(|step| work.contains_key(&step.thread));
            let talk = tx.talk_after(after, run, PAIRS)?;
            let queued = tx.count_queued(QUEUED)?;
            let lives = lives(&steps, &work);
            Ok(Flowed {
                from,
                until,
                truncated: is_cut,
                totals: totals(&steps, &lives),
                parts: parts(&steps, (from, until), queued),
                groups: groups(&lives, until),
                bars: bars(tx, &lives)?,
                talk: talk
                    .into_iter()
                    .map(|(from, to, messages)| Talk { from, to, messages })
                    .collect(),
                next_event_id: newest,
            })
        })
    }
}

/// What is known of one thread of work.
struct Life<'a> {
    thread: ThreadId,
    piece: &'a Piece,
    opened: Option<Millis>,
    claimed: Option<Millis>,
    done: Option<Millis>,
    steps: Vec<BarStep>,
}

fn lives<'a>(steps: &[Happening], work: &'a HashMap<ThreadId, Piece>) -> Vec<Life<'a>> {
    let mut found: BTreeMap<i64, Life<'_>> = BTreeMap::new();
    for step in steps {
        let Some(piece) = work.get(&step.thread) else {
            continue;
        };
        let life = found.entry(step.thread.key()).or_insert_with(|| Life {
            thread: step.thread,
            piece,
            opened: None,
            claimed: None,
            done: None,
            steps: Vec::new(),
        });
        match step.event {
            EventType::Created => life.opened = Some(step.at),
            EventType::Claimed => life.claimed = life.claimed.or(Some(step.at)),
            EventType::Done => life.done = Some(step.at),
            _ => {}
        }
        if life.steps.last().map(|last| last.status) != Some(step.status) {
            life.steps.push(BarStep {
                status: step.status,
                from: step.at,
            });
        }
    }
    found.into_values().collect()
}

fn totals(steps: &[Happening], lives: &[Life<'_>]) -> Totals {
    let count = |event| {
        let found = steps.iter().filter(|step| step.event == event);
        i64::try_from(found.count()).unwrap_or(i64::MAX)
    };
    let claimed = lives.iter().filter(|life| life.claimed.is_some()).count();
    Totals {
        opened: count(EventType::Created),
        claimed: i64::try_from(claimed).unwrap_or(i64::MAX),
        done: count(EventType::Done),
        failed: count(EventType::Failed),
        cancelled: count(EventType::Cancelled),
    }
}

/// The time in equal parts. How much waited is counted back from now.
fn parts(steps: &[Happening], (from, until): (Millis, Millis), queued: i64) -> Vec<Part> {
    let whole = (until.0 - from.0).max(1);
    let count = i64::try_from(PARTS).unwrap_or(1);
    let begins = |index: i64| Millis(from.0 + whole * index / count);
    let mut parts: Vec<Part> = (0..count)
        .map(|index| Part {
            from: begins(index),
            opened: 0,
            done: 0,
            failed: 0,
            queued: 0,
        })
        .collect();
    let mut changes = vec![0; PARTS];
    let mut waiting: BTreeMap<i64, bool> = BTreeMap::new();
    for step in steps {
        let index = ((step.at.0 - from.0) * count / whole).clamp(0, count - 1);
        let index = usize::try_from(index).unwrap_or(0);
        let part = &mut parts[index];
        match step.event {
            EventType::Created => part.opened += 1,
            EventType::Done => part.done += 1,
            EventType::Failed | EventType::Cancelled => part.failed += 1,
            _ => {}
        }
        let waits = step.status == Status::Pending;
        let waited = *waiting
            .entry(step.thread.key())
            // What is first seen when it is claimed waited before; what is first seen when it is opened did not.
            .or_insert(step.event == EventType::Claimed);
        changes[index] += i64::from(waits) - i64::from(waited);
        waiting.insert(step.thread.key(), waits);
    }
    let mut left = queued;
    for (part, change) in parts.iter_mut().zip(&changes).rev() {
        part.queued = left.max(0);
        left -= change;
    }
    parts
}

fn groups(lives: &[Life<'_>], until: Millis) -> Vec<Group> {
    let mut found: BTreeMap<(&str, &str), Vec<&Life<'_>>> = BTreeMap::new();
    for life in lives {
        let to = life.piece.to.split(' ').next().unwrap_or_default();
        found.entry(("to", to)).or_default().push(life);
        if !life.piece.run.is_empty() {
            found
                .entry(("run", &life.piece.run))
                .or_default()
                .push(life);
        }
    }
    let mut groups: Vec<Group> = found
        .into_iter()
        .map(|((by, name), lives)| {
            let between = |end: fn(&Life<'_>) -> Option<Millis>| {
                spread(
                    lives
                        .iter()
                        .filter_map(|life| Some(end(life)?.0 - life.opened?.0))
                        .collect(),
                )
            };
            Group {
                by: by.to_owned(),
                name: name.to_owned(),
                threads: i64::try_from(lives.len()).unwrap_or(i64::MAX),
                to_claim: between(|life| life.claimed),
                blocked: spread(
                    lives
                        .iter()
                        .map(|life| blocked(life, until))
                        .filter(|time| *time > 0)
                        .collect(),
                ),
                to_done: between(|life| life.done),
            }
        })
        .collect();
    groups.sort_by(|a, b| (&b.by, b.threads, &a.name).cmp(&(&a.by, a.threads, &b.name)));
    groups
}

fn blocked(life: &Life<'_>, until: Millis) -> i64 {
    let ends = life.steps.iter().skip(1).map(|step| step.from);
    let spans = life.steps.iter().zip(ends.chain([until]));
    spans
        .filter(|(step, _)| step.status == Status::Blocked)
        .map(|(step, end)| end.0 - step.from.0)
        .sum()
}

fn spread(mut times: Vec<i64>) -> Option<Spread> {
    times.sort_unstable();
    let at = |tenths: usize| {
        let place = (times.len() * tenths).div_ceil(10).saturating_sub(1);
        times.get(place).copied()
    };
    Some(Spread {
        p50: at(5)?,
        p90: at(9)?,
    })
}

/// The threads that changed last, in the order in which they are first seen.
fn latest<'a>(lives: &'a [Life<'a>]) -> Vec<&'a Life<'a>> {
    let mut all: Vec<&Life<'_>> = lives.iter().collect();
    all.sort_by_key(|life| std::cmp::Reverse(life.steps.last().map(|step| step.from)));
    all.truncate(BARS);
    all.sort_by_key(|life| life.steps.first().map(|step| step.from));
    all
}

fn bars(tx: &mut Tx<'_>, lives: &[Life<'_>]) -> Result<Vec<Bar>, Abort> {
    let shown = latest(lives);
    let mut subjects = tx.subjects(shown.iter().map(|life| life.thread))?;
    let bars = shown.into_iter().map(|life| Bar {
        thread_id: life.thread,
        subject: subjects.remove(&life.thread).unwrap_or_default(),
        run_id: life.piece.run.clone(),
        steps: life.steps.clone(),
    });
    Ok(bars.collect())
}

impl Answer for Flowed {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let Totals {
            opened,
            claimed,
            done,
            failed,
            cancelled,
        } = self.totals;
        let page = Page::default().line(format!(
            "{opened} opened, {claimed} claimed, {done} done, {failed} failed, {cancelled} called off"
        ));
        let shown = |spread: Option<Spread>| {
            let text =
                spread.map(|spread| format!("{}/{}", seconds(spread.p50), seconds(spread.p90)));
            Cell::Text(text.unwrap_or_default())
        };
        let rows: Vec<Vec<Cell>> = self
            .groups
            .iter()
            .map(|group| {
                vec![
                    Cell::Text(format!("{} {}", group.by, group.name)),
                    Cell::Text(group.threads.to_string()),
                    shown(group.to_claim),
                    shown(group.blocked),
                    shown(group.to_done),
                ]
            })
            .collect();
        if rows.is_empty() {
            return page;
        }
        page.table(
            vec!["OF", "THREADS", "TO CLAIM p50/p90", "BLOCKED", "TO DONE"],
            rows,
        )
    }
}

fn seconds(millis: i64) -> String {
    format!("{}.{}s", millis / 1000, millis % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(thread: i64, event: EventType, status: Status, at: i64) -> Happening {
        Happening {
            thread: ThreadId::new(thread),
            event,
            status,
            at: Millis(at),
        }
    }

    fn work(threads: [i64; 2]) -> HashMap<ThreadId, Piece> {
        let piece = Piece {
            run: "r1".into(),
            to: "role:dev".into(),
        };
        threads
            .map(|thread| (ThreadId::new(thread), piece.clone()))
            .into()
    }

    #[test]
    fn a_life_is_cut_into_what_it_waited_for() {
        let steps = [
            step(1, EventType::Created, Status::Pending, 0),
            step(1, EventType::Claimed, Status::Claimed, 100),
            step(1, EventType::InProgress, Status::InProgress, 150),
            step(1, EventType::Blocked, Status::Blocked, 200),
            step(1, EventType::InProgress, Status::InProgress, 500),
            step(1, EventType::Done, Status::Done, 600),
            step(2, EventType::Created, Status::Pending, 300),
        ];
        let work = work([1, 2]);
        let lives = lives(&steps, &work);
        let groups = groups(&lives, Millis(1_000));
        assert_eq!(groups.len(), 2);
        let one = &groups[0];
        assert_eq!(
            (one.by.as_str(), one.name.as_str(), one.threads),
            ("to", "role:dev", 2)
        );
        assert_eq!(one.to_claim, Some(Spread { p50: 100, p90: 100 }));
        assert_eq!(one.blocked, Some(Spread { p50: 300, p90: 300 }));
        assert_eq!(one.to_done, Some(Spread { p50: 600, p90: 600 }));
        assert_eq!(latest(&lives)[0].steps.len(), 6);
        let totals = totals(&steps, &lives);
        assert_eq!((totals.opened, totals.claimed, totals.done), (2, 1, 1));
    }

    #[test]
    fn what_waited_is_counted_back_from_now() {
        let steps = [
            step(1, EventType::Claimed, Status::Claimed, 100),
            step(2, EventType::Created, Status::Pending, 500),
        ];
        let parts = parts(&steps, (Millis(0), Millis(960)), 3);
        let queued: Vec<i64> = parts.iter().map(|part| part.queued).collect();
        assert_eq!((queued[0], queued[10], queued[47]), (3, 2, 3));
        assert_eq!(parts.iter().map(|part| part.opened).sum::<i64>(), 1);
    }
}

//! What reaches people outside of the store: urgent mail and questions one by one, the rest summed up.
//!
//! For each person and each way there is a place up to which mail was looked at. What is found after it becomes a notice, which is kept until
//! it is sent, needless or too old. Whoever sends one has it for a while; when they die over it, somebody else sends it again under the same id.
//! Who sends, and how, is in `surfaces/src/notify.rs`.

mod about;

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use inbox_core::{AgentName, EventId, Message, Refusal};
use inbox_store::{Abort, NewNotice, NoticeState, NoticesWaiting, ReachRow, Tx};
use jiff::tz::TimeZone;
use sha2::{Digest as _, Sha256};

pub use about::{About, NoticeSort};
use about::{about, rest};

use crate::call::Inbox;
use crate::read::unread;
use crate::step::thread;

/// How many messages are looked at in one transaction.
const PAGE: i64 = 100;

/// A place that is so many events behind is moved although nothing was found.
const BEHIND: i64 = 256;

/// How many notices that have become needless are passed over in one transaction.
const NEEDLESS: usize = 50;

const SECOND: i64 = 1000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// How long notices are remembered that wait no more.
const KEPT: i64 = 30 * DAY;

/// Something to tell a person.
#[derive(Debug, Clone)]
pub struct Notice {
    /// Its id, the same whenever it is sent.
    pub id: String,
    /// What it is.
    pub sort: NoticeSort,
    /// Who is told.
    pub person: AgentName,
    /// What of.
    pub about: About,
    number: i64,
    reach_no: i64,
    tries: i64,
    created_at: Millis,
}

impl Notice {
    /// A notice that is only a try.
    pub fn test(person: AgentName, now: Millis) -> Self {
        Notice {
            id: id(&person, &format!("test {now}")),
            sort: NoticeSort::Test,
            person,
            about: About::Nothing,
            number: 0,
            reach_no: 0,
            tries: 0,
            created_at: now,
        }
    }
}

/// What is the same whenever somebody is told of the same. It has no full stop in it, which would end it where it is signed.
fn id(person: &AgentName, what: &str) -> String {
    let digest = Sha256::digest(format!("{person}\n{what}"));
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("ntc_{}", &hex[..32])
}

impl Inbox {
    /// Who is told: the people that are named, else those on the roster, else whoever is called `human`.
    pub fn people_told(&self) -> Result<Vec<AgentName>, Refusal> {
        let named = &self.config().notify.people;
        if !named.is_empty() {
            return Ok(named.clone());
        }
        let mut found = self.store().read(|tx| Ok(tx.humans()?))?;
        if found.is_empty() {
            found.push("human".parse()?);
        }
        Ok(found)
    }

    /// Makes notices of what is new for a person.
    pub fn gather_notices(&self, person: &AgentName, reach: &str) -> Result<(), Refusal> {
        loop {
            let is_needed = self.read(|tx| self.is_behind(tx, person, reach))?;
            if !is_needed {
                return Ok(());
            }
            let written = self.store().write(|tx| self.gather(tx, person, reach))?;
            if !written.value {
                return Ok(());
            }
        }
    }

    fn is_behind(&self, tx: &mut Tx<'_>, person: &AgentName, reach: &str) -> Result<bool, Abort> {
        let newest = tx.newest_event()?;
        let Some(found) = tx.reach(person, reach)? else {
            return Ok(true);
        };
        if newest.0 > found.seen.0 + BEHIND || self.is_time(tx, &found)? {
            return Ok(true);
        }
        let reader = tx.reader(person, None)?;
        let (new, _) = unread(tx, &reader, found.seen, 1)?;
        Ok(newest > found.seen && !new.is_empty())
    }

    /// Whether it is time to sum up the rest.
    fn is_time(&self, tx: &Tx<'_>, reach: &ReachRow) -> Result<bool, Refusal> {
        let rhythm = self.config().notify.rhythm()?;
        let zone = TimeZone::system();
        Ok(rhythm.is_some_and(|rhythm| rhythm.next(reach.summed_at, &zone) <= tx.now()))
    }

    /// Makes notices of the first that is new; whether there may be more.
    fn gather(&self, tx: &mut Tx<'_>, person: &AgentName, reach: &str) -> Result<bool, Abort> {
        let newest = tx.newest_event()?;
        let found = match tx.reach(person, reach)? {
            Some(found) => found,
            None => {
                tx.insert_reach(person, reach)?;
                let made = tx.reach(person, reach)?;
                made.ok_or_else(|| Refusal::new(inbox_core::Code::Storage, "a reach is not kept"))?
            }
        };
        let reader = tx.reader(person, None)?;
        let (new, is_cut) = unread(tx, &reader, found.seen, PAGE)?;
        for (_, message) in &new {
            let row = thread(tx, message.thread_id)?;
            if let Some(sort) = NoticeSort::of(message, &row.thread) {
                self.keep_notice(tx, &found, sort, message)?;
            }
        }
        let passed = match new.last() {
            Some((event, _)) if is_cut => *event,
            _ => newest,
        };
        tx.pass_reach(found.reach_no, passed)?;
        if !is_cut && self.is_time(tx, &found)? {
            let (rest, _) = rest(tx, &reader, found.summed)?;
            let is_first = tx.sum_reach(&found, newest)?;
            if is_first && !rest.is_empty() {
                let what = format!("digest {} {}", found.name, found.summed_at);
                let new = NewNotice {
                    uid: id(person, &what),
                    sort: NoticeSort::Digest as i64,
                    message: None,
                    since: found.summed,
                    state: NoticeState::Waits,
                    due_at: tx.now(),
                };
                tx.insert_notice(found.reach_no, &new)?;
            }
            tx.forget_notices(found.reach_no, Millis(tx.now().0 - KEPT))?;
        }
        Ok(is_cut)
    }

    /// Keeps a notice of a message; when there were too many, one for all that are too much.
    fn keep_notice(
        &self,
        tx: &mut Tx<'_>,
        reach: &ReachRow,
        sort: NoticeSort,
        message: &Message,
    ) -> Result<(), Abort> {
        let (now, rules) = (tx.now(), &self.config().notify);
        let hour = (Millis(now.0 - HOUR), now);
        let is_too_much = tx.count_notices(reach.reach_no, hour, false)? >= rules.at_most_per_hour;
        let since = message.created_at.0.min(now.0);
        let new = NewNotice {
            uid: id(&reach.person, &message.uid),
            sort: sort as i64,
            message: Some(message.message_id),
            since: EventId(0),
            state: if is_too_much {
                NoticeState::Counted
            } else {
                NoticeState::Waits
            },
            due_at: Millis(since + rules.patience_seconds * SECOND),
        };
        let is_new = tx.insert_notice(reach.reach_no, &new)?;
        if is_new && is_too_much {
            let ends = Millis((now.0 / HOUR + 1) * HOUR);
            let what = format!("more {} {ends}", reach.name);
            let more = NewNotice {
                uid: id(&reach.person, &what),
                sort: NoticeSort::More as i64,
                message: None,
                since: EventId(0),
                state: NoticeState::Waits,
                due_at: ends,
            };
            tx.insert_notice(reach.reach_no, &more)?;
        }
        Ok(())
    }

    /// Takes the next notice that is due, for so long. What has become needless is passed over.
    pub fn take_notice(
        &self,
        person: &AgentName,
        reach: &str,
        for_ms: i64,
    ) -> Result<Option<Notice>, Refusal> {
        loop {
            // Most looks find nothing, and write nothing.
            let is_due = self.store().read(|tx| match tx.reach(person, reach)? {
                Some(found) if found.next_at <= tx.now() => {
                    Ok(tx.due_notice(found.reach_no)?.is_some())
                }
                _ => Ok(false),
            })?;
            if !is_due {
                return Ok(None);
            }
            let taken = self.store().write(|tx| {
                let Some(found) = tx.reach(person, reach)? else {
                    return Ok(None);
                };
                for _ in 0..NEEDLESS {
                    let Some(row) = tx.due_notice(found.reach_no)? else {
                        return Ok(None);
                    };
                    let sort = NoticeSort::from_code(row.sort);
                    let about = match sort {
                        Some(sort) => about(tx, &found, &row, sort)?,
                        None => None,
                    };
                    let Some((sort, about)) = sort.zip(about) else {
                        tx.end_notice(row.notice_no, NoticeState::Needless)?;
                        continue;
                    };
                    let for_ms = if planted("notice_untaken") { 0 } else { for_ms };
                    let Some(tries) = tx.take_notice(row.notice_no, for_ms)? else {
                        continue;
                    };
                    return Ok(Some(Notice {
                        id: row.uid,
                        sort,
                        person: person.clone(),
                        about,
                        number: row.notice_no,
                        reach_no: found.reach_no,
                        tries,
                        created_at: row.created_at,
                    }));
                }
                Ok(None)
            })?;
            if taken.value.is_some() {
                return Ok(taken.value);
            }
        }
    }

    /// Remembers that a notice was sent.
    pub fn notice_sent(&self, notice: &Notice) -> Result<(), Refusal> {
        let written = self.store().write(|tx| {
            tx.end_notice(notice.number, NoticeState::Sent)?;
            Ok(tx.reach_worked(notice.reach_no)?)
        });
        written.map(drop)
    }

    /// Remembers that a notice could not be sent, and why. It is tried again, each time after a longer while, for a day.
    pub fn notice_failed(&self, notice: &Notice, problem: &str) -> Result<(), Refusal> {
        let written = self.store().write(|tx| {
            let patience = self.config().notify.patience_seconds * SECOND;
            if tx.now().0 > notice.created_at.0 + patience + DAY {
                tx.end_notice(notice.number, NoticeState::GivenUp)?;
            } else {
                let pause = pause(notice.tries, 5 * SECOND, HOUR);
                tx.delay_notice(notice.number, pause, problem)?;
            }
            let reaches = tx.reaches()?;
            let found = reaches
                .iter()
                .find(|(reach, _)| reach.reach_no == notice.reach_no);
            let tries = found.map_or(0, |(reach, _)| reach.tries);
            let pause = pause(tries + 1, SECOND, 300 * SECOND);
            Ok(tx.reach_failed(notice.reach_no, pause, problem)?)
        });
        written.map(drop)
    }

    /// Leaves a notice that was taken to whoever comes next.
    pub fn notice_left(&self, notice: &Notice) -> Result<(), Refusal> {
        let written = self
            .store()
            .write(|tx| Ok(tx.delay_notice(notice.number, 0, "")?));
        written.map(drop)
    }

    /// When something may be to do next for a person, unless something new comes before.
    pub fn next_notice_at(
        &self,
        person: &AgentName,
        reach: &str,
    ) -> Result<Option<Millis>, Refusal> {
        let rhythm = self.config().notify.rhythm()?;
        self.store().read(|tx| {
            let Some(found) = tx.reach(person, reach)? else {
                return Ok(None);
            };
            let next = tx.next_notice(found.reach_no)?;
            let next = next.map(|next| next.max(found.next_at));
            let zone = TimeZone::system();
            let summed = rhythm.map(|rhythm| rhythm.next(found.summed_at, &zone));
            Ok(next.into_iter().chain(summed).min())
        })
    }

    /// By what everybody is told, and what waits for each.
    pub fn reaches(&self) -> Result<Vec<(ReachRow, NoticesWaiting)>, Refusal> {
        self.store().read(|tx| Ok(tx.reaches()?))
    }
}

/// How long to wait after so many failures.
fn pause(tries: i64, first: i64, most: i64) -> i64 {
    let doublings = u32::try_from(tries.clamp(1, 20) - 1).unwrap_or_default();
    first.saturating_mul(1 << doublings).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_tried_again_after_longer_and_longer() {
        let pauses: Vec<i64> = (0..6).map(|tries| pause(tries, 5, 60)).collect();
        assert_eq!(pauses, [5, 5, 10, 20, 40, 60]);
        assert_eq!(pause(i64::MAX, SECOND, HOUR), HOUR);
    }

    #[test]
    fn an_id_is_the_same_for_the_same_and_can_be_signed() {
        let person: AgentName = "anna.b".parse().unwrap();
        let other: AgentName = "anna".parse().unwrap();
        assert_eq!(id(&person, "x"), id(&person, "x"));
        assert_ne!(id(&person, "x"), id(&other, "x"));
        assert!(!id(&person, "x").contains('.'));
    }
}

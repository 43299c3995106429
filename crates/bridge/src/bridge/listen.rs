//! What stands on the topics is taken in: each message once, in order, and no topic waits for the flood on another.
//!
//! Every topic has its turn for one page of messages before any has the next. A page is fetched while others are, and is taken in as one
//! transaction with how far its topic was read.

use std::sync::PoisonError;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_core::{Code, Refusal};
use inbox_hcs::{Refused, Sequence, TopicId};
use inbox_hedera::mirror::MessageFacts;
use inbox_ops::ledger::{Finding, Meaning};
use inbox_store::{LedgerRecord, RecordState, TopicRow};

use super::doubt::Doubts;
use super::reading::{Added, Reading, is_put_back};
use super::{Bridge, Readings, Turn, id_of};
use crate::told::Told;

/// How many pages of a topic are taken in before something else is looked at.
pub(super) const ROUNDS: usize = 10;

/// How many messages a full page has: there may be more after it.
const FULL: usize = 100;

/// How many pages are fetched at once.
const FETCHERS: usize = 8;

/// What came of looking at a topic once.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// The topic as it stands now.
    pub(super) topic: TopicRow,
    /// The last message that was read.
    pub(super) seen: i64,
    /// How many messages there were.
    pub(super) read: usize,
    /// What the network did not do.
    pub(super) problem: Option<String>,
    /// Whether another has it.
    pub(super) is_lost: bool,
}

impl Look {
    /// Whether there is more to read right away.
    pub(super) fn has_more(&self) -> bool {
        // One of a page is the message that was read before.
        self.read + 1 >= FULL && self.problem.is_none() && !self.is_lost
    }
}

impl Bridge<'_> {
    /// Takes in what is there, up to so many pages of each topic.
    pub(super) fn listen(
        &self,
        topics: Vec<TopicRow>,
        readings: &mut Readings,
        turn: &mut Turn,
    ) -> Result<(), Refusal> {
        let mut left = topics;
        for _ in 0..ROUNDS {
            let looks = self.look(&left, readings, turn)?;
            let more = looks.into_iter().filter(Look::has_more);
            left = more.map(|look| look.topic).collect();
            if left.is_empty() {
                break;
            }
            self.renew()?;
        }
        Ok(())
    }

    /// Takes in one page of each topic.
    pub(super) fn look(
        &self,
        topics: &[TopicRow],
        readings: &mut Readings,
        turn: &mut Turn,
    ) -> Result<Vec<Look>, Refusal> {
        let mut looks = Vec::new();
        for some in topics.chunks(FETCHERS) {
            // Another had it meanwhile, or it is new here: what was read is forgotten.
            for topic in some {
                let is_there = readings.get(&topic.topic_no);
                let is_there =
                    is_there.is_some_and(|reading| reading.cursor().sequence == topic.sequence);
                if !is_there {
                    readings.insert(topic.topic_no, Reading::at(topic));
                }
            }
            let pages = self.fetch(some, readings);
            for (topic, page) in some.iter().zip(pages) {
                looks.push(self.take_page(topic, page, readings, turn)?);
            }
        }
        Ok(looks)
    }

    /// The next page of each of a few topics.
    fn fetch(
        &self,
        topics: &[TopicRow],
        readings: &Readings,
    ) -> Vec<Result<Vec<MessageFacts>, Refusal>> {
        let one = |topic: &TopicRow| {
            let seen = readings.get(&topic.topic_no).map_or(0, Reading::seen);
            // From the last one on, so that it is seen whether that is still the same.
            let before = seen.saturating_sub(1);
            let after = u64::try_from(before).ok().and_then(Sequence::new);
            self.mirror.messages(id_of(topic)?, after).told()
        };
        match topics {
            [topic] => vec![one(topic)],
            many => std::thread::scope(|scope| {
                let asked: Vec<_> = many
                    .iter()
                    .map(|topic| scope.spawn(|| one(topic)))
                    .collect();
                let died = || Refusal::new(Code::Internal, "a thread that fetched a page died");
                let join = |page: std::thread::ScopedJoinHandle<'_, _>| {
                    page.join().unwrap_or_else(|_| Err(died()))
                };
                asked.into_iter().map(join).collect()
            }),
        }
    }

    fn take_page(
        &self,
        topic: &TopicRow,
        page: Result<Vec<MessageFacts>, Refusal>,
        readings: &mut Readings,
        turn: &mut Turn,
    ) -> Result<Look, Refusal> {
        let mut look = Look {
            topic: topic.clone(),
            seen: topic.sequence,
            read: 0,
            problem: None,
            is_lost: false,
        };
        let taken = page.and_then(|page| self.take(&mut look, &page, readings, turn));
        self.note_history(topic.topic_no, taken.as_ref().err());
        match taken {
            Ok(()) if topic.problem.is_some() && look.topic.problem.is_some() => {
                self.inbox.clear_topic_problem(topic.topic_no)?;
                look.topic.problem = None;
            }
            Ok(()) => {}
            Err(refusal) if refusal.code == Code::Ledger => {
                turn.problems += 1;
                if look.topic.problem.as_ref() != Some(&refusal.message) {
                    self.inbox
                        .set_topic_problem(topic.topic_no, &refusal.message)?;
                    look.topic.problem = Some(refusal.message.clone());
                }
                look.problem = Some(refusal.message);
            }
            Err(refusal) => return Err(refusal),
        }
        if look.is_lost {
            readings.remove(&topic.topic_no);
        }
        look.seen = readings
            .get(&topic.topic_no)
            .map_or(look.topic.sequence, Reading::seen);
        Ok(look)
    }

    /// Remembers of a topic that it was put back, until it is read again.
    fn note_history(&self, topic_no: i64, refusal: Option<&Refusal>) {
        let mut put_back = self.put_back.lock().unwrap_or_else(PoisonError::into_inner);
        match refusal {
            None => drop(put_back.remove(&topic_no)),
            Some(refusal) if is_put_back(refusal) => {
                put_back.insert(topic_no, refusal.clone());
            }
            Some(_) => {}
        }
    }

    /// Takes in what can be: up to the first message that the mirror does not have as it should.
    fn take(
        &self,
        look: &mut Look,
        page: &[MessageFacts],
        readings: &mut Readings,
        turn: &mut Turn,
    ) -> Result<(), Refusal> {
        let id = id_of(&look.topic)?;
        let topic_no = look.topic.topic_no;
        let mut reading = readings
            .remove(&topic_no)
            .unwrap_or_else(|| Reading::at(&look.topic));
        let mut batch: Vec<Finding> = Vec::new();
        let mut doubts = Doubts::default();
        self.forget_accounts();
        let page = match reading.anchored(id, page) {
            Ok(page) => page,
            Err(refusal) => {
                readings.insert(topic_no, reading);
                return Err(refusal);
            }
        };
        if let Err(refusal) = self.must_be_behind(id, &reading) {
            readings.insert(topic_no, reading);
            return Err(refusal);
        }
        if page.is_empty() && !self.is_sure(id, &mut reading)? {
            // It is read again at once, from where nothing was put together.
            (look.read, turn.read) = (FULL, turn.read + 1);
            return Ok(());
        }
        for message in page {
            let Added { whole, loose } = match reading.add(id, message) {
                Ok(added) => added,
                Err(refusal) => {
                    self.flush(look, &mut batch, &reading, turn)?;
                    readings.insert(topic_no, reading);
                    return Err(refusal);
                }
            };
            look.read += 1;
            turn.read += 1;
            let is_judged = reading.seen() <= look.topic.taken;
            let to = reading.cursor();
            let judged = self.loose(id, loose, &to, &mut doubts).and_then(|late| {
                let found = match whole {
                    Ok(None) => None,
                    _ if is_judged => None,
                    whole => Some(self.judge(&look.topic, id, whole, message, &mut doubts)?),
                };
                Ok((late, found))
            });
            let (late, found) = match judged {
                Ok(judged) => judged,
                Err(refusal) => {
                    // It is read again: what was put together with it is not taken in.
                    self.commit_found(look, &mut batch, turn)?;
                    return Err(refusal);
                }
            };
            batch.extend(late);
            let Some((bytes, meaning)) = found else {
                continue;
            };
            let is_plain = meaning.is_plain();
            if batch.iter().any(|one| meaning.follows(&one.meaning))
                && !self.commit_found(look, &mut batch, turn)?
            {
                return Ok(());
            }
            let record = record(&reading, message, &bytes);
            batch.push(Finding {
                to,
                record,
                meaning,
                is_late: false,
            });
            if !is_plain && !self.flush(look, &mut batch, &reading, turn)? {
                return Ok(());
            }
        }
        if self.flush(look, &mut batch, &reading, turn)? {
            readings.insert(topic_no, reading);
        }
        Ok(())
    }

    /// What a message means that is whole, or why it is nothing; with its bytes.
    fn judge(
        &self,
        topic: &TopicRow,
        id: TopicId,
        whole: Result<Option<Vec<u8>>, Refused>,
        message: &MessageFacts,
        doubts: &mut Doubts,
    ) -> Result<(Vec<u8>, Meaning), Refusal> {
        let (bytes, meaning) = match whole {
            Ok(bytes) => {
                let bytes = bytes.unwrap_or_default();
                let meaning = self.meaning(topic, &bytes, message)?;
                (bytes, meaning)
            }
            Err(refused) => (
                message.message.clone(),
                Meaning::Nothing(RecordState::Unreadable, refused.to_string()),
            ),
        };
        if matches!(meaning, Meaning::Nothing(RecordState::Unreadable, _)) {
            self.must_mean(id, topic, message, doubts)?;
        }
        Ok((bytes, meaning))
    }

    /// Takes in a batch, and goes on to where its last message is.
    fn commit_found(
        &self,
        look: &mut Look,
        batch: &mut Vec<Finding>,
        turn: &mut Turn,
    ) -> Result<bool, Refusal> {
        match batch.last().map(|last| last.to.clone()) {
            Some(to) => self.commit(look, batch, &to, turn),
            None => Ok(true),
        }
    }

    /// Takes in a batch, and goes on to where the reading is. Whether the topic is still this bridge's.
    fn flush(
        &self,
        look: &mut Look,
        batch: &mut Vec<Finding>,
        reading: &Reading,
        turn: &mut Turn,
    ) -> Result<bool, Refusal> {
        self.commit(look, batch, &reading.cursor(), turn)
    }

    fn commit(
        &self,
        look: &mut Look,
        batch: &mut Vec<Finding>,
        to: &inbox_store::Cursor,
        turn: &mut Turn,
    ) -> Result<bool, Refusal> {
        if batch.is_empty() && to.sequence == look.topic.sequence {
            return Ok(true);
        }
        let Some(taken) = self.inbox.take_in_found(&look.topic, to, batch)? else {
            look.is_lost = true;
            return Ok(false);
        };
        turn.taken += u64::try_from(batch.len()).unwrap_or_default();
        batch.clear();
        look.topic.sequence = to.sequence;
        look.topic.time.clone_from(&to.time);
        look.topic.hash.clone_from(&to.hash);
        look.topic.taken = taken;
        look.topic.problem = None;
        Ok(true)
    }
}

fn record(reading: &Reading, message: &MessageFacts, bytes: &[u8]) -> LedgerRecord {
    LedgerRecord {
        sequence: reading.seen(),
        time: message.time.to_string(),
        payer: message.payer.to_string(),
        hash: reading.hash(),
        state: RecordState::Passed,
        uid: None,
        reason: None,
        content: encoded(bytes),
    }
}

/// Bytes as a record has them.
pub(super) fn encoded(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

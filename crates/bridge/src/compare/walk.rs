//! One topic and what the store has of it, side by side.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_core::{AgentName, Code, MessageId, Refusal};
use inbox_hcs::{AccountId, Assembler, Hash, RunningHash, Sequence, TopicId};
use inbox_hedera::mirror::{MessageFacts, Mirror};
use inbox_ops::Inbox;
use inbox_store::{LedgerRecord, RecordState, TopicPlace, TopicRow};
use serde_json::Value;

use super::chain::{Chain, Linked, submission};
use super::content::{self, cut};
use super::pager::Pager;
use super::swap::{Odd, Odds};
use super::{Compared, Difference, Mismatch, Report};
use crate::history;
use crate::told::Told;
use crate::truth::{Truth, truth};

/// A message that the topic has and the store has not.
pub(super) struct Lost {
    topic: Option<String>,
    sequence: u64,
    pub(super) uid: String,
    /// What it says, whatever it is called.
    pub(super) digest: Hash,
}

impl Lost {
    pub(super) fn missing(&self) -> Mismatch {
        Mismatch {
            difference: Difference::Missing,
            field: "message",
            topic: self.topic.clone(),
            sequence: Some(self.sequence),
            message: None,
            uid: Some(self.uid.clone()),
            what: format!("the store has no message {}", self.uid),
        }
    }
}

/// What came of a topic.
pub(super) struct Walked {
    pub(super) compared: Compared,
    /// Messages that the store has not.
    pub(super) lost: Vec<Lost>,
    /// Messages that the topic has, and that what was kept of it does not name.
    pub(super) unnamed: Vec<String>,
}

pub(super) struct Walk<'w> {
    inbox: &'w Inbox,
    mirror: &'w Mirror,
    row: &'w TopicRow,
    id: TopicId,
    report: &'w mut Report,
    chain: Chain,
    assembler: Assembler,
    records: Pager<'w>,
    odds: Odds,
    lost: Vec<Lost>,
    /// Messages that the topic has, and that what was kept of it does not name.
    unnamed: Vec<String>,
    /// Of which payers messages were counted and not kept, and how many: too many of them count for nothing. Without a payer those for which
    /// the topic had no room.
    floods: HashMap<Option<String>, i64>,
    /// The last message of each sender here.
    order: HashMap<(AgentName, bool), MessageId>,
    compared: Compared,
}

/// A message of the topic that is whole, or cannot be put together.
struct Whole<'m> {
    facts: &'m MessageFacts,
    linked: &'m Linked,
    bytes: Vec<u8>,
    is_broken: bool,
}

impl<'w> Walk<'w> {
    pub(super) fn new(
        inbox: &'w Inbox,
        mirror: &'w Mirror,
        row: &'w TopicRow,
        id: TopicId,
        report: &'w mut Report,
    ) -> Self {
        Walk {
            inbox,
            mirror,
            row,
            id,
            report,
            chain: Chain::new(id),
            assembler: Assembler::default(),
            records: Pager::new(inbox, row.topic_no),
            odds: Odds::default(),
            lost: Vec::new(),
            unnamed: Vec::new(),
            floods: HashMap::new(),
            order: HashMap::new(),
            compared: Compared {
                topic: row.clone(),
                messages: 0,
                records: 0,
                mail: 0,
                ahead: 0,
                last: None,
            },
        }
    }

    /// Goes through all of it.
    pub(super) fn run(mut self) -> Result<Walked, Refusal> {
        let mut last: Option<Sequence> = None;
        self.floods = self
            .inbox
            .floods_of(self.row.topic_no)?
            .into_iter()
            .collect();
        loop {
            let mut page = self.mirror.messages(self.id, last).told()?;
            if page.is_empty() && self.records.number()?.is_some() {
                // What a bridge took in meanwhile is there now.
                page = self.mirror.messages(self.id, last).told()?;
            }
            let Some(newest) = page.last() else {
                break;
            };
            last = Some(newest.sequence);
            for message in &page {
                self.see(message)?;
            }
        }
        while let Some(record) = self.records.next_to(i64::MAX)? {
            self.added(&record);
        }
        let newest = last.map_or(0, Sequence::get);
        let cursor = self.row.sequence.max(self.row.taken);
        if u64::try_from(cursor).unwrap_or(0) > newest {
            self.wrong(
                Difference::Changed,
                "cursor",
                Some(newest),
                format!("the store has read up to {cursor}, and the topic ends with {newest}"),
            );
        }
        for mismatch in std::mem::take(&mut self.odds).finish() {
            self.report.add(mismatch);
        }
        self.compared.last = self.chain.last();
        Ok(Walked {
            compared: self.compared,
            lost: self.lost,
            unnamed: self.unnamed,
        })
    }

    fn mismatch(
        &self,
        difference: Difference,
        field: &'static str,
        sequence: Option<u64>,
        what: String,
    ) -> Mismatch {
        Mismatch {
            difference,
            field,
            topic: self.row.topic.clone(),
            sequence,
            message: None,
            uid: None,
            what,
        }
    }

    fn wrong(
        &mut self,
        difference: Difference,
        field: &'static str,
        sequence: Option<u64>,
        what: String,
    ) {
        let mismatch = self.mismatch(difference, field, sequence, what);
        self.report.add(mismatch);
    }

    fn odd(&mut self, odd: Odd) {
        for mismatch in self.odds.add(odd) {
            self.report.add(mismatch);
        }
    }

    fn added(&mut self, record: &LedgerRecord) {
        let what = format!(
            "the store has kept a message {} that the topic has not",
            record.sequence
        );
        let mut mismatch = self.mismatch(
            Difference::Added,
            "record",
            u64::try_from(record.sequence).ok(),
            what,
        );
        mismatch.uid.clone_from(&record.uid);
        self.odd(Odd {
            number: record.sequence,
            store: Some(Hash::of(record.content.as_bytes())),
            topic: None,
            mismatches: vec![mismatch],
        });
    }

    fn see(&mut self, message: &MessageFacts) -> Result<(), Refusal> {
        self.compared.messages += 1;
        let number = i64::try_from(message.sequence.get()).unwrap_or(i64::MAX);
        let mut linked = self.chain.add(message);
        while let Some(record) = self.records.next_to(number - 1)? {
            self.added(&record);
        }
        let piece = history::piece(message);
        let put = self.assembler.add_at(
            (message.sequence, message.time),
            message.payer,
            piece,
            &message.message,
        );
        let whole = match put {
            Ok(None) => None,
            Ok(Some(whole)) => Some((whole.bytes, false)),
            Err(_) => Some((message.message.clone(), true)),
        };
        let record = self.records.next_to(number)?;
        if let Some(mut fault) = linked.fault.take() {
            if self.fits(&linked, message, record.as_ref()) {
                fault
                    .what
                    .push_str("; what the store has kept leads to what it says");
                linked.fault = Some(fault);
            } else {
                linked.fault = None;
                self.wrong(
                    fault.difference,
                    fault.field,
                    Some(message.sequence.get()),
                    fault.what,
                );
            }
        }
        let Some((bytes, is_broken)) = whole else {
            if let Some(record) = record {
                // A piece of a message that never came whole is kept as it stands there.
                let is_piece = record.state == RecordState::Unreadable
                    && record.content == STANDARD.encode(&message.message);
                if is_piece {
                    self.compared.records += 1;
                } else {
                    self.added(&record);
                }
            }
            return Ok(());
        };
        if let Some(fault) = linked.fault.take() {
            // The mirror has other bytes than the network hashed, and the store has the right ones.
            self.wrong(
                fault.difference,
                "message",
                Some(message.sequence.get()),
                fault.what,
            );
            self.compared.records += 1;
            return Ok(());
        }
        let whole = Whole {
            facts: message,
            linked: &linked,
            bytes,
            is_broken,
        };
        match record {
            Some(record) => self.compare(&whole, &record),
            None if number <= self.row.sequence.max(self.row.taken) => self.missing(&whole),
            None => {
                self.compared.ahead += 1;
                Ok(())
            }
        }
    }

    /// Whether what was kept leads to the hash that the mirror says, where what the mirror has does not.
    fn fits(&self, linked: &Linked, message: &MessageFacts, record: Option<&LedgerRecord>) -> bool {
        let Some(bytes) = record.and_then(|record| STANDARD.decode(&record.content).ok()) else {
            return false;
        };
        let mut submission = submission(self.id, message);
        submission.message = &bytes;
        let reported = RunningHash::new(&message.running_hash);
        let mut found = linked.before.iter().map(|hash| hash.next(&submission));
        bytes != message.message && found.any(|hash| Some(hash) == reported)
    }

    fn missing(&mut self, whole: &Whole<'_>) -> Result<(), Refusal> {
        let sequence = whole.facts.sequence;
        let mut mismatch = self.mismatch(
            Difference::Missing,
            "record",
            Some(sequence.get()),
            format!("the store has kept nothing of message {sequence}"),
        );
        let payer = whole.facts.payer;
        let found = truth(self.mirror, self.row.place, &whole.bytes, payer)?;
        let mut is_lost = false;
        if let Truth::Mail { uid, wire } = &found {
            mismatch.uid = Some(uid.clone());
            is_lost = self.inbox.kept(uid)?.is_none() && self.is_ours(wire)?;
        }
        if !is_lost && self.is_counted(payer) {
            return Ok(());
        }
        if let Truth::Mail { uid, wire } = found {
            self.unnamed.push(uid.clone());
            if is_lost {
                self.lose(whole, uid, &wire);
            }
        }
        self.odd(Odd {
            number: i64::try_from(sequence.get()).unwrap_or(i64::MAX),
            store: None,
            topic: Some(Hash::of(STANDARD.encode(&whole.bytes).as_bytes())),
            mismatches: vec![mismatch],
        });
        Ok(())
    }

    /// Whether one more of a payer's was counted and not kept: among its own, or among those for which the topic had no room.
    fn is_counted(&mut self, payer: AccountId) -> bool {
        for whose in [Some(payer.to_string()), None] {
            if let Some(left) = self.floods.get_mut(&whose)
                && *left > 0
            {
                *left -= 1;
                return true;
            }
        }
        false
    }

    /// Whether it is from an agent of the roster, so that it counts.
    fn is_ours(&self, wire: &Value) -> Result<bool, Refusal> {
        let topics = self.inbox.ledger_standing()?.topics;
        Ok(topics
            .iter()
            .any(|row| row.place == self.row.place && wire["sender"] == row.name.as_str()))
    }

    fn lose(&mut self, whole: &Whole<'_>, uid: String, wire: &Value) {
        self.lost.push(Lost {
            topic: self.row.topic.clone(),
            sequence: whole.facts.sequence.get(),
            uid,
            digest: content::unnamed(wire),
        });
    }

    fn compare(&mut self, whole: &Whole<'_>, record: &LedgerRecord) -> Result<(), Refusal> {
        self.compared.records += 1;
        let facts = whole.facts;
        let sequence = Some(facts.sequence.get());
        let content = STANDARD.encode(&whole.bytes);
        let hashes: Vec<String> = whole
            .linked
            .hashes
            .iter()
            .map(ToString::to_string)
            .collect();
        let pairs = [
            ("consensus_timestamp", facts.time.to_string(), &record.time),
            ("payer", facts.payer.to_string(), &record.payer),
            ("content", content.clone(), &record.content),
        ];
        let mut wrong: Vec<(&'static str, String)> = pairs
            .into_iter()
            .filter(|(_, topic, store)| topic != *store)
            .map(|(name, topic, store)| (name, said_of_record(name, &topic, store)))
            .collect();
        if !hashes.contains(&record.hash) {
            let (topic, store) = cut(hashes.first().map_or("", String::as_str), &record.hash);
            wrong.push((
                "running_hash",
                format!("the topic has {topic}, and the store {store}"),
            ));
        }
        let found = if whole.is_broken {
            Truth::Other
        } else {
            truth(self.mirror, self.row.place, &whole.bytes, facts.payer)?
        };
        wrong.extend(judged(self.row, record, &found));
        if let Truth::Mail { uid, .. } = &found
            && record.uid.as_ref() != Some(uid)
        {
            self.unnamed.push(uid.clone());
        }
        if !wrong.is_empty() {
            let mismatches = wrong
                .into_iter()
                .map(|(field, what)| {
                    let mut mismatch = self.mismatch(Difference::Changed, field, sequence, what);
                    mismatch.uid.clone_from(&record.uid);
                    mismatch
                })
                .collect();
            self.odd(Odd {
                number: record.sequence,
                store: Some(Hash::of(record.content.as_bytes())),
                topic: Some(Hash::of(content.as_bytes())),
                mismatches,
            });
        }
        self.message(whole, record, found)
    }

    /// The message in the store, beside what the topic says.
    fn message(
        &mut self,
        whole: &Whole<'_>,
        record: &LedgerRecord,
        found: Truth,
    ) -> Result<(), Refusal> {
        if !counts(record.state) {
            return Ok(());
        }
        let Some(uid) = named(self.row, record, &found) else {
            return Ok(());
        };
        let sequence = Some(whole.facts.sequence.get());
        let kept = match self.inbox.kept(&uid) {
            Ok(Some(kept)) => kept,
            Ok(None) => {
                let wire = match found {
                    Truth::Mail { wire, .. } => wire,
                    _ => Value::Null,
                };
                self.lose(whole, uid, &wire);
                return Ok(());
            }
            Err(refusal) if refusal.code == Code::StoreCorrupt => {
                let mut mismatch =
                    self.mismatch(Difference::Changed, "message", sequence, refusal.message);
                mismatch.uid = Some(uid);
                self.report.add(mismatch);
                return Ok(());
            }
            Err(refusal) => return Err(refusal),
        };
        if record.state == RecordState::Repeated {
            return Ok(());
        }
        self.compared.mail += 1;
        let id = kept.message.message_id;
        let sender = kept.message.from_agent.as_str();
        let differ = match &found {
            Truth::Mail { wire, .. } => content::differences(&kept, wire, self.row, record.state),
            Truth::Note { note, text, .. } => content::of_note(&kept, note, text),
            Truth::Step(wire) => content::of_step(&kept, wire),
            Truth::Spoken(texts) => content::of_spoken(&kept, texts),
            Truth::Pointer { sender: named, .. } if named != sender => {
                vec![(
                    "sender",
                    format!("the topic has {named:?}, and the store {sender:?}"),
                )]
            }
            Truth::Pointer { .. } | Truth::Forged(_) | Truth::Other => Vec::new(),
        };
        let mut fields: Vec<_> = differ
            .into_iter()
            .map(|(field, what)| (Difference::Changed, field, what))
            .collect();
        // Whoever says two things says the first one first.
        let key = (
            kept.message.from_agent.clone(),
            record.state == RecordState::Taken,
        );
        let before = self.order.get(&key).filter(|before| **before > id);
        if self.row.place != TopicPlace::Inbound {
            // What is said elsewhere may belong to what was written before.
        } else if let Some(before) = before {
            let what = format!("it stands after {before} on the topic, and before it in the store");
            fields.push((Difference::Reordered, "message", what));
        } else {
            self.order.insert(key, id);
        }
        for (difference, field, what) in fields {
            let mut mismatch = self.mismatch(difference, field, sequence, what);
            mismatch.message = Some(id);
            mismatch.uid = Some(uid.clone());
            self.report.add(mismatch);
        }
        Ok(())
    }
}

/// The UUID of the message that a record is of. What stands for something else than a message has a name of its own.
fn named(row: &TopicRow, record: &LedgerRecord, found: &Truth) -> Option<String> {
    match found {
        Truth::Mail { uid, .. } | Truth::Pointer { uid, .. } => Some(uid.clone()),
        Truth::Note { uid, .. } => uid.clone().or_else(|| record.uid.clone()),
        Truth::Spoken(_) => record.uid.clone(),
        Truth::Step(_) if record.state == RecordState::Taken => record.uid.clone(),
        Truth::Step(_) | Truth::Forged(_) | Truth::Other => {
            let is_message = row.place == TopicPlace::Entity && record.state == RecordState::Taken;
            record.uid.clone().filter(|_| is_message)
        }
    }
}

/// Whether a message of the store belongs to a record.
fn counts(state: RecordState) -> bool {
    matches!(
        state,
        RecordState::Confirmed | RecordState::Taken | RecordState::Repeated
    )
}

fn said_of_record(name: &str, topic: &str, store: &str) -> String {
    if name == "content" {
        // In base64 it says nothing to anybody.
        let plain = |text: &str| {
            let bytes = STANDARD.decode(text);
            bytes.map_or_else(
                |_| text.to_owned(),
                |bytes| String::from_utf8_lossy(&bytes).into_owned(),
            )
        };
        let (topic, store) = cut(&plain(topic), &plain(store));
        return format!("the topic has {topic:?}, and the store {store:?}");
    }
    let (topic, store) = cut(topic, store);
    format!("the topic has {topic}, and the store {store}")
}

/// What is wrong with what became of a message, by what it is.
fn judged(row: &TopicRow, record: &LedgerRecord, found: &Truth) -> Vec<(&'static str, String)> {
    let mut wrong = Vec::new();
    let state = record.state.name();
    if counts(record.state) {
        match found {
            Truth::Mail { uid, .. } if record.uid.as_deref() != Some(uid) => {
                let store = record.uid.as_deref().unwrap_or("nothing");
                wrong.push((
                    "uid",
                    format!("the topic has {uid}, and the store says that it is {store}"),
                ));
            }
            Truth::Forged(why) => {
                wrong.push(("state", format!("the store says {state}, and {why}")));
            }
            _ => {}
        }
    } else if record.reason.is_none() {
        let place = row.place.name();
        wrong.push((
            "state",
            format!("the store says {state} without a reason, on an {place} topic"),
        ));
    }
    wrong
}

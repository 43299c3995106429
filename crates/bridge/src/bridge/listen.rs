//! What stands on the topics is taken in: each message once, in order.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_core::{Code, Refusal};
use inbox_hcs::{RunningHash, Sequence};
use inbox_hedera::mirror::MessageFacts;
use inbox_ops::ledger::Meaning;
use inbox_store::{LedgerRecord, RecordState, TopicRow};

use super::{Bridge, Turn, id_of};
use crate::history;
use crate::told::Told;

impl Bridge<'_> {
    pub(super) fn listen(&mut self, topic: &TopicRow, turn: &mut Turn) -> Result<(), Refusal> {
        let id = id_of(topic)?;
        let mut topic = topic.clone();
        // Another had it meanwhile, or it is new here: what was read is forgotten.
        let reading = self.readings.entry(topic.topic_no).or_default();
        if reading.seen < topic.sequence {
            *reading = super::Reading {
                seen: topic.sequence,
                ..super::Reading::default()
            };
        }
        loop {
            let seen = self
                .readings
                .get(&topic.topic_no)
                .map_or(topic.sequence, |reading| reading.seen);
            let after = u64::try_from(seen).ok().and_then(Sequence::new);
            let page = self.mirror.messages(id, after).told()?;
            if page.is_empty() {
                return Ok(());
            }
            for message in &page {
                if !self.take(&mut topic, message, turn)? {
                    return Ok(());
                }
            }
        }
    }

    /// Takes in a message, or a piece of one. Whether the topic is still this bridge's to go on with.
    fn take(
        &mut self,
        topic: &mut TopicRow,
        message: &MessageFacts,
        turn: &mut Turn,
    ) -> Result<bool, Refusal> {
        let number = i64::try_from(message.sequence.get()).unwrap_or(i64::MAX);
        let reading = self.readings.entry(topic.topic_no).or_default();
        let expected = reading.seen + 1;
        if number != expected {
            return Err(Refusal::new(
                Code::Ledger,
                format!("message {number} follows on the mirror, and {expected} was expected"),
            ));
        }
        let piece = history::piece(message);
        let added = reading
            .assembler
            .add(message.sequence, message.payer, piece, &message.message);
        reading.seen = number;
        let to = reading.assembler.first_open().map_or(number, |open| {
            i64::try_from(open.get()).unwrap_or(number) - 1
        });
        let (bytes, meaning) = match added {
            Ok(None) => return Ok(true),
            Ok(Some(whole)) => {
                let meaning = self.meaning(topic, &whole.bytes, message)?;
                (whole.bytes, meaning)
            }
            Err(refused) => (
                message.message.clone(),
                Meaning::Nothing(RecordState::Unreadable, refused.to_string()),
            ),
        };
        let hash = RunningHash::new(&message.running_hash);
        let record = LedgerRecord {
            sequence: number,
            time: message.time.to_string(),
            payer: message.payer.to_string(),
            hash: hash.map(|hash| hash.to_string()).unwrap_or_default(),
            state: RecordState::Passed,
            uid: None,
            reason: None,
            content: STANDARD.encode(bytes),
        };
        let kept = self.inbox.take_in_record(topic, to, &record, &meaning)?;
        if kept.is_none() {
            self.readings.remove(&topic.topic_no);
            return Ok(false);
        }
        topic.sequence = to;
        turn.taken += 1;
        Ok(true)
    }
}

//! What stands on the topics is taken in: each message once, in order, and believed only if who paid for it is whom it names.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use inbox_core::{Code, Refusal};
use inbox_hcs::{Data, InboundMessage, Operation, Place, RunningHash, Sequence, read};
use inbox_hedera::mirror::MessageFacts;
use inbox_ops::ledger::Meaning;
use inbox_store::{LedgerRecord, RecordState, TopicRow};
use serde_json::Value;

use super::{Bridge, Turn, id_of};
use crate::told::Told;
use crate::{file, history};

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
                let meaning = self.meaning(&whole.bytes, message)?;
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

    fn meaning(&self, bytes: &[u8], message: &MessageFacts) -> Result<Meaning, Refusal> {
        let nothing = |state, reason: String| Ok(Meaning::Nothing(state, reason));
        let operation = match read(bytes, Place::Inbound) {
            Ok((operation, _)) => operation,
            Err(refused) => return nothing(RecordState::Unreadable, refused.to_string()),
        };
        match operation {
            Operation::InboundMessage(said) => self.said(&said, message),
            Operation::ConnectionRequest(_) | Operation::ConnectionCreated(_) => {
                nothing(RecordState::Passed, "it is about a connection".into())
            }
            _ => nothing(RecordState::Passed, "it is no mail".into()),
        }
    }

    fn said(&self, said: &InboundMessage, message: &MessageFacts) -> Result<Meaning, Refusal> {
        let nothing = |state, reason: String| Ok(Meaning::Nothing(state, reason));
        let (named, payer) = (said.operator.account, message.payer);
        if named != payer {
            let reason = format!("it names {named}, and {payer} paid for it");
            return nothing(RecordState::Unverified, reason);
        }
        let Some((from, inbound)) = self.inbox.agent_of_account(&payer.to_string())? else {
            let reason = format!("{payer} is nobody's account here, and has no connection");
            return nothing(RecordState::Unverified, reason);
        };
        let topic = said.operator.inbound_topic.to_string();
        if topic != inbound {
            let reason = format!("it names {topic}, and {from} hears on {inbound}");
            return nothing(RecordState::Unverified, reason);
        }
        let text = match self.text(&said.data)? {
            Ok(text) => text,
            Err(reason) => return nothing(RecordState::Unreadable, reason),
        };
        let wire: Value = match serde_json::from_str(&text) {
            Ok(wire) => wire,
            Err(error) => return nothing(RecordState::Unreadable, format!("no Wire: {error}")),
        };
        if wire["sender"] != from.as_str() {
            let reason = format!(
                "its Wire is from {}, and {from} paid for it",
                wire["sender"]
            );
            return nothing(RecordState::Unverified, reason);
        }
        Ok(Meaning::Said { from, wire })
    }

    /// What a message says, from the file that it names if it names one. A file that is not there is waited for; one that is broken is told.
    fn text(&self, data: &Data) -> Result<Result<String, String>, Refusal> {
        let Some(topic) = data.file() else {
            return Ok(Ok(data.as_str().to_owned()));
        };
        match file::get(&self.mirror, topic) {
            Ok(found) => Ok(String::from_utf8(found.content)
                .map_err(|_| format!("the file on {topic} is no text"))),
            Err(refusal) if refusal.code == Code::Ledger => Err(refusal),
            Err(refusal) => Ok(Err(refusal.message)),
        }
    }
}

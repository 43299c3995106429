//! What a message on a topic means: believed only if who paid for it is whom it names.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use inbox_core::sabotage::planted;
use inbox_core::{Code, Refusal};
use inbox_hcs::{Data, InboundMessage, Operation, Place, TopicId, read};
use inbox_hedera::mirror::MessageFacts;
use inbox_ops::ledger::Meaning;
use inbox_store::{RecordState, TopicPlace, TopicRow};

use super::Bridge;
use super::connect::{denial, requested};
use super::place::json;
use crate::file;

/// How often a file is read before it is believed that it is broken.
const LOOKS: usize = 3;

/// How long a file is waited for that a mirror does not give.
const WAIT: Duration = Duration::from_mins(5);

/// How many files are waited for until those are forgotten that were given up.
const MOST_WAITS: usize = 1_000;

impl Bridge<'_> {
    pub(super) fn meaning(
        &self,
        topic: &TopicRow,
        bytes: &[u8],
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        match topic.place {
            TopicPlace::Inbound => self.inbound(topic, bytes, message),
            TopicPlace::Outbound => self.on_outbound(topic, bytes, message),
            TopicPlace::Entity => self.on_entity(bytes, message),
            TopicPlace::Role => self.on_role(bytes, message),
            TopicPlace::Connection => self.spoken(topic, bytes, message),
        }
    }

    fn inbound(
        &self,
        topic: &TopicRow,
        bytes: &[u8],
        message: &MessageFacts,
    ) -> Result<Meaning, Refusal> {
        let nothing = |state, reason: String| Ok(Meaning::Nothing(state, reason));
        let operation = match read(bytes, Place::Inbound) {
            Ok((operation, _)) => operation,
            Err(refused) => return nothing(RecordState::Unreadable, refused.to_string()),
        };
        match operation {
            Operation::InboundMessage(said) => match denial(&said, message) {
                Some(meaning) => Ok(meaning),
                None => self.said(&said, message),
            },
            Operation::ConnectionRequest(request) => Ok(requested(&request, message)),
            Operation::ConnectionCreated(created) => self.confirmed(topic, &created, message),
            _ => nothing(RecordState::Passed, "it is no mail".into()),
        }
    }

    fn said(&self, said: &InboundMessage, message: &MessageFacts) -> Result<Meaning, Refusal> {
        let nothing = |state, reason: String| Ok(Meaning::Nothing(state, reason));
        let (named, mut payer) = (said.operator.account, message.payer);
        if planted("payer_unchecked") {
            payer = named;
        }
        if named != payer {
            let reason = format!("it names {named}, and {payer} paid for it");
            return nothing(RecordState::Unverified, reason);
        }
        let Some((from, inbound)) = self.agent_of(payer)? else {
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
        let wire = match json(text.as_bytes()) {
            Ok(wire) => wire,
            Err((state, reason)) => return nothing(state, reason),
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
    pub(super) fn text(&self, data: &Data) -> Result<Result<String, String>, Refusal> {
        let Some(topic) = data.file() else {
            return Ok(Ok(data.as_str().to_owned()));
        };
        // A mirror may leave out what it has: a file is broken when it is so again and again.
        let mut found = file::get(&self.mirror, topic);
        for _ in 1..LOOKS {
            if !matches!(&found, Err(refusal) if refusal.code != Code::Ledger) {
                break;
            }
            found = file::get(&self.mirror, topic);
        }
        match found {
            Ok(found) => {
                self.forget_wait(topic);
                Ok(String::from_utf8(found.content)
                    .map_err(|_| format!("the file on {topic} is no text")))
            }
            Err(refusal) if refusal.code == Code::Ledger => {
                if self.wait_for(topic) {
                    return Err(refusal);
                }
                let minutes = WAIT.as_secs() / 60;
                Ok(Err(format!("{}, for {minutes} minutes", refusal.message)))
            }
            Err(refusal) => Ok(Err(refusal.message)),
        }
    }

    /// Whether a file that cannot be had now is waited for a while longer. Anybody can name one that never comes, and what stands after the
    /// name waits with it.
    fn wait_for(&self, file: TopicId) -> bool {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        if waits.len() >= MOST_WAITS {
            waits.retain(|_, since| since.elapsed() < WAIT);
        }
        waits.entry(file).or_insert_with(Instant::now).elapsed() < WAIT
    }

    fn forget_wait(&self, file: TopicId) {
        let mut waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        waits.remove(&file);
    }
}

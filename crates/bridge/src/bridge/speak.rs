//! What the outbox has is said on its topics: once, in the order of each sender.

use std::collections::HashSet;

use inbox_core::record::Millis;
use inbox_core::{Code, Refusal};
use inbox_hcs::{MAX_MESSAGE, OperatorId};
use inbox_hedera::client::Asking;
use inbox_hedera::fee;
use inbox_hedera::proto::{Data, SubmitMessageBody};
use inbox_ops::ledger::Leaving;
use inbox_store::{Outgoing, TopicRow};

use super::large::{file_of, go_on};
use super::once::once;
use super::{Bridge, Turn, form, id_of};
use crate::Hbar;

/// How many are said in one turn.
const MOST: i64 = 100;

/// How long to wait before the second try, in milliseconds; twice as long before each after it, up to the longest.
const PAUSE_MS: i64 = 1_000;
const LONGEST_PAUSE_MS: i64 = 300_000;

impl Bridge<'_> {
    pub(super) fn speak(&mut self, topic: &TopicRow, turn: &mut Turn) -> Result<(), Refusal> {
        let mut waiting = HashSet::new();
        let now = self.inbox.now()?;
        for leaving in self.inbox.leaving(topic.topic_no, MOST)? {
            let sender = leaving.outgoing.agent.clone();
            let is_said = leaving.outgoing.sequence.is_some();
            // What one says later does not overtake what it said before.
            if is_said || waiting.contains(&sender) {
                continue;
            }
            if leaving.outgoing.next_at > now {
                waiting.insert(sender);
                continue;
            }
            let mut outgoing = leaving.outgoing.clone();
            match self.say(topic, &leaving, &mut outgoing) {
                Ok(()) => turn.sent += 1,
                Err(refusal) if refusal.code == Code::Storage => return Err(refusal),
                Err(refusal) => {
                    turn.problems += 1;
                    waiting.insert(sender);
                    let next = Millis(now.0 + pause(outgoing.tries));
                    self.inbox
                        .delay_outgoing(&outgoing, next, &refusal.message)?;
                }
            }
        }
        Ok(())
    }

    /// Says one message, and keeps in `outgoing` how far that has come, also when it fails.
    fn say(
        &mut self,
        topic: &TopicRow,
        leaving: &Leaving,
        outgoing: &mut Outgoing,
    ) -> Result<(), Refusal> {
        let inbox = self.inbox;
        let to = id_of(topic)?;
        let speaker = self.speaker(&outgoing.agent)?;
        let net = &speaker.net;
        let operator = OperatorId {
            inbound_topic: speaker.me.inbound_topic,
            account: speaker.me.account,
        };
        let text = leaving.wire.to_string();
        let inline = form::whole(topic.place, operator, &text);
        let said = match inline.filter(|said| said.text.len() <= MAX_MESSAGE) {
            Some(said) if outgoing.file.is_none() => said,
            _ => {
                let file = file_of(inbox, net, outgoing, &text)?;
                form::pointer(topic.place, operator, &leaving.wire, file)?
            }
        };
        // Nobody has said that an agent may pay another for its mail.
        let limits = net.limits(to, said.text.len(), Hbar::default())?;
        let most = match limits.as_slice() {
            [] => fee::USUAL,
            _ => fee::SUBMIT_WITH_FEES,
        };
        let body = SubmitMessageBody {
            topic_id: Some(to.into()),
            message: said.text.into_bytes(),
            chunk_info: None,
        };
        let asking = Asking::new(Data::SubmitMessage(body), most)
            .memo(said.memo)
            .limited(limits);
        let known = outgoing.step_id.clone();
        let done = once(net, known.as_deref(), &asking, |id| {
            let id = id.map(str::to_owned);
            go_on(inbox, outgoing, |it| it.step_id = id)
        })?;
        let sequence = done.sequence.unwrap_or_default();
        outgoing.sequence = Some(i64::try_from(sequence).unwrap_or(i64::MAX));
        inbox.set_outgoing(outgoing, None)
    }
}

/// How long to wait after so many tries, in milliseconds.
pub(super) fn pause(tries: i64) -> i64 {
    (PAUSE_MS << tries.clamp(0, 20)).min(LONGEST_PAUSE_MS)
}

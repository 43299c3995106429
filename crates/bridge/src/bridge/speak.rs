//! What the outbox has is said on its topics, once.

use inbox_core::{Code, Refusal};
use inbox_hcs::{Data as Content, MAX_MESSAGE, OperatorId};
use inbox_hedera::client::Asking;
use inbox_hedera::fee;
use inbox_hedera::proto::{Data, SubmitMessageBody};
use inbox_ops::ledger::Leaving;
use inbox_store::{FailPoint, Outgoing, TopicPlace, TopicRow};

use super::once::once;
use super::{Bridge, form, id_of};
use crate::Hbar;

impl Bridge<'_> {
    /// Says one message, and keeps in `outgoing` how far that has come, also when it fails. Not when another bridge has its topic.
    pub(super) fn say(
        &self,
        topic: &TopicRow,
        leaving: &Leaving,
        outgoing: &mut Outgoing,
    ) -> Result<bool, Refusal> {
        match self.say_it(topic, leaving, outgoing) {
            Ok(()) => Ok(true),
            Err(refusal) if refusal.code == Code::LeaseLost => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }

    fn say_it(
        &self,
        topic: &TopicRow,
        leaving: &Leaving,
        outgoing: &mut Outgoing,
    ) -> Result<(), Refusal> {
        let to = id_of(topic)?;
        let speaker = self.speaker(&outgoing.agent)?;
        let net = &speaker.net;
        let operator = OperatorId {
            inbound_topic: speaker.me.inbound_topic,
            account: speaker.me.account,
        };
        let is_to_parties = topic.place == TopicPlace::Connection;
        let (text, most) = if is_to_parties {
            self.for_parties(outgoing.message)?
        } else {
            // Nobody has said that an agent may pay another for its mail.
            (leaving.wire.to_string(), Hbar::default())
        };
        let inline = form::whole(topic.place, operator, &text)
            // What looks like a locator would be followed as one, and is put where it is content.
            .filter(|_| !is_to_parties || Content::new(text.as_str()).file().is_none());
        let said = match inline.filter(|said| said.text.len() <= MAX_MESSAGE) {
            Some(said) if outgoing.file.is_none() => said,
            _ => {
                let file = self.file_of(net, outgoing, &text)?;
                form::pointer(topic.place, operator, &leaving.wire, file)?
            }
        };
        let limits = net.limits(to, said.text.len(), most)?;
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
        let reach = |point| self.inbox.store().reach(point);
        let done = once(net, known.as_deref(), &asking, &reach, |id| {
            self.begin(outgoing, id)
        })?;
        let sequence = done.sequence.unwrap_or_default();
        outgoing.sequence = Some(i64::try_from(sequence).unwrap_or(i64::MAX));
        self.inbox.set_outgoing(outgoing, None)?;
        reach(FailPoint::BridgeAfterSaid);
        Ok(())
    }

    /// Writes down the transaction that is the next step of something that is to be said.
    pub(super) fn begin(&self, outgoing: &mut Outgoing, id: Option<&str>) -> Result<(), Refusal> {
        let mut next = outgoing.clone();
        next.step_id = id.map(str::to_owned);
        let before = outgoing.step_id.as_deref();
        if !self.inbox.begin_outgoing(&next, before, &self.name)? {
            return Err(taken_over());
        }
        *outgoing = next;
        Ok(())
    }
}

/// Another bridge goes on with it.
pub(super) fn taken_over() -> Refusal {
    Refusal::new(Code::LeaseLost, "another bridge has gone on with it")
}

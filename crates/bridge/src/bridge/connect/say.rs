//! What an agent here says to the parties of a connection.

use inbox_core::{Code, Refusal};
use inbox_hcs::{
    Algorithm, Data, MAX_MESSAGE, Message, Mime, Operation, OperatorId, TransactionMemo,
};
use inbox_hedera::client::ExecuteError;
use inbox_store::{FailPoint, Outgoing, TopicRow};

use super::super::speak::{has_happened, is_over};
use super::super::{Bridge, id_of};
use super::kept;
use crate::file;
use crate::told::Told;

impl Bridge<'_> {
    /// Says one message, and keeps in `outgoing` how far that has come, also when it fails. Not when another bridge has its topic.
    pub(in super::super) fn say_to_parties(
        &self,
        topic: &TopicRow,
        outgoing: &mut Outgoing,
    ) -> Result<bool, Refusal> {
        let (inbox, to) = (self.inbox, id_of(topic)?);
        let most = self.most();
        let Some(text) = inbox.text_of(outgoing.message)? else {
            let problem = format!("there is no message {}", outgoing.message);
            return Err(Refusal::new(Code::MessageNotFound, problem));
        };
        let speaker = self.speaker(&outgoing.agent)?;
        if let Some(id) = &outgoing.step_id
            && has_happened(&speaker.net, id)?
        {
            outgoing.sequence = Some(0);
            return inbox.set_outgoing(outgoing, None).map(|()| true);
        }
        let operator = OperatorId {
            inbound_topic: speaker.me.inbound_topic,
            account: speaker.me.account,
        };
        let operation = |data| {
            Operation::Message(Message {
                operator,
                data,
                memo: None,
            })
        };
        let inline = operation(Data::new(text.as_str()));
        let written = match inline.write() {
            // What looks like a locator would be followed as one, and is put where it is content.
            Ok(written)
                if written.len() <= MAX_MESSAGE && Data::new(text.as_str()).file().is_none() =>
            {
                written
            }
            _ => {
                let known = outgoing.file.as_deref().and_then(|file| file.parse().ok());
                let file = match known {
                    Some(file) => file,
                    None => {
                        let mime: Mime = kept("text/plain")?;
                        file::put(&speaker.net, text.as_bytes(), &mime, Algorithm::Brotli)?
                    }
                };
                outgoing.file = Some(file.to_string());
                operation(Data::reference(file)).write().told()?
            }
        };
        let limits = speaker.net.limits(to, written.len(), most)?;
        let id = match &outgoing.step_id {
            Some(id) if !is_over(id) => id.parse().unwrap_or_else(|_| speaker.net.next_id()),
            _ => speaker.net.next_id(),
        };
        let before = outgoing.step_id.replace(id.to_string());
        if !inbox.begin_outgoing(outgoing, before.as_deref(), &self.name)? {
            return Ok(false);
        }
        self.reach(FailPoint::LedgerBeforeSend)?;
        let memo = TransactionMemo::of(&inline).to_string();
        let said = speaker
            .net
            .write_as(id, to, written.as_bytes(), &memo, &limits);
        match said {
            Ok(sequence) => {
                self.reach(FailPoint::LedgerAfterReceipt)?;
                outgoing.sequence = Some(i64::try_from(sequence.get()).unwrap_or(i64::MAX));
                inbox.set_outgoing(outgoing, None).map(|()| true)
            }
            Err(error) => {
                // What never happened gets another id the next time.
                if matches!(
                    error.execute(),
                    Some(
                        ExecuteError::NotTaken { .. }
                            | ExecuteError::Refused(..)
                            | ExecuteError::Failed(_)
                    )
                ) {
                    outgoing.step_id = None;
                }
                Err(error).told()
            }
        }
    }
}

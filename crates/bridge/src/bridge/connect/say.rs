//! What an agent here says to the parties of a connection, and what it may pay for that.

use inbox_core::{Code, MessageId, Refusal};

use super::super::Bridge;
use crate::Hbar;

impl Bridge<'_> {
    /// What an agent may pay for a message on a topic that takes fees.
    pub(super) fn most(&self) -> Hbar {
        Hbar::from_tinybars(self.inbox.config().ledger.connections.max_fee.0)
    }

    /// A message as those outside get it, and what may be paid for it.
    pub(in super::super) fn for_parties(
        &self,
        message: MessageId,
    ) -> Result<(String, Hbar), Refusal> {
        match self.inbox.text_of(message)? {
            Some(text) => Ok((text, self.most())),
            None => {
                let problem = format!("there is no message {message}");
                Err(Refusal::new(Code::MessageNotFound, problem))
            }
        }
    }
}

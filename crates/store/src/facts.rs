//! What a thread's row and history say about who asks.

use inbox_core::lifecycle::{Asker, Facts, NameStanding, SessionStanding, TokenStanding};
use inbox_core::{Address, AgentName, LeaseToken, SessionId};

use crate::error::StoreError;
use crate::row::ThreadRow;
use crate::tx::Tx;

/// Who asks, as the surface established it.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    /// The agent.
    pub agent: Option<AgentName>,
    /// The session.
    pub session: Option<SessionId>,
    /// The lease token that was named.
    pub token: Option<LeaseToken>,
    /// Whether the surface lets it act on threads that are not its own.
    pub may_override: bool,
}

impl Tx<'_> {
    /// Gathers what [`inbox_core::lifecycle::decide`] needs.
    pub fn facts(&mut self, row: &ThreadRow, asking: &Asking) -> Result<Facts, StoreError> {
        let agent = asking.agent.as_ref();
        let token = match &asking.token {
            None => TokenStanding::None,
            Some(token) if token.thread != row.thread.thread_id => TokenStanding::Foreign,
            Some(token) if !is_newest(row, token) => TokenStanding::Stale,
            Some(_) if agent.is_some() && agent != row.holder.as_ref() => TokenStanding::Borrowed,
            Some(_) => TokenStanding::Current,
        };
        // Only who does not prove itself by token is judged by history.
        let (by_name, by_session) = if token == TokenStanding::Current || row.thread.attempts == 0 {
            (0, 0)
        } else {
            self.count_claims(row.thread.thread_id, agent, asking.session.as_ref())?
        };
        let session = match (&asking.session, &row.holder_session) {
            (None, _) => SessionStanding::None,
            (Some(session), Some(holder)) if session == holder => {
                // Its id is no secret: it stands in what was written in it, and proves nothing for another agent.
                if agent.is_none() || agent == row.holder.as_ref() {
                    SessionStanding::Holder
                } else {
                    SessionStanding::Other
                }
            }
            (Some(_), _) if by_session > 0 => SessionStanding::Former,
            (Some(_), Some(_)) => SessionStanding::Other,
            (Some(_), None) => SessionStanding::None,
        };
        let name = match (agent, &row.holder) {
            (Some(agent), Some(holder)) if agent == holder && by_name > 1 => {
                NameStanding::HolderAgain
            }
            (Some(agent), Some(holder)) if agent == holder => NameStanding::HolderOnce,
            _ if by_name > 0 => NameStanding::Former,
            _ => NameStanding::Stranger,
        };
        Ok(Facts {
            thread: row.thread.thread_id,
            status: row.thread.status,
            is_work: row.is_work(),
            is_commentary: row.is_commentary(),
            holder: row.holder.clone(),
            lease_until: row.lease_until,
            asker: Asker {
                token,
                session,
                name,
                is_creator: agent == Some(&row.thread.created_by),
                is_reached: self.is_reached(row, asking)?,
                may_override: asking.may_override,
            },
        })
    }
}

impl Tx<'_> {
    /// Whether one of a thread's addresses reaches who asks.
    fn is_reached(&mut self, row: &ThreadRow, asking: &Asking) -> Result<bool, StoreError> {
        let Some(agent) = &asking.agent else {
            return Ok(false);
        };
        // Most work is for an agent by its name, and needs no roster.
        let own = Address::from(agent);
        if row.thread.to.contains(&own) {
            return Ok(true);
        }
        let reader = self.reader(agent, asking.session.as_ref())?;
        Ok(reader
            .addresses
            .iter()
            .any(|reached| row.thread.to.contains(&reached.address)))
    }
}

/// Whether a token is of the newest claim.
fn is_newest(row: &ThreadRow, token: &LeaseToken) -> bool {
    token.epoch == row.epoch && Some(token.secret) == row.lease_secret
}

//! Transactions that a party of a connection wants signed, and what was decided about them.

use inbox_core::record::Millis;
use inbox_core::{AgentName, ThreadId};

use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::{Row, shown};

/// Where a proposal stands. Those with which something is to be done come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalState {
    /// It was found, and what it would do is to be looked at.
    Found,
    /// Somebody was asked.
    Open,
    /// It is being signed.
    Approving,
    /// It is being refused.
    Rejecting,
    /// It is signed from here, and waits for others.
    Signed,
    /// It was carried out.
    Executed,
    /// It was refused.
    Rejected,
    /// It is not looked at any more.
    Dismissed,
    /// Its time is over, or it was taken back.
    Gone,
    /// What it would do cannot be read.
    Undecodable,
}

impl ProposalState {
    /// Every state.
    pub const ALL: [ProposalState; 10] = [
        ProposalState::Found,
        ProposalState::Open,
        ProposalState::Approving,
        ProposalState::Rejecting,
        ProposalState::Signed,
        ProposalState::Executed,
        ProposalState::Rejected,
        ProposalState::Dismissed,
        ProposalState::Gone,
        ProposalState::Undecodable,
    ];

    const fn code(self) -> i64 {
        match self {
            ProposalState::Found => 1,
            ProposalState::Open => 2,
            ProposalState::Approving => 3,
            ProposalState::Rejecting => 4,
            ProposalState::Signed => 5,
            ProposalState::Executed => 6,
            ProposalState::Rejected => 7,
            ProposalState::Dismissed => 8,
            ProposalState::Gone => 9,
            ProposalState::Undecodable => 10,
        }
    }

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            ProposalState::Found => "found",
            ProposalState::Open => "open",
            ProposalState::Approving => "approving",
            ProposalState::Rejecting => "rejecting",
            ProposalState::Signed => "signed",
            ProposalState::Executed => "executed",
            ProposalState::Rejected => "rejected",
            ProposalState::Dismissed => "dismissed",
            ProposalState::Gone => "gone",
            ProposalState::Undecodable => "undecodable",
        }
    }
}

/// A transaction that a party wants signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalRow {
    /// Its key.
    pub proposal_no: i64,
    /// The connection on which it was proposed.
    pub connection_no: i64,
    /// Who would sign here.
    pub agent: AgentName,
    /// The topic of the connection.
    pub topic: Option<String>,
    /// The number of the proposal there.
    pub sequence: i64,
    /// The schedule.
    pub schedule: String,
    /// The account that proposes it.
    pub proposer: String,
    /// What that says of it.
    pub said: String,
    /// Where it stands.
    pub state: ProposalState,
    /// Of which sort it is.
    pub sort: Option<String>,
    /// What it would take of the agent here at the most, in tinybars.
    pub amount: Option<i64>,
    /// What it would do, a line for each thing.
    pub does: Option<String>,
    /// The thread in which somebody was asked.
    pub thread: Option<ThreadId>,
    /// The transaction that signs or refuses it: written down before it is sent.
    pub step_id: Option<String>,
    /// Who decided.
    pub decided_by: Option<String>,
    /// Why it was refused.
    pub reason: Option<String>,
    /// How often it was tried.
    pub tries: i64,
    /// When to go on.
    pub next_at: Millis,
    /// What is wrong.
    pub problem: Option<String>,
    /// Which change of it this is.
    pub rev: i64,
    /// When it was found.
    pub created_at: Millis,
}

impl Tx<'_> {
    /// Keeps a proposal that was found on a connection.
    pub fn keep_proposal(
        &mut self,
        connection_no: i64,
        sequence: i64,
        schedule: &str,
        proposer: &str,
        said: &str,
    ) -> Result<bool, StoreError> {
        let now = self.now().0;
        let said = shown(said);
        let params = [
            connection_no.into(),
            sequence.into(),
            schedule.into(),
            proposer.into(),
            said.as_ref().into(),
            ProposalState::Found.code().into(),
            now.into(),
        ];
        Ok(self.one_int(&sql::INSERT_PROPOSAL, &params)?.is_some())
    }

    /// Writes down where a proposal stands, from how it was. Whether it was still so.
    pub fn set_proposal(&mut self, row: &mut ProposalRow) -> Result<bool, StoreError> {
        let [reason, problem] = [&row.reason, &row.problem].map(|text| text.as_deref().map(shown));
        let params = [
            row.state.code().into(),
            row.sort.as_deref().into(),
            row.amount.into(),
            row.does.as_deref().into(),
            row.thread.map(ThreadId::key).into(),
            row.step_id.as_deref().into(),
            row.decided_by.as_deref().into(),
            reason.as_deref().into(),
            row.tries.into(),
            row.next_at.0.into(),
            problem.as_deref().into(),
            row.proposal_no.into(),
            row.rev.into(),
        ];
        let Some(rev) = self.one_int(&sql::SET_PROPOSAL, &params)? else {
            return Ok(false);
        };
        row.rev = rev;
        Ok(true)
    }

    /// Every proposal.
    pub fn proposals(&mut self) -> Result<Vec<ProposalRow>, StoreError> {
        let rows = self.rows(&sql::PROPOSALS, &[])?;
        rows.into_iter().map(|mut row| read(&mut row)).collect()
    }

    /// Those with which something is to be done now.
    pub fn proposals_due(&mut self, limit: i64) -> Result<Vec<ProposalRow>, StoreError> {
        let now = self.now().0;
        let params = [now.into(), limit.into()];
        let rows = self.rows(&sql::PROPOSALS_DUE, &params)?;
        rows.into_iter().map(|mut row| read(&mut row)).collect()
    }

    /// The one about which somebody was asked in a thread.
    pub fn proposal_of_thread(
        &mut self,
        thread: ThreadId,
    ) -> Result<Option<ProposalRow>, StoreError> {
        let row = self.first(&sql::PROPOSAL_OF_THREAD, &[thread.key().into()])?;
        row.map(|mut row| read(&mut row)).transpose()
    }
}

fn read(row: &mut Row) -> Result<ProposalRow, StoreError> {
    Ok(ProposalRow {
        proposal_no: row.int()?,
        connection_no: row.int()?,
        agent: row.parsed()?,
        topic: row.maybe_text()?,
        sequence: row.int()?,
        schedule: row.text()?,
        proposer: row.text()?,
        said: row.text()?,
        state: row.word(|code| {
            let mut states = ProposalState::ALL.into_iter();
            states.find(|state| state.code() == code)
        })?,
        sort: row.maybe_text()?,
        amount: row.maybe_int()?,
        does: row.maybe_text()?,
        thread: row.maybe_int()?.map(ThreadId::new),
        step_id: row.maybe_text()?,
        decided_by: row.maybe_text()?,
        reason: row.maybe_text()?,
        tries: row.int()?,
        next_at: Millis(row.int()?),
        problem: row.maybe_text()?,
        rev: row.int()?,
        created_at: Millis(row.int()?),
    })
}

//! Names that people have locked: each has a seal, against which a passphrase is checked.

use inbox_core::AgentName;

use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::Row;

impl Tx<'_> {
    /// What a passphrase is checked against, where the name is locked.
    pub fn seal(&mut self, name: &AgentName) -> Result<Option<String>, StoreError> {
        let found = self.first(&sql::FIND_SEAL, &[name.as_str().into()])?;
        found.map_or(Ok(None), |mut row| row.maybe_text())
    }

    /// Locks a name, or opens it again.
    pub fn set_seal(&mut self, agent_no: i64, seal: Option<&str>) -> Result<(), StoreError> {
        self.put(&sql::SET_SEAL, &[seal.into(), agent_no.into()])
    }

    /// The names that are locked.
    pub fn locked(&mut self) -> Result<Vec<AgentName>, StoreError> {
        let mut rows = self.rows(&sql::LOCKED, &[])?;
        rows.iter_mut().map(Row::parsed).collect()
    }
}

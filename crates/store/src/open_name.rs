//! A bare name that nobody had: it becomes the agent's or the role's that first takes it.

use inbox_core::{Address, Mode};

use crate::error::StoreError;
use crate::sql;
use crate::tx::{OPEN, Tx};

impl Tx<'_> {
    /// What waits for a name that nobody had is the role's from now on. It is rare, and then little waits.
    pub(crate) fn take_open_name_as_role(&mut self, role: &Address) -> Result<(), StoreError> {
        let Some(name) = role.as_str().strip_prefix("role:") else {
            return Ok(());
        };
        let Some(mut row) = self.first(&sql::ADDRESS_MODE, &[name.into()])? else {
            return Ok(());
        };
        let (open_no, mode) = (row.int()?, row.int()?);
        if mode != OPEN {
            return Ok(());
        }
        self.met_address = None;
        let (from, to) = (format!(" {name} "), format!(" {role} "));
        for statement in [&sql::RELABEL_THREADS, &sql::RELABEL_ENTRIES] {
            let params = [from.as_str().into(), to.as_str().into(), open_no.into()];
            self.put(statement, &params)?;
        }
        let Some(role_no) = self.find_address(role)? else {
            let mode = Mode::Role.code();
            let params = [role.as_str().into(), mode.into(), open_no.into()];
            return self.put(&sql::RENAME_ADDRESS, &params);
        };
        // The role has mail already: both become one inbox, and the name is free again.
        for statement in [
            &sql::REDIRECT_THREADS,
            &sql::REDIRECT_ENTRIES,
            &sql::REDIRECT_DELIVERIES,
            &sql::REDIRECT_RECIPIENTS,
        ] {
            self.put(statement, &[role_no.into(), open_no.into()])?;
        }
        for statement in [&sql::DROP_DELIVERIES, &sql::DROP_RECIPIENTS] {
            self.put(statement, &[open_no.into()])?;
        }
        self.put(&sql::DROP_BOOKMARKS, &[role_no.into()])
    }
}

//! Whom a change concerns: noted in the transaction, and rung once it is committed.

use inbox_core::{Address, Mode};

use crate::bell::Key;
use crate::error::StoreError;
use crate::row::ThreadRow;
use crate::tx::Tx;

impl Tx<'_> {
    /// Notes whom the change concerns, to be rung once it is committed.
    pub(crate) fn ring_for(&mut self, row: &ThreadRow) -> Result<(), StoreError> {
        let mut keys = vec![
            Key::Any,
            Key::Thread(row.thread.thread_id),
            Key::from(&row.thread.created_by),
        ];
        keys.extend(row.holder.as_ref().map(Key::from));
        for key in keys {
            self.ring(key);
        }
        self.ring_at(&row.thread.to)
    }

    /// Notes the addresses, and for those that reach several, the names that these listen by.
    pub(crate) fn ring_at(&mut self, addresses: &[Address]) -> Result<(), StoreError> {
        for address in addresses {
            let key = Key::from(address);
            if self.rings.contains(&key) {
                continue;
            }
            self.ring(key);
            let names = match address.mode() {
                Mode::Role | Mode::Tag | Mode::Broadcast | Mode::Session => {
                    let reached = self.reached_sessions(address, true)?;
                    reached.into_iter().map(|session| session.agent).collect()
                }
                Mode::Agent if address.as_str() == "human" => self.humans()?,
                Mode::Agent | Mode::Ledger | Mode::Entity => Vec::new(),
            };
            for name in names {
                self.ring(Key::from(&name));
            }
        }
        Ok(())
    }

    /// Notes that there is something to be said on the ledger.
    pub(crate) fn ring_for_ledger(&mut self) {
        self.ring(Key::Ledger);
    }

    fn ring(&mut self, key: Key) {
        self.rings.insert(key);
    }
}

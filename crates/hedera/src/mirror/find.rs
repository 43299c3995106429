//! What a mirror can be asked to find: whose a key is, and how far it has come.

use inbox_hcs::{AccountId, Timestamp};

use super::answer::Answer;
use super::{Mirror, MirrorError};
use crate::key::PublicKey;

impl Mirror {
    /// The oldest account that this key alone guards.
    pub fn account_of(&self, key: &PublicKey) -> Result<Option<AccountId>, MirrorError> {
        let key = key.to_der();
        let path =
            format!("/api/v1/accounts?account.publickey={key}&limit=1&order=asc&balance=false");
        let Some(found) = self.get(&path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path: &path,
            value: &found,
        };
        let Some(value) = answer.must_list("/accounts")?.first() else {
            return Ok(None);
        };
        let one = Answer { path: &path, value };
        one.parsed("/account").map(Some)
    }

    /// The moment of the newest transaction that it has: what came before is there, or never was.
    pub fn newest(&self) -> Result<Option<Timestamp>, MirrorError> {
        let path = "/api/v1/transactions?limit=1&order=desc";
        let Some(found) = self.get(path)? else {
            return Ok(None);
        };
        let answer = Answer {
            path,
            value: &found,
        };
        let Some(value) = answer.must_list("/transactions")?.first() else {
            return Ok(None);
        };
        let one = Answer { path, value };
        one.parsed("/consensus_timestamp").map(Some)
    }
}
